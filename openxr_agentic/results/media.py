"""Images and sounds as results.

The extension carries a text and nothing else. A text that as a whole is a data URL
(RFC 2397) of one of the types below says that it is an image or a sound: the agent's
server (`openxr_agentic.mcp.answering.media`) passes it on as such, and on another host an agent
still gets everything.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from openxr_agentic.errors import ResultValueError

if TYPE_CHECKING:
    import os

    from typing_extensions import Self

# How files of a type begin; RIFF is a container, and names its content further on.
_SIGNATURES: tuple[tuple[bytes, int, bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, b"", "image/png"),
    (b"\xff\xd8\xff", 0, b"", "image/jpeg"),
    (b"GIF87a", 0, b"", "image/gif"),
    (b"GIF89a", 0, b"", "image/gif"),
    (b"RIFF", 8, b"WEBP", "image/webp"),
    (b"RIFF", 8, b"WAVE", "audio/wav"),
    (b"OggS", 0, b"", "audio/ogg"),
    (b"ID3", 0, b"", "audio/mpeg"),
    # MPEG 1 and 2, layer III, with and without a checksum, for files without a tag.
    (b"\xff\xfb", 0, b"", "audio/mpeg"),
    (b"\xff\xfa", 0, b"", "audio/mpeg"),
    (b"\xff\xf3", 0, b"", "audio/mpeg"),
    (b"\xff\xf2", 0, b"", "audio/mpeg"),
)


class Media:
    """What `Image` and `Audio` have in common; tools return one of those."""

    MIME_TYPES: ClassVar[tuple[str, ...]] = ()
    """The types that it may have."""

    __slots__ = ("_data", "_mime_type")

    def __init__(self, data: bytes | bytearray | memoryview, mime_type: str | None = None) -> None:
        name = type(self).__name__
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise ResultValueError(
                f"{name}: data must be the bytes of an encoded file, not {type(data).__name__}. "
                f"{name}.from_file(path) reads one."
            )
        if not data:
            raise ResultValueError(f"{name}: there are no bytes.")
        self._data = bytes(data)
        kind = _mime_type_of(self._data) if mime_type is None else mime_type.lower()
        if kind is None:
            raise ResultValueError(
                f"{name}: the bytes, which begin {self._data[:8]!r}, are of no known type. Encode them as one of "
                f"{', '.join(self.MIME_TYPES)}; raw pixels and samples have no type."
            )
        if kind not in self.MIME_TYPES:
            raise ResultValueError(
                f"{name}: {kind} is none of the types that it may have: {', '.join(self.MIME_TYPES)}."
            )
        self._mime_type = kind

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], mime_type: str | None = None) -> Self:
        """Read a file.

        Args:
            path: The file. What it is called does not matter.
            mime_type: As for the class.

        Raises:
            OSError: It cannot be read.
            ResultValueError: It is none of `MIME_TYPES`.
        """
        return cls(Path(path).read_bytes(), mime_type)

    @property
    def data(self) -> bytes:
        """The encoded file."""
        return self._data

    @property
    def mime_type(self) -> str:
        """Its type, one of `MIME_TYPES`."""
        return self._mime_type

    def data_url(self) -> str:
        """Return the text that stands for it: ``data:<type>;base64,<padded base64>``."""
        from base64 import b64encode

        return f"data:{self._mime_type};base64,{b64encode(self._data).decode('ascii')}"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return (self._mime_type, self._data) == (other._mime_type, other._data)

    def __hash__(self) -> int:
        return hash((self._mime_type, self._data))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._mime_type}, {len(self._data)} bytes>"


class Image(Media):
    """An image, as the whole result of a tool.

        @registry.tool
        def take_screenshot() -> agentic.Image:
            \"\"\"Return what the user sees now.\"\"\"
            return agentic.Image(png_bytes)

    Args:
        data: An encoded file: PNG, JPEG, GIF or WebP. It is copied.
        mime_type: Its type; None: found from its first bytes.

    Raises:
        ResultValueError: `data` holds nothing, or is of a type that agents do not take.
    """

    MIME_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
    __slots__ = ()


class Audio(Media):
    """A sound, as the whole result of a tool.

    Args:
        data: An encoded file: WAV, MP3 or Ogg. It is copied.
        mime_type: Its type; None: found from its first bytes.

    Raises:
        ResultValueError: `data` holds nothing, or is of a type that agents do not take.
    """

    MIME_TYPES = ("audio/wav", "audio/mpeg", "audio/ogg")
    __slots__ = ()


def _mime_type_of(data: bytes) -> str | None:
    for start, offset, later, mime_type in _SIGNATURES:
        if data.startswith(start) and data.startswith(later, offset):
            return mime_type
    return None
