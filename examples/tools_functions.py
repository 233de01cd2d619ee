"""Tools from functions, and from anything else that can be called. Needs no OpenXR.

python examples/tools_functions.py
"""

import enum
from functools import partial
from typing import Annotated, Literal

import msgspec

import openxr_agentic as agentic

registry = agentic.ToolRegistry(prefix="Example_")


# 1. A function. Its signature is what agents may send, its docstring what they are told.
@registry.tool
def move(name: str, position: tuple[float, float, float], speed: float = 1.0) -> dict[str, object]:
    """Move an object of the scene, and return where it is then.

    Args:
        name: Name of the object.
        position: Where to, in metres, as [x, y, z].
        speed: In metres per second.
    """
    return {"name": name, "position": position, "seconds": 2 / speed}


# 2. With options, choices and limits.
class Quality(enum.Enum):
    """How well the picture is drawn."""

    LOW = "low"
    HIGH = "high"


@registry.tool(
    name="set_picture",
    title="Picture",
    groups=["settings"],
    annotations={"idempotentHint": True},
    main_thread=False,
)
def set_the_picture(
    quality: Annotated[Quality, "How well it is drawn"],
    brightness: Annotated[int, msgspec.Meta(ge=0, le=100, description="In percent")] = 50,
    mode: Annotated[Literal["day", "night"] | None, "Colours; null: as the clock says"] = None,
) -> str:
    """Set how the picture is drawn, and return the settings as text."""
    return f"{quality.name} {brightness} {mode}"


# 3. With its own call, which agents do not see as a parameter.
@registry.tool
def who_is_called(call: agentic.ToolContext) -> str:
    """Return the name under which this tool was called."""
    call.logger.info("Asked on thread %d", call.thread)
    return call.tool_name


# 4. An error for the agent, with a tip.
@registry.tool
def open_door(name: str) -> str:
    """Open a door, and return what happened.

    Args:
        name: Name of the door.
    """
    if name != "front":
        raise agentic.ToolError(f"There is no door {name!r}.", tip="Doors: front.")
    return "It is open."


# 5. functools.partial: agents cannot see or change what is bound.
def paint(surface: str, color: str) -> str:
    """Paint a surface, and return what was painted.

    Args:
        surface: What to paint.
        color: Name of the colour.
    """
    return f"{surface} is {color}"


registry.register("paint_wall", partial(paint, "wall"))


# 6. A callable object.
class Counter:
    """Count up, and return the count."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, by: int = 1) -> int:
        """Count up by a number."""
        self.count += by
        return self.count


registry.register("count", Counter())


def main() -> None:
    """Call each of them, as an agent would."""
    print(registry.execute("move", {"name": "ball", "position": [0, 1, 0]}))
    print(registry.execute("set_picture", {"quality": "high", "brightness": "70"}))
    print(registry.execute("who_is_called"))
    print(registry.execute("paint_wall", {"color": "green"}))
    print(registry.execute("count"), registry.execute("count", {"by": 5}))
    try:
        registry.execute("open_door", {"name": "back"})
    except agentic.ToolError as error:
        print(error, error.tip)
    try:
        registry.execute("move", {"nam": "ball", "speed": "fast"})
    except agentic.ArgumentError as error:
        print(error)


if __name__ == "__main__":
    main()
