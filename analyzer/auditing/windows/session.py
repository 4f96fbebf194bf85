"""What the rules about a whole session may ask for: little, of any number of windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b

import polars as pl

from analyzer.auditing.partition import KEPT
from analyzer.auditing.windows.index import Index
from analyzer.auditing.windows.owning import keyed
from analyzer.auditing.windows.seats import rows_of
from analyzer.auditing.windows.shelf import Shelf
from analyzer.findings.kept import anew
from analyzer.frames import CALLS, RESULTS, Frames
from analyzer.read.spilled.spill import Large
from analyzer.replay.payloads import one_by_one
from analyzer.replay.scopes import nth, number
from analyzer.rules.canonical import canonical
from analyzer.rules.pairs import pairs
from analyzer.rules.sightings import staged
from analyzer.trace import Settings, Trace

GLOBAL = tuple(dict.fromkeys(("sources", "tables", "showings", "turns", *KEPT)))
"""Frames of which every window has all."""
MANY = 1 << 40
"""Verdicts of a window, at most."""


class Numbers:
    """The numbers that calls and results have in their session, by the keys that they have in all windows."""

    def __init__(self, shelf: Shelf) -> None:
        calls = shelf.whole("calls", "call", "turn", "tool", "reply").with_row_index("number")
        calls = calls.with_columns(nth(calls.select(number("turn"), number("tool"))).alias("ordinal"))
        # A window may know a reply by a later call than its first, which another knows by an earlier one.
        while not (first := _followed(calls)).equals(calls["reply"]):
            calls = calls.with_columns(first)
        begun = calls.filter(pl.col("call") == pl.col("reply")).select(reply="call").with_row_index("nth", offset=1)
        replies = calls.select("reply").join(begun, on="reply", how="left", maintain_order="left")["nth"]
        numbered = pl.col("number").cast(pl.Int64)
        self.calls = calls.select("call", numbered, "ordinal", reply=replies.cast(pl.Int64))
        self.results = shelf.whole("results", "result").with_row_index("number").select("result", numbered)

    def keys(self, what: str, numbers: Sequence[pl.Series]) -> pl.Series:
        """The keys of some calls or results."""
        known = self.calls if what == "call" else self.results
        wanted = pl.concat([known["number"].clear(), *numbers])
        return known.filter(pl.col("number").is_in(wanted.implode()))[what]

    def numbered(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A frame with numbers in the place of keys."""
        for what, numbers in (("call", self.calls), ("result", self.results)):
            if what in frame.columns:
                found = frame.select(what).join(
                    numbers.select(what, "number"), on=what, how="left", maintain_order="left"
                )
                frame = frame.with_columns(found["number"].alias(what))
        return frame

    def numbered_calls(self, calls: pl.DataFrame) -> pl.DataFrame:
        """CALLS with all their numbers."""
        own = calls.select("call").join(self.calls, on="call", how="left", maintain_order="left")
        return self.numbered(calls).with_columns(own["ordinal"], own["reply"])


def _followed(calls: pl.DataFrame) -> pl.Series:
    """The reply of each call as the first of its calls that is known here says it."""
    known = calls.select(reply="call", first="reply")
    return calls.select("reply").join(known, on="reply", how="left", maintain_order="left")["first"].alias("reply")


def odd_rows(trace: Trace, part: Trace, index: Index, calls: pl.DataFrame, results: pl.DataFrame) -> Frames:
    """Rows of a window, by keys, that such a rule asks for whatever else there is; `part` is the window's own."""
    # An item that was never shown as finished is told where its turn is.
    completed = index.turns.filter(pl.col("status") == "completed")
    ended = part.calls.join(completed, on=["session", "turn"], how="semi")["call"].implode()
    early = pairs(trace).filter(
        pl.col("seq") < pl.col("called"), pl.col("result").is_in(part.results["result"].implode())
    )
    done = staged(trace, "call_sightings", "done")["call"].implode()
    begun = staged(trace, "call_sightings", "item").filter(pl.col("call").is_in(ended) & ~pl.col("call").is_in(done))
    added = trace.events.filter(pl.col("type").str.ends_with("item.added"))["event"].implode()
    begun = begun.filter(pl.col("event").max().over("call").is_in(added))
    pending = staged(part, "call_sightings", "action").filter(pl.col("event").is_in(index.last_status().implode()))
    shown = pl.concat([begun, pending.select(begun.columns)]).unique(maintain_order=True)
    gated = part.calls.filter(
        pl.col("call_id").is_in(trace.gates["call_id"].drop_nulls().implode())
        | pl.col("name").is_in(trace.gates["check"].drop_nulls().implode())
    )
    verdicts = part.verdicts.filter((pl.col("role") == "arguments") & pl.col("call").is_in(gated["call"].implode()))
    violations = part.violations.join(verdicts.select("verdict"), on="verdict", how="semi", maintain_order="left")
    since = (index.windows.owners(part.events["seq"].head(1)).item() if part.events.height else 0) * MANY
    asked = pl.concat([early["call"], shown["call"], gated["call"]]).drop_nulls().unique().sort()
    return {
        "asked_calls": keyed(pl.DataFrame({"call": asked}), calls, "call"),
        "asked_results": keyed(early.select("result"), results, "result"),
        "shown_calls": keyed(shown.with_columns(text=pl.lit(None, pl.String)), calls, "call"),
        "gate_verdicts": keyed(verdicts.with_columns(pl.col("verdict") + since), calls, "call"),
        "gate_violations": violations.with_columns(pl.col("verdict") + since),
        "user_messages": part.messages.filter(pl.col("role") == "user").with_columns(
            text=pl.col("text").hash().cast(pl.String)
        ),
    }


