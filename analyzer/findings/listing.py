"""How many findings are listed: the rest is counted by rule, so that what is held is bounded and nothing looks sound.

Each rule has its share, by severity and confidence: the frequent ones are cut to the same number, the first of each in
the order of the report are kept, and the others lose none. A share only shrinks when more is found, so that partitions
can be cut one by one and again together, with the same outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from analyzer.findings.owners import placed
from analyzer.trace import Trace

CLASS = ("rule", "slug", "severity", "confidence")
"""By what findings are counted."""
PLACED = (*CLASS, "first_event", "seq", "location", "fingerprint")
"""The columns that say which findings are listed."""
UNLISTED = pl.Schema({**dict.fromkeys(CLASS, pl.String()), "count": pl.Int64()})
"""What is counted and not listed."""
TAKEN = pl.Schema({**dict.fromkeys(CLASS, pl.String()), "kept": pl.Int64(), "count": pl.Int64()})
"""What came first in the order of the report: made findings, and counted only."""
_ALL_LISTED, _NONE_TAKEN = UNLISTED.to_frame(), TAKEN.to_frame()

_BLOCK = 25_000  # hits that are made findings together
_LAST = 1 << 62  # findings without a place come last


def listed(found: pl.DataFrame, most: int, unlisted: pl.DataFrame | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of FINDINGS in the order of the report about `most`, and UNLISTED: those left out here and before."""
    before = _ALL_LISTED if unlisted is None else unlisted
    if found.height <= most and before.is_empty():
        return found, before
    here = found.group_by(CLASS).agg(here=pl.len().cast(pl.Int64)).cast(dict.fromkeys(CLASS, pl.String()))
    counts = before.group_by(CLASS).agg(pl.col("count").sum()).join(here, on=CLASS, how="full", coalesce=True)
    counts = counts.fill_null(0).with_columns(all=pl.col("count") + pl.col("here")).sort(CLASS)
    share = _share(counts["all"], most)
    left = (pl.col("all") - pl.min_horizontal("here", pl.lit(share))).alias("count")
    kept = found.filter(pl.int_range(pl.len()).over(CLASS) < share)
    return kept, counts.select(*CLASS, left).filter(pl.col("count") > 0)


def foremost(
    hits: pl.DataFrame, trace: Trace, most: int, before: pl.DataFrame | None = None
) -> tuple[Iterator[pl.DataFrame], pl.DataFrame]:
    """Of HITS those of which `most` findings may be listed, in blocks, and UNLISTED: findings take most memory.

    All hits at the place where a class is cut are kept, for their order is known when they are findings. Of hits that
    come after others, `before` are TAKEN.
    """
    before = _NONE_TAKEN if before is None else before
    if hits.height + int(before.select(pl.sum_horizontal("kept", "count").sum()).item()) <= most:
        return hits.iter_slices(_BLOCK), _ALL_LISTED
    classes = hits.select(pl.col(CLASS).cast(pl.Categorical))
    here = hits.group_by(CLASS).agg(here=pl.len().cast(pl.Int64))
    counts = here.join(before, on=CLASS, how="left").fill_null(0)
    others = before.join(here, on=CLASS, how="anti").select(pl.sum_horizontal("kept", "count"))
    share = _share([*counts.select(pl.sum_horizontal("kept", "count", "here")).to_series(), *others.to_series()], most)
    mine = pl.repeat(value=True, n=hits.height, dtype=pl.Boolean, eager=True)
    rank = pl.struct(pl.col("first_event", "seq").fill_null(_LAST)).rank("min")
    left = []
    for row in counts.iter_rows(named=True):
        if row["kept"] + row["here"] > share:
            of_class = classes.select(pl.all_horizontal(pl.col(name) == row[name] for name in CLASS).arg_true())
            rows = of_class.to_series()
            beyond = placed(hits, trace, rows).select(rank).to_series() + row["kept"] > share
            mine = mine.scatter(rows.filter(beyond), False)
            left.append({**{name: row[name] for name in CLASS}, "count": int(beyond.sum())})
    starts = range(0, hits.height, _BLOCK)
    blocks = (hits.slice(since, _BLOCK).filter(mine.slice(since, _BLOCK)) for since in starts)
    return blocks, pl.DataFrame(left, schema=UNLISTED).filter(pl.col("count") > 0).sort(CLASS)


def with_more(taken: pl.DataFrame, found: pl.DataFrame, left: pl.DataFrame) -> pl.DataFrame:
    """TAKEN with more that were made findings, and UNLISTED."""
    zero = pl.lit(0, pl.Int64)
    more = [
        taken,
        found.group_by(CLASS).agg(kept=pl.len().cast(pl.Int64)).with_columns(count=zero).select(list(TAKEN)),
        left.with_columns(kept=zero).select(list(TAKEN)),
    ]
    return pl.concat(more).group_by(CLASS).agg(pl.col("kept", "count").sum()).sort(CLASS)


def _share(counts: Iterable[int], most: int) -> int:
    """The largest share under which the classes, each cut to it, have at most `most` together; at least 1."""
    rest, share, pending = most, most, sorted(counts)
    while pending:
        share = rest // len(pending)
        if pending[0] > share:
            return max(share, 1)
        rest -= pending.pop(0)
    return max(share, 1)


def places_of(found: pl.DataFrame, part: int) -> pl.DataFrame:
    """Of PLACED in the order of the report what says which are listed: `part`, `row`, their order.

    Those of one session are all in one part, where the rows say how they are ordered; texts are for what is of none.
    """
    of_none = pl.when(pl.col("first_event").is_null())
    pointer = pl.col("location").struct.field("pointer")
    return found.select(
        pl.col(CLASS).cast(pl.Categorical),
        *("first_event", "seq"),
        pointer=of_none.then(pointer),
        fingerprint=of_none.then("fingerprint"),
        part=pl.lit(part, pl.Int32),
        row=pl.int_range(pl.len(), dtype=pl.Int32),
    )


def cut(places: pl.DataFrame, most: int, unlisted: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """`part` and `row` of the findings that will be listed in any case, as `listed` leaves the findings themselves."""
    by = ("first_event", "seq", "pointer", "fingerprint", "part", "row")
    order = places.select(pl.arg_sort_by(by, nulls_last=True)).to_series()
    kept, left = listed(places.select(*CLASS, "part", "row")[order], most, unlisted)
    return kept.select("part", "row"), left


def unlisted_of(parts: Iterable[dict[str, pl.DataFrame]]) -> pl.DataFrame:
    """UNLISTED of all partitions."""
    return pl.concat([_ALL_LISTED, *(part["unlisted"] for part in parts)])
