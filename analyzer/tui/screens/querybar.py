"""The query bar: an expression, its scope, how it went; the table of hits is the workspace's."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.events import Key
from textual.message import Message
from textual.suggester import Suggester
from textual.timer import Timer
from textual.widgets import Input

from analyzer.tui.bar import Bar
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.tui.query import Query

SCOPES = ("this node", "this event", "this session", "all rows")
NARROW = SCOPES[:2]  # asks what is shown
_PAUSE = 0.15  # seconds without a key before it runs
_LAST_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_NAMES = re.compile(rb'"([A-Za-z_][A-Za-z0-9_]{0,60})"\s*:')
_LOOKED_AT = 1 << 20  # bytes of a document whose names are offered


class Names(Suggester):
    """Completes the last word by the names of the document shown, the most frequent first."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._names: list[str] = []

    def learn(self, raw: bytes) -> None:
        """Take the names of a document."""
        counted = Counter(name.decode() for name in _NAMES.findall(raw[:_LOOKED_AT]))
        self._names = [name for name, _ in counted.most_common(500)]

    async def get_suggestion(self, value: str) -> str | None:
        """The whole value with its last word completed."""
        last = _LAST_WORD.search(value)
        if last is None:
            return None
        found = next((name for name in self._names if name.startswith(last[0]) and name != last[0]), None)
        return None if found is None else value[: last.start()] + found


class QueryInput(Input):
    """One line with a memory."""

    def __init__(self, names: Names) -> None:
        super().__init__(
            id="query",
            placeholder="$.json.path, jmes.path or /json/pointer",
            suggester=names,
            select_on_focus=False,
            compact=True,
        )
        self.cursor_blink = False
        self.past: list[str] = []
        self._at = 0

    def keep(self) -> None:
        """Remember what stands here."""
        if self.value and self.value not in self.past[-1:]:
            self.past.append(self.value)
        self._at = len(self.past)

    def on_key(self, event: Key) -> None:
        """Up and down walk the memory; tab completes."""
        if event.key in ("up", "down") and self.past:
            event.stop()
            event.prevent_default()
            self._at = max(0, min(len(self.past) - 1, self._at + (-1 if event.key == "up" else 1)))
            self.value = self.past[self._at]
            self.cursor_position = len(self.value)
        elif event.key == "tab" and self._suggestion:
            event.stop()
            event.prevent_default()
            self.value = self._suggestion
            self.cursor_position = len(self.value)


class QueryBar(Vertical):
    """Compiles while one types; the last good expression stays in force."""

    DEFAULT_CSS = """
    QueryBar { height: auto; display: none; background: $panel; }
    QueryBar.-open { display: block; }
    QueryBar Horizontal { height: 1; }
    QueryBar #scope { width: 18; color: $audit-dim; }
    QueryBar Input { width: 1fr; background: $panel; }
    QueryBar #state { width: auto; max-width: 44; color: $audit-dim; }
    QueryBar #caret { display: none; color: $error; }
    QueryBar.-wrong #caret { display: block; }
    """

    class Run(Message):
        """A good expression is to be run; None: there is none any more."""

        def __init__(self, query: Query | None, scope: str) -> None:
            super().__init__()
            self.query = query
            self.scope = scope

    class Left(Message):
        """Enter: on to the hits."""

    def __init__(self) -> None:
        super().__init__(id="querybar")
        self.names = Names()
        self.scope = 1
        self._timer: Timer | None = None
        self.waits = False  # for the typing to rest
        self._good: Query | None = None

    def compose(self) -> ComposeResult:
        """Scope, expression, state; below it the caret."""
        with Horizontal():
            yield Bar(id="scope")
            yield QueryInput(self.names)
            yield Bar(id="state")
        yield Bar(id="caret")

    @property
    def field(self) -> QueryInput:
        """The input."""
        return self.query_one(QueryInput)

    @property
    def is_open(self) -> bool:
        """Whether it is on the screen."""
        return self.has_class("-open")

    def open(self, text: str | None = None, scope: int | None = None) -> None:
        """Show it, with an expression put in or the one that was there."""
        self.add_class("-open")
        if scope is not None:
            self.scope = scope
        self._say_scope()
        if text is not None:
            self.field.value = text
        self.field.focus()
        self.field.cursor_position = len(self.field.value)
        self._later()

    def close(self) -> None:
        """Hide it."""
        self.field.keep()
        self.remove_class("-open")

    def cycle(self) -> None:
        """The next scope."""
        self.scope = (self.scope + 1) % len(SCOPES)
        self._say_scope()
        self._later()

    def state(self, text: str) -> None:
        """Say how it went, in safe text."""
        self.query_one("#state", Bar).put(f" {text}")

    def explain(self, reason: str) -> None:
        """Say below the expression why it could not be run on what it was asked of; the reason may be foreign."""
        self.query_one("#caret", Bar).put(f"{' ' * 18}{visible(reason, limit=110)}")
        self.set_class(bool(reason), "-wrong")

    def rerun(self) -> None:
        """Run again, because what is shown changed."""
        if self.is_open and self._good is not None and SCOPES[self.scope] in NARROW:
            self.post_message(self.Run(self._good, SCOPES[self.scope]))

    def _say_scope(self) -> None:
        self.query_one("#scope", Bar).put(f" [{SCOPES[self.scope]}] : ")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Wait until the typing rests."""
        event.stop()
        self._later()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Run now, and on to the hits."""
        event.stop()
        self.field.keep()
        if self._timer is not None and self.waits:
            self._timer.stop()
            self._compile()
        if not self.has_class("-wrong"):
            self.post_message(self.Left())

    def _later(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer, self.waits = self.set_timer(_PAUSE, self._compile), True

    def _compile(self) -> None:
        from analyzer.tui.query import Query, QueryError

        self.waits = False
        text = self.field.value
        self.remove_class("-wrong")
        if not text.strip():
            self._good = None
            self.state("")
            self.post_message(self.Run(None, SCOPES[self.scope]))
            return
        try:
            self._good = Query(text)
        except QueryError as error:
            self.query_one("#caret", Bar).put(f"{' ' * (18 + error.column)}^ {visible(error.reason, limit=60)}")
            self.add_class("-wrong")
            self.state("last good result" if self._good is not None else "")
            return
        self.post_message(self.Run(self._good, SCOPES[self.scope]))
