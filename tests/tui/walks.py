"""Ways through every screen, by keys: what each step must show is for the tests to say."""

from __future__ import annotations

# From the overview; every walk ends where it began.
OUT = ("escape",) * 7
WALKS: dict[str, tuple[str, ...]] = {
    "overview": ("j", "k", "G", "g", "tab", "tab", "tab"),
    "workspace": ("enter", "enter", "plus", "G", "g", "2", "enter", *OUT),
    "all findings": ("a", "G", "l", "h", "tab", "tab", *OUT),
    "events": ("enter", "a", "j", "G", "g", *OUT),
    "repair": ("enter", "d", *OUT),
    "contracts": ("enter", "c", "enter", "s", "tab", "tab", *OUT),
    "calls": ("enter", "u", "G", "enter", *OUT),
    "lanes": ("enter", "t", "plus", "l", "T", "escape", "0", "enter", *OUT),
    "raw": ("enter", "i", "s", "G", *OUT),
    "value": ("enter", "enter", "g", "plus", "slash", *"huge", "enter", "enter", "G", *OUT),
    "help": ("enter", "question_mark", "G", *OUT),
    "rule": ("enter", "r", *OUT),
    "query": ("enter", "colon", *"@", "enter", "j", "enter", *OUT),
    "query all": ("enter", "colon", *"$..note", "ctrl+s", "enter", "f", *OUT),
    "marks": ("enter", "m", "enter", "apostrophe", "m", "escape", *OUT),
    "copy": ("enter", "enter", "y", "y", "y", "p", "Y", *OUT),
    "path": ("enter", "enter", "full_stop", "escape", "F", *OUT),
    "palette": ("ctrl+p", *"session", "down", "escape", *OUT),
}

# What a step of a walk shows, by its number: whoever presses keys on a real terminal waits for it.
SHOWS: dict[str, dict[int, str]] = {
    "workspace": {0: "event"},
    "all findings": {0: "findings"},
    "events": {0: "findings", 1: "events"},
    "repair": {0: "event", 1: "valid against"},
    "contracts": {0: "event", 1: "offered", 2: "what differs"},
    "calls": {0: "event", 1: "calls of "},
    "lanes": {0: "event", 1: " to 09:", 4: "longest gap"},
    "raw": {0: "event", 1: "was audited", 2: "nothing is masked"},
    "value": {0: "event", 4: "find in this pane"},
    "copy": {0: "event"},
    "path": {0: "event", 2: "this event"},
    "help": {0: "event", 1: "one step out"},
    "rule": {0: "event", 1: "rule"},
    "query": {0: "event", 1: "this event", 2: "match"},
    "query all": {0: "event", 1: "this event"},
    "marks": {0: "event", 1: "mark this row", 3: "note"},
}
