"""The mock runtime's door: negotiation, look-up of functions, handles, faults."""

from __future__ import annotations

import ctypes
import subprocess

import pytest
import xr
from runtime_helpers import (
    CORE_FUNCTIONS,
    EXTENSION,
    FUNCTIONS_OF_HANDLES,
    HEADLESS,
    REGISTER_FUNCTION,
    MockLibrary,
    core_list,
    create_info,
    library_path,
    loader_info,
    loader_instance,
    runtime_request,
)

from openxr_agentic.testing import MockRuntime

BEFORE_AN_INSTANCE = {"xrCreateInstance", "xrEnumerateApiLayerProperties", "xrEnumerateInstanceExtensionProperties"}
INVALID = {xr.Result.ERROR_HANDLE_INVALID, xr.Result.ERROR_VALIDATION_FAILURE}


@pytest.fixture(scope="module")
def library():
    return MockLibrary()


@pytest.fixture(autouse=True)
def _defaults(library):
    yield
    library.control.reset()


def zeros(function, *handles):
    """Arguments for a function: the handles given, then 0 and NULL."""
    types = type(function)._argtypes_
    return [*handles, *(argument() for argument in types[len(handles) :])]


# ---- what the library shows ----


def test_the_library_exports_two_functions_and_nothing_else():
    listing = subprocess.run(["nm", "-D", "--defined-only", library_path()], capture_output=True, text=True, check=True)
    exported = {line.split()[-1] for line in listing.stdout.splitlines()}
    assert exported == {"xrNegotiateLoaderRuntimeInterface", "oxaGetHostControl"}


@pytest.mark.parametrize(
    ("structure", "field", "value"),
    [
        ("info", "struct_type", 2),
        ("info", "struct_version", 2),
        ("info", "struct_size", 1),
        ("info", "min_interface_version", 2),
        ("info", "max_interface_version", 0),
        ("info", "min_api_version", xr.Version(1, 1, 0).number()),
        ("info", "max_api_version", xr.Version(0, 9, 0).number()),
        ("request", "struct_type", 1),
        ("request", "struct_version", 0),
        ("request", "struct_size", 4096),
    ],
)
def test_negotiation_refuses_a_structure_with_one_wrong_field(library, structure, field, value):
    structures = {"info": loader_info(), "request": runtime_request()}
    setattr(structures[structure], field, value)
    assert library.negotiate(**structures) == xr.Result.ERROR_INITIALIZATION_FAILED
    assert structures["request"].get_instance_proc_addr is None


def test_negotiation_refuses_null_pointers(library):
    assert library.negotiate(None, runtime_request()) == xr.Result.ERROR_INITIALIZATION_FAILED
    assert library.negotiate(loader_info(), None) == xr.Result.ERROR_INITIALIZATION_FAILED


# ---- look-up ----


@pytest.mark.parametrize("name", CORE_FUNCTIONS)
def test_every_core_function_is_found_on_an_instance(library, name):
    with library.instance() as instance:
        result, address = library.look_up(name, instance)
        assert result == xr.Result.SUCCESS
        assert address is not None


@pytest.mark.parametrize("name", [*CORE_FUNCTIONS, REGISTER_FUNCTION])
def test_without_an_instance_only_the_global_functions_are_found(library, name):
    result, address = library.look_up(name, None)
    if name in BEFORE_AN_INSTANCE:
        assert result == xr.Result.SUCCESS
        assert address is not None
    else:
        assert (result, address) == (xr.Result.ERROR_HANDLE_INVALID, None)


def test_an_unknown_function_is_unsupported_and_its_pointer_null(library):
    with library.instance() as instance:
        assert library.look_up("xrNoSuchThing", instance) == (xr.Result.ERROR_FUNCTION_UNSUPPORTED, None)


