"""From the host's JSON text to the values that a tool is called with.

The plain case is one call of msgspec's decoder. Only when that refuses the text, each
argument is read on its own, by the rules of lenient.py, so that all faults are told at once.
"""

from __future__ import annotations

import enum
import keyword
import logging
import types
import typing
from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from openxr_agentic.arguments import words
from openxr_agentic.arguments.lenient import fit
from openxr_agentic.errors import ArgumentError, ResultValueError
from openxr_agentic.parameters import ParameterType
from openxr_agentic.results.encode import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from openxr_agentic.schema.plan import ParameterPlan

logger = logging.getLogger("openxr_agentic")


class _Mark(enum.Enum):
    REQUIRED = "required"
    OMITTED = "omitted"


REQUIRED = _Mark.REQUIRED
"""Stands for the default of an argument that has none."""

AGENTS_OWN = frozenset({"reason", "sentiment", "session_handle"})
"""Names of arguments that agents were seen to add to those that a tool has, without being asked for them."""

_SIMPLE_DEFAULTS = (type(None), bool, int, float, str, bytes, tuple, frozenset, enum.Enum)
# Their instances are read as JSON, so that what is in them is checked.
_MODULES_OF_PLAIN_CLASSES = frozenset({"builtins", "collections", "collections.abc", "typing"})
_SPACE = b" \t\r\n"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class Field(NamedTuple):
    """One argument of a tool.

    Attributes:
        name: Its name in JSON.
        plan: Its type.
        default: What the tool gets if it is omitted, this very object; `REQUIRED`: it must not be.
        description: For people and agents.
        python_type: Its annotation: `ArgumentsDecoder.from_mapping` accepts instances of it as they are.
    """

    name: str
    plan: ParameterPlan
    default: Any = REQUIRED
    description: str = ""
    python_type: Any = Any

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED


