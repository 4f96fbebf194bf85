"""The names of findings that last, and their order in the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b

import polars as pl

from analyzer.findings.listing import CLASS, UNLISTED, listed
from analyzer.findings.packed import Packed
from analyzer.frames import FINDINGS

NAMED = pl.Schema({**FINDINGS, "first_event": pl.Int64()})
"""FINDINGS with `first_event` (of the session)."""
_BLOCK = 50_000  # texts that are changed at once
_EVERY = 1 << 62


def named(hits: Packed, most: int = _EVERY, beyond: pl.DataFrame | None = None) -> tuple[Packed, pl.DataFrame]:
    """FINDINGS with `first_event`, in the order of the report, and UNLISTED, of all hits of some sessions: DRESSED.

    `fingerprint` is the name of this occurrence, whatever the recorder. About `most` are listed, `beyond` is UNLISTED
    of those before. The hits become what is given.
    """
    if not hits.height and (beyond is None or beyond.is_empty()):
        return Packed(NAMED), UNLISTED.to_frame()
    hits.with_column(_fingerprints(hits), NAMED)
    ordered(hits)
    kept, unlisted = listed(hits.select(*CLASS).with_row_index("row"), most, beyond)
    if kept.height < hits.height:
        hits.keep(kept["row"])
    return hits, unlisted


def together(found: Iterable[Packed]) -> Packed:
    """The findings of several parts, in their order, which are held there no longer."""
    whole = Packed(NAMED)
    for each in found:
        whole.extend(each)
    return whole


def ordered(found: Packed) -> None:
    """Put FINDINGS with `first_event` in the order of the report.

    That is by session first seen, place in it, rule, pointer and name.
    """
    keys = found.select("first_event", "seq", "rule", "location", "fingerprint")
    pointer = pl.col("location").struct.field("pointer")
    by = pl.arg_sort_by("first_event", "seq", "rule", pointer, "fingerprint", nulls_last=True)
    rows = keys.select(by).to_series()
    if not rows.is_sorted():  # those of one partition nearly always are
        found.keep(rows)


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
