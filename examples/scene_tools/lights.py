"""A tool for the scene's light: a class, made once, that keeps its state."""

import openxr_agentic as agentic


@agentic.tool(name="dim_light", groups="lights", enabled_by_default=False)
class Dimmer:
    """Make the light darker by a step, and return its brightness in percent."""

    def __init__(self) -> None:
        self.percent = 100

    def execute(self, step: int = 10) -> int:
        """Make it darker.

        Args:
            step: By how much, in percent.
        """
        self.percent = max(0, self.percent - step)
        return self.percent
