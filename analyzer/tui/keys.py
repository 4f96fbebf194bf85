"""The one key table: bindings, hints, help and the keymap file are all made from it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from analyzer.errors import ConfigurationError

if TYPE_CHECKING:
    from textual.binding import BindingType


class Key(NamedTuple):
    """One action: a stable id that a keymap file names, its keys, and the place where they work."""

    id: str
    keys: str  # separated by commas, as the terminal library spells them
    action: str
    help: str
    where: str
    hint: str = ""  # a word for the bottom line; empty: not shown there


PLACES = {
    "anywhere": "everywhere",
    "list": "in every pane",
    "workspace": "workspace",
    "evidence": "event beside its schema",
    "json": "JSON",
    "overview": "all sessions",
    "contracts": "contracts",
    "versions": "two versions",
    "lanes": "lanes",
    "calls": "calls of a tool",
    "marks": "marks",
    "raw": "raw bytes",
    "repair": "repair",
    "text": "text",
}

KEYS = (
    Key("back", "escape,q", "back", "one step out (on the first screen: nothing)", "anywhere", "out"),
    Key("quit", "Q,ctrl+q", "app.quit", "quit", "anywhere", "quit"),
    Key("help", "question_mark,f1", "app.help", "the keys of this place", "anywhere", "help"),
    Key("history-back", "left_square_bracket", "app.travel(-1)", "back to where you were", "anywhere"),
    Key("history-forward", "right_square_bracket", "app.travel(1)", "forward again", "anywhere"),
    Key("marks", "apostrophe", "app.marks", "the list of marks", "anywhere"),
    Key("theme", "f2", "app.next_theme", "next theme", "anywhere"),
    Key("next-pane", "tab", "app.focus_next", "next pane", "anywhere"),
    Key("jump", "ctrl+o", "jump", "to a pane by its letter", "anywhere"),
    Key("previous-pane", "shift+tab", "app.focus_previous", "previous pane", "anywhere"),
    # every pane is a list of lines
    Key("down", "j,down", "move(1)", "down", "list"),
    Key("up", "k,up", "move(-1)", "up", "list"),
    Key("half-down", "ctrl+d", "page(0.5)", "half a page down", "list"),
    Key("half-up", "ctrl+u", "page(-0.5)", "half a page up", "list"),
    Key("page-down", "pagedown,space", "page(1)", "a page down (space folds in JSON)", "list"),
    Key("page-up", "pageup,b", "page(-1)", "a page up", "list"),
    Key("top", "g,home", "end(-1)", "first line", "list"),
    Key("bottom", "G,end", "end(1)", "last line", "list"),
    Key("left", "h,left", "across(-1)", "left (JSON: fold, or to the parent)", "list"),
    Key("right", "l,right", "across(1)", "right (JSON: unfold, or to the first child)", "list"),
    Key("narrower", "less_than_sign", "spread(-1)", "names narrower, the last column wider", "list"),
    Key("wider", "greater_than_sign", "spread(1)", "names wider", "list"),
    Key("enter", "enter", "enter", "one step in", "list", "in"),
    Key("find", "slash", "find", "find text in this pane; rows stay", "list", "find"),
    Key("find-next", "n", "find_next(1)", "next hit, or the next failure of this event", "list"),
    Key("find-previous", "N", "find_next(-1)", "the one before", "list"),
    Key("copy", "y", "copy", "copy: then y value, v line, p path, j pointer, q jq path, k key", "list"),
    Key("cite", "Y", "cite", "copy file:line, digest and pointer of this event", "list"),
    Key(
        "export",
        "x",
        "export",
        "export what is shown: JSON, JSON Lines, CSV, Parquet, SARIF, text, SVG",
        "list",
        "export",
    ),
    # JSON panes
    Key("toggle", "space", "toggle_fold", "fold or unfold", "json", "fold"),
    Key("unfold-all", "plus,E", "unfold", "unfold everything below", "json"),
    Key("fold-all", "minus", "fold(1)", "fold everything", "json"),
    *(Key(f"fold-{n}", str(n), f"fold({n})", f"fold to level {n}", "json") for n in range(1, 10)),
    Key("next-sibling", "J", "sibling(1)", "next sibling", "json"),
    Key("previous-sibling", "K", "sibling(-1)", "previous sibling", "json"),
    Key("parent", "H", "parent", "parent, without folding", "json"),
    Key("follow", "ctrl+g,asterisk", "follow", "follow the $ref under the cursor", "json"),
    Key("query-here", "full_stop", "query_here", "put the path under the cursor into the query bar", "evidence"),
    Key("schema", "s", "schema", "to the schema in force", "evidence", "schema"),
    Key("filter-here", "F", "filter_here", "keep the findings at the path under the cursor", "evidence"),
    # workspace
    Key("filter", "f", "filter", "filter rows: sev>=warn rule:DRIFT tool:x !text sort:-seq", "workspace", "filter"),
    Key(
        "query",
        "colon",
        "query",
        "query: JSONPath with $ first, JSON Pointer with /, else JMESPath",
        "workspace",
        "query",
    ),
    Key("repair", "d", "repair", "the smallest edit that passes", "workspace", "repair"),
    Key("contracts", "c", "contracts", "contracts of this session", "workspace", "contracts"),
    Key("lanes", "t", "lanes", "lanes: agents, calls and contracts over time", "workspace", "lanes"),
    Key("rule", "r", "rule", "manual of the rule", "workspace"),
    Key("raw", "i", "raw", "raw bytes with offsets and digest", "workspace"),
    Key("calls", "u", "calls", "other calls of this tool", "workspace"),
    Key("events", "a", "events", "all events, or findings again", "workspace", "events"),
    Key("zoom", "z", "zoom", "this pane alone, or all again", "workspace"),
    Key("pager", "v", "pager", "this event in $PAGER", "workspace"),
    Key("next-error", "e", "next_severity('error',1)", "next error", "workspace", "error"),
    Key("previous-error", "ctrl+e", "next_severity('error',-1)", "previous error", "workspace"),
    Key("next-warning", "w", "next_severity('warning',1)", "next warning", "workspace"),
    Key("previous-warning", "W", "next_severity('warning',-1)", "previous warning", "workspace"),
    Key("next-same-call", "o", "same_call(1)", "next row of the same call", "workspace"),
    Key("previous-same-call", "O", "same_call(-1)", "previous row of the same call", "workspace"),
    Key("next-slow", "s", "slow(1)", "next of the slowest steps (from the rows)", "workspace"),
    Key("previous-slow", "S", "slow(-1)", "the slow step before", "workspace"),
    Key("next-turn", "right_curly_bracket", "turn(1)", "next turn", "workspace"),
    Key("previous-turn", "left_curly_bracket", "turn(-1)", "previous turn", "workspace"),
    Key("mark", "m", "mark", "mark this row, with a note", "workspace"),
    Key("scope", "ctrl+s", "scope", "query scope: this node, this event, this session, all rows", "workspace"),
    # all sessions
    Key("overview-filter", "f", "filter", "filter sessions: err>0 sort:-events", "overview", "filter"),
    Key("overview-findings", "a", "findings", "findings of all sessions", "overview", "all findings"),
    Key("overview-query", "colon", "query", "query the events of all sessions", "overview", "query"),
    Key("overview-lanes", "t", "lanes", "lanes of this session", "overview", "lanes"),
    Key("overview-contracts", "c", "contracts", "contracts of this session", "overview", "contracts"),
    Key("overview-rule", "r", "rule", "manual of the rule", "overview"),
    # contracts
    Key("contracts-used", "u", "used", "calls made under this tool", "contracts", "calls"),
    Key("versions-swap", "s", "swap", "swap the two sides", "versions", "swap"),
    Key("versions-older", "comma", "other(-1)", "left side: the version before", "versions"),
    Key("versions-newer", "full_stop", "other(1)", "left side: the version after", "versions"),
    # lanes
    Key("zoom-in", "plus", "zoom(2)", "zoom in at the cursor", "lanes", "zoom"),
    Key("zoom-out", "minus", "zoom(-2)", "zoom out", "lanes"),
    Key("fit-all", "0", "fit", "show all", "lanes"),
    Key("fit-cell", "equals_sign", "fit_cell", "this cell alone", "lanes"),
    Key("pan-left", "H", "pan(-1)", "a screen to the left", "lanes"),
    Key("pan-right", "L", "pan(1)", "a screen to the right", "lanes"),
    Key("lanes-error", "e", "next_error(1)", "next error of the lane", "lanes"),
    Key("lanes-previous-error", "ctrl+e", "next_error(-1)", "previous error of the lane", "lanes"),
    Key("lanes-slow", "s", "next_slow(1)", "next slow step of the lane", "lanes"),
    Key("lanes-previous-slow", "S", "next_slow(-1)", "the slow step before", "lanes"),
    Key("lane-table", "T", "table", "the lanes as a table", "lanes", "table"),
    Key("unmark", "delete", "unmark", "remove this mark", "marks", "remove"),
    Key("note", "m", "note", "change the note", "marks", "note"),
    Key("hex", "s", "switch", "text or hexadecimal", "raw", "hex"),
)


def bindings(where: str) -> list[BindingType]:
    """The bindings of one place, for a class of the terminal library."""
    from textual.binding import Binding

    return [Binding(key.keys, key.action, key.help, id=key.id, show=False) for key in KEYS if key.where == where]


Hint = tuple[str, str]


def hints(places: list[str], keymap: dict[str, str]) -> tuple[list[Hint], list[Hint]]:
    """(key, word) pairs for the bottom line: of these places, what is least missed last; and those that always hold."""
    first = [key for key in KEYS if key.id == "enter"]
    found = first + [key for place in places for key in KEYS if key.where == place and key.hint]
    found = [key for n, key in enumerate(found) if key not in found[:n] and key.where != "anywhere"]
    if not _LAST.isdisjoint(places):
        found.remove(first[0])
    found.sort(key=lambda key: key.id in _LEAST_MISSED)
    last = [key for key in KEYS if key.where == "anywhere" and key.hint]
    last = [key for key in last if key.id != "back" or "overview" not in places]  # from there is no way out
    return [(shown(key, keymap)[0], key.hint) for key in found], [
        *((shown(key, keymap)[0], key.hint) for key in last),
        ("ctrl+p", "all"),
    ]


_LAST = frozenset(("text", "repair", "raw", "versions"))  # nothing lies further in
_LEAST_MISSED = ("lanes", "events", "contracts", "overview-contracts", "schema", "find")


def shown(key: Key, keymap: dict[str, str]) -> list[str]:
    """The keys of an action as people read them."""
    return [_SIGNS.get(name, name) for name in keymap.get(key.id, key.keys).split(",")]


_ADVICE = "`analyzer tui --keys` prints a file to begin with"
_SIGNS = {
    "question_mark": "?",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "apostrophe": "'",
    "full_stop": ".",
    "comma": "','",
    "colon": ":",
    "slash": "/",
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "asterisk": "*",
    "escape": "esc",
    "pagedown": "pgdn",
    "pageup": "pgup",
}


def help_lines(places: list[str], keymap: dict[str, str]) -> list[tuple[str, str]]:
    """(keys, meaning) lines: how to leave first, then the keys of these places, then all others; ("", title) heads."""
    named = list(dict.fromkeys([*places, *PLACES]))
    lines = [("esc, q", "one step out, whatever the view; Q or ctrl+q quits"), ("ctrl+p", "every action by name")]
    for place in named:
        own = [key for key in KEYS if key.where == place]
        if own:
            lines += [("", PLACES[place])]
            lines += [(", ".join(shown(key, keymap)), key.help) for key in own]
    return lines


def keymap_file() -> str:
    """A keymap file in TOML that says what holds anyway: every action with its keys."""
    lines = ["# Keys of `analyzer tui`: keep the lines that you change. Names of keys are separated by commas."]
    for place, title in PLACES.items():
        own = [key for key in KEYS if key.where == place]
        if own:
            lines += ["", f"# {title}"]
            lines += [f'{key.id} = "{key.keys}"  # {key.help}' for key in own]
    return "\n".join(lines) + "\n"


def read_keymap(file: Path) -> dict[str, str]:
    """The keymap that a file holds. Raises ConfigurationError where it names no action."""
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"not a keymap: {error}", file=str(file), advice=_ADVICE) from error
    known = {key.id for key in KEYS}
    for name, keys in found.items():
        if name not in known:
            raise ConfigurationError(f"no action {name!a}", file=str(file), advice=_ADVICE)
        if not isinstance(keys, str):
            raise ConfigurationError(f"the keys of {name} are not text", file=str(file), advice=_ADVICE)
    return found
