"""``openxr-agentic check``: what is wrong with a module's tools, before any agent sees them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

from cli_harness import COMMAND, environment

from openxr_agentic.cli import inspection
from openxr_agentic.cli.inspection import split_spec

if TYPE_CHECKING:
    from collections.abc import Callable

    Check = Callable[..., tuple[int, str, str]]

HEAD = "import openxr_agentic as agentic\nregistry = agentic.ToolRegistry(prefix='My_', settings=False)\n"
GOOD = '''
@registry.tool
def move(distance: float) -> dict:
    """Move the player, and return the new position.

    Args:
        distance: How far, in metres.
    """
    return {}
'''


@pytest.fixture
def check(tmp_path: Path) -> Check:
    """Write ``tools.py`` and check it: check(source, *words); returns exit code, stdout and stderr."""

    def check(source: str | None, *words: str, **variables: str) -> tuple[int, str, str]:
        if source is not None:
            (tmp_path / "tools.py").write_text(dedent(source), encoding="utf-8")
        command = [*COMMAND, "check", *(words or ("tools",))]
        # No runtime that could be loaded: none is needed.
        env = environment(tmp_path, XR_RUNTIME_JSON="/nowhere.json", **variables)
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
        assert "Traceback" not in done.stdout
        return done.returncode, done.stdout, done.stderr

    return check


def as_json(answer: tuple[int, str, str]) -> dict[str, Any]:
    return dict(json.loads(answer[1]))


def test_good_tools_are_shown_as_agents_see_them_and_fine(check: Check) -> None:
    code, stdout, stderr = check(HEAD + GOOD)
    assert (code, stderr) == (0, "")
    assert "My_move(distance: number)" in stdout
    assert "Move the player" in stdout
    assert "How far, in metres." in stdout
    assert "Nothing to say" in stdout


@pytest.mark.parametrize("spec", ["tools.py", "tools:registry", "./tools.py:registry"])
def test_a_file_or_one_registry_can_be_named(check: Check, spec: str) -> None:
    told = as_json(check(HEAD + GOOD, spec, "--json"))
    assert told["ok"] is True
    assert [registry["name"] for registry in told["registries"]] == ["registry"]
    assert [(tool["name"], tool["offered"]) for tool in told["tools"]] == [("My_move", True)]
    assert (told["problems"], told["advice"]) == ([], [])


def test_warnings_are_told_and_fail_only_when_strict(check: Check) -> None:
    source = HEAD + "@registry.tool(description='Move the player a little.')\ndef move(x: float): ...\n"
    code, stdout, _ = check(source)
    assert code == 0
    assert "warning: Parameter 'x' has no description" in stdout
    code, stdout, _ = check(None, "tools", "--strict")
    assert code == 1
    told = as_json(check(None, "tools", "--strict", "--json"))
    assert told["ok"] is False
    assert {advice["severity"] for advice in told["advice"]} == {"warning"}


def test_hints_do_not_fail_when_strict(check: Check) -> None:
    code, stdout, _ = check(HEAD.replace("My_", "") + GOOD, "tools", "--strict")
    assert "hint: Its name has no prefix" in stdout
    assert code == 0


def test_a_name_that_is_too_long_for_clients_is_told_with_the_servers_name(
    check: Check,
) -> None:
    source = HEAD + GOOD.replace("move", "m" * 47)
    assert as_json(check(source, "tools", "--json"))["advice"] == []
    (advice,) = as_json(check(None, "tools", "--json", "--server-name", "a-server-of-some-length"))["advice"]
    assert (advice["kind"], advice["severity"]) == ("name-length", "warning")
    assert "mcp__a-server-of-some-length__" in advice["text"]


def test_too_many_tools_are_told(check: Check) -> None:
    many = "def go(): 'Move the player, and return nothing.'\nfor n in range(150): registry.register(f'go_{n}', go)\n"
    advice = as_json(check(HEAD + many, "tools", "--json"))["advice"]
    assert [one["kind"] for one in advice] == ["tool-count"]


def test_what_is_marked_and_in_no_registry_is_checked_too(check: Check) -> None:
    source = f"""{HEAD}
@agentic.tool
def look(far: bool = False) -> dict:
    '''Look around, and return what is there.'''

@agentic.tool
def broken(*args):
    '''Cannot be.'''

class Scene:
    def __init__(self, needed): raise RuntimeError("nobody makes one here")
    @registry.tool
    def reset(self) -> dict:
        '''Reset the scene, and return it.'''
    @agentic.tool
    def worse(self, what: object()) -> dict:
        '''Cannot be either.'''
