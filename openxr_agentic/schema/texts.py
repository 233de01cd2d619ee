"""Values that agents write as text and that Python's own constructors read too freely."""

from __future__ import annotations

import decimal
import re

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_MOST_EXACT_DIGITS = 15


def decimal_of(value: str | float) -> decimal.Decimal:
    """Read a decimal number from a text that is a JSON number, or from a number.

    Raises:
        ValueError: It is neither, or a number with more digits than a double keeps.
    """
    if isinstance(value, float):
        number = decimal.Decimal(repr(value))
        if len(number.normalize().as_tuple().digits) > _MOST_EXACT_DIGITS:
            raise ValueError("has more digits than a JSON number keeps, send it as text")
        return number
    if isinstance(value, str):
        value = value.strip()
        if _NUMBER.fullmatch(value) is None:
            raise ValueError("Invalid decimal number")
    try:
        number = decimal.Decimal(value)
    except decimal.InvalidOperation:  # an exponent beyond what Decimal holds
        number = decimal.Decimal("nan")
    if not number.is_finite():
        raise ValueError("is out of the range of decimal numbers")
    return number
