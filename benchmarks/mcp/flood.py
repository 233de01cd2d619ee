"""An agent on the raw control channel that keeps several calls under way."""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING

from benchmarks.mcp.rounds import BrokenError
from openxr_agentic.host.frames import (
    CallStatus,
    FrameSplitter,
    FrameType,
    decode_result,
    encode_call,
    encode_hello,
)

if TYPE_CHECKING:
    from pathlib import Path

TOOL = "move"
UNDER_WAY = 32
ANSWER_SECONDS = 10.0
_HELLO_ID = 0xFFFFFFFF
_MOST_BYTES = 1 << 16


def flood(path: Path, seconds: float) -> int:
    """Call the tool for so long, wait for what is under way then, and return how many calls were answered.

    Args:
        path: The control channel's socket.
        seconds: How long new calls are made.

    Raises:
        BrokenError: A call was not answered, not with its own number, or not in its turn.
    """
    splitter = FrameSplitter()
    with socket.socket(socket.AF_UNIX) as stream:
        stream.settimeout(ANSWER_SECONDS)
        stream.connect(os.fspath(path))
        stream.sendall(encode_hello(_HELLO_ID))
        until = time.monotonic() + seconds
        sent = answered = 0
        while True:
            while sent - answered < UNDER_WAY and time.monotonic() < until:
                sent += 1
                stream.sendall(encode_call(sent, TOOL, f'{{"number":{sent}}}', None))
            if answered == sent:
                return answered
            for frame in splitter.feed(_received(stream, answered + 1, sent)):
                if frame.type != FrameType.RESULT:
                    continue
                answered += 1
                result = decode_result(frame.payload)
                if (frame.id, result.status, result.text) != (answered, CallStatus.DONE, str(answered)):
                    raise BrokenError(f"the answer to call {answered} was due, but call {frame.id} got {result}")


def _received(stream: socket.socket, awaited: int, sent: int) -> bytes:
    try:
        data = stream.recv(_MOST_BYTES)
    except TimeoutError:
        data = b""
    if not data:
        raise BrokenError(f"call {awaited} of {sent} was never answered")
    return data
