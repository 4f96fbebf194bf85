"""What every place has: where you are on top, the keys below, one way out, and work that never holds the keys up."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from textual.app import ComposeResult
from textual.screen import Screen

from analyzer.tui.bar import Bar
from analyzer.tui.keys import bindings, hints
from analyzer.tui.lines import Lines
from analyzer.tui.prompts import Choice
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.tui.case import Case
    from analyzer.tui.host import Host

Result = TypeVar("Result")


class Place(Screen[None]):
    """A full screen: crumbs, body, hints."""

    BINDINGS = bindings("anywhere")
    where = "anywhere"
    AUTO_FOCUS = "Lines"

    def __init__(self) -> None:
        super().__init__()
        self._newest: dict[str, int] = {}

    @property
    def owner(self) -> Host:
        """The app, by its type."""
        return cast("Host", self.app)

    @property
    def case(self) -> Case:
        """What is looked at."""
        assert self.owner.case is not None
        return self.owner.case

    @property
    def standing(self) -> bool:
        """Whether its panes are there: keys, timers and work may still come for a place that is being left."""
        return self.is_attached and bool(self.children)

    def on_mount(self) -> None:
        """What was said about the place before would cover the keys of this one."""
        self.owner.clear_notifications()

    @property
    def waits(self) -> bool:
        """Whether it will do something by itself, when keys have rested for a while."""
        return False

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
        missing = self.owner.case.missing if self.owner.case is not None else 0
        if missing:  # at every place: what is seen there is not all that was given
            way = f"{self.owner.glyphs.warning} {missing} not read{arrow}{way}"
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
        kinds = type(self.focused).__mro__ if isinstance(self.focused, Lines) else ()
        own = [kind.where for kind in kinds if issubclass(kind, Lines) and kind is not Lines]
        return list(dict.fromkeys([*own, self.where, "list", "anywhere"]))

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

    # --- panes ---

    def panes(self) -> list[Lines]:
        """The panes that can have the keys."""
        return [pane for pane in self.query(Lines) if pane.can_focus and pane.display]

    def to_pane(self, pane: Lines) -> None:
        """Give a pane the keys."""
        pane.focus()

    def action_jump(self) -> None:
        """Show a letter on each pane, and go to the one whose letter is typed."""
        found = dict(zip("asdfghjkl", self.panes(), strict=False))
        if len(found) < 2:
            self.notify("this is the only pane here")
            return
        for letter, pane in found.items():
            pane.mark(letter)

        def chosen(letter: str | None) -> None:
            for pane in found.values():
                pane.mark("")
            if letter is not None and self.standing:
                self.to_pane(found[letter])

        names = {letter: visible(pane.id or "pane", limit=20) for letter, pane in found.items()}
        self.owner.push_screen(Choice("to the pane", names), chosen)

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

    def action_back(self) -> None:
        """One step out."""
        self.owner.step_out()
