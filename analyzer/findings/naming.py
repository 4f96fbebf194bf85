"""The names of findings that last, and their order in the report; so many at once that none is held twice."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import polars as pl

from analyzer.findings.listing import CLASS, UNLISTED, listed
from analyzer.findings.packed import Packed
from analyzer.frames import FINDINGS

_NAMED = pl.Schema({**FINDINGS, "first_event": pl.Int64()})
_NONE = _NAMED.to_frame()
_BLOCK = 50_000  # texts that are changed at once
_EVERY = 1 << 62


def named(hits: Packed, most: int = _EVERY, beyond: pl.DataFrame | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """FINDINGS with `first_event`, in the order of the report, and UNLISTED, of all hits of some sessions: DRESSED.

    `fingerprint` is the name of this occurrence, whatever the recorder. About `most` are listed, `beyond` is UNLISTED
    of those before. The hits are taken apart: they are wide, and of no column is more held than twice.
    """
    if not hits.height and (beyond is None or beyond.is_empty()):
        return _NONE, UNLISTED.to_frame()
    fingerprint = _fingerprints(hits)
    keys = hits.select("first_event", "seq", "rule", "location").with_columns(fingerprint)
    rows = _order(keys)
    del keys
    kept, unlisted = listed(hits.select(*CLASS).with_row_index("row")[rows], most, beyond)
    rows = kept["row"]
    as_they_are = rows.len() == hits.height and rows.is_sorted()  # those of one partition nearly always are
    columns = (fingerprint if name == "fingerprint" else hits.take(name) for name in _NAMED)
    return pl.DataFrame([each if as_they_are else each.gather(rows) for each in columns], schema=_NAMED), unlisted


def ordered(found: list[pl.DataFrame]) -> pl.DataFrame:
    """FINDINGS with `first_event` in the order of the report: session first seen, place in it, rule, pointer, name.

    `found` is empty afterwards: findings are wide, and no more than a column of them is held twice.
    """
    whole = pl.concat([each for each in found if each.height] or found[:1])
    found.clear()
    rows = _order(whole)
    columns = whole.get_columns()[::-1]
    del whole
    if rows.is_sorted():
        return pl.DataFrame([columns.pop().rechunk() for _ in range(len(columns))])
    # Of one chunk, for of many Polars takes six times the memory to order lists.
    return pl.DataFrame([columns.pop().rechunk().gather(rows) for _ in range(len(columns))])


def _order(found: pl.DataFrame) -> pl.Series:
    pointer = pl.col("location").struct.field("pointer")
    by = pl.arg_sort_by("first_event", "seq", "rule", pointer, "fingerprint", nulls_last=True)
    return found.select(by).to_series()


def _fingerprints(hits: Packed) -> pl.Series:
    # Only the id of the session is of its recording; a session without one has no name that lasts.
    session = pl.when(~pl.col("session").str.starts_with("(unrecorded")).then("session")
    rows = hits.select("group", "turn_ordinal", "ordinal", "session", "seq", "hit").select(
        place=pl.struct("session", "seq", "hit").rank("ordinal"),
        occurrence=spelled("group", session, "turn_ordinal", "ordinal"),
    )
    nth = pl.int_range(pl.len()).over("occurrence", order_by="place")
    return each(rows.select(fingerprint=spelled("occurrence", nth)).to_series(), digest)


def each(column: pl.Series, change: Callable[[str], str]) -> pl.Series:
    """The changed texts, each different one of a block changed once."""
    if column.len() > _BLOCK:
        blocks = (column.slice(since, _BLOCK) for since in range(0, column.len(), _BLOCK))
        return pl.concat([each(block, change) for block in blocks], rechunk=True)
    texts = column.to_list()
    known = {text: None if text is None else change(text) for text in dict.fromkeys(texts)}
    return pl.Series(column.name, [known[text] for text in texts], dtype=pl.String)


def digest(text: str) -> str:
    """A short name of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def spelled(*parts: pl.Expr | pl.Series | str) -> pl.Expr:
    """The parts as one text, nothing where one is null."""
    columns = (
        pl.col(part) if isinstance(part, str) else pl.lit(part) if isinstance(part, pl.Series) else part
        for part in parts
    )
    return pl.concat_str([column.cast(pl.String).fill_null("") for column in columns], separator="\x1f")
