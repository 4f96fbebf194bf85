"""Every action by name: the command palette, made of the key table, the rules and the sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import CommandPalette, DiscoveryHit, Hit, Provider
from textual.content import Content

from analyzer.tui.keys import KEYS, shown
from analyzer.visible import visible

if TYPE_CHECKING:
    from analyzer.tui.host import Host

_MOST_SESSIONS = 500


class Palette(CommandPalette):
    """The library's palette, that does not fall over a key pressed before its list is laid out."""

    def _action_command_list(self, action: str) -> None:
        with suppress(KeyError):  # of a line that is not there yet
            super()._action_command_list(action)


class Actions(Provider):
    """What can be done here."""

    async def discover(self) -> AsyncIterator[DiscoveryHit]:
        """Everything, in the order of the key table."""
        for text, _, run in self._commands():
            yield DiscoveryHit(Content(text), run, text)

    async def search(self, query: str) -> AsyncIterator[Hit]:
        """What sounds like the words typed."""
        words = query.lower().split()
        for text, _, run in self._commands():
            if all(word in text.lower() for word in words):
                yield Hit(1.0 / (1 + len(text)), Content(text), run, text)

    def _commands(self) -> list[tuple[str, str, Callable[[], None]]]:
        from analyzer.tui.screens.place import Place

        app, screen = cast("Host", self.app), self.screen
        if not isinstance(screen, Place):
            return []
        places = screen.places()
        out: list[tuple[str, str, Callable[[], None]]] = []
        for key in sorted((key for key in KEYS if key.where in places), key=lambda key: places.index(key.where)):
            text = f"{key.help}  ({', '.join(shown(key, app.keys))})"
            out.append((text, key.id, partial(self._act, key.action)))
        if app.case is not None:
            from analyzer.rules.catalogue import RULES

            out += [
                (f"manual of {rule.code} {rule.slug}", rule.code, partial(self._manual, rule.code)) for rule in RULES
            ]
            names = app.case.sessions["session"][:_MOST_SESSIONS]
            out += [
                (f"session {visible(name or '?', limit=60)}", "session", partial(self._enter, name)) for name in names
            ]
        return out

    def _act(self, action: str) -> None:
        screen = self.screen
        focused = screen.focused
        node = focused if focused is not None and hasattr(focused, f"action_{action.partition('(')[0]}") else screen
        self.app.call_later(self.app.run_action, action, node)

    def _manual(self, code: str) -> None:
        from analyzer.tui.screens.reading import Manual

        self.app.push_screen(Manual(code))

    def _enter(self, session: str) -> None:
        from analyzer.tui.screens.workspace import Workspace

        self.app.push_screen(Workspace(session))
