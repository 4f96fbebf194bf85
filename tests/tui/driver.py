"""Drives the workspace without a terminal: keys in, lines of the screen out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.events import Key, Paste
from textual.pilot import Pilot

from analyzer.tui import workspace
from analyzer.tui.app import AuditApp
from analyzer.tui.lines import Lines
from analyzer.tui.screens.workspace import Workspace

# What keys with a name of their own write in a prompt.
WRITTEN = {
    "space": " ",
    "slash": "/",
    "colon": ":",
    "full_stop": ".",
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
    "comma": ",",
    "apostrophe": "'",
    "question_mark": "?",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "tab": "\t",
    "enter": "\r",
    "escape": "\x1b",
    "backspace": "\x7f",
}


class Driver:
    """An application that runs, and what one does to it."""

    def __init__(self, app: AuditApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        """Press keys one after the other, each time waiting for what follows."""
        for key in keys:
            await self.strike(key)
            await self.rest()

    async def strike(self, key: str) -> None:
        """Press a key as a terminal sends it, and wait for nothing: the library's pilot waits for an idle machine."""
        letter = key if len(key) == 1 else WRITTEN.get(key)
        event = Key(key, letter)
        event.set_sender(self.app)
        driver = self.app._driver
        assert driver is not None
        driver.send_message(event)
        await asyncio.sleep(0.002)

    async def type(self, text: str) -> None:
        """Put a text where the keys go, as a terminal pastes it, then wait."""
        assert self.app.focused is not None
        self.app.focused.post_message(Paste(text))
        await self.rest()

    async def rest(self) -> None:
        """Wait until nothing is under way: the shortened timers, threads, drawing."""
        for _ in range(2):
            await self.pilot.pause(0.002)
            await self.app.settled()
        await self.pilot.pause(0)

    async def until(self, what: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait for something to become true."""
        for _ in range(int(seconds / 0.02)):
            if what():
                return
            await self.pilot.pause(0.02)
        raise AssertionError("it did not happen:\n" + self.text())

    def text(self) -> str:
        """The screen as it looks."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips)

    @property
    def workspace(self) -> Workspace:
        screen = self.app.screen
        assert isinstance(screen, Workspace), screen
        return screen

    def pane(self, name: str) -> Lines:
        return self.app.screen.query_one(f"#{name}", Lines)

    def chosen(self, name: str) -> str:
        """The text of the line under the cursor of a pane."""
        pane = self.pane(name)
        return "".join(text for text, _ in pane.model.spans(pane.cursor, 200)) if pane.model.height else ""


@asynccontextmanager
async def opened(
    *paths: Path | str, size: tuple[int, int] = (120, 40), wait: bool = True, **options: Any
) -> AsyncIterator[Driver]:
    """Open the workspace and wait for what it shows first."""
    app = workspace([str(path) for path in paths], **options)
    async with app.run_test(size=size, notifications=True, tooltips=True) as pilot:
        driver = Driver(app, pilot)
        if wait:
            await driver.rest()
        yield driver
        await app.settled()


def run(story: Coroutine[Any, Any, None], seconds: float = 300) -> None:
    """Run one test's story."""
    asyncio.run(asyncio.wait_for(story, seconds))
