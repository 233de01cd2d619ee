"""Builds the native drivers of the benchmarks; that of callbacks is a host that only calls, and an empty callback."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

from cffi import FFI

_CDEF = """
int64_t drive(uintptr_t callback, uintptr_t user_data, const char* arguments, int32_t calls, int32_t threads,
              int32_t halves);
extern "Python" int32_t empty_callback(char*, uint32_t, uint32_t*, const char*, void*);
"""


def build(file: str = "_driver.c", declarations: str = _CDEF) -> Any:
    """Compile a driver into a temporary folder and return its module (`ffi` and `lib`)."""
    name = f"openxr_agentic_benchmark{Path(file).stem}"
    ffi = FFI()
    ffi.cdef(declarations)
    source = Path(__file__).with_name(file).read_text(encoding="utf-8")
    ffi.set_source(name, source, extra_compile_args=["-O2", "-D_GNU_SOURCE"])
    with tempfile.TemporaryDirectory() as folder:
        path = ffi.compile(tmpdir=folder)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module
