"""Frames with their credentials hidden, for files: text columns are sifted whole, and only the hits are looked at."""

from __future__ import annotations

import msgspec
import polars as pl

from analyzer import redaction, secrets
from analyzer.masking import NAMES, harmless, mask_json, masked

_SUSPECT = (secrets.PREFIXED, *secrets.LOOSE, "|".join(NAMES))
_ENCODER = msgspec.json.Encoder(enc_hook=str)


def masked_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame, same schema and same order, with credentials hidden in its texts and nested values."""
    if not redaction.current().on:
        return frame
    return frame.with_columns(_texts(column) if column.dtype == pl.String else _nested(column) for column in frame)


def _texts(column: pl.Series) -> pl.Series:
    suspects = column.unique().drop_nulls()
    if suspects.is_empty():
        return column
    hits = [suspects.str.contains(pattern) for pattern in _SUSPECT]
    suspects = suspects.filter(pl.Series([any(each) for each in zip(*hits, strict=True)], dtype=pl.Boolean))
    found = {text: mask_json(text) for text in suspects}
    changed = {text: hidden for text, hidden in found.items() if hidden != text}
    if not changed:
        return column
    return column.replace(list(changed), list(changed.values()))


def _nested(column: pl.Series) -> pl.Series:
    if not column.dtype.is_nested():
        return column
    values = column.to_list()
    hidden = [each if harmless(_ENCODER.encode(each).decode()) else masked(each) for each in values]
    return pl.Series(column.name, hidden, dtype=column.dtype)
