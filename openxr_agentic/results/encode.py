"""What a tool returned, as text for the agent: strict JSON in UTF-8, by the rules of `encode_result`.

Two ways lead to the same text. `ENCODE` is msgspec's own encoder and does not look
at what it writes: it is for the plain case. `encode_result` takes the value apart
first, and so knows where in it something stands that JSON cannot say.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, MappingView, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

import msgspec

from openxr_agentic.errors import ResultValueError
from openxr_agentic.results.kinds import advice, fields_of, replacement
from openxr_agentic.results.media import Media

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NoReturn, TypeAlias

    Plain: TypeAlias = bool | int | float | str | list["Plain"] | dict[str, "Plain"] | None

MOST_LEVELS = 100
"""How deep lists and dicts may stand in each other: deeper, JSON readers begin to refuse it."""

# No integer of so few bits is longer than any limit that Python can be set to.
_ALWAYS_WRITABLE_BITS = 2000
_LONGEST_NAME = 60
# Past what a subclass may have made of str() and the like.
_EXACT: dict[type, Callable[[Any], Any]] = {str: str.__str__, int: int.__int__, float: float.__float__}
_AS_IT_IS = frozenset({bool, type(None)})


def encode_result(value: Any) -> str | bytes:
    """Turn what a tool returned into the text that the agent gets.

    ==============================  ==================================================================
    Python                          text
    ==============================  ==================================================================
    str, also a subclass            unchanged, not quoted; inside another value a JSON string
    None, bool                      null, true, false
    int                             the number, exact whatever its size
    float                           the shortest number that reads back the same
    dict, Mapping                   an object, in its own order; keys: see below
    list, tuple, NamedTuple, deque, an array
    range, any Sequence, dict views
    set, frozenset, any Set         an array, sorted; by their JSON if they cannot be compared
    dataclass, attrs, TypedDict     an object of its fields
    msgspec Struct                  as msgspec writes it: renamed, tagged, defaults omitted if so set
    pydantic model                  its ``model_dump(mode="json", by_alias=True)``
    Enum, Flag                      its value, by these rules
    datetime, date, time            ISO 8601 text, as ``2025-01-31T12:00:00Z``
    timedelta                       ISO 8601 duration, as ``PT1.5S``
    UUID, Decimal                   text, as ``str`` gives it
    Path                            text, as ``os.fspath`` gives it
    bytes, bytearray, memoryview    base64 text (RFC 4648, padded)
    numpy scalar, array             what ``item()`` and ``tolist()`` give; datetime64: ISO 8601 text
    ctypes Structure, Array         an object of its fields, an array: so ``xr.Posef`` can be returned
    Image, Audio                    a data URL, not quoted, and only as the whole result
    ==============================  ==================================================================

    A key that is not text is written as the text of its JSON: ``{1: ...}`` as ``{"1": ...}``,
    True as ``"true"``, None as ``"null"``, an Enum as its value, a date as its text.

    Refused, since the agent would get something wrong or nothing at all: a number that is not
    finite; text with a lone surrogate; a result that is text with a NUL (the host would read what
    stands before it; inside JSON it is escaped); keys that become the same text; a container that
    holds itself, or more than `MOST_LEVELS` levels; iterators and generators (they might never end:
    return a list); coroutines; exceptions (raise them); complex numbers; an Image or Audio inside
    another value; every other object, which would have nothing but its repr.

    Args:
        value: What the tool returned. It is not changed.

    Returns:
        A str for a str, an Image or an Audio; else JSON as UTF-8.

    Raises:
        ResultValueError: It names the place in the value, what stands there, and what to return instead.
    """
    if isinstance(value, str):
        text = str.__str__(value)
        if "\0" in text:
            raise ResultValueError(
                f"the result is text with a NUL character at position {text.index(chr(0))}: the host would read "
                "only what stands before it. Leave it out."
            )
        _Plainer().text(text)
        return text
    if isinstance(value, Media):
        return value.data_url()
    return to_json(value)


def to_json(value: Any, name: str = "result") -> bytes:
    """Write a value as JSON by the rules of `encode_result`, text as a JSON string too.

    Args:
        value: The value.
        name: What the error calls it.

    Raises:
        ResultValueError: As for `encode_result`.
    """
    return msgspec.json.encode(_plain(value, name))


def check_finite(value: Any) -> None:
    """Raise ResultValueError if there is something in a value that `encode_result` refuses.

    For what `ENCODE` has written: a number that is not finite has become null there.
    """
    if not isinstance(value, str):
        _plain(value)


class _Plainer:
    """Takes one value apart, knowing where it is."""

    __slots__ = ("_inside", "_name", "_path")

    def __init__(self, name: str = "result") -> None:
        self._name = name
        self._path: list[str | int] = []
        self._inside: set[int] = set()

    def plain(self, value: Any) -> Plain:
        """Return the value as what JSON has: None, bool, int, float, str, list and dict."""
        kind = type(value)
        if kind is str:
            return self.text(value)
        if kind in _AS_IT_IS:
            return value  # type: ignore[no-any-return]
        if kind is float:
            return self._finite(value)
        if kind is int:
            return self._integer(value)
        if kind is dict or kind is list or kind is tuple:
            return self._container(value, value.items() if kind is dict else None)
        return self._other(value)

    def text(self, value: str) -> str:
        """Return the text, if UTF-8 can express it."""
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                self.refuse(
                    f"has a lone surrogate (U+{ord(value[error.start]):04X}) at position {error.start}, which UTF-8 "
                    "cannot express: decode that text with the right encoding, or with errors='replace'"
                )
        return value

    def _finite(self, value: float) -> float:
        if not math.isfinite(value):
            self.refuse(f"is {value}, and JSON has only finite numbers: return None or a text instead")
        return value

    def _integer(self, value: int) -> int:
        if value.bit_length() > _ALWAYS_WRITABLE_BITS:
            try:
                str(value)
            except ValueError:
                self.refuse(f"is an integer of more than {sys.get_int_max_str_digits()} digits: return hex() of it")
        return value

    def _other(self, value: Any) -> Plain:
        simpler = replacement(value)
        if simpler is not None:
            return self.plain(simpler.value)
        for kind, checked in ((str, self.text), (int, self._integer), (float, self._finite)):
            if isinstance(value, kind):
                return checked(_EXACT[kind](value))
        if isinstance(value, Mapping):
            return self._container(value, value.items())
        fields = fields_of(value)
        if fields is not None:
            return self._container(value, fields)
        if isinstance(value, (Sequence, AbstractSet, MappingView)):
            return self._container(value, None)
        return self.refuse(advice(value))

    def _container(self, value: Any, pairs: Iterable[tuple[Any, Any]] | None) -> Plain:
        """Take apart an object of these pairs; None: an array."""
        if id(value) in self._inside:
            self.refuse("is a container that holds itself")
        if len(self._inside) >= MOST_LEVELS:
            self._path.clear()
            self.refuse(f"has more than {MOST_LEVELS} levels of lists and dicts: return a flatter one")
        self._inside.add(id(value))
        made: Plain = self._array(value) if pairs is None else self._object(pairs)
        self._inside.discard(id(value))
        return made

    def _array(self, value: Any) -> Plain:
        if isinstance(value, (list, tuple)) and set(map(type, value)) == {float} and all(map(math.isfinite, value)):
            return list(value)  # coordinates, by far the most frequent long list
        items = []
        for index, item in enumerate(value):
            self._path.append(index)
            items.append(self.plain(item))
            self._path.pop()
        if isinstance(value, AbstractSet) and not isinstance(value, MappingView):
            try:
                items.sort()  # what cannot be compared is caught
            except TypeError:
                items.sort(key=msgspec.json.encode)
        return items

    def _object(self, pairs: Iterable[tuple[Any, Any]]) -> Plain:
        made: dict[str, Plain] = {}
        for key, item in pairs:
            name = key if type(key) is str and key.isascii() else self._key(key)
            if name in made:
                self.refuse(f"has two keys that both become {_shown(name)}")
            self._path.append(name)
            made[name] = self.plain(item)
            self._path.pop()
        return made

    def _key(self, key: Any) -> str:
        self._path.append("(a key)")
        plain = self.plain(key)
        if isinstance(plain, (list, dict)):
            self.refuse(f"is a {type(key).__name__}, which cannot be the name of a JSON member: make it a text")
        self._path.pop()
        return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()

    def refuse(self, what: str, cause: BaseException | None = None) -> NoReturn:
        """Raise ResultValueError about the place that has been reached."""
        steps = "".join(f"[{step if isinstance(step, int) else _shown(step)}]" for step in self._path)
        whole = "the result" if self._name == "result" and not steps else self._name
        raise ResultValueError(f"{whole}{steps} {what}.") from cause


def _shown(name: str) -> str:
    text = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
    return f'"{text.encode("utf-8", "backslashreplace").decode()}"'


def _plain(value: Any, name: str = "result") -> Plain:
    plainer = _Plainer(name)
    try:
        return plainer.plain(value)
    except (ResultValueError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - the value's own code may do anything
        plainer.refuse(f"cannot be turned into JSON: {type(error).__name__}: {error}", error)


ENCODE: Callable[[Any], bytes] = msgspec.json.Encoder(enc_hook=_plain).encode
"""Writes a plain value (dicts with text as keys, lists, text, numbers, None) as fast as can be.

For these `encode_result` gives the same bytes. It does not look for what `encode_result` refuses: where
the bytes contain ``null``, `check_finite` must be asked; sets come in their own order. Whatever it
raises, `encode_result` has the words for it, or the text after all (as for keys that are None).
"""