def test_the_extensions_function_is_found_only_where_the_extension_is_enabled(library):
    with library.instance(EXTENSION) as with_it, library.instance() as without_it:
        result, address = library.look_up(REGISTER_FUNCTION, with_it)
        assert result == xr.Result.SUCCESS
        assert address is not None
        assert library.look_up(REGISTER_FUNCTION, without_it) == (xr.Result.ERROR_FUNCTION_UNSUPPORTED, None)
        register = ctypes.CFUNCTYPE(ctypes.c_int32, xr.Instance, ctypes.c_void_p)(address)
        assert register(without_it, None) == xr.Result.ERROR_FUNCTION_UNSUPPORTED
    assert register(with_it, None) == xr.Result.ERROR_HANDLE_INVALID


# ---- handles and arguments ----


@pytest.mark.parametrize("name", CORE_FUNCTIONS)
def test_every_core_function_refuses_null_for_everything(library, name):
    with library.instance() as instance:
        function = library.function(name, instance)
        result = function(*zeros(function))
    if name == "xrEnumerateApiLayerProperties":
        assert result == xr.Result.ERROR_VALIDATION_FAILURE  # there is no count to write to
    assert result in INVALID


@pytest.mark.parametrize("number", [0x1234, 0xFFFFFFFFFFFFFFFF, 0x6F78000000000000], ids=hex)
@pytest.mark.parametrize(("name", "kind"), FUNCTIONS_OF_HANDLES)
def test_a_made_up_handle_is_invalid_and_not_dereferenced(library, name, kind, number):
    with library.instance() as instance:
        function = library.function(name, instance)
        handle = ctypes.cast(ctypes.c_void_p(number), getattr(xr, kind))
        assert function(*zeros(function, handle)) in INVALID


def test_a_destroyed_instance_is_invalid_everywhere(library):
    with library.instance() as instance:
        functions = {
            name: library.function(name, instance) for name, kind in FUNCTIONS_OF_HANDLES if kind == "Instance"
        }
    for name, function in functions.items():
        assert function(*zeros(function, instance)) in INVALID, name
    assert functions["xrDestroyInstance"](instance) == xr.Result.ERROR_HANDLE_INVALID
    assert library.look_up("xrPollEvent", instance) == (xr.Result.ERROR_HANDLE_INVALID, None)


def test_two_instances_live_side_by_side(library):
    with library.instance(HEADLESS) as first, library.instance(HEADLESS) as second:
        assert library.control.instances(None, 0) == 2
        to_path = library.function("xrStringToPath", first)
        to_string = library.function("xrPathToString", first)
        path = ctypes.c_uint64()
        assert to_path(first, b"/user/head", ctypes.byref(path)) == xr.Result.SUCCESS
        count = ctypes.c_uint32()
        assert to_string(first, path, 0, ctypes.byref(count), None) == xr.Result.SUCCESS
        assert to_string(second, path, 0, ctypes.byref(count), None) == xr.Result.ERROR_PATH_INVALID
    assert library.control.instances(None, 0) == 0


def test_destroying_an_instance_destroys_its_sessions_and_their_spaces(library):
    with library.instance(HEADLESS) as instance:
        session, space = xr.Session(), xr.Space()
        info = xr.SessionCreateInfo(system_id=1)
        assert library.function("xrCreateSession", instance)(instance, info, ctypes.byref(session)) == 0
        create_space = library.function("xrCreateReferenceSpace", instance)
        space_info = xr.ReferenceSpaceCreateInfo(xr.ReferenceSpaceType.STAGE, xr.Posef())
        assert create_space(session, space_info, ctypes.byref(space)) == 0
        destroy_session = library.function("xrDestroySession", instance)
        destroy_space = library.function("xrDestroySpace", instance)
    assert destroy_space(space) == xr.Result.ERROR_HANDLE_INVALID
    assert destroy_session(session) == xr.Result.ERROR_HANDLE_INVALID


# ---- instances ----


def test_the_loader_lists_both_extensions():
    with MockRuntime():
        names = {properties.extension_name.decode() for properties in xr.enumerate_instance_extension_properties()}
    assert {HEADLESS, EXTENSION} <= names


def test_an_extension_that_is_not_offered_is_not_present(library):
    library.control.set_option(b"offer_extension", 0)
    create = library.function("xrCreateInstance")
    instance = xr.Instance()
    for name in (EXTENSION, "XR_EXT_no_such_thing"):
        assert create(create_info(name), ctypes.byref(instance)) == xr.Result.ERROR_EXTENSION_NOT_PRESENT


