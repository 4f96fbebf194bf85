"""The pane that everything is shown in: a scroll view over a model of lines, with a cursor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.content import Content
from textual.events import Click, MouseScrollDown, MouseScrollUp, Resize
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from analyzer.tui.keys import bindings
from analyzer.tui.prompts import Choice, Prompt
from analyzer.tui.rows import FrameRows, Model, Span, TextRows
from analyzer.tui.theme import UNICODE, Glyphs
from analyzer.visible import visible, visible_lines

STYLES = (
    "title",
    "dim",
    "key",
    "string",
    "number",
    "error",
    "warning",
    "info",
    "mark",
    "match",
    "chosen",
    "guilty",
    "good",
)
MOST_COPIED = 64 << 10  # characters: a terminal takes the clipboard without a word on what it dropped
_SHIFT = 8  # cells that one step across moves
_SPREAD, _MOST_SPREAD = 4, 80  # cells that one step gives each column of names, and all steps together
_AHEAD = 3  # at the edge a third of the pane is scrolled: each time most lines are sent, over slow lines as well


class Lines(ScrollView, can_focus=True):
    """One line per row of its model, drawn when seen: the size of the model costs nothing."""

    BINDINGS = bindings("list")
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"lines--{name}" for name in STYLES}
    DEFAULT_CSS = """
    Lines { scrollbar-size: 0 0; background: $background; color: $foreground; height: 1fr; border: round $audit-dim; }
    Lines { border-title-color: $foreground; border-subtitle-color: $audit-dim; }
    Lines:focus { border: round $primary; border-title-style: bold; }
    Lines > .lines--title { color: $audit-dim; text-style: bold; }
    Lines > .lines--dim { color: $audit-dim; }
    Lines > .lines--key { color: $audit-key; }
    Lines > .lines--string { color: $audit-string; }
    Lines > .lines--number { color: $audit-number; }
    Lines > .lines--error { color: $error; text-style: bold; }
    Lines > .lines--warning { color: $warning; }
    Lines > .lines--info { color: $primary; }
    Lines > .lines--good { color: $success; }
    Lines > .lines--mark { color: $accent; text-style: bold; }
    Lines > .lines--match { text-style: reverse bold; }
    Lines > .lines--chosen { background: $audit-chosen; text-style: bold; }
    Lines > .lines--guilty { color: $error; text-style: bold underline; }
    """

    cursor: reactive[int] = reactive(0, repaint=False)  # a repaint would send the whole pane with each key
    where = "list"  # the place in the key table

    class Moved(Message):
        """The cursor stands on another line, or on another model."""

        def __init__(self, pane: Lines) -> None:
            super().__init__()
            self.pane = pane

        @property
        def control(self) -> Lines:
            """The pane, for `on` selectors."""
            return self.pane

    class Entered(Moved):
        """One step in was asked for."""

    class Wanted(Moved):
        """The screen is asked for something about this pane: `what` is `cite` or `export`."""

        def __init__(self, pane: Lines, what: str) -> None:
            super().__init__(pane)
            self.what = what

    def __init__(self, *, id: str | None = None, glyphs: Glyphs = UNICODE) -> None:  # noqa: A002 - the library's name
        super().__init__(id=id)
        self.glyphs = glyphs
        self.model: Model = TextRows([])
        self.needle = ""
        self.shift = 0
        self._spread = 0
        self._heading = self._letter = ""
        self._styles_seen: dict[str, Style] = {}
        self._drawn: dict[int, Strip] = {}  # what each line of the pane looks like

    # --- the model ---

    def show(self, model: Model, cursor: int = 0) -> None:
        """Show another model, or the same one after it changed: only lines that look different are sent."""
        other = model is not self.model
        self.model = model
        if isinstance(model, FrameRows):
            model.spread = self._spread
        self.set_reactive(Lines.cursor, self._inside(cursor))
        room = max(1, self.size.height - self._top)
        if other:  # what surrounds the cursor is worth seeing
            self.scroll_lines(0 if self.cursor < room * 2 // 3 else self.cursor - room // 2)
        self._keep_in_view()
        self.redraw()
        self._placed()
        self.post_message(self.Moved(self))

    def redraw(self) -> None:
        """Draw again what looks different now."""
        before = self._drawn.copy()
        for y in range(self.size.height):
            end = _changed(before.get(y), self.render_line(y))
            if end:
                self.refresh(Region(0, y, end, 1))

    def entitle(self, text: str) -> None:
        """Put safe text on the upper border. Only that line is sent; `border_title` would send the whole pane."""
        self._heading = text
        self._on_border("_border_title", f"({self._letter}) {text}" if self._letter else text, -1)

    def mark(self, letter: str) -> None:
        """Show the letter by which one gets here before the title; none: the title alone."""
        self._letter = letter
        self.entitle(self._heading)

    def _placed(self) -> None:
        self.place(f"{min(self.cursor + 1, self.model.height):,} of {self.model.height:,}")

    def place(self, text: str) -> None:
        """Put safe text on the lower border."""
        self._on_border("_border_subtitle", text, self.size.height)

    def _on_border(self, name: str, text: str, y: int) -> None:
        content = Content(text)
        if getattr(self, name) != content:
            setattr(self, name, content)
            self.refresh(Region(0, y, self.size.width, 1))

    @property
    def _top(self) -> int:
        return 0 if self.model.header(max(self.size.width, 1)) is None else 1

    @property
    def max_scroll_y(self) -> int:
        """Lines that may be scrolled away; a virtual size would cost a layout each time the model changes."""
        return max(0, self.model.height + self._top - self.size.height)

    def _inside(self, row: int) -> int:
        return max(0, min(row, self.model.height - 1))

    # --- drawing ---

    def notify_style_update(self) -> None:
        """Forget the colours of the theme before."""
        super().notify_style_update()
        self._styles_seen.clear()
        self._drawn.clear()

    def _style(self, name: str) -> Style:
        found = self._styles_seen.get(name)
        if found is None:
            found = self.get_component_rich_style(f"lines--{name}") if name else self.rich_style
            self._styles_seen[name] = found
        return found

    def _draw(self, y: int) -> Strip:
        """One line: cursor sign, then the spans of the model."""
        width = self.size.width
        blank = self._style("")
        row = y + self.scroll_offset.y - self._top
        if y < self._top:
            spans: list[Span] | None = self.model.header(width - 1 + self.shift)
            row = -1
        else:
            spans = self.model.spans(row, width - 1 + self.shift) if 0 <= row < self.model.height else None
        if spans is None:
            return Strip.blank(width, blank)
        chosen = row == self.cursor and self.can_focus
        over = self._style("chosen") if chosen and self.has_focus else None
        gutter = self.glyphs.cursor if chosen else " "
        segments = [Segment(gutter, self._style("mark") if chosen else blank)]
        for text, name in self._marked(spans) if self.needle and row >= 0 else spans:
            style = self._style(name)
            if over is not None and name != "match":
                style += Style(bgcolor=over.bgcolor, bold=True)
            segments.append(Segment(text, style))
        strip = Strip(segments)
        if self.shift:
            strip = Strip.join([strip.crop(0, 1), strip.crop(1 + self.shift, 1 + self.shift + width)])
        strip = strip.crop_extend(0, width, blank if over is None else Style(bgcolor=over.bgcolor))
        return strip.simplify()  # a change of style takes 40 bytes

    def render_line(self, y: int) -> Strip:
        """Draw one line of the pane."""
        strip = self._drawn[y] = self._draw(y)
        return strip

    def _marked(self, spans: list[Span]) -> list[Span]:
        out: list[Span] = []
        for text, name in spans:
            low, at = text.lower(), 0
            while len(low) == len(text) and (hit := low.find(self.needle, at)) >= 0:
                out += [(text[at:hit], name), (text[hit : hit + len(self.needle)], "match")]
                at = hit + len(self.needle)
            out.append((text[at:], name))
        return out

    # --- moving ---

    def watch_cursor(self, old: int, new: int) -> None:
        """Draw the two lines that changed, and nothing else."""
        self.refresh_line(old + self._top)
        self.refresh_line(new + self._top)
        self._keep_in_view()
        self._placed()
        self.post_message(self.Moved(self))

    def _keep_in_view(self) -> None:
        room = max(1, self.size.height - self._top)
        top = min(round(self.scroll_y), self.max_scroll_y)
        ahead = room // _AHEAD
        if self.cursor < top:
            self.scroll_lines(self.cursor - ahead)
        elif self.cursor >= top + room:
            self.scroll_lines(self.cursor - room + 1 + ahead)
        else:
            self.scroll_lines(top)

    def scroll_lines(self, top: int) -> None:
        """Put a line on top, without motion."""
        self.scroll_target_y = self.scroll_y = max(0, min(top, self.max_scroll_y))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Send the lines that look different: the library would send the whole pane."""
        if round(old_value) != round(new_value):
            self.redraw()

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Three lines on; the cursor stays."""
        event.stop()
        self.scroll_lines(round(self.scroll_y) + 3)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """Three lines back."""
        event.stop()
        self.scroll_lines(round(self.scroll_y) - 3)

    def on_resize(self, event: Resize) -> None:
        """Keep the cursor in view when there is less room."""
        del event
        self._drawn.clear()
        self._keep_in_view()

    def on_focus(self) -> None:
        """Show where the keys go."""
        self.refresh_line(self.cursor + self._top)

    def on_blur(self) -> None:
        """Show that the keys go elsewhere."""
        self.refresh_line(self.cursor + self._top)

    def on_click(self, event: Click) -> None:
        """Put the cursor on the line; a second click goes in."""
        row = event.y - self.gutter.top - self._top + self.scroll_offset.y
        if 0 <= row < self.model.height:
            if row == self.cursor and event.chain > 1:
                self.action_enter()
            self.cursor = row

    def action_move(self, by: int) -> None:
        """Some lines down or up."""
        self.cursor = self._inside(self.cursor + by)

    def action_page(self, part: float) -> None:
        """A part of a page down or up."""
        self.action_move(int(max(1, self.size.height - self._top) * abs(part)) * (1 if part > 0 else -1))

    def action_end(self, side: int) -> None:
        """To the first or the last line."""
        self.cursor = self._inside(self.model.height if side > 0 else 0)

    def action_across(self, by: int) -> None:
        """Shift what is wider than the pane."""
        self.shift = max(0, self.shift + by * _SHIFT)
        self.redraw()

    def action_spread(self, by: int) -> None:
        """Give the columns of names more room, or the last column."""
        if not isinstance(self.model, FrameRows):
            self.app.notify("this pane has no columns")
            return
        self._spread = max(-_MOST_SPREAD, min(self._spread + by * _SPREAD, _MOST_SPREAD))
        self.model.spread = self._spread
        self.redraw()

    def action_enter(self) -> None:
        """Say that one step in was asked for."""
        if self.model.height:
            self.post_message(self.Entered(self))

    def seek(self, needle: str, step: int, *, here: bool = False) -> bool:
        """Put the cursor on the next line that holds the text, round the end if need be; False: nowhere."""
        self.needle = needle.lower()
        self.redraw()
        if not needle or not self.model.height:
            return False
        start, height = self.cursor if here else self.cursor + step, self.model.height
        row = self.model.find(self.needle, start, step)
        if row is None:
            row = self.model.find(self.needle, 0 if step > 0 else self.model.height - 1, step)
        if row is None:
            return False
        if self.model.height != height:  # finding may unfold
            self.show(self.model, row)
        self.cursor = self._inside(row)
        return True

    def action_find(self) -> None:
        """Ask for a text and go to where it is next."""

        def answered(text: str | None) -> None:
            if text is not None and not self.seek(text, 1, here=True) and text:
                self.app.notify("nothing found")

        self.app.push_screen(Prompt("find in this pane", self.needle), answered)

    def action_find_next(self, step: int) -> None:
        """The next hit of the search."""
        if self.needle:
            self.seek(self.needle, step)

    # --- taking along ---

    def copies(self) -> dict[str, tuple[str, str]]:
        """What can be copied, by key: a word and the text."""
        if not self.model.height:
            return {}
        line = "".join(text for text, _ in self.model.spans(self.cursor, 400))
        return {"y": ("line", " ".join(line.split()))}

    def action_copy(self) -> None:
        """Ask what of this place is wanted, and copy it."""
        found = self.copies()

        def chosen(key: str | None) -> None:
            if key is not None:
                self.copy(*found[key])

        if found:
            self.app.push_screen(Choice("copy", {key: word for key, (word, _) in found.items()}), chosen)

    def copy(self, word: str, text: str) -> None:
        """Put the visible form of a text on the clipboard, and say so; a long one is refused."""
        if len(text) > MOST_COPIED:
            self.app.notify(f"the {word} is longer than {MOST_COPIED:,} characters: export it with x")
            return
        self.app.copy_to_clipboard(visible_lines(text))
        self.app.notify(f"{word} copied, if the terminal allows it: {visible(text, limit=60)}")

    def action_cite(self) -> None:
        """Ask the screen for the citation of what is shown."""
        self.post_message(self.Wanted(self, "cite"))

    def action_export(self) -> None:
        """Ask the screen to write what is shown to a file."""
        self.post_message(self.Wanted(self, "export"))


def _changed(before: Strip | None, after: Strip) -> int:
    """The cell behind the last one that looks different; a line is always sent from its beginning."""
    if before is None or before.cell_length != after.cell_length:
        return after.cell_length
    same = 0
    for old, new in zip(_backwards(before), _backwards(after), strict=False):
        if old != new:
            break
        same += cell_len(new[0])
    return after.cell_length - same


def _backwards(strip: Strip) -> Iterator[tuple[str, Style | None]]:
    for text, style, _ in reversed(list(strip)):
        for char in reversed(text):
            yield char, style
