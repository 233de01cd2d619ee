"""The extension's numbers in force, and where each came from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from openxr_agentic import header_numbers
from openxr_agentic.doctor import installation, offer
from openxr_agentic.doctor.findings import Finding, hint, ok, problem
from openxr_agentic.doctor.header import PLACE
from openxr_agentic.errors import AgenticError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_INCLUDE_VARIABLE = "OPENXR_AGENTIC_INCLUDE_DIR"
_ORIGINS = {
    "header": "Meta's header, when this package was built",
    "assumed": "assumed",
    "environment": header_numbers.NUMBERS_VARIABLE,
    "override": "override_numbers()",
}


def check_numbers() -> Iterator[Finding]:
    """Show every number, and say which ones are assumed."""
    try:
        numbers = header_numbers.numbers_in_force()
    except ConfigurationError as error:
        yield problem(
            "numbers.invalid",
            str(error),
            "Every attempt to register a tool fails.",
            f"Correct {header_numbers.NUMBERS_VARIABLE}, or unset it.",
        )
        return
    except AgenticError as error:
        yield hint(
            "numbers.not-known",
            f"The numbers in force are not known: {error}",
            "Some of them come from the native part.",
            "See the installation above.",
        )
        return
    yield from _header()
    for name, number in numbers.items():
        yield ok("numbers.number", f"{name} = {number.value} ({_ORIGINS[number.origin]})")
    yield from _against_our_host(numbers)
    assumed = sum(number.origin == "assumed" for number in numbers.values())
    if assumed:
        yield hint(
            "numbers.assumed",
            f"{assumed} of {len(numbers)} numbers are assumed, since Meta has not published them.",
            "The hosts built with this package expect exactly these. Others may refuse them: registering a tool then "
            "fails with XR_ERROR_VALIDATION_FAILURE.",
            "With Meta's header: openxr-agentic doctor --header FILE. Without it, where a host refuses them: "
            "openxr-agentic doctor --discover",
        )


def _against_our_host(numbers: Mapping[str, header_numbers.Number]) -> Iterator[Finding]:
    """Say where the environment corrects numbers for a host that has no need of it."""
    expected = header_numbers.numbers_built_with()
    wrong = [
        f"{name} = {expected[name].value}, not {number.value}"
        for name, number in numbers.items()
        if number.origin == "environment" and number.value != expected[name].value
    ]
    if wrong and offer.is_ours():
        variable = header_numbers.NUMBERS_VARIABLE
        yield problem(
            "numbers.host-expects-others",
            f"The host here is this package's own, which expects {'; '.join(wrong)} ({variable}).",
            "It refuses tools with XR_ERROR_VALIDATION_FAILURE, or takes one type of parameter for another.",
            f"unset {variable}: it is for Meta's hosts.",
        )


def _header() -> Iterator[Finding]:
    from openxr_agentic._native import lib

    ours = bool(lib.OXA_HEADER_IS_OURS)
    yield ok("numbers.header", f"Built with {'this package' if ours else 'Meta'}'s own header of the extension.")
    given = os.environ.get(_INCLUDE_VARIABLE)
    if ours and given:
        folders = [entry for entry in given.split(os.pathsep) if entry]
        gone = [entry for entry in folders if not os.path.isdir(entry)]
        state = "is set"
        if gone:
            state = f"names {' and '.join(gone)}, which is no folder"
        elif not any(os.path.isfile(os.path.join(entry, PLACE)) for entry in folders):
            state = f"names {given}, which holds no header at {PLACE}"
        usable = state == "is set"
        correct = f"export {_INCLUDE_VARIABLE}=FOLDER, with the folder that holds {PLACE}; then: "
        yield hint(
            "numbers.include-dir",
            f"{_INCLUDE_VARIABLE} {state}, and the installed package was built without it.",
            "It has an effect only while the package is built.",
            f"{'' if usable else correct}{installation.how_to_reinstall('with the variable set')}",
        )


CHECKS = (check_numbers,)
