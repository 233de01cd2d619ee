"""An app whose registry has a tool of every kind, and changes when it is asked to; for clients of every kind."""

import threading
from dataclasses import dataclass
from typing import Literal

import xr

import openxr_agentic as agentic
from openxr_agentic.cli.demo.headless import frames

registry = agentic.ToolRegistry(prefix="Doors_", settings=False)


@dataclass
class Cube:
    """A cube.

    Attributes:
        position: Where it is, in metres.
        size: Length of its edges, in metres.
    """

    position: tuple[float, float, float]
    size: float


@registry.tool(annotations={"destructiveHint": False}, title="Cube maker")
def make_cube(position: tuple[float, float, float], size: float = 0.1) -> Cube:
    """Make a cube, and return it.

    Args:
        position: Where, in metres.
        size: Length of its edges, in metres.
    """
    return Cube(position, size)


@registry.tool(annotations={"readOnlyHint": True}, main_thread=False)
def repeat(text: str) -> str:
    """Return the text."""
    return text


@registry.tool
def take_screenshot(more_bytes: int = 0) -> agentic.Image:
    """Return what the user sees now.

    Args:
        more_bytes: How much larger than usual the image is to be.
    """
    return agentic.Image(b"\x89PNG\r\n\x1a\n and so on" + bytes(range(256)) * (more_bytes // 256))


@registry.tool
def open_vault() -> str:
    """Fail with advice."""
    raise agentic.ToolError("The vault is locked.", tip="Find the key.")


@registry.tool
def crash() -> str:
    """Fail without a word for the agent."""
    raise RuntimeError("a bug")


@registry.tool(enabled_by_default=False)
def secret() -> str:
    """Return what nobody is to know."""
    return "secret"


@registry.tool
def change(what: Literal["add", "disable", "enable", "override", "remove"]) -> str:
    """Change the tool `visitor`, and return what was done."""
    if what in ("add", "override"):
        text = "first" if what == "add" else "second"
        registry.register("visitor", lambda: text, f"Say who is the {text}.", override=what == "override")
    elif what == "remove":
        registry.unregister("visitor")
    else:
        registry.set_enabled("visitor", what == "enable")
    return what


def main() -> None:
    """Offer the tools until the app is interrupted."""
    instance = xr.create_instance(
        xr.InstanceCreateInfo(
            application_info=xr.ApplicationInfo(application_name="Doors"),
            enabled_extension_names=agentic.enable_extension([xr.MND_HEADLESS_EXTENSION_NAME]),
        )
    )
    try:
        with registry.attach(instance):
            for _ in frames(instance, threading.Event()):
                pass
    except KeyboardInterrupt:
        pass
    finally:
        xr.destroy_instance(instance)


if __name__ == "__main__":
    main()