class ArgumentsDecoder:
    """Decodes the arguments of one tool. Safe to use from several threads.

    Rules beside those of lenient.py:

    * No text, white space and ``null`` are no arguments, ``{}``. A JSON string that holds the
      object is read once more; only here, and only once.
    * null for an argument that may be omitted, and for which null is no value, means omitted.
    * Text arguments (`ParameterPlan.takes_text`) arrive unchanged: ``"5"``, ``"null"``, ``"[1]"`` are texts.
    * Of equal names the last one counts, as in Python's json.
    * Integers are exact, up to the 4300 digits that Python reads. What is not JSON is a fault: NaN,
      Infinity, numbers that no double holds, lone surrogates, a byte order mark.
    * An unknown name is a fault, unless it is tolerated or one of `AGENTS_OWN`, which are left out without a word
      where none of the tool's own that were not given is meant.

    Args:
        tool_name: For the text of errors.
        fields: The arguments, in the order in which the tool is called with them.
        ignore_unknown: Names of unknown arguments that are ignored, with one warning in the log; True: all.

    Attributes:
        names: The attributes of the decoded Struct, one a field, in the same order. A field whose name
            is no identifier has another attribute.
    """

    def __init__(self, tool_name: str, fields: Sequence[Field], ignore_unknown: bool | Collection[str] = False) -> None:
        self.tool_name = tool_name
        self.fields = tuple(fields)
        self.names = tuple(_attributes([field.name for field in fields]))
        self._by_name = {field.name: (attribute, field) for attribute, field in zip(self.names, fields, strict=True)}
        self._ignores_all = ignore_unknown is True
        self._ignored = frozenset(() if isinstance(ignore_unknown, bool) else ignore_unknown)
        self._warned = False
        self._decoders: dict[str, Callable[[bytes | msgspec.Raw], Any]] = {}

    @cached_property
    def strict(self) -> Callable[[bytes], msgspec.Struct]:
        """Decodes arguments that are as they should be, as fast as can be.

        It may raise any exception for others: `recover` then reads them, or has the words.
        Without conversions it is the method of a msgspec decoder.
        """
        decode: Callable[[bytes], msgspec.Struct] = msgspec.json.Decoder(self._struct).decode
        conversions = [
            (attribute, field.plan.convert, field.default)
            for attribute, field in zip(self.names, self.fields, strict=True)
            if field.plan.convert is not None
        ]
        if not conversions:
            return decode

        def decode_and_convert(arguments: bytes) -> msgspec.Struct:
            decoded = decode(arguments)
            for attribute, convert, default in conversions:
                value = getattr(decoded, attribute)
                setattr(decoded, attribute, default if value is _Mark.OMITTED else convert(value))
            return decoded

        return decode_and_convert

    def recover(self, arguments: bytes) -> msgspec.Struct:
        """Decode arguments that `strict` refused: each on its own, leniently where need be.

        Args:
            arguments: The host's text, without its terminating NUL.

        Returns:
            A Struct with the attributes `names`.

        Raises:
            ArgumentError: They do not fit; with every fault. Nothing else is raised.
        """
        return self._built(self._split(arguments), self._read)

    def from_mapping(self, arguments: Mapping[str, Any] | None) -> msgspec.Struct:
        """Take arguments from Python: JSON's own values, or those that the tool would get.

        An instance of the argument's own class (`Field.python_type`: an Enum, a dataclass, a Path) is
        taken as it is. Every other value is read as the JSON that a result of it would be, so
        that it meets the same checks as an agent's.

        Args:
            arguments: The arguments by name; None: none.

        Raises:
            ArgumentError: They do not fit; with every fault.
        """
        given = {} if arguments is None else arguments
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise self._error(["its arguments must be a mapping with text as keys"])
        return self._built(dict(given), self._taken)

    @cached_property
    def _struct(self) -> type[msgspec.Struct]:
        fields: list[tuple[str, Any, Any]] = []
        for attribute, field in zip(self.names, self.fields, strict=True):
            if field.required:
                default: Any = msgspec.NODEFAULT
            elif field.plan.convert is not None:
                default = _Mark.OMITTED  # the default is no JSON, and must not be converted
            elif isinstance(field.default, _SIMPLE_DEFAULTS):
                default = field.default
            else:
                # As in Python, all calls share the default; msgspec would copy it.
                default = msgspec.field(default_factory=partial(_same, field.default))
            fields.append((attribute, field.plan.decode_type, default))
        return msgspec.defstruct(
            "Arguments",
            fields,
            rename={attribute: field.name for attribute, field in zip(self.names, self.fields, strict=True)},
            kw_only=True,
            gc=False,
            forbid_unknown_fields=True,
        )

    def _built(self, given: Mapping[str, Any], read: Callable[[Field, Any], Any]) -> msgspec.Struct:
        """Make the Struct of arguments that are read one by one, or tell all faults."""
        values, faults, faulty = {}, [], []
        for attribute, field in self._by_name.values():
            value = self._value(field, given, read)
            if isinstance(value, _FaultError):
                faults.append(f"{words.shown(field.name)}: {value}")
                faulty.append(field)
            else:
                values[attribute] = value
        omitted = [name for name in self._by_name if name not in given]
        strangers = [
            name
            for name in given
            if name not in self._by_name and (name not in AGENTS_OWN or words.nearest(name, omitted))
        ]
        faults += [words.unknown(name, self._by_name) for name in strangers if not self._tolerates(name)]
        if faults:
            raise self._error(faults, [field for field in faulty if _needs_example(field.plan)])
        if strangers and not self._warned:
            self._warned = True
            logger.warning(
                "Tool %s has no argument %s, and ignores it", self.tool_name, ", ".join(map(words.shown, strangers))
            )
        return self._struct(**values)

    def _value(self, field: Field, given: Mapping[str, Any], read: Callable[[Field, Any], Any]) -> Any:
        """Return the argument's value, or a _FaultError."""
        if field.name not in given:
            return _FaultError(words.missing(field.plan)) if field.required else field.default
        try:
            return read(field, given[field.name])
        except _FaultError as fault:
            return fault

    def _tolerates(self, name: str) -> bool:
        return self._ignores_all or name in self._ignored

    def _read(self, field: Field, raw: bytes | msgspec.Raw) -> Any:
        """Read one argument from its JSON: strictly, then leniently."""
        plan = field.plan
        try:
            return self._decoded(field, raw)
        except Exception as error:  # noqa: BLE001 - a conversion of the user's may raise anything
            reason = error
        raw = bytes(raw).strip(_SPACE)
        if raw == b"null" and not field.required and not plan.nullable:
            return field.default
        if not plan.takes_text:
            try:
                given = msgspec.json.decode(raw)
                fitted = msgspec.json.encode(fit(given, plan.json_schema))
                if fitted != msgspec.json.encode(given):  # else a conversion of the user's would run again
                    return self._decoded(field, fitted)
            except Exception as error:  # noqa: BLE001
                reason = error
        why = words.misfit(plan, reason)
        near = words.nearest_choice(raw, plan.json_schema)
        raise _FaultError(
            f"got {words.shown(raw)}{f' ({why})' if why else ''}, expected {words.expected(plan)}{near}"
        ) from None

    def _decoded(self, field: Field, raw: bytes | msgspec.Raw) -> Any:
        decode = self._decoders.get(field.name)
        if decode is None:
            decode = self._decoders[field.name] = msgspec.json.Decoder(field.plan.decode_type).decode
        value = decode(raw)
        return value if field.plan.convert is None else field.plan.convert(value)

    def _taken(self, field: Field, value: Any) -> Any:
        """Read one argument from Python."""
        if any(_is_instance(value, cls) for cls in _classes(field.python_type)):
            return value
        try:
            return self._read(field, to_json(value, field.name))
        except ResultValueError as error:
            raise _FaultError(f"{str(error).rstrip('.')}, expected {words.expected(field.plan)}") from error
        except _FaultError:
            if isinstance(value, enum.Enum):  # one whose values are not told to agents
                return self._read(field, to_json(value.name))
            raise

    def _split(self, arguments: bytes, *, again: bool = True) -> dict[str, msgspec.Raw]:
        """Return each argument's own JSON."""
        text = arguments.strip(_SPACE)
        if text in (b"", b"null"):
            return {}
        try:
            text.decode()
            inner = msgspec.json.decode(text, type=str).encode() if again and text[:1] == b'"' else None
            if inner is None:
                return _members(text)
        except msgspec.ValidationError:
            reason = f"its arguments must be a JSON object, not {words.shown(text)}"
        except (ValueError, RecursionError) as error:
            reason = f"its arguments are not {_why_no_json(text, error)}"
        else:
            return self._split(inner, again=False)
        raise self._error([reason], [field for field in self.fields if field.required])

    def _error(self, faults: list[str], for_example: Sequence[Field] = ()) -> ArgumentError:
        example = words.example((field.name, field.plan) for field in for_example) if for_example else None
        if example is not None and not self._accepts(example):
            example = None
        return ArgumentError(self.tool_name, faults, tip=f"for example {example}" if example else None)

    def _accepts(self, example: str) -> bool:
        """Tell whether an example, made of the schema alone, passes all checks; what was refused just now does not."""
        try:
            for name, raw in _members(example).items():
                self._decoded(self._by_name[name][1], raw)
        except Exception:  # noqa: BLE001 - a conversion of the user's may raise anything
            return False
        return True


