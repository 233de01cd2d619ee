"""AgenticExtension: what the host sees of a registration, and every way in which one can fail."""

import ctypes

import pytest

import openxr_agentic as agentic
from openxr_agentic import DefinitionError, ParameterType, ToolParameter
from openxr_agentic.errors import XR_SUCCESS, result_name
from openxr_agentic.testing import MockCallError, MockRuntime

pytestmark = pytest.mark.fronts("mock", "layer", "real")

REGISTER = "xrAgenticRegisterExternalToolMETAX1"


def echo(arguments):
    return arguments


ALL_TYPES = (
    ToolParameter("text", "Some text: é 名", ParameterType.STRING, True),
    ToolParameter("number", "A number", ParameterType.NUMBER),
    ToolParameter("flag", "", ParameterType.BOOLEAN),
    ToolParameter("position", "Metres", ParameterType.ARRAY, True, item_type=ParameterType.NUMBER),
    ToolParameter("options", "Any", ParameterType.OBJECT, object_properties={"a": {"type": "string"}}),
)


def test_the_host_sees_every_field_of_a_registered_tool(extension, runtime):
    extension.register_tool("MyApp_All", "Takes all: é", ALL_TYPES, echo, main_thread=False)
    extension.register_tool("MyApp_None", "", None, echo)
    first, second = runtime.tools()
    assert (first.name, first.description, first.main_thread) == ("MyApp_All", "Takes all: é", False)
    assert first.parameters == ALL_TYPES
    assert (second.name, second.description, second.main_thread, second.parameters) == ("MyApp_None", "", True, ())
    assert extension.tool_names == ["MyApp_All", "MyApp_None"]


def test_texts_that_fill_their_fields_arrive_whole(extension, runtime):
    properties = {"type": "object", "description": "d" * (4095 - len('{"type":"object","description":""}'))}
    parameter = ToolParameter("p" * 63, "d" * 1023, ParameterType.OBJECT, object_properties=properties)
    extension.register_tool("t" * 63, "名" * 341, [parameter], echo)
    (tool,) = runtime.tools()
    assert (tool.name, tool.description, tool.parameters) == ("t" * 63, "名" * 341, (parameter,))
    assert len(tool.parameters[0].object_properties) == 4095


def test_arguments_and_result_pass_through_unchanged(extension, runtime):
    extension.register_tool("echo", "Echoes.", None, echo)
    for arguments in ('{"a": "é 名 \U0001f600"}', "{}", "not json", '{"n":9007199254740993}', "x" * 5_000_000):
        assert runtime.call("echo", arguments) == arguments
    assert runtime.call("echo") == "{}"


def test_a_tool_registers_with_just_an_instance_no_session_and_no_graphics(xr_instance, runtime):
    sessions = runtime.function_calls("xrCreateSession")
    with agentic.AgenticExtension(xr_instance) as extension:
        extension.register_tool("echo", "Echoes.", None, echo)
        assert runtime.call("echo", {"input": "hi"}) == '{"input": "hi"}'
    assert runtime.function_calls("xrCreateSession") == sessions


def test_a_raw_handle_and_anything_with_an_index_is_taken_for_an_instance(runtime, attach, instance):
    class Handle:
        def __index__(self):
            return instance

    for number, handle in enumerate((instance, Handle(), ctypes.c_void_p(instance))):
        attach(handle).register_tool(f"tool{number}", "", None, echo)
    assert len(runtime.tools()) == 3


@pytest.mark.parametrize("thing", ["handle", b"handle", 1.5, object(), True])
def test_what_is_no_instance_is_refused_with_its_type(runtime, attach, thing):
    with pytest.raises(agentic.InstanceError, match=f"not {type(thing).__name__}"):
        attach(thing)


@pytest.mark.parametrize("nothing", [None, 0, ctypes.c_void_p(None)])
def test_without_an_instance_there_is_no_native_call(runtime, nothing):
    before = runtime.function_calls(REGISTER), runtime.function_calls("xrGetInstanceProcAddr")
    with pytest.raises(agentic.InstanceError, match="needs an instance.*create it first"):
        agentic.AgenticExtension(nothing)
    assert (runtime.function_calls(REGISTER), runtime.function_calls("xrGetInstanceProcAddr")) == before


