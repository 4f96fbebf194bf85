"""The findings as one Parquet file, nested as in the JSON report; what else that report says is in the metadata."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzer.frame_masking import masked_frame
from analyzer.report.json import encoded, head

if TYPE_CHECKING:
    from analyzer.auditing import Audit

KEY = "analyzer.audit"


def pieces(audit: Audit) -> Iterator[bytes]:
    """The file."""
    out = io.BytesIO()
    masked_frame(audit.findings).write_parquet(out, metadata={KEY: encoded(head(audit)).decode()})
    yield out.getvalue()