@pytest.mark.parametrize(
    ("version", "result"),
    [
        ((1, 0, 34), xr.Result.SUCCESS),
        ((1, 1, 0), xr.Result.SUCCESS),
        ((1, 2, 0), xr.Result.ERROR_API_VERSION_UNSUPPORTED),
        ((2, 0, 0), xr.Result.ERROR_API_VERSION_UNSUPPORTED),
        ((0, 9, 0), xr.Result.ERROR_API_VERSION_UNSUPPORTED),
    ],
)
def test_the_api_version_that_an_app_asks_for_is_checked(library, version, result):
    instance = xr.Instance()
    info = create_info(version=version)
    assert library.function("xrCreateInstance")(info, ctypes.byref(instance)) == result
    if result == xr.Result.SUCCESS:
        library.function("xrDestroyInstance", instance)(instance)


def test_the_runtime_says_what_it_is():
    with loader_instance() as instance:
        assert xr.get_instance_properties(instance).runtime_name == b"openxr-agentic mock runtime"


def test_an_app_without_a_name_is_refused(library):
    create = library.function("xrCreateInstance")
    assert create(create_info(name=""), ctypes.byref(xr.Instance())) == xr.Result.ERROR_NAME_INVALID


def text_for(library, instance, function, value):
    buffer = ctypes.create_string_buffer(64)
    assert library.function(function, instance)(instance, value, buffer) == xr.Result.SUCCESS
    return buffer.value.decode()


def test_every_core_result_and_structure_type_has_its_name(library):
    with library.instance() as instance:
        for name, value in core_list("RESULTS"):
            assert text_for(library, instance, "xrResultToString", int(value)) == name
        for name, value in core_list("STRUCTURE_TYPES"):
            assert text_for(library, instance, "xrStructureTypeToString", int(value)) == name


@pytest.mark.parametrize(
    ("function", "value", "text"),
    [
        ("xrResultToString", -1000990001, "XR_UNKNOWN_FAILURE_-1000990001"),
        ("xrResultToString", 1000990001, "XR_UNKNOWN_SUCCESS_1000990001"),
        ("xrStructureTypeToString", 1000123456, "XR_UNKNOWN_STRUCTURE_TYPE_1000123456"),
    ],
)
def test_what_has_no_name_is_named_by_its_number(library, function, value, text):
    with library.instance() as instance:
        assert text_for(library, instance, function, value) == text


# ---- faults ----


@pytest.mark.parametrize("name", CORE_FUNCTIONS)
def test_a_fault_makes_the_next_calls_of_any_function_fail(library, name):
    with library.instance() as instance:
        function = library.function(name, instance)
        assert library.control.fail(name.encode(), xr.Result.ERROR_INSTANCE_LOST, 2, 0) == 0
        calls = library.control.function_calls(name.encode())
        results = [function(*zeros(function)) for _ in range(3)]
        assert results[:2] == [xr.Result.ERROR_INSTANCE_LOST] * 2
        assert results[2] in INVALID
        assert library.control.function_calls(name.encode()) == calls + 3


def test_a_look_up_fault_with_a_failure_leaves_the_pointer_alone(library):
    with library.instance() as instance:
        assert library.control.fail(b"xrPollEvent", xr.Result.ERROR_RUNTIME_FAILURE, 1, 1) == 0
        function = xr.PFN_xrVoidFunction()
        marker = ctypes.c_void_p.from_buffer(function)
        marker.value = 0x1234
        result = library.get_instance_proc_addr(instance, b"xrPollEvent", ctypes.byref(function))
        assert (result, marker.value) == (xr.Result.ERROR_RUNTIME_FAILURE, 0x1234)
        assert library.look_up("xrPollEvent", instance)[0] == xr.Result.SUCCESS


def test_a_look_up_fault_with_success_gives_a_null_pointer(library):
    with library.instance(EXTENSION) as instance:
        assert library.control.fail(REGISTER_FUNCTION.encode(), xr.Result.SUCCESS, 1, 1) == 0
        assert library.look_up(REGISTER_FUNCTION, instance) == (xr.Result.SUCCESS, None)
