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
this module, not to the AgenticExtension that made them, until the extension is
closed. Closing parks the slot: late calls are refused, and a later
AgenticExtension on the same living instance can open it again.
"""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from openxr_agentic import availability, header_numbers, loader
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
    ToolNameTakenError,
    UnsupportedInterpreterError,
    result_name,
)
from openxr_agentic.failures import FailureOwner, report
from openxr_agentic.parameters import ParameterType, ToolParameter, check_description, check_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from typing_extensions import Self

    from openxr_agentic.failures import OnError

    Sizing = Literal["exact"] | int | Callable[[str], str]

EXIT_WAIT_SECONDS = 2.0
CLOSE_WAIT_SECONDS = 5.0
_MOST_PARKED_INSTANCES = 16


class _Definition(NamedTuple):
    """What the host was told of a tool."""

    name: str
    description: str
    parameters: tuple[ToolParameter, ...]
    main_thread: bool


class _NativeTool(NamedTuple):
    """A tool as slots take it; they have references of their own, and this object has one."""

    pointer: Any
    sizing: int
    sizing_bytes: int


class _Key(NamedTuple):
    """A native registration. Handles are reused, so this names one only while its instance lives."""

    get_instance_proc_addr: int
    instance: int
    name: str


class _Registration:
    """A slot that the host knows, open for an extension or parked."""

    @property
    def in_use(self) -> bool:
        """Whether an extension answers its calls, that is, neither parked nor being closed."""
        return self.extension is not None and not self.extension._closed  # noqa: SLF001 - of this module

    __slots__ = ("definition", "extension", "slot")

    def __init__(self, slot: int, definition: _Definition, extension: AgenticExtension) -> None:
        self.slot = slot
        self.definition = definition
        self.extension: AgenticExtension | None = extension


_registrations: dict[_Key, _Registration] = {}
_registrations_lock = threading.RLock()
_started = False


def _start() -> None:
    """Connect the C side with Python, once in a process."""
    global _started  # noqa: PLW0603
    if not _in_main_interpreter():
        raise UnsupportedInterpreterError(
            "AgenticExtension works in the main interpreter only: native callbacks cannot enter a subinterpreter. "
            "Register the tools from the main interpreter."
        )
    from openxr_agentic._native import ffi, lib  # importing the package must not load it

    with _registrations_lock:
        if _started:
            return

        @ffi.def_extern(error=0)  # type: ignore[untyped-decorator]
        def oxa_enter_thread() -> int:
            return 1

        lib.oxa_python_start(id(report), threading.main_thread().ident)
        atexit.register(lib.oxa_gate_close, int(EXIT_WAIT_SECONDS * 1e9))
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
            )
        _started = True


def _before_fork() -> None:
    """Take both locks, so that the child gets no copy of one that another thread holds."""
    from openxr_agentic._native import lib

    _registrations_lock.acquire()
    lib.oxa_before_fork()


def _after_fork_in_parent() -> None:
    from openxr_agentic._native import lib

    lib.oxa_after_fork_in_parent()
    _registrations_lock.release()


def _after_fork_in_child() -> None:
    from openxr_agentic._native import lib

    lib.oxa_after_fork_in_child()
    _registrations_lock.release()


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
        _start()
        header_numbers.numbers_in_force()  # a bad override is reported before anything is registered
        self._handle = _instance_handle(instance)
        if get_instance_proc_addr is None:
            self._look_up_address = loader.load().get_instance_proc_addr
        else:
            self._look_up_address = _function_address(get_instance_proc_addr)
        self._register = self._look_up_register_function()
        self._closed = False
        self._registered_one = False
        self._kept: deque[BaseException] = deque()
        if get_instance_proc_addr is None:
            # The Khronos loader allows one living instance: any other is gone.
            _forget(lambda key: key.get_instance_proc_addr == self._look_up_address and key.instance != self._handle)

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
        definition = _Definition(
            check_name("a tool's name", name),
            check_description(f"tool {name!r}: description", description, truncate=truncate),
            _checked_parameters(name, parameters),
            bool(main_thread),
        )
        _check_callbacks(name, callback, on_error)
        if self._closed:
            raise ClosedError("This AgenticExtension is closed; make another one on the instance.")
        self._register_slot(definition, callback, sizing, on_error)

    def _register_slot(
        self, definition: _Definition, callback: Callable[[str], str], sizing: Sizing, on_error: OnError
    ) -> None:
        from openxr_agentic._native import ffi, lib

        structures = _structures(definition)
        key = _Key(self._look_up_address, self._handle, definition.name)
        tool = self._new_tool(definition.name, callback, sizing, on_error)
        slot = ffi.new("OxaSlotId*")
        asked = False
        try:
            if not lib.oxa_slot_open(slot, *tool):
                raise MemoryError  # noqa: TRY301 - what it undoes is below
            fresh = _Registration(slot[0], definition, self)
            structures.info.toolUserData = ffi.cast("void*", slot[0])
            asked = True
            result = self._register(ffi.cast("XrInstance", self._handle), structures.info)
            if result >= 0:
                self._adopt(key, fresh)
                return
        except BaseException:
            # Ctrl-C between two bytecodes. Once the host was asked it may know the slot, so that stays.
            if not asked:
                _free(slot[0])
            elif _registrations.get(key) is not fresh:
                _registrations.setdefault(key, fresh)
            raise
        _free(fresh.slot)
        if result == XR_ERROR_VALIDATION_FAILURE and self._open_again(key, definition, tool):
            return
        raise self._registration_error(key, result)

    def _new_tool(self, name: str, callback: Callable[[str], str], sizing: Sizing, on_error: OnError) -> _NativeTool:
        from openxr_agentic._native import ffi, lib

        kind, sizing_bytes, dry_run = _sizing(name, sizing)
        owner = FailureOwner(name, on_error, self._kept)
        dry_run_id = 0 if dry_run is None else id(dry_run)
        tool = ffi.gc(lib.oxa_text_tool_new(id(callback), dry_run_id, id(owner)), lib.oxa_tool_release)
        if tool == ffi.NULL:
            raise MemoryError
        return _NativeTool(tool, kind, sizing_bytes)

    def _adopt(self, key: _Key, fresh: _Registration) -> None:
        """Keep what the host has just accepted."""
        with _registrations_lock:
            # One of the same name belonged to an earlier instance with the same handle.
            before = _registrations.pop(key, None)
            _registrations[key] = fresh
            self._registered_one = True
            closed_meanwhile = self._closed
        if before is not None and before is not fresh:
            _free(before.slot)
        if closed_meanwhile:
            self._release()

    def _open_again(self, key: _Key, definition: _Definition, tool: _NativeTool) -> bool:
        """Open a parked slot: the host refused the name because the instance that knows it still lives."""
        from openxr_agentic._native import lib

        known = _registrations.get(key)
        if known is None or known.in_use:
            return False
        _warn_of_differences(known.definition, definition)  # where warnings are errors, nothing has changed yet
        with _registrations_lock:
            if known.in_use or not lib.oxa_slot_reopen(known.slot, *tool):
                return False
            known.extension = self
            self._registered_one = True
            closed_meanwhile = self._closed
        if closed_meanwhile:
            self._release()
        return True

    def _registration_error(self, key: _Key, result: int) -> AgenticError:
        from openxr_agentic._native import ffi, lib

        function = ffi.string(lib.oxa_register_function_name).decode()
        if result == XR_ERROR_VALIDATION_FAILURE:
            numbers = header_numbers.numbers_in_force()
            origins = {number.origin for number in numbers.values()}
            cause = f"A tool named {key.name!r} is registered on this instance already, and cannot be unregistered."
            if key in _registrations or self._registered_one or origins == {"header"}:
                return ToolNameTakenError(function, result, f"{cause} Choose another name.")
            return RegistrationRefusedError(
                function, result, f"Either: {cause} Or: {_doubtful_numbers(numbers)} {_HOW_TO_TELL}"
            )
        if result in (XR_ERROR_EXTENSION_NOT_PRESENT, XR_ERROR_FEATURE_UNSUPPORTED):
            said = f"{function} returned {result_name(result)}"
            return availability.not_enabled_error(self._look_up_address, self._handle, said)
        if result == XR_ERROR_HANDLE_INVALID:
            return InstanceError(_dead_instance_text(self._handle))
        return ResultError(function, result)

    @property
    def tool_names(self) -> list[str]:
        """Names of the tools that this extension answers, in order of registration."""
        with _registrations_lock:
            return [key.name for key, known in _registrations.items() if known.extension is self]

    def raise_pending(self) -> None:
        """Raise what a tool raised and could not be raised where it happened.

        That is every BaseException that is not an Exception, but for KeyboardInterrupt and
        SystemExit on the main thread, which are raised in the app by themselves. Each is
        raised once, the oldest first. Returns when there is none.
        """
        with _registrations_lock:
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
        with _registrations_lock:
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

        with _registrations_lock:
            mine = {key: known for key, known in _registrations.items() if known.extension is self}
        for known in mine.values():
            lib.oxa_slot_close(known.slot)
        running = []
        for key, known in mine.items():
            if not _wait_for_runs(known.slot, until):
                running.append(key.name)
                continue
            with _registrations_lock:
                if known.extension is self:
                    known.extension = None
        _bound_parked()
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


class _Structures(NamedTuple):
    """The extension's structures for one registration; `parameters` must outlive the call."""

    info: Any
    parameters: Any


