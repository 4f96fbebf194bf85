"""Random keys out of the bound ones: nothing crashes, and every screen is reached."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from analyzer.tui.keys import KEYS
from analyzer.tui.screens.place import Place
from tests.tui.driver import Driver, opened, run
from tests.tui.test_hostile import unsafe

BOUND = sorted({name for key in KEYS for name in key.keys.split(",")} - {"Q", "ctrl+q"})
# Letters that a prompt takes, and keys that no table names: they must do nothing.
OTHERS = ["$", "A", "B", "backspace", "ctrl+x", "f9", "insert", "comma", "ctrl+p"]
OPENING = ["enter", "enter", "enter", "a", "t", "c", "c", "u", "d", "d", "i", "r", "T"]
LEAVING = ["escape", "enter"]
SCREENS = {
    "Overview",
    "Workspace",
    "Contracts",
    "Versions",
    "Timeline",
    "LaneTable",
    "Calls",
    "Raw",
    "Repairing",
    "Help",
    "Manual",
    "MarkList",
    "Prompt",
    "Choice",
}


async def hammer(driver: Driver, keys: int, seed: int) -> set[str]:
    """Press random keys, mostly faster than anything can follow, and give the screens that were seen.

    Keys that open something are a little likelier, prompts do not swallow everything, and a filter that keeps nothing
    does not stay for ever: else chance would spend its time in front of closed doors.
    """
    chance = random.Random(seed)
    seen: set[str] = set()
    for number in range(keys):
        asking = not isinstance(driver.app.screen, Place)
        pool = OTHERS if chance.random() < 0.05 else LEAVING if asking and chance.random() < 0.3 else BOUND
        key = chance.choice(OPENING if not asking and chance.random() < 0.25 else pool)
        if key in OPENING and chance.random() < 0.5:
            await driver.rest()  # what opens a screen needs the evidence of the row, which follows the cursor
        if key == "x":
            continue  # exports are tried by name elsewhere: here they would write files
        await driver.strike(key)
        seen.add(type(driver.app.screen).__name__)
        if number % 150 == 149:
            await driver.press(*["escape"] * 12, "f", "ctrl+u", "enter")
        if number % 10 == 0:
            await driver.rest()
            assert unsafe(driver) == []
        if len(driver.app.screen_stack) > 12:
            await driver.press(*["escape"] * 6)
    await driver.press(*["escape"] * 12)
    assert driver.app._exception is None
    return seen


@pytest.mark.parametrize("kind", ["hostile", pytest.param("plain", marks=pytest.mark.long)])
def test_some_random_keys(kind: str, plain_audit: Path, hostile_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit if kind == "plain" else hostile_audit) as driver:
            await hammer(driver, 150, seed=4)

    run(story())


@pytest.mark.long
@pytest.mark.parametrize("kind", ["sample", "hostile"])
def test_five_thousand_random_keys_reach_every_screen(
    kind: str, root: Path, hostile_audit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)

    async def story() -> None:
        async with opened("sample_traces" if kind == "sample" else hostile_audit, size=(110, 34)) as driver:
            await driver.until(lambda: driver.app.case is not None, 60)
            seen = await hammer(driver, 5_000, seed=1117)
            assert seen >= SCREENS, SCREENS - seen

    run(story(), 3600)
