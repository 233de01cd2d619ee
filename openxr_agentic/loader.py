"""Where xrGetInstanceProcAddr comes from: the OpenXR loader of this process.

pyopenxr brings the Khronos loader along. An instance made with pyopenxr belongs
to that loader, so its copy is taken where pyopenxr is installed, without
importing `xr`: that also loads PyOpenGL, which needs libGLX. Else the system's
loader is taken.
"""

from __future__ import annotations

import importlib.util
import operator
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from openxr_agentic import architecture
from openxr_agentic.errors import (
    XR_ERROR_RUNTIME_UNAVAILABLE,
    LoaderNotFoundError,
    ResultError,
    RuntimeNotFoundError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_HANDLES = 2**64
SYSTEM_FOLDERS = ("/usr/local/etc", "/etc")  # compiled into the Khronos loader


class Loader(NamedTuple):
    """An OpenXR loader in this process.

    Attributes:
        path: The library's path or name.
        library: Keeps it loaded.
        get_instance_proc_addr: Address of its xrGetInstanceProcAddr.
    """

    path: str
    library: Any
    get_instance_proc_addr: int


_loaded: Loader | None = None


def load() -> Loader:
    """Return this process's OpenXR loader, loading it on first use.

    Raises:
        LoaderNotFoundError: There is none; the text says what was tried, and why it failed.
    """
    global _loaded  # noqa: PLW0603 - a library is loaded once in a process
    if _loaded is None:
        _loaded = _find()
    return _loaded


def _find() -> Loader:
    import ctypes  # not above: an isolated subinterpreter cannot load it, and must get this far to be refused
    import platform

    failures = []
    for path, problem in _candidates():
        if problem is not None:
            failures.append(problem)
            continue
        try:
            library = ctypes.CDLL(path)
            address = ctypes.cast(library.xrGetInstanceProcAddr, ctypes.c_void_p).value
        except (OSError, AttributeError) as error:
            failures.append(f"{path}: {architecture.mismatch(path) or error}")
            continue
        assert address is not None
        return Loader(str(path), library, address)
    system = platform.system()
    why = "".join(f"\n  {failure}" for failure in failures)
    if system == "Darwin":
        raise LoaderNotFoundError(
            "There is no OpenXR loader here: neither pyopenxr nor the system brings one for macOS. "
            f"Tools can be defined, executed and tested without one.{why}"
        )
    raise LoaderNotFoundError(
        "No OpenXR loader could be loaded. Install pyopenxr, which brings one (python -m pip install pyopenxr), "
        "or the system's (Debian: apt-get install libopenxr-loader1). openxr-agentic doctor looks at each. "
        f"Tried:{why or ' nothing'}"
    )


def _candidates() -> Iterator[tuple[str, str | None]]:
    """Paths to try, in order; with a text instead where there is nothing to try and it matters why."""
    imported = sys.modules.get("xr.library")
    if imported is not None:
        yield imported.openxr_loader_library._name, None  # noqa: SLF001 - ctypes has no other way
    folder = _pyopenxr_folder()
    if folder is not None:
        names = _bundled_names()
        found = [folder / "library" / name for name in names if (folder / "library" / name).is_file()]
        for path in found:
            yield str(path), None
        if not found:
            yield "", f"pyopenxr in {folder}: {_why_pyopenxr_fails()}"
    from ctypes.util import find_library

    name = find_library("openxr_loader")
    yield (name, None) if name else ("", "the system: it has no library openxr_loader")


def _pyopenxr_folder() -> Path | None:
    try:
        spec = importlib.util.find_spec("xr")
    except (ImportError, ValueError):
        return None
    locations = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(locations))) if locations else None


def _bundled_names() -> list[str]:
    """Where pyopenxr keeps its loader for this platform."""
    import platform

    if platform.system() == "Windows":
        return ["windows_x86_64/openxr_loader.dll"]
    if hasattr(sys, "getandroidapilevel"):
        return ["android_arm_v8a/libopenxr_loader.so"]
    machine = architecture.of_this_python()
    if platform.system() != "Linux" or machine not in ("x86_64", "aarch64"):
        return []
    return [f"linux_{machine}/libopenxr_loader.so"]


def pyopenxr_layers() -> Path | None:
    """Return the folder of pyopenxr's own API layers, which `import xr` adds to XR_API_LAYER_PATH."""
    package, names = _pyopenxr_folder(), _bundled_names()
    if package is None or not names:
        return None
    folder = package / "api_layer" / Path(names[0]).parent
    return folder if folder.is_dir() else None


def _why_pyopenxr_fails() -> str:
    import platform

    reason = f"it brings no loader for {platform.system()} on {platform.machine()}"
    try:
        importlib.import_module("xr")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the cause to be quoted
        reason += f", and cannot be imported ({type(error).__name__}: {error})"
    return reason


def look_up(get_instance_proc_addr: int, instance: int, name: str) -> tuple[int, int]:
    """Call xrGetInstanceProcAddr.

    Args:
        get_instance_proc_addr: Its address.
        instance: The XrInstance's value; 0 is XR_NULL_HANDLE.
        name: Name of an OpenXR function.

    Returns:
        The XrResult, and the function's address. The address is 0 unless the call
        succeeded and wrote one.
    """
    from openxr_agentic._native import ffi

    function = ffi.cast("OxaGetInstanceProcAddr", get_instance_proc_addr)
    # Cleared first: some loaders leave the pointer alone when the look-up fails.
    pointer = ffi.new("PFN_xrVoidFunction*")
    result = function(ffi.cast("XrInstance", instance), name.encode(), pointer)
    return result, int(ffi.cast("uintptr_t", pointer[0])) if result >= 0 else 0


