"""Docstrings: the first paragraph, and the descriptions of parameters in three forms."""

import pytest

from openxr_agentic.schema.docstring import read_docstring

GOOGLE = """Move an object.

    It moves at once.

    Args:
        name (str): Which object: its name.
        position (list[float], optional): Where to, in metres,
            as [x, y, z].
        **rest: Everything else.
        not an entry

    Returns:
        bool: whether it moved.
    """
NUMPY = """
    Move an object.

    Parameters
    ----------
    name : str
        Which object: its name.
    x, y : float, optional
        Where to.

    Returns
    -------
    moved : bool
        Whether it moved.
    """
REST = """Move an object.

    :param name: Which object:
        its name.
    :param float x: Where to.
    :type x: float
    :returns: whether it moved
    """


def test_the_first_paragraph_is_the_summary_in_one_line():
    assert read_docstring("Move an object\n    to a place.\n\n    More.").summary == "Move an object to a place."


def test_a_docstring_of_one_line_is_its_summary():
    assert read_docstring("  Move: it. ") == ("Move: it.", {})


@pytest.mark.parametrize("text", [None, "", "\n   \n"])
def test_an_empty_docstring_says_nothing(text):
    assert read_docstring(text) == ("", {})


def test_google_sections_describe_parameters_over_several_lines():
    assert read_docstring(GOOGLE).parameters == {
        "name": "Which object: its name.",
        "position": "Where to, in metres, as [x, y, z].",
        "rest": "Everything else. not an entry",
    }


def test_what_a_function_returns_is_no_parameter():
    assert "bool" not in read_docstring(GOOGLE).parameters
    assert "moved" not in read_docstring(NUMPY).parameters


def test_numpy_sections_describe_parameters_and_several_at_once():
    found = read_docstring(NUMPY)
    assert found.summary == "Move an object."
    assert found.parameters == {"name": "Which object: its name.", "x": "Where to.", "y": "Where to."}


def test_restructured_text_fields_describe_parameters():
    found = read_docstring(REST)
    assert found.summary == "Move an object."
    assert found.parameters == {"name": "Which object: its name.", "x": "Where to."}


@pytest.mark.parametrize(
    "heading", ["Args:\n        x: a", "Parameters\n    ----------\n    x\n        a", ":param x: a"]
)
def test_a_docstring_that_begins_with_its_parameters_has_no_summary(heading):
    found = read_docstring(f"\n    {heading}\n")
    assert (found.summary, found.parameters) == ("", {"x": "a"})


@pytest.mark.parametrize(
    "text", ["Args:", "Args:\n", "Parameters\n---", ":param", ":param x", "A: b\n c: d", "Note:\n    x: y\n"]
)
def test_text_in_no_known_form_is_just_text(text):
    assert read_docstring(text).parameters == {}
