"""From an agent's arguments to Python values: strict first, then what agents are known to send."""
