"""What one agent call costs, against what a pyopenxr user would write by hand.

    python -m benchmarks.callback [ROUNDS]

The same calls, interleaved in one run: `ctypes` is a hand-written binding in
pyopenxr's manner (CFUNCTYPE, json, a dictionary for the result between the two C
calls); `ours` is a tool registered through AgenticExtension.register_tool, its
arguments decoded with msgspec. `empty` is one empty `extern "Python"` call with
the same five arguments: the least that entering Python costs. Each agent call is
both C calls of the two-call idiom. The last line is one JSON object of ratios:

    *_vs_ctypes   how many times faster ours is; native: from a thread of the
                  host's own, python: from the thread that runs Python
    *_vs_empty    how many empty calls one of ours costs, native thread
    four_threads_vs_one   a call's wall time when four native threads call at
                  once, over the same from one
"""

from __future__ import annotations

import ctypes
import json
import random
import statistics
import sys
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

import openxr_agentic as agentic
from benchmarks import driver
from openxr_agentic._native import ffi as binding

if TYPE_CHECKING:
    from collections.abc import Callable

Vector3 = tuple[float, float, float]
Vector4 = tuple[float, float, float, float]


class Echo(msgspec.Struct):
    """Arguments of the tiny call."""

    input: str


class Cube(msgspec.Struct):
    """Arguments of the medium call: Meta's create_cube."""

    name: str
    position: Vector3
    orientation: Vector4
    scale: Vector3


def echo(input: str) -> dict[str, Any]:  # noqa: A002 - the name in Meta's sample
    """Return the input."""
    return {"output": input}


def create_cube(name: str, position: Vector3, orientation: Vector4, scale: Vector3) -> dict[str, Any]:
    """Pretend to make a cube."""
    return {"id": 17, "name": name, "created": True}


ARGUMENTS = {
    "tiny": b'{"input":"hi"}',
    "medium": json.dumps(
        {
            "name": "red cube next to the window",
            "position": [0.125, 1.5, -2.25],
            "orientation": [0.0, 0.7071067811865476, 0.0, 0.7071067811865476],
            "scale": [0.25, 0.25, 0.25],
        }
    ).encode(),
}


def our_callback(size: str) -> Callable[[str], str]:
    """Return the callback that a user of register_tool would write with msgspec."""
    encode = msgspec.json.Encoder().encode
    if size == "tiny":
        decode_echo = msgspec.json.Decoder(Echo).decode

        def tiny(arguments: str) -> str:
            return encode(echo(decode_echo(arguments).input)).decode()

        return tiny
    decode_cube = msgspec.json.Decoder(Cube).decode

    def medium(arguments: str) -> str:
        cube = decode_cube(arguments)
        return encode(create_cube(cube.name, cube.position, cube.orientation, cube.scale)).decode()

    return medium


CTYPES_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_uint32,
    ctypes.POINTER(ctypes.c_uint32),
    ctypes.c_char_p,
    ctypes.c_void_p,
)


def ctypes_callback(function: Callable[..., dict[str, Any]]) -> Any:
    """Return a hand-written ctypes callback that holds the result between the two calls."""
    held: dict[int, tuple[bytes, bytes]] = {}

    def callback(buffer: int | None, capacity: int, count: Any, parameters: bytes, _user_data: int | None) -> int:
        try:
            thread = get_ident()
            waiting = held.pop(thread, None)
            if waiting is not None and waiting[0] == parameters and buffer:
                result = waiting[1]
            else:
                result = json.dumps(function(**json.loads(parameters))).encode()
            count[0] = len(result) + 1
            if not buffer or capacity == 0:
                held[thread] = (parameters, result)
                return 0
            if capacity <= len(result):
                held[thread] = (parameters, result)
                return -11
            ctypes.memmove(buffer, result, len(result) + 1)
        except Exception:  # noqa: BLE001 - nothing may leave through C
            return -2
        return 0

    return CTYPES_CALLBACK(callback)


