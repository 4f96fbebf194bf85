"""Frames with their credentials hidden, for files: columns are sifted whole, and only the hits are looked at."""

from __future__ import annotations

import polars as pl

from analyzer import redaction, secrets
from analyzer.masking import NAMES, harmless, mask_json, masked

_SUSPECT = (secrets.PREFIXED, *secrets.LOOSE, "|".join(NAMES))
# Of JSON text: what a credential looks like, and a member of any layer of it whose name may be a secret's.
_SUSPECT_JSON = (
    secrets.PREFIXED,
    *secrets.LOOSE,
    r"""[Tt]oken(?:_?[Kk]ey|_KEY)?[\\"']{0,4}[ \t]{0,4}[:=]""",
    rf"""(?:{"|".join(NAMES)})[A-Za-z0-9_.$ -]{{0,60}}\\{{0,15}}["']\s{{0,8}}[:,]""",
)
# Members of a finding whose names look like those of secrets.
_OWN = ("keyword", "passes")
_BLOCK = 5_000  # nested values spelled at a time


def masked_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame, same schema and same order, with credentials hidden in its texts and nested values."""
    if not redaction.current().on:
        return frame
    return frame.with_columns(_texts(column) if column.dtype == pl.String else _nested(column) for column in frame)


def suspects(lines: pl.Series) -> list[int]:
    """The places of the JSON texts in which something has to be hidden: all are sifted at once, few read with care."""
    bare = pl.col("line")
    for name in _OWN:
        bare = bare.str.replace_all(f'"{name}":', '"":', literal=True)
    touched = (
        lines.to_frame("line")
        .select(line=bare)
        .select(pl.any_horizontal(pl.col("line").str.contains(each) for each in _SUSPECT_JSON))
    )
    return [place for place in touched.to_series().arg_true() if not harmless(lines[place])]


def _texts(column: pl.Series) -> pl.Series:
    text = pl.col(column.name)
    sifted = column.to_frame().select(text.unique().drop_nulls())
    sifted = sifted.filter(pl.any_horizontal(text.str.contains(pattern) for pattern in _SUSPECT))
    found = {each: mask_json(each) for each in sifted.to_series()}
    changed = {each: hidden for each, hidden in found.items() if hidden != each}
    return column.replace(list(changed), list(changed.values())) if changed else column


def _nested(column: pl.Series) -> pl.Series:
    if not column.dtype.is_nested():
        return column
    blocks = [_sifted(block) for block in column.to_frame().iter_slices(_BLOCK)]
    return pl.concat(blocks) if blocks else column


def _sifted(block: pl.DataFrame) -> pl.Series:
    column = block.to_series()
    touched = suspects(block.select(pl.struct(pl.all()).struct.json_encode()).to_series())
    if not touched:
        return column
    values = column.to_list()
    for place in touched:
        values[place] = masked(values[place])
    return pl.Series(column.name, values, dtype=column.dtype)
