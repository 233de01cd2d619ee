"""A registry that many threads use at once."""

import asyncio
import contextlib
import sys
import threading
import types
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from openxr_agentic.definition.tool import tool as mark
from openxr_agentic.errors import NameClashError, ToolDisabledError, UnknownToolError
from openxr_agentic.registry.entries import Origin
from openxr_agentic.registry.events import ChangeKind, ToolsChanged

THREADS, TOOLS = 20, 200
SECONDS = 60


@pytest.fixture(autouse=True)
def frequent_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(count, work):
    """Run `work(number)` on threads that begin together; raises what one of them raises."""
    start = threading.Barrier(count)

    def begin(number):
        start.wait(SECONDS)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count), timeout=SECONDS))


def names(registry):
    return [info.name for info in registry.available_tools(ignore_enabled_state=True)]


def base() -> str:
    """Tell the origin."""
    return "decorated"


def cover() -> str:
    """Tell the origin."""
    return "run-time"


def test_threads_register_override_disable_list_and_execute_without_losing_or_doubling_a_tool(registry):
    told = Counter()
    registry.tools_changed.subscribe(lambda change: told.update([change]))
    all_names = [f"tool_{number:03}" for number in range(TOOLS)]

    def work(thread):
        mine = all_names[thread::THREADS]
        for name in mine:
            registry.tool(name=name)(base)
            assert registry.execute(name) == "decorated"
            registry.register(name, cover)
            assert registry.entry(name).origin is Origin.RUNTIME
            assert asyncio.run(registry.execute_async(name)) == "run-time"
            registry.set_enabled(name, False)
            with pytest.raises(ToolDisabledError):
                registry.execute(name)
            registry.set_enabled(name, True)
            assert registry.unregister(name)
            assert registry.execute(name) == "decorated"
            listed = names(registry)
            assert listed == sorted(set(listed))
            assert name in listed
        # Whatever another thread does to it just now: it is one of its two functions, disabled, or not there yet.
        for name in all_names:
            with contextlib.suppress(ToolDisabledError, UnknownToolError):
                assert registry.execute(name) in ("decorated", "run-time")

    at_once(THREADS, work)
    assert names(registry) == all_names
    assert all(entry.origin is Origin.DECORATED and entry.enabled for entry in registry.entries())
    # Added once; covered, disabled, enabled, uncovered.
    assert told == Counter(
        {
            **{ToolsChanged(ChangeKind.ADDED, name): 1 for name in all_names},
            **{ToolsChanged(ChangeKind.UPDATED, name): 4 for name in all_names},
        }
    )


def test_of_threads_that_want_one_name_one_gets_it_and_the_others_are_told(registry):
    def make(number):
        space = {}
        exec(f"def tool_{number}() -> int:\n    'Tell.'\n    return {number}", {"__name__": __name__}, space)
        return space[f"tool_{number}"]

    def work(number):
        try:
            registry.register("same", make(number))
        except NameClashError:
            return None
        return number

    winners = [number for number in at_once(THREADS, work) if number is not None]
    assert [registry.execute("same")] == winners
    unregistered = at_once(THREADS, lambda _: registry.unregister("same"))
    assert unregistered.count(True) == 1
    assert names(registry) == []


def test_refreshes_and_registrations_at_once_lose_nothing_that_stays(registry, monkeypatch):
    module = types.ModuleType("found_by_threads")
    exec("def found() -> str:\n    'Tell.'\n    return 'found'", vars(module))
    mark(module.found)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    registry.initialize(module)

    def work(thread):
        for number in range(10):
            registry.register(f"kept_{thread}_{number}", base, keep=True)
            registry.tool(name=f"decorated_{thread}_{number}")(base)
            registry.register(f"cleared_{thread}_{number}", base)
            registry.refresh()
            assert not registry.has_tool(f"cleared_{thread}_{number}")
            assert registry.execute("found") == "found"

    at_once(THREADS, work)
    numbers = [f"{thread}_{number}" for thread in range(THREADS) for number in range(10)]
    assert names(registry) == sorted(["found", *(f"{kind}_{one}" for kind in ("kept", "decorated") for one in numbers)])


