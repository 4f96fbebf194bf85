"""The application: opens the audit behind the first screen, and knows the ways between the screens."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from analyzer.tui.host import Host, Spot
from analyzer.tui.marks import Marks
from analyzer.tui.palette import Actions, Palette
from analyzer.tui.screens.marks import MarkList
from analyzer.tui.screens.overview import Overview
from analyzer.tui.screens.place import Place
from analyzer.tui.screens.reading import Help
from analyzer.tui.screens.workspace import Workspace
from analyzer.tui.theme import ASCII, themes
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.tui.case import Case

Opener = Callable[[Callable[[str, int, int], None], Callable[["Case"], None]], "Case"]
"""Opens what is to be seen: calls the first with how far it is, the second with what there is to see so far."""
_PATIENCE = 3  # seconds that need no clock
_READ_AT_EASE = 15.0  # seconds that a warning stands
_FOLLOWED = 1.0  # seconds between two looks at a growing log


class AuditApp(Host):
    """The workspace of one audit."""

    COMMANDS: ClassVar = {Actions}

    def __init__(
        self,
        name_of_input: str,
        open_case: Opener,
        *,
        ascii_only: bool = False,
        theme: str | None = None,
        keys: dict[str, str] | None = None,
        session: str | None = None,
        follow: Sequence[str] = (),
    ) -> None:
        super().__init__(name_of_input, ascii_only=ascii_only, theme=theme, keys=keys)
        self._open_case = open_case
        self._session = session
        self._follow = tuple(follow)
        self._following = False
        self._sizes: list[int] = []
        self._stage, self._since = self.loading, 0.0
        self._rests_until = 0.0
        self.warning = ""
        """Said while the logs are read."""

    # --- opening ---

    def on_mount(self) -> None:
        """Paint the first screen, then read behind it."""
        with contextlib.suppress(
            NotImplementedError, RuntimeError, ValueError
        ):  # not on this system, not in this thread
            for name in (signal.SIGTERM, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(name, self.exit)
        self.set_class(self.glyphs is ASCII, "-ascii")
        self.push_screen(Overview())
        self.call_after_refresh(self._read)
        self.set_interval(1.0, self._tick)

    def _read(self) -> None:
        if self.warning:
            self.notify(self.warning, severity="warning", timeout=_READ_AT_EASE)
            self.warning = ""
        self._sizes, self._since = self._measure(), monotonic()

        def progress(stage: str, done: int, whole: int) -> None:
            share = f" {done * 100 // whole} %" if whole else ""
            self.post(lambda: self._say_progress(f"{visible(stage, limit=30)}{share}"))

        first = self.case is None

        def some(case: Case) -> None:
            if first:  # who has seen all of it is not shown a part again
                self.post(lambda: self._show(case))

        self.in_background(lambda: self._open_case(progress, some), self._opened)

    def _say_progress(self, text: str) -> None:
        if self.loading:
            self._stage = text
            self._tick()

    def _tick(self) -> None:
        """Say how far it is, and for how long: one long file is one step, however long."""
        if not self.loading:
            return
        waited = int(monotonic() - self._since)
        self.loading = f"{self._stage}, {waited} s" if waited >= _PATIENCE else self._stage
        for screen in self.screen_stack:
            if isinstance(screen, Place):
                screen.title_line()

    def _opened(self, case: Case) -> None:
        self.loading = ""
        self._rests_until = 2 * monotonic() - self._since  # reading on may take half of the time, not all of it
        self._show(case)
        if self._follow and not self._following:
            self._following = True
            self.set_interval(_FOLLOWED, self._look_again)

    def _show(self, case: Case) -> None:
        """The case on every screen: all of it, or what has been judged so far."""
        first = self.case is None
        self._close()
        self.case = case
        if first:
            self.marks = Marks.of(case.folder, [str(entry.get("sha256") or "") for entry in case.inputs])
        for screen in self.screen_stack:
            if isinstance(screen, Place):
                screen.refill()
                screen.title_line()

    def _close(self) -> None:
        if self.case is not None:
            self.case.close()

    def on_unmount(self) -> None:
        """Leave no log open."""
        self._close()

    def enter_only_session(self, sessions: Sequence[str]) -> None:
        """Go straight to the session that was asked for, or to the only one, once all are known."""
        if self.loading:
            return
        wanted = self._session if self._session in sessions else sessions[0] if len(sessions) == 1 else None
        if self._session is not None and wanted is None:
            self.notify(f"no session {self._session}", severity="warning")
        self._session = None
        if wanted is not None and len(self.screen_stack) == 2:
            self.push_screen(Workspace(wanted))

    def _measure(self) -> list[int]:
        sizes = []
        for path in self._follow:
            try:
                sizes.append(os.stat(path).st_size)  # noqa: PTH116 - no object for a number
            except OSError:
                sizes.append(-1)
        return sizes

    def _look_again(self) -> None:
        if not self.loading and monotonic() >= self._rests_until and self._measure() != self._sizes:
            self.loading = self._stage = "reading on"
            self._read()

    # --- ways ---

    def _workspace(self) -> Workspace | None:
        """The workspace nearest to the top of the stack."""
        return next((screen for screen in reversed(self.screen_stack) if isinstance(screen, Workspace)), None)

    def go(self, spot: Spot, *, stay: bool = False) -> None:
        """Show a place: in the workspace that is open on its session, or in a new one."""
        workspace = self._workspace()
        if stay and workspace is not None and workspace.session is None:
            spot = spot._replace(session=None)
        if workspace is not None and workspace.session == spot.session:
            while self.screen is not workspace:
                self.pop_screen()
            workspace.go(spot)
        else:
            self.push_screen(Workspace(spot.session, spot=spot))

    def action_travel(self, step: int) -> None:
        """Go to another place of the history."""
        workspace = self._workspace()
        if step < 0 and workspace is not None and self.here == len(self.history) - 1:
            ahead = workspace.spot()
            if self.history and self.history[-1] != ahead:
                self.remember(ahead)
        at = self.here + step
        if not 0 <= at < len(self.history):
            self.notify("nothing before this" if step < 0 else "nothing after this")
            return
        self.here = at
        self.go(self.history[at])

    def action_help(self) -> None:
        """The keys of this place."""
        if isinstance(self.screen, Place):
            self.push_screen(Help(self.screen.places()))

    def action_marks(self) -> None:
        """The list of marks."""
        if self.case is not None and not isinstance(self.screen, MarkList):
            self.push_screen(MarkList())

    def action_next_theme(self) -> None:
        """The next of the themes that this project stands for."""
        names = [*(own.name for own in themes()), "ansi-dark", "ansi-light"]
        names = [name for name in names if name in self.available_themes]
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        self.notify(f"theme {self.theme}")

    def action_command_palette(self) -> None:
        """Every action by name."""
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def get_system_commands(self, screen: Any) -> Any:
        """The palette holds the actions of the key table; the library's own are left out."""
        del screen
        return ()
