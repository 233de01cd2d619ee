"""For people's own tests: a mock OpenXR runtime, and an agent that calls tools on it.

Importing this imports nothing else: pytest does so at every start, for the plugin.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openxr_agentic.testing.agent import Agent
    from openxr_agentic.testing.mock_runtime import (
        CallOutcome,
        MockCallError,
        MockRuntime,
        MockRuntimeError,
        MockTool,
        RawResult,
    )

__all__ = ["Agent", "CallOutcome", "MockCallError", "MockRuntime", "MockRuntimeError", "MockTool", "RawResult"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{'agent' if name == 'Agent' else 'mock_runtime'}")
    globals()[name] = value = getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
