"""Where each kind of fault was found, and whether a later run looked there again: only then it may be called fixed.

A place is what a finding stands in: an input, a session, a tool. It was looked at again where the rule ran, the input
was read and recognised, the session is there, and there is no less of any measure than when the fault was found: of the
input, records that could be read; of the session, events; of the tool in it, calls, results, offers, and verdicts by
side and role. So what was cut out of a log, or has no contract any more, is not fixed but not looked at. Other inputs
that a finding points to must be there again too. What is of no input (a rule that crashed) was looked at where the run
saw all inputs there ever were.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from analyzer.batch.store import MEASURES, PLACES
from analyzer.findings.evidence import COUNTED
from analyzer.masking import masked

BORNE = pl.col("suppressed").struct.field("reason").is_not_null().fill_null(value=False)
IDLE, LESS = "the rule did not run", "less of it is recorded or judged"
_KEY = ("input", "session", "tool")


@dataclass(frozen=True)
class Sight:
    """What a run looked at."""

    inputs: pl.DataFrame
    """`input` (credentials hidden) and `records` that could be read, of those that were recognised."""
    sessions: pl.DataFrame
    """`session`, `events`, and `offers` and the columns of EVIDENCE of all its tools."""
    tools: pl.DataFrame
    """The same by `session` and `tool`, without events."""
    ran: Collection[str]
    """Rules that had something to look at, and all of whose findings are listed."""
    everything: bool
    """Whether no input is missing that was ever there."""


def sight_of(
    inputs: pl.DataFrame,
    spans: pl.DataFrame,
    evidence: pl.DataFrame,
    offers: pl.DataFrame,
    *,
    ran: Collection[str],
    everything: bool,
) -> Sight:
    """What was looked at: SOURCES of the inputs that were audited, the spans and EVIDENCE of details, and OFFERS."""
    from analyzer.findings.assemble import bare

    offered = (
        offers.filter(pl.col("schema_id").is_not_null()).group_by("session", tool=bare("tool")).agg(offers=pl.len())
    )
    counts = pl.col("offers", *COUNTED)
    tools = (
        pl.concat([evidence, offered.with_columns(pl.col("offers").cast(pl.Int64))], how="diagonal")
        .group_by("session", "tool")
        .agg(counts.sum())
    )
    sessions = spans.group_by("session").agg(events=pl.col("end").max() + 1)
    whole = tools.group_by("session").agg(counts.sum())
    return Sight(
        inputs.filter(pl.col("format") != "")
        .select(input=_hidden("path"), records=pl.col("records") - pl.col("unreadable"))
        .unique("input", keep="first"),
        sessions.join(whole, on="session", how="left"),
        tools.filter(pl.col("tool").is_not_null()),
        ran,
        everything,
    )


def places_of(findings: pl.DataFrame, sight: Sight) -> pl.DataFrame:
    """PLACES of FINDINGS that no suppression bears."""
    own = findings.filter(~BORNE)
    file = pl.col("location").struct.field("file")
    places = own.group_by("group", "rule", "session", "tool", input=file, maintain_order=True).agg(count=pl.len())
    pointed = (
        own.select(
            "group", "rule", pl.col("related").list.eval(pl.element().struct.field("location").struct.field("file"))
        )
        .explode("related")
        .select("group", "rule", input="related")
        .drop_nulls("input")
        .unique()
        .with_columns(session=pl.lit(None, pl.String), tool=pl.lit(None, pl.String), count=pl.lit(0, pl.UInt32))
        .join(places, on=["group", "input"], how="anti", nulls_equal=True)
    )
    whole = pl.concat([places, pointed.select(places.columns)]).with_columns(input=_hidden("input"))
    return _measured(whole, sight).select(list(PLACES)).cast(PLACES).sort("group", *_KEY)


def unseen(places: pl.DataFrame, found: pl.DataFrame, sight: Sight) -> pl.DataFrame:
    """Of PLACES those that a run did not look at again, with `why`; `found` are PLACES of what it found itself."""
    then = {name: pl.col(name).fill_null(0) for name in MEASURES}
    now = _measured(places.select("group", *_KEY), sight).select(pl.col(MEASURES).name.suffix("_now"))
    less = pl.any_horizontal(
        pl.col(f"{name}_now").is_null() | (pl.col(f"{name}_now") < then[name]) for name in MEASURES
    )
    nowhere = pl.col("input").is_null() & pl.col("session").is_null()
    why = (
        pl.when(nowhere & (not sight.everything))
        .then(pl.lit("not all inputs were looked at"))
        .when(pl.col("records_now").is_null())
        .then(pl.col("input").fill_null("its input") + " was not read")
        .when(pl.col("events_now").is_null())
        .then(pl.lit("its session is not there"))
        .when(~pl.col("rule").is_in(list(sight.ran)).fill_null(value=True))
        .then(pl.lit(IDLE))
        .when(less)
        .then(pl.lit(LESS))
    )
    whole = pl.concat([places, now], how="horizontal").select(*PLACES, why=why)
    key = ["group", *_KEY]
    return whole.filter(pl.col("why").is_not_null()).join(found, on=key, how="anti", nulls_equal=True)


def lost_of(
    changes: pl.DataFrame,
    before: pl.DataFrame,
    inputs: pl.DataFrame,
    *,
    asked: Collection[str],
    moved: Collection[int] = (),
) -> list[str]:
    """What the last run had and this one has not, though it is there: a sentence for each input and rule.

    Of CHANGES what was not looked at, if its rule was `asked` for; SOURCES `before` and now, by the number of an input.
    What inputs that were `moved` held stands in others now.
    """
    readable = pl.col("records") - pl.col("unreadable")
    both = (
        inputs.filter(pl.col("format") != "")
        .select("source", "path", now=readable)
        .join(before.filter(pl.col("format") != "").select("source", was=readable), on="source")
        .filter(pl.col("now") < pl.col("was"), ~pl.col("source").is_in(list(moved)))
    )
    shorter = [
        f"{path}: {was} records could be read in the last run, and {now} now" for _, path, now, was in both.rows()
    ]
    idle = (
        changes.filter(pl.col("why").is_in([IDLE, LESS]) & pl.col("rule").is_in(list(asked)))
        .group_by("rule", "slug", "why")
        .agg(pl.len())
        .sort("rule", "why")
    )
    told = "not looked at again is what {rule} {slug} found in the last run ({len} of its kinds of fault): {why}"
    return [*shorter, *(told.format(**row) for row in idle.iter_rows(named=True))]


def _measured(keys: pl.DataFrame, sight: Sight) -> pl.DataFrame:
    """The rows with the MEASURES of this run: null where the input or the session is not there."""
    rows = (
        keys.drop(MEASURES, strict=False)
        .join(sight.inputs, on="input", how="left", maintain_order="left")
        .join(sight.sessions, on="session", how="left", maintain_order="left")
        .join(sight.tools, on=["session", "tool"], how="left", maintain_order="left", suffix="_of_tool")
    )
    counts = [
        pl.when(pl.col("tool").is_null())
        .then(pl.col(name))
        .otherwise(pl.col(f"{name}_of_tool"))
        .fill_null(0)
        .alias(name)
        for name in ("offers", *COUNTED)
    ]
    none = [
        pl.when(pl.col(of).is_null()).then(pl.col(name).fill_null(0)).otherwise(pl.col(name)).alias(name)
        for name, of in (("records", "input"), ("events", "session"))
    ]
    return rows.with_columns(*counts, *none).select(*keys.columns, *MEASURES)


def _hidden(column: str) -> pl.Expr:
    return pl.col(column).map_elements(masked, return_dtype=pl.String)
