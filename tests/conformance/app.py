"""The app whose tools the official MCP conformance suite calls; see ``suite.py``.

A real app: its tools are registered through the extension on the mock runtime and run inside
xrWaitFrame. The suite decides what they are called and what they answer.
"""

import base64
import threading

import xr

import openxr_agentic as agentic
from openxr_agentic.cli.demo.headless import frames

RED_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
)
SILENCE = b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\2\0\0\0\x80\x80"

# As the suite gives it: a server must pass on every keyword. This package's own definitions have no
# `$ref`, since many clients cannot follow one; an app in another language may send such a schema.
SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

registry = agentic.ToolRegistry(settings=False)


@registry.tool
def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@registry.tool
def test_image_content() -> agentic.Image:
    """Return an image of one red pixel."""
    return agentic.Image(RED_PIXEL)


@registry.tool
def test_audio_content() -> agentic.Audio:
    """Return a sound of two samples."""
    return agentic.Audio(SILENCE)


@registry.tool
def test_error_handling() -> str:
    """Fail."""
    raise agentic.ToolError("This tool intentionally returns an error for testing")


@registry.tool
def test_reconnection() -> str:
    """Answer, so that the stream that carries the answer can be looked at."""
    return "answered"


@registry.tool
def test_streaming_elicitation() -> str:
    """Answer: a tool of an app asks nothing, so nothing but the answer may come."""
    return "answered"


@registry.tool
def test_logging_tool(context: agentic.ToolContext) -> str:
    """Write to the app's log, of which clients hear nothing."""
    context.logger.info("asked")
    return "answered"


@registry.tool
def test_trigger_tool_change() -> str:
    """Add a tool, or take it away again."""
    if not registry.unregister("comes_and_goes"):
        registry.register("comes_and_goes", lambda: "here", "Answer, while it is there.", keep=True)
    return "changed"


@registry.tool(parameters={"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})
def test_parameter_header(arguments: dict) -> list:
    """Return the names of the arguments; one of them clients repeat as an HTTP header."""
    return sorted(arguments)


def main() -> None:
    """Offer the tools until the app is interrupted."""
    instance = xr.create_instance(
        xr.InstanceCreateInfo(
            application_info=xr.ApplicationInfo(application_name="MCP conformance"),
            enabled_extension_names=agentic.enable_extension([xr.MND_HEADLESS_EXTENSION_NAME]),
        )
    )
    try:
        with registry.attach(instance), agentic.AgenticExtension(instance) as extension:
            name = "json_schema_2020_12_tool"
            extension.register_tool(
                name, "Has an input schema of JSON Schema 2020-12.", [], lambda arguments: arguments
            )
            extension.metadata.tell(name, {"inputSchema": SCHEMA_2020_12})
            for _ in frames(instance, threading.Event()):
                pass
    except KeyboardInterrupt:
        pass
    finally:
        xr.destroy_instance(instance)


if __name__ == "__main__":
    main()
