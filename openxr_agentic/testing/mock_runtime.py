"""MockRuntime: an OpenXR runtime for tests, without a headset.

It is a real runtime library that the Khronos loader loads; this class selects
it, plays the agent, and looks at what the host sees.
"""

from __future__ import annotations

import json
import os
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from openxr_agentic import host, loader
from openxr_agentic.availability import extension_name
from openxr_agentic.errors import (
    XR_ERROR_HANDLE_INVALID,
    AgenticError,
    LoaderNotFoundError,
    ResultError,
    result_name,
)
from openxr_agentic.header_numbers import numbers_in_force
from openxr_agentic.host import control
from openxr_agentic.host.frames import CallStatus
from openxr_agentic.host.variables import with_layer
from openxr_agentic.parameters import ParameterType, ToolParameter
from openxr_agentic.testing import raw_instance
from openxr_agentic.testing.variables import ChangedVariables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType

    from typing_extensions import Self

    Arguments = str | bytes | Mapping[str, Any] | None

RUNTIME_VARIABLE = "XR_RUNTIME_JSON"
CALL_TIMEOUT_SECONDS = 10.0
LONGEST_TIMEOUT_SECONDS = 1e6


class MockRuntimeError(AgenticError):
    """The mock runtime cannot be selected, or was asked for something that it does not have."""


class MockCallError(AgenticError):
    """An agent call that brought no result.

    Attributes:
        status: How it ended: FAILED, UNKNOWN_TOOL, TIMED_OUT, CANCELLED, CLOSING or REFUSED.
        result: The XrResult of the callback; 0 where none was called.
    """

    def __init__(self, tool: str, status: CallStatus, result: int, text: str) -> None:
        super().__init__(tool, status, result, text)  # as they came, for pickling
        self.tool = tool
        self.status = status
        self.result = result
        self.text = text

    def __str__(self) -> str:
        how = self.status.name.lower().replace("_", " ")
        if self.result < 0:
            how += f" ({result_name(self.result)})"
        return f"call of {self.tool!r}: {how}: {self.text}"


class MockTool(NamedTuple):
    """A tool as the host knows it.

    Attributes:
        name: Its name.
        description: Its description.
        parameters: Its parameters, equal to those that were registered.
        main_thread: Whether it asked for the app's main thread.
        callback: Address of the C function that the host calls.
        user_data: What the host passes to it.
        metadata: What the app says of it beyond the extension: title, annotations, groups,
            inputSchema, outputSchema, enabled; None: nothing.
    """

    name: str
    description: str
    parameters: tuple[ToolParameter, ...]
    main_thread: bool
    callback: int
    user_data: int
    metadata: dict[str, Any] | None = None


class CallOutcome(NamedTuple):
    """What an agent gets of a call that brought a result.

    Attributes:
        text: The tool's text.
        error: Whether the app marked it as an error.
    """

    text: str
    error: bool


class RawResult(NamedTuple):
    """What one C call of a callback did.

    Attributes:
        result: The XrResult.
        count: Bytes that the result needs, NUL included, as the callback said; None: it said nothing.
        written: What it wrote to the buffer; None: nothing.
        beyond: Whether bytes behind the buffer were touched.
    """

    result: int
    count: int | None  # type: ignore[assignment]  # the extension's word, before tuple.count
    written: bytes | None
    beyond: bool


