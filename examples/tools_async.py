"""Tools that are `async def`, from Python without and with an event loop. Needs no OpenXR.

python examples/tools_async.py

Called by an agent, such a tool runs to its end on the thread of the call, on an event loop of its own.
"""

import asyncio

import openxr_agentic as agentic

registry = agentic.ToolRegistry(prefix="Example_")


@registry.tool
async def fetch_scores(names: list[str]) -> dict[str, int]:
    """Fetch the scores of players, all at once, and return them by name.

    Args:
        names: Names of the players.
    """
    scores = await asyncio.gather(*(_score(name) for name in names))
    return dict(zip(names, scores, strict=True))


async def _score(name: str) -> int:
    await asyncio.sleep(0.01)
    return len(name)


@registry.tool(timeout=0.05)
async def wait_for_player(name: str) -> str:
    """Wait until a player comes, and return the greeting. It gives up soon.

    Args:
        name: Name of the player.
    """
    await asyncio.Event().wait()
    return f"Hello {name}"


async def several() -> None:
    """Call tools from a coroutine: they run on the running loop, at the same time."""
    calls = (registry.execute_async("fetch_scores", {"names": [name]}) for name in ("Ada", "Grace"))
    print(await asyncio.gather(*calls))


def main() -> None:
    """Call each of them."""
    print(registry.execute("fetch_scores", {"names": ["Ada", "Alan"]}))
    asyncio.run(several())
    try:
        registry.execute("wait_for_player", {"name": "Ada"})
    except agentic.ToolTimeoutError as error:
        print(error)


if __name__ == "__main__":
    main()
