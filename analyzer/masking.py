"""What stands in place of credentials: the one way for texts and JSON values, on paper and in documents.

A credential is known by what it looks like (`analyzer.secrets`) or by the name of its member: whatever a `password`
holds is one. Its place keeps its JSON type, so that findings still make sense: a string becomes a label, a number 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from analyzer import pointer, redaction, secrets
from analyzer.secrets import Secret

#: One of these is in every name that `secrets.secret_name` knows.
NAMES: tuple[str, ...] = (
    *("pass", "Pass", "PASS", "pwd", "PWD", "Pwd", "redential", "CREDENTIAL", "ecret", "ECRET", "key", "Key", "KEY"),
    *("oken", "OKEN", "uthorization", "AUTHORIZATION", "ookie", "COOKIE", "earer", "BEARER"),
)
_LOWER = sorted({name.lower() for name in NAMES})
# The same for a text in lower case, without those that hold another.
_FOLDED = tuple(name for name in _LOWER if not any(other != name and other in name for other in _LOWER))
# A member of JSON text and the start of its value, in as many layers of escapes as there are.
_MEMBER = re.compile(r"""(\\{0,127}["'])([A-Za-z0-9_.$ -]{2,60})\1\s{0,8}:\s{0,8}(?:\1|(-?[0-9][0-9.eE+-]{3,})|(\[))""")
_ELEMENT = re.compile(r"""[\s,]*+(?:(\\{0,127}["'])|(-?[0-9][0-9.eE+-]{3,}))""")
_VALUE = re.compile(r"""(\\{0,127}["'])\s{0,8},\s{0,8}(\\{0,127}["'])value\2\s{0,8}:\s{0,8}\2""")
_LONGEST_NAME = 100
_NUMBER = "secret-number"
_PLAIN = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u00([2-7][0-9a-fA-F])|/)")
_LABEL = re.compile(r"\[[a-z-]+, [0-9]+ chars(?:, hmac [0-9a-f]{8})?\]")


def spans(text: str) -> list[Secret]:
    """What must not be shown of a text, in order: credentials, and what members of secret names hold."""
    if not redaction.current().on:
        return []
    found, folded = secrets.find(text), text.lower()
    for name in _FOLDED:
        if name in folded:
            named = list(_named(text))
            return _together(found, named) if named else found
    return found


def mask(text: str) -> str:
    """The text with each credential replaced by its label."""
    out, done = [], 0
    for secret in spans(text):
        # JSON text has to stay JSON text.
        shown = "0" if secret.kind == _NUMBER else label(secret.kind, text[secret.start : secret.end])
        out += [text[done : secret.start], shown]
        done = secret.end
    return "".join([*out, text[done:]]) if out else text


def mask_json(text: str) -> str:
    r"""As `mask`, for JSON text as recorded: a credential may stand there with `\/` and `\u0061` in it.

    Where names hide what text alone does not show (a list under one, a pair of name and value), it is written anew.
    """
    shown = mask(_PLAIN.sub(_unescaped, text)) if "\\" in text else mask(text)
    if shown[:1] not in ("{", "[") or not redaction.current().on:
        return shown
    folded = shown.lower()
    if not any(name in folded for name in _FOLDED):
        return shown
    try:
        value = json.loads(shown)
    except (ValueError, RecursionError):
        return shown
    hidden = masked(value)
    return shown if hidden == value else json.dumps(hidden, ensure_ascii=False, separators=(",", ":"))


def plain(text: str) -> str:
    r"""JSON text as recorded without the `\/` and `\u0061` that a credential may stand in, if it holds one."""
    without = _PLAIN.sub(_unescaped, text) if "\\" in text else text
    return text if without == text or harmless(without) else without


def _unescaped(match: re.Match[str]) -> str:
    char = "/" if match[2] is None else chr(int(match[2], 16))
    return match[0] if char in '"\\' or not char.isprintable() else match[1] + char


def harmless(text: str) -> bool:
    """Say whether nothing in a text would be hidden, be it JSON of any depth: a quick look before a careful one."""
    return not spans(text)


def label(kind: str, value: str) -> str:
    """What is shown in place of a credential: kind and length, with a key its hash; without redaction the value."""
    how = redaction.current()
    return secrets.label(kind, value, how.key) if how.on else value


def masked(value: Any, *, hidden: bool = False) -> Any:
    """A decoded JSON value with its credentials replaced; depth costs nothing, and what is not JSON stays as it is.

    With `hidden` it is what a member of a secret name holds.
    """
    if not redaction.current().on:
        return value
    holder: list[Any] = [None]
    todo: list[tuple[Any, Any, Any, bool]] = [(holder, 0, value, hidden)]
    while todo:
        parent, key, item, hidden = todo.pop()
        if isinstance(item, str):
            parent[key] = hidden_text(item) if hidden and item else _layered(item)
        elif isinstance(item, dict):
            made: dict[Any, Any] = {}
            parent[key] = made
            for name, inner, secret in _members(item):
                single = name if name not in made else f"{name} {len(made)}"  # two names may have one label
                made[single] = None
                todo.append((made, single, inner, secret))
        elif isinstance(item, list | tuple):
            parent[key] = [None] * len(item)
            todo.extend((parent[key], index, inner, hidden) for index, inner in enumerate(item))
        elif hidden and isinstance(item, int | float) and not isinstance(item, bool):
            parent[key] = 0
        else:
            parent[key] = item
    return holder[0]


