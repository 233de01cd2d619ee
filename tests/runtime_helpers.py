"""What the tests of the mock runtime share: two ways to reach it.

`loader_instance()` goes through the Khronos loader, as apps do. `MockLibrary`
goes to the library itself, for what the loader does not let through: several
instances at once, wrong arguments, the host's control table.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
from pathlib import Path
from typing import TYPE_CHECKING

import vulkan_session
import xr
from real_harness import LayerOverActiveRuntime

from openxr_agentic.host import control, library_path
from openxr_agentic.testing import MockRuntime

if TYPE_CHECKING:
    from collections.abc import Iterator

EXTENSION = "XR_METAX1_agentic_external_tool"
HEADLESS = "XR_MND_headless"
REGISTER_FUNCTION = "xrAgenticRegisterExternalToolMETAX1"
LISTS = Path(__file__).resolve().parent.parent / "native_headers" / "openxr_agentic" / "openxr_lists.h"


def core_list(which: str) -> list[tuple[str, str]]:
    """The entries of one of openxr_lists.h's lists: (name, rest of the entry)."""
    text = LISTS.read_text().replace("\\\n", " ")
    body = re.search(rf"#define OXA_CORE_{which}\(entry\)(.*)", text)[1]
    return re.findall(r"\bentry\((\w+),\s*(.*?)\)(?=\s*entry\(|\s*$)", body)


CORE_FUNCTIONS = [name for name, _ in core_list("FUNCTIONS")]
HANDLES = ("Instance", "Session", "Space", "Swapchain", "ActionSet", "Action")

# The functions whose first argument is a handle, with the name of its type.
FUNCTIONS_OF_HANDLES = [
    (name, kind) for name, rest in core_list("FUNCTIONS") for kind in HANDLES if rest.startswith(f"(Xr{kind} ")
]


# ---- through the loader ----


@contextlib.contextmanager
def loader_instance(*extensions: str, display_period: float | None = None) -> Iterator[xr.Instance]:
    with MockRuntime(display_period=display_period):
        instance = xr.create_instance(create_info(*extensions))
        try:
            yield instance
        finally:
            with contextlib.suppress(xr.exception.HandleInvalidError):
                xr.destroy_instance(instance)


def create_info(
    *extensions: str, version: tuple[int, int, int] = (1, 0, 0), name: str = "test"
) -> xr.InstanceCreateInfo:
    application = xr.ApplicationInfo(application_name=name, api_version=xr.Version(*version))
    return xr.InstanceCreateInfo(application_info=application, enabled_extension_names=list(extensions))


def session_extension(runtime: MockRuntime) -> str:
    """What an instance has to enable for `create_session`; a real runtime has frames only with graphics."""
    return vulkan_session.extension() if isinstance(runtime, LayerOverActiveRuntime) else HEADLESS


def create_session(instance: xr.Instance, runtime: MockRuntime | None = None) -> xr.Session:
    system = xr.get_system(instance, xr.SystemGetInfo(xr.FormFactor.HEAD_MOUNTED_DISPLAY))
    if isinstance(runtime, LayerOverActiveRuntime):
        return vulkan_session.create_session(instance, system)
    return xr.create_session(instance, xr.SessionCreateInfo(system_id=system))


def begin_session(session: xr.Session) -> None:
    xr.begin_session(session, xr.SessionBeginInfo(xr.ViewConfigurationType.PRIMARY_STEREO))


def queued_states(instance: xr.Instance) -> list[str]:
    """The session states that the queued events tell, until there is none."""
    states = []
    with contextlib.suppress(xr.exception.EventUnavailable):
        while True:
            event = xr.poll_event(instance)
            assert event.type == xr.StructureType.EVENT_DATA_SESSION_STATE_CHANGED
            changed = ctypes.cast(ctypes.byref(event), ctypes.POINTER(xr.EventDataSessionStateChanged)).contents
            states.append(xr.SessionState(changed.state).name)
    return states


# ---- past the loader ----


class LoaderInfo(ctypes.Structure):
    """XrNegotiateLoaderInfo."""

    _fields_ = [
        ("struct_type", ctypes.c_int32),
        ("struct_version", ctypes.c_uint32),
        ("struct_size", ctypes.c_size_t),
        ("min_interface_version", ctypes.c_uint32),
        ("max_interface_version", ctypes.c_uint32),
        ("min_api_version", ctypes.c_uint64),
        ("max_api_version", ctypes.c_uint64),
    ]


class RuntimeRequest(ctypes.Structure):
    """XrNegotiateRuntimeRequest."""

    _fields_ = [
        ("struct_type", ctypes.c_int32),
        ("struct_version", ctypes.c_uint32),
        ("struct_size", ctypes.c_size_t),
        ("runtime_interface_version", ctypes.c_uint32),
        ("runtime_api_version", ctypes.c_uint64),
        ("get_instance_proc_addr", ctypes.c_void_p),
    ]


class HostControl(ctypes.Structure):
    """The beginning of OxaHostControl: what these tests need of it."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("version", ctypes.c_uint32),
        ("set_option", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_int64)),
        ("set_number", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_int64)),
        ("reset", ctypes.CFUNCTYPE(None)),
        ("fail", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.c_int32, ctypes.c_uint32, ctypes.c_int32)),
        ("instances", ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)),
        ("function_calls", ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_char_p)),
    ]


def loader_info() -> LoaderInfo:
    return LoaderInfo(
        1, 1, ctypes.sizeof(LoaderInfo), 1, 1, xr.Version(1, 0, 0).number(), xr.Version(1, 1023, 4095).number()
    )


def runtime_request() -> RuntimeRequest:
    return RuntimeRequest(3, 1, ctypes.sizeof(RuntimeRequest))


class MockLibrary:
    """The mock's library without a loader."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(library_path()))
        get_control = self.library.oxaGetHostControl
        get_control.argtypes = [ctypes.c_uint32]
        get_control.restype = ctypes.POINTER(HostControl)
        self.control: HostControl = get_control(control.VERSION).contents
        request = runtime_request()
        assert self.negotiate(loader_info(), request) == xr.Result.SUCCESS
        self.get_instance_proc_addr = xr.PFN_xrGetInstanceProcAddr(request.get_instance_proc_addr)

    def negotiate(self, info: LoaderInfo | None, request: RuntimeRequest | None) -> int:
        reference = [None if argument is None else ctypes.byref(argument) for argument in (info, request)]
        return self.library.xrNegotiateLoaderRuntimeInterface(*reference)

    def look_up(self, name: str, instance: xr.Instance | None) -> tuple[int, int | None]:
        """The result of xrGetInstanceProcAddr, and the address that it gave."""
        function = xr.PFN_xrVoidFunction()
        result = self.get_instance_proc_addr(instance, name.encode(), ctypes.byref(function))
        return result, ctypes.cast(function, ctypes.c_void_p).value

    def function(self, name: str, instance: xr.Instance | None = None):
        result, address = self.look_up(name, instance)
        assert (result, address is not None) == (xr.Result.SUCCESS, True), name
        return getattr(xr, f"PFN_{name}")(address)

    @contextlib.contextmanager
    def instance(self, *extensions: str) -> Iterator[xr.Instance]:
        instance = xr.Instance()
        create = self.function("xrCreateInstance")
        assert create(ctypes.byref(create_info(*extensions)), ctypes.byref(instance)) == xr.Result.SUCCESS
        destroy = self.function("xrDestroyInstance", instance)
        try:
            yield instance
        finally:
            destroy(instance)