def session_trace(
    whole: Large,
    index: Index,
    shelf: Shelf,
    numbers: Numbers,
    *,
    known: Frames,
    settings: Settings,
    told: Sequence[pl.DataFrame],
) -> Trace:
    """The trace for such rules; `told` are HITS whose calls and results will be asked for, too."""
    small = index.small
    faults = shelf.whole("faults")
    told_results = numbers.keys("result", [hits["result"] for hits in told])
    owners = pl.concat(
        rows.filter(pl.col("result").is_in(told_results.implode()))["call"]
        for rows in shelf.each("results", "result", "call")
    )
    told_calls = numbers.keys("call", [hits["call"] for hits in told])
    calls = numbers.numbered_calls(_calls(shelf, index, known["offers"], settings, pl.concat([owners, told_calls])))
    early = shelf.whole("asked_results")["result"]
    results = _results(shelf, numbers, calls["call"], pl.concat([told_results, early]).unique())
    shown = numbers.numbered(shelf.whole("shown_calls"))
    early_events = results.filter(
        pl.col("result").is_in(numbers.numbered(shelf.whole("asked_results"))["result"].implode())
    )
    wanted = [frame["event"] for frame in (shown, early_events, index.seats.copies, index.seats.steps)]
    wanted += [known["sessions"]["first_event"], index.last_status()]
    begun = known["turns"].filter(pl.col("subagent").is_not_null())["since"]
    events = _events(whole, index, pl.concat([each.cast(pl.Int64) for each in wanted]), begun)
    return Trace(
        settings=settings,
        **{name: known[name] for name in GLOBAL},
        events=events,
        faults=faults,
        **{name: small[name] for name in ("session_states", "turn_states", "approvals", "gates", "summaries")},
        call_sightings=shown,
        messages=shelf.whole("user_messages"),
        calls=calls,
        results=results,
        verdicts=numbers.numbered(shelf.whole("gate_verdicts")),
        violations=shelf.whole("gate_violations"),
    )


def told_of(trace: Trace, hits: pl.DataFrame, whole: Large, index: Index) -> Trace:
    """What of the trace the hits speak of, with all events in which that stands."""
    calls = trace.calls.filter(pl.col("call").is_in(hits["call"].drop_nulls().implode()))
    results = trace.results.filter(pl.col("result").is_in(hits["result"].drop_nulls().implode()))
    verdicts = trace.verdicts.filter(pl.col("verdict").is_in(hits["verdict"].drop_nulls().implode()))
    related = hits.select(pl.col("related").list.eval(pl.element().struct.field("event")).alias("event"))
    named = [hits["event"], hits["offer_event"], related.explode("event")["event"]]
    named += [calls["event"], results["event"], verdicts["offer_event"]]
    wanted = pl.concat([each.cast(pl.Int64) for each in named]).drop_nulls().unique()
    held = trace.events.filter(pl.col("event").is_in(wanted.implode()))
    owners = trace.calls.filter(
        pl.col("call").is_in(pl.concat([results["call"], verdicts["call"]]).drop_nulls().implode())
    )
    small = Trace(
        settings=trace.settings,
        **{name: getattr(trace, name) for name in ("sources", "sessions", "turns", "contracts", "violations")},
        calls=pl.concat([calls, owners]).unique("call", maintain_order=True).sort("call"),
        results=results,
        verdicts=verdicts,
    )
    rows = index.seats.seated(rows_of(whole, wanted.filter(~wanted.is_in(held["event"].implode()))))
    return small.with_frames(events=pl.concat([held, rows], how="diagonal").sort("event"))


def _events(whole: Large, index: Index, wanted: pl.Series, seqs: pl.Series) -> pl.DataFrame:
    """The events that such rules ask for: those with these numbers or places, and those of odd kinds."""
    kind, type_ = pl.col("kind"), pl.col("type")
    odd = kind.is_in(["error", "unknown"]) | type_.str.ends_with("turn.created") | type_.is_first_distinct()
    odd |= type_.str.contains("tools/list_changed", literal=True)
    listed = pl.col("pointer").str.contains("/data/", literal=True)
    odd |= listed & (pl.col("event") == pl.col("event").filter(listed).max())
    columns = Trace().events.columns
    found = [Trace().events]
    for _, each in whole.frames("events"):
        rows = index.seats.seated(each).with_columns(order=pl.lit(index.seats.order, pl.String))
        mine = rows.filter(odd | pl.col("event").is_in(wanted.implode()) | pl.col("seq").is_in(seqs.implode()))
        found.append(anew(mine.join(index.seats.copies, on="event", how="left", maintain_order="left").select(columns)))
    events = pl.concat(found).sort("event")
    return events.join(index.seats.steps, on="event", how="left", maintain_order="left")


