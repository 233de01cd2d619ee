"""The user's choices of enabled tools, on disk: nothing is lost, whatever the file or the folder is like."""

import gc
import json
import os
import stat
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest

from openxr_agentic.errors import ConfigurationError, ToolDisabledError
from openxr_agentic.file_lock import locked
from openxr_agentic.registry import settings as settings_module
from openxr_agentic.registry.events import ChangeKind, ToolsChanged
from openxr_agentic.registry.registry import ToolRegistry
from openxr_agentic.registry.settings import SETTINGS_VARIABLE, Settings, default_file

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def no_settings_file(monkeypatch):
    monkeypatch.delenv(SETTINGS_VARIABLE, raising=False)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "folder" / "settings.json"


def registry_with_tools(settings, *names, prefix="MyApp_"):
    registry = ToolRegistry(prefix=prefix, settings=settings)
    for name in names or ("a", "b"):
        registry.register(name, nothing)
    return registry


def nothing() -> None:
    """Do nothing."""


def enabled(registry):
    return [info.name for info in registry.available_tools()]


def content(file):
    return json.loads(file.read_text(encoding="utf-8"))


def write(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


# ---- where


def test_a_registry_keeps_choices_in_memory_unless_a_file_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for given in (None, False):
        registry_with_tools(given).set_enabled("a", False)
    assert list(tmp_path.iterdir()) == []


def test_the_variable_names_the_file_of_all_registries_that_name_none(file, monkeypatch):
    monkeypatch.setenv(SETTINGS_VARIABLE, str(file))
    registry_with_tools(None).set_enabled("a", False)
    assert enabled(registry_with_tools(True)) == ["MyApp_b"]
    assert enabled(registry_with_tools(False)) == ["MyApp_a", "MyApp_b"]
    assert enabled(registry_with_tools(file.parent / "other.json")) == ["MyApp_a", "MyApp_b"]


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="XDG folders")
def test_the_default_file_is_in_the_users_configuration_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for relative in ("", "relative"):  # which the specification says to ignore
        monkeypatch.setenv("XDG_CONFIG_HOME", relative)
        assert default_file() == tmp_path / ".config" / "openxr-agentic" / "settings.json"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    registry_with_tools(True).set_enabled("a", False)
    assert content(tmp_path / "config" / "openxr-agentic" / "settings.json")["apps"]