# ---- definitions


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("", "", None, echo), "a tool's name is empty"),
        (("n" * 64, "", None, echo), "a tool's name has 64 bytes of UTF-8; the limit is 63"),
        (("a\0b", "", None, echo), "a tool's name has a NUL"),
        (("n", "d\0", None, echo), "tool 'n': description has a NUL"),
        (("n", "d" * 1024, None, echo), "tool 'n': description has 1024 bytes"),
        (("n", "", ALL_TYPES[0], echo), "parameters must be a list of ToolParameter objects"),
        (("n", "", 5, echo), "parameters must be a list of ToolParameter objects, not 5"),
        (("n", "", ["text"], echo), "parameters must be ToolParameter objects, not 'text'"),
        (("n", "", [ALL_TYPES[0], ALL_TYPES[0]], echo), "two parameters named 'text'"),
        (("n", "", None, None), "callback must be callable"),
    ],
)
def test_a_definition_that_does_not_fit_is_refused_before_any_native_call(extension, runtime, arguments, problem):
    before = runtime.function_calls(REGISTER)
    with pytest.raises(DefinitionError, match=problem):
        extension.register_tool(*arguments)
    assert runtime.function_calls(REGISTER) == before


@pytest.mark.parametrize("sizing", [0, -1, 2**32, True, "exactly", None, 1.5])
def test_a_sizing_that_makes_no_sense_is_refused(extension, sizing):
    with pytest.raises(DefinitionError, match="sizing must be"):
        extension.register_tool("tool", "", None, echo, sizing=sizing)


def test_an_on_error_that_makes_no_sense_is_refused(extension):
    with pytest.raises(DefinitionError, match="on_error must be 'result' or 'xr'"):
        extension.register_tool("tool", "", None, echo, on_error="raise")


def test_a_description_is_cut_when_asked_for(extension, runtime):
    with pytest.warns(UserWarning, match="was cut from 1024 to 1022"):
        extension.register_tool("tool", "d" * 1022 + "é", None, echo, truncate=True)
    assert runtime.tools()[0].description == "d" * 1022


# ---- failing registrations


def test_before_a_success_a_validation_failure_names_both_causes(extension, runtime):
    runtime.fail(REGISTER, -1)
    with pytest.raises(agentic.RegistrationRefusedError, match="Either: A tool named 'tool'.*Or: .*numbers") as caught:
        extension.register_tool("tool", "", None, echo)
    assert (caught.value.result, caught.value.name) == (-1, "XR_ERROR_VALIDATION_FAILURE")


def test_after_a_success_a_validation_failure_means_that_the_name_is_taken(extension, runtime):
    extension.register_tool("one", "", None, echo)
    runtime.fail(REGISTER, -1)
    with pytest.raises(agentic.ToolNameTakenError, match="A tool named 'two' is registered .* already"):
        extension.register_tool("two", "", None, echo)


def test_a_name_that_is_taken_is_refused_and_the_first_tool_stays(extension, runtime):
    extension.register_tool("tool", "", None, lambda _arguments: "first")
    with pytest.raises(agentic.ToolNameTakenError):
        extension.register_tool("tool", "", None, lambda _arguments: "second")
    assert runtime.call("tool") == "first"


def test_corrected_numbers_that_may_be_wrong_are_named(extension, runtime, monkeypatch):
    monkeypatch.setenv("OPENXR_AGENTIC_NUMBERS", '{"XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_META": 1000123000}')
    with pytest.raises(agentic.RegistrationRefusedError, match=r"In force from .*: XR_TYPE_\w+_METAX1 = 1000123000\."):
        extension.register_tool("tool", "", [ALL_TYPES[0]], echo)


@pytest.mark.parametrize("result", [-2, -3, -4, -10, -13, -51, -1000123456])
def test_each_failing_result_is_shown_by_name_and_leaves_nothing_behind(extension, runtime, result):
    runtime.fail(REGISTER, result)
    with pytest.raises(agentic.ResultError, match=rf"{REGISTER} returned {result_name(result)} \({result}\)") as caught:
        extension.register_tool("tool", "", None, echo)
    assert caught.value.result == result
    assert extension.tool_names == []
    extension.register_tool("tool", "", None, echo)
    assert runtime.call("tool") == "{}"


def test_an_api_version_that_is_refused_comes_with_a_hint(extension, runtime):
    runtime.fail(REGISTER, -4)
    with pytest.raises(agentic.ResultError, match=r"XR_ERROR_API_VERSION_UNSUPPORTED.*api_version"):
        extension.register_tool("tool", "", None, echo)