def _structures(definition: _Definition) -> _Structures:
    from openxr_agentic._native import ffi, lib

    numbers = {name: number.value for name, number in header_numbers.numbers_in_force().items()}
    types = {kind: numbers[header_numbers.parameter_type_number(kind.name)] for kind in ParameterType}
    # ffi.new zeroes, padding included.
    parameters = ffi.new("OxaToolParameter[]", max(1, len(definition.parameters)))
    for raw, parameter in zip(parameters, definition.parameters, strict=False):
        raw.type = numbers[header_numbers.PARAMETER_STRUCTURE]
        raw.paramName = parameter.name.encode()
        raw.paramDescription = parameter.description.encode()
        raw.paramType = types[parameter.type]
        raw.isRequired = parameter.required
        if parameter.item_type is not None:
            raw.arrayItemType = types[parameter.item_type]
        if parameter.object_properties is not None:
            raw.objectProperties = parameter.object_properties.encode()
    info = ffi.new("OxaToolRegisterInfo*")
    info.type = numbers[header_numbers.REGISTER_INFO_STRUCTURE]
    info.toolName = definition.name.encode()
    info.toolDescription = definition.description.encode()
    info.toolParameterCount = len(definition.parameters)
    info.toolParameters = parameters if definition.parameters else ffi.NULL
    info.toolCallback = ffi.addressof(lib, "oxa_callback")
    info.toolCallbackInfoFlags = numbers[header_numbers.MAIN_THREAD_BIT] if definition.main_thread else 0
    return _Structures(info, parameters)


