"""The host as `discovery` knows it: a child process with an instance (`trial`), and a `witness`."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from openxr_agentic.doctor.discovery import Discovery, DiscoveryError, discover
from openxr_agentic.doctor.findings import clipped
from openxr_agentic.doctor.offer import ended, unsafe_manifest
from openxr_agentic.doctor.trial import ON_MAIN_THREAD
from openxr_agentic.doctor.witness import channel_witness, mcp_witness
from openxr_agentic.errors import AgenticError
from openxr_agentic.header_numbers import NUMBERS_VARIABLE, numbers_in_force

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from typing import BinaryIO

    from openxr_agentic.doctor.discovery import Attempt
    from openxr_agentic.doctor.witness import Witness

LIMIT_SECONDS = 60.0
"""How long all of it may take."""

_END_SECONDS = 2.0
_SHOWN_SECONDS = 5.0
_SHOWN_STEP_SECONDS = 0.05
_LONGEST_ANSWER = 2**24
_MOST_PRINTED = 2**12
_MOST_UNANSWERED = 3


class TrialHost:
    """The active OpenXR host of this environment, in a child process."""

    def __init__(self, process: asyncio.subprocess.Process, output: BinaryIO) -> None:
        self._process = process
        self._output = output
        self._unanswered = 0
        self._known: dict[str, str] = {}
        self.witness: Witness | None = None

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    async def answer(self) -> dict[str, Any]:
        """Return the child's next answer."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            code = await self._process.wait()
            self._output.seek(max(0, self._output.seek(0, os.SEEK_END) - _MOST_PRINTED))
            printed = clipped(self._output.read().decode(errors="replace").strip().rpartition("\n")[2])
            raise DiscoveryError(
                f"The process in which tools were tried ended ({ended(code)}): the host does not take what it was "
                f"given, or crashed on it.{' It printed last: ' + printed if printed else ''}"
            )
        said: dict[str, Any] = json.loads(line)
        if "error" in said:
            raise DiscoveryError(f"No tool can be tried here. {said['error']}")
        return said

    async def attempt(self, attempts: Sequence[Attempt], *, until_accepted: bool = False) -> list[int]:
        """Register tools in the child."""
        assert self._process.stdin is not None
        request = json.dumps({"attempts": attempts, "until_accepted": until_accepted}) + "\n"
        self._process.stdin.write(request.encode())
        results: list[int] = (await self.answer())["results"]
        return results

    async def shown_types(self, tools: Sequence[str]) -> dict[str, str] | None:
        """Return what the witness sees of these tools."""
        if self.witness is None:
            return None
        shown = await self._seen(self.witness, tools)
        return {tool: shown[tool] for tool in tools if shown.get(tool)}

    async def runs_on_main_thread(self, tool: str) -> bool | None:
        """Have the witness call a tool. A host that answers none is not asked for ever."""
        if self.witness is None or self._unanswered >= _MOST_UNANSWERED:
            return None
        if tool not in self._known:
            self._known = await self._seen(self.witness, [tool])
        text = await self.witness.call(tool)
        self._unanswered = self._unanswered + 1 if text is None else 0
        return None if text is None else text == ON_MAIN_THREAD

    async def _seen(self, witness: Witness, tools: Sequence[str]) -> dict[str, str]:
        """Return all that the witness sees, once that has these tools or when it had time enough."""
        shown: dict[str, str] = {}
        for _ in range(int(_SHOWN_SECONDS / _SHOWN_STEP_SECONDS)):
            shown = await witness.tools()
            if all(tool in shown for tool in tools):
                break
            await asyncio.sleep(_SHOWN_STEP_SECONDS)
        return shown


async def discover_here(url: str | None) -> Discovery:
    """Find the numbers that this environment's host expects, within `LIMIT_SECONDS`.

    Args:
        url: Of the MCP server that shows an agent the host's tools; None: our own host is asked
            over its control channel, where the host is ours.

    Raises:
        DiscoveryError: Nothing can be found out, and why.
    """
    in_force = {name: number.value for name, number in numbers_in_force().items()}
    unsafe = unsafe_manifest()
    if unsafe is not None:
        path, fault = unsafe
        raise DiscoveryError(
            f"No tool can be tried here: OpenXR's loader reads {path}, which {fault.text}. {fault.remedy}"
        )
    try:
        return await asyncio.wait_for(_discover(url, in_force), LIMIT_SECONDS)
    except asyncio.TimeoutError:
        raise DiscoveryError(
            f"The search was given up after {LIMIT_SECONDS:.0f} s, and nothing is known: the host, or the MCP server "
            "in front of it, hangs or takes too long for each answer. Restart it and try again; XR_LOADER_DEBUG=all "
            "makes OpenXR's loader say what it does."
        ) from None


async def _discover(url: str | None, in_force: Mapping[str, int]) -> Discovery:
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(trial())
        host.witness = await stack.enter_async_context(channel_witness(host.pid) if url is None else mcp_witness(url))
        try:
            return await discover(host, in_force)
        except DiscoveryError:
            raise
        except AgenticError as error:
            raise DiscoveryError(f"What agents see could not be asked any more: {error}") from error


@asynccontextmanager
async def trial() -> AsyncIterator[TrialHost]:
    """Start the child; it is gone after the block."""
    environment = {name: value for name, value in os.environ.items() if name != NUMBERS_VARIABLE}
    environment["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
    # A label of its own, by which no server takes it for the app that it waits for.
    environment["OPENXR_AGENTIC_CHANNEL"] = f"doctor-{secrets.token_hex(4)}"
    with tempfile.TemporaryFile() as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "openxr_agentic.doctor.trial"),
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=output,
            limit=_LONGEST_ANSWER,
        )
        try:
            host = TrialHost(process, output)
            await host.answer()
            yield host
        except BaseException:
            with suppress(ProcessLookupError):
                process.kill()  # it may hang, and there is no more time to wait for it
            raise
        finally:
            await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()  # which asks it to end
    try:
        await asyncio.wait_for(process.wait(), _END_SECONDS)
    except asyncio.TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
