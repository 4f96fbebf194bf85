"""What was not read is on the screen at every size and place, and in the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import analyzer
from analyzer.tui.lines import Lines
from analyzer.tui.screens.workspace import Workspace
from tests.tui.driver import opened, run
from tests.tui.terminal import Terminal, workspace_command

CHAT = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"room":4}'}},
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ],
    "tools": [{"type": "function", "function": {
        "name": "book",
        "parameters": {"type": "object", "properties": {"room": {"type": "string"}}, "required": ["room"]},
    }}],
}  # fmt: skip


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Give a folder with one log, one of no format, an empty one and a file that is none."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "chat.jsonl").write_text(json.dumps(CHAT) + "\n", encoding="utf-8")
    (folder / "house.jsonl").write_text('{"level":30,"msg":"up"}\n', encoding="utf-8")
    (folder / "none.jsonl").write_text("", encoding="utf-8")
    (folder / "notes.md").write_text("hello", encoding="utf-8")
    return folder


def lines(pane: Lines) -> list[str]:
    return ["".join(text for text, _ in pane.model.spans(row, 200)) for row in range(pane.model.height)]


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
@pytest.mark.parametrize("kept", [False, True], ids=["audited now", "saved"])
def test_what_was_not_recognised_is_told_as_such(logs: Path, tmp_path: Path, size: tuple[int, int], kept: bool) -> None:
    path = logs
    if kept:
        path = tmp_path / "saved"
        analyzer.audit([str(logs)]).save(str(path))

    async def story() -> None:
        async with opened(path, size=size) as driver:
            await driver.until(lambda: isinstance(driver.app.screen, Workspace))  # there is one session only
            assert "2 not read" in driver.text().splitlines()[0]
            await driver.press("escape", "escape")
            assert "2 not read" in driver.text().splitlines()[0]
            facts = driver.pane("facts")
            assert facts.display
            told = lines(facts)
            assert [line for line in told if "house.jsonl" in line] == [
                f"not read  {logs / 'house.jsonl'}: not recognised as any format, or empty"
            ]
            assert "none.jsonl" in told[1]
            assert any(line.startswith("left out  ") and "notes.md" in line for line in told)
            assert not any(line.startswith("input") and "house" in line for line in told)

    run(story())


def test_a_path_that_is_not_there_is_told_beside_the_others(logs: Path) -> None:
    async def story() -> None:
        async with opened(logs / "chat.jsonl", logs / "gone.jsonl") as driver:
            await driver.until(lambda: isinstance(driver.app.screen, Workspace))
            assert "1 not read" in driver.text().splitlines()[0]

    run(story())


@pytest.mark.parametrize(
    ("names", "status"),
    [(["chat.jsonl"], 0), (["chat.jsonl", "gone.jsonl"], 3), pytest.param(["."], 3, marks=pytest.mark.long)],
)
def test_the_status_tells_that_not_all_was_read(logs: Path, names: list[str], status: int) -> None:
    terminal = Terminal(workspace_command(*(str(logs / name) for name in names)))
    terminal.until(b"ARG001")
    terminal.quiet()
    terminal.send("Q")
    assert terminal.end() == status


def test_the_rules_stand_in_the_order_of_the_report(logs: Path) -> None:
    async def story() -> None:
        async with opened(logs / "chat.jsonl") as driver:
            await driver.until(lambda: isinstance(driver.app.screen, Workspace))
            await driver.press("escape", "escape")
            rules = [line.split()[2] for line in lines(driver.pane("rules"))]
            assert rules[0] == "ARG001"
            assert "book  c1" in lines(driver.pane("rules"))[0]

    run(story())


def test_a_folder_without_a_log_is_no_clean_one(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path) as driver:
            assert "no log was found" in driver.text()

    run(story())


def test_a_fact_that_is_longer_than_its_pane_opens_in_full(logs: Path) -> None:
    async def story() -> None:
        async with opened(logs, size=(100, 30)) as driver:
            await driver.until(lambda: isinstance(driver.app.screen, Workspace))
            await driver.press("escape", "escape", "escape", "tab", "tab")
            assert "not recognised" not in driver.text()
            await driver.press("enter")
            assert "not recognised" in "".join(lines(driver.pane("text")))

    run(story())
