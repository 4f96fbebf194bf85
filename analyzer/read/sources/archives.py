"""Files that hold their records in a container: HAR, JSON cassettes and logs of samples."""

from __future__ import annotations

import re

import msgspec

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