_HOW_TO_TELL = (
    "A tool without parameters and with another name tells the two apart. On this package's mock runtime, "
    "OPENXR_AGENTIC_HOST_LOG=1 makes it say why."
)


def _doubtful_numbers(numbers: dict[str, header_numbers.Number]) -> str:
    corrected = [name for name, number in numbers.items() if number.origin in ("environment", "override")]
    how = f"override_numbers() or {header_numbers.NUMBERS_VARIABLE}"
    if corrected:
        return f"the extension's numbers are not those of this host. In force from {how} are: {', '.join(corrected)}."
    return (
        "the extension's numbers, which Meta has not published and this package assumes, are not those of this host; "
        f"set the right ones with {how}."
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


def _sizing(name: str, sizing: Sizing) -> tuple[int, int, Callable[[str], str] | None]:
    from openxr_agentic._native import lib

    if sizing == "exact":
        return lib.OXA_SIZING_EXACT, 0, None
    if isinstance(sizing, int) and not isinstance(sizing, bool):
        if not 1 <= sizing < 2**32:
            raise DefinitionError(
                f"tool {name!r}: sizing must be from 1 to {2**32 - 1} bytes, NUL included, not {sizing}."
            )
        return lib.OXA_SIZING_BYTES, sizing, None
    if callable(sizing):
        return lib.OXA_SIZING_DRY_RUN, 0, sizing
    raise DefinitionError(f"tool {name!r}: sizing must be 'exact', a number of bytes or a callable, not {sizing!r}.")


def _warn_of_differences(told: _Definition, now: _Definition) -> None:
    changed = [field for field in _Definition._fields if getattr(told, field) != getattr(now, field)]
    if changed:
        warnings.warn(
            f"Tool {told.name!r} was registered on this living instance before, with another "
            f"{' and '.join(changed)}. The extension cannot change that: agents still see the first one.",
            RuntimeWarning,
            stacklevel=4,
        )


def _wait_for_runs(slot: int, until: float) -> bool:
    """Wait in short steps, so that Ctrl-C is seen."""
    from openxr_agentic._native import lib

    while True:
        left = until - time.monotonic()
        if lib.oxa_slot_wait(slot, int(max(0.0, min(left, 0.1)) * 1e9)):
            return True
        if left <= 0:
            return False


def _free(slot: int) -> None:
    """Let go of a slot that no living instance knows."""
    from openxr_agentic._native import lib

    lib.oxa_slot_close(slot)
    lib.oxa_slot_free(slot)


def _forget(gone: Callable[[_Key], bool]) -> None:
    with _registrations_lock:
        forgotten = [_registrations.pop(key) for key in [key for key in _registrations if gone(key)]]
    for known in forgotten:  # not under the lock: letting go of a callback may run any code
        _free(known.slot)


def _bound_parked() -> None:
    """Keep parked slots of the last instances only.

    Nobody says when an instance is gone. An evicted one that still lives refuses calls
    as before; only attaching to it again would find its names taken.
    """
    with _registrations_lock:
        open_instances = {key[:2] for key, known in _registrations.items() if known.extension is not None}
        parked = list(dict.fromkeys(key[:2] for key in _registrations if key[:2] not in open_instances))
    evicted = set(parked[: max(0, len(parked) - _MOST_PARKED_INSTANCES)])
    _forget(lambda key: key[:2] in evicted)
