"""The doctor in states that a newcomer got into: what it says there must mend them."""

import ctypes.util
import json
import shlex
import subprocess

import doctor_harness
import pytest
from doctor_harness import findings, library, runtime_manifest

from openxr_agentic import loader
from openxr_agentic.cli.doctor import show_header
from openxr_agentic.doctor import installation, layers, numbers, offer, runtime, serving
from openxr_agentic.doctor.findings import Severity
from openxr_agentic.doctor.header import PLACE
from openxr_agentic.header_numbers import NAMES, PARAMETER_STRUCTURE, REGISTER_INFO_STRUCTURE, numbers_built_with
from openxr_agentic.mcp.transports import ports


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    return doctor_harness.isolate(monkeypatch, tmp_path)


# ---- no HOME


@pytest.fixture
def lost_home(monkeypatch, folder):
    """A user whose home only the password database knows, with a runtime and a layer in it; returns its path."""
    home = folder / "real home"
    runtime_manifest(home / ".config" / "openxr" / "1" / "active_runtime.json", library(folder / "libruntime.so"))
    monkeypatch.setattr("posixpath.expanduser", lambda path: str(path).replace("~", str(home)))
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name)
    return home


def test_without_home_no_runtime_and_no_layer_of_the_user_is_found_as_the_loader_finds_none(lost_home):
    assert not [path for path in loader.configured_runtimes() if lost_home in path.parents]
    assert not [path for path in layers.default_folders("explicit") if lost_home in path.parents]
    finding = findings(runtime.check_runtime)["runtime.none"]
    assert "HOME is not set" in finding.what
    assert f"export HOME={shlex.quote(str(lost_home))}" in finding.remedy
    assert "HOME is not set" in loader.no_runtime_text()


def test_with_home_it_is_not_named(lost_home, monkeypatch):
    monkeypatch.setenv("HOME", str(lost_home / "elsewhere"))
    finding = findings(runtime.check_runtime)["runtime.none"]
    assert "HOME" not in finding.what + finding.remedy + loader.no_runtime_text()
    monkeypatch.setenv("HOME", str(lost_home))
    assert findings(runtime.check_runtime)["runtime.active"].severity is Severity.OK


# ---- what an empty variable is


