"""One partition: the recorded frames of whole sessions in, what is concluded and found out.

Whatever runs on more than one core or machine calls `audit_partition`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from analyzer import frames
from analyzer.auditing.numbers import ORDER
from analyzer.auditing.on_disk import Part
from analyzer.contracts.files import Contracts
from analyzer.contracts.timeline import SchemaStore, contracts_of, offers_of, tools_of
from analyzer.findings.assemble import DRESSED, dressed
from analyzer.findings.details import ASKED, MADE_OF, details_of
from analyzer.findings.listing import foremost
from analyzer.findings.naming import named
from analyzer.findings.packed import Packed
from analyzer.findings.precedence import settle
from analyzer.findings.repairs import Repairers, with_repairs
from analyzer.frames import Frames
from analyzer.redaction import HIDDEN, Redaction, redacting
from analyzer.replay.as_offered import as_offered
from analyzer.replay.final import FinalSchema, final_answers, final_verdicts
from analyzer.replay.fold import fold_calls, fold_results
from analyzer.replay.force import in_force
from analyzer.replay.pair import pair
from analyzer.replay.place import place
from analyzer.replay.retries import retries_of
from analyzer.replay.scopes import scoped
from analyzer.replay.sightings import sightings_of
from analyzer.replay.state import running_versions, sessions_of, turns_of
from analyzer.replay.strays import strays_of
from analyzer.replay.verdicts import verdicts_of
from analyzer.rules.catalogue import Rule
from analyzer.rules.engine import run
from analyzer.summary import counts_of
from analyzer.trace import Settings, Trace

Fetch = Callable[[int, int, int], bytes]


class Answer(NamedTuple):
    """What came of a partition."""

    frames: Frames
    """Concluded frames, and `unlisted` and `counts`."""
    found: Packed
    """FINDINGS with `first_event`, in the order of the report."""
    crashed: list[tuple[str, str]]
    """The rules that crashed on it, and by what."""
    more: Sequence[tuple[str, bytes]] = ()
    """Further rows of frames that wait for the end, by name and compressed: of a large session they are many."""


# What the fleet rules and the reports need of every partition; payload texts are not among it.
KEPT = ("sessions", "tools", "offers", "schemas", "schema_facts", "contracts")


def audit_partition(
    recorded: Frames,
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
    """Audit the recorded frames of whole sessions.

    Pure: the same frames give the same answer, whatever else is audited, and no payload text is kept beyond it unless
    `keep_frames` says so; `on_disk` is the folder of an OnDisk that takes the frames. With `details` what a page shows
    beside the findings is in it too (DETAILS), which is little. `fetch(source, offset, length)` gives the bytes of a
    record, for the few whose event id repeats. `store` and `repairers` keep what other partitions have found out about
    the same schemas. `recorded` is empty afterwards.
    """
    with redacting(redaction):  # another process knows nothing of it
        trace = conclude(
            recorded, contracts=contracts, settings=settings, fetch=fetch, session=session, final=final, store=store
        )
        hits, crashes = run(rules, trace)
        trace.made.clear()
        hits = settle(hits)
        blocks, beyond = foremost(with_repairs(hits, trace, repairers), trace, settings.max_findings)
        found = Packed(DRESSED, dressed(blocks, trace))
        del hits, blocks
    answer = kept_of(trace, keep_frames=keep_frames)
    if on_disk is not None:
        frames_on_disk = Part(on_disk)
        for name, frame in saved_of(trace):
            frames_on_disk.put(name, frame)
    if details:
        answer |= details_of({name: getattr(trace, name) for name in MADE_OF}, found.select(*ASKED))
    answer["counts"] = counts_of(trace)
    del trace  # where findings are many, they are most of what there is
    found, answer["unlisted"] = named(found, settings.max_findings, beyond)
    return Answer(answer, found, [(crash.rule.code, crash.error) for crash in crashes])


def kept_of(trace: Trace, *, keep_frames: bool) -> Frames:
    """The frames that are kept of a partition."""
    answer = {name: getattr(trace, name) for name in KEPT}
    if keep_frames:
        answer |= dict(saved_of(trace))
    # The rules about tools see all sessions at once: they need every table, and where it was shown first.
    shown = trace.showings.filter(pl.col("table").is_not_null()).sort("event", "pointer")
    answer["first_showings"] = shown.unique(["session", "channel", "table"], keep="first", maintain_order=True)
    answer["shown_tables"] = trace.tables
    answer["retries"], answer["strays"] = trace.retries, trace.strays
    seen = (trace.offers, answer["first_showings"], trace.retries, trace.strays)
    places = pl.concat([frame["event"] for frame in seen])
    answer["offer_events"] = trace.events.filter(pl.col("event").is_in(places.implode()))
    return answer


def saved_of(trace: Trace) -> Iterator[tuple[str, pl.DataFrame]]:
    """The frames that are saved, but for those that are kept in any case."""
    for name in ORDER:
        shown = name == "sightings"
        yield name, sightings_of(trace.call_sightings, trace.result_sightings) if shown else getattr(trace, name)


def conclude(
    recorded: Frames,
    *,
    contracts: Contracts,
    settings: Settings,
    fetch: Fetch,
    session: str | None = None,
    final: FinalSchema | None = None,
    store: SchemaStore | None = None,
    stated: tuple[pl.DataFrame, pl.DataFrame] | None = None,
) -> Trace:
    """The trace of one partition: everything up to the rules. `recorded` is empty afterwards.

    Of a part of a session, `stated` are SESSIONS and TURNS of the whole.
    """
    if session is not None:
        recorded = {
            name: frame.filter(pl.col("session") == session) if "session" in frame.columns else frame
            for name, frame in recorded.items()
        }
    store = store.bounded() if store is not None else SchemaStore(assert_formats=settings.assert_formats)
    placed, sources = place(recorded, fetch), recorded["sources"]
    recorded.clear()  # nothing is held twice: of many calls there is as much as of what they come to
    shown_calls, shown_results = scoped(placed.pop("call_sightings"), placed.pop("result_sightings"))
    call_rows, call_sightings = fold_calls(shown_calls)
    result_rows, result_sightings = fold_results(shown_results)
    del shown_calls, shown_results
    calls, results = pair(call_rows, result_rows)
    del call_rows, result_rows
    if stated is None:
        turns = turns_of(placed["events"], placed["turn_states"])
        sessions = sessions_of(placed["events"], placed["session_states"], calls)
    else:
        sessions, turns = stated
    calls = calls.join(
        turns.select("session", "turn", "agent", "subagent"), on=["session", "turn"], how="left", maintain_order="left"
    ).select(list(frames.CALLS))
    shown = placed["showings"]["table"].unique()
    tools = tools_of(placed["tables"].filter(pl.col("table").is_in(shown.implode())), store)
    offers = offers_of(placed["showings"], tools)
    calls = as_offered(calls, offers)
    files = contracts_of(contracts, store)
    running = running_versions(calls, placed["session_states"])
    verdicts, violations, faults = verdicts_of(
        calls.with_columns(running),
        results,
        in_force(calls, offers, "arguments"),
        in_force(calls, offers, "output"),
        files,
        offers,
        placed["faults"],
        store,
    )
    if final is not None:
        answers = final_answers(placed["messages"], turns, sessions).collect()
        judged, failed, contract = final_verdicts(answers, final, store, since=verdicts.height)
        verdicts, violations = pl.concat([verdicts, judged]), pl.concat([violations, failed])
        files = pl.concat([files, contract])
    advertised = set(tools["schema_id"].drop_nulls())  # of requests that were refused, too
    schemas, facts = store.frames(advertised | set(files["schema_id"]), advertised=advertised)
    return Trace(
        settings=settings,
        sources=sources,
        events=placed["events"],
        faults=pl.concat([placed["faults"], faults]),
        session_states=placed["session_states"],
        turn_states=placed["turn_states"],
        tables=placed["tables"],
        showings=placed["showings"],
        call_sightings=call_sightings,
        result_sightings=result_sightings,
        approvals=placed["approvals"],
        gates=placed["gates"],
        messages=placed["messages"],
        summaries=placed["summaries"],
        sessions=sessions,
        turns=turns,
        tools=tools,
        schemas=schemas,
        schema_facts=facts,
        contracts=files,
        offers=offers,
        calls=calls,
        results=results,
        verdicts=verdicts,
        violations=violations,
        retries=retries_of(calls, placed["messages"], sessions),
        strays=strays_of(calls, results),
    )
