"""The doctor: each thing that goes wrong between an app and an agent has a finding of its own."""

import asyncio
import json
import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import doctor_harness
import pytest
from doctor_harness import EXTENSION, all_of, findings, layer_manifest, library, runtime_manifest

from openxr_agentic import architecture, doctor, host, loader, plain_files
from openxr_agentic.doctor import (
    enabled_layers,
    environment,
    installation,
    layer_path,
    layers,
    manifests,
    numbers,
    offer,
    openxr_loader,
    repeated_layers,
    runtime,
    serving,
    trial_host,
)
from openxr_agentic.doctor.discovery import DiscoveryError
from openxr_agentic.doctor.findings import Finding, Severity, ok, run
from openxr_agentic.mcp.transports import ports

MOCK_COMMAND = "openxr-agentic run -- python app.py"


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    return doctor_harness.isolate(monkeypatch, tmp_path)


def problem_of(*checks):
    """The only problem that checks find."""
    found = [finding for finding in all_of(*checks) if finding.severity is Severity.PROBLEM]
    assert len(found) == 1, found
    return found[0]


# ---- findings


def test_a_check_that_fails_itself_becomes_a_finding_and_what_it_found_before_is_kept():
    def check():
        yield ok("runtime.active", "one")
        raise KeyError("broken")

    first, last = run(check, "runtime")
    assert first.what == "one"
    assert last.id.endswith(".check-failed")
    assert last.severity is Severity.WARNING
    assert "'check' could not be made: KeyError: 'broken'" in last.what


def test_long_texts_of_others_are_shortened_and_what_we_say_of_them_is_kept():
    def check():
        yield ok("runtime.active", f"The name {'n' * 10**6} is long.")
        yield ok("runtime.active", f"The name {'n ' * 10**6} is long.")
        raise KeyError("k" * 10**6)

    name, words, failure = run(check, "runtime")
    assert name.what == f"The name {'n' * 200}… is long."
    assert len(words.what) < 5000
    assert words.what.startswith("The name n n")
    assert words.what.endswith("n  is long.")
    assert "KeyError" in failure.what
    assert len(failure.what) < 500


def test_paths_and_lists_that_a_system_can_have_are_never_cut():
    path = "/".join(["", *["p" * 255] * 4])
    (finding,) = run(lambda: iter([ok("runtime.active", f"export X={path}:{path} Y=1")]), "runtime")
    assert finding.what == f"export X={path}:{path} Y=1"


def test_a_finding_as_json_has_its_section():
    finding = Finding("runtime.missing", Severity.PROBLEM, "what", "why", "remedy")
    assert finding.as_json() == {
        "id": "runtime.missing",
        "section": "runtime",
        "severity": "problem",
        "what": "what",
        "why": "why",
        "remedy": "remedy",
    }


def test_on_the_mock_runtime_an_examination_finds_no_problem(monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", str(host.manifest_path()))
    found = list(doctor.examine())
    assert [finding for finding in found if finding.severity is Severity.PROBLEM] == []
    sections = list(dict.fromkeys(finding.section for finding in found))
    assert sections == [
        "installation",
        "environment",
        "loader",
        "runtime",
        "layers",
        "offer",
        "numbers",
        "serving",
    ]
    assert not [finding for finding in found if finding.id.endswith("check-failed")]


def test_with_half_of_things_broken_every_check_still_finds_something(monkeypatch, folder):
    program = (
        "import sys\n"
        "for name in ('openxr_agentic._native._binding', 'mcp', 'uvicorn', 'xr'):\n"
        "    sys.modules[name] = None\n"
        "from openxr_agentic import doctor\n"
        "for finding in doctor.examine(): print(finding.severity.value, finding.id)\n"
    )
    monkeypatch.setenv("XR_RUNTIME_JSON", str(folder))
    monkeypatch.setenv("XR_API_LAYER_PATH", "\x01")
    monkeypatch.setenv("OPENXR_AGENTIC_NUMBERS", "[")
    monkeypatch.setenv("AGENTICXR_MCP_PORT", "abc")
    monkeypatch.setenv("PYTHONPATH", str(doctor_harness.ROOT))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    found = done.stdout.splitlines()
    for line in (
        "problem installation.native-binding",
        "problem runtime.folder",
        "problem installation.pyopenxr-missing",
        "warning layers.path-missing",
        "problem offer.no-runtime",
        "problem serving.port-invalid",
    ):
        assert line in found, done.stdout
    assert "check-failed" not in done.stdout


# ---- installation


def test_python_package_and_native_build_are_shown():
    found = findings(installation.check_python, installation.check_package)
    assert found["installation.python"].severity is Severity.OK
    assert architecture.of_this_python() in found["installation.python"].what
    assert "abi3" in found["installation.native-binding"].what
    assert "(stable ABI)" in found["installation.native-binding"].what


@pytest.mark.parametrize(
    ("target", "value", "identifier"),
    [
        ("sys.maxsize", 2**31 - 1, "installation.python-32-bit"),
        ("sys.version_info", (3, 9, 18), "installation.python-version"),
        ("sysconfig.get_config_var", lambda _name: 1, "installation.python-free-threaded"),
    ],
)
def test_a_python_that_the_native_part_does_not_run_in_is_a_problem(monkeypatch, target, value, identifier):
    monkeypatch.setattr(target, value)
    (finding,) = list(installation.check_python())
    assert (finding.id, finding.severity) == (identifier, Severity.PROBLEM)


def test_native_libraries_that_are_not_built_are_three_problems(monkeypatch):
    monkeypatch.delitem(sys.modules, "openxr_agentic._native")
    monkeypatch.setitem(sys.modules, "openxr_agentic._native._binding", None)
    monkeypatch.setattr(host, "_SUFFIX", ".missing")
    found = findings(installation.check_package)
    assert found["installation.native-binding"].severity is Severity.PROBLEM
    assert "cannot be imported" in found["installation.native-binding"].what
    assert found["installation.mock-runtime"].severity is Severity.PROBLEM
    assert found["installation.api-layer"].severity is Severity.PROBLEM


def test_another_installed_version_than_the_imported_one_is_a_warning(monkeypatch):
    monkeypatch.setattr(installation, "_version", lambda _name: "0.0.1")
    assert "0.0.1 is installed" in findings(installation.check_package)["installation.two-versions"].what


def fake_xr(folder, text, monkeypatch):
    (folder / "packages" / "xr").mkdir(parents=True)
    (folder / "packages" / "xr" / "__init__.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(folder / "packages")
    monkeypatch.delitem(sys.modules, "xr", raising=False)


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ("AttributeError: 'NoneType' object has no attribute 'glXGetCurrentContext' (OpenGL.raw.GLX)", "libglx0"),
        ("OSError: /lib/libc.so.6: version `GLIBC_2.99' not found", "built for a newer system"),
        ("ImportError: no such thing", "--force-reinstall pyopenxr"),
    ],
)
def test_an_xr_that_cannot_be_imported_is_quoted_with_what_to_install(folder, monkeypatch, error, remedy):
    kind, _, text = error.partition(": ")
    fake_xr(folder, f"raise {kind}({text!r})", monkeypatch)
    finding = problem_of(installation.check_pyopenxr)
    assert finding.id == "installation.pyopenxr-import"
    assert error in finding.what
    assert remedy in finding.remedy


