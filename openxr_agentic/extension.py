"""AgenticExtension: the tools of one XrInstance, natively registered.

How one agent call travels, from the host to a Python function and back:

1. The host calls the C function of every tool, `oxa_callback`, on a thread of
   its choice, with the arguments as JSON text and a `userData` that stands for
   the tool's slot. (`_native/exchange.c`)
2. A size query runs the tool at once and holds the result in C; the fill that
   follows is a copy. So an agent's call runs the tool once. (`_native/exchange.c`)
3. The run is one call of the Python callable, by the C API. (`_native/trampoline.c`)
4. An exception becomes text for the agent. (`failures.py`)

What lives how long: the host may call until its instance is destroyed, and
nobody tells us when that is. A slot and all that it needs therefore belong to
`registrations.py`, not to the AgenticExtension that made them, until the extension is
closed. Closing parks the slot: late calls are refused, and a later
AgenticExtension on the same living instance can open it again.
"""

from __future__ import annotations

import math
import time
import warnings
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from openxr_agentic import availability, header_numbers, loader, metadata
from openxr_agentic import registrations as table
from openxr_agentic.definition.tool import outside
from openxr_agentic.errors import (
    XR_ERROR_EXTENSION_NOT_PRESENT,
    XR_ERROR_FEATURE_UNSUPPORTED,
    XR_ERROR_FUNCTION_UNSUPPORTED,
    XR_ERROR_HANDLE_INVALID,
    XR_ERROR_VALIDATION_FAILURE,
    AgenticError,
    ClosedError,
    DefinitionError,
    FunctionMissingError,
    InstanceError,
    RegistrationRefusedError,
    ResultError,
    RuntimeNotFoundError,
    ToolError,
    ToolNameTakenError,
    result_name,
)
from openxr_agentic.native_process import start
from openxr_agentic.native_tools import text_tool, typed_tool
from openxr_agentic.parameters import ToolParameter, check_description, check_name
from openxr_agentic.registrations import Definition, Key, Registration

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from openxr_agentic.definition.tool import Tool
    from openxr_agentic.failures import OnError
    from openxr_agentic.native_tools import NativeTool, Sizing

CLOSE_WAIT_SECONDS = 5.0


