"""Tools in a package of their own, marked for discovery; see tools_discovery.py."""
