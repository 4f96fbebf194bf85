"""Keys typed faster than the screens open reach the place that they are meant for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from textual.events import Key
from textual.widgets import Input

from analyzer.tui.prompts import Prompt
from analyzer.tui.screens import proving
from analyzer.tui.screens.repair import Repairing
from analyzer.tui.screens.workspace import Workspace
from tests.tui.driver import WRITTEN, Driver, opened, run


async def at_once(driver: Driver, *keys: str) -> None:
    """Send keys in one piece, as a terminal does after a delay on the line; wait for all of them together."""
    for key in keys:
        event = Key(key, key if len(key) == 1 else WRITTEN.get(key))
        event.set_sender(driver.app)
        assert driver.app._driver is not None
        driver.app._driver.send_message(event)
    await driver.rest()


def test_what_is_typed_behind_a_question_is_its_answer(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await at_once(driver, "enter", "slash", *"meQq")
            field = driver.app.screen.query_one(Input)
            assert field.value == "meQq"  # neither left nor quit: the letters were for the prompt

    run(story())


def test_a_query_may_be_typed_without_looking(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await at_once(driver, "enter", "colon", *"item", "enter")
            assert driver.workspace.bar.field.value == "item"
            assert driver.app.focused is driver.pane("hits")
            await driver.press("enter")
            assert driver.app.focused is driver.pane("event")
            assert driver.workspace.event_pane.path == "$['item']"

    run(story())


def test_keys_on_the_way_to_the_hits_are_no_part_of_the_expression(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter")
            await at_once(driver, "colon", *"keys(@)", "enter", "j", "k")
            assert driver.workspace.bar.field.value == "keys(@)"
            assert driver.app.focused is driver.pane("hits")

    run(story())


def test_what_is_taken_along_is_of_the_row_under_the_cursor(
    plain_audit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = tmp_path / "audit"
    shutil.copytree(plain_audit, audit)

    async def story() -> None:
        async with opened(audit) as driver:
            await driver.press("enter", "a")
            monkeypatch.setattr(proving, "_REST", 0.3)
            await at_once(driver, "j", "j", "m")  # the evidence of the first row is still there
            await driver.until(lambda: isinstance(driver.app.screen, Prompt))
            await driver.press("enter")
            [mark] = driver.app.marks.marks.values()
            row = driver.workspace.row()
            assert row is not None
            assert (mark.event, mark.line) == (row["event"], row["line"])
            copied: list[str] = []
            monkeypatch.setattr(driver.app, "copy_to_clipboard", copied.append)
            await at_once(driver, "j", "Y")
            await driver.until(lambda: bool(copied))
            assert f"log.ndjson:{row['line'] + 1} " in copied[0]

    run(story())


def test_keys_for_a_session_that_opens_wait_for_its_rows(plain_audit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            fill = Workspace.fill_rows
            monkeypatch.setattr(Workspace, "fill_rows", lambda _: None)
            await at_once(driver, "enter", "d")
            fill(driver.workspace)
            await driver.until(lambda: isinstance(driver.app.screen, Repairing))

    run(story())
