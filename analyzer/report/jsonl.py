"""JSON Lines: first what the audit saw and could not judge, then one finding a line, for tools that read line by line.

The first line holds the members of the JSON report but `findings`; the others are its findings, as they are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzer.report.json import encoded, head, records

if TYPE_CHECKING:
    from analyzer.auditing import Audit

SCHEMA = "analyzer.audit-lines/v1"
_BLOCK = 2_000


def pieces(audit: Audit) -> Iterator[bytes]:
    """The lines, in pieces."""
    yield encoded(head(audit) | {"schema": SCHEMA}) + b"\n"
    for block in audit.findings.iter_slices(_BLOCK):
        yield b"".join(encoded(row) + b"\n" for row in records(block))