class Target(NamedTuple):
    """A C function to call, its userData and arguments, and how many C calls make one."""

    callback: int
    user_data: int
    arguments: bytes
    halves: int


def registered(extension: agentic.AgenticExtension, seen: list[tuple[int, int]], size: str) -> Target:
    """Register our tool and return what the host was given for it."""
    extension.register_tool(size, "Benchmark.", None, our_callback(size), main_thread=False)
    return Target(*seen[-1], ARGUMENTS[size], 2)


def recording_host(seen: list[tuple[int, int]]) -> tuple[Any, Any]:
    """Return an xrGetInstanceProcAddr of a host that only notes callback and userData."""

    def register(_instance: int, info: int) -> int:
        raw = binding.cast("OxaToolRegisterInfo*", info)
        seen.append(
            (int(binding.cast("uintptr_t", raw.toolCallback)), int(binding.cast("uintptr_t", raw.toolUserData)))
        )
        return 0

    register_function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(register)

    def look_up(_instance: int, name: bytes, function: Any) -> int:
        if b"RegisterExternalTool" not in name:
            return -7  # XR_ERROR_FUNCTION_UNSUPPORTED
        function[0] = ctypes.cast(register_function, ctypes.c_void_p).value
        return 0

    look_up_type = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p))
    return look_up_type(look_up), register_function


def main(rounds: int) -> None:
    """Run the benchmark and print its figures."""
    module = driver.build()
    module.ffi.def_extern(name="empty_callback", error=-1)(lambda *_: 0)
    seen: list[tuple[int, int]] = []
    look_up, kept = recording_host(seen)
    extension = agentic.AgenticExtension(1, get_instance_proc_addr=look_up)
    functions: dict[str, Callable[..., dict[str, Any]]] = {"tiny": echo, "medium": create_cube}
    by_hand = {size: ctypes_callback(function) for size, function in functions.items()}
    targets = {f"ours {size}": registered(extension, seen, size) for size in functions}
    for size, callback in by_hand.items():
        targets[f"ctypes {size}"] = Target(ctypes.cast(callback, ctypes.c_void_p).value or 0, 0, ARGUMENTS[size], 2)
    empty = int(module.ffi.cast("uintptr_t", module.ffi.addressof(module.lib, "empty_callback")))
    targets["empty"] = Target(empty, 0, ARGUMENTS["tiny"], 1)

    cells = [(name, threads) for name in targets for threads in (0, 1)] + [("ours tiny", 4)]
    nanoseconds: dict[tuple[str, int], list[float]] = {cell: [] for cell in cells}
    for _ in range(rounds):
        random.shuffle(cells)
        for name, threads in cells:
            target = targets[name]
            calls = 1_000 if name.startswith("ctypes") else 50_000
            taken = module.lib.drive(target.callback, target.user_data, target.arguments, calls, threads, target.halves)
            if taken < 0:
                raise SystemExit(f"{-taken} calls of {name} failed")
            nanoseconds[name, threads].append(taken / calls / max(1, threads))
    extension.close()
    del kept

    median = {cell: statistics.median(values) for cell, values in nanoseconds.items()}
    print(f"{rounds} rounds; ns for one agent call (both C calls), medians")
    where = {0: "Python thread", 1: "native thread", 4: "four native threads, each call"}
    for (name, threads), value in sorted(median.items()):
        print(f"  {name:14} {where[threads]:32} {value:9.0f}")
    ratios = {
        "tiny_native_vs_ctypes": median["ctypes tiny", 1] / median["ours tiny", 1],
        "medium_native_vs_ctypes": median["ctypes medium", 1] / median["ours medium", 1],
        "tiny_python_vs_ctypes": median["ctypes tiny", 0] / median["ours tiny", 0],
        "tiny_native_vs_empty": median["ours tiny", 1] / median["empty", 1],
        "medium_native_vs_empty": median["ours medium", 1] / median["empty", 1],
        "four_threads_vs_one": median["ours tiny", 4] / median["ours tiny", 1],
    }
    print(json.dumps({name: round(value, 3) for name, value in ratios.items()}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 31)