class MockRuntime:
    """Selects the mock runtime for the Khronos loader of this process, and plays its agent.

        with MockRuntime() as runtime:
            instance = xr.create_instance(...)
            ...
            assert runtime.call("MyApp_Echo", {"input": "hi"}) == "hi"
            xr.destroy_instance(instance)

    It works where `xr` cannot be imported, and without any loader too:
    `create_instance` and `get_instance_proc_addr` reach the runtime's library itself.

    Args:
        extension: Whether the runtime offers XR_METAX1_agentic_external_tool.
        layer: Have this package's API layer offer the extension, over the runtime, which then does not. It
            needs a loader, and allows one instance at a time.
        numbers: The extension's numbers that this host expects, by their names in the
            header; for others those in force when it is entered (`numbers_in_force`).
        destroy_waits: xrDestroyInstance waits for running callbacks without a limit.
            Else it gives up after 5 seconds, and leaves their threads behind.
        pump_budget: Seconds that main-thread tools may take in a frame.
        display_period: Seconds from frame to frame.

    Raises:
        MockRuntimeError: On entering: another MockRuntime is entered, or the loader holds
            another runtime with a living instance.
        LoaderNotFoundError: On entering: there is no loader, and `layer` needs one.
        NativeBuildMissingError: On entering: the native part is not built.
        ValueError: Both `layer` and not `extension`. On entering: an option or number cannot be used.
    """

    _entered: MockRuntime | None = None

    def __init__(
        self,
        *,
        extension: bool = True,
        layer: bool = False,
        numbers: Mapping[str, int] | None = None,
        destroy_waits: bool = False,
        pump_budget: float | None = None,
        display_period: float | None = None,
    ) -> None:
        if layer and not extension:
            raise ValueError("layer=True is for a layer that offers the extension; extension=False contradicts it")
        self._layer = layer
        self._options = {"offer_extension": int(extension and not layer), "destroy_waits": int(destroy_waits)}
        if pump_budget is not None:
            self._options["pump_budget_ns"] = int(pump_budget * 1e9)
        if display_period is not None:
            self._options["display_period_ns"] = int(display_period * 1e9)
        self._numbers = dict(numbers or {})
        self._direct: set[int] = set()  # instances that no loader knows
        self._variables: ChangedVariables | None = None
        self._loader: loader.Loader | None = None
        self._runtime_control: control.HostControl | None = None
        self._host_control: control.HostControl | None = None  # the same, unless a layer is the host

    # ---- selecting it

    def __enter__(self) -> Self:
        if MockRuntime._entered is not None:
            raise MockRuntimeError("A MockRuntime is entered already; leave it first. One process has one loader.")
        runtime_control = control.load()
        host_control = control.load(host.layer_library_path()) if self._layer else runtime_control
        self._configure(runtime_control)
        if self._layer:
            self._configure(host_control)
        self._runtime_control, self._host_control = runtime_control, host_control
        self._variables = ChangedVariables(self._selection())
        try:
            self._loader = self._load_loader()
            self._claim_loader()
        except BaseException:
            self._leave()
            raise
        MockRuntime._entered = self
        return self

    def _selection(self) -> dict[str, str]:
        """The environment variables by which the loader finds it."""
        layer = with_layer(os.environ) if self._layer else {}
        return {RUNTIME_VARIABLE: str(host.manifest_path()), **layer}

    def _load_loader(self) -> loader.Loader | None:
        try:
            return loader.load()
        except LoaderNotFoundError:
            if self._layer:
                raise
            return None  # the library itself can still be used

    def _configure(self, host_control: control.HostControl) -> None:
        in_force = {name: number.value for name, number in numbers_in_force().items()}
        host_control.reset()
        try:
            for name, value in self._options.items():
                host_control.set_option(name, value)
            for name, value in {**in_force, **self._numbers}.items():
                host_control.set_number(name, value)
        except BaseException:
            host_control.reset()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if MockRuntime._entered is not self:
            return
        MockRuntime._entered = None
        try:
            self._reset()  # a fault must not be what the clean-up meets
            left = self._destroy_what_is_left()
            if self._loader is not None:
                self._release_loader()
        finally:
            self._leave()
        if left and error is None:
            warnings.warn(
                f"MockRuntime was left with {left} living instance(s), and destroyed them. Destroy an instance before "
                "the block ends.",
                RuntimeWarning,
                stacklevel=2,
            )

    def _destroy_what_is_left(self) -> int:
        """Destroy living instances, so that a test that failed does not make the next one fail."""
        left = self.instances
        for instance in left:
            direct = instance in self._direct or self._loader is None
            raw_instance.destroy(
                self.get_instance_proc_addr if direct or self._loader is None else self._loader.get_instance_proc_addr,
                instance,
            )
        return len(left)

    def _reset(self) -> None:
        self._control.reset()
        self._runtime.reset()

    def _leave(self) -> None:
        self._reset()
        self._host_control = self._runtime_control = None
        if self._variables is not None:
            self._variables.restore()

    def _claim_loader(self) -> None:
        """Make the loader ask this runtime, whichever it asked before."""
        if self._loader is None or self._held_by_loader():
            return
        self._release_loader()
        if not self._held_by_loader():
            raise MockRuntimeError(_OTHER_RUNTIME)

    def _held_by_loader(self) -> bool:
        """Tell whether the loader asks this runtime; asking makes it hold a runtime."""
        assert self._loader is not None
        function = "xrEnumerateInstanceExtensionProperties"
        before = self._runtime.function_calls(function)
        try:
            loader.instance_extensions(self._loader.get_instance_proc_addr)
        except AgenticError as error:
            raise MockRuntimeError(f"The OpenXR loader does not load the mock runtime: {error}") from error
        return self._runtime.function_calls(function) > before

    def _release_loader(self) -> None:
        """Make the loader let go of a runtime: it does so when an instance is destroyed."""
        assert self._loader is not None
        try:
            instance = raw_instance.create(self._loader.get_instance_proc_addr)
        except ResultError as error:
            raise MockRuntimeError(f"{_OTHER_RUNTIME} ({error})") from error
        raw_instance.destroy(self._loader.get_instance_proc_addr, instance)

    @property
    def _control(self) -> control.HostControl:
        if self._host_control is None:
            raise MockRuntimeError("This MockRuntime is not entered; use it in a with statement.")
        return self._host_control

    @property
    def _runtime(self) -> control.HostControl:
        return self._runtime_control or self._control

    # ---- an instance without a loader

    @property
    def get_instance_proc_addr(self) -> int:
        """Address of the runtime's own xrGetInstanceProcAddr, past any loader; with `layer`, of the loader's."""
        if self._layer and self._loader is not None:
            return self._loader.get_instance_proc_addr
        return raw_instance.negotiate(host.library_path())

    def create_instance(self, extensions: list[str] | None = None) -> int:
        """Create an instance on the runtime's library itself, and return its handle.

        Unlike the loader, the library allows several at once. With `layer`, it is the loader's. Destroy it with
        `destroy_instance`.

        Args:
            extensions: Names of extensions to enable; None: this one and XR_MND_headless.

        Raises:
            ResultError: xrCreateInstance failed.
        """
        names = [extension_name(), "XR_MND_headless"] if extensions is None else extensions
        instance = raw_instance.create(self.get_instance_proc_addr, names)
        self._direct.add(instance)
        return instance

    def destroy_instance(self, instance: int) -> None:
        """Destroy an instance that `create_instance` made.

        Raises:
            ResultError: xrDestroyInstance failed.
        """
        raw_instance.destroy(self.get_instance_proc_addr, instance)

    @property
    def instances(self) -> list[int]:
        """Handles of the living instances, oldest first, as the runtime itself knows them."""
        return self._runtime.instances()

    # ---- what the host knows

    def tools(self, *, instance: int = 0) -> list[MockTool]:
        """Return every registered tool, in order of registration.

        Args:
            instance: One of `instances`; 0: the newest living one.

        Raises:
            MockRuntimeError: There is no such instance, or a tool's metadata is no JSON object.
        """
        with _instance_errors(instance):
            return [_mock_tool(tool) for tool in self._control.tools(instance)]

    def tool(self, name: str, *, instance: int = 0) -> MockTool:
        """Return one registered tool.

        Raises:
            MockRuntimeError: There is no such tool, or no such instance.
        """
        tools = self.tools(instance=instance)
        for tool in tools:
            if tool.name == name:
                return tool
        raise MockRuntimeError(f"No tool {name!r} is registered; there are: {[tool.name for tool in tools]}.")

    def statistic(self, name: str, *, instance: int = 0) -> int:
        """Return one of the host's counters (their names are in host_control.h)."""
        return self._control.statistic(name, instance=instance)

    def function_calls(self, function: str) -> int:
        """Return how often an OpenXR function of the runtime was called in this process."""
        calls = self._runtime.function_calls(function)
        return calls + self._control.function_calls(function) if self._layer else calls

    # ---- playing the agent

    def call(
        self,
        name: str,
        arguments: Arguments = None,
        *,
        thread: str | None = None,
        timeout: float = CALL_TIMEOUT_SECONDS,
        instance: int = 0,
    ) -> str:
        """Play one agent call, both halves of it, and return the text that the agent gets.

        On the instance's thread it pumps while it waits, as the app's frame loop would.

        Args:
            name: Name of the tool.
            arguments: JSON text as it is, or a mapping to be written as JSON; None: a NULL pointer.
            thread: None: where the tool wants to run. Else: past the queue, on the native
                thread of that name, which the runtime keeps.
            timeout: Seconds.
            instance: One of `instances`; 0: the newest living one.

        Raises:
            MockCallError: The call brought no result.
            MockRuntimeError: There is no such instance.
        """
        return self.call_result(name, arguments, thread=thread, timeout=timeout, instance=instance).text

    def call_result(
        self,
        name: str,
        arguments: Arguments = None,
        *,
        thread: str | None = None,
        timeout: float = CALL_TIMEOUT_SECONDS,
        instance: int = 0,
    ) -> CallOutcome:
        """Play one agent call as `call` does, and say as well whether the app marked the result as an error.

        Raises:
            MockCallError: The call brought no result.
            MockRuntimeError: There is no such instance.
        """
        if not 0 < timeout <= LONGEST_TIMEOUT_SECONDS:
            raise ValueError(
                f"timeout must be more than 0 and at most {LONGEST_TIMEOUT_SECONDS} seconds, not {timeout!r}"
            )
        _refuse_nul(name, thread)
        with _instance_errors(instance):
            answer = self._control.call(
                name, _argument_bytes(arguments), thread=thread, timeout=timeout, instance=instance
            )
        if answer.status is not CallStatus.DONE:
            raise MockCallError(name, answer.status, answer.result, answer.text)
        return CallOutcome(answer.text, answer.error)

    def raw_call(
        self,
        tool: str | MockTool,
        arguments: Arguments = None,
        capacity: int | None = None,
        *,
        thread: str | None = None,
        null_buffer: bool = False,
        null_count: bool = False,
        instance: int = 0,
    ) -> RawResult:
        """Make exactly one C call of a tool's callback, past the queue.

        Args:
            tool: A tool's name; or a MockTool, also one of an instance that is gone.
            arguments: As for `call`.
            capacity: Bytes of the buffer; None: a NULL buffer and capacity 0.
            thread: None: the calling thread. Else the native thread of that name, which
                the runtime keeps until the instance is destroyed.
            null_buffer: Pass a NULL buffer with that capacity.
            null_count: Pass a NULL count pointer.
            instance: One of `instances`; 0: the newest living one.

        Raises:
            MockRuntimeError: There is no such tool, or no such instance.
        """
        known = tool if isinstance(tool, MockTool) else self.tool(tool, instance=instance)
        if capacity is not None and not 0 <= capacity < 2**32:
            raise ValueError(f"capacity must fit 32 bits, and {capacity} does not")
        _refuse_nul(thread)
        with _instance_errors(instance):
            raw = self._control.raw_call(
                known.callback,
                known.user_data,
                _argument_bytes(arguments),
                capacity=capacity or 0,
                thread=thread,
                null_buffer=null_buffer or capacity is None,
                null_count=null_count,
                instance=instance,
            )
        return RawResult(
            raw.result,
            None if raw.count == control.COUNT_UNTOUCHED else raw.count,
            raw.buffer[: raw.written] if raw.written else None,
            raw.wrote_beyond,
        )

    def flood(self, name: str, arguments: Arguments = None, *, threads: int = 1, instance: int = 0) -> None:
        """Let native threads call a tool over and over, until the instance or the process ends."""
        with _instance_errors(instance):
            self._control.flood(name, _argument_bytes(arguments), threads=threads, instance=instance)

    def fail(self, function: str, result: int, times: int = 1, *, lookup: bool = False) -> None:
        """Make the next calls of an OpenXR function fail.

        Args:
            function: For example ``"xrWaitFrame"``.
            result: The XrResult to return instead of doing anything; any number.
            times: How many calls.
            lookup: Fail the look-ups of the function through xrGetInstanceProcAddr instead:
                with 0 (XR_SUCCESS) they give NULL, with a failure they leave the pointer alone.

        Raises:
            ValueError: The runtime has no such function.
        """
        if not -(2**31) <= result < 2**31:
            raise ValueError(f"an XrResult has 32 bits, and {result} does not fit")
        try:
            self._control.fail(function, result, times=times, lookup=lookup)
        except ValueError:  # the layer knows no functions but those that it provides
            self._runtime.fail(function, result, times=times, lookup=lookup)


