"""Tools for AI agents in OpenXR apps written in Python.

An app offers its own functions to agents through the OpenXR instance extension
XR_METAX1_agentic_external_tool:

    import openxr_agentic as agentic

    info = xr.InstanceCreateInfo(enabled_extension_names=agentic.enable_extension([]))
    instance = xr.create_instance(info)
    with agentic.AgenticExtension(instance) as extension:
        extension.register_tool("MyApp_Hello", "Says hello.", None, lambda arguments: "Hello!")
        frame_loop()

Importing this package imports neither `xr` nor the native binding; they are
loaded when an object needs them.
"""

import importlib
from typing import TYPE_CHECKING, Any

from openxr_agentic.errors import (
    AgenticError,
    ClosedError,
    ConfigurationError,
    DefinitionError,
    ExtensionNotAvailableError,
    ExtensionNotEnabledError,
    ExtensionUnavailableWarning,
    FunctionMissingError,
    InstanceError,
    LoaderNotFoundError,
    NativeBuildMissingError,
    RegistrationRefusedError,
    ResultError,
    RuntimeNotFoundError,
    ToolError,
    ToolNameTakenError,
    UnsupportedInterpreterError,
)
from openxr_agentic.parameters import (
    MAX_DESCRIPTION_BYTES,
    MAX_NAME_BYTES,
    MAX_OBJECT_PROPERTIES_BYTES,
    ParameterType,
    ToolParameter,
)

if TYPE_CHECKING:
    from openxr_agentic.availability import enable_extension, is_extension_available
    from openxr_agentic.extension import AgenticExtension, set_result_limits
    from openxr_agentic.header_numbers import Number, numbers_in_force, override_numbers

    EXTENSION_NAME: str

__version__ = "0.1.0"

# What needs ctypes, the loader or the native binding is imported when it is first
# asked for: defining tools must cost an app's start as little as possible.
_WHERE = {
    "AgenticExtension": "extension",
    "Number": "header_numbers",
    "enable_extension": "availability",
    "is_extension_available": "availability",
    "numbers_in_force": "header_numbers",
    "override_numbers": "header_numbers",
    "set_result_limits": "extension",
}


def __getattr__(name: str) -> Any:
    if name == "EXTENSION_NAME":
        # From the header that the package was built with, and so from the native binding.
        value = importlib.import_module("openxr_agentic.availability").extension_name()
    elif name in _WHERE:
        value = getattr(importlib.import_module(f"openxr_agentic.{_WHERE[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "EXTENSION_NAME",
    "MAX_DESCRIPTION_BYTES",
    "MAX_NAME_BYTES",
    "MAX_OBJECT_PROPERTIES_BYTES",
    "AgenticError",
    "AgenticExtension",
    "ClosedError",
    "ConfigurationError",
    "DefinitionError",
    "ExtensionNotAvailableError",
    "ExtensionNotEnabledError",
    "ExtensionUnavailableWarning",
    "FunctionMissingError",
    "InstanceError",
    "LoaderNotFoundError",
    "NativeBuildMissingError",
    "Number",
    "ParameterType",
    "RegistrationRefusedError",
    "ResultError",
    "RuntimeNotFoundError",
    "ToolError",
    "ToolNameTakenError",
    "ToolParameter",
    "UnsupportedInterpreterError",
    "enable_extension",
    "is_extension_available",
    "numbers_in_force",
    "override_numbers",
    "set_result_limits",
]