def hidden_text(text: str) -> str:
    """What is shown of a text that a member of a secret name holds; it may be hidden already."""
    return text if _LABEL.fullmatch(text) else label("secret", text)


def _layered(text: str) -> str:
    """A text of a JSON value, which may be JSON itself."""
    return mask(plain(text)) if text[:1] in ("{", "[") else mask(text)


def hidden_members(item: dict[Any, Any]) -> set[Any]:
    """The names of the members whose values are credentials by these names."""
    return {name for name, (_, _, hidden) in zip(item, _members(item), strict=True) if hidden}


def hides(item: dict[Any, Any]) -> Callable[[str], bool]:
    """Which names of an object are those of credentials."""
    # Headers and attributes are often pairs: {"name": "Cookie", "value": "sid=…"}.
    called = item.get("name", item.get("key"))
    pair = isinstance(called, str) and secrets.secret_name(called)
    return lambda name: secrets.secret_name(name) or (pair and name == "value")


def masked_at(place: str, value: Any, whole: Any = None) -> Any:
    """A value as `masked`, which stands at a JSON Pointer of `whole`: what is above it may say that it is hidden."""
    return masked(value, hidden=_hidden_at(place, whole))


def mask_json_at(place: str, text: str, whole: Any = None) -> str:
    """JSON text, whole or cut, as `mask_json`, of a value that stands at a JSON Pointer of `whole`."""
    if not text or not redaction.current().on or not _hidden_at(place, whole):
        return mask_json(text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return json.dumps(label("secret", text))
    return json.dumps(masked(value, hidden=True), ensure_ascii=False, separators=(",", ":"))


def _hidden_at(place: str, whole: Any) -> bool:
    """Whether the name of a member hides what stands there: its own, or that of the list that it is in."""
    steps = pointer.parts(place)
    while steps and steps[-1].isdecimal():
        steps.pop()
    if not steps or secrets.secret_name(steps[-1]):
        return bool(steps)
    if steps[-1] != "value":
        return False
    try:
        holder = pointer.resolve(whole, pointer.pointer(steps[:-1]))
    except (LookupError, ValueError):
        return False
    return isinstance(holder, dict) and hides(holder)("value")


def _members(item: dict[Any, Any]) -> Iterator[tuple[Any, Any, bool]]:
    hidden_by = hides(item)
    for name, inner in item.items():
        if isinstance(name, str):
            hidden = hidden_by(name)
            # What stands under it may be a schema of a password, whose words are no passwords.
            yield mask(name), inner, hidden and not isinstance(inner, dict)
        else:
            yield name, inner, False


def _named(text: str) -> Iterator[Secret]:
    at = 0
    while match := _MEMBER.search(text, at):
        quote, name, number, opened = match.groups()
        at = match.end()
        if not secrets.secret_name(name):
            if name in ("name", "key") and number is opened is None:
                yield from _paired(text, at, quote)
            at -= len(quote) if number is opened is None else 0  # the value may be the name of the next member
        elif number is not None:
            yield Secret(_NUMBER, *match.span(3), "hint")
        elif opened is not None:
            while element := _ELEMENT.match(text, at):
                at = element.end()
                if element[2] is not None:
                    yield Secret(_NUMBER, *element.span(2), "hint")
                elif element[1] != quote:
                    break
                else:
                    end = _end(text, at, quote)
                    yield from _hidden(text, at, end)
                    at = min(end + len(quote), len(text))
        else:
            end = _end(text, at, quote)
            yield from _hidden(text, at, end)
            at = max(end, at)


def _hidden(text: str, start: int, end: int) -> Iterator[Secret]:
    if end > start and not _LABEL.fullmatch(text, start, end):
        yield Secret("secret", start, end, "hint")


def _paired(text: str, start: int, quote: str) -> Iterator[Secret]:
    """The value of a pair of name and value, of which the name begins here."""
    name = text[start : start + _LONGEST_NAME]  # a long value is no name, and is not looked through
    end = start + _end(name, 0, quote)
    if not secrets.secret_name(text[start:end]):
        return
    match = _VALUE.match(text, end)
    if match and match[1] == match[2] == quote:
        yield from _hidden(text, match.end(), _end(text, match.end(), quote))


def _end(text: str, start: int, quote: str) -> int:
    """Where the string ends that such a quote opened: at the next one with no more backslashes before it."""
    depth, mark = len(quote) - 1, quote[-1]
    at = text.find(mark, start)
    while at >= 0:
        before = at
        while before > start and text[before - 1] == "\\":
            before -= 1
        if at - before <= depth:
            return before
        at = text.find(mark, at + 1)
    return len(text)


def _together(found: list[Secret], named: list[Secret]) -> list[Secret]:
    """Both in order; where they overlap the kind that was recognised is given the span of both."""
    out: list[Secret] = []
    for each in sorted([*found, *named], key=lambda secret: (secret.start, secret.end)):
        if out and each.start < out[-1].end:
            kind = out[-1].kind if out[-1].kind != "secret" else each.kind
            out[-1] = out[-1]._replace(kind=kind, end=max(out[-1].end, each.end))
        else:
            out.append(each)
    return out