def test_a_user_without_a_home_gets_an_error_that_says_what_to_do(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(settings_module, "_config_folder", no_home)
    with pytest.raises(ConfigurationError, match=f"Name one with {SETTINGS_VARIABLE}"):
        ToolRegistry(settings=True)
    with pytest.raises(ConfigurationError, match="need the app's name"):
        Settings("", "file")


def test_the_apps_name_is_the_prefix_or_that_of_the_program(file, monkeypatch):
    registry_with_tools(file).set_enabled("a", False)
    monkeypatch.setattr(sys, "argv", ["/opt/other_app.py"])
    registry_with_tools(file, prefix="").set_enabled("a", False)
    registry_with_tools(Settings("Named", file)).set_enabled("a", True)
    assert content(file) == {
        "version": 1,
        "apps": {
            "MyApp": {"tools": {"MyApp_a": False}},
            "Named": {"tools": {"MyApp_a": True}},
            "other_app": {"tools": {"a": False}},
        },
    }


# ---- what is kept


def test_choices_are_there_again_in_the_next_run(file):
    registry = registry_with_tools(file)
    registry.set_enabled("a", False)
    registry.register("off", nothing, enabled_by_default=False, groups="g")
    registry.set_enabled(group="g", enabled=True)
    again = registry_with_tools(file)
    again.register("off", nothing, enabled_by_default=False)
    assert enabled(again) == ["MyApp_b", "MyApp_off"]
    again.set_enabled("a", None)
    assert content(file)["apps"]["MyApp"]["tools"] == {"MyApp_off": True}


def test_the_choice_of_a_tool_that_is_not_there_is_kept_until_it_comes_back(file):
    registry_with_tools(file).set_enabled("a", False)
    registry = registry_with_tools(file, "b")
    registry.set_enabled("b", False)
    registry.register("a", nothing)
    assert not registry.is_enabled("a")


def test_what_else_is_in_the_file_stays(file):
    write(file, '{"note": 1, "apps": {"Other": {"tools": "odd"}, "MyApp": {"more": [2], "tools": {"MyApp_z": true}}}}')
    registry_with_tools(file).set_enabled("a", False)
    assert content(file) == {
        "version": 1,
        "note": 1,
        "apps": {"Other": {"tools": "odd"}, "MyApp": {"more": [2], "tools": {"MyApp_z": True, "MyApp_a": False}}},
    }


def test_a_new_file_takes_the_place_of_the_old_one_and_nothing_else_is_left(file):
    registry = registry_with_tools(file)
    registry.set_enabled("a", False)
    first = file.stat().st_ino
    opened = file.open(encoding="utf-8")
    registry.set_enabled("b", False)
    with opened:
        assert json.load(opened)["apps"]["MyApp"]["tools"] == {"MyApp_a": False}
    assert os.name == "nt" or file.stat().st_ino != first
    assert sorted(path.name for path in file.parent.iterdir()) == ["settings.json", "settings.json.lock"]


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need rights there")
def test_a_symbolic_link_stays_one(file, tmp_path):
    file.parent.mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(file)
    registry_with_tools(link).set_enabled("a", False)
    assert link.is_symlink()
    assert content(file)["apps"]["MyApp"]["tools"] == {"MyApp_a": False}


def test_a_write_that_fails_leaves_the_old_file_and_is_written_with_the_next(file, monkeypatch, caplog):
    registry = registry_with_tools(file)
    registry.set_enabled("a", False)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        registry.set_enabled("b", False)
        registry.set_enabled("a", None)
        assert enabled(registry) == ["MyApp_a"]
    assert content(file)["apps"]["MyApp"]["tools"] == {"MyApp_a": False}
    assert sorted(path.name for path in file.parent.iterdir()) == ["settings.json", "settings.json.lock"]
    assert caplog.text.count("No space left on device") == 1
    registry.refresh()
    registry.register("c", nothing)
    registry.set_enabled("c", False)
    assert content(file)["apps"]["MyApp"]["tools"] == {"MyApp_b": False, "MyApp_c": False}


# ---- files that cannot be used


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is no JSON"),
        ('{"apps": {', "it is no JSON"),
        ("\udcff", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ("[]", "it is not a JSON object"),
        ('{"apps": []}', "'apps' in it is not an object"),
        ('{"apps": {"MyApp": 5}}', "'MyApp' in it is not an object"),
        ('{"apps": {"MyApp": {"tools": null}}}', "'tools' in it is not an object"),
        ('{"apps": {"MyApp": {"tools": {"MyApp_a": "no"}}}}', "tool 'MyApp_a' of MyApp is neither true nor false"),
    ],
)
def test_a_broken_file_is_reported_once_and_kept_aside(file, caplog, text, why):
    file.parent.mkdir()
    data = text.encode(errors="surrogateescape")
    file.with_name("settings.json.broken-1").write_bytes(b"an older one")
    file.write_bytes(data)
    registry = registry_with_tools(file)
    assert enabled(registry) == ["MyApp_a", "MyApp_b"]
    registry.set_enabled("a", False)
    assert caplog.text.count("is broken") == 1
    assert why in caplog.text
    assert file.with_name("settings.json.broken-2").read_bytes() == data
    assert file.with_name("settings.json.broken-1").read_bytes() == b"an older one"
    assert enabled(registry_with_tools(file)) == ["MyApp_b"]


def test_a_file_that_breaks_while_the_app_runs_loses_no_choice_of_this_call(file, caplog):
    registry = registry_with_tools(file)
    write(file, "broken")
    registry.set_enabled("a", False)
    assert enabled(registry) == ["MyApp_b"]
    assert file.with_name("settings.json.broken-1").read_text(encoding="utf-8") == "broken"
    assert content(file)["apps"]["MyApp"]["tools"] == {"MyApp_a": False}


def test_a_file_of_another_version_is_left_alone(file, caplog):
    write(file, '{"version": 2, "something": "else"}')
    registry = registry_with_tools(file)
    registry.set_enabled("a", False)
    assert enabled(registry) == ["MyApp_b"]
    assert content(file) == {"version": 2, "something": "else"}
    assert "it has version 2, and this openxr-agentic knows 1; update it" in caplog.text


