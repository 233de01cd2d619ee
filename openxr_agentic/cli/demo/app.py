"""The app of ``openxr-agentic demo``: a headless OpenXR app that offers four tools.

Three of them are the examples of Meta's documentation (a greeting, an echo, and
a cube), in Python; the fourth needs no main thread, and so waits for no frame.
"""

from __future__ import annotations

import json
import signal
import threading
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import xr

import openxr_agentic as agentic
from openxr_agentic import ParameterType, ToolParameter
from openxr_agentic.cli.demo.headless import frames

NAME: Final = "openxr-agentic demo app"


@dataclass(frozen=True)
class Cube:
    """A cube of the scene: metres, and a quaternion [x, y, z, w]."""

    name: str
    position: list[float]
    orientation: list[float]
    scale: list[float]


@dataclass
class Scene:
    """What the tools work on.

    `create_cube` runs on the main thread and `list_cubes` on any: replacing the
    tuple as a whole is what keeps a reader from seeing half a change.
    """

    cubes: tuple[Cube, ...] = field(default=())

    def create_cube(self, arguments: str) -> str:
        """Add a cube and answer with all of it."""
        given = json.loads(arguments)
        cube = Cube(
            name=given.get("name") or f"cube_{len(self.cubes) + 1}",
            position=_vector(given, "position", 3),
            orientation=_vector(given, "orientation", 4, [0, 0, 0, 1]),
            scale=_vector(given, "scale", 3, [0.05, 0.05, 0.05]),
        )
        self.cubes += (cube,)
        return json.dumps(asdict(cube))

    def list_cubes(self, arguments: str) -> str:
        """Answer with the names of all cubes, and the kind of thread that this ran on."""
        on_main_thread = threading.current_thread() is threading.main_thread()
        names = [cube.name for cube in self.cubes]
        return json.dumps({"cubes": names, "on_main_thread": on_main_thread})


def _vector(given: dict[str, Any], name: str, length: int, default: list[float] | None = None) -> list[float]:
    value = given.get(name, default)
    if not isinstance(value, list) or len(value) != length or not all(type(item) in (int, float) for item in value):
        raise agentic.ToolError(
            f"{name} must be an array of {length} numbers, not {json.dumps(value)}.",
            tip=f"Send for example {json.dumps([0.5] * length)}.",
        )
    return value


def hello(arguments: str) -> str:
    """Greet."""
    return "Hello from an OpenXR app written in Python!"


def echo(arguments: str) -> str:
    """Answer with the input."""
    text = json.loads(arguments).get("input")
    if not isinstance(text, str):
        raise agentic.ToolError("input must be a string.", tip='Send for example {"input": "hi"}.')
    return text


def register_tools(extension: agentic.AgenticExtension, scene: Scene) -> None:
    """Offer everything that an agent can do with the scene."""
    extension.register_tool("MyApp_HelloWorld", "Greets the caller.", None, hello)
    extension.register_tool(
        "MyApp_Echo",
        "Gives back the text that it is given.",
        [ToolParameter("input", "What to give back", ParameterType.STRING, required=True)],
        echo,
    )
    extension.register_tool(
        "create_cube",
        "Puts a new cube into the scene and answers with its name and pose.",
        [
            ToolParameter("name", "What to call it; made up when left out", ParameterType.STRING),
            _numbers("position", "Its centre in metres, as [x, y, z]", required=True),
            _numbers("orientation", "A quaternion [x, y, z, w]; [0, 0, 0, 1] when left out"),
            _numbers("scale", "Its size in metres; [0.05, 0.05, 0.05] when left out"),
        ],
        scene.create_cube,
    )
    extension.register_tool(
        "list_cubes",
        "Names the cubes of the scene. Waits for no frame.",
        None,
        scene.list_cubes,
        main_thread=False,
    )


def _numbers(name: str, description: str, *, required: bool = False) -> ToolParameter:
    return ToolParameter(
        name,
        description,
        ParameterType.ARRAY,
        required=required,
        item_type=ParameterType.NUMBER,
    )


def main() -> None:
    """Run until SIGTERM or Ctrl-C."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    extensions = agentic.enable_extension([xr.MND_HEADLESS_EXTENSION_NAME], required=True)
    instance = xr.create_instance(
        xr.InstanceCreateInfo(
            application_info=xr.ApplicationInfo(application_name=NAME),
            enabled_extension_names=extensions,
        )
    )
    try:
        with agentic.AgenticExtension(instance) as extension:
            register_tools(extension, Scene())
            for _ in frames(instance, stop):
                pass  # an app with a display would draw here
    finally:
        xr.destroy_instance(instance)


if __name__ == "__main__":
    main()
