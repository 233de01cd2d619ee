"""From what a tool returned to the text that the agent gets."""
