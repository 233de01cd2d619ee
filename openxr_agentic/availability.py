"""Whether the extension can be had here, and how to ask for it.

An OpenXR extension must be named when the instance is created; naming one that
nobody offers makes xrCreateInstance fail. So an app asks first.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, TypeVar

from openxr_agentic import loader
from openxr_agentic.errors import (
    AgenticError,
    ExtensionNotAvailableError,
    ExtensionNotEnabledError,
    ExtensionUnavailableWarning,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    Name = TypeVar("Name", str, bytes)


_HOW_TO_HAVE_IT = (
    "Meta ships it in an API layer: enable that layer. Or run the app with this package's layer over the runtime: "
    "openxr-agentic run --layer -- python app.py; or on its mock runtime: openxr-agentic run -- python app.py. What is "
    "offered here, and by whom, is said by: openxr-agentic doctor"
)


def extension_name() -> str:
    """Return the extension's name, as the header that the package was built with has it."""
    from openxr_agentic._native import ffi, lib

    return str(ffi.string(lib.oxa_extension_name).decode())


def is_extension_available() -> bool:
    """Tell whether the active runtime or a layer offers the extension.

    False also where there is no loader or no runtime; `enable_extension` with
    ``required=True`` says which.
    """
    try:
        require_extension()
    except AgenticError:
        return False
    return True


def require_extension() -> None:
    """Return if the extension is offered.

    Raises:
        LoaderNotFoundError: There is no OpenXR loader.
        RuntimeNotFoundError: The loader found no runtime.
        ExtensionNotAvailableError: Nobody offers the extension.
        ResultError: The loader could not tell; it carries the result by name.
    """
    if extension_name() not in loader.instance_extensions(loader.load().get_instance_proc_addr):
        how, _ = loader.active_runtime()
        raise ExtensionNotAvailableError(
            f"The active OpenXR runtime does not offer {extension_name()} ({how}). {_HOW_TO_HAVE_IT}"
        )


def enable_extension(names: Iterable[Name], *, required: bool = False) -> list[Name]:
    """Add the extension to the names of the extensions that an instance is created with.

        info = xr.InstanceCreateInfo(enabled_extension_names=enable_extension(["XR_MND_headless"]))

    Args:
        names: Extension names, as str or bytes. The object itself is left alone.
        required: Raise where the extension is not offered, instead of leaving it out
            with an `ExtensionUnavailableWarning`.

    Returns:
        A new list: the names in their order, with the extension once, at its place or at the end.

    Raises:
        LoaderNotFoundError: Only with `required`: there is no OpenXR loader.
        RuntimeNotFoundError: Only with `required`: the loader found no runtime.
        ExtensionNotAvailableError: Only with `required`: nobody offers the extension.
        ResultError: Only with `required`: the loader could not tell.
        TypeError: `names` is one text instead of several, or holds something else than str and bytes.
    """
    if isinstance(names, (str, bytes)):
        raise TypeError(f"names must be several names, such as [{names!r}], not one text")
    given = list(names)
    for name in given:
        if not isinstance(name, (str, bytes)):
            raise TypeError(f"an extension's name must be str or bytes, not {name!r}")
    text = extension_name()
    own = {text, text.encode()}
    others_as_bytes = bool(given) and all(isinstance(name, bytes) for name in given)
    try:
        require_extension()
    except AgenticError as error:
        if required:
            raise
        warnings.warn(
            f"{text} is left out, and the app goes on without tools for agents. {error}",
            ExtensionUnavailableWarning,
            stacklevel=2,
        )
        return [name for name in given if name not in own]
    result: list[Name] = []
    for name in given:
        if name not in own or not own.intersection(result):
            result.append(name)
    if not own.intersection(result):
        result.append(text.encode() if others_as_bytes else text)  # type: ignore[arg-type]
    return result


def not_enabled_error(get_instance_proc_addr: int, instance: int, said: str) -> AgenticError:
    """Return the error for an instance that does not know the extension.

    Args:
        get_instance_proc_addr: Address of xrGetInstanceProcAddr.
        instance: The XrInstance's value.
        said: What OpenXR answered, for the text.
    """
    runtime = loader.runtime_name(get_instance_proc_addr, instance) or "The runtime"
    try:
        offered = extension_name() in loader.instance_extensions(get_instance_proc_addr)
    except AgenticError:
        # Not every xrGetInstanceProcAddr enumerates; the instance lives, so this stays a guess.
        offered = True
    if offered:
        return ExtensionNotEnabledError(
            f"This instance was created without {extension_name()} ({said}). Enable it when you create the instance: "
            "xr.InstanceCreateInfo(enabled_extension_names=openxr_agentic.enable_extension([...])). If you did: it "
            "was left out, with a warning, because the runtime that was active then did not offer it. Call "
            "enable_extension just before create_instance; in a test, inside the MockRuntime block."
        )
    return ExtensionNotAvailableError(f"{runtime} does not offer {extension_name()} ({said}). {_HOW_TO_HAVE_IT}")
