"""Keys typed faster than the screens open reach the place that they are meant for."""

from __future__ import annotations

from pathlib import Path

from textual.events import Key
from textual.widgets import Input

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
