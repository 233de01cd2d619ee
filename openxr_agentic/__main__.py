"""``python -m openxr_agentic`` is the command ``openxr-agentic``."""

from openxr_agentic.cli import main

if __name__ == "__main__":
    main()
