"""What every place has of the application: the case, marks and history, safe messages, and work in the background."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from threading import Thread
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from textual.filter import LineFilter

from analyzer.errors import AnalyzerError
from analyzer.tui.ahead import InTurn
from analyzer.tui.belt import Belt, Plain
from analyzer.tui.marks import Marks
from analyzer.tui.theme import ASCII, UNICODE, fallback, themes
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.tui.case import Case

Result = TypeVar("Result")
_MOST_HISTORY = 200


class Spot(NamedTuple):
    """Where one has been: a row of a workspace, and the place in its event."""

    session: str | None
    finding: int | None
    event: int | None
    pane: str
    address: str


class Host(InTurn):
    """The application as its places know it; it knows none of them."""

    TITLE = "analyzer"
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
        *,
        ascii_only: bool = False,
        theme: str | None = None,
        keys: dict[str, str] | None = None,
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
        return [*super().get_line_filters(), self._belt, *([Plain()] if self.glyphs is ASCII else [])]

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

    def copy_to_clipboard(self, text: str) -> None:
        """Hand text that went through `visible` to the terminal's clipboard."""
        super().copy_to_clipboard(text.encode("utf-8", "backslashreplace").decode())

    # --- work in the background ---

    def in_background(self, work: Callable[[], Result], then: Callable[[Result], None]) -> None:
        """Do `work` in a daemon thread, then `then` with its result here; a caller's mistake is told, not raised."""
        self.busy += 1

        def run() -> None:
            try:
                result = work()
            except AnalyzerError as error:
                told = error
                self.post(lambda: self._failed(told))
            except Exception as error:  # noqa: BLE001 - raised again where the application handles it
                fault = error
                self.post(lambda: self._fault(fault))
            else:
                self.post(lambda: self._done(then, result))

        Thread(target=run, daemon=True).start()

    def post(self, what: Callable[[], None]) -> None:
        """Do it here, from a thread."""
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
        """Wait until nothing is under way, waits or works in the background any more; for tests and scripts."""
        quiet = 0
        while quiet < 2 and self.is_running:
            await asyncio.sleep(0.005)
            quiet = 0 if self.busy or self.key_under_way or self._waits() else quiet + 1

    def _waits(self) -> bool:
        return any(getattr(screen, "waits", False) for screen in self.screen_stack[-1:])

    # --- ways ---

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

    def go(self, spot: Spot, *, stay: bool = False) -> None:
        """Show a place; with `stay` in a workspace of all sessions, where that is the nearest one."""
        raise NotImplementedError

    def enter_only_session(self, sessions: Sequence[str]) -> None:
        """Go straight to the session that was asked for, or to the only one, once all are known."""
        raise NotImplementedError