def test_a_variable_that_is_empty_is_not_said_to_be_unset(monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", "")
    monkeypatch.setenv("AGENTICXR_MCP_PORT", "")
    assert "XR_RUNTIME_JSON is empty" in findings(runtime.check_runtime)["runtime.none"].what
    assert "XR_RUNTIME_JSON is empty" in loader.no_runtime_text()
    assert "AGENTICXR_MCP_PORT is empty" in next(iter(serving.check_port())).what


# ---- the folder of a runtime in place of its manifest


def test_a_folder_with_one_runtimes_manifest_is_mended_by_naming_that(folder, monkeypatch):
    place = folder / "my runtime"
    manifest = runtime_manifest(place / "one.json", library(folder / "libone.so"))
    (place / "other.json").write_text('{"api_layer": {}}', encoding="utf-8")
    monkeypatch.setenv("XR_RUNTIME_JSON", str(place))
    finding = findings(runtime.check_runtime)["runtime.folder"]
    assert finding.remedy.startswith(f"export XR_RUNTIME_JSON={shlex.quote(str(manifest))} ")
    runtime_manifest(place / "two.json", library(folder / "libtwo.so"))
    assert "export" not in findings(runtime.check_runtime)["runtime.folder"].remedy


# ---- libraries that are no runtime's


def choose(monkeypatch, folder, library_path, **body):
    path = runtime_manifest(folder / "runtime.json", library_path, **body)
    monkeypatch.setenv("XR_RUNTIME_JSON", str(path))
    return path


def test_a_text_in_the_place_of_a_library_is_a_fault_of_the_manifest(folder, monkeypatch):
    (folder / "library.so").write_text("A text.\n", encoding="utf-8")
    path = choose(monkeypatch, folder, "./library.so")
    finding = findings(runtime.check_runtime)["runtime.no-library"]
    assert f"{folder / 'library.so'}, which is no shared library" in finding.what
    assert finding.remedy.startswith(f"Correct library_path in {path}")


def test_a_library_that_is_no_runtime_is_told_from_one_that_cannot_be_loaded(folder, monkeypatch):
    libm = ctypes.util.find_library("m")
    path = choose(monkeypatch, folder, libm)
    finding = findings(offer.check_offer)["offer.no-runtime"]
    assert f"{libm} is no OpenXR runtime: it has no function xrNegotiateLoaderRuntimeInterface" in finding.what
    assert finding.remedy.startswith(f"Correct library_path in {path}")
    choose(monkeypatch, folder, "libnothing-at-all.so")
    finding = findings(offer.check_offer)["offer.no-runtime"]
    assert "libnothing-at-all.so cannot be loaded: libnothing-at-all.so: cannot open shared object" in finding.what
    assert "Install what the library needs" in finding.remedy


def test_a_runtime_that_lacks_a_library_is_said_with_the_missing_ones_name(folder, monkeypatch):
    doctor_harness.compiled_runtime(folder, "int needed(void) { return 1; }")
    needed = folder / "libneeded.so"
    (folder / "libruntime.so").rename(needed)
    source = folder / "needing.c"
    source.write_text("int needed(void); int xrNegotiateLoaderRuntimeInterface(void) { return needed(); }\n")
    command = [doctor_harness.CC, "-shared", "-fPIC", source, f"-L{folder}", "-lneeded", "-o", folder / "libneeding.so"]
    subprocess.run(command, check=True)
    needed.unlink()
    choose(monkeypatch, folder, "./libneeding.so")
    assert "cannot be loaded: libneeded.so: " in findings(offer.check_offer)["offer.no-runtime"].what


def test_a_runtime_that_refuses_the_loader_is_neither(folder, monkeypatch):
    code = "int xrNegotiateLoaderRuntimeInterface(void *one, void *two) { return -1; }"
    monkeypatch.setenv("XR_RUNTIME_JSON", str(doctor_harness.compiled_runtime(folder, code)))
    finding = findings(offer.check_offer)["offer.no-runtime"]
    assert "cannot be loaded" not in finding.what
    assert "no function" not in finding.what
    assert "XR_LOADER_DEBUG=all" in finding.remedy
    # The name of the function is the manifest's to change.
    choose(monkeypatch, folder, folder / "libruntime.so", functions={"xrNegotiateLoaderRuntimeInterface": "other"})
    assert "it has no function other" in findings(offer.check_offer)["offer.no-runtime"].what


# ---- how this package is installed again


def installed_from(monkeypatch, origin):
    class Installed:
        def read_text(self, _name):
            return origin

    monkeypatch.setattr("importlib.metadata.distributions", lambda **_: [Installed()])


def test_what_the_build_variable_needs_is_said_with_a_command_that_works_from_here(folder, monkeypatch):
    installed_from(monkeypatch, json.dumps({"url": f"file://{folder}", "dir_info": {"editable": True}}))
    monkeypatch.setenv("OPENXR_AGENTIC_INCLUDE_DIR", str(folder))
    finding = findings(numbers.check_numbers)["numbers.include-dir"]
    assert f"holds no header at {PLACE}" in finding.what
    (folder / PLACE).parent.mkdir()
    (folder / PLACE).touch()
    finding = findings(numbers.check_numbers)["numbers.include-dir"]
    command = f"python -m pip install --force-reinstall --no-deps -e {folder}"
    assert finding.remedy == f"{command} (with the variable set)"
    monkeypatch.setenv("OPENXR_AGENTIC_INCLUDE_DIR", str(folder / "gone"))
    finding = findings(numbers.check_numbers)["numbers.include-dir"]
    assert f"names {folder / 'gone'}, which is no folder" in finding.what
    assert finding.remedy.startswith("export OPENXR_AGENTIC_INCLUDE_DIR=")


@pytest.mark.parametrize("origin", [None, "{", "[]", '{"url": "file:///gone", "dir_info": {"editable": true}}'])
def test_where_the_source_tree_is_not_known_its_command_is_said_for_there(monkeypatch, origin):
    installed_from(monkeypatch, origin)
    assert installation.how_to_reinstall().startswith("Install the package again from its sources")
    assert "--force-reinstall openxr-agentic" not in installation.how_to_reinstall()


# ---- hosts of another build


def test_what_is_said_of_our_hosts_is_true_of_those_of_this_build_only():
    why = findings(numbers.check_numbers)["numbers.assumed"].why
    assert "The hosts built with this package expect exactly these." in why


# ---- the port


def test_a_server_of_ours_on_the_default_port_is_named_where_the_variable_leads_past_it(monkeypatch):
    monkeypatch.setenv("AGENTICXR_MCP_PORT", "8721")
    assert "unset" not in findings(serving.check_port)["serving.port-changed"].remedy
    server = ports.PortHolder("openxr-agentic", 2**22 + 1)
    monkeypatch.setattr(ports, "port_holder", lambda port: server if port == ports.DEFAULT_PORT else None)
    finding = findings(serving.check_port)["serving.port-changed"]
    assert f"A server of this package runs on 8720: {server}" in finding.what
    assert finding.remedy.startswith("unset AGENTICXR_MCP_PORT")


def test_the_command_that_stops_a_ports_holder_is_said(monkeypatch):
    def taken(_port):
        raise ports.PortError("taken")

    monkeypatch.setattr(ports, "listen", taken)
    for name in ("python3", "openxr-agentic"):
        monkeypatch.setattr(ports, "port_holder", lambda _port, name=name: ports.PortHolder(name, 2**22 + 1))
        assert f"(kill {2**22 + 1})" in findings(serving.check_port)["serving.port-taken"].remedy


# ---- numbers of which only some were found


def told_of_header(folder, capsys, lines):
    path = folder / PLACE.name
    path.write_text("".join(f"#define {name} {value}\n" for name, value in lines.items()), encoding="utf-8")
    show_header(path)
    return capsys.readouterr().err


def test_half_of_a_family_that_differs_from_what_is_assumed_is_not_to_be_kept(folder, capsys):
    told = told_of_header(folder, capsys, {PARAMETER_STRUCTURE: 1000779000})
    assert "Keep the line above" not in told
    assert f"{REGISTER_INFO_STRUCTURE} was not found, and what is assumed for it, 1000990001, hardly belongs to" in told
    assert f"Look for {REGISTER_INFO_STRUCTURE} in Meta's header" in told
    assert "--discover" in told


def test_half_of_a_family_that_is_as_assumed_and_a_whole_one_that_is_not_are_to_be_kept(folder, capsys):
    assumed = {name: number.value for name, number in numbers_built_with().items()}
    types = [name for name in NAMES if "PARAMETER_TYPE" in name]
    told = told_of_header(
        folder,
        capsys,
        {PARAMETER_STRUCTURE: 1000779000, REGISTER_INFO_STRUCTURE: 1000779001, types[0]: assumed[types[0]]},
    )
    assert "Keep the line above" in told
    told = told_of_header(folder, capsys, {types[0]: 77})
    assert all(f"{name} was not found" in told for name in types[1:])


def test_a_size_is_no_cast_of_a_number(folder, capsys):
    told = told_of_header(folder, capsys, {"FOUR": 4, PARAMETER_STRUCTURE: "sizeof(FOUR)", NAMES[-1]: 1})
    assert f"{PARAMETER_STRUCTURE}: its value cannot be read" in told
