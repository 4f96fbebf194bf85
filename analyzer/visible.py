r"""The only way foreign text reaches a human: no control or invisible character, no credential, no endless line.

Escapes, never deletion: what is silently lost makes people decide wrongly. An escape looks like `\x1b`, `\u202e` or
`\U000e0041`; a backslash of the text itself stays as it is, so show JSON-encoded text where the two must differ.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator

from analyzer import masking, redaction

_PIECE = re.compile(r"[ -~]+|[^ -~]")
_SHORT = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}

# `str.isprintable` refuses every control, format, surrogate, private, unassigned and separator character but the space.
# These it lets pass though they draw nothing: joiners, fillers, variation selectors, the blank Braille pattern.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_MOST_MARKS = 3  # on one character: Vietnamese and Hebrew need two or three, a flood of them covers other lines
# How far past the limit credentials are looked for: one may begin inside the limit and end behind it. Nothing from the
# second half is shown, where one may be cut so short that it is not recognised.
_MARGIN = 8192
_MOST_BITS = 4096  # of an integer: turning more into digits takes quadratic time

# Scripts that are written together are one here.
_ONE_SCRIPT = dict.fromkeys(
    ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "BOPOMOFO", "HANGUL", "IDEOGRAPHIC"), "East Asian"
)
# Letters of other alphabets that most fonts draw as ASCII ones.
_LOOKALIKES = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u051b\u04bb\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422"
    "\u0425\u0406\u0408\u0405\u03bf\u03b1\u03bd\u03c1\u03b9\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u0131\u0261",
    "aeopcyxijsdwhABEKMHOPCTXIJSoavpiABEZHIKMNOPTYXig",
)


def visible(text: str, *, limit: int = 200) -> str:
    """Return foreign text as a human may safely see it: one line, credentials masked, about `limit` characters.

    A longer text ends in `… (N more)`, which comes on top; N counts the characters of the text that are not shown.
    """
    if len(text) <= limit and text.isascii() and text.isprintable():
        return masking.mask(text)
    return _render(text, limit, lines=False)


def visible_lines(text: str, *, limit: int = 100_000) -> str:
    """Return foreign text for display on several lines: as `visible`, but newlines stay and a tab is four spaces."""
    return _render(text, limit, lines=True)


def visible_value(value: object, *, limit: int = 200) -> str:
    """Return a decoded JSON value as compact JSON that a human may safely see.

    Members with a secret's name (`password`, `api_key`) are masked whatever they look like. What does not fit ends in
    `…`; only as much of the value is looked at as can be shown, and depth costs nothing.
    """
    budget = limit + _MARGIN
    text = _json(value, budget)
    if len(text) <= budget:
        return visible(text, limit=limit)
    return _render(text[:budget], limit, lines=False, complete=False)


def reads_as(name: str) -> str:
    """The name as the eye reads it: without what is not drawn, foreign letters as the ones they look like."""
    if name.isascii() and name.isprintable():
        return name
    return unicodedata.normalize("NFKC", "".join(filter(draws, name))).translate(_LOOKALIKES)


def homoglyph_note(name: str) -> str | None:
    """Say what makes an identifier look like another one: invisible characters, mixed scripts, lookalike letters."""
    if name.isascii() and name.isprintable():
        return None
    name = name[:400]
    notes = []
    hidden = [char for char in name if not draws(char)]
    if hidden:
        notes.append("holds invisible " + _named(hidden))
    scripts: dict[str, list[str]] = {}
    for char in name:
        if char.isalpha() and draws(char):
            scripts.setdefault(_script(char), []).append(char)
    if scripts.keys() - {"Latin", "East Asian"} and len(scripts) > 1:
        others = [f"{script} {_named(chars)}" for script, chars in sorted(scripts.items()) if script != "Latin"]
        notes.append("mixes " + ("Latin with " if "Latin" in scripts else "") + " and ".join(others))
    plain = reads_as(name)
    if plain != name and plain.isascii():
        notes.append(f"reads as {visible(plain, limit=80)}")
    return "; ".join(notes) or None


def _render(text: str, limit: int, *, lines: bool, complete: bool = True) -> str:
    window = text[: limit + _MARGIN]
    last = len(text) if complete and len(window) == len(text) else len(window) - _MARGIN // 2
    out, room, at = [], limit, 0
    for shown, size in _clusters(window, last, lines=lines):
        if len(shown) > room:
            if size == len(shown) and shown.isascii():  # a run of plain characters may be cut anywhere
                out.append(shown[:room])
                at += room
            break
        out.append(shown)
        room -= len(shown)
        at += size
    if not complete:
        out.append("…")
    elif at < len(text):
        out.append(f"… ({len(text) - at} more)")
    return "".join(out)


def _clusters(window: str, last: int, *, lines: bool) -> Iterator[tuple[str, int]]:
    """Yield what is shown and how many characters of the window it stands for, in pieces that belong together."""
    at = 0
    for secret in masking.spans(window):
        if secret.start >= last:
            break
        yield from _plain_clusters(window, at, secret.start, lines=lines)
        yield masking.label(secret.kind, window[secret.start : secret.end]), secret.end - secret.start
        at = secret.end
    yield from _plain_clusters(window, at, last, lines=lines)


def _plain_clusters(window: str, start: int, end: int, *, lines: bool) -> Iterator[tuple[str, int]]:
    held, size, base = "", 0, False  # the character that marks may still join, and whether they may
    for piece in _PIECE.finditer(window, start, end):
        char = piece[0]
        if base and not char.isascii() and _joins(held, char):
            held, size = held + char, size + 1
            continue
        if size:
            yield held, size
        if " " <= char[0] <= "~":
            if len(char) > 1:
                yield char[:-1], len(char) - 1
            held, base = char[-1], True
        elif lines and char in "\n\t":
            held, base = "\n" if char == "\n" else "    ", False
        elif draws(char) and unicodedata.category(char) not in {"Mn", "Me"}:
            held, base = char, True
        else:
            held, base = _escape(char), False
        size = 1
    if size:
        yield held, size


def draws(char: str) -> bool:
    """Say whether a character is one that a terminal draws, and draws as itself."""
    return char.isprintable() and not _BLANK.match(char)


def _joins(held: str, char: str) -> bool:
    """Say whether a character is drawn as part of the one before it: a mark, an emoji's style or tone, half a flag."""
    if char in "\ufe0e\ufe0f":
        return len(held) == 1 and unicodedata.category(held) == "So" and held != "\u2800"
    if "\U0001f3fb" <= char <= "\U0001f3ff":
        return len(held) <= 2 and unicodedata.category(held[0]) == "So"
    if "\U0001f1e6" <= char <= "\U0001f1ff":
        return len(held) == 1 and "\U0001f1e6" <= held <= "\U0001f1ff"
    return unicodedata.category(char) in {"Mn", "Me"} and draws(char) and len(held) <= _MOST_MARKS


