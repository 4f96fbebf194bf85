"""No foreign control character reaches the terminal, whatever the log holds and wherever it is shown."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.segment import Segment
from textual.color import Color

from analyzer.tui.belt import Belt
from analyzer.tui.screens.overview import Overview
from tests.tui.driver import Driver, opened, run
from tests.tui.hostile import FORBIDDEN, PAYLOADS, POINTER_SHAPE, STRING_SEQUENCE
from tests.tui.terminal import ROOT, Terminal, workspace_command
from tests.tui.walks import OUT, SHOWS, WALKS

NAMED = {
    "plus": "+",
    "minus": "-",
    "slash": "/",
    "colon": ":",
    "question_mark": "?",
    "apostrophe": "'",
    "full_stop": ".",
    "space": " ",
    "ctrl+s": "\x13",
    "ctrl+p": "\x10",
    "ctrl+u": "\x15",
}


def unsafe(driver: Driver) -> list[str]:
    """Texts on the screen that hold a character that may act or hide."""
    strips = driver.app.screen._compositor.render_strips()
    texts = [segment.text for strip in strips for segment in strip]
    return [text for text in texts if not text.isprintable() or FORBIDDEN.search(text)]


async def walk(driver: Driver, name: str, row: int) -> None:
    """Go through a screen on the session of one payload, looking at every step."""
    await driver.press("g", *["j"] * row)
    for number, key in enumerate(WALKS[name]):
        if WALKS[name][number:] == OUT[: len(WALKS[name]) - number] and isinstance(driver.app.screen, Overview):
            break
        await driver.press(key)
        assert unsafe(driver) == [], (name, key)
    assert isinstance(driver.app.screen, Overview), name


def test_screens_are_safe(hostile_audit: Path) -> None:
    async def story() -> None:
        async with opened(hostile_audit) as driver:
            for number, name in enumerate(("all findings", "contracts", "lanes", "query", "value", "palette")):
                await walk(driver, name, number * 2)

    run(story())


@pytest.mark.long
@pytest.mark.parametrize("name", WALKS)
def test_every_screen_is_safe_with_every_payload(name: str, hostile_audit: Path) -> None:
    async def story() -> None:
        async with opened(hostile_audit) as driver:
            for row in range(len(PAYLOADS)):
                await walk(driver, name, row)

    run(story(), 1800)


def test_pasted_payloads_are_safe(hostile_audit: Path) -> None:
    async def story() -> None:
        async with opened(hostile_audit) as driver:
            for payload in PAYLOADS.values():
                await driver.press("f")
                await driver.type(payload)
                assert unsafe(driver) == [], payload
                await driver.press("escape")

    run(story())


@pytest.mark.parametrize("name", PAYLOADS)
def test_the_belt_alone_stops_what_reaches_it(name: str) -> None:
    belt = Belt()
    out = belt.apply([Segment("before"), Segment(PAYLOADS[name])], Color(0, 0, 0))
    assert all(segment.text.isprintable() for segment in out)
    assert out[0].text == "before"


def test_notices_are_no_markup(hostile_audit: Path) -> None:
    async def story() -> None:
        async with opened(hostile_audit) as driver:
            for payload in PAYLOADS.values():
                driver.app.notify(payload, title=payload)
                await driver.rest()
                assert unsafe(driver) == []

    run(story())


# --- on a real terminal ---


# A real terminal answers in its own time, and not in that of a machine with other work: run alone, by hand.
@pytest.mark.long
def test_a_pseudo_terminal_gets_no_foreign_byte(hostile_audit: Path) -> None:
    terminal = Terminal(workspace_command(str(hostile_audit)))
    terminal.until(b"s000")
    terminal.quiet(0.5)
    for name, keys in WALKS.items():
        if name == "copy":
            continue  # the clipboard is written there, on request
        way = keys[: -len(OUT)] if keys[-len(OUT) :] == OUT else keys
        for step, key in enumerate(way):
            before = len(terminal.output)
            terminal.send(NAMED.get(key, key))
            word = SHOWS.get(name, {}).get(step)
            if word is not None:
                terminal.until(word.encode(), since=before)
            terminal.quiet(0.15 if key == "escape" else 0.03)
        before = len(terminal.output)
        for _ in range(60 if way != keys else 0):
            terminal.send("escape")  # a prompt would take a letter
            terminal.quiet(0.15)
            if b"a all findings" in terminal.output[before:]:
                break
        terminal.send("j")
    terminal.quiet(0.3)
    terminal.send("\x11")  # ctrl+q leaves from anywhere, inputs included
    status = terminal.end(20)
    output = POINTER_SHAPE.sub(b"", bytes(terminal.output))
    assert status == 0, output[-2000:]
    text = output.decode()  # UTF-8 throughout
    assert STRING_SEQUENCE.search(output) is None
    assert FORBIDDEN.search(text) is None
    assert "\x05" not in text
    assert "\x0e" not in text
    assert output.count(b"\x1b[?1049h") == output.count(b"\x1b[?1049l") == 1  # the screen before is given back


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[list[str]]:
    program = shutil.which("tmux")
    if program is None:
        pytest.skip("no tmux: whether a multiplexer stays untouched cannot be seen")
    base = [program, "-S", str(tmp_path / "socket"), "-f", "/dev/null"]
    yield base
    subprocess.run([*base, "kill-server"], capture_output=True, check=False)


# A real terminal answers in its own time, and not in that of a machine with other work: run alone, by hand.
@pytest.mark.long
def test_a_multiplexer_keeps_its_title_and_its_buffers(tmux: list[str], hostile_audit: Path) -> None:
    # As the test sees it: readline puts the size of no terminal into the environment that children would inherit.
    environment = dict(os.environ)

    def ask(*words: str) -> str:
        done = subprocess.run([*tmux, *words], capture_output=True, text=True, check=False, env=environment)
        return done.stdout

    def shows(word: str) -> bool:
        for _ in range(600):
            if word in ask("capture-pane", "-p", "-t", "it"):
                return True
            time.sleep(0.05)
        return False

    command = f"cd {ROOT} && exec {sys.executable} -m analyzer tui {hostile_audit}"
    ask("new-session", "-d", "-s", "it", "-x", "120", "-y", "40", "-n", "kept", f"sh -c '{command}'")
    ask("set-option", "-g", "set-clipboard", "on")
    title = ask("display-message", "-p", "-t", "it", "#{pane_title}")
    assert shows("15 sessions")
    for keys in (("Enter",), ("Enter",), ("Escape",), ("Escape",), ("Escape",), ("a",), ("G",), ("Enter",), ("i",)):
        ask("send-keys", "-t", "it", *keys)
        time.sleep(0.15)
    assert shows("record")
    ask("resize-window", "-t", "it", "-x", "80", "-y", "24")
    time.sleep(0.3)
    assert ask("display-message", "-p", "-t", "it", "#{pane_title}") == title
    assert ask("list-buffers") == ""
    assert "PWNED" not in ask("display-message", "-p", "-t", "it", "#{window_name} #{pane_title}")
    ask("send-keys", "-t", "it", "Q")


# A real terminal answers in its own time, and not in that of a machine with other work: run alone, by hand.
@pytest.mark.long
def test_ended_from_outside_the_terminal_is_given_back(plain_audit: Path) -> None:
    terminal = Terminal(workspace_command(str(plain_audit)))
    terminal.until(b"s000")
    terminal.quiet(0.3)
    os.kill(terminal.pid, signal.SIGTERM)
    terminal.end(5)
    assert b"\x1b[?1049l" in terminal.output