def test_where_nothing_can_be_written_it_is_said_once_and_choices_count_until_the_end(tmp_path, caplog):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be", encoding="utf-8")
    registry = registry_with_tools(blocked / "settings.json")
    registry.set_enabled("a", False)
    registry.set_enabled("b", False)
    registry.refresh()
    for name in "ab":
        registry.register(name, nothing)
    assert enabled(registry) == []
    assert caplog.text.count("cannot be written") == 1
    assert str(blocked / "settings.json") in caplog.text


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_a_folder_without_permission_is_no_obstacle_and_a_broken_file_in_it_stays(file, caplog):
    write(file, "broken")
    file.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        if os.access(file.parent, os.W_OK):
            pytest.skip("this user may write everywhere")
        registry = registry_with_tools(file)
        registry.set_enabled("a", False)
        assert enabled(registry) == ["MyApp_b"]
    finally:
        file.parent.chmod(stat.S_IRWXU)
    assert file.read_text(encoding="utf-8") == "broken"
    assert "is broken: it is no JSON" in caplog.text
    assert "cannot be written" in caplog.text


def test_a_lock_that_another_holds_is_waited_for_and_then_said(file, monkeypatch, caplog):
    registry = registry_with_tools(file)
    file.parent.mkdir()
    monkeypatch.setattr(settings_module, "_LOCK_SECONDS", 0.02)
    with locked(str(file), 1):
        registry.set_enabled("a", False)
        assert "another process holds" in caplog.text
    assert enabled(registry) == ["MyApp_b"]
    registry.set_enabled("b", None)
    assert content(file)["apps"]["MyApp"]["tools"] == {"MyApp_a": False}


# ---- several at once


def test_news_from_another_registry_arrive_with_a_change_and_with_a_refresh(file):
    one, two = registry_with_tools(file), registry_with_tools(file)
    told = []
    two.tools_changed.subscribe(told.append)
    one.set_enabled("a", False)
    assert enabled(two) == ["MyApp_a", "MyApp_b"]
    two.set_enabled("b", False)
    assert enabled(two) == []
    assert told == [ToolsChanged(ChangeKind.UPDATED, "MyApp_a"), ToolsChanged(ChangeKind.UPDATED, "MyApp_b")]
    one.refresh()
    assert (one.has_tool("a"), one.has_tool("b")) == (False, False)
    one.register("b", nothing)
    assert not one.is_enabled("b")


def test_threads_lose_no_choice_of_each_other(file):
    registries = [registry_with_tools(file, *(f"t{number}" for number in range(20))) for _ in range(4)]

    def disable(first):
        for number in range(first, 20, 4):
            registries[first].set_enabled(f"t{number}", False)

    threads = [threading.Thread(target=disable, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert content(file)["apps"]["MyApp"]["tools"] == {f"MyApp_t{number}": False for number in range(20)}


def test_processes_lose_no_choice_of_each_other(file):
    program = (
        "import sys\n"
        "from openxr_agentic.registry.settings import Settings\n"
        "settings = Settings('MyApp', sys.argv[1])\n"
        "input()\n"
        "for number in range(25):\n"
        "    settings.change({f'{sys.argv[2]}_{number}': False})\n"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(file), name], stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
        )
        for name in "abcd"
    ]
    for process in started:  # all are waiting at once before the first writes
        process.stdin.write(b"\n")
    for process in started:
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, b"")
    tools = content(file)["apps"]["MyApp"]["tools"]
    assert tools == {f"{name}_{number}": False for name in "abcd" for number in range(25)}


@pytest.mark.parametrize("how", ["of a registry", "of the settings", "of another process"])
def test_registries_that_share_settings_each_tell_of_a_change(tmp_path, how):
    file = tmp_path / "settings.json"
    shared = Settings("MyApp", file)
    registries = [ToolRegistry(settings=shared) for _ in range(3)]
    heard = [[] for _ in registries]

    def tell() -> str:
        """Tell."""
        return "told"

    for registry, changes in zip(registries[:2], heard, strict=False):
        registry.register(None, tell)
        registry.tools_changed.subscribe(changes.append)
    registries[2].tools_changed.subscribe(heard[2].append)
    if how == "of a registry":
        registries[0].set_enabled("tell", False)
    elif how == "of the settings":
        shared.change({"tell": False})
    else:
        Settings("MyApp", file).change({"tell": False})
        shared.load()
    updated = [ToolsChanged(ChangeKind.UPDATED, "tell")]
    assert heard == [updated, updated, []]
    with pytest.raises(ToolDisabledError):
        registries[1].execute("tell")


def test_shared_settings_keep_no_registry_alive(tmp_path):
    shared = Settings("MyApp", tmp_path / "settings.json")
    registry = ToolRegistry(settings=shared)
    reference = weakref.ref(registry)
    del registry
    gc.collect()
    assert reference() is None
    shared.change({"tell": False})
