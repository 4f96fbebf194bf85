"""What every place has: where you are on top, the keys below, one way out, and work that never holds the keys up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from analyzer.tui.keys import bindings, hints
from analyzer.tui.lines import Lines
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.tui.app import AuditApp
    from analyzer.tui.case import Case
    from analyzer.tui.screens.workspace import Workspace

Result = TypeVar("Result")


class Bar(Static):
    """One line of our own making."""

    DEFAULT_CSS = """
    Bar { height: 1; width: 100%; text-wrap: nowrap; }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - the library's name
        super().__init__("", id=id, classes=classes, markup=False)

    def put(self, text: str) -> None:
        """Show safe text."""
        self.update(Content(text))


class Place(Screen[None]):
    """A full screen: crumbs, body, hints."""

    BINDINGS = bindings("anywhere")
    where = "anywhere"
    AUTO_FOCUS = "Lines"

    def __init__(self) -> None:
        super().__init__()
        self._newest: dict[str, int] = {}

    @property
    def owner(self) -> AuditApp:
        """The app, by its type."""
        return cast("AuditApp", self.app)

    @property
    def case(self) -> Case:
        """What is looked at."""
        assert self.owner.case is not None
        return self.owner.case

    @property
    def standing(self) -> bool:
        """Whether its panes are there: keys, timers and work may still come for a place that is being left."""
        return self.is_attached and bool(self.children)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """No action on what is gone."""
        return self.standing and super().check_action(action, parameters)

    def compose(self) -> ComposeResult:
        """Crumbs, body and hints."""
        yield Bar(id="crumbs")
        yield from self.body()
        yield Bar(id="hints")

    def body(self) -> ComposeResult:
        """The panes."""
        raise NotImplementedError

    def crumbs(self) -> list[str]:
        """The way here, from the outside in; foreign text as it is."""
        return []

    def status(self) -> str:
        """Safe text at the right end of the crumbs."""
        return ""

    def title_line(self) -> None:
        """Write the crumbs anew."""
        if not self.standing:
            return
        arrow = f" {self.owner.glyphs.arrow} "
        way = arrow.join(visible(crumb, limit=60) for crumb in [self.owner.name_of_input, *self.crumbs()] if crumb)
        status = self.status() or self.owner.loading
        room = self.size.width - 2
        gap = max(2, room - len(way) - len(status))
        self.query_one("#crumbs", Bar).put(f" {way}{' ' * gap}{status}"[: room + 1])

    def hint_line(self) -> None:
        """Write the keys of this place anew."""
        if not self.standing:
            return
        here, always = ([f" {key} {word} " for key, word in some] for some in hints(self.places(), self.owner.keys))
        while here and sum(map(len, here + always)) > self.size.width:
            del here[-1]
        self.query_one("#hints", Bar).put("".join(here + always))

    def places(self) -> list[str]:
        """The places of the key table, innermost first."""
        focused = self.focused.where if isinstance(self.focused, Lines) else self.where
        return list(dict.fromkeys([self.where if focused == "list" else focused, self.where, "list", "anywhere"]))

    def on_screen_resume(self) -> None:
        """Come back to it."""
        self.title_line()
        self.hint_line()

    def on_resize(self) -> None:
        """Write the lines for the new width."""
        self.title_line()
        self.hint_line()

    def on_descendant_focus(self) -> None:
        """Other keys hold in another pane."""
        self.hint_line()

    def refill(self) -> None:
        """Show the case anew, after it was read again."""

    # --- work ---

    def in_background(
        self, group: str, work: Callable[[Callable[[], bool]], Result], then: Callable[[Result], None]
    ) -> None:
        """Do `work(stale)` in a thread, then `then(result)` here, unless newer work of the group came.

        The thread is a daemon: it never keeps anybody from leaving.
        """
        number = self._newest[group] = self._newest.get(group, 0) + 1

        def stale() -> bool:
            return self._newest.get(group) != number or not self.standing

        self.owner.in_background(lambda: work(stale), lambda result: None if stale() else then(result))

    def cancel(self, group: str) -> None:
        """Let the work of a group come to nothing."""
        self._newest[group] = self._newest.get(group, 0) + 1

    # --- actions ---

    def action_back(self) -> None:
        """One step out."""
        self.owner.step_out()

    def action_help(self) -> None:
        """The keys of this place."""
        from analyzer.tui.screens.reading import Help

        self.owner.push_screen(Help(self.places()))

    def action_marks(self) -> None:
        """The list of marks."""
        from analyzer.tui.screens.marks import MarkList

        if self.owner.case is not None and not isinstance(self, MarkList):
            self.owner.push_screen(MarkList())

    def action_travel(self, step: int) -> None:
        """Back or forward in history."""
        self.owner.travel(step)

    def action_next_theme(self) -> None:
        """The next theme."""
        self.owner.next_theme()

    def workspace(self) -> Workspace | None:
        """The workspace on top of the stack, this screen included."""
        return self.owner.top_workspace()
