"""What the API layer adds to a call that it forwards: xrPollEvent over the mock runtime.

    python -m benchmarks.layer [PROCESSES]

The same instance, which a tool is registered on and no call waits for, is polled by
the runtime's own function and by the layer's, which calls it: in turns, in one run.
What a cold call costs depends on where in memory the libraries lie, so the figures are
the medians of several processes. The last line is one JSON object:

    poll_ratio        a poll with the layer, over one without, warm caches
    added_warm_ns     what the layer adds to it; at most 10 is the aim
    added_cold_ns     the same when a core's caches hold nothing of it; at most 300 is the aim
    least_cold_ns     what a library adds then that does nothing but call the runtime's function
    forwarded_as_is   how many of the core functions are the runtime's own under the layer,
                      so that nothing is added to them; of how many: core_functions
"""

from __future__ import annotations

import json
import random
import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import openxr_agentic as agentic
from benchmarks import driver
from openxr_agentic import host, loader
from openxr_agentic.testing import MockRuntime, raw_instance

ROUNDS = 31
CALLS = 20_000
COLD_SAMPLES_PER_ROUND = 3
LISTS = Path(__file__).resolve().parents[1] / "native_headers" / "openxr_agentic" / "openxr_lists.h"

CDEF = """
double warm(uintptr_t function, uintptr_t instance, int32_t calls);
double cold(uintptr_t function, uintptr_t instance, const uintptr_t* functions, int32_t count);
"""


def core_functions() -> list[str]:
    """Return the names of OpenXR 1.0's functions that an instance is asked for."""
    text = LISTS.read_text(encoding="utf-8").replace("\\\n", " ")
    listed = re.search(r"#define OXA_CORE_FUNCTIONS\(entry\)(.*)", text)
    assert listed is not None
    return re.findall(r"\bentry\((\w+),", listed[1])


def checked(nanoseconds: float) -> float:
    """Return what was measured, or end with what failed."""
    if nanoseconds < 0:
        raise SystemExit(f"xrPollEvent returned {nanoseconds:.0f}")
    return nanoseconds


def median_of_differences(with_layer: list[float], without: list[float]) -> float:
    """Return what is added, from pairs that were measured one after the other."""
    return statistics.median(one - other for one, other in zip(with_layer, without, strict=True))


def measure(native: Any, functions: dict[str, int], instance: int) -> dict[str, float]:
    """Time the functions in turns."""
    every = native.ffi.new("uintptr_t[]", list(functions.values()))
    warm: dict[str, list[float]] = {name: [] for name in functions}
    cold: dict[str, list[float]] = {name: [] for name in functions}
    order = list(functions)
    for _ in range(ROUNDS):
        random.shuffle(order)
        for name in order:
            warm[name].append(checked(native.lib.warm(functions[name], instance, CALLS)))
        for _ in range(COLD_SAMPLES_PER_ROUND):
            for name in order:
                cold[name].append(checked(native.lib.cold(functions[name], instance, every, len(functions))))
    added = median_of_differences(warm["layer"], warm["runtime"])
    return {
        "poll_ratio": 1 + added / statistics.median(warm["runtime"]),
        "added_warm_ns": added,
        "added_cold_ns": median_of_differences(cold["layer"], cold["runtime"]),
        "least_cold_ns": median_of_differences(cold["least"], cold["runtime"]),
    }


def measure_here() -> dict[str, float]:
    """Return one process's figures."""
    native = driver.build("_layer.c", CDEF)
    least = driver.build("_forward.c", "uintptr_t bare_forwarder(uintptr_t function);")
    with MockRuntime(layer=True) as runtime:
        instance = runtime.create_instance()
        of_runtime = raw_instance.negotiate(host.library_path())
        of_app = runtime.get_instance_proc_addr
        with agentic.AgenticExtension(instance, get_instance_proc_addr=of_app) as extension:
            extension.register_tool("MyApp_idle", "Is never called.", None, str)
            names = core_functions()
            addresses = {name: [loader.look_up(of, instance, name)[1] for of in (of_runtime, of_app)] for name in names}
            # The loader has an xrGetInstanceProcAddr and an xrDestroyInstance of its own, among others.
            same = [name for name, (runtimes, apps) in addresses.items() if runtimes == apps]
            polls = dict(zip(("runtime", "layer"), addresses["xrPollEvent"], strict=True))
            polls["least"] = least.lib.bare_forwarder(polls["runtime"])
            figures = measure(native, polls, instance)
        runtime.destroy_instance(instance)
    return {**figures, "forwarded_as_is": len(same), "core_functions": len(names)}


def main(processes: int) -> None:
    """Run the benchmark and print its figures."""
    command = [sys.executable, "-c", "import json, benchmarks.layer as b; print(json.dumps(b.measure_here()))"]
    runs = []
    for _ in range(processes):
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
        print("  ".join(f"{name} {value:.4g}" for name, value in runs[-1].items()))
    digits = {"poll_ratio": 3, "added_warm_ns": 2}
    print(json.dumps({name: round(statistics.median(run[name] for run in runs), digits.get(name)) for name in runs[0]}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
