"""Tools from classes: methods of objects, static and class methods, and a class that is a tool. Needs no OpenXR.

python examples/tools_classes.py
"""

import openxr_agentic as agentic

registry = agentic.ToolRegistry(prefix="Example_")


# 1. Methods. Each needs an object, so in the class they are only marked.
class Lamp:
    """A lamp of the scene."""

    def __init__(self) -> None:
        self.lit = False
        self.closed = False

    @registry.tool
    def switch(self, on: bool) -> dict[str, bool]:
        """Switch the lamp on or off, and return its state.

        Args:
            on: Whether it shall give light.
        """
        self.lit = on
        return {"lit": self.lit}

    def close(self) -> None:
        """Take the lamp out of the scene."""
        self.closed = True


# 2. Static and class methods are tools at once. The decorators may stand in either order.
class Scene:
    """What there is."""

    objects = ("ball", "box")

    @registry.tool
    @staticmethod
    def gravity() -> float:
        """Return the scene's gravity, in metres per second squared."""
        return 9.81

    @classmethod
    @registry.tool
    def list_objects(cls) -> list[str]:
        """Return the names of all objects of the scene."""
        return list(cls.objects)


# 3. A class, which is made once, without arguments, and keeps its state.
@registry.tool(name="visit")
class Visits:
    """Note a visitor, and return all who came so far."""

    def __init__(self) -> None:
        self.visitors: list[str] = []

    def execute(self, visitor: str) -> list[str]:
        """Note one.

        Args:
            visitor: The visitor's name.
        """
        self.visitors.append(visitor)
        return self.visitors


def main() -> None:
    """Call each of them, as an agent would."""
    desk, wall = Lamp(), Lamp()
    registry.register_object(desk, prefix="desk_")
    registry.register_object(wall, prefix="wall_")
    print(registry.execute("desk_switch", {"on": True}), desk.lit, wall.lit)
    desk.close()
    try:
        registry.execute("desk_switch", {"on": False})
    except agentic.ToolError as error:
        print(error)
    print(registry.execute("gravity"), registry.execute("list_objects"))
    registry.execute("visit", {"visitor": "Ada"})
    print(registry.execute("visit", {"visitor": "Alan"}))


if __name__ == "__main__":
    main()
