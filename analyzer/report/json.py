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

from analyzer import secrets
from analyzer.masking import NAMES, harmless, masked
from analyzer.report.version import version
from analyzer.visible import draws

if TYPE_CHECKING:
    from analyzer.auditing import Audit

SCHEMA = "analyzer.audit/v1"

_BLOCK = 2_000  # findings turned into Python values at a time
_ENCODER = msgspec.json.Encoder()
# Members of a finding whose names look like those of secrets.
_OWN = ("keyword", "passes")
# What a credential looks like, and a member of any layer of JSON text whose name may be a secret's.
_SUSPECT = (
    secrets.PREFIXED,
    *secrets.LOOSE,
    r"""[Tt]oken(?:_?[Kk]ey|_KEY)?[\\"']{0,4}[ \t]{0,4}[:=]""",
    rf"""(?:{"|".join(NAMES)})[A-Za-z0-9_.$ -]{{0,60}}\\{{0,15}}["']\s{{0,8}}:""",
)
_OUTSIDE = re.compile(r"[^ -~\n]")


def pieces(audit: Audit) -> Iterator[bytes]:
    """The document, in pieces."""
    yield encoded(head(audit))[:-1] + b',\n"findings":['
    before = b"\n"
    for block in audit.findings.iter_slices(_BLOCK):
        yield before + b",\n".join(map(encoded, records(block)))
        before = b",\n"
    yield b"\n]}\n"


def head(audit: Audit) -> dict[str, Any]:
    """Everything but the findings."""
    whole: dict[str, Any] = masked(
        {
            "schema": SCHEMA,
            "version": version(),
            "inputs": audit.inputs,
            "summary": audit.summary,
            "notes": audit.notes,
        }
    )
    return whole


def records(findings: pl.DataFrame) -> list[dict[str, Any]]:
    """FINDINGS as the objects of the report: no contract is null, nothing related is an empty list.

    Every report is made of these, so credentials are hidden here: in ids, names, places and pointers, too.
    """
    rows: list[dict[str, Any]] = findings.to_dicts()
    for place in _suspects(rows):
        rows[place] = masked(rows[place])
    for row in rows:
        for member in ("contract", "suppressed"):
            held = row[member]
            if held is not None and not any(held.values()):
                row[member] = None
        for member in ("failures", "related"):
            row[member] = row[member] or []
    return rows


def encoded(value: object) -> bytes:
    """One line of JSON without its newline; only what a terminal prints as it is stands unescaped."""
    line = _ENCODER.encode(value)
    if line.isascii():
        return line.replace(b"\x7f", b"\\u007f")
    return _OUTSIDE.sub(_escaped, line.decode()).encode()


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    if draws(char):
        return char
    code = ord(char)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _suspects(rows: list[dict[str, Any]]) -> list[int]:
    """The places of the rows in which something has to be hidden: all are sifted at once, few are read with care."""
    lines = pl.Series([_ENCODER.encode(row).decode() for row in rows], dtype=pl.String)
    bare = lines
    for name in _OWN:
        bare = bare.str.replace_all(f'"{name}":', '"":', literal=True)
    touched = bare.to_frame("line").select(pl.any_horizontal(pl.col("line").str.contains(each) for each in _SUSPECT))
    return [place for place in touched.to_series().arg_true() if not harmless(lines[place])]
