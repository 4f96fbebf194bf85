"""What is being looked at: an audit just made or a saved one, its frames read when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from analyzer.findings.deciding import borne
from analyzer.report.untold import Untold
from analyzer.tui.records import Records

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_RANKED = 50_000  # findings of a session that are put in the order of the report
ACTIVITY = 24  # cells of the activity of a session


@dataclass(frozen=True)
class Place:
    """A record: where its bytes are, and which event of which session it is."""

    source: int
    file: str
    offset: int
    length: int
    line: int | None
    session: str | None = None
    seq: int | None = None
    event: int | None = None
    pointer: str = ""  # from the record to the event


class Case:
    """Frames by name, the findings flat, and records by offset. Everything here may be called from any thread."""

    def __init__(
        self,
        title: str,
        scan: Callable[[str], pl.LazyFrame],
        summary: dict[str, Any],
        inputs: list[dict[str, Any]],
        *,
        untold: Untold,
        crashed: Sequence[str] = (),
        folder: Path | None = None,
    ) -> None:
        self.title = title
        self.scan = scan
        self.summary = summary
        self.inputs = inputs
        self.untold = untold
        self.crashed = crashed  # rules, with what stopped them
        self.folder = folder  # of a saved audit

    @property
    def missing(self) -> int:
        """How many things were not read, not recognised, read in part, or not judged because a rule crashed."""
        return len(self.untold.all_unread) + len(self.crashed)

    # --- frames ---

    @cached_property
    def found(self) -> pl.DataFrame:
        """FINDINGS as they are."""
        return self.scan("findings").collect()

    def first_look(self, session: str) -> int | None:
        """The row of `found` that the report would name first in this session; None where there is none.

        Nor is there an answer where it would keep one waiting.
        """
        from analyzer.report.text import faults

        mine = self.found.with_row_index("index").filter(pl.col("session") == session)
        if mine.height > _RANKED:
            return None
        ranked = faults(mine.drop("index"))
        return int(mine["index"][ranked["row"][0]]) if ranked.height else None

    def audit_of(self, findings: pl.DataFrame) -> Audit:
        """An audit that holds these rows of FINDINGS only, as reports want it."""
        from analyzer.auditing import Audit
        from analyzer.summary import tally

        return Audit(findings, summary={**self.summary, "findings": tally(findings)}, inputs=self.inputs)

    @cached_property
    def findings(self) -> pl.DataFrame:
        """FINDINGS flat, one row per row of `found`, for tables and filters."""
        place, contract = pl.col("location").struct, pl.col("contract").struct
        base = place.field("pointer").fill_null("")
        failing = pl.col("failures").list.eval(pl.element().struct.field("pointer"))
        return self.found.select(
            pl.int_range(pl.len()).alias("index"),  # the row of `found`
            "severity",
            "rule",
            "slug",
            "session",
            "seq",
            "turn",
            "agent",
            "call_id",
            "tool",
            at=failing.list.eval(pl.element().filter(pl.element() != ""))
            .list.first()
            .fill_null(place.field("pointer")),
            message="message",
            pointer=pl.when(failing.list.len() > 0)
            .then(pl.concat_str(base, pl.lit(" "), base, failing.list.join(pl.concat_str(pl.lit(" "), base))))
            .otherwise(base),
            file=place.field("file"),
            line=place.field("line"),
            offset=place.field("offset"),
            length=place.field("length"),
            confidence="confidence",
            schema_id=contract.field("schema_id"),
            group="group",
            fingerprint="fingerprint",
            suppressed=borne(),
            why=pl.col("suppressed").struct.field("reason"),
            stands=pl.concat_str(
                "severity", pl.when(borne()).then(pl.lit("suppressed")), separator=" ", ignore_nulls=True
            ),
        )

    @cached_property
    def events(self) -> pl.DataFrame:
        """EVENTS with what a table needs of each: about 40 bytes."""
        table = self.scan("events")
        known = table.collect_schema().names()
        if "seq" not in known:
            table = table.with_columns(seq=pl.int_range(pl.len()).over("session"))
        words = [pl.col(name).cast(pl.Categorical) for name in ("session", "type", "kind", "turn")]
        return table.select(
            "event", words[0], pl.col("seq").cast(pl.UInt32), "time", *words[1:], pl.col("line").cast(pl.UInt32)
        ).collect()

    @cached_property
    def slow(self) -> pl.DataFrame:
        """The steps that took long: `event`, `seconds`, `rank` in its session."""
        from analyzer.tui.steps import slowest

        return slowest(self.events)

    def events_of(self, findings: pl.DataFrame) -> pl.Series:
        """The numbers of the events that findings (rows of `findings`) stand on."""
        known = self.events.select("event", pl.col("session").cast(pl.String), pl.col("seq").cast(pl.Int64))
        return known.join(findings.select("session", "seq"), on=("session", "seq"), how="semi", maintain_order="left")[
            "event"
        ]

    @cached_property
    def sources(self) -> dict[int, dict[str, Any]]:
        """SOURCES by number."""
        return {row["source"]: row for row in self.scan("sources").collect().iter_rows(named=True)}

    @cached_property
    def sessions(self) -> pl.DataFrame:
        """One row per session, for the overview: counts, and findings by severity."""
        table = (
            self.scan("sessions")
            .select("session", "events", "agent_name", "last_status", "order", "first_event")
            .collect()
        )
        turns = (
            self.scan("turns")
            .group_by("session")
            .agg(turns=pl.len(), agents=pl.concat_str("agent", "subagent", separator=" ", ignore_nulls=True).n_unique())
            .collect()
        )
        calls = self.scan("calls").group_by("session").agg(calls=pl.len()).collect()
        counts = (
            self.findings.filter(~pl.col("suppressed"))
            .group_by("session")
            .agg(
                errors=(pl.col("severity") == "error").sum(),
                warnings=(pl.col("severity") == "warning").sum(),
                infos=(pl.col("severity") == "info").sum(),
            )
        )
        started = (
            self.scan("events").select("event", "time").filter(pl.col("event").is_in(table["first_event"].implode()))
        )
        for other in (turns, calls, counts):
            table = table.join(other, on="session", how="left", maintain_order="left")
        table = table.join(
            started.collect().rename({"event": "first_event", "time": "started"}),
            on="first_event",
            how="left",
            maintain_order="left",
        )
        numbers = ("turns", "agents", "calls", "errors", "warnings", "infos")
        return table.with_columns(pl.col(numbers).fill_null(0).cast(pl.Int64)).select(
            "session", "started", "events", *numbers, "agent_name", "last_status", "order"
        )

    def activity(self) -> dict[str, list[int]]:
        """Events of each session in `ACTIVITY` equal parts of its time, or of its sequence where some have no time."""
        time, seq = pl.col("time").dt.epoch("us"), pl.col("seq").cast(pl.Int64)
        timed = (time.null_count() == 0) & (time.max() > time.min())
        ranges = self.events.group_by("session").agg(
            timed.alias("timed"),
            first=pl.when(timed).then(time.min()).otherwise(seq.min()),
            size=pl.when(timed).then(time.max() - time.min()).otherwise(seq.max() - seq.min()) + 1,
        )
        at = pl.when("timed").then(time).otherwise(seq) - pl.col("first")
        placed = self.events.select("session", "time", "seq").join(ranges, on="session", how="left", nulls_equal=True)
        spread = placed.group_by("session", part=at * ACTIVITY // pl.col("size")).len()
        out: dict[str, list[int]] = {}
        for session, part, count in spread.iter_rows():
            out.setdefault(session or "", [0] * ACTIVITY)[part] = count
        return out

    def rows(self, name: str, *where: pl.Expr) -> list[dict[str, Any]]:
        """The rows of a frame that a condition keeps."""
        return self.scan(name).filter(*where).collect().to_dicts() if where else self.scan(name).collect().to_dicts()

    # --- records ---

    def place_of_event(self, event: int) -> Place | None:
        """Where an event stands."""
        found = self.rows("events", pl.col("event") == event)
        return self._place(found[0]) if found else None

    def place_of_finding(self, finding: dict[str, Any]) -> Place | None:
        """Where a finding (a row of `found`) stands, or None where it names no record."""
        spot = finding["location"]
        if spot is None or spot["offset"] is None or spot["length"] is None:
            return None
        return self.place_of_location(spot, finding["session"], finding["seq"])

    def place_of_location(self, spot: dict[str, Any], session: str | None, seq: int | None) -> Place | None:
        """Where a location of the report stands."""
        source = next((number for number, row in self.sources.items() if row["path"] == spot["file"]), None)
        if source is None:
            return None
        return Place(source, spot["file"], spot["offset"], spot["length"], spot["line"], session, seq)

    def event_at(self, place: Place) -> int | None:
        """The first event of a record."""
        if place.event is not None:
            return place.event
        found = self.scan("events").filter(pl.col("source") == place.source, pl.col("offset") == place.offset)
        if place.seq is not None and "seq" in found.collect_schema().names():
            same = found.filter(pl.col("seq") == place.seq).select("event").collect()
            if same.height:
                return int(same["event"][0])
        events = found.select("event").collect()
        return int(events["event"][0]) if events.height else None

    def _place(self, row: dict[str, Any]) -> Place:
        file = self.sources.get(row["source"], {}).get("path") or "?"
        spot = (row["source"], file, row["offset"], row["length"], row["line"])
        return Place(*spot, row["session"], row.get("seq"), row["event"], row["pointer"] or "")

    @cached_property
    def records(self) -> Records:
        """The bytes of the log."""
        return Records(self.sources)

    def record(self, place: Place) -> bytes:
        """The bytes of a record as they stand in the log. Raises EvidenceUnavailable where the log is another one."""
        return self.records.fetch(place.source, place.offset, place.length)

    def close(self) -> None:
        """Close the logs."""
        if "records" in self.__dict__:
            self.records.close()
