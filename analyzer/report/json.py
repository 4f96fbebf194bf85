"""The JSON report, version `analyzer.audit/v1`; its schema is `audit-v1.schema.json` beside this file.

One finding a line, so that a report can be searched, cut and compared line by line. Characters that could act on a
terminal stand as escapes, which JSON readers undo: the document is exact and safe to print.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from analyzer.frame_masking import suspects
from analyzer.masking import masked
from analyzer.report.version import version
from analyzer.visible import draws, visible

if TYPE_CHECKING:
    from analyzer.auditing import Audit

SCHEMA = "analyzer.audit/v1"

_BLOCK = 2_000  # findings turned into Python values at a time
_ENCODER = msgspec.json.Encoder()
_OUTSIDE = re.compile(r"[^ -~\n]")


def pieces(audit: Audit) -> Iterator[bytes]:
    """The document, in pieces."""
    yield encoded(head(audit))[:-1] + b',\n"findings":['
    before = b"\n"
    for block in audit.findings.iter_slices(_BLOCK):
        yield before + b",\n".join(map(_printable, _lines(block)))
        before = b",\n"
    yield b"\n]}\n"


def head(audit: Audit) -> dict[str, Any]:
    """Everything but the findings."""
    whole: dict[str, Any] = masked(
        {
            "schema": SCHEMA,
            "version": version(),
            "inputs": audit.inputs,
            "problems": [visible(str(problem), limit=1000) for problem in audit.problems],
            "left_out": audit.unrecognised,
            "summary": audit.summary,
            **({"hops": audit.hops} if audit.hops else {}),
            "notes": audit.notes,
        }
    )
    return whole


def records(findings: pl.DataFrame) -> list[dict[str, Any]]:
    """FINDINGS as the objects of the report: no contract is null, nothing related is an empty list.

    Every report is made of these, so credentials are hidden here: in ids, names, places and pointers, too.
    """
    return [msgspec.json.decode(line) for line in _lines(findings)]


def encoded(value: object) -> bytes:
    """One line of JSON without its newline; only what a terminal prints as it is stands unescaped."""
    return _printable(_ENCODER.encode(value))


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    if draws(char):
        return char
    code = ord(char)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _lines(findings: pl.DataFrame) -> list[bytes]:
    """The objects as JSON. Polars spells them all at once; only those in which something has to be hidden are read."""
    held = {
        name: pl.any_horizontal(pl.col(name).struct.field("*").is_not_null()) for name in ("contract", "suppressed")
    }
    whole = findings.with_columns(
        *(pl.when(any_).then(name) for name, any_ in held.items()), pl.col("failures", "related").fill_null([])
    ).select(line=pl.struct(pl.all()).struct.json_encode())["line"]
    lines = whole.cast(pl.Binary).to_list()
    for place in suspects(whole):
        lines[place] = _ENCODER.encode(masked(msgspec.json.decode(lines[place])))
    return lines


def _printable(line: bytes) -> bytes:
    if line.isascii():
        return line.replace(b"\x7f", b"\\u007f")
    return _OUTSIDE.sub(_escaped, line.decode()).encode()
