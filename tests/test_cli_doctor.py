"""`openxr-agentic doctor`, as a user sees it."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import doctor_harness
import pytest
from cli_harness import COMMAND
from doctor_harness import HEADER, ROOT, SECRET, secret_header, secret_runtime

from openxr_agentic import host
from openxr_agentic.header_numbers import NAMES


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(entry for entry in sys.path if entry))
    return doctor_harness.isolate(monkeypatch, tmp_path_factory.mktemp("d"))


@pytest.fixture
def mock(monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", str(host.manifest_path()))


def command(*arguments):
    return subprocess.run(
        [*COMMAND, "doctor", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def test_without_a_problem_the_exit_code_is_0(mock):
    done = command()
    assert done.returncode == 0, done.stdout
    assert "Active runtime\n  ok       openxr-agentic mock runtime" in done.stdout
    assert "is offered by openxr-agentic mock runtime" in done.stdout
    assert re.search(r"\nNothing is wrong; \d hints?\.\n$", done.stdout)
    assert done.stderr == ""


def test_with_a_problem_the_exit_code_is_1_and_the_remedy_stands_below_it(folder, monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", str(folder / "missing.json"))
    done = command()
    assert done.returncode == 1
    problem = done.stdout[done.stdout.index("Active runtime") :].splitlines()
    assert problem[1].startswith("  PROBLEM  The runtime's manifest")
    assert problem[3].strip().startswith("-> ")
    assert "2 problems" in done.stdout


def test_on_a_terminal_lines_are_broken_at_its_width_and_indented(folder, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("COLUMNS", "70")
    lines = re.sub(r"\x1b\[[\d;]*m", "", command().stdout).splitlines()
    at = next(index for index, line in enumerate(lines) if "No OpenXR runtime is active" in line)
    assert lines[at + 1].startswith(" " * 11)
    assert all(len(line) <= 70 or " " not in line.strip() for line in lines[at : at + 4])


def test_on_a_terminal_a_line_to_be_copied_is_not_broken(folder, mock, monkeypatch):
    layers = folder / ("long name " * 20).strip()
    layers.mkdir()
    (layers / "a.json").write_text("{}")
    monkeypatch.setenv("XR_API_LAYER_PATH", str(layers / "a.json"))
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert f"-> export XR_API_LAYER_PATH='{layers}'" in re.sub(r"\x1b\[[0-9;]*m", "", command().stdout)


def test_json_is_one_object_with_every_finding(mock):
    done = command("--json")
    assert done.returncode == 0
    told = json.loads(done.stdout)
    assert told["counts"]["problem"] == 0
    assert set(told["findings"][0]) == {"id", "section", "severity", "what", "why", "remedy"}
    assert sum(told["counts"].values()) == len(told["findings"])


def test_a_header_gives_settings_on_stdout_and_the_explanation_on_stderr(tmp_path):
    path = tmp_path / HEADER.name
    path.write_text(secret_header(), encoding="utf-8")
    done = command("--header", str(path))
    assert done.returncode == 0
    assert json.loads(done.stdout) == SECRET
    assert f"{NAMES[0]} = {SECRET[NAMES[0]]} (read from" in done.stderr
    assert "in force now is 1000990000" in done.stderr
    assert "OPENXR_AGENTIC_NUMBERS" in done.stderr


def test_the_settings_can_be_used_as_they_are_printed(tmp_path, monkeypatch):
    path = tmp_path / HEADER.name
    path.write_text(secret_header(), encoding="utf-8")
    settings = tmp_path / "numbers.json"
    settings.write_text(command("--header", str(path)).stdout, encoding="utf-8")
    monkeypatch.setenv("OPENXR_AGENTIC_NUMBERS", str(settings))
    again = command("--header", str(path))
    assert "nothing needs to be set" in again.stderr


def test_an_incomplete_header_says_what_is_open_and_exits_with_1(tmp_path):
    path = tmp_path / HEADER.name
    text = secret_header().replace("PARAMETER_TYPE_STRING_METAX1 = 21", "PARAMETER_TYPE_STRING_METAX1 = SOMEWHERE")
    path.write_text(text.replace("TYPE_NUMBER_METAX1 = 9", "TYPE_NUMBER_METAX1 = 0"), encoding="utf-8")
    done = command("--header", str(path))
    assert done.returncode == 1
    assert len(json.loads(done.stdout)) == len(NAMES) - 1
    assert "SOMEWHERE is defined elsewhere" in done.stderr
    # STRING is assumed to be 0, which NUMBER is now.
    string, number = (f"XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_{kind}_METAX1" for kind in ("STRING", "NUMBER"))
    assert f"{string} was not found, and what is assumed for it, 0, is the number that was found for {number}." in (
        done.stderr
    )
    assert "Do not keep the line above as it is" in done.stderr
    assert f"Look for {string} in Meta's header" in done.stderr
    assert "Keep the line above" not in done.stderr


def test_a_file_that_is_no_header_is_an_error_without_output():
    done = command("--header", str(ROOT / "README.md"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert "defines none of the extension's numbers" in done.stderr


def test_a_path_with_a_tilde_that_no_shell_expanded_is_expanded(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "header.h").write_text(secret_header(), encoding="utf-8")
    assert json.loads(command("--header", "~/header.h").stdout) == SECRET
    done = command("--header", "~/gone.h")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"Error: The header {tmp_path / 'gone.h'} cannot be read: No such file or directory.\n"


@pytest.mark.parametrize("name", ["N" * 2**19, "N " * 2**18, "\x1b[31m" * 2**10])
def test_a_layer_with_a_name_of_half_a_megabyte_is_shown_in_part_and_harmlessly(folder, mock, name):
    place = folder / "xdg_data_dirs" / "openxr" / "1" / "api_layers" / "explicit.d"
    doctor_harness.layer_manifest(place / "one.json", doctor_harness.library(folder / "libone.so"), name)
    for done in (command(), command("--json")):
        assert done.returncode == 0
        assert len(done.stdout) < 30_000
        assert "\x1b" not in done.stdout
        assert str(place / "one.json") in done.stdout


def test_under_run_the_port_is_that_of_its_own_server(folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = [*COMMAND, "run", "--port", str(port), "--", "sh", "-c", f'AGENTICXR_MCP_PORT={port} exec "$0" "$@"']
    doctor = [*COMMAND, "doctor", "--json"]
    done = subprocess.run([*run, *doctor], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    found = {each["id"]: each for each in json.loads(done.stdout)["findings"]}
    assert "serving.port-taken" not in found
    assert "the server of the `openxr-agentic run` that started this" in found["serving.port"]["what"]


def test_discovery_says_what_it_will_do_and_does_nothing_unasked(mock):
    done = command("--discover")
    assert (done.returncode, done.stdout) == (2, "")
    assert "registers tools on trial" in done.stderr
    assert "--yes" in done.stderr


def test_discovery_without_a_standard_input_is_wrong_usage(mock):
    line = f"{shlex.join([*COMMAND, 'doctor', '--discover'])} <&-"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("Error: To go on without being asked, give --yes.\n")


def gone(pid):
    """Whether a process is no more, or waits for its parent only to be told."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize(
    ("where", "code"),
    [
        ((), "int xrNegotiateLoaderRuntimeInterface(void) { hang(); }"),
        (("--discover", "--yes"), "int xrNegotiateLoaderRuntimeInterface(void) { hang(); }"),
        ((), "__attribute__((constructor)) void constructor(void) { hang(); }"),
    ],
    ids=["probe", "trial", "constructor"],
)
def test_a_runtime_that_hangs_does_not_outlive_the_doctor(folder, monkeypatch, where, code, number):
    fifo = folder / "pid"
    os.mkfifo(fifo)
    hang = f"""\
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static int hang(void) {{
    int fifo = open("{fifo}", O_WRONLY);
    dprintf(fifo, "%d", (int)getpid());
    close(fifo);
    for (;;) pause();
}}
"""
    monkeypatch.setenv("XR_RUNTIME_JSON", str(doctor_harness.compiled_runtime(folder, hang + code)))
    with subprocess.Popen(
        [*COMMAND, "doctor", *where], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as doctor:
        pid = int(fifo.read_text())  # which the runtime writes when it hangs
        doctor.send_signal(number)
        doctor.wait()
    deadline = time.monotonic() + 30
    while not gone(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    outlived = not gone(pid)
    if outlived:
        os.kill(pid, signal.SIGKILL)
    assert not outlived


def test_discovery_prints_the_settings_of_a_host_with_secret_numbers(monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", str(secret_runtime()))
    done = command("--discover", "--yes")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == SECRET


def test_with_the_settings_that_discovery_prints_a_tool_can_be_registered_on_that_host(monkeypatch):
    program = (
        "import openxr_agentic as agentic\n"
        "from openxr_agentic import loader\n"
        "from openxr_agentic.testing import raw_instance\n"
        "address = loader.load().get_instance_proc_addr\n"
        "instance = raw_instance.create(address, [agentic.EXTENSION_NAME])\n"
        "with agentic.AgenticExtension(instance) as extension:\n"
        "    parameter = agentic.ToolParameter('p', '', agentic.ParameterType.OBJECT)\n"
        "    try:\n"
        "        extension.register_tool('tool', '', [parameter], str)\n"
        "        print('registered')\n"
        "    except agentic.ResultError as error:\n"
        "        print(error.name)\n"
        "raw_instance.destroy(address, instance)\n"
    )
    monkeypatch.setenv("XR_RUNTIME_JSON", str(secret_runtime()))

    def registering():
        return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert registering() == "XR_ERROR_VALIDATION_FAILURE\n"
    monkeypatch.setenv("OPENXR_AGENTIC_NUMBERS", command("--discover", "--yes").stdout)
    assert registering() == "registered\n"


@pytest.mark.parametrize(
    "arguments", [("--json", "--discover"), ("--discover", "--header", str(ROOT / "README.md")), ("--yes",)]
)
def test_options_that_do_not_go_together_are_refused(arguments):
    done = command(*arguments)
    assert done.returncode == 2
    assert "Usage:" in done.stderr


def test_an_empty_path_of_a_header_is_wrong_usage():
    done = command("--header", "")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("Error: --header is empty: give the path of Meta's header.\n")
