"""JSON objects that apps send, read so that whatever is read can also be sent on."""

from __future__ import annotations

from typing import Any, Final

import msgspec

MAX_NESTING: Final = 100
"""How deep an object may nest. The protocol's own serialiser gives up at 255 levels."""


def read_object(text: str) -> dict[str, Any]:
    """Return a JSON object that can be a part of a message.

    Numbers beyond a double's range, lone surrogates and a nesting too deep are
    refused here: the message that they were put into could not be sent at all.

    Raises:
        ValueError: The text is no such object; the reason is for people.
    """
    try:
        value = msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from error
    except RecursionError:
        value = None
    if value is None or not _nests_at_most(value, MAX_NESTING):
        raise ValueError(f"it nests more than {MAX_NESTING} levels deep")
    return value


def _nests_at_most(value: object, levels: int) -> bool:
    if isinstance(value, dict):
        children = list(value.values())
    elif isinstance(value, list):
        children = value
    else:
        return True
    return levels > 0 and all(_nests_at_most(child, levels - 1) for child in children)
