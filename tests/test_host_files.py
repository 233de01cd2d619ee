"""Where the mock runtime is, its manifest, and the bindings of its control table."""

import ctypes
import json
import re
import runpy
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import openxr_agentic.host
from openxr_agentic.errors import NativeBuildMissingError, ResultError
from openxr_agentic.host import (
    LAYER_NAME,
    control,
    layer_library_path,
    layer_manifest_path,
    library_path,
    manifest_path,
)
from openxr_agentic.host.frames import (
    CallStatus,
    FrameError,
    FrameSplitter,
    FrameType,
    decode_result,
    encode,
    encode_call,
)
from openxr_agentic.host.manifests import layer_manifest, runtime_manifest

HEADER = Path(__file__).resolve().parent.parent / "native_headers" / "openxr_agentic" / "host_control.h"


def test_the_manifest_names_the_library_beside_it():
    manifest = json.loads(manifest_path().read_bytes().decode("utf-8"))
    library = manifest["runtime"]["library_path"]
    assert library == f"./{library_path().name}"
    assert (manifest_path().parent / library).samefile(library_path())
    assert manifest["file_format_version"] == "1.0.0"


def test_the_layers_manifest_names_its_library_and_what_it_provides():
    manifest = json.loads(layer_manifest_path().read_bytes().decode("utf-8"))
    layer = manifest["api_layer"]
    assert (layer_manifest_path().parent / layer["library_path"]).samefile(layer_library_path())
    assert layer["name"] == LAYER_NAME
    assert [extension["name"] for extension in layer["instance_extensions"]] == ["XR_METAX1_agentic_external_tool"]
    assert layer["disable_environment"]
    assert manifest["file_format_version"] == "1.0.0"


def test_the_layers_manifest_is_alone_in_its_folder():
    # The loader takes every JSON file in a folder of XR_API_LAYER_PATH for the manifest of a layer.
    assert [path.name for path in layer_manifest_path().parent.iterdir()] == [layer_manifest_path().name]


def test_the_layers_name_is_that_of_its_c_code():
    text = (Path(__file__).parents[1] / "openxr_agentic" / "host" / "layer.h").read_text(encoding="utf-8")
    assert f'#define OXA_LAYER_NAME "{LAYER_NAME}"' in text


def test_the_layers_manifest_has_the_functions_name_of_the_header_that_it_is_built_with():
    (extension,) = json.loads(layer_manifest("lib.so", suffix="META"))["api_layer"]["instance_extensions"]
    assert extension["name"] == "XR_METAX1_agentic_external_tool"  # documented: the suffix is that of the C names
    assert extension["entrypoints"] == ["xrAgenticRegisterExternalToolMETA"]


def test_the_build_can_make_the_manifest_without_the_package():
    module = runpy.run_path(str(Path(openxr_agentic.host.__file__).with_name("manifests.py")))
    text = module["runtime_manifest"]("libé.so")
    assert "./libé.so" in text
    assert not text.encode().startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize("name", ["", "folder/lib.so", "folder\\lib.dll"])
@pytest.mark.parametrize("make", [runtime_manifest, layer_manifest])
def test_a_manifest_takes_only_a_bare_file_name(make, name):
    with pytest.raises(ValueError, match="bare file name"):
        make(name)


@pytest.mark.parametrize("get", [library_path, manifest_path, layer_library_path, layer_manifest_path, control.load])
def test_a_missing_build_says_how_to_build(get, tmp_path, monkeypatch):
    monkeypatch.setattr(openxr_agentic.host, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(NativeBuildMissingError, match="pip install"):
        get()


def test_every_function_of_the_control_table_is_bound_in_order():
    table = HEADER.read_text(encoding="utf-8").partition("typedef struct OxaHostControl {")[2].partition("}")[0]
    names = re.findall(r"\(\*(\w+)\)", table)
    assert [name for name, _ in control._Table._fields_] == ["size", "version", *names]
    assert control.load()._table.size == ctypes.sizeof(control._Table)


def test_wrong_names_and_values_are_refused():
    host = control.load()
    with pytest.raises(ValueError, match="no option"):
        host.set_option("pump_budget_ns", -1)
    with pytest.raises(ValueError, match="no number"):
        host.set_number("XR_SOMETHING", 1)
    with pytest.raises(ValueError, match="no function"):
        host.fail("xrNoSuchFunction", -1)
    with pytest.raises(ValueError, match="no statistic"):
        host.statistic("calls", instance=12345)
    with pytest.raises(ResultError, match="HANDLE_INVALID"):
        host.call("tool", instance=12345)


# ---- frames


def test_frames_are_cut_out_of_a_stream_in_any_pieces():
    frames = [(1, 7, b""), (2, 8, b"x" * 300), (77, 0xFFFFFFFF, b"\0")]
    data = b"".join(encode(*frame) for frame in frames)
    for size in (1, 2, 9, 100, len(data)):
        splitter = FrameSplitter()
        pieces = [data[i : i + size] for i in range(0, len(data), size)]
        assert [frame for piece in pieces for frame in splitter.feed(piece)] == frames


@pytest.mark.parametrize("head", [b"\4\0\0\0\1\0\0\0\0", b"\xff\xff\xff\xff\1\0\0\0\0"])
def test_a_length_that_no_frame_has_is_refused(head):
    with pytest.raises(FrameError, match="claims"):
        FrameSplitter().feed(head)


@pytest.mark.parametrize(("tool", "arguments"), [("a\0b", "{}"), ("a", "\0"), ("a", "\ud800"), ("\udfff", "{}")])
def test_a_text_that_c_cannot_hold_is_refused_before_it_is_sent(tool, arguments):
    with pytest.raises(FrameError, match="tool's name or arguments"):
        encode_call(1, tool, arguments, None)


@pytest.mark.parametrize(
    ("timeout", "milliseconds"), [(None, 0), (0.0, 1), (0.0001, 1), (1.5, 1500), (1e9, 0xFFFFFFFF)]
)
def test_a_time_limit_is_sent_in_whole_milliseconds(timeout, milliseconds):
    frame = encode_call(1, "tool", "{}", timeout)
    assert int.from_bytes(frame[9:13], "little") == milliseconds


def test_a_frame_that_is_too_long_is_not_sent():
    with pytest.raises(FrameError, match="too long"):
        encode(FrameType.CALL, 1, bytes(80 * 1024 * 1024))


def test_a_result_is_read_whole():
    times = struct.pack("<QQ", 2_000_000_000, 500_000_000)
    for flags, error in ((b"\x00", False), (b"\x01", True), (b"\xfe", False)):
        result = decode_result(b"\x01\xfe\xff\xff\xff" + flags + times + b"\2\0\0\0\xc3\xa9")
        assert result == (CallStatus.FAILED, -2, "é", 2.0, 0.5, error)


@pytest.mark.parametrize(
    "payload",
    [b"", bytes(25), bytes(22) + b"\1\0\0\0", bytes(26) + b"x", b"\x63" + bytes(25), bytes(22) + b"\1\0\0\0\xff"],
    ids=["empty", "short", "text missing", "text too long", "unknown status", "not UTF-8"],
)
def test_a_result_that_is_none_is_refused(payload):
    with pytest.raises(FrameError):
        decode_result(payload)


def test_the_control_table_is_bound_without_an_event_loop():
    program = "import sys, openxr_agentic.host.control; sys.exit('asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