def test_an_xr_that_takes_its_process_down_does_not_take_the_doctor_down(folder, monkeypatch):
    fake_xr(folder, "import os; os.abort()", monkeypatch)
    assert problem_of(installation.check_pyopenxr).id == "installation.pyopenxr-import"


def test_extras_that_are_missing_are_hints_with_the_command(monkeypatch):
    monkeypatch.setattr(installation, "is_installed", lambda name: name not in ("mcp", "click"))
    found = findings(installation.check_extras)
    assert found["installation.extra-mcp"].what == "mcp is not installed."
    assert found["installation.extra-mcp"].remedy == "python -m pip install 'openxr-agentic[mcp]'"
    assert found["installation.extra-cli"].severity is Severity.HINT


# ---- environment


def test_variables_in_force_are_shown_without_secrets(monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", "/some/runtime.json")
    monkeypatch.setenv("OPENXR_AGENTIC_TOKEN", "swordfish")
    shown = [finding.what for finding in environment.check_variables()]
    assert "XR_RUNTIME_JSON=/some/runtime.json" in shown
    assert not [text for text in shown if "swordfish" in text]
    assert "OPENXR_AGENTIC_TOKEN=(set; not shown)" in shown


def test_an_elevated_process_is_told_which_variables_the_loader_ignores(monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("XR_RUNTIME_JSON", "/some/runtime.json")
    (finding,) = all_of(environment.check_elevation)
    assert (finding.id, finding.severity) == ("environment.elevated", Severity.WARNING)
    assert "ignores XR_RUNTIME_JSON" in finding.what
    assert "rights of user 0, and was started by user 1000" in finding.what
    assert environment.loader_variable("XR_RUNTIME_JSON") == ""
    assert runtime.chosen().path is None


def test_rights_that_the_kernel_gave_at_the_start_count_as_elevated(monkeypatch):
    monkeypatch.setattr(environment, "_started_secure", lambda: True)
    assert "file capabilities" in environment.elevated()


def test_root_alone_is_a_hint_since_the_loader_heeds_its_variables(monkeypatch):
    for name in ("getuid", "geteuid"):
        monkeypatch.setattr(os, name, lambda: 0)
    monkeypatch.setenv("XR_RUNTIME_JSON", "/some/runtime.json")
    (finding,) = list(environment.check_elevation())
    assert (finding.id, finding.severity) == ("environment.root", Severity.HINT)
    assert environment.loader_variable("XR_RUNTIME_JSON") == "/some/runtime.json"


# ---- loader


def test_the_loader_is_shown_with_its_processor_and_origin():
    found = findings(openxr_loader.check_loader)["loader.file"]
    assert found.severity is Severity.OK
    assert f"(pyopenxr's own, for {architecture.of_this_python()})" in found.what


def test_a_loader_of_the_system_is_a_hint(monkeypatch, folder):
    path = library(folder / "libopenxr_loader.so.1")
    monkeypatch.setattr(loader, "_loaded", loader.Loader(str(path), None, 1))
    finding = findings(openxr_loader.check_loader)["loader.file"]
    assert finding.severity is Severity.HINT
    assert "the system's" in finding.what


def test_a_missing_loader_is_a_problem_with_what_was_tried(monkeypatch):
    monkeypatch.setattr(loader, "_loaded", None)
    monkeypatch.setattr(loader, "_candidates", lambda: [("", "pyopenxr: not here")])
    finding = problem_of(openxr_loader.check_loader)
    assert finding.id == "loader.none"
    assert "pyopenxr: not here" in finding.what


# ---- the active runtime


def test_without_a_runtime_the_doctor_names_the_variable_the_places_and_the_mock_command(folder):
    finding = problem_of(runtime.check_runtime)
    assert finding.id == "runtime.none"
    assert "XR_RUNTIME_JSON is not set" in finding.what
    assert str(folder / "xdg_config_home" / "openxr" / "1" / "active_runtime.json") in finding.what
    assert MOCK_COMMAND in finding.remedy


def broken_manifest(folder, kind):
    path = folder / "runtime.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "not-json":
        path.write_text('{"runtime": ', encoding="utf-8")
    elif kind == "missing-library":
        runtime_manifest(path, "./libmissing.so")
    return path


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("missing", "does not exist"),
        ("folder", "is a folder, not a file"),
        ("not-json", "is not JSON: Expecting value: line 1"),
        ("missing-library", 'names the library "./libmissing.so", and'),
    ],
)
def test_four_kinds_of_broken_runtime_manifests_are_four_different_findings(folder, monkeypatch, kind, text):
    path = broken_manifest(folder, kind)
    monkeypatch.setenv("XR_RUNTIME_JSON", str(path))
    finding = problem_of(runtime.check_runtime)
    assert finding.id == f"runtime.{kind}"
    assert str(path) in finding.what
    assert "chosen by XR_RUNTIME_JSON" in finding.what
    assert text in finding.what
    assert MOCK_COMMAND in finding.remedy
    assert "unset XR_RUNTIME_JSON" not in finding.remedy  # it would mend nothing
    system = runtime_manifest(folder / "xdg_config_home" / "openxr" / "1" / "active_runtime.json", "libsystem.so")
    (finding,) = list(runtime.check_runtime())
    assert f"unset XR_RUNTIME_JSON, and the runtime is the system's ({system})" in finding.remedy


def test_a_pipe_in_the_place_of_a_manifest_or_library_is_not_waited_for(folder, monkeypatch):
    os.mkfifo(folder / "pipe")
    monkeypatch.setenv("XR_RUNTIME_JSON", str(folder / "pipe"))
    assert problem_of(runtime.check_runtime).id == "runtime.unreadable"
    monkeypatch.setenv("XR_RUNTIME_JSON", str(runtime_manifest(folder / "runtime.json", "./pipe")))
    assert "pipe is not a file" in problem_of(runtime.check_runtime).what


