"""What a process sets up once for the native path, and the bounds that hold for all of it."""

from __future__ import annotations

import atexit
import os
import threading

from openxr_agentic import registrations
from openxr_agentic.definition.context import set_native_source
from openxr_agentic.errors import UnsupportedInterpreterError
from openxr_agentic.failures import report
from openxr_agentic.native_tools import native_call

EXIT_WAIT_SECONDS = 2.0
_started = False


def start() -> None:
    """Connect the C side with Python, once in a process."""
    global _started  # noqa: PLW0603
    if not _in_main_interpreter():
        raise UnsupportedInterpreterError(
            "AgenticExtension works in the main interpreter only: native callbacks cannot enter a subinterpreter. "
            "Register the tools from the main interpreter."
        )
    from openxr_agentic._native import ffi, lib  # importing the package must not load it

    with registrations.lock:
        if _started:
            return

        @ffi.def_extern(error=0)  # type: ignore[untyped-decorator]
        def oxa_enter_thread() -> int:
            return 1

        lib.oxa_python_start(id(report), threading.main_thread().ident)
        set_native_source(lib.oxa_current_token, native_call)
        atexit.register(lib.oxa_gate_close, int(EXIT_WAIT_SECONDS * 1e9))
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
            )
        _started = True


def _before_fork() -> None:
    """Take both locks, so that the child gets no copy of one that another thread holds."""
    from openxr_agentic._native import lib

    registrations.lock.acquire()
    lib.oxa_before_fork()


def _after_fork_in_parent() -> None:
    from openxr_agentic._native import lib

    lib.oxa_after_fork_in_parent()
    registrations.lock.release()


def _after_fork_in_child() -> None:
    from openxr_agentic._native import lib

    lib.oxa_after_fork_in_child()
    registrations.lock.release()


def _in_main_interpreter() -> bool:
    """Tell whether this is the interpreter that PyGILState_Ensure enters: the main one, always."""
    # Not through cffi: that lets go of this interpreter's thread state first.
    try:
        import ctypes
    except ImportError:  # an isolated subinterpreter may not even load that
        return False
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = ctypes.c_void_p
    api.PyInterpreterState_GetID.argtypes = [ctypes.c_void_p]
    api.PyInterpreterState_GetID.restype = ctypes.c_int64
    return bool(api.PyInterpreterState_GetID(api.PyInterpreterState_Get()) == 0)


def set_result_limits(*, results_per_tool: int = 64, total_bytes: int = 64 << 20, seconds: float = 60.0) -> None:
    """Set the bounds of results that a host has asked the size of and not fetched yet.

    They hold for the whole process. What is beyond is dropped, the oldest first; the
    newest result is never dropped.

    Args:
        results_per_tool: How many results one tool may hold; at least 1.
        total_bytes: Bytes that all of them may take together.
        seconds: How long one may be held.

    Raises:
        ValueError: A bound is negative, or no result could be held.
    """
    from openxr_agentic._native import lib

    whole = isinstance(results_per_tool, int) and isinstance(total_bytes, int)
    if not whole or not 1 <= results_per_tool < 2**32 or not 0 <= total_bytes < 2**63 or not 0 <= seconds < 2**31:
        raise ValueError(
            f"result limits must be at least 1 result, 0 bytes and 0 seconds, not {results_per_tool}, "
            f"{total_bytes} and {seconds}"
        )
    lib.oxa_set_bounds(results_per_tool, total_bytes, int(seconds * 1e9))
