"""Attachment: a registry's tools on one XrInstance, for as long as both want it.

The extension knows no way to unregister. So what a registry takes away or disables
stays natively registered, and is answered with a text that says so, until it comes back; a tool
that is replaced runs under the old registration. Everything else follows the
registry: `sync` compares what it says now with what the host was told, so the order in
which threads announce their changes does not matter.
"""

from __future__ import annotations

import logging
import threading
import warnings
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from openxr_agentic.definition.tool import outside
from openxr_agentic.errors import (
    AgenticError,
    ExtensionNotAvailableError,
    ExtensionNotEnabledError,
    FunctionMissingError,
    InstanceError,
    RegistrationRefusedError,
    ResultError,
)
from openxr_agentic.extension import CLOSE_WAIT_SECONDS, AgenticExtension

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from openxr_agentic.definition.tool import Tool
    from openxr_agentic.registry.entries import ToolEntry
    from openxr_agentic.registry.events import ToolsChanged
    from openxr_agentic.registry.registry import ToolRegistry

logger = logging.getLogger("openxr_agentic")

# The host will refuse the next tool for the same reason.
_HOPELESS = (ExtensionNotAvailableError, ExtensionNotEnabledError, FunctionMissingError)

_living: weakref.WeakSet[Attachment] = weakref.WeakSet()


class AttachmentStatus(NamedTuple):
    """What became of a registry's tools on an instance.

    Attributes:
        attached: Whether the host takes tools, and the attachment is not detached.
        reason: Why it does not; None: it does.
        tools: Names that the host knows, in order of registration.
        refused: Names that it refused, each with the reason.
    """

    attached: bool
    reason: str | None
    tools: list[str]
    refused: dict[str, str]


