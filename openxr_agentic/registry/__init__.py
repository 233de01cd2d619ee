"""The tools of an app: where they come from, which are on, who is told, and how they are called."""
