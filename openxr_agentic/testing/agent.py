"""Agent: calls an app's tools in tests, through all of the native path."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Protocol

from openxr_agentic import loader
from openxr_agentic.host.frames import CallStatus
from openxr_agentic.testing.mock_runtime import CALL_TIMEOUT_SECONDS, MockCallError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from types import TracebackType

    from typing_extensions import Self

    from openxr_agentic.testing.mock_runtime import CallOutcome, MockRuntime, MockTool

    Arguments = str | bytes | Mapping[str, Any] | None


class Attachable(Protocol):
    """What `Agent.attach` takes: a ToolRegistry, or anything else that registers tools on an instance for a block."""

    def attach(self, instance: Any, *, get_instance_proc_addr: Any = None) -> AbstractContextManager[Any]:
        """Register the tools; they are taken away where the block ends."""


class Agent:
    """Calls tools as an agent does: over the host's C code, the trampoline, and back.

        agent.attach(registry)
        assert agent.call("MyApp_add", a=1, b=2) == 3
        assert "b" in agent.error("MyApp_add", a=1)

    Args:
        runtime: The mock runtime, entered.
        instance: An instance on it: an xr.Instance that the loader made, or a handle that
            `MockRuntime.create_instance` made.

    Attributes:
        runtime: As given.
        instance: As given.
        timeout: Seconds that a call may take.
    """

    def __init__(self, runtime: MockRuntime, instance: Any) -> None:
        self.runtime = runtime
        self.instance = instance
        self.timeout = CALL_TIMEOUT_SECONDS
        self._attached = ExitStack()

    def attach(self, registry: Attachable) -> Any:
        """Register a registry's tools on the instance, until the test ends.

        Args:
            registry: A ToolRegistry.

        Returns:
            What ``with registry.attach(instance) as ...`` gives.
        """
        # Of an instance on the mock's own library, no loader knows.
        address = self.runtime.get_instance_proc_addr if isinstance(self.instance, int) else None
        return self._attached.enter_context(registry.attach(self.instance, get_instance_proc_addr=address))

    @property
    def tools(self) -> dict[str, MockTool]:
        """The registered tools as the host knows them, by name, in order of registration."""
        return {tool.name: tool for tool in self.runtime.tools(instance=self._handle)}

    def call(self, tool: str, arguments: Arguments = None, /, **named: Any) -> Any:
        """Call a tool and return its result.

        Args:
            tool: Its name.
            arguments: Its arguments: a mapping, or JSON text to be sent as it is.
            **named: Its arguments, by name instead.

        Returns:
            The result, read as JSON where it is JSON; else its text. `text` returns the text always.

        Raises:
            AssertionError: The tool answered with an error, or there is no such tool.
            MockCallError: The call brought no result.
        """
        outcome = self._outcome(tool, arguments, named)
        if _is_error(outcome):
            raise AssertionError(f"{tool} answered with an error. {outcome.text}")
        try:
            return json.loads(outcome.text)
        except ValueError:
            return outcome.text

    def text(self, tool: str, arguments: Arguments = None, /, **named: Any) -> str:
        """Call a tool and return the text that an agent gets, be it a result or an error.

        Args:
            tool: Its name.
            arguments: As for `call`.
            **named: As for `call`.

        Raises:
            AssertionError: There is no such tool.
            MockCallError: The call brought no result.
        """
        return self._outcome(tool, arguments, named).text

    def error(self, tool: str, arguments: Arguments = None, /, **named: Any) -> str:
        """Call a tool that should answer with an error.

        Args:
            tool: Its name.
            arguments: As for `call`.
            **named: As for `call`.

        Returns:
            The error's text, as an agent gets it. Of a tool that answers failures with an XrResult
            (``on_error="xr"``), what the host says of that.

        Raises:
            AssertionError: It answered with a result, or there is no such tool.
            MockCallError: The call ended in another way, as by its timeout.
        """
        try:
            outcome = self._outcome(tool, arguments, named)
        except MockCallError as failure:
            if failure.status is not CallStatus.FAILED:
                raise
            return failure.text
        if not _is_error(outcome):
            raise AssertionError(f"{tool} answered with a result where an error was expected: {outcome.text}")
        return outcome.text

    def _outcome(self, tool: str, arguments: Arguments, named: dict[str, Any]) -> CallOutcome:
        if arguments is not None and named:
            raise TypeError("arguments are given together or by name, not both.")
        sent = named if arguments is None else arguments
        try:
            return self.runtime.call_result(tool, sent, timeout=self.timeout, instance=self._handle)
        except MockCallError as failure:
            if failure.status is not CallStatus.UNKNOWN_TOOL:
                raise
            registered = ", ".join(self.tools) or "none; attach the registry first: agent.attach(registry)"
            raise AssertionError(f"There is no tool {tool!r}. Registered are: {registered}.") from failure

    @property
    def _handle(self) -> int:
        """The runtime's own handle, so that another instance that a test makes is not meant; 0: the newest."""
        handle = loader.handle_value(self.instance) or 0
        return handle if handle in self.runtime.instances else 0

    def close(self) -> None:
        """Take away what was attached, the latest first."""
        self._attached.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _is_error(outcome: CallOutcome) -> bool:
    # A host that knows no marks, as Meta's, gets nothing but the text.
    return outcome.error or outcome.text.startswith("Error: ")
