"""``openxr-agentic run --layer``, and programs that are not Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("mcp")
pytest.importorskip("click")
pytest.importorskip("rich")

from agent_harness import run, text_of
from cli_harness import environment, finished, line_with, started
from mcp import Client

from openxr_agentic import loader
from openxr_agentic.host import LAYER_NAME, layer_manifest_path, manifest_path
from openxr_agentic.host.variables import ENABLED_LAYERS, LAYER_PATH, with_layer
from openxr_agentic.testing import MockRuntime

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "examples" / "c_app" / "c_app.c"
CC = os.environ.get("CC", "cc")
FOLDER = str(layer_manifest_path().parent)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A runtime folder of this test's own, with a path short enough for a socket."""
    with TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture(scope="module", params=[(), ("-DOXA_USE_OWN_OPENXR_DECLARATIONS",)], ids=["installed", "own"])
def c_app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in C, built as its first lines say, with the loader that Python uses."""
    if shutil.which(CC) is None:
        pytest.skip(f"no C compiler {CC}")
    folder = tmp_path_factory.mktemp("c_app")
    # As a development package has it: the library, and a link by the name that linkers look for.
    for name in ("libopenxr_loader.so.1", "libopenxr_loader.so"):
        (folder / name).symlink_to(Path(loader.load().path).resolve())
    flags = ["-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'native_headers'}"]
    link = [f"-L{folder}", f"-Wl,-rpath,{folder}", "-lopenxr_loader"]
    subprocess.run([CC, *flags, *request.param, SOURCE, *link, "-o", folder / "c_app"], check=True)
    return folder / "c_app"


@pytest.mark.fronts("mock", "layer", "real")
def test_an_agent_calls_the_tools_of_a_c_app(c_app: Path, folder: Path, front: str) -> None:
    async def scenario() -> None:
        env = environment(folder)
        if front == "layer":
            env |= {"XR_RUNTIME_JSON": str(manifest_path()), "OPENXR_AGENTIC_MOCK_EXTENSION": "0"}
        if front == "real" and "XDG_RUNTIME_DIR" in os.environ:
            env["XDG_RUNTIME_DIR"] = os.environ["XDG_RUNTIME_DIR"]  # where the runtime's own service is found
        options = ["--port", "0", *([] if front == "mock" else ["--layer"])]
        async with started("run", *options, "--", str(c_app), env=env) as process:
            url = re.search(r"http://\S+/mcp", await line_with(process.stderr, "serving MCP at"))
            assert url is not None
            await line_with(process.stderr, "connected to C app")
            async with Client(url[0]) as client:
                tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                assert set(tools) == {"CApp_set_lamp", "CApp_quit"}
                assert tools["CApp_set_lamp"].input_schema["required"] == ["on"]
                assert text_of(await client.call_tool("CApp_set_lamp", {"on": True})) == '{"lamp": true}'
                assert text_of(await client.call_tool("CApp_set_lamp", {"on": False})) == '{"lamp": false}'
                assert text_of(await client.call_tool("CApp_quit", {})) == "goodbye"
            stdout, _ = await process.communicate()
            assert (process.returncode, stdout) == (0, b"the lamp is on\nthe lamp is off\n")

    run(scenario())


def test_the_users_own_runtime_and_layers_reach_the_command_behind_ours(folder: Path) -> None:
    async def scenario() -> None:
        own = {"XR_RUNTIME_JSON": "/own.json", LAYER_PATH: "/a:/b", ENABLED_LAYERS: "XR_APILAYER_one:XR_APILAYER_two"}
        command = ["sh", "-c", f"echo $XR_RUNTIME_JSON; echo ${LAYER_PATH}; echo ${ENABLED_LAYERS}"]
        code, stdout, _ = await finished(
            "run", "--port", "0", "--layer", "--", *command, env=environment(folder, **own)
        )
        assert code == 0
        assert stdout.splitlines() == [
            "/own.json",
            f"{FOLDER}:/a:/b",
            f"{LAYER_NAME}:XR_APILAYER_one:XR_APILAYER_two",
        ]

    run(scenario())


@pytest.mark.parametrize("before", [{}, {LAYER_PATH: "", ENABLED_LAYERS: ""}])
def test_where_the_user_names_no_folders_those_of_the_system_follow_ours(
    before: dict[str, str], tmp_path: Path
) -> None:
    found = tmp_path / "data" / "openxr" / "1" / "api_layers" / "explicit.d"
    found.mkdir(parents=True)
    variables = with_layer({**before, "XDG_CONFIG_DIRS": "/nonexistent", "XDG_DATA_DIRS": f"{tmp_path / 'data'}:/nope"})
    folders = variables[LAYER_PATH].split(os.pathsep)
    assert folders[0] == FOLDER
    assert str(found) in folders
    assert all(Path(entry).is_dir() for entry in folders)
    assert variables[ENABLED_LAYERS] == LAYER_NAME


def test_what_is_named_already_is_not_named_twice() -> None:
    once = with_layer({LAYER_PATH: "/a", ENABLED_LAYERS: "XR_APILAYER_one"})
    assert with_layer(once) == once


def test_no_folder_is_named_twice_however_it_is_spelt(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(FOLDER)
    other = str(tmp_path)
    named = os.pathsep.join([other, f"{FOLDER}/", str(link), "/a", "/nowhere/\u00e9", f"{other}/.", "/a"])
    assert with_layer({LAYER_PATH: named})[LAYER_PATH] == os.pathsep.join([FOLDER, other, "/a", "/nowhere/\u00e9"])


def test_no_layer_is_named_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loader 1.0.20 makes no instance then."""
    other = "XR_APILAYER_other"
    monkeypatch.setenv(ENABLED_LAYERS, os.pathsep.join([other, LAYER_NAME, other, LAYER_NAME]))
    assert with_layer(os.environ)[ENABLED_LAYERS] == os.pathsep.join([LAYER_NAME, other])
    monkeypatch.setenv(ENABLED_LAYERS, os.pathsep.join([LAYER_NAME, LAYER_NAME]))
    with MockRuntime(layer=True):
        assert os.environ[ENABLED_LAYERS] == LAYER_NAME
    assert os.environ[ENABLED_LAYERS] == os.pathsep.join([LAYER_NAME, LAYER_NAME])


APP = """
import xr
import openxr_agentic as agentic

names = agentic.enable_extension(["XR_MND_headless"], required=True)
for _ in range(3):
    instance = xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=names))
    with agentic.AgenticExtension(instance) as extension:
        extension.register_tool("tool", "A tool.", [], lambda arguments: "ran")
    xr.destroy_instance(instance)
print("lived")
"""


@pytest.mark.parametrize("extension", ["0", "1"])
def test_a_layer_that_the_loader_finds_in_two_folders_serves_all_the_same(tmp_path: Path, extension: str) -> None:
    """pyopenxr's loader puts the library above itself then."""
    again = tmp_path / "again"
    again.symlink_to(FOLDER)
    variables = {
        LAYER_PATH: os.pathsep.join([FOLDER, str(again)]),
        ENABLED_LAYERS: LAYER_NAME,
        "XR_RUNTIME_JSON": str(manifest_path()),
        "OPENXR_AGENTIC_MOCK_EXTENSION": extension,
    }
    done = subprocess.run(
        [sys.executable, "-c", APP], env=environment(tmp_path, **variables), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "lived\n"), done.stderr
