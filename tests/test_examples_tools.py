"""The examples of tools, run the way their first lines say, and what they print."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from openxr_agentic import host

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PRINTED = {
    "tools_functions.py": """\
{'name': 'ball', 'position': (0.0, 1.0, 0.0), 'seconds': 2.0}
HIGH 70 None
Example_who_is_called
wall is green
1 6
There is no door 'back'. Doors: front.
Example_move was not run: 4 faults in its arguments:
- name: missing, expected text
- position: missing, expected an array (3 numbers)
- speed: got "fast", expected a number
- nam: there is no such argument, did you mean "name"?
""",
    "tools_classes.py": """\
{'lit': True} True False
Example_desk_switch was not run: its owner is gone: it is closed.
9.81 ['ball', 'box']
['Ada', 'Alan']
""",
    "tools_async.py": """\
{'Ada': 3, 'Alan': 4}
[{'Ada': 3}, {'Grace': 5}]
Example_wait_for_player took longer than 0.05 s and was cancelled.
""",
    "tools_arguments.py": """\
{'spawned': ['orc', 'orc'], 'at': (0.0, 0.0, 0.0), 'tags': []}
{'quality': 'low'}
Hello (5 s)
Example_set_picture was not run: quality: got "hihg", expected text (one of: low, high), did you mean "high"?
('kind', {'type': 'string', 'description': "What to spawn, as 'orc'"})
('count', {'type': 'integer', 'description': 'How many', 'default': 1})
('position', {'type': 'array', 'items': {'type': 'number'}, 'minItems': 3, 'maxItems': 3, \
'description': 'Where, in metres', 'default': [0.0, 0.0, 0.0]})
('tags', {'type': 'array', 'items': {'type': 'string'}, 'description': 'Words to find them by', 'default': []})
""",
    "tools_discovery.py": """\
0 problems
Example_dim_light ('lights',) disabled
Example_list_actors ('actors',) enabled
Example_wave ('actors',) enabled
waving
{'Ada': 'waving', 'Alan': 'waiting'}
90
Ada is on strike
waving 80
""",
}


def environment(folder, **more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENXR_AGENTIC_", "XR_"))}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**kept, "PYTHONPATH": path, "XDG_RUNTIME_DIR": str(folder), **more}


def test_every_example_of_tools_is_tested():
    assert sorted(path.name for path in EXAMPLES.glob("tools_*.py")) == sorted(PRINTED)


@pytest.mark.parametrize("example", sorted(PRINTED))
def test_an_example_prints_what_its_tools_return(example, tmp_path):
    command = [sys.executable, "-W", "error", str(EXAMPLES / example)]
    # From another folder, and without an OpenXR runtime: it needs none.
    done = subprocess.run(
        command, env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    # A fault's own question mark may end its sentence or stand before the full stop.
    assert done.stdout.replace("?.\n", "?\n") == PRINTED[example]


def test_the_registry_app_offers_its_tools_and_ends_when_its_time_is_over(tmp_path):
    pytest.importorskip("xr", exc_type=Exception)
    env = environment(tmp_path, XR_RUNTIME_JSON=str(host.manifest_path()))
    command = [sys.executable, str(EXAMPLES / "registry_app.py"), "--seconds", "0.1"]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Agents can call Example_create_cube, Example_drop_cube, Example_list_cubes.\n"
    assert "Traceback" not in done.stderr


def test_an_agent_changes_the_scene_of_the_registry_app():
    pytest.importorskip("click")
    pytest.importorskip("rich")
    mcp = pytest.importorskip("mcp")
    from agent_harness import run
    from cli_harness import environment as own_environment
    from cli_harness import line_with, started

    async def scenario(folder):
        command = (sys.executable, str(EXAMPLES / "registry_app.py"))
        async with started("run", "--port", "0", "--", *command, env=own_environment(Path(folder))) as process:
            url = re.search(r"http://\S+/mcp", await line_with(process.stderr, "serving MCP at"))
            await line_with(process.stderr, "connected to")
            async with mcp.Client(url[0]) as client:
                while not (tools := (await client.list_tools()).tools):
                    pass  # each turn asks the server; the app registers at its own pace
                while len(tools) < 3:
                    tools = (await client.list_tools()).tools
                assert [tool.name for tool in tools] == [
                    "Example_create_cube",
                    "Example_drop_cube",
                    "Example_list_cubes",
                ]
                made = await client.call_tool("Example_create_cube", {"position": [0, 0.02, 0]})
                assert made.structured_content == {"name": "cube_1", "position": [0, 0.02, 0], "falling": False}
                await client.call_tool("Example_drop_cube", {"name": "cube_1"})
                while (
                    '"position":[0.0,0.0,0.0]' not in (await client.call_tool("Example_list_cubes", {})).content[0].text
                ):
                    pass  # it falls with each frame
                refused = await client.call_tool("Example_drop_cube", {"name": "cube_2"})
                assert refused.is_error
                assert refused.content[0].text == "Error: There is no cube 'cube_2'.\nTip: Cubes: cube_1."
            process.send_signal(signal.SIGINT)
            _, stderr = await process.communicate()
            assert process.returncode == 0, stderr.decode()
            assert b"Traceback" not in stderr

    with TemporaryDirectory() as folder:  # with a path short enough for a socket
        run(scenario(folder))
