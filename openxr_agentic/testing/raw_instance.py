"""An XrInstance without pyopenxr: through a loader, or on a runtime library itself."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from openxr_agentic import loader
from openxr_agentic.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_TYPE_INSTANCE_CREATE_INFO = 3
_API_VERSION_1_0 = 1 << 48


class _ApplicationInfo(ctypes.Structure):
    _fields_ = (
        ("applicationName", ctypes.c_char * 128),
        ("applicationVersion", ctypes.c_uint32),
        ("engineName", ctypes.c_char * 128),
        ("engineVersion", ctypes.c_uint32),
        ("apiVersion", ctypes.c_uint64),
    )


class _InstanceCreateInfo(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int32),
        ("next", ctypes.c_void_p),
        ("createFlags", ctypes.c_uint64),
        ("applicationInfo", _ApplicationInfo),
        ("enabledApiLayerCount", ctypes.c_uint32),
        ("enabledApiLayerNames", ctypes.c_void_p),
        ("enabledExtensionCount", ctypes.c_uint32),
        ("enabledExtensionNames", ctypes.POINTER(ctypes.c_char_p)),
    )


class _LoaderInfo(ctypes.Structure):
    _fields_ = (
        ("structType", ctypes.c_int32),
        ("structVersion", ctypes.c_uint32),
        ("structSize", ctypes.c_size_t),
        ("minInterfaceVersion", ctypes.c_uint32),
        ("maxInterfaceVersion", ctypes.c_uint32),
        ("minApiVersion", ctypes.c_uint64),
        ("maxApiVersion", ctypes.c_uint64),
    )


class _RuntimeRequest(ctypes.Structure):
    _fields_ = (
        ("structType", ctypes.c_int32),
        ("structVersion", ctypes.c_uint32),
        ("structSize", ctypes.c_size_t),
        ("runtimeInterfaceVersion", ctypes.c_uint32),
        ("runtimeApiVersion", ctypes.c_uint64),
        ("getInstanceProcAddr", ctypes.c_void_p),
    )


_STRUCT_LOADER_INFO, _STRUCT_RUNTIME_REQUEST = 1, 3
_Negotiate = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(_LoaderInfo), ctypes.POINTER(_RuntimeRequest))
_CreateInstance = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(_InstanceCreateInfo), ctypes.POINTER(ctypes.c_void_p))
_DestroyInstance = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


def negotiate(library: Path) -> int:
    """Load a runtime library as the OpenXR loader does.

    Returns:
        Address of its xrGetInstanceProcAddr. The library stays loaded.

    Raises:
        OSError: It cannot be loaded.
        ResultError: It refused.
    """
    function = _Negotiate(("xrNegotiateLoaderRuntimeInterface", ctypes.CDLL(str(library))))
    info = _LoaderInfo(
        structType=_STRUCT_LOADER_INFO,
        structVersion=1,
        structSize=ctypes.sizeof(_LoaderInfo),
        minInterfaceVersion=1,
        maxInterfaceVersion=1,
        minApiVersion=_API_VERSION_1_0,
        maxApiVersion=_API_VERSION_1_0 + (0x3FF << 32) + 0xFFFFFFFF,
    )
    request = _RuntimeRequest(
        structType=_STRUCT_RUNTIME_REQUEST, structVersion=1, structSize=ctypes.sizeof(_RuntimeRequest)
    )
    result = function(ctypes.byref(info), ctypes.byref(request))
    if result < 0:
        raise ResultError("xrNegotiateLoaderRuntimeInterface", result)
    return request.getInstanceProcAddr or 0


def create(get_instance_proc_addr: int, extensions: Iterable[str] = (), application_name: str = "test") -> int:
    """Create an instance and return its handle.

    Args:
        get_instance_proc_addr: Address of a loader's or runtime's xrGetInstanceProcAddr.
        extensions: Names of extensions to enable.
        application_name: At most 127 bytes of UTF-8.

    Raises:
        ResultError: xrCreateInstance failed.
    """
    names = [name.encode() for name in extensions]
    info = _InstanceCreateInfo(type=_TYPE_INSTANCE_CREATE_INFO, enabledExtensionCount=len(names))
    info.applicationInfo.applicationName = application_name.encode()
    info.applicationInfo.apiVersion = _API_VERSION_1_0
    info.enabledExtensionNames = (ctypes.c_char_p * max(1, len(names)))(*names)
    instance = ctypes.c_void_p()
    function = _CreateInstance(_address(get_instance_proc_addr, 0, "xrCreateInstance"))
    result = function(ctypes.byref(info), ctypes.byref(instance))
    if result < 0:
        raise ResultError("xrCreateInstance", result)
    return instance.value or 0


def destroy(get_instance_proc_addr: int, instance: int) -> None:
    """Destroy an instance.

    Raises:
        ResultError: xrDestroyInstance failed.
    """
    result = _DestroyInstance(_address(get_instance_proc_addr, instance, "xrDestroyInstance"))(instance)
    if result < 0:
        raise ResultError("xrDestroyInstance", result)


def _address(get_instance_proc_addr: int, instance: int, name: str) -> int:
    result, address = loader.look_up(get_instance_proc_addr, instance, name)
    if not address:
        raise ResultError(f"xrGetInstanceProcAddr({name})", result)
    return address
