"""Fifteen texts that a log may hold and that no terminal may get to see as they are."""

from __future__ import annotations

import re

PAYLOADS = {
    "title": "\x1b]2;PWNED\x1b\\",
    "title-bell": "\x1b]0;PWNED\x07",
    "clipboard": "\x1b]52;c;UFdORUQ=\x1b\\",
    "clear": "\x1b[2J\x1b[H",
    "unterminated": "\x1b]8;;http://evil.example",
    "c1": "\x9b31m\x9d2;PWNED\x9c",
    "device": "\x1bP$q\x1b\\\x1b[c\x05",
    "bidi": "\u202egpj.exe\u2066\u2069",
    "zero-width": "a\u200bb\u200d\u2060\ufeff\u00ad",
    "tags": "\U000e0041\U000e007f",
    "nul": "\x00\x08\x7f\r",
    "markup": "[/nope][link=http://evil.example][@click=app.bell]x[/]",
    "unclosed": "[bold [red",
    "wide": "\U0001f469\u200d\U0001f469 ｗｉｄｅ 漢字",
    "combining": "e" + "\u0301" * 40,
}

# What must never arrive: string sequences of any kind but the ones that the library itself sends, C1, invisible ones.
FORBIDDEN = re.compile(
    "PWNED\x07|PWNED\x1b|[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad\x80-\x9f\U000e0000-\U000e007f]"
)
STRING_SEQUENCE = re.compile(rb"\x1b[\]P_^X]|\x9b|\x9d|\x90")
POINTER_SHAPE = re.compile(rb"\x1b\]22;[a-z-]*\x07")  # the terminal library's own, with literals only
