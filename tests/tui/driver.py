"""Drives the workspace without a terminal: keys in, lines of the screen out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.events import Paste
from textual.pilot import Pilot

from analyzer.tui import workspace
from analyzer.tui.app import AuditApp
from analyzer.tui.lines import Lines
from analyzer.tui.screens.workspace import Workspace


class Driver:
    """An application that runs, and what one does to it."""

    def __init__(self, app: AuditApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        """Press keys one after the other, each time waiting for what follows."""
        for key in keys:
            await self.pilot.press(key)
            await self.rest()

    async def type(self, text: str) -> None:
        """Put a text where the keys go, as a terminal pastes it, then wait."""
        assert self.app.focused is not None
        self.app.focused.post_message(Paste(text))
        await self.rest()

    async def rest(self) -> None:
        """Wait until nothing is under way: the shortened timers, threads, drawing."""
        await self.pilot.pause()
        await self.app.settled()
        await self.pilot.pause()

    async def until(self, what: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait for something to become true."""
        for _ in range(int(seconds / 0.05)):
            if what():
                return
            await asyncio.sleep(0.02)
            await self.pilot.pause()
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
