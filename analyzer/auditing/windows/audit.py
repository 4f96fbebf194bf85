"""A large session through all stages, one window after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from analyzer.auditing.partition import Answer, Fetch, audit_partition, conclude
from analyzer.auditing.windows.ending import Ending
from analyzer.auditing.windows.index import Index, index_of
from analyzer.auditing.windows.owning import keys_of, own_part
from analyzer.auditing.windows.written import Written
from analyzer.contracts.files import Contracts
from analyzer.contracts.timeline import SchemaStore
from analyzer.findings.assemble import dressed
from analyzer.findings.listing import foremost
from analyzer.findings.owners import placed
from analyzer.findings.precedence import settle
from analyzer.findings.repairs import Repairers, with_repairs
from analyzer.frames import FAULTS, RECORDED, Frames
from analyzer.read.spilled.spill import Large
from analyzer.redaction import HIDDEN, Redaction, redacting
from analyzer.replay.final import FinalSchema
from analyzer.rules.catalogue import Rule
from analyzer.rules.engine import run
from analyzer.trace import Settings, Trace

_HERE = ("window", "near", "once")


def audit_large(
    whole: Large,
    sources: pl.DataFrame,
    *,
    contracts: Contracts,
    settings: Settings,
    rules: Sequence[Rule],
    fetch: Fetch,
    session: str | None = None,
    final: FinalSchema | None = None,
    keep_frames: bool = True,
    on_disk: Path | None = None,
    details: bool = False,
    redaction: Redaction = HIDDEN,
    store: SchemaStore | None = None,
    repairers: Repairers | None = None,
) -> Answer:
    """Audit a session that is too large to be looked at whole; `sources` are SOURCES, the rest is `audit_partition`'s.

    The answer is that of the whole session, but for the rules that say otherwise (`Rule.reach`); these are named in the
    frame of faults.
    """
    terms: dict[str, Any] = {
        "contracts": contracts,
        "settings": settings,
        "fetch": fetch,
        "final": final,
        "store": store,
    }
    if session is not None and whole.session != session:
        nothing: Frames = {name: schema.to_frame() for name, schema in RECORDED.items()}
        terms |= {"rules": rules, "keep_frames": keep_frames, "on_disk": on_disk, "details": details}
        return audit_partition({**nothing, "sources": sources}, **terms)
    repairers = repairers or Repairers()
    with redacting(redaction), TemporaryDirectory(dir=whole.lot.folder) as name:
        folder = Path(name)
        index = index_of(whole, fetch, sources, settings.clock_skew, folder)
        written = Written(whole, index, folder)
        ending = Ending(
            *(whole, index, folder),
            settings=settings,
            rules=rules,
            keep_frames=keep_frames,
            on_disk=on_disk,
            details=details,
        )
        repairers.session(going_on=True)

        def judge(number: int) -> None:  # nothing of a window is held while the next one is loaded
            recorded = {**written.load(number), "sources": sources}
            written.done(number)
            if number == len(index.windows) - 1:
                recorded["faults"] = pl.concat([recorded["faults"], _told(whole, index, rules)])
            trace = conclude(recorded, stated=(index.sessions, index.turns), **terms)
            del recorded
            crashed = _take_found(trace, index, number, rules, repairers, ending)
            ending.add(trace, crashed, own_part(trace, index, number))

        for number in range(len(index.windows)):
            judge(number)
        repairers.session(going_on=False)
        return ending.answer()


def _take_found(  # noqa: PLR0917 - a window, and what judges it
    trace: Trace, index: Index, number: int, rules: Sequence[Rule], repairers: Repairers, ending: Ending
) -> list[tuple[str, str]]:
    """Give the ending what the rules say of a window's own events; what crashed."""
    hits, crashes = run([rule for rule in rules if rule.reach in _HERE], trace)
    trace.made.clear()
    hits = settle(hits)
    since, until = index.windows.span(number)
    # What is of the session and no event is told with the last of them.
    last = number == len(index.windows) - 1
    own = placed(hits, trace)["seq"].is_between(since, until).fill_null(value=last)
    hits = hits if own.all() else hits.filter(own)
    hits = with_repairs(hits, trace, repairers)
    blocks, beyond = foremost(hits, trace, trace.settings.max_findings, ending.taken)
    ending.take_found(dressed(blocks, trace), beyond, keys_of(trace.calls, "call"))
    return [(crash.rule.code, crash.error) for crash in crashes]


def _told(whole: Large, index: Index, rules: Sequence[Rule]) -> pl.DataFrame:
    """FAULTS at the last event: that the session was not looked at whole, and what that means."""
    near = [rule.code for rule in rules if rule.reach in ("near", "once")]
    idle = [rule.code for rule in rules if rule.reach == "whole"]
    said = [f"its {index.seats.events.len():,} events were judged in {len(index.windows)} windows"]
    if near:
        said.append(f"{', '.join(near)} look at one window at a time")
    if idle:
        said.append(f"{', '.join(idle)} did not run")
    rows = [(index.seats.events[-1], whole.session, "session_in_windows", "", "; ".join(said), None)]
    if index.links.unlinked:
        lost = (
            f"{index.links.unlinked:,} of its ids stand on so many rows that these were not followed over its windows"
        )
        rows.append((index.seats.events[-1], whole.session, "session_too_large", "", lost, None))
    return pl.DataFrame(rows, schema=FAULTS, orient="row")
