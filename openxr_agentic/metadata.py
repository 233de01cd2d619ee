"""What a host of ours takes beyond Meta's extension: metadata for a tool, and marks of errors.

The extension has no place for a title, annotations, groups, whole schemas or the enabled
state. A host of ours answers one more function name (native_headers/openxr_agentic/metadata.h);
any other does not know it, and everything works as the extension allows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from openxr_agentic import loader

if TYPE_CHECKING:
    from collections.abc import Mapping


class ToolMetadata:
    """The metadata of one instance's tools, on a host that takes them.

    Attributes:
        instance: The XrInstance, as cffi has it.
        mark_error: Address of the host's function by which a failed run is marked.
    """

    def __init__(self, instance: Any, table: Any) -> None:
        from openxr_agentic._native import ffi

        self.instance = instance
        self.mark_error = int(ffi.cast("uintptr_t", table.mark_error))
        self._set = table.set

    def tell(self, tool_name: str, metadata: Mapping[str, Any]) -> bool:
        """Replace what the host knows of a registered tool.

        Args:
            tool_name: Its name.
            metadata: What metadata.h lists: title, annotations, groups, inputSchema, outputSchema, enabled.

        Returns:
            False: the host did not take it; too long, say.
        """
        text = json.dumps(metadata, ensure_ascii=False, separators=(",", ":"))
        return int(self._set(self.instance, tool_name.encode(), text.encode("utf-8", "backslashreplace"))) >= 0


def of_instance(get_instance_proc_addr: int, handle: int) -> ToolMetadata | None:
    """Return the metadata of an instance's tools; None: its host takes none."""
    from openxr_agentic._native import ffi, lib

    name = ffi.string(lib.oxa_metadata_function_name).decode()
    _, address = loader.look_up(get_instance_proc_addr, handle, name)
    if not address:
        return None
    table = ffi.new("OxaToolMetadataInterface const**")
    instance = ffi.cast("XrInstance", handle)
    result = ffi.cast("OxaGetToolMetadataInterface", address)(instance, lib.OXA_METADATA_VERSION, table)
    return ToolMetadata(instance, table[0]) if result >= 0 and table[0] != ffi.NULL else None
