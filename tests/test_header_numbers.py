"""The extension's numbers: which are in force, where they come from, and how they are corrected."""

import json
import os

import pytest

import openxr_agentic as agentic
from openxr_agentic import ConfigurationError, override_numbers
from openxr_agentic.header_numbers import NAMES, NUMBERS_VARIABLE

PARAMETER = "XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1"
REGISTER_INFO = "XR_TYPE_AGENTIC_EXTERNAL_TOOL_REGISTER_INFO_METAX1"
STRING = "XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_STRING_METAX1"
NUMBER = "XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_NUMBER_METAX1"
BIT = "XR_AGENTIC_EXTERNAL_TOOL_CALLBACK_INFO_APPLICATION_MAIN_THREAD_BIT_METAX1"


@pytest.fixture(autouse=True)
def no_overrides(monkeypatch):
    monkeypatch.delenv(NUMBERS_VARIABLE, raising=False)
    yield
    override_numbers(None)


def test_every_number_of_our_own_header_says_that_it_is_assumed():
    numbers = agentic.numbers_in_force()
    assert set(numbers) == set(NAMES)
    assert {number.origin for number in numbers.values()} == {"assumed"}
    assert [numbers[name].value for name in (STRING, NUMBER, BIT)] == [0, 1, 1]


def test_an_override_is_stronger_than_the_environment_and_both_name_their_origin(monkeypatch):
    monkeypatch.setenv(NUMBERS_VARIABLE, json.dumps({PARAMETER: 1000123000, REGISTER_INFO: 1000123001}))
    override_numbers({REGISTER_INFO: 1000123009})
    numbers = agentic.numbers_in_force()
    assert numbers[PARAMETER] == (1000123000, "environment")
    assert numbers[REGISTER_INFO] == (1000123009, "override")
    assert numbers[BIT].origin == "assumed"


def test_the_environment_may_name_a_file(monkeypatch, tmp_path):
    file = tmp_path / "numbers é.json"
    file.write_text(json.dumps({BIT: 4}), encoding="utf-8")
    monkeypatch.setenv(NUMBERS_VARIABLE, str(file))
    assert agentic.numbers_in_force()[BIT] == (4, "environment")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_the_file_may_be_written_as_windows_writes_text(monkeypatch, tmp_path, encoding):
    file = tmp_path / "numbers.json"
    mark = "\ufeff" if encoding == "utf-16-be" else ""  # Python's other two write it themselves
    file.write_bytes((mark + json.dumps({BIT: 4})).encode(encoding))
    monkeypatch.setenv(NUMBERS_VARIABLE, str(file))
    assert agentic.numbers_in_force()[BIT] == (4, "environment")


def test_a_file_in_another_encoding_is_an_error_that_names_it(monkeypatch, tmp_path):
    file = tmp_path / "numbers.json"
    file.write_bytes(b"\xff\xfe{")  # half a character of UTF-16
    monkeypatch.setenv(NUMBERS_VARIABLE, str(file))
    with pytest.raises(ConfigurationError, match="numbers.json.*cannot be read: 'utf-16"):
        agentic.numbers_in_force()


