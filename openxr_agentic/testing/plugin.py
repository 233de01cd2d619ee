"""A pytest plugin, there wherever this package is installed: fixtures for tests of an app's tools.

    def test_the_tool_adds(agent):
        agent.attach(app.registry)
        assert agent.call("MyApp_add", a=1, b=2) == 3

Each fixture builds on the one before: `mock_runtime`, `agentic_instance`, `agent`. A project that wants one otherwise,
as a runtime without the extension, defines a fixture of that name itself. Nothing is imported before a test asks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openxr_agentic.testing.agent import Agent
    from openxr_agentic.testing.mock_runtime import MockRuntime


@pytest.fixture
def mock_runtime() -> Iterator[MockRuntime]:
    """The mock OpenXR runtime, selected for this process's loader."""
    from openxr_agentic.testing.mock_runtime import MockRuntime

    with MockRuntime() as runtime:
        yield runtime


@pytest.fixture
def agentic_instance(mock_runtime: MockRuntime) -> Iterator[Any]:
    """An instance with the extension enabled: an xr.Instance; where `xr` cannot be imported, a handle (an int).

    The test may destroy it itself.
    """
    xr = _pyopenxr()
    if xr is None:
        handle = mock_runtime.create_instance()
        yield handle
        if handle in mock_runtime.instances:
            mock_runtime.destroy_instance(handle)
        return
    from openxr_agentic.availability import enable_extension

    names = enable_extension(["XR_MND_headless"], required=True)
    instance = xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=names))
    yield instance
    if mock_runtime.instances:
        xr.destroy_instance(instance)


@pytest.fixture
def agent(mock_runtime: MockRuntime, agentic_instance: Any) -> Iterator[Agent]:
    """An agent that calls the tools registered on `agentic_instance`, by name, through all of the native path."""
    from openxr_agentic.testing.agent import Agent

    with Agent(mock_runtime, agentic_instance) as agent:
        yield agent


def _pyopenxr() -> Any:
    try:
        import xr
    except Exception:  # noqa: BLE001 - it loads libraries, which may fail in any way
        return None
    return xr