def test_subscribing_and_filtering_at_once_with_changes(registry):
    registry.tool(base)

    def work(thread):
        told = []
        for _ in range(20):
            unsubscribe = registry.tools_changed.subscribe(told.append)
            remove = registry.add_filter(lambda info: info.name != f"hidden_{thread}")
            registry.register(f"hidden_{thread}", cover)
            assert f"hidden_{thread}" not in names(registry)
            registry.unregister(f"hidden_{thread}")
            remove()
            unsubscribe()
        assert ToolsChanged(ChangeKind.ADDED, f"hidden_{thread}") in told

    at_once(THREADS, work)
    assert names(registry) == ["base"]
    count = []
    registry.tools_changed.subscribe(count.append)
    registry.notify_availability_changed("base")
    assert len(count) == 1


def slow_module(tmp_path, monkeypatch, text):
    """Name a module whose import tells that it began, and waits until it may go on."""
    began, go_on = threading.Event(), threading.Event()
    monkeypatch.setitem(sys.modules, "its_events", types.SimpleNamespace(began=began, go_on=go_on))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "slow_module.py").write_text(
        f"import its_events\nits_events.began.set()\nits_events.go_on.wait({SECONDS})\n{text}", encoding="utf-8"
    )
    return began, go_on


FOUND = "import openxr_agentic as agentic\n@agentic.tool\ndef found() -> str:\n    'Tell.'\n    return 'found'\n"


def test_calls_run_and_tools_change_while_a_slow_refresh_looks_for_tools(registry, tmp_path, monkeypatch):
    began, go_on = slow_module(tmp_path, monkeypatch, FOUND)
    registry.tool(base)
    registry.register("temporary", cover)
    refreshing = threading.Thread(target=registry.initialize, args=("slow_module",))
    refreshing.start()
    try:
        assert began.wait(SECONDS)
        again = threading.Thread(target=registry.refresh)
        again.start()
        assert registry.execute("base") == "decorated"
        assert asyncio.run(registry.execute_async("temporary")) == "run-time"
        registry.register("meanwhile", cover)
        assert not registry.has_tool("found")
    finally:
        go_on.set()
        refreshing.join(SECONDS)
    again.join(SECONDS)
    assert registry.execute("found") == "found"
    assert names(registry)[:2] == ["base", "found"]
    sys.modules.pop("slow_module")


def test_what_is_registered_while_a_refresh_looks_for_tools_is_not_cleared_by_it(registry, tmp_path, monkeypatch):
    began, go_on = slow_module(tmp_path, monkeypatch, FOUND)
    registry.register("before", cover)
    registry.initialize(types.ModuleType("empty"))
    monkeypatch.setattr(registry, "_targets", ["slow_module"])
    refreshing = threading.Thread(target=registry.refresh)
    refreshing.start()
    try:
        assert began.wait(SECONDS)
        registry.register("meanwhile", cover)
        assert registry.has_tool("before")
    finally:
        go_on.set()
        refreshing.join(SECONDS)
    assert names(registry) == ["found", "meanwhile"]
    sys.modules.pop("slow_module")


def test_a_module_may_use_the_registry_while_the_registry_imports_it(registry, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "its_registry", types.SimpleNamespace(registry=registry))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "using_module.py").write_text(
        "from its_registry import registry\n@registry.tool\ndef own() -> int:\n    'Tell.'\n    return 1\n"
        "registry.refresh()\nregistry.register('added', own)\n",
        encoding="utf-8",
    )
    assert registry.initialize("using_module") == ()
    assert names(registry) == ["added", "own"]
    sys.modules.pop("using_module")


def test_a_search_that_is_overtaken_by_a_later_one_does_not_undo_it(registry, monkeypatch):
    from openxr_agentic.registry import discovery

    began, go_on = threading.Event(), threading.Event()
    found = discovery.find

    def slow_the_first_time(targets):
        outcome = found(targets)
        if not began.is_set():
            began.set()
            go_on.wait(SECONDS)
        return outcome

    monkeypatch.setattr(discovery, "find", slow_the_first_time)
    registry.register("temporary", cover)
    first = threading.Thread(target=registry.refresh)
    first.start()
    try:
        assert began.wait(SECONDS)
        later = types.ModuleType("later_module")
        exec("def later() -> str:\n    'Tell.'\n    return 'later'", vars(later))
        mark(later.later)
        registry.initialize(later)
        assert names(registry) == ["later", "temporary"]
    finally:
        go_on.set()
        first.join(SECONDS)
    assert names(registry) == ["later"]