class _FaultError(Exception):
    """One argument does not fit; its text says why."""


def _attributes(names: list[str]) -> Iterator[str]:
    """Give each name an attribute that generated code can use, the name itself if it can."""
    for number, name in enumerate(names):
        usable = name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")
        attribute = name if usable else f"argument_{number}"
        while not usable and attribute in names:
            attribute += "_"
        yield attribute


def _classes(annotation: Any) -> Iterator[type]:
    """Yield the classes in an annotation whose instances are no plain JSON values."""
    if isinstance(annotation, type) and typing.get_origin(annotation) is None:
        if annotation.__module__ not in _MODULES_OF_PLAIN_CLASSES:
            yield annotation
    elif typing.get_origin(annotation) in (typing.Union, types.UnionType):
        for member in typing.get_args(annotation):
            yield from _classes(member)
    elif typing.get_origin(annotation) is typing.Annotated:
        yield from _classes(annotation.__origin__)


def _is_instance(value: Any, cls: type) -> bool:
    try:
        return isinstance(value, cls)
    except TypeError:  # a TypedDict or a Protocol, which cannot be asked
        return False


def _same(value: Any) -> Any:
    return value


def _needs_example(plan: ParameterPlan) -> bool:
    return plan.type in (ParameterType.ARRAY, ParameterType.OBJECT) or "format" in plan.json_schema


def _why_no_json(text: bytes, error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"valid UTF-8, at byte {error.start}"
    if isinstance(error, RecursionError):
        return "JSON that can be read: nested too deeply"
    if text.startswith(_BYTE_ORDER_MARK):
        return "JSON: they begin with a byte order mark"
    import json

    try:
        json.loads(text, parse_constant=_refuse_constant)
    except _ConstantError as constant:
        return f"JSON: {constant} is no JSON number"
    except (ValueError, RecursionError):
        return f"JSON: {str(error).removeprefix('JSON is malformed: ')}"
    return "JSON in UTF-8: a text in them has a lone surrogate"  # which Python's reader lets through


class _ConstantError(Exception):
    """NaN or an infinity, which Python's JSON reader would accept."""


def _refuse_constant(name: str) -> Any:
    raise _ConstantError(name)
