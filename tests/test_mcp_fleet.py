"""All apps at once: each tool as <app>__<tool>."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("mcp")

from agent_harness import Gate, run, serving_all, text_of, until
from fake_app import FakeApp
from mcp import MCPError

from openxr_agentic.mcp.apps.fleet import MAX_APP_CHARACTERS, MOST_AWAY, _fit_for_a_name

if TYPE_CHECKING:
    from pathlib import Path

    from mcp import Client

MINE, PARENT = os.getpid(), os.getppid()


def app(name: str, pid: int = MINE, tool: str = "who") -> FakeApp:
    """An app with one tool, which says the app's name."""
    made = FakeApp(name=name, pid=pid)

    async def who(arguments: str) -> str:
        return json.dumps([name, json.loads(arguments)])

    made.add(tool, who)
    return made


async def names(client: Client) -> list[str]:
    return [tool.name for tool in (await client.list_tools()).tools]


def test_the_tools_of_all_apps_are_listed_and_each_call_reaches_its_own(folder: Path) -> None:
    game, editor = app("My Game: II"), app("Editor", PARENT)

    async def scenario() -> None:
        async with game.running(folder), editor.running(folder), serving_all() as (fleet, client):
            await until(lambda: len(fleet.offers) == 2)
            assert sorted(await names(client)) == ["Editor__who", "My_Game_II__who"]
            result = await client.call_tool("My_Game_II__who", {"a": 1})
            assert text_of(result) == '["My Game: II", {"a": 1}]'
            assert text_of(await client.call_tool("Editor__who", {})) == '["Editor", {}]'
            with pytest.raises(MCPError, match="Did you mean Editor__who"):
                await client.call_tool("Editor_who", {})
            with pytest.raises(MCPError, match="Unknown tool: who"):
                await client.call_tool("who", {})

    run(scenario())


def test_two_apps_of_one_name_are_numbered_and_a_restart_changes_no_name(folder: Path) -> None:
    first, second = app("Game"), app("Game", PARENT)

    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            fleet, client = await stack.enter_async_context(serving_all())
            await stack.enter_async_context(first.running(folder))
            await until(lambda: len(fleet.offers) == 1)
            async with second.running(folder):
                await until(lambda: len(fleet.offers) == 2)
                assert await names(client) == ["Game__who", "Game_2__who"]
            await until(lambda: fleet.absence != "")
            assert await names(client) == ["Game__who", "Game_2__who"]
            away = await client.call_tool("Game_2__who", {})
            assert away.is_error
            assert "Game is not running" in text_of(away)
            assert not (await client.call_tool("Game__who", {})).is_error
            async with second.running(folder):
                await until(lambda: fleet.absence == "")
                assert await names(client) == ["Game__who", "Game_2__who"]
                assert not (await client.call_tool("Game_2__who", {})).is_error

    run(scenario())


def test_a_client_is_told_of_apps_that_come(folder: Path) -> None:
    async def scenario() -> None:
        async with serving_all() as (_, client), client.listen(tools_list_changed=True) as changes:
            with pytest.raises(MCPError, match="No app was found yet"):
                await client.call_tool("Game__who", {})
            async with app("Game").running(folder):
                await anext(changes)
                assert await names(client) == ["Game__who"]

    run(scenario())


def test_one_app_that_is_blocked_holds_up_no_other(folder: Path) -> None:
    stuck, game = FakeApp(name="Stuck"), app("Game", PARENT)
    gate = Gate()
    stuck.add("wait", gate)

    async def scenario() -> None:
        async with stuck.running(folder), game.running(folder), serving_all() as (fleet, client):
            await until(lambda: len(fleet.offers) == 2)
            waiting = asyncio.ensure_future(client.call_tool("Stuck__wait", {}))
            await gate.entered.wait()
            assert not (await client.call_tool("Game__who", {})).is_error
            gate.opened.set()
            assert text_of(await waiting) == "opened"

    run(scenario())


def test_of_many_apps_that_have_left_the_first_is_forgotten(folder: Path) -> None:
    async def scenario() -> None:
        async with serving_all() as (fleet, client):
            for number in range(MOST_AWAY + 1):
                async with app(f"App{number}").running(folder):
                    await until(lambda number=number: f"App{number}__who" in fleet.offers)
                await until(lambda number=number: f"App{number}" in fleet.absence or number == MOST_AWAY)
            await until(lambda: "App0__who" not in fleet.offers)
            assert await names(client) == [f"App{number}__who" for number in range(1, MOST_AWAY + 1)]
            with pytest.raises(MCPError):
                await client.call_tool("App0__who", {})

    run(scenario())


def test_no_two_tools_of_different_apps_get_one_name(folder: Path) -> None:
    one, two = FakeApp(name="a"), FakeApp(name="a__b", pid=PARENT)
    for made, tool in ((one, "b__c"), (two, "c"), (one, "_x"), (two, "_")):

        async def who(arguments: str, name: str = f"{made.name} {tool}") -> str:
            return name

        made.add(tool, who)

    async def scenario() -> None:
        async with one.running(folder), two.running(folder), serving_all() as (fleet, client):
            await until(lambda: len(fleet.offers) == 4)
            told = {name: text_of(await client.call_tool(name, {})) for name in await names(client)}
            assert told == {"a__b__c": "a b__c", "a___x": "a _x", "a_b__c": "a__b c", "a_b___": "a__b _"}

    run(scenario())


def test_apps_whose_names_only_look_alike_in_a_tools_name_do_not_share_a_place(folder: Path) -> None:
    async def scenario() -> None:
        async with serving_all() as (fleet, client):
            async with app("My App").running(folder):
                await until(lambda: len(fleet.offers) == 1)
            await until(lambda: fleet.absence != "")
            async with app("My_App", PARENT).running(folder):
                await until(lambda: len(fleet.offers) == 2)
                assert await names(client) == ["My_App__who", "My_App_2__who"]
                assert text_of(await client.call_tool("My_App_2__who", {})) == '["My_App", {}]'
                assert (await client.call_tool("My_App__who", {})).is_error

    run(scenario())


@pytest.mark.parametrize(
    ("application_name", "place"),
    [
        ("Game", "Game"),
        ("My Game: II", "My_Game_II"),
        ("", "app"),
        ("世界", "app"),
        ("ß-9", "9"),
        ("a__b", "a_b"),
        ("x" * (MAX_APP_CHARACTERS - 1) + "_y", "x" * (MAX_APP_CHARACTERS - 1)),
        ("x" * 100, "x" * MAX_APP_CHARACTERS),
    ],
)
def test_an_apps_name_is_made_fit_for_a_tools_name(application_name: str, place: str) -> None:
    assert _fit_for_a_name(application_name) == place