def _escape(char: str) -> str:
    number = ord(char)
    return _SHORT.get(char) or (
        f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
    )


def _json(value: object, budget: int) -> str:
    """Return compact JSON with the members of secret names masked, given up once it is longer than the budget."""
    out: list[str] = []
    room = budget
    todo: list[tuple[Iterator[tuple[str, object, bool]], str]] = [(iter([("", value, False)]), "")]
    while todo and room >= 0:
        children, closing = todo[-1]
        child = next(children, None)
        if child is None:
            todo.pop()
            text = closing
        else:
            lead, item, hidden = child
            if isinstance(item, dict):
                text = lead + "{"
                todo.append((_members(item, budget), "}"))
            elif isinstance(item, (list, tuple)):
                text = lead + "["
                todo.append((_elements(item, hidden=hidden), "]"))
            else:
                text = lead + _scalar(item, budget, hidden=hidden)
        out.append(text)
        room -= len(text)
    return "".join(out)


def _members(value: dict[object, object], budget: int) -> Iterator[tuple[str, object, bool]]:
    comma, hidden = "", masking.hides(value)
    for key, child in value.items():
        yield f"{comma}{_scalar(str(key), budget, hidden=False)}:", child, hidden(str(key))
        comma = ","


def _elements(value: list[object] | tuple[object, ...], *, hidden: bool) -> Iterator[tuple[str, object, bool]]:
    comma = ""
    for child in value:
        yield comma, child, hidden
        comma = ","


def _scalar(value: object, budget: int, *, hidden: bool) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        if hidden and value and redaction.current().on:
            return json.dumps(masking.hidden_text(value), ensure_ascii=False)
        # One character beyond the budget tells the caller that it was not enough.
        return json.dumps(value[: budget + 1], ensure_ascii=False)
    if isinstance(value, (int, float)):
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            return f"<integer of {value.bit_length()} bits>"
        text = json.dumps(value)
        return json.dumps(masking.label("secret", text)) if hidden and redaction.current().on else text
    return f"<{type(value).__name__}>"


def _script(char: str) -> str:
    """Return the script of a letter by its Unicode name, which is as good as it gets in the standard library."""
    first = unicodedata.name(unicodedata.normalize("NFKC", char)[0], "unnamed").split()[0]
    return _ONE_SCRIPT.get(first, first.capitalize())


def _named(chars: list[str]) -> str:
    some = list(dict.fromkeys(f"U+{ord(char):04X}" for char in chars))
    return ", ".join(some[:4]) + (f" and {len(some) - 4} more" if len(some) > 4 else "")
