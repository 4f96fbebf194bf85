"""Ways that lead far: to slow steps, to a pane by its letter, and how wide columns are; and what a key costs."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from analyzer.tui.lines import Lines
from analyzer.tui.rows import Column, FrameRows
from analyzer.tui.screens.overview import Overview
from analyzer.tui.screens.timeline import Timeline
from tests.tui.driver import opened, run
from tests.tui.terminal import Terminal, workspace_command

SECONDS = (0, 2, 3, 40, 41, 41.5, 46, 300, 301)  # slow are the events behind 2, 37, 4.5 and 254 seconds, and of one


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A chat between a person and an agent, with one bad call, and waits of many lengths."""
    lines, before = [], None
    for number, second in enumerate(SECONDS):
        uuid = f"aaaaaaaa-0000-4000-8000-{number:012d}"
        line = {
            "parentUuid": before,
            "uuid": uuid,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/srv/app",
            "sessionId": "0f0e0d0c-1111-4222-8333-444455556666",
            "version": "2.0.1",
            "timestamp": f"2026-01-02T03:{int(second) // 60:02d}:{second % 60:06.3f}Z",
            **_said(number),
        }
        lines.append(json.dumps(line))
        before = uuid
    file = tmp_path / "session.jsonl"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def _said(number: int) -> dict[str, Any]:
    if number == 3:
        call = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "/srv/x"}}
        return _assistant(number, call)
    if number == 4:
        error = "<tool_use_error>InputValidationError: the required parameter `file_path` is missing</tool_use_error>"
        told = {"type": "tool_result", "tool_use_id": "toolu_1", "content": error, "is_error": True}
        return {"type": "user", "message": {"role": "user", "content": [told]}}
    if number % 2:
        return _assistant(number, {"type": "text", "text": f"answer {number}"})
    return {"type": "user", "message": {"role": "user", "content": f"question {number}"}}


def _assistant(number: int, content: dict[str, Any]) -> dict[str, Any]:
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "content": [content]}
    return {"type": "assistant", "requestId": f"req_{number}", "message": message}


def test_keys_lead_to_the_slow_steps(recording: Path) -> None:
    async def story() -> None:
        async with opened(recording) as driver:
            await driver.press("a", "g")  # the events; the only session is open
            seen = []
            for _ in range(8):
                await driver.press("s")
                seen.append(driver.chosen("rows").split()[0])
                told = driver.text()
                if seen[-1] == "7":
                    assert "254.0 s since the event before, number 1 of the slowest steps" in told
            assert seen == ["1", "2", "3", "4", "6", "7", "8", "8"]
            assert "no more slow steps this way" in driver.text()
            await driver.press("S", "S")
            assert driver.chosen("rows").split()[0] == "6"
            await driver.press("a")  # from the findings on, by their events
            at = driver.workspace.on_screen
            assert at == "findings"
            await driver.press("s")
            assert driver.workspace.on_screen == "events"

    run(story())


def test_slow_steps_are_found_in_the_lanes(recording: Path) -> None:
    async def story() -> None:
        async with opened(recording) as driver:
            await driver.press("t")
            assert isinstance(driver.app.screen, Timeline)
            await driver.press("g", "0", "h")
            seen = []
            for _ in range(8):
                await driver.press("s")
                seen.append(driver.app.screen.query_one("#lanes", Lines).border_subtitle)
            places = dict.fromkeys(str(each).split()[0] for each in seen)  # a cell holds several of the first
            assert list(places) == ["03:00:39", "03:00:43", "03:04:57"]
            assert "no more this way in this lane" in driver.text()

    run(story())


def test_without_times_nothing_is_slow(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter", "a", "s")  # every quarter of a second an event
            assert "no more slow steps this way" in driver.text()

    run(story())


def test_a_letter_leads_to_each_pane(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit, size=(80, 24)) as driver:
            assert isinstance(driver.app.screen, Overview)
            await driver.press("ctrl+o")
            assert "(a) " in driver.text()
            await driver.press("s")
            assert driver.app.focused is driver.app.screen.query(Lines)[1]
            assert "(a) " not in driver.text()
            await driver.press("ctrl+o", "a", "enter")
            for letter, name in (("d", "schema"), ("s", "event"), ("a", "rows")):
                await driver.press("ctrl+o", letter)
                assert driver.app.focused is driver.pane(name)
            await driver.press("ctrl+o", "escape")
            assert driver.app.focused is driver.pane("rows")
            await driver.press("d", "ctrl+o")
            assert "the only pane" in driver.text()

    run(story())


def test_columns_are_made_wider_and_narrower(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit) as driver:
            await driver.press("enter")
            usual = driver.pane("rows").model.header(110)
            assert usual is not None
            await driver.press("greater_than_sign")
            wider = driver.pane("rows").model.header(110)
            assert wider is not None
            assert sum(len(text) for text, _ in wider) == sum(len(text) for text, _ in usual)
            assert len(wider[-1][0]) < len(usual[-1][0])
            await driver.press("a", "a")  # the pane remembers it
            assert driver.pane("rows").model.header(110) == wider
            await driver.press("less_than_sign", "less_than_sign")
            narrower = driver.pane("rows").model.header(110)
            assert narrower is not None
            assert len(narrower[-1][0]) > len(usual[-1][0])
            await driver.press("enter", "less_than_sign")
            assert "this pane has no columns" in driver.text()

    run(story())


@pytest.mark.parametrize("spread", [-400, -4, 4, 400])
def test_no_width_makes_a_column_vanish(spread: int) -> None:
    import polars as pl

    names = ("one", "two", "three")
    rows = FrameRows(
        pl.DataFrame({name: ["x" * 50] for name in names}),
        [Column("one", "one", 20), Column("two", "two", 16, middle=True), Column("three", "three", 0)],
    )
    rows.spread = spread
    for width in (30, 60, 200):
        header = rows.header(width)
        assert header is not None
        assert all(len(text) >= 5 for text, _ in header)
        assert sum(len(text) for text, _ in header) == sum(len(text) for text, _ in _usual(rows, width))


def _usual(rows: FrameRows, width: int) -> list[tuple[str, str]]:
    header = FrameRows(rows.frame, rows.columns).header(width)
    assert header is not None
    return header


def test_a_key_that_scrolls_sends_what_changed(plain_audit: Path) -> None:
    terminal = Terminal(workspace_command(str(plain_audit)))
    try:
        terminal.until(b"s000")
        terminal.quiet(0.6)
        for key in ("a", "a"):
            terminal.send(key)
            terminal.quiet(0.6)
        sent = []
        for _ in range(24):
            before = len(terminal.output)
            terminal.press("j")
            terminal.quiet(0.2)
            sent.append(len(terminal.output) - before)
    finally:
        terminal.send("Q")
        terminal.end()
    # It was 7,000 with the whole pane each time; half of the rest is the event beside the rows.
    assert statistics.mean(sent[2:]) < 4_500
