"""Files that hold their records in a container: VCR cassettes, HAR. Of YAML nothing is executed: the loader is safe."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from analyzer.read.sources.bodies import text_of

PARQUET = b"PAR1"
SQLITE = b"SQLite format 3\x00"
_ARCHIVE = re.compile(
    rb'\{\s*(?:"log"\s*:\s*\{\s*"(?:version|creator|browser|pages|entries|comment)"'
    rb'|(?:"(?:version|recorded_with)"\s*:\s*[^,{\[]*,\s*)?"(?:http_)?interactions"\s*:\s*\[)'
)
_SAMPLES = re.compile(rb'\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:')
_YAML = re.compile(
    rb"(?:---[^\n]*\n)?(?:[ \t]*#[^\n]*\n)*"
    rb"(?:version:|recorded_with:|(?:http_)?interactions:|requests:\s*(?:\n[ ]*- |\[\]))"
)
_MOST_NODES = 4_000_000  # of one cassette after aliases are expanded: a few lines can stand for billions


class _Log(msgspec.Struct):
    entries: list[msgspec.Raw] = []


class _Archive(msgspec.Struct):
    log: _Log | None = None
    interactions: list[msgspec.Raw] | None = None
    http_interactions: list[msgspec.Raw] | None = None
    samples: list[msgspec.Raw] | None = None


_archive = msgspec.json.Decoder(_Archive).decode


def kind_of(head: bytes) -> str | None:
    """The framing of an archive that begins with `head`: `document`, `yaml`, `sqlite` or `parquet`; else None."""
    if head.startswith(SQLITE):
        return "sqlite"
    if head.startswith(PARQUET):
        return "parquet"
    if _ARCHIVE.match(head) or _SAMPLES.match(head):
        return "document"
    return "yaml" if _YAML.match(head) else None


def entries(text: bytes) -> tuple[str, list[bytes]] | None:
    """The exchanges of a HAR file or JSON cassette, or the samples of a log; their list's pointer."""
    if not _ARCHIVE.match(text) and not _SAMPLES.match(text):
        return None
    try:
        archive = _archive(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    if archive.log is not None:
        return "/log/entries", [bytes(raw) for raw in archive.log.entries]
    for name in ("interactions", "http_interactions", "samples"):
        listed = getattr(archive, name)
        if listed:
            return f"/{name}", [bytes(raw) for raw in listed]
    return None


# --- YAML -------------------------------------------------------------------------------------------------------------


def cassette(text: bytes) -> tuple[str, list[bytes], bytes | None]:
    """The interactions of a YAML cassette as JSON texts, the pointer to their list, and what could not be read."""
    whole = text.decode("utf-8", "replace")
    value = _load(whole)
    rest: bytes | None = None
    if value is None:
        # A cut cassette is whole up to its last complete interaction.
        begun = [match.start() for match in re.finditer(r"^- ", whole, re.MULTILINE)]
        for start in reversed(begun[-2:]):
            value = _load(whole[:start])
            if value is not None:
                rest = whole[start:].encode("utf-8", "replace")
                break
    if not isinstance(value, dict):
        return "", [], text
    if isinstance(value.get("requests"), list):
        return "/interactions", *_two_lists(value, rest, text)
    for name in ("interactions", "http_interactions"):
        listed = value.get(name)
        if isinstance(listed, list):
            if listed and rest is None and not {"version", "recorded_with"} & value.keys():
                # Recorders end with these: without them the last interaction was cut, and YAML does not show it.
                begun = [match.start() for match in re.finditer(r"^- ", whole, re.MULTILINE)]
                rest = whole[begun[-1] if begun else 0 :].encode("utf-8", "replace")
                listed = listed[:-1]
            return f"/{name}", [msgspec.json.encode(_plain(each)) for each in listed], rest
    return "", [], text


def _two_lists(value: dict[str, Any], rest: bytes | None, text: bytes) -> tuple[list[bytes], bytes | None]:
    """The interactions of a cassette that has its requests in one list and what came back in another."""
    responses = value.get("responses")
    told = responses if isinstance(responses, list) else []
    # The status is the last member that recorders write of what came back.
    if told and not (isinstance(told[-1], dict) and "status" in told[-1]):
        told = told[:-1]
    asked = value["requests"]
    if len(told) < len(asked) and rest is None:
        begun = [match.start() for match in re.finditer(rb"^- ", text, re.MULTILINE)]
        rest = text[begun[-1] if begun else 0 :]
    pairs = [{"request": request, "response": response} for request, response in zip(asked, told, strict=False)]
    # What was asked and has no answer is read, too.
    pairs += [{"request": request} for request in asked[len(told) :]]
    return [msgspec.json.encode(_plain(each)) for each in pairs], rest


def _load(text: str) -> Any:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        value = yaml.load(text, loader)  # noqa: S506 - the safe loader, in C where there is one
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError):
        return None
    return value if _size(value, {}) <= _MOST_NODES else None


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