def huge(path):
    """A file of 5 GB that takes no place on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.truncate(path, 5 * 2**30)
    return path


def test_a_manifest_of_gigabytes_is_not_read(folder, monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", str(huge(folder / "runtime.json")))
    finding = problem_of(runtime.check_runtime)
    assert finding.id == "runtime.too-large"
    assert "has more than 1 MiB, and no manifest is that long" in finding.what
    assert "Name the runtime's own JSON file in its place." in finding.remedy


def test_a_file_of_the_systems_that_would_be_waited_for_is_not(folder, monkeypatch):
    def nothing_yet(path, flags):
        assert flags & os.O_NONBLOCK
        reading, writing = os.pipe2(os.O_NONBLOCK)
        monkeypatch.setattr(nothing_yet, "writing", writing, raising=False)
        return reading

    path = runtime_manifest(folder / "runtime.json", "libruntime.so")
    monkeypatch.setattr(plain_files.os, "open", nothing_yet)  # as /proc/kmsg, which only root may open
    fault = manifests.read(path, "runtime").fault
    os.close(nothing_yet.writing)
    assert (fault.kind, fault.harmful) == ("unreadable", True)


def test_a_runtime_named_with_a_tilde_is_told_that_the_loader_does_not_expand_it(folder, monkeypatch):
    home = folder / "home"
    runtime_manifest(home / "runtime.json", "libruntime.so")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XR_RUNTIME_JSON", "~/runtime.json")
    monkeypatch.setenv("XR_API_LAYER_PATH", "~/layers")
    finding = findings(runtime.check_choice)["runtime.relative"]
    assert "OpenXR's loader does not expand" in finding.what
    assert finding.remedy == f"export XR_RUNTIME_JSON={home}/runtime.json"
    assert "OpenXR's loader does not expand" in findings(layer_path.check_entries)["layers.path-missing"].what


@pytest.mark.parametrize(
    ("root", "text"),
    [
        ([], "is not a JSON object"),
        ({"file_format_version": "1.0.0"}, 'has no object "runtime"'),
        ({"file_format_version": "1.0.0", "api_layer": {}}, "belongs to another kind of thing"),
        ({"file_format_version": "2.0.0", "runtime": {"library_path": "x"}}, "has file_format_version '2.0.0'"),
        ({"file_format_version": "1.0.0", "runtime": {}}, 'has no text "library_path" in "runtime"'),
    ],
)
def test_a_manifest_that_lacks_something_is_told_what(folder, monkeypatch, root, text):
    path = folder / "runtime.json"
    path.write_text(json.dumps(root), encoding="utf-8")
    monkeypatch.setenv("XR_RUNTIME_JSON", str(path))
    finding = problem_of(runtime.check_runtime)
    assert finding.id == "runtime.incomplete"
    assert text in finding.what


def test_a_library_for_another_processor_is_named_with_both(folder, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    path = runtime_manifest(folder / "runtime.json", library(folder / "libruntime.so", machine=0x03))
    monkeypatch.setenv("XR_RUNTIME_JSON", str(path))
    finding = problem_of(runtime.check_runtime)
    assert finding.id == "runtime.architecture"
    assert "built for x86 (32-bit), and this Python needs x86_64" in finding.what


def test_a_sound_runtime_is_shown_with_how_it_was_chosen_and_its_library(folder):
    place = folder / "xdg_config_dirs" / "openxr" / "1"
    real = runtime_manifest(folder / "installed" / "runtime.json", "../libruntime.so")
    library(folder / "libruntime.so")
    place.mkdir(parents=True)
    (place / "active_runtime.json").symlink_to(real)
    found = findings(runtime.check_runtime)["runtime.active"]
    assert found.severity is Severity.OK
    assert "Test runtime" in found.what
    assert "the system's active runtime" in found.what
    assert f"a link to {real}" in found.what
    assert "libruntime.so for" in found.what


def test_a_link_that_leads_nowhere_and_a_variable_that_replaces_the_system_are_said(folder, monkeypatch):
    place = folder / "xdg_config_home" / "openxr" / "1"
    place.mkdir(parents=True)
    (place / "active_runtime.json").symlink_to(folder / "gone.json")
    system = runtime_manifest(folder / "etc" / "openxr" / "1" / "active_runtime.json", "libruntime.so")
    runtime_manifest(folder / "runtime.json", "libother.so")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XR_RUNTIME_JSON", "runtime.json")
    found = findings(runtime.check_choice)
    assert str(folder / "gone.json") in found["runtime.dangling-link"].what
    assert str(system) in found["runtime.replaced"].what
    assert "depends on the folder" in found["runtime.relative"].what


def test_a_runtimes_path_is_quoted_in_the_line_that_names_it(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XR_RUNTIME_JSON", "sp ace/it's.json")
    assert "runtime.relative" not in findings(runtime.check_choice)  # that it is missing comes first
    runtime_manifest(folder / "sp ace" / "it's.json", "libruntime.so")
    remedy = findings(runtime.check_choice)["runtime.relative"].remedy
    assert shlex.split(remedy) == ["export", f"XR_RUNTIME_JSON={folder}/sp ace/it's.json"]


def test_what_the_khronos_loader_takes_and_json_does_not_is_no_problem(folder, monkeypatch):
    path = runtime_manifest(folder / "runtime.json", library(folder / "libruntime.so"))
    text = path.read_text(encoding="utf-8").replace('"runtime":', '/* a, } */ "runtime": // "x"\n', 1)
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("}}", ",},}").encode())
    monkeypatch.setenv("XR_RUNTIME_JSON", str(path))
    found = list(runtime.check_runtime())
    assert [finding.id for finding in found] == ["runtime.byte-order-mark", "runtime.lenient-json", "runtime.active"]
    assert "byte order mark" in found[0].what
    assert "comments or trailing commas" in found[1].what


def test_on_windows_forward_slashes_and_paths_beyond_ascii_are_said(folder, monkeypatch):
    path = runtime_manifest(folder / "Brücke" / "runtime.json", "./runtime.dll")
    library(path.parent / "runtime.dll")
    monkeypatch.setattr(manifests.sys, "platform", "win32")
    monkeypatch.setattr(environment, "elevated", lambda: None)
    monkeypatch.setenv("XR_RUNTIME_JSON", str(path))
    found = findings(runtime.check_runtime)
    assert "must have backslashes" in found["runtime.slashes"].what
    assert "beyond ASCII" in found["runtime.beyond-ascii"].what


# ---- layers


def explicit(folder):
    return folder / "xdg_data_dirs" / "openxr" / "1" / "api_layers" / "explicit.d"


def implicit(folder):
    return folder / "xdg_data_home" / "openxr" / "1" / "api_layers" / "implicit.d"


@pytest.fixture
def no_pyopenxr(monkeypatch):
    monkeypatch.setattr(loader, "pyopenxr_layers", lambda: None)


def test_a_layer_path_that_names_the_json_file_must_be_the_folder(folder, monkeypatch):
    path = layer_manifest(folder / "layers" / "one.json", library(folder / "libone.so"))
    monkeypatch.setenv("XR_API_LAYER_PATH", str(path))
    finding = findings(layer_path.check_entries)["layers.path-is-file"]
    assert "must name the folder" in finding.what
    assert finding.remedy == f"export XR_API_LAYER_PATH={path.parent}"
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "notes").write_text("")
    monkeypatch.setenv("XR_API_LAYER_PATH", f"{folder / 'elsewhere' / 'notes'}:{path.parent}")
    finding = findings(layer_path.check_entries)["layers.path-is-file"]
    assert finding.remedy == f"export XR_API_LAYER_PATH={path.parent}"  # a folder without layers is not what was meant


def test_a_layer_path_that_is_missing_or_empty_is_told_apart(folder, monkeypatch):
    (folder / "empty").mkdir()
    monkeypatch.setenv("XR_API_LAYER_PATH", os.pathsep.join([str(folder / "gone"), str(folder / "empty")]))
    found = findings(layer_path.check_entries)
    assert "does not exist" in found["layers.path-missing"].what
    assert "holds no .json file" in found["layers.path-empty"].what


def test_a_layer_path_hides_the_layers_of_the_default_places(folder, monkeypatch, no_pyopenxr):
    hidden = layer_manifest(explicit(folder) / "one.json", library(folder / "libone.so"))
    assert findings(layer_path.check_default_places) == {}
    (folder / "mine").mkdir()
    monkeypatch.setenv("XR_API_LAYER_PATH", str(folder / "mine"))
    finding = findings(layer_path.check_default_places)["layers.path-replaces"]
    assert str(hidden) in finding.what
    assert finding.remedy == f"export XR_API_LAYER_PATH={folder / 'mine'}{os.pathsep}{hidden.parent}"
    assert layers.found() == []


def test_importing_xr_hides_the_layers_of_the_default_places_too(folder, monkeypatch):
    monkeypatch.setattr(loader, "pyopenxr_layers", lambda: folder)
    layer_manifest(explicit(folder) / "one.json", library(folder / "libone.so"))
    assert "`import xr` sets it" in findings(layer_path.check_default_places)["layers.path-replaces"].what


def test_an_enabled_layer_that_importing_xr_hides_is_a_problem(folder, monkeypatch):
    monkeypatch.setattr(loader, "pyopenxr_layers", lambda: folder)
    monkeypatch.setenv("XR_ENABLE_API_LAYERS", "XR_APILAYER_TEST_one")
    path = layer_manifest(explicit(folder) / "one.json", library(folder / "libone.so"))
    finding = problem_of(layer_path.check_default_places)
    assert "XR_ENABLE_API_LAYERS names XR_APILAYER_TEST_one" in finding.why
    assert finding.remedy == f"export XR_API_LAYER_PATH={path.parent}"


def test_every_layer_is_listed_with_its_kind_and_state(folder, monkeypatch, no_pyopenxr):
    one = library(folder / "libone.so")
    layer_manifest(explicit(folder) / "one.json", one, "XR_APILAYER_TEST_explicit")
    layer_manifest(implicit(folder) / "a.json", one, "XR_APILAYER_TEST_on", disable_environment="NO_A")
    layer_manifest(implicit(folder) / "b.json", one, "XR_APILAYER_TEST_off", disable_environment="NO_B")
    layer_manifest(
        implicit(folder) / "c.json", one, "XR_APILAYER_TEST_asked", disable_environment="NO_C", enable_environment="C"
    )
    monkeypatch.setenv("NO_B", "1")
    told = [finding.what for finding in layers.check_layers()]
    assert "XR_APILAYER_TEST_on (implicit, enabled)" in told[0]
    assert "XR_APILAYER_TEST_off (implicit, not enabled: NO_B is set, which turns it off)" in told[1]
    assert "XR_APILAYER_TEST_asked (implicit, not enabled: C is not set, which would turn it on)" in told[2]
    assert "XR_APILAYER_TEST_explicit (explicit, not enabled)" in told[3]
    monkeypatch.setenv("XR_ENABLE_API_LAYERS", "XR_APILAYER_TEST_explicit")
    assert "XR_APILAYER_TEST_explicit (explicit, enabled)" in [finding.what for finding in layers.check_layers()][3]


def test_the_layers_that_pyopenxr_brings_are_found():
    assert "XR_APILAYER_LUNARG_core_validation" in {layer.name for layer in layers.found()}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"library_path": "./gone.so"}, "does not exist"),
        ({"name": None}, 'has no text "name"'),
        ({"api_version": None}, 'has no text "api_version"'),
        ({"implementation_version": 1}, 'has no text "implementation_version"'),
    ],
)
def test_a_broken_layer_is_a_problem_where_it_is_wanted_and_else_a_warning(
    folder, monkeypatch, no_pyopenxr, change, reason
):
    explicit(folder).mkdir(parents=True)
    library(explicit(folder).parent / "libone.so")
    path = layer_manifest(
        explicit(folder) / "one.json", **{"library_path": "../libone.so", "name": "one.json", **change}
    )
    (finding,) = list(layers.check_layers())
    assert finding.severity is Severity.WARNING
    assert reason in finding.what
    monkeypatch.setenv("XR_ENABLE_API_LAYERS", path.name)
    finding = problem_of(layers.check_layers)
    assert reason in finding.what
    assert str(path) in finding.what


def test_an_implicit_layer_that_cannot_be_turned_off_is_broken(folder, no_pyopenxr):
    layer_manifest(implicit(folder) / "one.json", library(folder / "libone.so"))
    (finding,) = list(layers.check_layers())
    assert '"disable_environment"' in finding.what
    assert "which an implicit layer must have" in finding.what


@pytest.mark.parametrize("variable", ["A=B", "A\0B", "", 5, "\ud800"])
def test_an_implicit_layer_whose_variable_cannot_be_one_is_broken_and_hides_no_other(folder, no_pyopenxr, variable):
    one = library(folder / "libone.so")
    layer_manifest(implicit(folder) / "a.json", one, "XR_APILAYER_TEST_bad", [EXTENSION], disable_environment=variable)
    layer_manifest(implicit(folder) / "b.json", one, "XR_APILAYER_TEST_good", disable_environment="NO_B")
    told = list(layers.check_layers())
    assert [finding.severity for finding in told if "a.json" in finding.what] == [Severity.WARNING]
    assert [finding.severity for finding in told if "b.json" in finding.what] == [Severity.OK]


def test_a_manifest_of_quotes_takes_no_longer_than_it_is_long(folder, no_pyopenxr):
    for name, text in (("a", '"' + '\\"' * 200_000), ("b", "/*" * 200_000)):
        file = explicit(folder) / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert [finding.severity for finding in layers.check_layers()] == [Severity.WARNING] * 2


def test_a_channel_folder_that_cannot_be_looked_at_is_a_problem(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "file"))
    assert "cannot be looked at" in problem_of(serving.check_channel_folder).what


def test_a_layer_for_another_processor_is_a_hint_until_it_is_enabled(folder, monkeypatch, no_pyopenxr):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    layer_manifest(explicit(folder) / "one.json", library(folder / "libone.so", machine=0x03))
    assert findings(layers.check_layers)["layers.architecture"].severity is Severity.HINT
    monkeypatch.setenv("XR_ENABLE_API_LAYERS", "XR_APILAYER_TEST_one")
    assert "x86 (32-bit)" in problem_of(layers.check_layers).what


def test_an_enabled_layer_that_is_not_found_is_a_problem_with_those_that_are(folder, monkeypatch, no_pyopenxr):
    layer_manifest(explicit(folder) / "one.json", library(folder / "libone.so"))
    monkeypatch.setenv("XR_ENABLE_API_LAYERS", "XR_APILAYER_TEST_one,XR_APILAYER_TEST_two")
    finding = problem_of(*enabled_layers.CHECKS)
    assert finding.id == "layers.not-found"
    assert "'XR_APILAYER_TEST_one,XR_APILAYER_TEST_two'" in finding.what
    assert "separated by ':', not by ','" in finding.what
    assert "Found are: XR_APILAYER_TEST_one" in finding.remedy
    assert "XR_ERROR_API_LAYER_NOT_PRESENT" in finding.why


@pytest.fixture
def twice(folder, monkeypatch, no_pyopenxr):
    """One layer, which is enabled, in two folders; returns both of them."""
    monkeypatch.setenv("XR_ENABLE_API_LAYERS", "XR_APILAYER_TEST_one")
    one = library(folder / "libone.so")
    return [layer_manifest(folder / name / "one.json", one).parent for name in ("first", "second")]


def test_a_layer_that_is_found_twice_is_told_with_both_manifests_and_a_way_to_one(monkeypatch, twice):
    first, second = twice
    monkeypatch.setenv("XR_API_LAYER_PATH", os.pathsep.join(map(str, twice)))
    finding = findings(repeated_layers.check_found_twice)["layers.found-twice"]
    assert finding.severity is Severity.WARNING
    assert f"XR_APILAYER_TEST_one is found 2 times: {first / 'one.json'}, {second / 'one.json'}." in finding.what
    assert finding.remedy == f"export XR_API_LAYER_PATH={first}"
    monkeypatch.setenv("XR_API_LAYER_PATH", str(first))
    assert findings(repeated_layers.check_found_twice) == {}


def test_a_layer_that_is_found_twice_and_not_enabled_is_nothing_to_tell(monkeypatch, twice):
    monkeypatch.setenv("XR_API_LAYER_PATH", os.pathsep.join(map(str, twice)))
    monkeypatch.delenv("XR_ENABLE_API_LAYERS")
    assert findings(repeated_layers.check_found_twice) == {}


def test_a_folder_that_is_named_twice_is_a_layer_found_twice(monkeypatch, twice):
    monkeypatch.setenv("XR_API_LAYER_PATH", os.pathsep.join([str(twice[0])] * 2))
    assert (
        findings(repeated_layers.check_found_twice)["layers.found-twice"].remedy
        == f"export XR_API_LAYER_PATH={twice[0]}"
    )


def test_a_folder_with_another_layer_is_kept_and_the_manifest_named_instead(folder, monkeypatch, twice):
    layer_manifest(twice[1] / "two.json", library(folder / "libtwo.so"), "XR_APILAYER_TEST_two")
    monkeypatch.setenv("XR_API_LAYER_PATH", os.pathsep.join(map(str, twice)))
    assert findings(repeated_layers.check_found_twice)["layers.found-twice"].remedy == (
        f"Remove all of them but one, as {twice[1] / 'one.json'}."
    )


def test_a_copy_of_pyopenxrs_layers_is_left_out_and_pyopenxrs_own_is_kept(folder, monkeypatch, twice):
    own, copy = twice
    monkeypatch.setattr(loader, "pyopenxr_layers", lambda: own)
    assert findings(repeated_layers.check_found_twice) == {}  # without the variable, `import xr` hides what others see
    monkeypatch.setenv("XR_API_LAYER_PATH", str(copy))
    assert findings(repeated_layers.check_found_twice)["layers.found-twice"].remedy == "unset XR_API_LAYER_PATH"
    layer_manifest(copy / "two.json", library(folder / "libtwo.so"), "XR_APILAYER_TEST_two")
    remedy = findings(repeated_layers.check_found_twice)["layers.found-twice"].remedy
    assert remedy == f"Remove all of them but one, as {copy / 'one.json'}."


def test_a_broken_manifest_beside_a_sound_one_is_passed_over_and_not_found_twice(folder, monkeypatch, twice):
    layer_manifest(twice[1] / "one.json", folder / "libgone.so")
    monkeypatch.setenv("XR_API_LAYER_PATH", os.pathsep.join(map(str, twice)))
    assert findings(repeated_layers.check_found_twice) == {}


def test_of_an_implicit_and_an_explicit_layer_the_implicit_one_is_taken(folder, monkeypatch, twice):
    one = library(folder / "libimplicit.so")
    layer_manifest(implicit(folder) / "a.json", one, disable_environment="NO_A")
    monkeypatch.setenv("XR_API_LAYER_PATH", str(twice[0]))
    finding = findings(repeated_layers.check_found_twice)["layers.found-twice"]
    assert (finding.severity, finding.why) == (Severity.HINT, "The loader takes the implicit one, which is the first.")
    assert finding.remedy == "Where the explicit one is to be used: export NO_A=1"
    monkeypatch.setenv("NO_A", "1")
    assert findings(repeated_layers.check_found_twice) == {}


def test_a_layer_that_is_named_twice_is_a_warning_with_the_line_that_names_it_once(folder, monkeypatch, twice):
    layer_manifest(twice[0] / "two.json", library(folder / "libtwo.so"), "XR_APILAYER_TEST_two")
    monkeypatch.setenv("XR_API_LAYER_PATH", str(twice[0]))
    monkeypatch.setenv("XR_ENABLE_API_LAYERS", "XR_APILAYER_TEST_one:XR_APILAYER_TEST_two:XR_APILAYER_TEST_one")
    (finding,) = all_of(*enabled_layers.CHECKS)
    assert (finding.id, finding.severity) == ("layers.named-twice", Severity.WARNING)
    assert "XR_ERROR_API_LAYER_NOT_PRESENT" in finding.why
    assert finding.remedy == "export XR_ENABLE_API_LAYERS=XR_APILAYER_TEST_one:XR_APILAYER_TEST_two"


def test_an_implicit_layer_that_is_named_too_is_a_warning_and_where_it_is_off_a_problem(
    folder, monkeypatch, no_pyopenxr
):
    layer_manifest(implicit(folder) / "a.json", library(folder / "libone.so"), disable_environment="NO_A")
    monkeypatch.setenv("XR_ENABLE_API_LAYERS", "XR_APILAYER_TEST_one")
    (finding,) = all_of(*enabled_layers.CHECKS)
    assert (finding.id, finding.severity) == ("layers.named-implicit", Severity.WARNING)
    assert finding.remedy == "unset XR_ENABLE_API_LAYERS"
    monkeypatch.setenv("NO_A", "1")
    finding = problem_of(*enabled_layers.CHECKS)  # for every loader
    assert finding.id == "layers.named-implicit"
    assert "does not enable it (NO_A is set, which turns it off)" in finding.what


# ---- who offers the extension


@pytest.fixture
def mock_runtime_active(monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", str(host.manifest_path()))


def test_the_runtime_that_offers_the_extension_is_named(mock_runtime_active):
    finding = findings(offer.check_offer)["offer.runtime"]
    assert finding.what == f"{EXTENSION} is offered by openxr-agentic mock runtime."


def test_a_layer_that_offers_it_is_named_and_told_from_the_runtime(folder, monkeypatch, mock_runtime_active):
    one = library(folder / "libone.so")
    layer_manifest(implicit(folder) / "a.json", one, "XR_APILAYER_TEST_a", [EXTENSION], disable_environment="NO_A")
    finding = findings(offer.check_offer)["offer.both"]
    assert "by the layer XR_APILAYER_TEST_a and by openxr-agentic mock runtime" in finding.what
    asked = []

    def ask(environment=None):
        asked.append(environment)
        return offer.Answer((EXTENSION,) if environment is None else ("XR_MND_headless",))

    monkeypatch.setattr(offer, "ask", ask)
    assert findings(offer.check_offer)["offer.layer"].what == f"{EXTENSION} is offered by the layer XR_APILAYER_TEST_a."
    assert asked[-1]["NO_A"] == "1"


def test_a_runtime_without_the_extension_is_named_as_the_one_that_lacks_it(folder, monkeypatch):
    path = runtime_manifest(folder / "other.json", library(folder / "libother.so"), name="Other runtime")
    monkeypatch.setenv("XR_RUNTIME_JSON", str(path))
    monkeypatch.setattr(offer, "ask", lambda: offer.Answer(("XR_KHR_opengl_enable",)))
    finding = problem_of(offer.check_offer)
    assert finding.id == "offer.nobody"
    assert f"Neither the runtime Other runtime ({path}) nor an enabled API layer offers {EXTENSION}." in finding.what
    assert MOCK_COMMAND in finding.remedy


def test_a_layer_that_offers_it_and_is_not_enabled_is_a_hint_with_the_variables(folder, monkeypatch, no_pyopenxr):
    path = layer_manifest(explicit(folder) / "one.json", library(folder / "libone.so"), extensions=[EXTENSION])
    monkeypatch.setattr(offer, "ask", lambda: offer.Answer(()))
    hint = findings(offer.check_offer)["offer.layer-not-enabled"]
    assert "XR_APILAYER_TEST_one" in hint.what
    assert hint.remedy == f"export XR_API_LAYER_PATH={path.parent}; export XR_ENABLE_API_LAYERS=XR_APILAYER_TEST_one"


def test_the_variables_that_enable_a_layer_keep_those_that_are_found_and_drop_the_others(
    folder, monkeypatch, no_pyopenxr
):
    path = layer_manifest(explicit(folder) / "one.json", library(folder / "libone.so"), extensions=[EXTENSION])
    layer_manifest(explicit(folder) / "two.json", library(folder / "libtwo.so"), "XR_APILAYER_TEST_two")
    monkeypatch.setenv("XR_ENABLE_API_LAYERS", "XR_APILAYER_TEST_gone:XR_APILAYER_TEST_two")
    monkeypatch.setattr(offer, "ask", lambda: offer.Answer(()))
    remedy = findings(offer.check_offer)["offer.layer-not-enabled"].remedy
    assert remedy.split() == [
        "export",
        f"XR_API_LAYER_PATH={path.parent};",
        "export",
        "XR_ENABLE_API_LAYERS=XR_APILAYER_TEST_one:XR_APILAYER_TEST_two",
    ]


def test_a_mock_runtime_that_is_told_not_to_offer_it_is_named_with_the_variable(monkeypatch, mock_runtime_active):
    monkeypatch.setenv("OPENXR_AGENTIC_MOCK_EXTENSION", "0")
    finding = problem_of(offer.check_offer)
    assert finding.id == "offer.nobody"
    assert "OPENXR_AGENTIC_MOCK_EXTENSION=0 keeps the mock runtime from it" in finding.what
    assert "unset OPENXR_AGENTIC_MOCK_EXTENSION" in finding.remedy


def test_an_enabled_layer_that_cannot_be_loaded_does_not_count_as_offering_it(
    folder, monkeypatch, no_pyopenxr, mock_runtime_active
):
    # The loader believes this manifest: its library is there, and is for another processor.
    layer_manifest(explicit(folder) / "one.json", library(folder / "libone.so", 0x08), extensions=[EXTENSION])
    monkeypatch.setenv("XR_ENABLE_API_LAYERS", "XR_APILAYER_TEST_one")
    found = findings(offer.check_offer)
    assert found["offer.runtime"].what == f"{EXTENSION} is offered by openxr-agentic mock runtime."
    path = runtime_manifest(folder / "other.json", library(folder / "libother.so"), name="Other runtime")
    monkeypatch.setenv("XR_RUNTIME_JSON", str(path))
    asked = []
    monkeypatch.setattr(offer, "ask", lambda environment: asked.append(environment) or offer.Answer(()))
    finding = problem_of(offer.check_offer)
    assert finding.id == "offer.nobody"
    assert "XR_APILAYER_TEST_one would, and cannot be loaded" in finding.what
    assert asked[0]["XR_ENABLE_API_LAYERS"] == ""


def test_without_a_runtime_nobody_offers_it(folder):
    assert problem_of(offer.check_offer).id == "offer.no-runtime"


def test_a_runtime_library_that_cannot_be_loaded_is_quoted_from_the_loader(folder, monkeypatch):
    path = runtime_manifest(folder / "runtime.json", library(folder / "libruntime.so"))
    monkeypatch.setenv("XR_RUNTIME_JSON", str(path))
    finding = problem_of(offer.check_offer)
    assert finding.id == "offer.no-runtime"
    assert "libruntime.so" in finding.what


def compiled(folder, body):
    """A runtime library that does something wrong when the loader asks for it; returns its manifest."""
    code = f"#include <stdlib.h>\n#include <unistd.h>\nint xrNegotiateLoaderRuntimeInterface(void) {body}\n"
    return doctor_harness.compiled_runtime(folder, code)


def test_a_runtime_that_crashes_does_not_take_the_doctor_down(folder, monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", str(compiled(folder, "{ abort(); }")))
    finding = problem_of(offer.check_offer)
    assert finding.id == "offer.crash"
    assert "the runtime Test runtime" in finding.what
    assert "ended by SIGABRT" in finding.what


@pytest.fixture
def nobody_asks(monkeypatch):
    def no_child(*_arguments, **_options):
        raise AssertionError("a child process was started")

    monkeypatch.setattr(offer.subprocess, "run", no_child)


def at_dev_zero(folder):
    return "/dev/zero"


def at_a_pipe(folder):
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def at_gigabytes(folder):
    return huge(folder / "huge.json")


def at_a_library_that_is_a_pipe(folder):
    return runtime_manifest(folder / "runtime.json", at_a_pipe(folder))


@pytest.mark.parametrize("place", [at_dev_zero, at_a_pipe, at_gigabytes, at_a_library_that_is_a_pipe])
def test_the_loader_is_not_asked_where_it_would_read_without_end(folder, monkeypatch, nobody_asks, place):
    path = place(folder)
    monkeypatch.setenv("XR_RUNTIME_JSON", str(path))
    finding = problem_of(offer.check_offer)
    assert finding.id == "offer.not-asked"
    assert str(path) in finding.what
    with pytest.raises(DiscoveryError, match="No tool can be tried here: OpenXR's loader reads"):
        asyncio.run(trial_host.discover_here(None))


def test_the_loader_is_not_asked_where_a_layers_manifest_would_be_read_without_end(
    folder, no_pyopenxr, nobody_asks, mock_runtime_active
):
    path = huge(explicit(folder) / "one.json")
    assert "reads every manifest that it finds" in problem_of(layers.check_layers).why
    finding = problem_of(offer.check_offer)
    assert finding.id == "offer.not-asked"
    assert f"{path} has more than 1 MiB" in finding.what
    assert f"Move {path} out of its folder" in finding.remedy


def test_a_runtime_that_hangs_is_given_up(folder, monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", str(compiled(folder, "{ for (;;) pause(); }")))
    monkeypatch.setattr(offer, "_CHILD_SECONDS", 1.0)
    assert problem_of(offer.check_offer).id == "offer.timeout"


# ---- numbers


def test_every_number_is_shown_with_its_origin(monkeypatch):
    monkeypatch.setenv("OPENXR_AGENTIC_NUMBERS", '{"XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_META": 1000123000}')
    told = [finding.what for finding in numbers.check_numbers()]
    assert "XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1 = 1000123000 (OPENXR_AGENTIC_NUMBERS)" in told
    assert "XR_TYPE_AGENTIC_EXTERNAL_TOOL_REGISTER_INFO_METAX1 = 1000990001 (assumed)" in told
    assert told[-1].startswith("7 of 8 numbers are assumed")


def test_the_header_is_shown_and_a_build_variable_without_effect_is_a_hint(monkeypatch):
    assert "this package's own header" in findings(numbers.check_numbers)["numbers.header"].what
    monkeypatch.setenv("OPENXR_AGENTIC_INCLUDE_DIR", "/some/include")
    assert "only while the package is built" in findings(numbers.check_numbers)["numbers.include-dir"].why


def test_numbers_that_cannot_be_used_are_a_problem(monkeypatch):
    monkeypatch.setenv("OPENXR_AGENTIC_NUMBERS", "{")
    assert problem_of(numbers.check_numbers).id == "numbers.invalid"


OTHER_NUMBERS = '{"XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1": 1000123000}'


def test_numbers_for_another_host_are_a_problem_on_the_mock_runtime(monkeypatch, mock_runtime_active):
    assert "numbers.host-expects-others" not in findings(numbers.check_numbers)
    monkeypatch.setenv("OPENXR_AGENTIC_NUMBERS", OTHER_NUMBERS)
    finding = problem_of(numbers.check_numbers)
    assert finding.id == "numbers.host-expects-others"
    assert "XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1 = 1000990000, not 1000123000" in finding.what
    assert finding.remedy.startswith("unset OPENXR_AGENTIC_NUMBERS")
    monkeypatch.setenv("OPENXR_AGENTIC_NUMBERS", OTHER_NUMBERS.replace("1000123000", "1000990000"))
    assert "numbers.host-expects-others" not in findings(numbers.check_numbers)


def test_numbers_for_another_host_are_no_problem_where_that_host_answers(monkeypatch, folder, no_pyopenxr):
    monkeypatch.setenv("OPENXR_AGENTIC_NUMBERS", OTHER_NUMBERS)
    path = runtime_manifest(folder / "other.json", library(folder / "libother.so"), name="Other runtime")
    monkeypatch.setenv("XR_RUNTIME_JSON", str(path))
    assert "numbers.host-expects-others" not in findings(numbers.check_numbers)
    offered = [EXTENSION]
    monkeypatch.setattr(offer, "ask", lambda _environment: offer.Answer(tuple(offered)))
    # Our layer steps aside for a runtime that offers the extension, and answers over one that does not.
    monkeypatch.setenv("XR_API_LAYER_PATH", str(host.layer_manifest_path().parent))
    monkeypatch.setenv("XR_ENABLE_API_LAYERS", host.LAYER_NAME)
    assert "numbers.host-expects-others" not in findings(numbers.check_numbers)
    offered.clear()
    assert problem_of(numbers.check_numbers).id == "numbers.host-expects-others"
    # It steps aside for another layer too.
    one = library(folder / "libone.so")
    layer_manifest(implicit(folder) / "a.json", one, "XR_APILAYER_TEST_a", [EXTENSION], disable_environment="NO_A")
    assert "numbers.host-expects-others" not in findings(numbers.check_numbers)


# ---- the agent's end


@pytest.mark.parametrize("value", ["abc", "70000", "80"])
def test_a_port_that_cannot_be_used_is_reported_with_the_range_and_the_default(monkeypatch, value):
    monkeypatch.setenv("AGENTICXR_MCP_PORT", value)
    finding = problem_of(serving.check_port)
    assert finding.id == "serving.port-invalid"
    for text in (repr(value), "1024", "65535", "8720"):
        assert text in finding.what


def test_without_the_variable_the_port_is_the_default(monkeypatch):
    monkeypatch.setattr("openxr_agentic.mcp.transports.ports.listen", lambda port: socket.socket())
    (finding,) = list(serving.check_port())
    assert finding.what == "Port 8720 (the default; AGENTICXR_MCP_PORT is not set), free."


def test_a_port_that_is_taken_is_shown_with_who_holds_it(monkeypatch):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        monkeypatch.setenv("AGENTICXR_MCP_PORT", str(holder.getsockname()[1]))
        found = findings(serving.check_port)
    assert found["serving.port-taken"].severity is Severity.WARNING
    assert "no server of this package" in found["serving.port-taken"].why
    assert f"(process {os.getpid()})" in found["serving.port-taken"].what
    assert "must agree" in found["serving.port-changed"].why


@pytest.mark.parametrize(
    ("process", "identifier", "severity"),
    [
        (os.getppid(), "serving.port", Severity.OK),
        (2**22 + 1, "serving.port-taken", Severity.HINT),  # no process has that id
    ],
)
def test_a_port_that_our_own_server_holds_is_no_warning(monkeypatch, process, identifier, severity):
    def taken(_port):
        raise ports.PortError("taken")

    monkeypatch.setattr(ports, "listen", taken)
    monkeypatch.setattr(ports, "port_holder", lambda _port: ports.PortHolder("openxr-agentic", process))
    (finding,) = list(serving.check_port())
    assert (finding.id, finding.severity) == (identifier, severity)


def test_the_channel_folder_is_looked_at_for_its_kind_and_mode(folder):
    place = folder / "xdg_runtime_dir" / "openxr-agentic"
    assert "made by the first app" in findings(serving.check_channel_folder)["serving.channel-folder"].what
    place.mkdir(mode=0o755)
    place.chmod(0o755)
    warning = findings(serving.check_channel_folder)["serving.channel-mode"]
    assert "mode 0755" in warning.what
    assert warning.remedy == f"chmod 700 {place}"
    place.chmod(0o700)
    assert findings(serving.check_channel_folder)["serving.channel-folder"].severity is Severity.OK
    place.rmdir()
    place.symlink_to(folder)
    assert "is a link" in problem_of(serving.check_channel_folder).what


def test_a_channel_folder_that_cannot_be_made_or_is_too_long_is_a_problem(folder, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "gone"))
    finding = problem_of(serving.check_channel_folder)
    assert finding.id == "serving.channel-parent"
    assert "XDG_RUNTIME_DIR" in finding.remedy
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / ("x" * 100)))
    assert problem_of(serving.check_channel_folder).id == "serving.channel-path-too-long"


def test_a_channel_folder_of_somebody_else_is_a_problem(folder, monkeypatch):
    (folder / "xdg_runtime_dir" / "openxr-agentic").mkdir(mode=0o700)
    other = os.geteuid() + 1
    monkeypatch.setattr(serving.os, "geteuid", lambda: other)
    assert "belongs to user" in problem_of(serving.check_channel_folder).what


def test_running_apps_with_a_channel_are_listed(folder):
    place = folder / "xdg_runtime_dir" / "openxr-agentic"
    assert "serving.no-app" in findings(serving.check_apps)
    place.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(place)  # the whole path may be too long for a socket
        try:
            listener.bind(f"{os.getpid()}.sock")
        finally:
            os.chdir(here)
        assert f"process {os.getpid()}" in findings(serving.check_apps)["serving.app"].what


# ---- the documentation


def ids_in_the_code():
    """Every id that a finding may have, those that are always fine left out."""
    folder = Path(doctor.__file__).parent
    text = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    ids = set(re.findall(r'(?:problem|hint|warning|report|\))\(\s*f?"([a-z]+\.[a-z0-9-]+)"', text))
    kinds = set(re.findall(r'(?:Fault|Oddity)\(\s*"([a-z-]+)"', text))
    return ids | {f"runtime.{kind}" for kind in kinds}


def test_every_id_of_what_may_be_wrong_is_in_the_documentation_and_none_that_is_not():
    page = (doctor_harness.ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")
    documented = set()
    for row in re.findall(r"^\| .*", page, re.MULTILINE):
        section = ""
        for named, name in re.findall(r"`([a-z]*)\.([a-z0-9-]+)`", row):
            section = named or section
            documented.add(f"{section}.{name}")
    known = ids_in_the_code()
    assert len(known) > 40
    assert documented == known | {"installation.extra-mcp", "installation.extra-cli", "offer.crash", "offer.timeout"}


def test_the_example_in_the_documentation_is_what_the_doctor_says(folder, monkeypatch):
    page = (doctor_harness.ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")
    monkeypatch.setenv("XR_RUNTIME_JSON", str(broken_manifest(folder, "missing-library")))
    finding = problem_of(runtime.check_runtime)
    for text in (finding.what, finding.why, finding.remedy):
        assert text.replace(str(folder), "/opt/xr") in " ".join(page.split())