"""
    code, stdout, _ = check(source)
    assert code == 1
    assert "My_look(far?: boolean = false)\n    marked, and in no registry yet" in stdout
    assert "My_reset()\n    a method of Scene: registry.register_object(...)" in stdout
    assert "cannot be registered: tools.broken: " in stdout
    assert "tools.py:8)" in stdout
    told = as_json(check(None, "tools", "--json"))
    assert [(problem["what"], problem["line"]) for problem in told["problems"]] == [
        ("tools.broken", 8),
        ("tools.Scene.worse", 17),
    ]
    assert all(problem["file"].endswith("tools.py") for problem in told["problems"])
    assert as_json(check(None, "tools:registry", "--json"))["tools"] == []


def test_a_method_that_is_registered_is_counted_once(check: Check) -> None:
    source = f"""{HEAD}
class Base:
    @registry.tool
    def reset(self) -> dict:
        '''Reset the scene, and return it.'''

class Scene(Base):
    pass

scene = Scene()
registry.register_object(scene)
"""
    told = as_json(check(source, "tools", "--json"))
    assert [(tool["name"], tool["offered"]) for tool in told["tools"]] == [("My_reset", True)]
    assert told["problems"] == []


def test_what_discovery_could_not_take_in_is_a_problem(check: Check) -> None:
    told = as_json(check(HEAD + GOOD + "registry.initialize('no_such_module_at_all')\n", "tools", "--json"))
    assert told["ok"] is False
    (problem,) = told["problems"]
    assert problem["what"] == "module no_such_module_at_all"


def test_a_disabled_tool_is_shown_as_not_offered(check: Check) -> None:
    code, stdout, _ = check(HEAD + GOOD.replace("@registry.tool", "@registry.tool(enabled_by_default=False)"))
    assert code == 0
    assert "not offered: it is disabled" in stdout


@pytest.mark.parametrize(
    ("source", "words", "told", "line"),
    [
        ("x = 1\n1 / 0\n", "ZeroDivisionError: division by zero", "tools.py", 2),
        ("def f(:\n", "SyntaxError: ", "tools.py", 1),
        ("import sys\n\nsys.exit('bye')\n", "__main__", "tools.py", 3),
        ("import no_such_thing\n", "No module named 'no_such_thing'", "tools.py", 1),
        (HEAD + "\n@registry.tool\ndef f(*args): 'Cannot be.'\n", "it takes *args", "tools.py", 4),
        (
            HEAD + "class A:\n    @registry.tool\n    @staticmethod\n    def f(*args): 'Cannot be.'\n",
            "it takes *args",
            "",
            None,
        ),
    ],
)
def test_a_module_that_cannot_be_imported_is_told_in_one_line_with_the_place(
    check: Check, source: str, words: str, told: str, line: int | None
) -> None:
    code, stdout, stderr = check(source)
    assert (code, stdout) == (1, "")
    (said,) = [text for text in stderr.splitlines() if text.startswith("Error")]
    assert words in said
    assert "Traceback" not in stderr
    if line is not None:
        assert f"{told}:{line})" in said
        (problem,) = as_json(check(None, "tools", "--json"))["problems"]
        assert (problem["file"].endswith(told), problem["line"]) == (True, line)


def test_the_traceback_is_shown_when_asked_for(check: Check) -> None:
    code, stdout, stderr = check("1 / 0\n", "tools", "--traceback")
    assert (code, stdout) == (1, "")
    assert "Traceback" in stderr
    assert stderr.splitlines()[-1].startswith("Error: cannot import tools: ZeroDivisionError")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("no_such_module", "no such module"),
        ("no_such_file.py", "no such file"),
        ("tools:nope", "it has no nope. It has: registry"),
        ("tools:agentic", "is a module, not a ToolRegistry"),
    ],
)
def test_a_module_or_registry_that_is_not_there_is_an_error(check: Check, spec: str, told: str) -> None:
    code, stdout, stderr = check(HEAD, spec)
    assert (code, stdout) == (1, "")
    assert told in stderr


def test_a_module_without_any_tool_is_an_error(check: Check) -> None:
    code, _, stderr = check("x = 1\n")
    assert code == 1
    assert "no ToolRegistry" in stderr


def test_an_empty_registry_is_a_warning_and_no_praise(check: Check) -> None:
    code, stdout, _ = check(HEAD)
    assert code == 0
    assert "warning: there are no tools: nothing is registered" in stdout
    assert "Nothing to say" not in stdout
    assert check(HEAD, "tools", "--strict")[0] == 1
    told = as_json(check(HEAD, "tools", "--json"))
    assert [advice["kind"] for advice in told["advice"]] == ["tool-count"]


def test_that_there_is_no_registry_is_said_once(check: Check) -> None:
    _, _, stderr = check("x = 1\n", "tools:registry")
    assert stderr == "Error: tools: it has no registry, and no registry of another name.\n"


def test_what_the_module_prints_does_not_reach_stdout(check: Check) -> None:
    noise = """
