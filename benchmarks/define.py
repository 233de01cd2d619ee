"""Defines and registers 1,000 tools of five described parameters, all different.

    python -m benchmarks.define (ours | mcp) [future]

Prints the milliseconds that this took, with the functions made and 20 others defined before. `ours` is a
ToolRegistry attached to the mock runtime; `mcp` is the server of the mcp package; `future` is with
`from __future__ import annotations`. `benchmarks.registry` runs it in new processes.
"""

from __future__ import annotations

import gc
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Function = Callable[..., dict[str, Any]]

TOOLS = 1_000
_TOOL = '''
def {name}(
    label: Annotated[str, Field(description="Name of the object to make (of {name})")],
    count: Annotated[int, Field(description="How many copies to make (of {name})")],
    size: Annotated[float, Field(description="Edge length in metres (of {name})")],
    visible: Annotated[bool, Field(description="Whether it is shown at once (of {name})")],
    position: Annotated[list[float], Field(description="Position in metres [x, y, z] (of {name})")],
) -> dict[str, Any]:
    """Create the object of {name} in the scene, and return its identifier."""
    return {{"label": label}}
'''


def functions(count: int, prefix: str, *, future: bool) -> list[Function]:
    """Make functions that differ in every text."""
    names = [f"{prefix}_{number}" for number in range(count)]
    # The mcp package takes descriptions from pydantic's Field alone.
    head = "from typing import Annotated, Any\nfrom pydantic import Field\n"
    source = ("from __future__ import annotations\n" if future else "") + head
    namespace: dict[str, Any] = {"__name__": f"benchmark_{prefix}"}
    source += "".join(_TOOL.format(name=name) for name in names)
    # Compiled without the future statement of this file.
    exec(compile(source, f"<{prefix}>", "exec", dont_inherit=True), namespace)
    return [namespace[name] for name in names]


def define_ours(made: Sequence[Function]) -> float:
    """Return the seconds that our registry takes."""
    from openxr_agentic.registry.registry import ToolRegistry
    from openxr_agentic.testing import MockRuntime

    with MockRuntime() as runtime:
        instance = runtime.create_instance()
        began = time.perf_counter()
        registry = ToolRegistry()
        for function in made:
            registry.tool(function)
        with registry.attach(instance, get_instance_proc_addr=runtime.get_instance_proc_addr):
            taken = time.perf_counter() - began
            assert len(runtime.tools()) == len(made)
        runtime.destroy_instance(instance)
    return taken


def define_mcp(made: Sequence[Function]) -> float:
    """Return the seconds that the mcp package's server takes."""
    from mcp.server import MCPServer

    began = time.perf_counter()
    server = MCPServer("benchmark")
    for function in made:
        server.add_tool(function)
    return time.perf_counter() - began


def main(who: str, *, future: bool) -> None:
    """Print the milliseconds."""
    define = {"ours": define_ours, "mcp": define_mcp}[who]
    made = functions(TOOLS, "tool", future=future)
    define(functions(20, "warm", future=future))
    gc.collect()
    print(define(made) * 1e3)


if __name__ == "__main__":
    main(sys.argv[1], future="future" in sys.argv[2:])
