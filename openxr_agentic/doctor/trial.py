"""The child process in which tools are registered on trial; see `discovery`.

It makes an instance with the extension enabled, and serves requests: one JSON object a
line on stdin, one answer a line on stdout. Meanwhile it makes the calls of an app without
a session, so that the host can run main-thread tools. It ends with its stdin.
"""

from __future__ import annotations

import ctypes
import json
import os
import queue
import sys
import threading
from typing import TYPE_CHECKING, Any

from openxr_agentic import loader
from openxr_agentic.errors import XR_ERROR_SIZE_INSUFFICIENT, AgenticError, FunctionMissingError

if TYPE_CHECKING:
    from openxr_agentic.doctor.discovery import Attempt

ON_MAIN_THREAD, ELSEWHERE = "main ", "other"
"""What a tool on trial answers; of one length, since a size query and its fill may come on two threads."""

_EXTENSION = "XR_METAX1_agentic_external_tool"
_REGISTER = ("xrAgenticRegisterExternalToolMETAX1", "xrAgenticRegisterExternalToolMETA")
_TYPE_EVENT_DATA_BUFFER = 16
_POLL_SECONDS = 0.002


class _EventDataBuffer(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("next", ctypes.c_void_p), ("varying", ctypes.c_uint8 * 4000))


_PollEvent = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(_EventDataBuffer))
_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_uint32,
    ctypes.POINTER(ctypes.c_uint32),
    ctypes.c_char_p,
    ctypes.c_void_p,
)


def _answer(buffer: int | None, capacity: int, count: Any, _arguments: bytes | None, _user_data: int | None) -> int:
    """Answer by the two-call idiom on which thread the call came."""
    on_main = threading.get_ident() == threading.main_thread().ident
    text = (ON_MAIN_THREAD if on_main else ELSEWHERE).encode()
    count[0] = len(text) + 1
    if buffer is None or capacity == 0:
        return 0
    if capacity <= len(text):
        return XR_ERROR_SIZE_INSUFFICIENT
    ctypes.memmove(buffer, text, len(text) + 1)
    return 0


_tool = _Callback(_answer)


class _Trial:
    """The instance, and registrations on it."""

    def __init__(self) -> None:
        from openxr_agentic._native import ffi
        from openxr_agentic.testing import raw_instance

        self._ffi = ffi
        self._address = loader.load().get_instance_proc_addr
        self._instance = raw_instance.create(self._address, [_EXTENSION], "openxr-agentic doctor")
        self._register = ffi.cast("OxaRegisterTool", self._function(*_REGISTER))
        self._poll_event = _PollEvent(self._function("xrPollEvent"))
        # Their fields are overwritten by each attempt: a host reads them only while it registers.
        self._info = ffi.new("OxaToolRegisterInfo*")
        self._parameter = ffi.new("OxaToolParameter*")
        self._parameter.paramName = b"value"
        self._parameter.paramDescription = b"Not used."
        self._parameter.objectProperties = b'{"type":"object","properties":{}}'
        self._info.toolDescription = b"A trial of openxr-agentic doctor; it is gone in a moment."
        self._info.toolCallback = ffi.cast("OxaToolCallback", ctypes.cast(_tool, ctypes.c_void_p).value)

    def _function(self, *names: str) -> int:
        for name in names:
            _, address = loader.look_up(self._address, self._instance, name)
            if address:
                return address
        raise FunctionMissingError(f"xrGetInstanceProcAddr gives no {names[0]}, though the extension is enabled.")

    def attempt(self, attempts: list[Attempt], *, until_accepted: bool) -> list[int]:
        results = []
        handle = self._ffi.cast("XrInstance", self._instance)
        for tool, info_type, flags, parameter in attempts:
            info = self._info
            info.type, info.toolName, info.toolCallbackInfoFlags = info_type, tool.encode(), flags
            info.toolParameterCount = parameter is not None
            info.toolParameters = self._ffi.NULL if parameter is None else self._parameter
            if parameter is not None:
                self._parameter.type, self._parameter.paramType, self._parameter.arrayItemType = parameter
            results.append(int(self._register(handle, info)))
            if until_accepted and results[-1] >= 0:
                break
        return results

    def pump(self) -> None:
        """Make the call in which a host may run main-thread tools."""
        event = _EventDataBuffer(type=_TYPE_EVENT_DATA_BUFFER)
        self._poll_event(self._instance, ctypes.byref(event))


def main() -> None:
    """Serve requests until stdin ends."""
    # A runtime may print on stdout too.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def answer(said: dict[str, object]) -> None:
        answers.write(json.dumps(said) + "\n")
        answers.flush()

    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    # From the beginning: a runtime that hangs must not outlive who asked.
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    try:
        trial = _Trial()
    except AgenticError as error:
        answer({"error": str(error)})
        os._exit(0)
    answer({"ready": True})
    while True:
        try:
            line = requests.get(timeout=_POLL_SECONDS)
        except queue.Empty:
            trial.pump()
            continue
        request = json.loads(line)
        answer({"results": trial.attempt(request["attempts"], until_accepted=request["until_accepted"])})


def _read(requests: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        requests.put(line)
    # At once: the main thread may hang, and what is registered may be called while Python ends.
    os._exit(0)


if __name__ == "__main__":
    main()
