"""Text to be read: the keys of a place, the manual of a rule, one long value."""

from __future__ import annotations

from textwrap import wrap

from textual.app import ComposeResult

from analyzer.report.manual import paragraphs
from analyzer.tui.keys import help_lines
from analyzer.tui.lines import Lines
from analyzer.tui.rows import Span, TextRows
from analyzer.tui.screens.taking import Exporting
from analyzer.visible import visible_lines

_MOST = 2_000_000  # characters of one value
_WIDTH = 100


class Reading(Exporting):
    """Foreign text in its visible form, wrapped by cells."""

    where = "text"

    def __init__(self, text: str, way: list[str]) -> None:
        super().__init__()
        self._text = text
        self._way = way

    def body(self) -> ComposeResult:
        """One pane."""
        yield Lines(id="text", glyphs=self.owner.glyphs)

    def on_mount(self) -> None:
        """Show the lines."""
        self.query_one("#text", Lines).show(TextRows(self.text_lines()))
        self.title_line()

    def crumbs(self) -> list[str]:
        """Where it comes from."""
        return self._way

    def text_lines(self) -> list[list[Span]]:
        """The text, cut where it is longer than the terminal is wide."""
        return wrapped(self._text, max(20, min(_WIDTH, self.app.size.width - 5)))


class Manual(Reading):
    """What a rule says, why it matters, and its examples."""

    def __init__(self, code: str) -> None:
        from analyzer.rules.catalogue import find_rule

        rule = find_rule(code)
        text = f"{rule.code} {rule.slug}\n\n{rule.manual}" if rule is not None else f"no rule {code}"
        super().__init__(text, ["rule", code])

    def text_lines(self) -> list[list[Span]]:
        """Wrapped between words; examples as they stand."""
        width = max(20, min(_WIDTH, self.app.size.width - 5))
        lines: list[list[Span]] = []
        for paragraph in paragraphs(self._text):
            indent = " " * (len(paragraph) - len(paragraph.lstrip()))
            wraps = wrap(paragraph, width, subsequent_indent=f"{indent}  " if indent else "", break_on_hyphens=False)
            lines += [[(line, "")] for line in wraps or [""]]
        return lines


class Help(Reading):
    """The keys, those of the place it was asked from first."""

    def __init__(self, places: list[str]) -> None:
        super().__init__("", ["help"])
        self._places = places

    def text_lines(self) -> list[list[Span]]:
        """Made from the key table."""
        lines: list[list[Span]] = []
        for keys, words in help_lines(self._places, self.owner.keys):
            lines.append([(f"  {keys:<22}", "key"), (words, "")] if keys else [(words, "title")])
        return lines


def wrapped(text: str, width: int) -> list[list[Span]]:
    """Foreign text as lines of so many characters, in its visible form."""
    lines: list[list[Span]] = []
    for line in visible_lines(text, limit=_MOST).split("\n"):
        lines += [[(line[at : at + width], "")] for at in range(0, max(1, len(line)), width)]
    return lines