class Attachment:
    """Keeps an instance's tools as a registry has them; made by `ToolRegistry.attach`.

    Usable as a context manager, which detaches, and from any thread.
    """

    def __init__(self, registry: ToolRegistry, instance: Any, *, get_instance_proc_addr: Any = None) -> None:
        self._registry = registry
        self._lock = threading.RLock()
        self._told: dict[str, Tool] = {}  # what was registered natively
        self._answers: dict[str, Tool | str] = {}  # what stands behind it now: a tool, or why there is none
        self._metadata: dict[str, object] = {}
        self._refused: dict[str, str] = {}
        self._doubted: AgenticError | None = None  # a refusal that may hold for all tools
        self._reason: str | None = None
        self._detached = False
        self._extension: AgenticExtension | None = None
        # Warnings, said when all is done: where they are errors, nothing is left half done.
        self._unsaid: list[str] = []
        try:
            self._extension = AgenticExtension(instance, get_instance_proc_addr=get_instance_proc_addr)
        except (ExtensionNotAvailableError, ExtensionNotEnabledError, FunctionMissingError, ResultError) as error:
            self._give_up(error)
        if self._extension is not None:
            self._refuse_twice(self._extension)
        self._unsubscribe = registry.tools_changed.subscribe(self._on_change)
        try:
            self.sync()
        except BaseException:
            self.detach()
            raise

    def _refuse_twice(self, extension: AgenticExtension) -> None:
        if any(other.serves(self._registry, extension.instance) for other in list(_living)):
            raise InstanceError("This registry is attached to this instance already; detach that first.")
        _living.add(self)

    def serves(self, registry: ToolRegistry, instance: int) -> bool:
        """Tell whether this keeps a registry's tools on an instance, given by its handle."""
        here = self._extension is not None and self._extension.instance == instance
        return here and self._registry is registry and not self._detached

    def _on_change(self, change: ToolsChanged) -> None:
        self.sync(change.name)

    def sync(self, name: str | None = None) -> None:
        """Bring the host up to date with the registry; it is done by itself after each change.

        Args:
            name: Of one tool; None: all.
        """
        with self._lock:
            if self._extension is not None and not self._detached:
                self._sync_each(self._extension, [name] if name is not None else self._all_names())
                if self._doubted and not self._told:
                    self._give_up(self._doubted)  # every single tool was refused: it is not their names
            said, self._unsaid = self._unsaid, []
        for text in said:
            warnings.warn(text, RuntimeWarning, stacklevel=outside())

    def _sync_each(self, extension: AgenticExtension, names: list[str]) -> None:
        # Not under the `with` itself: see what `registrations` says of loops.
        for each in names:
            if not self._try_sync(extension, each):
                break

    def _all_names(self) -> list[str]:
        return sorted({entry.tool.name for entry in self._registry.entries()} | set(self._told))

    def _try_sync(self, extension: AgenticExtension, name: str) -> bool:
        """Sync one tool; False: the host would refuse the others too."""
        try:
            self._sync_one(extension, name, self._registry.entry(name))
        except _HOPELESS as error:
            self._give_up(error)
            return False
        except AgenticError as error:
            if isinstance(error, RegistrationRefusedError):
                self._doubted = error
            self._refused[name] = _in_brief(error)
            if not isinstance(error, RegistrationRefusedError) or self._told:
                logger.warning("Tool %s is not offered to agents: %s", name, error)
        return True

    def _sync_one(self, extension: AgenticExtension, name: str, entry: ToolEntry | None) -> None:
        answer: Tool | str
        if entry is None:
            answer = f"{name} was not run: the app has removed it."
        elif entry.refusal is not None:
            answer = f"{name} was not run: {entry.refusal}."
        else:
            answer = entry.tool
        if name not in self._told:
            # Meta's registration knows no disabled tool: one is registered when it is first enabled.
            if entry is None or isinstance(answer, str):
                return
            extension.register(entry.tool, announce=self._unsaid.append)
            self._told[name] = self._answers[name] = entry.tool
            self._refused.pop(name, None)
        elif answer is not self._answers[name] and answer != self._answers[name]:
            if isinstance(answer, str):
                extension.refuse(name, answer)
            else:
                extension.replace(answer)
                self._note_change(self._told[name], answer)
            self._answers[name] = answer
        self._tell_metadata(extension, name, entry)

    def _tell_metadata(self, extension: AgenticExtension, name: str, entry: ToolEntry | None) -> None:
        if extension.metadata is None:
            return
        tool = entry.tool if entry is not None else self._told[name]
        told = {
            "title": tool.title,
            "annotations": tool.annotations,
            "groups": list(tool.groups),
            "inputSchema": tool.input_schema,
            "enabled": entry is not None and entry.refusal is None,
        }
        if tool.output_schema is not None:
            told["outputSchema"] = tool.output_schema
        if self._metadata.get(name) == told:
            return
        if not extension.metadata.tell(name, told):
            # Too long, most likely: agents can do without all but the enabled state.
            extension.metadata.tell(name, {"title": tool.title, "enabled": told["enabled"]})
        self._metadata[name] = told

    def _note_change(self, told: Tool, now: Tool) -> None:
        fields = ("description", "parameters", "main_thread")
        changed = [field for field in fields if getattr(told, field) != getattr(now, field)]
        if changed:
            self._unsaid.append(
                f"Tool {told.name!r} was registered with another {' and '.join(changed)}. The extension cannot change "
                "that: on Meta's runtimes agents still see the first one until the next instance."
            )

    def _give_up(self, error: AgenticError) -> None:
        """The host takes no tools: say so once, for all of them."""
        if self._reason is None:
            self._reason = _in_brief(error)
            self._unsaid.append(f"No tool is offered to agents on this instance; the app goes on. {error}")

    def status(self) -> AttachmentStatus:
        """Return what became of the tools."""
        with self._lock:
            attached = self._reason is None and not self._detached
            reason = self._reason or ("It was detached." if self._detached else None)
            return AttachmentStatus(attached, reason, list(self._told), dict(self._refused))

    def raise_pending(self) -> None:
        """Raise what a tool raised and could not be raised where it happened (`AgenticExtension.raise_pending`)."""
        if self._extension is not None:
            self._extension.raise_pending()

    def detach(self, timeout: float = CLOSE_WAIT_SECONDS) -> bool:
        """Refuse further calls, wait for running ones, and follow the registry no more.

        Args:
            timeout: Seconds to wait for calls that are running.

        Returns:
            False: some still ran when the time was over.

        Raises:
            BaseException: As `AgenticExtension.close`.
        """
        self._unsubscribe()
        with self._lock:
            self._detached = True
        return self._extension.close(timeout) if self._extension is not None else True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.detach()

    def __repr__(self) -> str:
        status = self.status()
        return f"<Attachment: {len(status.tools)} tools{'' if status.attached else f', not attached: {status.reason}'}>"


def _in_brief(error: AgenticError) -> str:
    return (isinstance(error, RegistrationRefusedError) and error.brief) or str(error)
