"""What the tool registry costs, against what a user would write by hand, or would use instead.

    python -m benchmarks.registry [ROUNDS]

Everything that is compared runs in one go, interleaved. The last line is one JSON object:

    decorated_vs_handwritten_*  a decorated function, called through the C trampoline from a native thread, over
                                the same function registered by hand with its own msgspec decoder and a try/except
    lookup_1000_vs_1            a call by name of one of 1,000 tools, over one of 1: the worse of `registry.execute`
                                and an agent's call over the mock runtime
    define_1000_vs_mcp          defining and registering 1,000 tools, over adding the same functions to the server of
                                the mcp package; new processes in turn (benchmarks.define)
    define_1000_future_vs_mcp   the same with postponed annotations
    first_call_ms               a new process that imports the package, defines and registers a tool and calls it, over
                                bare Python, in milliseconds; with compiled bytecode in place
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

import openxr_agentic as agentic
from benchmarks import driver
from benchmarks.callback import ARGUMENTS, Cube, Echo, Target, create_cube, echo
from openxr_agentic.registry.registry import ToolRegistry
from openxr_agentic.testing import MockRuntime

if TYPE_CHECKING:
    from collections.abc import Callable

CALLS = 50_000
LOOKUPS = 2_000
FUNCTIONS: dict[str, Callable[..., dict[str, Any]]] = {"tiny": echo, "medium": create_cube}

FIRST_CALL = """
import ctypes
import openxr_agentic as agentic

registry = agentic.ToolRegistry(prefix="MyApp_")

@registry.tool
def add(a: int, b: int) -> dict[str, int]:
    \'\'\'Add two whole numbers.\'\'\'
    return {"sum": a + b}

# A host that does nothing but take the registration; then its one call.
from openxr_agentic._native import ffi
seen = []

@ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
def register(instance, info):
    raw = ffi.cast("OxaToolRegisterInfo*", info)
    seen.append((raw.toolCallback, raw.toolUserData))
    return 0

@ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p))
def look_up(instance, name, function):
    if b"RegisterExternalTool" not in name:
        return -7
    function[0] = ctypes.cast(register, ctypes.c_void_p).value
    return 0

