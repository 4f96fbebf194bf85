"""How much is read at once, and how long a record may be."""

from __future__ import annotations

BLOCK = 1 << 20
"""Bytes of a stream that are read at once."""
HEAD = 1 << 18
"""Bytes at the beginning of a source by which it is known."""
MAX_RECORD = 256 << 20
"""Bytes of one record: a longer one is named and left out."""
BOM = b"\xef\xbb\xbf"
