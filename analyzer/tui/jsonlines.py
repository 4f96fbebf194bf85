"""A JSON text as lines that unfold: scanned where it is looked at, so that size and depth cost nothing before.

The bytes are shown as they were written: duplicate members, long numbers and escapes included, whatever a parser would
make of them. A string that holds JSON unfolds too; its address is that of the string followed by the one inside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import islice

from analyzer.masking import hides, label, plain
from analyzer.pointer import containers, elements, join, parts
from analyzer.tui.rows import Span
from analyzer.tui.theme import UNICODE, Glyphs, glyph
from analyzer.visible import visible

CHUNK = 1000  # children shown before "more"
_COUNTED = 1 << 18  # bytes of a container whose children are counted to be shown
_MOST_LINES = 50_000  # of unfolding everything
_INDEXED = 32 << 20  # bytes of a text whose containers are indexed
_HOLDS_JSON = re.compile(rb'"(?:\s|\\[nrt])*(?:\{|\[)')
_WANTED = re.compile(r"0|[1-9][0-9]*")


class Written:
    """A JSON text: the record, or what a string inside it holds."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    @cached_property
    def ends(self) -> dict[int, int]:
        """Where its containers end: one pass, so that going deep costs no pass per level."""
        return containers(self.raw) if len(self.raw) <= _INDEXED else {}


class Line:
    """One value: where it stands in which text, and how to get there."""

    __slots__ = ("count", "depth", "end", "hiding", "key", "note", "opened", "parent", "rest", "start", "written")

    def __init__(self, written: Written, start: int, end: int, key: str | int | None, parent: Line | None) -> None:
        self.written = written
        self.start = start
        self.end = end
        self.key = key
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.opened = False
        self.rest: Iterator[tuple[str | int, int, int]] | None = None  # of a "more" line
        self.hiding: Callable[[str], bool] | None = None  # once it was asked for
        self.note = ""  # of a line that is no value
        self.count = ""  # of children, once it is known

    @property
    def raw(self) -> bytes:
        """The bytes that it stands in."""
        return self.written.raw

    @property
    def kind(self) -> bytes:
        """The first byte of the value."""
        return self.raw[self.start : self.start + 1]

    @property
    def folds(self) -> bool:
        """Whether it can unfold."""
        if self.kind in (b"{", b"["):
            return self.end - self.start > 2
        return self.kind == b'"' and _HOLDS_JSON.match(self.raw, self.start, self.start + 40) is not None

    @property
    def hidden(self) -> bool:
        """Whether the name of its member, or of that of the list that it is in, says that it is a credential."""
        here: Line | None = self
        while here is not None and isinstance(here.key, int):
            here = here.parent
        if here is None or here.key is None or here.parent is None or self.kind == b"{":
            return False
        return here.parent.hides(str(here.key))

    @property
    def hides(self) -> Callable[[str], bool]:
        """Which names of this object are those of credentials; of a very large one its own words are not asked."""
        if self.hiding is None:
            value: object = None
            if self.end - self.start <= _COUNTED:
                with suppress(ValueError, RecursionError):
                    value = json.loads(self.text(), strict=False)
                    if isinstance(value, str):  # it holds JSON
                        value = json.loads(value, strict=False)
            self.hiding = hides(value if isinstance(value, dict) else {})
        return self.hiding

    def text(self, most: int | None = None) -> str:
        r"""The JSON text as it was written; bytes that are not UTF-8 as `\xNN`."""
        end = self.end if most is None else min(self.end, self.start + most)
        return self.raw[self.start : end].decode("utf-8", "backslashreplace")

    def pointer(self) -> str:
        """The JSON Pointer, through strings that hold JSON as if they were not there."""
        steps: list[str | int] = []
        here: Line | None = self
        while here is not None:
            if here.key is not None:
                steps.append(here.key)
            here = here.parent
        return join("", *reversed(steps))