def instance_extensions(get_instance_proc_addr: int) -> list[str]:
    """Return the names of the instance extensions that runtime and layers offer.

    Raises:
        RuntimeNotFoundError: The loader found no runtime.
        ResultError: Another failure; it carries the result by name.
    """
    from openxr_agentic._native import ffi, lib

    name = "xrEnumerateInstanceExtensionProperties"
    result, address = look_up(get_instance_proc_addr, 0, name)
    if address == 0:
        raise ResultError(f"xrGetInstanceProcAddr({name})", result)
    enumerate_extensions = ffi.cast("OxaEnumerateExtensions", address)
    count = ffi.new("uint32_t*")
    _check_enumeration(name, enumerate_extensions(ffi.NULL, 0, count, ffi.NULL))
    properties = ffi.new("XrExtensionProperties[]", count[0])
    for item in properties:
        item.type = lib.XR_TYPE_EXTENSION_PROPERTIES
    _check_enumeration(name, enumerate_extensions(ffi.NULL, count[0], count, properties))
    return [ffi.string(properties[i].extensionName).decode("utf-8", "replace") for i in range(count[0])]


def _check_enumeration(function: str, result: int) -> None:
    if result == XR_ERROR_RUNTIME_UNAVAILABLE:
        raise RuntimeNotFoundError(no_runtime_text())
    if result < 0:
        raise ResultError(function, result)


def runtime_name(get_instance_proc_addr: int, instance: int) -> str | None:
    """Return the runtime's own name for itself, or None where it does not say."""
    from openxr_agentic._native import ffi, lib

    _, address = look_up(get_instance_proc_addr, instance, "xrGetInstanceProperties")
    if address == 0:
        return None
    properties = ffi.new("XrInstanceProperties*")
    properties.type = lib.XR_TYPE_INSTANCE_PROPERTIES
    function = ffi.cast("OxaGetInstanceProperties", address)
    if function(ffi.cast("XrInstance", instance), properties) < 0:
        return None
    return str(ffi.string(properties.runtimeName).decode("utf-8", "replace"))


def active_runtime() -> tuple[str, Path | None]:
    """Return how the active runtime was chosen, and its manifest if there is one.

    Follows the loader's order on Linux: XR_RUNTIME_JSON, else active_runtime.json in
    the configuration folders. On other systems only the variable is looked at.
    """
    chosen = os.environ.get("XR_RUNTIME_JSON")
    if chosen:
        path = Path(chosen)
        return f"XR_RUNTIME_JSON={chosen}", path if _is_file(path) else None
    for path in configured_runtimes():
        if _is_file(path):
            return f"the system's configuration ({path})", path
    where = "" if home_is_known() else f" ({variable_state('HOME')}, so that no folder of this user's is looked at)"
    return f"{variable_state('XR_RUNTIME_JSON')}, and the system has no active runtime{where}", None


def variable_state(name: str) -> str:
    """Say of an environment variable without a value whether it is empty, or not set."""
    return f"{name} is {'empty' if name in os.environ else 'not set'}"


def configured_runtimes(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the files that the loader takes for the active runtime's manifest on Linux: the first that is there."""
    folders = [environment.get("XDG_CONFIG_HOME") or in_home(".config", environment)]
    folders += [entry for entry in (environment.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":") if entry]
    folders += SYSTEM_FOLDERS
    return [
        Path(folder, "openxr", "1", f"active_runtime{suffix}.json")
        for folder in folders
        if folder
        for suffix in (f".{architecture.of_this_python()}", "")
    ]


def in_home(folder: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return a folder in the user's home as the loader finds it, by HOME alone; empty: HOME is not set."""
    home = environment.get("HOME")
    return f"{home}/{folder}" if home else ""


def home_is_known() -> bool:
    """Tell whether the loader can look for a runtime in a folder of this user's; where it looks in none: True."""
    looks = sys.platform not in ("win32", "darwin")
    return not looks or bool(os.environ.get("XDG_CONFIG_HOME") or os.environ.get("HOME"))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, a folder that may not be entered
        return False


def no_runtime_text() -> str:
    """Return what to tell a user whose process has no OpenXR runtime."""
    how, manifest = active_runtime()
    variable = os.environ.get("XR_RUNTIME_JSON")
    if variable and manifest is None:
        how += ", and that file does not exist"
    elif manifest is not None:
        how = f"{how} was found, but its runtime could not be loaded"
    return (
        f"No OpenXR runtime: {how}. Start your headset's runtime, or use the mock runtime of this package: "
        "openxr-agentic run -- python app.py (in tests: openxr_agentic.testing.MockRuntime). What is wrong is said by: "
        "openxr-agentic doctor"
    )


def handle_value(instance: Any) -> int | None:
    """Return an XrInstance's value from an xr.Instance, another ctypes pointer or a number; None: neither.

    XR_NULL_HANDLE, in whatever form, is 0. What an `__index__` of the user's raises passes through.
    """
    if instance is None:
        return 0
    import ctypes

    if isinstance(instance, (str, bytes, bool)):
        return None
    if hasattr(instance, "__index__"):
        value = operator.index(instance)
        return value if 0 <= value < _HANDLES else None
    try:
        return ctypes.cast(instance, ctypes.c_void_p).value or 0
    except (ctypes.ArgumentError, TypeError):
        return None
