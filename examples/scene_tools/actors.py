"""Tools for the scene's actors."""

import openxr_agentic as agentic

ACTORS = {"Ada": "waiting", "Alan": "waiting"}


@agentic.tool(groups="actors", annotations={"readOnlyHint": True})
def list_actors() -> dict[str, str]:
    """Return what each actor is doing, by name."""
    return ACTORS


@agentic.tool(groups="actors")
def wave(name: str) -> str:
    """Let an actor wave, and return what it is doing.

    Args:
        name: Name of the actor.
    """
    if name not in ACTORS:
        raise agentic.ToolError(f"There is no actor {name!r}.", tip="list_actors tells their names.")
    ACTORS[name] = "waving"
    return ACTORS[name]
