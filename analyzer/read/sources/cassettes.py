"""VCR cassettes in YAML. Nothing in them is executed: the loader is safe."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from msgspec.json import encode

from analyzer.read.sources.bodies import text_of

_MOST_NODES = 4_000_000  # of what is loaded at once, with aliases expanded: a few lines can stand for billions
_LIST = re.compile(r"^((?:http_)?interactions):[ \t]*(?:#[^\n]*)?\n", re.MULTILINE)
_MEMBER = re.compile(r"^[A-Za-z_]\w*:", re.MULTILINE)
_FIRST = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*( *)- ")
_ALIAS = re.compile(r"[:-] \*\w+ *$", re.MULTILINE)
# Recorders end with one of these.
_ENDS = re.compile(r"^(?:version|recorded_with):", re.MULTILINE)


def cassette(text: bytes) -> tuple[str, list[bytes], bool]:
    """The interactions of a YAML cassette as JSON texts, the pointer to their list, and whether the last one is cut.

    An interaction that cannot be read stands as it is written. Each is loaded alone, for YAML takes fifty times its
    bytes, unless one names a value of another (`*id001`).
    """
    whole = text.decode("utf-8", "replace")
    begun = _LIST.search(whole)
    spans = [] if begun is None else _items(whole, begun.end())
    cut = bool(spans) and not _ENDS.search(whole)  # YAML does not show it
    if begun is None or not spans or _ALIAS.search(whole, begun.end()):
        value = _load(whole[: spans[-1][0]] if cut else whole)
        for name in ("interactions", "http_interactions"):
            listed = value.get(name) if isinstance(value, dict) else None
            if isinstance(listed, list):
                last = [_written(whole, spans[-1])] if cut else []
                return f"/{name}", [*map(encode, listed), *last], cut
    if begun is None or not spans:
        found = _two_lists(whole, value)
        return ("", [text], True) if found is None else ("/interactions", *found)
    elements = [_element(whole, span) for span in spans[: -1 if cut else None]]
    return f"/{begun[1]}", elements + ([_written(whole, spans[-1])] if cut else []), cut


def _two_lists(whole: str, value: Any) -> tuple[list[bytes], bool] | None:
    """The interactions of a cassette that has its requests in one list and what came back in another."""
    begun = [found.start() for found in re.finditer(r"^- ", whole, re.MULTILINE)]
    cuts = [] if value is not None else [*reversed(begun[-2:])]
    for start in cuts:
        value = _load(whole[:start])
        if value is not None:
            begun = [start]
            break
    asked = value.get("requests") if isinstance(value, dict) else None
    if not isinstance(asked, list):
        return None
    responses = value.get("responses")
    told = responses if isinstance(responses, list) else []
    # The status is the last member that recorders write of what came back.
    if told and not (isinstance(told[-1], dict) and "status" in told[-1]):
        told = told[:-1]
    pairs = [{"request": request, "response": response} for request, response in zip(asked, told, strict=False)]
    # What was asked and has no answer is read, too.
    pairs += [{"request": request} for request in asked[len(told) :]]
    torn = bool(cuts) or len(told) < len(asked)
    rest = [whole[begun[-1] if begun else 0 :].encode("utf-8", "replace")] if torn else []
    return [*map(encode, pairs), *rest], torn


def _items(whole: str, start: int) -> list[tuple[int, int]]:
    """Where the items of the list lie that begins there."""
    first = _FIRST.match(whole, start)
    if first is None:
        return []
    behind = _MEMBER.search(whole, start)
    end = behind.start() if behind is not None else len(whole)
    item = re.compile(rf"^{first[1]}- ", re.MULTILINE)
    places = [found.start() for found in item.finditer(whole, start, end)]
    return [*zip(places, [*places[1:], end], strict=True)]


def _element(whole: str, span: tuple[int, int]) -> bytes:
    value = _load(whole[slice(*span)])
    return encode(value[0]) if isinstance(value, list) and len(value) == 1 else _written(whole, span)


def _written(whole: str, span: tuple[int, int]) -> bytes:
    return whole[slice(*span)].encode("utf-8", "replace")


def _load(text: str) -> Any:
    """A value as JSON has it; None where there is none, or it is too large or too deep."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        value = yaml.load(text, loader)  # noqa: S506 - the safe loader, in C where there is one
        return _plain(value) if _size(value, {}) <= _MOST_NODES else None
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
        return None


def _size(value: Any, known: dict[int, int]) -> int:
    """How many nodes a value has once it is written out; what is shared is counted wherever it stands."""
    if not isinstance(value, dict | list):
        return 1
    size = known.get(id(value))
    if size is None:
        known[id(value)] = _MOST_NODES  # met again inside itself: it has no end
        inner: Iterable[Any] = value.values() if isinstance(value, dict) else value
        size = known[id(value)] = 1 + sum(_size(each, known) for each in inner)
    return size


def _plain(value: Any) -> Any:
    """A value as JSON has them: names are strings, bytes are text, dates are written."""
    if isinstance(value, dict):
        return {str(name): _plain(member) for name, member in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(member) for member in value]
    if isinstance(value, bytes):
        return text_of(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
