"""What the host knows of us: one registration for each tool and instance, and what it holds.

The host may call until its instance is destroyed, and nobody tells us when that is. A
slot and all that it needs therefore belong to this module, not to the AgenticExtension
that made them, until that is closed.

Loops that end in a condition are not written under `lock` but in functions that are
called under it. CPython 3.13 leaves the `with` around such a loop without __exit__ when
Ctrl-C comes at its jump back (python/cpython#130279), and the lock would be held for ever.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from openxr_agentic import header_numbers
from openxr_agentic.parameters import ParameterType, ToolParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from openxr_agentic.extension import AgenticExtension

_MOST_PARKED_INSTANCES = 16


class Definition(NamedTuple):
    """What the host was told of a tool."""

    name: str
    description: str
    parameters: tuple[ToolParameter, ...]
    main_thread: bool


class Key(NamedTuple):
    """A native registration. Handles are reused, so this names one only while its instance lives."""

    get_instance_proc_addr: int
    instance: int
    name: str


class Registration:
    """A slot that the host knows, open for an extension or parked."""

    @property
    def in_use(self) -> bool:
        """Whether an extension answers its calls, that is, neither parked nor being closed."""
        return self.extension is not None and not self.extension._closed  # noqa: SLF001 - of this module

    __slots__ = ("definition", "extension", "slot")

    def __init__(self, slot: int, definition: Definition, extension: AgenticExtension) -> None:
        self.slot = slot
        self.definition = definition
        self.extension: AgenticExtension | None = extension


registrations: dict[Key, Registration] = {}
lock = threading.RLock()


def free(slot: int) -> None:
    """Let go of a slot that no living instance knows."""
    from openxr_agentic._native import lib

    lib.oxa_slot_close(slot)
    lib.oxa_slot_free(slot)


def forget(gone: Callable[[Key], bool]) -> None:
    """Let go of the registrations whose instances are gone.

    One that runs stays until another time: the tool that replaces the instance has an answer to give.
    """
    from openxr_agentic._native import lib

    with lock:
        forgotten = _pop(lambda key: gone(key) and not lib.oxa_slot_is_running(registrations[key].slot))
    for known in forgotten:  # not under the lock: letting go of a callback may run any code
        free(known.slot)


def _pop(gone: Callable[[Key], bool]) -> list[Registration]:
    return [registrations.pop(key) for key in [key for key in registrations if gone(key)]]


def of(extension: AgenticExtension) -> dict[Key, Registration]:
    """What is open for an extension, in order of registration; to be called under the lock."""
    return {key: known for key, known in registrations.items() if known.extension is extension}


def bound_parked() -> None:
    """Keep parked slots of the last instances only.

    Nobody says when an instance is gone. An evicted one that still lives refuses calls
    as before; only attaching to it again would find its names taken.
    """
    with lock:
        parked = _parked_instances()
    evicted = set(parked[: max(0, len(parked) - _MOST_PARKED_INSTANCES)])
    forget(lambda key: key[:2] in evicted)


def _parked_instances() -> list[tuple[int, int]]:
    open_instances = {key[:2] for key, known in registrations.items() if known.extension is not None}
    return list(dict.fromkeys(key[:2] for key in registrations if key[:2] not in open_instances))


def differences(told: Definition, now: Definition) -> str | None:
    """Say what of a definition agents will not see, because another one was registered first."""
    changed = [field for field in Definition._fields if getattr(told, field) != getattr(now, field)]
    if not changed:
        return None
    return (
        f"Tool {told.name!r} was registered on this living instance before, with another "
        f"{' and '.join(changed)}. The extension cannot change that: agents still see the first one."
    )


class Structures(NamedTuple):
    """The extension's structures for one registration; `parameters` must outlive the call."""

    info: Any
    parameters: Any


def native_structures(definition: Definition) -> Structures:
    """Fill the extension's structures, but for userData."""
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
    return Structures(info, parameters)