def test_a_path_that_begins_with_a_tilde_is_expanded(monkeypatch, tmp_path):
    (tmp_path / "numbers.json").write_text(f'{{"{STRING}": 77}}', encoding="utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(NUMBERS_VARIABLE, "~/numbers.json")
    assert agentic.numbers_in_force()[STRING].value == 77


@pytest.mark.parametrize("text", ['{"NAME": 1}', '{"STRING": "NAME"}', '{"STRING": ["NAME"]}'])
def test_what_a_file_holds_is_shown_in_part(monkeypatch, tmp_path, text):
    path = tmp_path / "numbers.json"
    path.write_text(text.replace("STRING", STRING).replace("NAME", "n" * 500_000), encoding="utf-8")
    monkeypatch.setenv(NUMBERS_VARIABLE, str(path))
    with pytest.raises(agentic.ConfigurationError) as caught:
        agentic.numbers_in_force()
    assert "nnn" in str(caught.value)
    assert len(str(caught.value)) < 2000


def test_names_may_carry_the_suffix_meta():
    override_numbers({PARAMETER.replace("METAX1", "META"): 1000123000})
    assert agentic.numbers_in_force()[PARAMETER] == (1000123000, "override")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is not JSON"),
        ("/no/such/file", "cannot be read"),
        ('{"XR_SOMETHING": 1}', "unknown number 'XR_SOMETHING'"),
        (json.dumps({BIT: 0}), "from 1 to"),
        (json.dumps({PARAMETER: -5}), "from 0 to 2147483647, not -5"),
        (json.dumps({PARAMETER: "5"}), "must be a whole number"),
        (json.dumps({PARAMETER: True}), "must be a whole number"),
        (json.dumps({STRING: 1}), "cannot both be 1"),
        (
            json.dumps({PARAMETER.removesuffix("X1"): 5, PARAMETER: 6}),
            f"{PARAMETER} and {PARAMETER.removesuffix('X1')} are one number, and cannot be both 5 and 6",
        ),
    ],
)
def test_a_bad_environment_variable_is_an_error_that_names_it(monkeypatch, text, problem):
    monkeypatch.setenv(NUMBERS_VARIABLE, text)
    with pytest.raises(ConfigurationError, match=problem):
        agentic.numbers_in_force()


def test_both_suffixes_may_say_the_same(monkeypatch):
    monkeypatch.setenv(NUMBERS_VARIABLE, json.dumps({PARAMETER: 5, PARAMETER.removesuffix("X1"): 5}))
    assert agentic.numbers_in_force()[PARAMETER] == (5, "environment")


def test_a_bad_override_changes_nothing():
    with pytest.raises(ConfigurationError, match="unknown number"):
        override_numbers({PARAMETER: 1000123000, "nonsense": 1})
    with pytest.raises(ConfigurationError, match="cannot both be"):
        override_numbers({STRING: 7, NUMBER: 7})
    assert agentic.numbers_in_force()[PARAMETER].origin == "assumed"


def test_a_host_with_other_numbers_refuses_until_they_are_overridden(monkeypatch):
    secret = {PARAMETER: 1000777000, REGISTER_INFO: 1000777001, STRING: 10, NUMBER: 11, BIT: 8}
    from openxr_agentic.testing import MockRuntime

    with MockRuntime(numbers=secret) as runtime:
        instance = runtime.create_instance()
        with agentic.AgenticExtension(instance, get_instance_proc_addr=runtime.get_instance_proc_addr) as extension:
            parameter = agentic.ToolParameter("text", "Text.", agentic.ParameterType.STRING)
            with pytest.raises(agentic.RegistrationRefusedError, match="numbers"):
                extension.register_tool("echo", "Echoes.", [parameter], str)
            override_numbers(secret)
            extension.register_tool("echo", "Echoes.", [parameter], str)
            (tool,) = runtime.tools()
            assert tool.parameters == (parameter,)
            assert tool.main_thread
            assert runtime.call("echo", '{"text":"hi"}') == '{"text":"hi"}'
        runtime.destroy_instance(instance)


def test_a_numbers_file_that_is_no_file_or_too_long_is_an_error_and_not_waited_for(tmp_path, monkeypatch):
    pipe, long = tmp_path / "pipe", tmp_path / "long.json"
    os.mkfifo(pipe)
    long.write_bytes(b" " * (2**20 + 1))
    for file, reason in ((pipe, "it is not a file"), (long, "more than 1024 KiB")):
        monkeypatch.setenv("OPENXR_AGENTIC_NUMBERS", str(file))
        with pytest.raises(ConfigurationError, match=reason):
            agentic.numbers_in_force()
