"""Tools for AI agents in OpenXR apps written in Python.

An app offers its own functions to agents through the OpenXR instance extension
XR_METAX1_agentic_external_tool:

    import openxr_agentic as agentic

    registry = agentic.ToolRegistry(prefix="MyApp_")

    @registry.tool
    def create_cube(position: tuple[float, float, float]) -> dict:
        \"\"\"Create a cube in the scene.\"\"\"

    info = xr.InstanceCreateInfo(enabled_extension_names=agentic.enable_extension([]))
    instance = xr.create_instance(info)
    with registry.attach(instance):
        frame_loop()

Importing this package imports neither `xr` nor the native binding; they are
loaded when an object needs them.
"""

import importlib
from typing import TYPE_CHECKING, Any

from openxr_agentic.errors import (
    AgenticError,
    ArgumentError,
    ClosedError,
    ConfigurationError,
    DefinitionError,
    ExtensionNotAvailableError,
    ExtensionNotEnabledError,
    ExtensionUnavailableWarning,
    FunctionMissingError,
    InstanceError,
    LoaderNotFoundError,
    NameClashError,
    NativeBuildMissingError,
    RegistrationRefusedError,
    ResultError,
    ResultValueError,
    RuntimeNotFoundError,
    ServerError,
    ToolDisabledError,
    ToolError,
    ToolNameTakenError,
    ToolTimeoutError,
    UnknownGroupError,
    UnknownToolError,
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
    from openxr_agentic.attachment import Attachment, AttachmentStatus
    from openxr_agentic.availability import enable_extension, is_extension_available
    from openxr_agentic.definition.context import Arguments, ToolContext, current_call
    from openxr_agentic.definition.options import ToolAnnotations, sanitize_tool_name, tool
    from openxr_agentic.definition.tool import Tool, define
    from openxr_agentic.extension import AgenticExtension
    from openxr_agentic.header_numbers import Number, numbers_in_force, override_numbers
    from openxr_agentic.native_process import set_result_limits
    from openxr_agentic.registry.discovery import EntryPoints
    from openxr_agentic.registry.entries import ToolInfo, ToolSetting
    from openxr_agentic.registry.events import ChangeKind, ToolsChanged
    from openxr_agentic.registry.registry import ToolRegistry
    from openxr_agentic.results.media import Audio, Image
    from openxr_agentic.server_process import ServerProcess, start_server

    EXTENSION_NAME: str

__version__ = "0.1.0"

# What needs msgspec, ctypes, the loader or the native binding is imported when it is first
# asked for: an app pays for what it uses.
_WHERE = {
    "AgenticExtension": "extension",
    "Arguments": "definition.context",
    "Attachment": "attachment",
    "AttachmentStatus": "attachment",
    "Audio": "results.media",
    "ChangeKind": "registry.events",
    "EntryPoints": "registry.discovery",
    "Image": "results.media",
    "Number": "header_numbers",
    "ServerProcess": "server_process",
    "Tool": "definition.tool",
    "ToolAnnotations": "definition.options",
    "ToolContext": "definition.context",
    "ToolInfo": "registry.entries",
    "ToolRegistry": "registry.registry",
    "ToolSetting": "registry.entries",
    "ToolsChanged": "registry.events",
    "current_call": "definition.context",
    "define": "definition.tool",
    "enable_extension": "availability",
    "is_extension_available": "availability",
    "numbers_in_force": "header_numbers",
    "override_numbers": "header_numbers",
    "sanitize_tool_name": "definition.options",
    "set_result_limits": "native_process",
    "start_server": "server_process",
    "tool": "definition.options",
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
    "ArgumentError",
    "Arguments",
    "Attachment",
    "AttachmentStatus",
    "Audio",
    "ChangeKind",
    "ClosedError",
    "ConfigurationError",
    "DefinitionError",
    "EntryPoints",
    "ExtensionNotAvailableError",
    "ExtensionNotEnabledError",
    "ExtensionUnavailableWarning",
    "FunctionMissingError",
    "Image",
    "InstanceError",
    "LoaderNotFoundError",
    "NameClashError",
    "NativeBuildMissingError",
    "Number",
    "ParameterType",
    "RegistrationRefusedError",
    "ResultError",
    "ResultValueError",
    "RuntimeNotFoundError",
    "ServerError",
    "ServerProcess",
    "Tool",
    "ToolAnnotations",
    "ToolContext",
    "ToolDisabledError",
    "ToolError",
    "ToolInfo",
    "ToolNameTakenError",
    "ToolParameter",
    "ToolRegistry",
    "ToolSetting",
    "ToolTimeoutError",
    "ToolsChanged",
    "UnknownGroupError",
    "UnknownToolError",
    "UnsupportedInterpreterError",
    "current_call",
    "define",
    "enable_extension",
    "is_extension_available",
    "numbers_in_force",
    "override_numbers",
    "sanitize_tool_name",
    "set_result_limits",
    "start_server",
    "tool",
]
