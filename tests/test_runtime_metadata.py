"""The function that our host answers beyond the extension: look-up, metadata, marks."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest
import xr
from runtime_helpers import EXTENSION, HEADLESS, MockLibrary, core_list, loader_instance

from openxr_agentic.testing import CallOutcome, MockRuntime, MockRuntimeError

HEADER = Path(__file__).resolve().parent.parent / "native_headers" / "openxr_agentic" / "metadata.h"
FUNCTION = "oxaGetToolMetadataInterface"
UNSUPPORTED = xr.Result.ERROR_FUNCTION_UNSUPPORTED
VERSION = 1


class Interface(ctypes.Structure):
    """OxaToolMetadataInterface."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("version", ctypes.c_uint32),
        ("set", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)),
        ("mark_error", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)),
    ]


GetInterface = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(ctypes.POINTER(Interface))
)


@pytest.fixture(scope="module")
def library():
    return MockLibrary()


@pytest.fixture(autouse=True)
def _defaults(library):
    yield
    library.control.reset()


def number(handle):
    """A handle of xr's as a number."""
    return ctypes.cast(handle, ctypes.c_void_p).value


def ask(address, instance, version=VERSION):
    """The result, and the interface or None, of the function at an address."""
    interface = ctypes.POINTER(Interface)()
    result = GetInterface(address)(instance, version, ctypes.byref(interface))
    return xr.Result(result), interface.contents if interface else None


# ---- look-up


def test_the_header_says_what_these_tests_ask_for():
    text = HEADER.read_text()
    assert f'"{FUNCTION}"' in text
    assert re.search(rf"OXA_METADATA_VERSION {VERSION}\b", text)


def test_it_is_found_only_on_an_instance_that_enabled_the_extension(library):
    with library.instance(EXTENSION) as with_it, library.instance(HEADLESS) as without_it:
        result, address = library.look_up(FUNCTION, with_it)
        assert result == xr.Result.SUCCESS
        assert ask(address, number(with_it))[0] == xr.Result.SUCCESS
        assert library.look_up(FUNCTION, without_it) == (UNSUPPORTED, None)
        assert ask(address, number(without_it)) == (UNSUPPORTED, None)
    assert library.look_up(FUNCTION, None) == (xr.Result.ERROR_HANDLE_INVALID, None)
    assert ask(address, number(with_it)) == (xr.Result.ERROR_HANDLE_INVALID, None)
    assert ask(address, None) == (xr.Result.ERROR_HANDLE_INVALID, None)


def test_it_is_neither_listed_as_an_extension_nor_a_core_function(library):
    count = ctypes.c_uint32()
    enumerate_extensions = library.function("xrEnumerateInstanceExtensionProperties")
    assert enumerate_extensions(None, 0, ctypes.byref(count), None) == xr.Result.SUCCESS
    assert count.value == len({HEADLESS, EXTENSION})
    with MockRuntime():
        names = {properties.extension_name.decode() for properties in xr.enumerate_instance_extension_properties()}
    assert not [name for name in names if name.startswith("oxa") or "etadata" in name]
    assert FUNCTION not in dict(core_list("FUNCTIONS"))


def test_the_khronos_loader_passes_the_question_on():
    for extensions, expected in (((EXTENSION,), xr.Result.SUCCESS), ((), UNSUPPORTED)):
        with loader_instance(*extensions) as instance:
            function = xr.PFN_xrVoidFunction()
            look_up = xr.raw_functions.xrGetInstanceProcAddr
            assert look_up(instance, FUNCTION.encode(), ctypes.byref(function)) == expected
            assert bool(function) == (expected == xr.Result.SUCCESS)


def test_a_version_that_is_not_spoken_and_a_missing_pointer_are_refused(library):
    with library.instance(EXTENSION) as instance:
        _, address = library.look_up(FUNCTION, instance)
        _, interface = ask(address, number(instance))
        assert (interface.version, interface.size) == (VERSION, ctypes.sizeof(Interface))
        assert ask(address, number(instance), 99) == (xr.Result.ERROR_API_VERSION_UNSUPPORTED, None)
        assert GetInterface(address)(number(instance), VERSION, None) == xr.Result.ERROR_VALIDATION_FAILURE


def test_faults_strike_its_look_up_and_its_calls(library):
    with library.instance(EXTENSION) as instance:
        name = FUNCTION.encode()
        assert library.control.fail(name, UNSUPPORTED, 1, 1) == 0
        assert library.look_up(FUNCTION, instance) == (UNSUPPORTED, None)
        assert library.control.fail(name, xr.Result.SUCCESS, 1, 1) == 0
        assert library.look_up(FUNCTION, instance) == (xr.Result.SUCCESS, None)
        _, address = library.look_up(FUNCTION, instance)
        assert library.control.fail(name, xr.Result.ERROR_RUNTIME_FAILURE, 1, 0) == 0
        calls = library.control.function_calls(name)
        assert ask(address, number(instance)) == (xr.Result.ERROR_RUNTIME_FAILURE, None)
        assert ask(address, number(instance))[0] == xr.Result.SUCCESS
        assert library.control.function_calls(name) == calls + 2


# ---- what a test sees of it


@pytest.fixture
def interface(runtime, instance):
    look_up = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p))(
        runtime.get_instance_proc_addr
    )
    address = ctypes.c_void_p()
    assert look_up(instance, FUNCTION.encode(), ctypes.byref(address)) == 0
    return ask(address.value, instance)[1]


@pytest.mark.fronts("mock", "layer", "real")
def test_the_mock_runtime_gives_metadata_parsed(runtime, instance, extension, interface):
    extension.register_tool("plain", "", None, str)
    extension.register_tool("told", "", None, str)
    assert interface.set(instance, b"told", '{"title": "Écho", "enabled": false}'.encode()) == 0
    assert runtime.tool("plain").metadata is None
    assert runtime.tool("told").metadata == {"title": "Écho", "enabled": False}
    assert interface.set(instance, b"told", None) == 0
    assert runtime.tool("told").metadata is None


@pytest.mark.parametrize("metadata", [b"{oops", b"[1]", b"[" * 60_000])
def test_metadata_that_is_no_json_object_is_an_error_in_a_test(runtime, instance, extension, interface, metadata):
    extension.register_tool("told", "", None, str)
    assert interface.set(instance, b"told", metadata) == 0
    with pytest.raises(MockRuntimeError, match="metadata of tool 'told' is no JSON"):
        runtime.tools()


@pytest.mark.fronts("mock", "layer", "real")
def test_a_call_tells_whether_its_result_was_marked_as_an_error(runtime, instance, extension, interface):
    def tool(arguments):
        if "mark" in arguments:
            assert interface.mark_error(instance) == 0
        return arguments

    extension.register_tool("tool", "", None, tool)
    for thread in (None, "a native thread"):
        assert runtime.call_result("tool", '{"mark": 1}', thread=thread) == CallOutcome('{"mark": 1}', error=True)
        assert runtime.call_result("tool", {"a": 1}, thread=thread) == CallOutcome('{"a": 1}', error=False)
    assert runtime.call("tool", '{"mark": 1}') == '{"mark": 1}'
    assert interface.mark_error(instance) == xr.Result.ERROR_CALL_ORDER_INVALID
