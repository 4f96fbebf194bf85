"""The JSON pane: lines that fold, with what one does to a place in a document."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import unquote

from textual.message import Message

from analyzer import pointer
from analyzer.masking import label, mask_json
from analyzer.tui.jsonlines import JsonLines, Line
from analyzer.tui.keys import bindings
from analyzer.tui.lines import MOST_COPIED, Lines

if TYPE_CHECKING:
    from analyzer.tui.rows import Model

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class JsonPane(Lines):
    """Shows a `JsonLines` model; with another model it is a plain pane."""

    BINDINGS = bindings("json")
    where = "json"

    class Asked(Message):
        """Something is wanted of the place under the cursor: `what` is `query`, `filter` or `schema`."""

        def __init__(self, pane: JsonPane, what: str) -> None:
            super().__init__()
            self.pane = pane
            self.what = what

        @property
        def control(self) -> JsonPane:
            """The pane, for `on` selectors."""
            return self.pane

    @property
    def folded(self) -> JsonLines | None:
        """The model, if it is a JSON text."""
        model: Model = self.model
        return model if isinstance(model, JsonLines) else None

    @property
    def line(self) -> Line | None:
        """The line under the cursor."""
        tree = self.folded
        return tree.lines[self.cursor] if tree is not None and self.cursor < tree.height else None

    @property
    def address(self) -> str:
        """JSON Pointer of the place under the cursor."""
        line = self.line
        return "" if line is None else line.pointer()

    @property
    def path(self) -> str:
        """RFC 9535 normalized path of the place under the cursor."""
        return path_of(self.line)

    def go(self, address: str) -> bool:
        """Unfold the way to a place and put the cursor there; False where it is not."""
        tree = self.folded
        row = tree.reveal(address) if tree is not None else None
        if tree is None or row is None:
            return False
        self.show(tree, row)
        return True

    def copies(self) -> dict[str, tuple[str, str]]:
        """What can be copied, by key: a word and the text, in its visible form."""
        line = self.line
        if line is None or line.rest is not None:
            return super().copies()
        text = line.text(MOST_COPIED + 1)
        value = text = json.dumps(label("secret", text)) if line.hidden else mask_json(text)
        if line.kind == b'"':
            with suppress(ValueError):
                value = json.loads(text, strict=False)
        return {
            "y": ("value", value),
            "v": ("on one line", " ".join(text.split())),
            "p": ("path", self.path),
            "j": ("pointer", self.address),
            "q": ("jq path", jq_path(line)),
            "k": ("key", "" if line.key is None else str(line.key)),
        }

    # --- actions ---

    def action_toggle_fold(self) -> None:
        """Fold or unfold."""
        tree, line = self.folded, self.line
        if tree is None or line is None:
            self.action_page(1)
            return
        if line.opened:
            tree.fold(self.cursor)
        else:
            tree.unfold(self.cursor)
        self.show(tree, self.cursor)

    def action_across(self, by: int) -> None:
        """Fold or go to the parent; unfold or go to the first child."""
        tree, line = self.folded, self.line
        if tree is None or line is None:
            super().action_across(by)
        elif by < 0:
            if line.opened:
                self.action_toggle_fold()
            else:
                self.action_parent()
        elif line.opened:
            self.action_move(1)
        elif line.folds or line.rest is not None:
            self.action_toggle_fold()

    def action_unfold(self) -> None:
        """Unfold everything below the cursor."""
        tree = self.folded
        if tree is not None:
            whole = tree.unfold_below(self.cursor)
            self.show(tree, self.cursor)
            if not whole:
                self.app.notify("unfolded as far as 50,000 lines")

    def action_fold(self, level: int) -> None:
        """Show so many levels; the cursor goes to what still holds it."""
        tree, address = self.folded, self.address
        if tree is not None:
            tree.fold_to(level)
            steps = pointer.parts(address)[:level]
            row = tree.reveal(pointer.join("", *steps)) if steps else 0
            self.show(tree, row or 0)

    def action_sibling(self, step: int) -> None:
        """The next or previous line of the same parent."""
        tree, line = self.folded, self.line
        if tree is None or line is None:
            return
        row = self.cursor
        if step > 0:
            row = tree.after(row)
        else:
            row -= 1
            while row > 0 and tree.lines[row].depth > line.depth:
                row -= 1
        if 0 <= row < tree.height and tree.lines[row].depth == line.depth:
            self.cursor = row

    def action_parent(self) -> None:
        """The line that holds this one."""
        if self.folded is not None and self.folded.height:
            self.cursor = self.folded.parent(self.cursor)

    def action_follow(self) -> None:
        """Go where the `$ref` under the cursor leads, if that is in this document."""
        tree, line = self.folded, self.line
        if tree is None or line is None:
            return
        if line.key != "$ref":
            tree.unfold(self.cursor)
            row = tree.child(self.cursor, "$ref")
            self.show(tree, self.cursor)
            if row is None:
                self.app.notify("no $ref here")
                return
            line = tree.lines[row]
        try:
            target = json.loads(line.text())
        except ValueError:
            target = None
        if not isinstance(target, str) or not target.startswith("#"):
            self.app.notify("this $ref leads out of the schema; nothing is fetched")
            return
        try:
            found = self.go(unquote(target[1:]))
        except ValueError:
            found = False
        if not found:
            self.app.notify("this $ref leads nowhere")

    def action_enter(self) -> None:
        """Unfold what folds; ask for more of what does not."""
        line = self.line
        if line is not None and not line.opened and (line.folds or line.rest is not None):
            self.action_toggle_fold()
        else:
            super().action_enter()

    def action_find_next(self, step: int) -> None:
        """The next hit of the search; without one, the next failure of this document."""
        tree = self.folded
        if self.needle or tree is None or not tree.flagged:
            super().action_find_next(step)
            return
        address = self.address  # unfolding moves the lines
        rows = [row for row in map(tree.reveal, tree.flagged) if row is not None]
        rows = sorted({row for row in map(tree.reveal, tree.flagged) if row is not None}) if rows else []
        here = tree.reveal(address) or 0
        later = [row for row in rows if row > here] if step > 0 else [row for row in rows if row < here][::-1]
        best = (later or rows or [here])[0] if step > 0 else (later or rows[::-1] or [here])[0]
        self.show(tree, best)


class EvidencePane(JsonPane):
    """An event with the schema in force beside it, or that schema."""

    BINDINGS = bindings("evidence")
    where = "evidence"

    def action_schema(self) -> None:
        """Ask for the schema in force."""
        self.post_message(self.Asked(self, "schema"))

    def action_query_here(self) -> None:
        """Put the path under the cursor into the query bar."""
        self.post_message(self.Asked(self, "query"))

    def action_filter_here(self) -> None:
        """Keep the findings at the path under the cursor."""
        self.post_message(self.Asked(self, "filter"))


def path_of(line: Line | None) -> str:
    """RFC 9535 normalized path of a line; names and indexes told apart by the document itself."""
    steps: list[str] = []
    while line is not None:
        if isinstance(line.key, int):
            steps.append(f"[{line.key}]")
        elif line.key is not None:
            steps.append(pointer.path(pointer.join("", line.key), {})[1:])
        line = line.parent
    return "$" + "".join(reversed(steps))


def jq_path(line: Line | None) -> str:
    """The path as jq spells it; a string that holds JSON is decoded on the way."""
    steps: list[str] = []
    while line is not None:
        if line.parent is not None and line.parent.kind == b'"':
            steps.append(_jq_step(line.key) if isinstance(line.key, str) else f".[{line.key}]")
            steps.append("|fromjson|")
        elif isinstance(line.key, int):
            steps.append(f"[{line.key}]")
        elif line.key is not None:
            steps.append(_jq_step(line.key))
        line = line.parent
    path = "".join(reversed(steps))
    return path if path.startswith(".") else f".{path}"


def _jq_step(key: str) -> str:
    return f".{key}" if _WORD.fullmatch(key) else f".[{json.dumps(key)}]"
