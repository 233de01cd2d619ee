"""Fixtures: the mock runtime, an instance on it, and the extension attached to that instance."""

import functools
import signal
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import real_harness

import openxr_agentic as agentic
from openxr_agentic import registrations as table
from openxr_agentic.testing import MockRuntime


def pytest_configure(config):
    """Load the plugin also where the package is on the path but not installed."""
    if not config.pluginmanager.has_plugin("openxr_agentic"):
        config.pluginmanager.import_plugin("openxr_agentic.testing.plugin")


def pytest_generate_tests(metafunc):
    """A test of host behaviour says which of the host's fronts it runs on: ``pytest.mark.fronts("mock", "layer")``."""
    marker = metafunc.definition.get_closest_marker("fronts")
    if marker and "front" in metafunc.fixturenames:
        on = {"real": pytest.param("real", marks=pytest.mark.real)}
        metafunc.parametrize("front", [on.get(front, front) for front in marker.args], indirect=True)


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs so, and processes that tests interrupt would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_parked_tools():
    """Closed tools stay parked in the process; a test must not meet those of another."""
    yield
    table.forget(lambda _key: True)


@pytest.fixture
def folder(monkeypatch):
    """A runtime folder of this test's own, with a path short enough for a socket."""
    with TemporaryDirectory() as name:
        monkeypatch.setenv("XDG_RUNTIME_DIR", name)
        yield Path(name)


@pytest.fixture
def registry():
    """An empty registry that keeps its settings in memory."""
    return agentic.ToolRegistry(settings=False)


@pytest.fixture
def changes(registry):
    """What the registry told its subscribers."""
    told = []
    registry.tools_changed.subscribe(told.append)
    return told


@pytest.fixture
def front(request):
    """Which of the host's fronts offers the extension: "mock", "layer", or "real", the layer over a real runtime."""
    front = getattr(request, "param", "mock")
    if front == "real" and (reason := real_harness.why_not_here()):
        pytest.skip(reason)
    return front


@pytest.fixture
def new_runtime(front):
    """MockRuntime, for a test that has options for it."""
    if front == "real":
        return real_harness.LayerOverActiveRuntime
    return functools.partial(MockRuntime, layer=front == "layer")


@pytest.fixture
def mock_runtime(new_runtime):
    """The plugin's, or with the layer over it."""
    with new_runtime() as runtime:
        yield runtime


@pytest.fixture
def runtime(mock_runtime):
    """The plugin's mock runtime, by the name that most tests call it by."""
    return mock_runtime


@pytest.fixture
def instance(runtime):
    """An instance on the runtime's own library: no loader, no `xr`."""
    handle = runtime.create_instance()
    yield handle
    if handle in runtime.instances:
        runtime.destroy_instance(handle)


@pytest.fixture
def attach(runtime):
    """Make an AgenticExtension on an instance of the runtime's own library; closed at the end."""
    made = []

    def make(handle):
        made.append(agentic.AgenticExtension(handle, get_instance_proc_addr=runtime.get_instance_proc_addr))
        return made[-1]

    yield make
    for extension in made:
        extension.close()


@pytest.fixture
def extension(attach, instance):
    """An AgenticExtension on `instance`."""
    return attach(instance)


@pytest.fixture
def xr_instance(agentic_instance):
    """An xr.Instance with the extension enabled, through the Khronos loader."""
    pytest.importorskip("xr", exc_type=Exception)
    return agentic_instance