class AgenticExtension:
    """Registers tools on one XrInstance, and answers the host's calls of them.

        with AgenticExtension(instance) as extension:
            extension.register_tool("MyApp_Echo", "Echoes the input.", [...], callback)
            frame_loop()

    Usable from any thread.

    Args:
        instance: An xr.Instance, or a raw XrInstance handle as a number. The instance must
            have been created with the extension enabled (`enable_extension`).
        get_instance_proc_addr: Another xrGetInstanceProcAddr than the loader's: its address
            as a number, or a ctypes function.

    Raises:
        LoaderNotFoundError: There is no OpenXR loader.
        RuntimeNotFoundError: No instance was given, and there is no runtime to make one.
        InstanceError: `instance` is not an XrInstance, or none that lives.
        ExtensionNotAvailableError: Nobody offers the extension.
        ExtensionNotEnabledError: The instance was created without it.
        FunctionMissingError: The look-up succeeded with a NULL pointer.
        ResultError: The look-up failed in another way.
        NativeBuildMissingError: The native binding is not built.
        UnsupportedInterpreterError: Called in a subinterpreter, or on a 32-bit Python.
        ConfigurationError: OPENXR_AGENTIC_NUMBERS cannot be used.

    Lifetime:
        What was registered stays callable until `close`, also when this object is not
        referenced any more. Close it before the instance is destroyed.
    """

    def __init__(self, instance: Any, *, get_instance_proc_addr: Any = None) -> None:
        start()
        header_numbers.numbers_in_force()  # a bad override is reported before anything is registered
        self._handle = _instance_handle(instance)
        if get_instance_proc_addr is None:
            self._look_up_address = loader.load().get_instance_proc_addr
        else:
            self._look_up_address = _function_address(get_instance_proc_addr)
        self._register = self._look_up_register_function()
        self.metadata = metadata.of_instance(self._look_up_address, self._handle)
        self._closed = False
        self._registered_one = False
        self._kept: deque[BaseException] = deque()
        if get_instance_proc_addr is None:
            # The Khronos loader allows one living instance: any other is gone.
            table.forget(
                lambda key: key.get_instance_proc_addr == self._look_up_address and key.instance != self._handle
            )

    def _look_up_register_function(self) -> Any:
        from openxr_agentic._native import ffi, lib

        name = ffi.string(lib.oxa_register_function_name).decode()
        result, address = loader.look_up(self._look_up_address, self._handle, name)
        if address:
            return ffi.cast("OxaRegisterTool", address)
        if result >= 0:
            raise FunctionMissingError(
                f"xrGetInstanceProcAddr found {name} but returned NULL for it: the runtime or layer that offers "
                "the extension is broken or of another version. Update it."
            )
        if result == XR_ERROR_HANDLE_INVALID:
            raise InstanceError(_dead_instance_text(self._handle))
        if result == XR_ERROR_FUNCTION_UNSUPPORTED:
            said = f"xrGetInstanceProcAddr({name}) returned {result_name(result)}"
            raise availability.not_enabled_error(self._look_up_address, self._handle, said)
        raise ResultError(f"xrGetInstanceProcAddr({name})", result)

    def register_tool(
        self,
        name: str,
        description: str,
        parameters: Iterable[ToolParameter] | None,
        callback: Callable[[str], str],
        *,
        main_thread: bool = True,
        sizing: Sizing = "exact",
        on_error: OnError = "result",
        truncate: bool = False,
    ) -> None:
        """Register a tool that takes the agent's arguments as JSON text and returns text.

        The counterpart of Meta's C# RegisterAgenticTool. There is no unregister.

        Args:
            name: Up to 63 bytes of UTF-8; prefix it with your app's name.
            description: Up to 1023 bytes of UTF-8.
            parameters: What the agent is told of the arguments; None: no parameters.
            callback: Called with the arguments as the agent sent them (``"{}"`` when it sent
                none). Its exceptions become ``Error: ...`` text for the agent.
            main_thread: Ask the host to call on the app's main thread, from inside an OpenXR
                call of the app's frame loop. False: any thread.
            sizing: How the host's size query is answered. ``"exact"``: the tool runs, and
                the result is held for the fill. A number: that many bytes, NUL included,
                without a run; a longer result is held until the host asks with a larger
                buffer. A callable: a dry run without side effects that returns a text of
                the result's length.
            on_error: ``"result"``: the agent gets the error as text. ``"xr"``: the host gets
                XR_ERROR_RUNTIME_FAILURE, of which an agent learns nothing.
            truncate: Cut a description that is too long, with a warning.

        Raises:
            DefinitionError: A definition does not fit the extension's fields.
            ToolNameTakenError: The name is registered on this instance already.
            RegistrationRefusedError: The host refused, and the name may be taken or the
                assumed numbers wrong.
            ExtensionNotEnabledError: The host says that the extension is not enabled.
            InstanceError: The instance was destroyed.
            ResultError: The host returned another failing XrResult.
            ClosedError: This extension was closed.

        Lifetime:
            `callback` and a dry run are kept until `close`. After a failure nothing is
            kept, and the name can be tried again.
        """
        definition = Definition(
            check_name("a tool's name", name),
            check_description(f"tool {name!r}: description", description, truncate=truncate),
            _checked_parameters(name, parameters),
            bool(main_thread),
        )
        _check_callbacks(name, callback, on_error)
        self._register_slot(
            definition, text_tool(definition.name, callback, sizing, on_error, self._kept).with_mark(self.metadata)
        )

    def register(self, tool: Tool, *, announce: Callable[[str], None] | None = None) -> None:
        """Register a tool that was defined from a typed Python function.

        Args:
            tool: What `define` made.
            announce: Called with what agents will not see of it, where a tool of the name was registered
                before on the living instance. None: a RuntimeWarning.

        Raises:
            AgenticError: As `register_tool`.
        """
        definition = Definition(tool.name, tool.description, tool.parameters, tool.main_thread)
        self._register_slot(definition, typed_tool(tool, self._kept).with_mark(self.metadata), announce)

    def replace(self, tool: Tool) -> None:
        """Put another tool behind a registered name; calls that run end with the one before.

        Agents still see what was registered first: the extension cannot change that.

        Raises:
            KeyError: No tool of that name is registered by this extension.
        """
        self._replace(tool.name, typed_tool(tool, self._kept).with_mark(self.metadata))

    def refuse(self, name: str, text: str) -> None:
        """Answer calls of a registered tool with an error, until `replace` puts a tool behind it again.

        Args:
            name: The tool's name.
            text: What the agent gets, behind ``Error: ``.

        Raises:
            KeyError: No tool of that name is registered by this extension.
        """

        def refusing(_arguments: str) -> str:
            raise ToolError(text)

        self._replace(name, text_tool(name, refusing, "exact", "result", self._kept).with_mark(self.metadata))

    def _replace(self, name: str, tool: NativeTool) -> None:
        from openxr_agentic._native import lib

        with table.lock:
            known = table.registrations[Key(self._look_up_address, self._handle, name)]
            if known.extension is not self or not lib.oxa_slot_replace(known.slot, *tool):
                raise KeyError(name)

    def _register_slot(
        self, definition: Definition, tool: NativeTool, announce: Callable[[str], None] | None = None
    ) -> None:
        from openxr_agentic._native import ffi, lib

        if self._closed:
            raise ClosedError("This AgenticExtension is closed; make another one on the instance.")
        structures = table.native_structures(definition)
        key = Key(self._look_up_address, self._handle, definition.name)
        slot = ffi.new("OxaSlotId*")
        answer = ffi.new("XrResult*", _NOT_ASKED)
        try:
            if not lib.oxa_slot_open(slot, *tool):
                raise MemoryError  # noqa: TRY301 - what it undoes is below
            fresh = Registration(slot[0], definition, self)
            structures.info.toolUserData = ffi.cast("void*", slot[0])
            lib.oxa_register(self._register, ffi.cast("XrInstance", self._handle), structures.info, answer)
            if answer[0] >= 0:
                self._adopt(key, fresh)
                return
        except BaseException:
            # Ctrl-C between two bytecodes: what the host accepted is kept, for it knows the slot.
            if answer[0] >= 0:
                self._adopt(key, fresh)
            else:
                table.free(slot[0])
            raise
        result = answer[0]
        table.free(fresh.slot)
        if result == XR_ERROR_VALIDATION_FAILURE and self._open_again(key, definition, tool, announce or _warn):
            return
        raise self._registration_error(key, definition, result)

    def _adopt(self, key: Key, fresh: Registration) -> None:
        """Keep what the host has just accepted."""
        with table.lock:
            # One of the same name belonged to an earlier instance with the same handle.
            before = table.registrations.pop(key, None)
            table.registrations[key] = fresh
            self._registered_one = True
            closed_meanwhile = self._closed
        if before is not None and before is not fresh:
            table.free(before.slot)
        if closed_meanwhile:
            self._release()

    def _open_again(self, key: Key, definition: Definition, tool: NativeTool, announce: Callable[[str], None]) -> bool:
        """Open a parked slot: the host refused the name because the instance that knows it still lives."""
        from openxr_agentic._native import lib

        known = table.registrations.get(key)
        if known is None or known.in_use:
            return False
        unseen = table.differences(known.definition, definition)
        if unseen is not None:
            announce(unseen)  # where warnings are errors, nothing has changed yet
        with table.lock:
            if known.in_use or not lib.oxa_slot_reopen(known.slot, *tool):
                return False
            known.extension = self
            self._registered_one = True
            closed_meanwhile = self._closed
        if closed_meanwhile:
            self._release()
        return True

    def _registration_error(self, key: Key, definition: Definition, result: int) -> AgenticError:
        from openxr_agentic._native import ffi, lib

        function = ffi.string(lib.oxa_register_function_name).decode()
        if result == XR_ERROR_VALIDATION_FAILURE:
            numbers = header_numbers.numbers_in_force()
            origins = {number.origin for number in numbers.values()}
            cause = f"A tool named {key.name!r} is registered on this instance already, and cannot be unregistered."
            count = len(definition.parameters)
            if count > _PARAMETERS_OF_OUR_HOST:
                limit = f"It has {count} parameters, and a host may take fewer: this package's takes 64."
                return RegistrationRefusedError(function, result, f"Either: {limit} Or: {cause}")
            if key in table.registrations or self._registered_one or origins == {"header"}:
                return ToolNameTakenError(function, result, f"{cause} Choose another name.")
            refused = RegistrationRefusedError(function, result, f"Either: {cause} Or: {_doubtful_numbers(numbers)}")
            refused.brief = f"{refused.name}: the name is taken, or the extension's numbers are wrong for this host."
            return refused
        if result in (XR_ERROR_EXTENSION_NOT_PRESENT, XR_ERROR_FEATURE_UNSUPPORTED):
            said = f"{function} returned {result_name(result)}"
            return availability.not_enabled_error(self._look_up_address, self._handle, said)
        if result == XR_ERROR_HANDLE_INVALID:
            return InstanceError(_dead_instance_text(self._handle))
        return ResultError(function, result)

    @property
    def instance(self) -> int:
        """The XrInstance's value."""
        return self._handle

    @property
    def tool_names(self) -> list[str]:
        """Names of the tools that this extension answers, in order of registration."""
        with table.lock:
            return [key.name for key in table.of(self)]

    def raise_pending(self) -> None:
        """Raise what a tool raised and could not be raised where it happened.

        That is every BaseException that is not an Exception, but for KeyboardInterrupt and
        SystemExit on the main thread, which are raised in the app by themselves. Each is
        raised once, the oldest first. Returns when there is none.
        """
        with table.lock:
            error = self._kept.popleft() if self._kept else None
        if error is not None:
            raise error

    def close(self, timeout: float = CLOSE_WAIT_SECONDS) -> bool:
        """Stop answering calls, wait for the running ones, and let go of the callbacks.

        The host still knows the tools; what it calls from now on is refused. Called from
        inside a tool, it does not wait for that tool. Closing again waits for what still runs.

        Args:
            timeout: Seconds to wait for calls that are running. The GIL is not held meanwhile.

        Returns:
            False: some still ran when the time was over. Their results are dropped, and
            what they need is kept until they return.

        Raises:
            BaseException: What `raise_pending` would raise, after all is freed.
        """
        until = time.monotonic() + _seconds("timeout", timeout)
        with table.lock:
            self._closed = True
        running = self._release(until)
        if running:
            warnings.warn(
                f"closed while tools were still running after {timeout:g} s: {', '.join(running)}. Their results "
                "are dropped.",
                RuntimeWarning,
                stacklevel=2,
            )
        self.raise_pending()
        return not running

    def _release(self, until: float = 0.0) -> list[str]:
        """Refuse calls, wait for running ones, and park what has ended; the names of those that still run.

        May be interrupted anywhere and called again: it goes on with what is left.
        """
        from openxr_agentic._native import lib

        with table.lock:
            mine = table.of(self)
        for known in mine.values():
            lib.oxa_slot_close(known.slot)
        running = []
        for key, known in mine.items():
            if not _wait_for_runs(known.slot, until):
                running.append(key.name)
                continue
            with table.lock:
                if known.extension is self:
                    known.extension = None
        table.bound_parked()
        return running

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self.tool_names)} tools"
        return f"<AgenticExtension on XrInstance {self._handle:#x}: {state}>"


