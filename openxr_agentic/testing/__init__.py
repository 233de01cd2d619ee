"""For people's own tests: a mock OpenXR runtime that plays the agent."""

from openxr_agentic.testing.mock_runtime import (
    MockCallError,
    MockRuntime,
    MockRuntimeError,
    MockTool,
    RawResult,
)

__all__ = ["MockCallError", "MockRuntime", "MockRuntimeError", "MockTool", "RawResult"]
