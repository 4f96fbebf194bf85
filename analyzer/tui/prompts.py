"""Small questions on the bottom lines: a text, or one of some keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Input

from analyzer.tui.bar import Bar


class Question(ModalScreen[str | None]):
    """A question on the bottom lines; what it is about stays on the screen."""

    DEFAULT_CSS = """
    Question { background: transparent; align: left bottom; }
    Question > Vertical { height: auto; background: $panel; padding: 0 1; }
    Question Input { background: $panel; }
    """

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def on_mount(self) -> None:
        """What was said before would cover the question."""
        self.app.clear_notifications()


class Prompt(Question):
    """Asks for a text; None where it was left by escape. Nothing in the text is quoted or expanded."""

    BINDINGS: ClassVar = [Binding("escape", "leave", show=False)]

    def __init__(self, title: str, value: str = "") -> None:
        super().__init__(title)
        self._value = value

    def compose(self) -> ComposeResult:
        """A title above the input."""
        with Vertical():
            yield _asked(self._title)
            field = Input(self._value, select_on_focus=False, compact=True)
            field.cursor_blink = False
            yield field

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer."""
        self.dismiss(event.value)

    def action_leave(self) -> None:
        """No answer."""
        self.dismiss(None)


class Choice(Question):
    """Asks for one of some keys; any other key is None."""

    def __init__(self, title: str, choices: Mapping[str, str]) -> None:
        super().__init__(title)
        self._choices = choices

    def compose(self) -> ComposeResult:
        """One line."""
        words = "   ".join(f"{key} {word}" for key, word in self._choices.items())
        with Vertical():
            yield _asked(f"{self._title}:  {words}   esc nothing")

    def on_key(self, event: Key) -> None:
        """Take the key."""
        event.stop()
        event.prevent_default()
        self.dismiss(event.key if event.key in self._choices else None)


def _asked(text: str) -> Bar:
    """The question; it stands there from the beginning, because a prompt may be left before it is all there."""
    bar = Bar()
    bar.put(text)
    return bar
