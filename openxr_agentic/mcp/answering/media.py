"""Images and sounds in results: a data URL that is a tool's whole text becomes MCP's own content.

The extension carries only text, so this is how an app of any language sends an
image: ``data:image/png;base64,…`` and nothing before or after it. Everything
else stays the text that it is.
"""

from __future__ import annotations

import base64
from typing import Final

from mcp_types import AudioContent, ImageContent

_SCHEME: Final = "data:"
_MARK: Final = ";base64,"
_LONGEST_HEAD: Final = 32
"""No known type's ``data:…;base64,`` is longer, and a text may be megabytes."""

_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_SOUNDS: Final = frozenset({"audio/wav", "audio/mpeg", "audio/ogg"})


def media_content(text: str) -> ImageContent | AudioContent | None:
    """Return what a tool's text stands for, if that is an image or a sound.

    Args:
        text: The whole text of a result.

    Returns:
        None where the text is a text: no data URL, of another type, with anything around it or more parameters, or
        with data that is empty or not base64 as RFC 4648 has it (padded, no line breaks). Clients would refuse
        the whole result for such data.
    """
    if not text.startswith(_SCHEME):
        return None
    head, mark, data = text[:_LONGEST_HEAD].partition(_MARK)
    mime_type = head[len(_SCHEME) :]
    if not mark or (mime_type not in _IMAGES and mime_type not in _SOUNDS):
        return None
    data = text[len(head) + len(mark) :]
    if not _is_base64(data):
        return None
    if mime_type in _IMAGES:
        return ImageContent(type="image", data=data, mime_type=mime_type)
    return AudioContent(type="audio", data=data, mime_type=mime_type)


def _is_base64(data: str) -> bool:
    # The length as well: before 3.11, Python overlooks padding that is too long.
    if not data or len(data) % 4:
        return False
    try:
        base64.b64decode(data, validate=True)  # C code, about a millisecond for a megabyte
    except ValueError:  # binascii.Error is one; so is what a text outside ASCII raises
        return False
    return True
