"""The application: opens the audit behind the first screen, keeps the way back, and lets no foreign byte through."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Sequence
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

from textual.app import App
from textual.filter import LineFilter

from analyzer.errors import AnalyzerError
from analyzer.tui.belt import Belt
from analyzer.tui.marks import Marks
from analyzer.tui.palette import Actions, Palette
from analyzer.tui.screens.overview import Overview
from analyzer.tui.screens.place import Place
from analyzer.tui.screens.workspace import Workspace
from analyzer.tui.theme import ASCII, UNICODE, fallback, themes
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.tui.case import Case

Result = TypeVar("Result")
Opener = Callable[[Callable[[str, int, int], None], Callable[["Case"], None]], "Case"]
"""Opens what is to be seen: calls the first with how far it is, the second with what there is to see so far."""
_FOLLOWED = 1.0  # seconds between two looks at a growing log
_MOST_HISTORY = 200


class Spot(NamedTuple):
    """Where one has been: a row of a workspace, and the place in its event."""

    session: str | None
    finding: int | None
    event: int | None
    pane: str
    address: str


class AuditApp(App[None]):
    """The workspace of one audit."""

    TITLE = "analyzer"
    COMMANDS: ClassVar = {Actions}
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (80, "-narrow"), (100, "-wide")]  # noqa: RUF012 - the library declares it so
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high")]  # noqa: RUF012 - the library declares it so
    CSS = """
    Place { background: $background; color: $foreground; layout: vertical; }
    #crumbs, #hints { background: $panel; color: $foreground; }
    #hints { color: $audit-dim; }
    .-ascii Lines { border: ascii $audit-dim; }
    .-ascii Lines:focus { border: ascii $primary; }
    ToastRack { margin-bottom: 0; }
    Toast { border-left: none; background: $panel; color: $foreground; }
    Toast { width: 100%; max-width: 100%; padding: 0 1; margin-top: 0; }
    CommandPalette SearchIcon { display: none; }
    """

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
        super().__init__()
        self.name_of_input = name_of_input
        self.glyphs = ASCII if ascii_only else UNICODE
        self.keys = keys or {}
        self.case: Case | None = None
        self.marks = Marks()
        self.loading = "opening"  # safe text: how far reading is
        self.failed: AnalyzerError | None = None
        self.busy = 0  # pieces of work in the background
        self.history: list[Spot] = []
        self.here = 0
        self._open_case = open_case
        self._session = session
        self._follow = tuple(follow)
        self._following = False
        self._sizes: list[int] = []
        self._belt = Belt()
        self.animation_level: Literal["none", "basic", "full"] = "none"
        for own in themes():
            self.register_theme(own)
        self.theme = theme or os.environ.get("TEXTUAL_THEME", "") or "audit-dark"
        self.set_keymap(self.keys)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Our own colours under themes that do not know them."""
        return fallback(self.theme, dark=self.current_theme.dark)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What is drawn passes here last."""
        return [*super().get_line_filters(), self._belt]

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: Literal["information", "warning", "error"] = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Say something over the keys of the bottom line, which come back; never as markup."""
        del markup
        super().notify(
            visible(message, limit=400), title=visible(title), severity=severity, timeout=timeout, markup=False
        )

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

    def _read(self) -> None:
        self._sizes = self._measure()

        def progress(stage: str, done: int, whole: int) -> None:
            share = f" {done * 100 // whole} %" if whole else ""
            self._post(lambda: self._say_progress(f"{visible(stage, limit=30)}{share}"))

        first = self.case is None

        def some(case: Case) -> None:
            if first:  # who has seen all of it is not shown a part again
                self._post(lambda: self._show(case))

        self.in_background(lambda: self._open_case(progress, some), self._opened)

    def _say_progress(self, text: str) -> None:
        if self.loading:
            self.loading = text
            for screen in self.screen_stack:
                if isinstance(screen, Place):
                    screen.title_line()

    def _opened(self, case: Case) -> None:
        self.loading = ""
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
        if not self.loading and self._measure() != self._sizes:
            self.loading = "reading on"
            self._read()

    # --- work in the background ---

    def in_background(self, work: Callable[[], Result], then: Callable[[Result], None]) -> None:
        """Do `work` in a daemon thread, then `then` with its result here; a caller's mistake is told, not raised."""
        self.busy += 1

        def run() -> None:
            try:
                result = work()
            except AnalyzerError as error:
                told = error
                self._post(lambda: self._failed(told))
            except Exception as error:  # noqa: BLE001 - raised again where the application handles it
                fault = error
                self._post(lambda: self._fault(fault))
            else:
                self._post(lambda: self._done(then, result))

        Thread(target=run, daemon=True).start()

    def _post(self, what: Callable[[], None]) -> None:
        if self.is_running:
            self.call_later(what)

    def _done(self, then: Callable[[Result], None], result: Result) -> None:
        self.busy -= 1
        then(result)

    def _failed(self, error: AnalyzerError) -> None:
        self.busy -= 1
        if self.case is None:
            self.failed = error
            self.exit()
            return
        self.loading = ""
        self.notify(str(error), severity="error")

    def _fault(self, error: Exception) -> None:
        self.busy -= 1
        raise error

    def _fatal_error(self) -> None:
        # The library would print a traceback with local variables, which hold text of the log. `fault` is raised
        # by whoever runs the application, once the terminal is given back.
        self._close_messages_no_wait()

    @property
    def fault(self) -> Exception | None:
        """What went wrong in this program, if it ended by that."""
        return self._exception

    async def settled(self) -> None:
        """Wait until nothing works in the background any more; for tests and scripts."""
        quiet = 0
        while quiet < 2 and self.is_running:
            await asyncio.sleep(0.005)
            quiet = 0 if self.busy else quiet + 1

    # --- ways ---

    def top_workspace(self) -> Workspace | None:
        """The workspace nearest to the top of the stack."""
        return next((screen for screen in reversed(self.screen_stack) if isinstance(screen, Workspace)), None)

    def step_out(self) -> None:
        """Leave the screen on top; the first one stays."""
        if len(self.screen_stack) > 2:
            self.pop_screen()
        else:
            self.notify("this is the first screen; Q quits")

    def remember(self, spot: Spot) -> None:
        """Write a place into the history; what was ahead is forgotten."""
        del self.history[self.here + 1 :]
        if not self.history or self.history[-1] != spot:
            self.history.append(spot)
        del self.history[:-_MOST_HISTORY]
        self.here = len(self.history) - 1

    def travel(self, step: int) -> None:
        """Go to another place of the history."""
        workspace = self.top_workspace()
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

    def go(self, spot: Spot) -> None:
        """Show a place: in the workspace that is open on its session, or in a new one."""
        workspace = self.top_workspace()
        if workspace is not None and workspace.session == spot.session:
            while self.screen is not workspace:
                self.pop_screen()
            workspace.go(spot)
        else:
            self.push_screen(Workspace(spot.session, spot=spot))

    def next_theme(self) -> None:
        """The next of the themes that this project stands for."""
        names = [*(own.name for own in themes()), "ansi-dark", "ansi-light"]
        names = [name for name in names if name in self.available_themes]
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        self.notify(f"theme {self.theme}")

    def copy_to_clipboard(self, text: str) -> None:
        """Hand text that went through `visible` to the terminal's clipboard."""
        super().copy_to_clipboard(text.encode("utf-8", "backslashreplace").decode())

    def action_command_palette(self) -> None:
        """Every action by name."""
        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(id="--command-palette"))

    def get_system_commands(self, screen: Any) -> Any:
        """The palette holds the actions of the key table; the library's own are left out."""
        del screen
        return ()