_OTHER_RUNTIME = (
    "The OpenXR loader of this process holds another runtime, and does not let go of it while an instance lives. "
    "Destroy that instance, or enter MockRuntime before creating it."
)


@contextmanager
def _instance_errors(instance: int) -> Iterator[None]:
    try:
        yield
    except ResultError as error:
        if error.result != XR_ERROR_HANDLE_INVALID:
            raise MockRuntimeError(f"{error.function} failed: {error.name}") from error
        which = f"no living instance {instance:#x}" if instance else "no living instance"
        raise MockRuntimeError(f"The mock runtime has {which}; create one first.") from error


def _refuse_nul(*texts: str | None) -> None:
    for text in texts:
        if text is not None and "\0" in text:
            raise ValueError(f"{text!r} has a NUL character: C would read only what stands before it")


def _argument_bytes(arguments: Arguments) -> bytes | None:
    if arguments is None:
        return None
    if isinstance(arguments, bytes):
        data = arguments
    else:
        data = (arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)).encode()
    if b"\0" in data:
        raise ValueError("the arguments have a NUL byte: C would read only what stands before it")
    return data


def _mock_tool(tool: control.RegisteredTool) -> MockTool:
    types = list(ParameterType)  # in the order that the extension documents
    parameters = tuple(
        ToolParameter(
            parameter.name,
            parameter.description,
            types[parameter.type],
            parameter.required,
            item_type=None if parameter.item_type is None else types[parameter.item_type],
            object_properties=parameter.object_properties if types[parameter.type] is ParameterType.OBJECT else None,
        )
        for parameter in tool.parameters
    )
    return MockTool(
        tool.name,
        tool.description,
        parameters,
        tool.main_thread,
        tool.callback,
        tool.user_data,
        _metadata(tool) if tool.metadata else None,
    )


def _metadata(tool: control.RegisteredTool) -> dict[str, Any]:
    try:
        metadata = json.loads(tool.metadata)
    except (ValueError, RecursionError) as error:
        raise MockRuntimeError(f"The metadata of tool {tool.name!r} is no JSON: {error}") from error
    if not isinstance(metadata, dict):
        raise MockRuntimeError(f"The metadata of tool {tool.name!r} is no JSON object: {tool.metadata[:100]}")
    return metadata