import atexit, os, subprocess, sys
print("from Python")
os.write(1, b"from C\\n")
subprocess.run([sys.executable, "-c", "print('from a child')"])
atexit.register(lambda: (print("at exit"), os.write(1, b"at exit too\\n")))
"""
    answer = check(HEAD + GOOD + noise, "tools", "--json")
    assert as_json(answer)["ok"] is True
    for words in ("from Python", "from C", "from a child", "at exit", "at exit too"):
        assert words in answer[2]


@pytest.mark.parametrize(
    "source",
    ["import xr\nxr.create_instance(xr.InstanceCreateInfo())", "import sys\nsys.modules['xr'] = None\nimport xr"],
)
def test_where_openxr_is_what_fails_the_doctor_is_named(check: Check, source: str) -> None:
    code, _, stderr = check(source)
    assert code == 1
    assert stderr.count("openxr-agentic doctor") == 1


def test_a_file_in_a_package_is_imported_as_a_part_of_it(tmp_path: Path, check: Check) -> None:
    package = tmp_path / "app" / "tools"
    package.mkdir(parents=True)
    (tmp_path / "app" / "__init__.py").touch()
    (package / "__init__.py").write_text(HEAD)
    (package / "move.py").write_text("from . import registry\n" + GOOD)
    told = as_json(check(None, "app/tools/move.py", "--json"))
    assert (told["module"], [tool["name"] for tool in told["tools"]]) == ("app.tools.move", ["My_move"])


def test_a_file_that_is_called_like_a_loaded_module_is_checked(check: Check, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "rich.py").write_text(HEAD + GOOD)
    code, stdout, _ = check(None, "sub/rich.py")
    assert code == 0
    assert "My_move(distance: number)" in stdout
    # What imports the other one later must still get that.
    assert as_json(check(None, "sub/rich.py", "--json"))["module"] == "checked_rich"


def test_modules_are_looked_for_in_the_current_folder_first(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "openxr-agentic"  # an installed program has its own folder on the path instead
    program.write_text("from openxr_agentic.cli import main\nmain()\n")
    (tmp_path / "bin" / "tools.py").write_text("raise RuntimeError('the wrong one')\n")
    (tmp_path / "tools.py").write_text(HEAD + GOOD)
    done = subprocess.run(
        [sys.executable, str(program), "check", "tools"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("a.b", ("a.b", "")),
        ("a.b:c.d", ("a.b", "c.d")),
        ("dir/a.py:c", ("dir/a.py", "c")),
        ("C:\\dir\\a.py", ("C:\\dir\\a.py", "")),
        ("C:\\dir\\a.py:c", ("C:\\dir\\a.py", "c")),
    ],
)
def test_a_colon_separates_module_and_registry_but_not_a_drive(spec: str, parts: tuple[str, str]) -> None:
    assert split_spec(spec) == parts


def test_the_example_apps_are_fine() -> None:
    examples = Path(__file__).resolve().parents[1] / "examples"
    for name in ("registry_app.py", "tools_arguments.py", "tools_classes.py", "tools_functions.py"):
        done = subprocess.run(
            [*COMMAND, "check", name], cwd=examples, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_an_import_that_takes_long_is_told_with_where_an_apps_start_belongs(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(inspection, "_PATIENCE_SECONDS", 0.0)
    file = tmp_path / "patient.py"
    wait = "import sys\nwhile '__main__' not in sys.stderr.getvalue():\n    pass\n"
    file.write_text(f"{HEAD}{wait}{GOOD}", encoding="utf-8")
    inspection.inspect_module(str(file), "openxr")
    assert capsys.readouterr().err.count("\n") == 1


def test_an_app_that_starts_when_it_is_imported_is_told_where_its_start_belongs(check):
    code, _, stderr = check(f"{HEAD}agentic.enable_extension([], required=True)\n")
    assert code == 1
    assert "cannot import tools: No OpenXR runtime" in stderr
    assert "An app's start belongs under if __name__ == '__main__'" in stderr
