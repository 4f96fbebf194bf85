"""Terminals that cannot draw everything."""

from __future__ import annotations

from pathlib import Path

from tests.tui.driver import opened, run
from tests.tui.terminal import ROOT, Terminal, workspace_command

INCIDENT = str(ROOT / "sample_traces" / "3-incident.envelopes.ndjson")


def test_a_terminal_without_a_cursor_is_told_what_to_type() -> None:
    terminal = Terminal(workspace_command(INCIDENT), env={"TERM": "dumb"})
    assert terminal.end(20) == 2
    assert b"TERM is dumb; `analyzer audit` and `analyzer show` print the same" in terminal.output
    assert b"\x1b" not in terminal.output


def test_an_encoding_without_lines_and_signs_gets_ascii() -> None:
    terminal = Terminal(workspace_command(INCIDENT), env={"PYTHONIOENCODING": "iso-8859-1"})
    terminal.until(b"X error")
    terminal.send("Q")
    assert terminal.end() == 0
    assert b"\\u25" not in terminal.output, "escapes in the place of lines"
    assert bytes(terminal.output).isascii()


def test_ascii_draws_with_nothing_else(plain_audit: Path) -> None:
    async def story() -> None:
        async with opened(plain_audit, size=(80, 24), ascii_only=True) as driver:
            for keys in (("enter",), ("s",), ("escape", "c"), ("enter",), ("escape", "escape", "colon")):
                await driver.press(*keys)
                drawn = driver.app.export_screenshot()
                assert "…" not in drawn
                assert "·" not in drawn

    run(story())