@pytest.mark.parametrize("result", [-8, -9])
def test_a_host_that_says_not_enabled_is_answered_with_how_to_enable(extension, runtime, result):
    runtime.fail(REGISTER, result)
    with pytest.raises(agentic.ExtensionNotEnabledError, match="enable_extension") as caught:
        extension.register_tool("tool", "", None, echo)
    assert result_name(result) in str(caught.value)


def test_an_instance_without_the_extension_is_answered_with_how_to_enable(runtime, attach):
    handle = runtime.create_instance([])
    with pytest.raises(agentic.ExtensionNotEnabledError, match="without XR_METAX1_agentic_external_tool.*enable_ext"):
        attach(handle)
    runtime.destroy_instance(handle)


def test_a_runtime_that_does_not_offer_the_extension_is_named():
    with MockRuntime(extension=False) as runtime:
        handle = runtime.create_instance([])
        with pytest.raises(agentic.ExtensionNotAvailableError, match="openxr-agentic mock .*does not offer"):
            agentic.AgenticExtension(handle, get_instance_proc_addr=runtime.get_instance_proc_addr)
        runtime.destroy_instance(handle)


def test_a_function_that_is_null_is_an_error_of_its_own(runtime, attach, instance):
    runtime.fail(REGISTER, XR_SUCCESS, lookup=True)
    with pytest.raises(agentic.FunctionMissingError, match="returned NULL"):
        attach(instance)


def test_a_look_up_that_fails_without_writing_is_seen_as_absent(runtime, attach, instance):
    runtime.fail(REGISTER, -2, lookup=True)
    with pytest.raises(agentic.ResultError, match="XR_ERROR_RUNTIME_FAILURE"):
        attach(instance)
    attach(instance)


def test_an_instance_that_was_destroyed_is_refused(runtime, attach, instance):
    extension = attach(instance)
    runtime.destroy_instance(instance)
    with pytest.raises(agentic.InstanceError, match="XR_ERROR_HANDLE_INVALID"):
        extension.register_tool("tool", "", None, echo)
    with pytest.raises(agentic.InstanceError, match="is not a living XrInstance"):
        attach(instance)


def test_a_closed_extension_refuses_to_register(extension):
    extension.close()
    with pytest.raises(agentic.ClosedError, match="make another"):
        extension.register_tool("tool", "", None, echo)


@pytest.mark.fronts("mock")  # the loader, and so the layer, has one instance at a time
def test_the_function_is_fetched_for_each_instance_and_not_exported(runtime, attach):
    library = ctypes.CDLL(str(__import__("openxr_agentic.host").host.library_path()))
    assert not hasattr(library, REGISTER)
    handles = [runtime.create_instance() for _ in range(2)]
    for number, handle in enumerate(handles):
        attach(handle).register_tool(f"tool{number}", "", None, echo)
    assert [[tool.name for tool in runtime.tools(instance=handle)] for handle in handles] == [["tool0"], ["tool1"]]
    for handle in handles:
        runtime.destroy_instance(handle)


@pytest.mark.fronts("mock", "layer")  # a real runtime makes what handles it likes
def test_pointers_and_handles_beyond_32_bits_make_the_round_trip(runtime, attach):
    handle = runtime.create_instance()
    assert handle > 2**32
    attach(handle).register_tool("tool", "", None, echo)
    (tool,) = runtime.tools()
    assert tool.user_data > 2**32
    assert tool.callback > 2**32
    assert runtime.raw_call(tool, '{"a":1}', 100).written == b'{"a":1}\0'
    runtime.destroy_instance(handle)


def test_a_foreign_user_data_is_recognised_and_not_dereferenced(extension, runtime):
    extension.register_tool("tool", "", None, echo)
    (tool,) = runtime.tools()
    for user_data in (0, 1, tool.user_data + 1, tool.user_data + (1 << 32), 0xDEADBEEFDEADBEEF, 2**64 - 1):
        foreign = tool._replace(user_data=user_data)
        assert runtime.raw_call(foreign, capacity=100) == (-2, 0, None, False)


def test_a_call_of_an_unknown_tool_says_so(extension, runtime):
    with pytest.raises(MockCallError, match="unknown tool"):
        runtime.call("nothing")
