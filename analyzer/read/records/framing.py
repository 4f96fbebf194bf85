"""How a stream is cut into records, told by how it begins."""

from __future__ import annotations

from analyzer.read import limits
from analyzer.read.records import containers
from analyzer.read.records.events import FIELDS
from analyzer.read.records.loose import is_loose
from analyzer.read.records.prefixed import is_prefixed
from analyzer.read.records.spans import JOINED, is_json, spans
from analyzer.read.sources import archives, transport


def framing(head: bytes) -> str:
    """How a stream that begins with `head` is cut: `lines`, `prefixed`, `sse`, `document`, `yaml`, `sqlite`, `parquet`.

    What a container printed is `docker` or `cri`; lines that are nearly JSON are `loose`.
    `lines cr` and `sse cr` have no line ends but CR, and a body behind the headers of an HTTP response is, say,
    `http lines`.
    """
    size = transport.headers(head)
    if size:
        return f"http {framing(head[size:])}"
    text = head.removeprefix(limits.BOM).lstrip()
    kind = archives.kind_of(text)
    if kind is not None:
        return kind
    cut = _is_cut(text)
    if text.startswith(FIELDS) and not cut:
        return "sse cr" if b"\r" in text and b"\n" not in text else "sse"
    if not cut and (container := containers.kind_of(text)) is not None:
        return container
    if not cut and text[:1] != b"{" and is_prefixed(text):
        return "prefixed"
    if not cut and text[:1] != b"[" and is_loose(text):
        return "loose"
    if b"\n" not in text and b"}\r{" in text:
        return "lines cr"
    if cut or text[:1] not in (b"{", b"["):
        return "lines"
    first, separator, rest = text.partition(b"\n")
    if is_json(first) or (b"}{" in first and all(is_json(first[start:end]) for start, end in spans(first, JOINED))):
        # A document of one line is a line too; only an array is taken apart.
        return "document" if first[:1] == b"[" and not rest.strip() else "lines"
    if separator and (text[:1] == b"[" or first.strip() in (b"{", b"[") or not is_json(rest.partition(b"\n")[0])):
        return "document"
    return "document" if text[:1] == b"[" else "lines"


def _is_cut(text: bytes) -> bool:
    """Whether the text begins inside a record of lines, as a log does that was rotated there.

    A colon or a bracket of that record is no comment of an event stream, and begins no array.
    """
    first, _, rest = text.partition(b"\n")
    second = rest.partition(b"\n")[0]
    return first.rstrip().endswith(b"}") and second.startswith(b"{") and not is_json(first) and is_json(second)
