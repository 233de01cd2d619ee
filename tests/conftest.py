"""Fixtures: the mock runtime, an instance on it, and the extension attached to that instance."""

import signal

import pytest

import openxr_agentic as agentic
from openxr_agentic import extension as extension_module
from openxr_agentic.testing import MockRuntime


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs so, and processes that tests interrupt would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_parked_tools():
    """Closed tools stay parked in the process; a test must not meet those of another."""
    yield
    extension_module._forget(lambda _key: True)


@pytest.fixture
def runtime():
    """The mock runtime, selected for this process's loader."""
    with MockRuntime() as mock:
        yield mock


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
def xr_instance(runtime):
    """An xr.Instance with the extension enabled, through the Khronos loader."""
    xr = pytest.importorskip("xr", exc_type=Exception)
    names = agentic.enable_extension(["XR_MND_headless"], required=True)
    handle = xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=names))
    yield handle
    if runtime.instances:
        xr.destroy_instance(handle)