_NOT_ASKED = -(2**31)  # a failure, like any other number below 0
_PARAMETERS_OF_OUR_HOST = 64  # OXA_MAX_PARAMETERS; Meta documents no limit


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=outside())


def _doubtful_numbers(numbers: dict[str, header_numbers.Number]) -> str:
    corrected = [
        f"{name} = {number.value}" for name, number in numbers.items() if number.origin in ("environment", "override")
    ]
    if corrected:
        how = f"override_numbers() or {header_numbers.NUMBERS_VARIABLE}"
        cause = f"In force from {how} are: {', '.join(corrected)}."
    else:
        cause = "Meta has not published them, and this package assumes them."
    return (
        f"the extension's numbers are not those of this host. {cause} The right ones are found by: "
        "openxr-agentic doctor (--header FILE, or --discover). (On this package's mock runtime, "
        "OPENXR_AGENTIC_HOST_LOG=1 makes it say why.)"
    )


def _seconds(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{name} must be a finite number of seconds, 0 or more, not {value!r}.")
    return float(value)


def _instance_handle(instance: Any) -> int:
    handle = loader.handle_value(instance)
    if handle is None:
        raise InstanceError(f"An xr.Instance or an XrInstance handle is needed, not {type(instance).__name__}.")
    if handle == 0:
        if loader.active_runtime()[1] is None:
            raise RuntimeNotFoundError(loader.no_runtime_text())
        raise InstanceError(
            "AgenticExtension needs an instance, and was given none (XR_NULL_HANDLE): create it first, with the "
            "extension enabled, and register tools then."
        )
    return handle


def _function_address(function: Any) -> int:
    address = loader.handle_value(function)
    if not address:
        raise InstanceError(
            "get_instance_proc_addr must be the address of xrGetInstanceProcAddr, as a number or a ctypes function, "
            f"not {function!r}."
        )
    return address


def _dead_instance_text(handle: int) -> str:
    return (
        f"XR_ERROR_HANDLE_INVALID: {handle:#x} is not a living XrInstance. It was destroyed, or never created, "
        "or belongs to another loader than the one in use."
    )


def _checked_parameters(name: str, parameters: Iterable[ToolParameter] | None) -> tuple[ToolParameter, ...]:
    if isinstance(parameters, ToolParameter) or not isinstance(parameters, (Iterable, type(None))):
        raise DefinitionError(f"tool {name!r}: parameters must be a list of ToolParameter objects, not {parameters!r}.")
    checked = tuple(parameters or ())
    seen = set()
    for parameter in checked:
        if not isinstance(parameter, ToolParameter):
            raise DefinitionError(f"tool {name!r}: parameters must be ToolParameter objects, not {parameter!r}.")
        if parameter.name in seen:
            raise DefinitionError(f"tool {name!r} has two parameters named {parameter.name!r}.")
        seen.add(parameter.name)
    return checked


def _check_callbacks(name: str, callback: object, on_error: object) -> None:
    if not callable(callback):
        raise DefinitionError(f"tool {name!r}: callback must be callable, not {callback!r}.")
    if on_error not in ("result", "xr"):
        raise DefinitionError(f"tool {name!r}: on_error must be 'result' or 'xr', not {on_error!r}.")


def _wait_for_runs(slot: int, until: float) -> bool:
    """Wait in short steps, so that Ctrl-C is seen."""
    from openxr_agentic._native import lib

    while True:
        left = until - time.monotonic()
        if lib.oxa_slot_wait(slot, int(max(0.0, min(left, 0.1)) * 1e9)):
            return True
        if left <= 0:
            return False