attachment = registry.attach(1, get_instance_proc_addr=look_up)
((callback, user_data),) = seen
buffer, count = ffi.new("char[]", 100), ffi.new("uint32_t*")
assert callback(buffer, 100, count, b'{"a":1,"b":2}', user_data) == 0
assert ffi.string(buffer) == b'{"sum":3}'
"""


def by_hand(size: str) -> Callable[[str], str]:
    """Return the callback that an expert would write for this one tool."""
    encode = msgspec.json.Encoder().encode
    if size == "tiny":
        decode_echo = msgspec.json.Decoder(Echo).decode

        def tiny(arguments: str) -> str:
            try:
                return encode(echo(decode_echo(arguments).input)).decode()
            except Exception as error:  # noqa: BLE001 - an agent is told
                return f"Error: {error}"

        return tiny
    decode_cube = msgspec.json.Decoder(Cube).decode

    def medium(arguments: str) -> str:
        try:
            cube = decode_cube(arguments)
            return encode(create_cube(cube.name, cube.position, cube.orientation, cube.scale)).decode()
        except Exception as error:  # noqa: BLE001 - an agent is told
            return f"Error: {error}"

    return medium


def call_ratios(runtime: MockRuntime, rounds: int) -> dict[str, float]:
    """Compare decorated functions with those registered by hand."""
    module = driver.build()
    module.ffi.def_extern(name="empty_callback", error=-1)(lambda *_: 0)
    instance = runtime.create_instance()
    address = runtime.get_instance_proc_addr
    registry = ToolRegistry()
    for size, function in FUNCTIONS.items():
        registry.tool(name=f"decorated_{size}", description="Benchmark.")(function)
    nanoseconds: dict[str, list[float]] = {}
    with (
        registry.attach(instance, get_instance_proc_addr=address),
        agentic.AgenticExtension(instance, get_instance_proc_addr=address) as extension,
    ):
        for size in FUNCTIONS:
            extension.register_tool(f"handwritten_{size}", "Benchmark.", None, by_hand(size))
        targets = {
            tool.name: Target(tool.callback, tool.user_data, ARGUMENTS[tool.name.rpartition("_")[2]], 2)
            for tool in runtime.tools()
        }
        cells = list(targets)
        for _ in range(rounds):
            random.shuffle(cells)
            for name in cells:
                target = targets[name]
                taken = module.lib.drive(target.callback, target.user_data, target.arguments, CALLS, 1, target.halves)
                if taken < 0:
                    raise SystemExit(f"{-taken} calls of {name} failed")
                nanoseconds.setdefault(name, []).append(taken / CALLS)
    runtime.destroy_instance(instance)
    for name, values in sorted(nanoseconds.items()):
        print(f"  {name:20} {statistics.median(values):9.0f} ns, native thread, both C calls")
    return {
        f"decorated_vs_handwritten_{size}": paired(nanoseconds[f"decorated_{size}"], nanoseconds[f"handwritten_{size}"])
        for size in FUNCTIONS
    }


def lookup_ratios(runtime: MockRuntime, rounds: int) -> dict[str, float]:
    """Compare calls by name among 1,000 tools and among one."""
    arguments = msgspec.json.decode(ARGUMENTS["tiny"])
    address = runtime.get_instance_proc_addr
    seconds: dict[tuple[str, int], list[float]] = {}
    cells: list[tuple[str, int, Callable[[], object]]] = []
    attached = []
    for count in (1, 1_000):
        registry = ToolRegistry()
        for number in range(count):
            registry.tool(name=f"echo_{number}", description="Benchmark.")(echo)
        name, instance = f"echo_{count // 2}", runtime.create_instance()
        attached.append((registry.attach(instance, get_instance_proc_addr=address), instance))
        cells.append(("execute", count, partial(registry.execute, name, arguments)))
        cells.append(("agent", count, partial(runtime.call, name, ARGUMENTS["tiny"], instance=instance)))
    for _ in range(rounds):
        random.shuffle(cells)
        for how, count, call in cells:
            began = time.perf_counter()
            for _ in range(LOOKUPS):
                call()
            seconds.setdefault((how, count), []).append((time.perf_counter() - began) / LOOKUPS)
    for attachment, instance in attached:
        attachment.detach()
        runtime.destroy_instance(instance)
    for (how, count), values in sorted(seconds.items()):
        print(f"  {how:8} one of {count:5} tools {statistics.median(values) * 1e6:6.2f} us")
    return {"lookup_1000_vs_1": max(paired(seconds[how, 1_000], seconds[how, 1]) for how in ("execute", "agent"))}


def define_ratios(rounds: int) -> dict[str, float]:
    """Compare our registry with the mcp package's server."""
    ratios = {}
    for key, future in (("define_1000_vs_mcp", []), ("define_1000_future_vs_mcp", ["future"])):
        taken: dict[str, list[float]] = {"ours": [], "mcp": []}
        for _ in range(rounds):
            for who, values in taken.items():
                values.append(float(run("-m", "benchmarks.define", who, *future)))
        medians = ", ".join(f"{who} {statistics.median(values):.0f} ms" for who, values in taken.items())
        print(f"  1,000 tools{', postponed annotations' if future else ''}: {medians}")
        ratios[key] = paired(taken["ours"], taken["mcp"])
    return ratios


def first_call(pairs: int) -> dict[str, float]:
    """Measure a new process up to the answer of its first call."""

    def milliseconds(program: str) -> float:
        began = time.perf_counter()
        run("-c", program)
        return (time.perf_counter() - began) * 1e3

    milliseconds(FIRST_CALL)  # compiles the bytecode
    taken = [(milliseconds(FIRST_CALL), milliseconds("pass")) for _ in range(pairs)]
    print(f"  first call: {statistics.median(bare for _, bare in taken):.1f} ms for Python alone")
    return {"first_call_ms": statistics.median(ours - bare for ours, bare in taken)}


def run(*arguments: str) -> str:
    """Run Python, as an installed package has it: with its bytecode kept."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    )
    return done.stdout


def paired(ours: list[float], theirs: list[float]) -> float:
    """Return the median ratio of what was measured in the same rounds."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def main(rounds: int) -> None:
    """Run the benchmark and print its figures."""
    print(f"{rounds} rounds; medians")
    with MockRuntime() as runtime:
        ratios = call_ratios(runtime, rounds) | lookup_ratios(runtime, rounds)
    ratios |= define_ratios(max(1, rounds // 3)) | first_call(rounds)
    print(json.dumps({name: round(value, 3) for name, value in ratios.items()}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 31)