class JsonLines:
    """The model of a JSON pane."""

    def __init__(
        self, raw: bytes, *, glyphs: Glyphs = UNICODE, flagged: Mapping[str, tuple[str, str]] | None = None
    ) -> None:
        self.raw = raw
        self.glyphs = glyphs
        self.flagged = dict(flagged or {})  # pointer -> severity and a word on it
        self._above = {join("", *parts(p)[:n]) for p in self.flagged for n in range(len(parts(p)))}
        first = len(raw) - len(raw.lstrip(b" \t\r\n\xef\xbb\xbf"))
        self.root = Line(Written(raw), first, len(raw.rstrip(b" \t\r\n")), None, None)
        self.lines = [self.root]
        self.unfold(0)

    @property
    def height(self) -> int:
        """Lines that are unfolded now."""
        return len(self.lines)

    def header(self, width: int) -> list[Span] | None:
        """None: the border says what it is."""
        del width
        return None

    # --- folding ---

    def unfold(self, row: int) -> None:
        """Show the children of a line, or more of them."""
        line = self.lines[row]
        if line.rest is not None and line.parent is not None:
            self.lines[row : row + 1] = self._children(line.parent, line.written, line.rest)
            return
        if line.opened or not line.folds:
            return
        written, start = line.written, line.start
        if line.kind == b'"':
            inside = _decoded(line.text())
            if inside is None:
                return
            written, start = Written(inside), 0
        line.opened = True
        self.lines[row + 1 : row + 1] = self._children(line, written, elements(written.raw, start, written.ends))

    def _children(self, parent: Line, written: Written, rest: Iterator[tuple[str | int, int, int]]) -> list[Line]:
        found: list[Line] = []
        try:
            found.extend(Line(written, start, end, key, parent) for key, start, end in islice(rest, CHUNK))
        except LookupError as error:
            broken = Line(written, 0, 0, None, parent)
            broken.note = str(error)
            found.append(broken)
        if len(found) == CHUNK:
            more = Line(written, found[-1].end, parent.end, None, parent)
            more.rest = rest
            found.append(more)
        return found

    def fold(self, row: int) -> None:
        """Hide what stands below a line."""
        line = self.lines[row]
        if line.opened:
            line.opened = False
            del self.lines[row + 1 : self.after(row)]

    def after(self, row: int) -> int:
        """The first line that is not below this one."""
        depth, end = self.lines[row].depth, row + 1
        while end < len(self.lines) and self.lines[end].depth > depth:
            end += 1
        return end

    def parent(self, row: int) -> int:
        """The line that holds this one."""
        above = self.lines[row].parent
        while row > 0 and self.lines[row] is not above:
            row -= 1
        return row

    def unfold_below(self, row: int) -> bool:
        """Unfold everything below a line; False where it was too much and stopped."""
        depth, at = self.lines[row].depth, row
        while at < len(self.lines) and (at == row or self.lines[at].depth > depth):
            if len(self.lines) > _MOST_LINES:
                return False
            if self.lines[at].rest is None:
                self.unfold(at)
            at += 1
        return True

    def fold_to(self, level: int) -> None:
        """Show so many levels and no more."""
        self.root.opened = False
        self.lines = [self.root]
        at = 0
        while at < len(self.lines) and len(self.lines) <= _MOST_LINES:
            if self.lines[at].depth < level and self.lines[at].rest is None:
                self.unfold(at)
            at += 1

    # --- finding ---

    def reveal(self, pointer: str) -> int | None:
        """Unfold the way to a value and give its line; None where the way leads nowhere."""
        row = 0
        for step in parts(pointer):
            found = self.child(row, step)
            if found is None:
                return None
            row = found
        return row

    def nearest(self, pointer: str) -> int:
        """The line of a value, or of the deepest one on the way to it that exists."""
        row = 0
        for step in parts(pointer):
            found = self.child(row, step)
            if found is None:
                break
            row = found
        return row

    def child(self, row: int, step: str) -> int | None:
        """Unfold a line and give that of one child; None where there is none."""
        self.unfold(row)
        at, depth, last = row + 1, self.lines[row].depth + 1, None
        number = int(step) if _WANTED.fullmatch(step) and len(step) < 19 else None
        while at < len(self.lines) and self.lines[at].depth >= depth:
            line = self.lines[at]
            if line.depth == depth:
                if line.rest is not None:
                    self.unfold(at)  # the wanted one may be among the next thousand
                    continue
                if line.key == step or (number is not None and line.key == number):
                    last = at  # of duplicate members the last one counts, as for parsers
                    if isinstance(line.key, int):
                        break
            at += 1
        return last

    def find(self, needle: str, start: int, step: int) -> int | None:
        """The next value whose bytes hold the text, unfolded if need be; texts inside strings as they are escaped."""
        if not self.lines or not 0 <= start < len(self.lines):
            return None
        pattern = re.compile(re.escape(needle.encode("utf-8", "surrogatepass")), re.IGNORECASE)
        here = self.lines[start]
        while here.raw is not self.raw and here.parent is not None:
            here = here.parent
        if step > 0:
            hits: Iterator[re.Match[bytes]] = pattern.finditer(self.raw, here.start)
        else:
            hits = reversed(list(islice(pattern.finditer(self.raw, 0, here.end), 100_000)))
        for hit in hits:
            row = self._reveal_byte(hit.start())
            if (row - start) * step >= 0:
                return row
        return None

    def _reveal_byte(self, byte: int) -> int:
        row = 0
        while self.lines[row].kind in (b"{", b"[") and self.lines[row].raw is self.raw:
            self.unfold(row)
            at, depth, held = row + 1, self.lines[row].depth + 1, None
            while at < len(self.lines) and self.lines[at].depth >= depth:
                line = self.lines[at]
                if line.rest is not None and line.depth == depth and line.start <= byte:
                    self.unfold(at)
                    continue
                if line.depth == depth and line.rest is None and byte < line.end:
                    held = at
                    break
                at += 1
            if held is None:
                return row
            row = held
            if byte < self.lines[row].start:  # in its name
                return row
        return row

    # --- showing ---

    def spans(self, row: int, width: int) -> list[Span]:
        """One line: fold sign, name, value cut to the pane."""
        line = self.lines[row]
        spans: list[Span] = [("  " * min(line.depth, 40), "")]
        if line.depth > 40:
            spans.append((f"({line.depth}) ", "dim"))
        if line.rest is not None:
            return [*spans, (f"{self.glyphs.more} {(line.end - line.start):,} bytes more (enter)", "dim")]
        if line.note:
            return [*spans, (f"{self.glyphs.error} {visible(line.note)}", "error")]
        pointer = line.pointer() if self.flagged else ""
        flag = self.flagged.get(pointer) if self.flagged else None
        if flag:
            spans.append((f"{glyph(self.glyphs, flag[0])} ", flag[0]))
        elif self.flagged and not line.opened and pointer in self._above:
            spans.append((f"{self.glyphs.error} ", "dim"))
        sign = (self.glyphs.open if line.opened else self.glyphs.closed) if line.folds else " "
        spans.append((f"{sign} ", "dim"))
        if line.key is not None:
            key = (
                f"{line.key}" if isinstance(line.key, int) else visible(json.dumps(line.key, ensure_ascii=False)[1:-1])
            )
            spans.append((f"{key}  ", "guilty" if flag else "key"))
        spans += self._value(line, width)
        if flag and flag[1]:
            spans.append((f"   {flag[1]}", flag[0]))
        return spans

    def _value(self, line: Line, width: int) -> list[Span]:
        kind, size = line.kind, line.end - line.start
        if kind in (b"{", b"["):  # under a secret name a list hides its elements, each by itself
            close = "}" if kind == b"{" else "]"
            return [(f"{kind.decode()}{self._count(line)}{close}", "dim")]
        if size > 2 and line.hidden:
            return [(visible(label("secret", line.text()), limit=max(width, 20)), "dim")]
        text = plain(line.text(most=6 * max(width, 20) + 400))
        shown = visible(text, limit=max(width, 20))
        if kind == b'"':
            layer: list[Span] = [(f" {self.glyphs.json}", "dim")] if line.folds else []
            long: list[Span] = [(f"{size:,} bytes ", "dim")] if size > width else []
            return [*long, (shown, "string"), *layer]
        return [(shown, "number" if kind not in (b"t", b"f", b"n") else "key")]

    def _count(self, line: Line) -> str:
        if not line.count:
            if line.end - line.start > _COUNTED:
                return f"{(line.end - line.start):,} bytes"
            try:
                line.count = str(sum(1 for _ in elements(line.raw, line.start, line.written.ends)))
            except LookupError:
                line.count = "broken"
        return line.count


def _decoded(text: str) -> bytes | None:
    """The text inside a JSON string as bytes, or None where it is not a JSON container."""
    try:
        inside = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    raw: bytes = inside.strip().encode("utf-8", "surrogatepass")
    return raw if raw[:1] in (b"{", b"[") else None
