"""The benchmark of the agent's way into an app; see ``__main__``."""
