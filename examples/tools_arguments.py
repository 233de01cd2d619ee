"""Tools whose arguments are one object, or are described by hand. Needs no OpenXR.

python examples/tools_arguments.py
"""

from dataclasses import dataclass, field
from typing import Annotated, Any

import openxr_agentic as agentic

registry = agentic.ToolRegistry(prefix="Example_")


# 1. One parameter stands for all: the fields of its type are the tool's parameters. A TypedDict, a NamedTuple, a
#    msgspec Struct or a pydantic model does as well.
@dataclass
class Spawn:
    """What to spawn."""

    kind: Annotated[str, "What to spawn, as 'orc'"]
    count: Annotated[int, "How many"] = 1
    position: Annotated[tuple[float, float, float], "Where, in metres"] = (0.0, 0.0, 0.0)
    tags: Annotated[list[str], "Words to find them by"] = field(default_factory=list)


@registry.tool
def spawn(params: Annotated[Spawn, agentic.Arguments]) -> dict[str, Any]:
    """Spawn enemies, and return what was spawned."""
    return {"spawned": [params.kind] * params.count, "at": params.position, "tags": params.tags}


# 2. A JSON schema by hand: the function gets the dict of what was given.
@registry.tool(
    parameters={
        "type": "object",
        "properties": {
            "quality": {"enum": ["low", "high"], "description": "Quality of the picture"},
            "frames": {"type": "integer", "minimum": 1, "description": "Frames a second"},
        },
        "required": ["quality"],
    }
)
def set_picture(arguments: dict[str, Any]) -> dict[str, Any]:
    """Set how the picture is drawn, and return what changed."""
    return arguments


# 3. The extension's own parameters by hand, taken as keywords.
@registry.tool(
    parameters=[
        agentic.ToolParameter("text", "What to show", agentic.ParameterType.STRING, required=True),
        agentic.ToolParameter("seconds", "How long", agentic.ParameterType.NUMBER),
    ]
)
def show_text(**arguments: Any) -> str:
    """Show a text to the user, and return it with its time."""
    return f"{arguments['text']} ({arguments.get('seconds', 5)} s)"


def main() -> None:
    """Call each of them, as an agent would."""
    print(registry.execute("spawn", {"kind": "orc", "count": 2}))
    print(registry.execute("set_picture", {"quality": "low"}))
    print(registry.execute("show_text", {"text": "Hello"}))
    try:
        registry.execute("set_picture", {"quality": "hihg"})
    except agentic.ArgumentError as error:
        print(error)
    for parameter in registry.available_tools()[2].input_schema["properties"].items():
        print(parameter)


if __name__ == "__main__":
    main()
