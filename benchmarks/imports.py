"""What importing the package adds to an app's start.

    python -m benchmarks.imports [PAIRS]

Pairs of new processes in turn, one that imports the package and one that does
not, with compiled bytecode in place. The last line is one JSON object: the median
difference of a pair in milliseconds, and the median ratio.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time


def milliseconds(program: str) -> float:
    """Return the wall time of a new Python process that runs a program."""
    # Where this is set, each process would compile the package anew.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    return (time.perf_counter() - began) * 1e3


def main(pairs: int) -> None:
    """Run the benchmark and print its figures."""
    imported, bare = "import openxr_agentic", "pass"
    milliseconds(imported)  # compiles the bytecode
    taken = [(milliseconds(imported), milliseconds(bare)) for _ in range(pairs)]
    print(f"{pairs} pairs; medians: {statistics.median(b for _, b in taken):.1f} ms for Python alone")
    figures = {
        "import_over_bare_ms": statistics.median(a - b for a, b in taken),
        "import_vs_bare": statistics.median(a / b for a, b in taken),
    }
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 31)