def _calls(shelf: Shelf, index: Index, offers: pl.DataFrame, settings: Settings, told_of: pl.Series) -> pl.DataFrame:
    """Of the calls, by keys, those that such rules compare or tell of, most texts as digests."""
    kept = pl.concat([shelf.whole("asked_calls")["call"], told_of]).unique()
    several = offers.filter(pl.len().over("tool", "role") > 1)["tool"].unique()
    approved = _among(index.small["approvals"].select("server", "name").unique())
    told = approved | pl.col("call").is_in(kept.implode()) | pl.col("tool").is_in(several.implode())
    keys = [_compared(shelf, index, settings)]
    keys += [calls.filter(told)["call"] for calls in shelf.each("calls", "call", "tool", "server", "name")]
    wanted = pl.concat(keys).unique()
    found = [pl.DataFrame(schema=CALLS)]
    for calls in shelf.each("calls"):
        mine = calls.filter(pl.col("call").is_in(wanted.implode()))
        digests = pl.Series([f"#{digest:x}" for digest in _digests(mine)], dtype=pl.String)
        found.append(
            anew(mine.with_columns(text=pl.when(approved).then("text").otherwise(digests)).select(list(CALLS)))
        )
    return pl.concat(found)


def _compared(shelf: Shelf, index: Index, settings: Settings) -> pl.Series:
    """The calls, by keys, that failed with the same arguments or ran with them again, where that is a fault."""
    outcome = pl.col("outcome")
    failures = shelf.whole("calls", "tool", "outcome").group_by("tool").agg((outcome == "error").sum())
    stormy = failures.filter(outcome >= settings.retries)["tool"]
    repeated = pl.lit(index.troubled) | pl.col("name").is_in(sorted(settings.writes))
    rows = [pl.DataFrame(schema={"call": pl.Int64, "tool": pl.String, "outcome": pl.String, "twice": pl.Boolean})]
    rows[0] = rows[0].with_columns(digest=pl.lit(None, pl.UInt64))
    for calls in shelf.each("calls", "call", "tool", "name", "outcome", "text"):
        mine = calls.filter(
            outcome.is_in(["ok", "error", "unknown"]), repeated | pl.col("tool").is_in(stormy.implode())
        )
        digests = pl.Series("digest", _digests(mine), dtype=pl.UInt64)
        rows.append(mine.select("call", "tool", "outcome", repeated.alias("twice"), digests))
    ended = pl.concat(rows)
    same = ["tool", "digest"]
    again = ended.filter(pl.len().over(same) > 1, pl.col("twice") | (outcome == "error").any().over(same))
    failed = ended.with_columns(failures=(outcome == "error").cum_sum().over("tool")).filter(outcome == "ok")
    passed = failed.filter((pl.col("failures") != pl.col("failures").shift(1, fill_value=0)).over("tool"))
    return pl.concat([again["call"], passed["call"]])


def _among(approvals: pl.DataFrame) -> pl.Expr:
    """Whether approvals were asked for a call's tool, or for all of its server."""
    asked = pl.lit(value=False)
    for server, name in approvals.iter_rows():
        mine = pl.col("server").eq_missing(pl.lit(server, pl.String))
        asked |= mine if name is None else mine & pl.col("name").eq_missing(pl.lit(name, pl.String))
    return asked


def _digests(calls: pl.DataFrame) -> Iterator[int]:
    return map(_digest, one_by_one(calls["text"]))


def _digest(text: str | None) -> int:
    return int.from_bytes(blake2b(canonical(text).encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _results(shelf: Shelf, numbers: Numbers, calls: pl.Series, kept: pl.Series) -> pl.DataFrame:
    """The results of these calls, those without a call, and some by their keys; without their texts."""
    owners = numbers.calls.filter(pl.col("number").is_in(calls.implode()))["call"]
    wanted = pl.col("call").is_null() | pl.col("call").is_in(owners.implode()) | pl.col("result").is_in(kept.implode())
    none = pl.lit(None, pl.String)
    columns = [name for name in RESULTS if name not in ("text", "structured")]
    found = (rows.filter(wanted).with_columns(text=none, structured=none) for rows in shelf.each("results", *columns))
    narrow = (anew(rows.select(list(RESULTS))) for rows in found)
    return numbers.numbered(pl.concat([pl.DataFrame(schema=RESULTS), *narrow]))
