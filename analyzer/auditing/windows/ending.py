"""What the windows of a session come to together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

import polars as pl

from analyzer.auditing.numbers import ORDER, in_order
from analyzer.auditing.on_disk import Part
from analyzer.auditing.partition import KEPT, Answer, kept_of
from analyzer.auditing.windows.detailed import details_of_windows, details_part
from analyzer.auditing.windows.index import Index
from analyzer.auditing.windows.owning import keyed, keys_of
from analyzer.auditing.windows.session import GLOBAL, MANY, Numbers, odd_rows, session_trace, told_of
from analyzer.auditing.windows.shelf import Shelf
from analyzer.findings.assemble import DRESSED, dressed
from analyzer.findings.details import ASKED
from analyzer.findings.kept import lots
from analyzer.findings.listing import TAKEN, UNLISTED, with_more
from analyzer.findings.naming import named
from analyzer.findings.packed import Packed
from analyzer.frames import Frames
from analyzer.read.spilled.spill import Large
from analyzer.rules.catalogue import Rule
from analyzer.rules.engine import complete, run
from analyzer.summary import COUNTS, FINAL_PROMISE, UNFOLLOWED, counts_frame, counts_of, finals_of, promised_by_format
from analyzer.trace import Settings, Trace

_FINAL = "final object"
_ONCE = pl.Schema(dict.fromkeys(("rule", "group", "schema_id"), pl.String()))
"""By what it is told whether a rule that speaks once of a session has spoken."""


class Ending:
    """Takes the windows of one session in their order, and gives the answer of the whole."""

    def __init__(
        self,
        whole: Large,
        index: Index,
        folder: Path,
        *,
        settings: Settings,
        rules: Sequence[Rule],
        keep_frames: bool,
        on_disk: Path | None,
        details: bool,
    ) -> None:
        self._whole, self._index, self._shelf = whole, index, Shelf(folder)
        self._settings, self._details = settings, details
        self._keep_frames, self._on_disk = keep_frames, on_disk
        self._rules = [rule for rule in rules if rule.reach == "session"]
        self._sums = [rule for rule in rules if rule.reach == "sum"]
        self._once = [rule.code for rule in rules if rule.reach == "once"]
        self.taken = TAKEN.to_frame()
        self._told_once = _ONCE.to_frame()
        self._crashed: set[tuple[str, str]] = set()
        self._count = 0
        self._globals: Frames = {}

    def add(
        self,
        trace: Trace,
        crashed: list[tuple[str, str]],
        own: tuple[Trace, Frames],
    ) -> None:
        """Take the next window: what the rules said of it, and what is its own."""
        part, by_key = own
        calls, results = keys_of(trace.calls, "call"), keys_of(trace.results, "result")
        self._crashed.update(crashed)
        for rule in self._sums:
            if not rule.looks_at or any(map(part.holds, rule.looks_at)):
                places = import_module(rule.module).places(part)
                for what, keys in (("call", calls), ("result", results)):
                    places = keyed(places, keys, what) if what in places.columns else places
                self._shelf.put(rule.code, places)
        bare = part.with_frames(sessions=trace.sessions.clear(), messages=trace.messages.clear())
        self._shelf.put("counts", counts_of(bare, trace.calls))
        self._shelf.put("finals", finals_of(part.messages))
        part = part.with_frames(retries=self._own(trace.retries), strays=self._own(trace.strays))
        answer = kept_of(part, keep_frames=False)
        for name in ("retries", "strays", "offer_events"):
            self._shelf.put(name, answer.pop(name))
        self._globals = {**answer, **{name: getattr(trace, name) for name in GLOBAL}}
        for name, rows in odd_rows(trace, part, self._index, calls, results).items():
            self._shelf.put(name, rows)
        if self._details:
            for name, rows in details_part(part).items():
                self._shelf.put(name, keyed(rows, calls, "call") if name == "marked" else rows)
        for name in by_key if self._keep_frames or self._on_disk else ("calls", "results", "faults"):
            self._shelf.put(name, by_key[name])
        self._count += 1

    def answer(self) -> Answer:
        """The answer to the whole session, as `audit_partition` gives it."""
        numbers = Numbers(self._shelf)
        # Places are many, and few of them are told.
        told = [
            complete(rule, import_module(rule.module).told(numbers.numbered(self._shelf.whole(rule.code))))
            for rule in self._sums
            if self._shelf.has(rule.code)
        ]
        trace = session_trace(
            *(self._whole, self._index, self._shelf, numbers), known=self._globals, settings=self._settings, told=told
        )
        hits, crashes = run(self._rules, trace)
        self._crashed.update((crash.rule.code, crash.error) for crash in crashes)
        answer = {name: frame for name, frame in self._globals.items() if name not in GLOBAL or name in KEPT}
        hits = pl.concat([hits, *told])
        late = dressed([hits], told_of(trace, hits, self._whole, self._index))
        del trace, hits  # of many calls it is much, and what is told of few
        found, answer["unlisted"] = self._listed(late, numbers)
        answer["counts"] = self._counts()
        answer |= {name: next(self._shelf.each(name)).clear() for name in ("retries", "offer_events")}
        answer["strays"] = self._shelf.whole("strays")
        if self._details:
            known = {**self._globals, "turns": self._index.turns}
            answer |= details_of_windows(self._shelf, numbers, self._index, known, found.select(*ASKED))
        if self._keep_frames:
            answer |= in_order({name: pl.concat(self._saved(name, numbers)) for name in ORDER})
        if self._on_disk is not None:
            part = Part(self._on_disk)
            for name in ORDER:
                for rows in self._saved(name, numbers):
                    part.put(name, rows)
        return Answer(answer, found, sorted(self._crashed), [*self._more()])

    def _more(self) -> Iterator[tuple[str, bytes]]:
        """The calls that may be repeated in another session, each kind once, and events: one of each call, at worst."""
        first = pl.struct("session", "digest").is_first_distinct()
        keys = self._shelf.whole("retries", "session", "digest", "ended")
        asked = keys.select(first | pl.col("ended").is_not_null()).to_series()
        since = 0
        for rows in self._shelf.each("retries"):
            mine = rows.filter(asked.slice(since, rows.height))
            since += rows.height
            yield from (("retries", lot) for lot in lots(mine))
        for rows in self._shelf.each("offer_events"):
            yield from (("offer_events", lot) for lot in lots(rows))

    def _own(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.filter(self._index.windows.owners_of(frame["event"]) == self._count)

    def take_found(self, pieces: Iterable[pl.DataFrame], beyond: pl.DataFrame, calls: pl.DataFrame) -> None:
        """Take what was found in the next window, DRESSED, piece by piece, and UNLISTED; `calls` are its keys."""
        self.taken = with_more(self.taken, DRESSED.to_frame(), beyond)
        schema = pl.col("contract").struct.field("schema_id").alias("schema_id")
        told = [self._told_once]
        for piece in pieces:
            found = piece.with_columns(schema)
            # Of one window all are told.
            found = found.join(self._told_once, on=list(_ONCE), how="anti", nulls_equal=True, maintain_order="left")
            told.append(found.filter(pl.col("rule").is_in(self._once)).select(list(_ONCE)))
            self.taken = with_more(self.taken, found, UNLISTED.to_frame())
            self._shelf.put("found", keyed(found.drop("schema_id"), calls, "call"))
        self._told_once = pl.concat(told).unique()

    def _listed(self, late: Iterable[pl.DataFrame], numbers: Numbers) -> tuple[Packed, pl.DataFrame]:
        ordinals = numbers.calls.select("call", "ordinal")
        found = Packed(DRESSED)
        for rows in self._shelf.each("found"):
            mine = rows.drop("ordinal").join(ordinals, on="call", how="left", maintain_order="left")
            found.add(mine.select(list(DRESSED)))
        for rows in late:
            found.add(rows)
        left = self.taken.select(list(UNLISTED)).filter(pl.col("count") > 0)
        return named(found, self._settings.max_findings, left)

    def _counts(self) -> pl.DataFrame:
        """COUNTS of the windows, and what is counted once in a session."""
        counts = self._shelf.whole("counts").group_by("what", "key").agg(pl.col("count").sum())
        known = {(what, key): count for what, key, count in counts.iter_rows()}
        asked = known.get(("judged", "session create"), 0)
        sessions = self._globals["sessions"]
        more = [("sessions", "", sessions.height), ("has", FINAL_PROMISE, promised_by_format(sessions))]
        if not asked and sessions.height:
            more += [("seen", "session create", 1), ("unjudged/session create", "request_not_recorded", 1)]
        more.append((UNFOLLOWED, self._whole.session or "(unrecorded)", self._index.links.unlinked))
        if not known.get(("seen", _FINAL)):
            finals = self._shelf.whole("finals").unique().height
            more += [("seen", _FINAL, finals), (f"unjudged/{_FINAL}", "no_final_schema", finals)]
        return pl.concat([counts.select(list(COUNTS)).sort("what", "key"), counts_frame(more)])

    def _saved(self, name: str, numbers: Numbers) -> Iterator[pl.DataFrame]:
        """The rows of a frame that is saved, window by window, with numbers of the session."""
        if name == "turns":
            yield self._index.turns
            return
        for window, rows in enumerate(self._shelf.each(name)):
            if name == "calls":
                yield numbers.numbered_calls(rows)
            elif name == "sightings":
                sides = [rows.filter(pl.col("what") == what).rename({"id": what}) for what in ("call", "result")]
                yield pl.concat(
                    numbers.numbered(side).rename({what: "id"})
                    for side, what in zip(sides, ("call", "result"), strict=True)
                )
            elif "verdict" in rows.columns:  # they are numbered in their window
                yield numbers.numbered(rows.with_columns(pl.col("verdict") + window * MANY))
            else:
                yield numbers.numbered(rows)
