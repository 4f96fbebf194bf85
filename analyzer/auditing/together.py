"""Partitions put together: what the whole fleet shows, the order of the report, the summary, the baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date

import polars as pl

from analyzer.auditing.numbers import in_order, told_apart
from analyzer.auditing.outcome import Audit
from analyzer.auditing.partition import KEPT
from analyzer.config import Suppression
from analyzer.contracts.files import Contracts
from analyzer.contracts.spelling import unmatched
from analyzer.errors import AnalyzerError, InputError
from analyzer.findings.assemble import assemble
from analyzer.findings.baseline import Baseline
from analyzer.findings.kept import SAME
from analyzer.findings.listing import PLACED, cut, listed, places_of
from analyzer.findings.naming import ordered, together
from analyzer.findings.packed import Packed
from analyzer.findings.precedence import settle, settle_across
from analyzer.findings.stated import stated, told
from analyzer.findings.suppress import suppress
from analyzer.frames import Frames
from analyzer.read.sources.files import Source
from analyzer.replay.strays import misdirected
from analyzer.rules.catalogue import Rule
from analyzer.rules.engine import run
from analyzer.summary import UNFOLLOWED, called, definitions, hops, rules_not_run, summarise, tally
from analyzer.trace import Settings, Trace
from analyzer.visible import visible

_MOST_TOLD = 8


def gathered(
    parts: Sequence[Frames],
    found: Sequence[Packed],
    crashed: Sequence[tuple[str, str]],
    *,
    inputs: pl.DataFrame,
    settings: Settings,
    rules: Sequence[Rule],
    suppressions: Sequence[Suppression] = (),
    problems: Sequence[AnalyzerError] = (),
    sources: Sequence[Source] = (),
    contracts: Contracts | None = None,
) -> Audit:
    """The audit whose partitions gave `parts`, `found` and `crashed` (answers of `audit_partition`, at least one).

    Parts and findings are empty afterwards: nothing is held twice. `inputs` are SOURCES of all of them. The rules of
    the fleet run here, over what is kept of every partition. Of `contracts` it is told which entries no call was met
    by.
    """
    several = len(parts) > 1 and "calls" in parts[0]
    if several:
        told_apart(parts)
    whole = {name: _together(name, [part.pop(name) for part in parts]) for name in list(parts[0])}
    if several:
        whole = in_order(whole)
    whole["sources"] = inputs
    fleet, crashes = _fleet(whole, settings, rules)
    # Where not all events are kept, those that show contracts are: they lead to the schemas as they were written.
    whole.setdefault("events", whole.pop("offer_events"))
    crashed = sorted({*crashed, *crashes})
    fleet, more = listed(fleet, settings.max_findings)
    kept, unlisted = _listed(found, fleet, whole.pop("strays"), whole.pop("unlisted"), settings)
    unlisted = pl.concat([unlisted, more])
    for each in (fleet, told(unlisted), _crash_findings(crashed)):
        kept.add(each)
    ordered(kept)
    findings = kept.unpack().drop("first_event")
    counts = pl.concat([whole.pop("counts"), definitions(whole["schemas"], whole["offers"])])
    idle = rules_not_run(counts, rules)
    absent = {each["rule"] for each in idle} | {rule for rule, _ in crashed}
    ran = [rule.code for rule in rules if rule.code not in absent]
    today = date.today()  # noqa: DTZ011 - the day where it is read
    findings, notes = suppress(findings, suppressions, today=today, ran=ran)
    if contracts is not None:
        notes += _unmet(contracts, called(counts))
    notes += _copied(sources)
    named = pl.col("source").is_in(_named(sources))
    read = pl.col("format") != ""
    return Audit(
        findings=findings,
        frames=whole,
        summary=summarise(counts, findings, idle, unlisted),
        inputs=pl.concat([inputs.filter(read), inputs.filter(~read & named)]).drop("source").to_dicts(),
        hops=hops(counts),
        problems=[*problems, *_unfollowed(counts)],
        notes=notes,
        ran=ran,
        unrecognised=inputs.filter(~read & ~named)["path"].to_list(),
        crashed=crashed,
        sources=tuple(sources),
    )


def _listed(
    found: Sequence[Packed], fleet: pl.DataFrame, strays: pl.DataFrame, unlisted: pl.DataFrame, settings: Settings
) -> tuple[Packed, pl.DataFrame]:
    """The findings of all partitions that are listed, and UNLISTED."""
    whole = together(found)
    if whole.height > settings.max_findings or unlisted.height:
        places, unlisted = cut(places_of(whole.select(*PLACED), 0), settings.max_findings, unlisted)
        if places.height < whole.height:
            whole.keep(places["row"].sort())
    told_by = settle_across(
        whole.select("session", "call_id", "rule").with_row_index("row"), fleet, misdirected(strays)
    )
    if told_by.height < whole.height:
        whole.keep(told_by["row"])
    return whole, unlisted


def _unmet(contracts: Contracts, names: set[tuple[str | None, str]]) -> list[str]:
    """A note on the entries of contract files under whose names no tool was called; without any call there is none."""
    tools = {(each.server, each.tool) for each in contracts.entries if each.channel == "contract"}
    apart = unmatched(tools, names) if names else []
    if not apart:
        return []
    more = len(apart) - _MOST_TOLD
    shown = ", ".join(visible(label, limit=80) for label in apart[:_MOST_TOLD]) + (
        f" and {more} more" if more > 0 else ""
    )
    return [
        f"contracts: {len(apart)} of {len(tools)} tools have no call in these logs under any usual spelling: {shown}"
    ]


def _copied(sources: Sequence[Source]) -> list[str]:
    """A note on the files that hold the same bytes as one that was read."""
    pairs = [(copy, source.path) for source in sources for copy in source.copies]
    notes = [
        f"{visible(copy, limit=400)} holds the same bytes as {visible(path, limit=400)}: read once"
        for copy, path in pairs[:_MOST_TOLD]
    ]
    more = len(pairs) - len(notes)
    return [*notes, f"{more} more files hold the same bytes as others: read once"] if more else notes


def held_to(done: Audit, baseline: Baseline) -> Audit:
    """The audit with the findings that a baseline holds marked as known; what it had judged and is lost is told."""
    findings = baseline.mark(done.findings)
    lost = baseline.lost(done.summary, done.hops, done.ran)
    gone = baseline.gone(done.findings)
    notes = [f"less was judged than in the baseline: {each}" for each in lost]
    if gone:
        notes.append(f"gone since the baseline: {gone} of its findings; --write-baseline keeps them from coming back")
    summary = {**done.summary, "findings": tally(findings)}
    return replace(done, findings=findings, summary=summary, notes=[*done.notes, *notes], lost=lost)


def _together(name: str, parts: list[pl.DataFrame]) -> pl.DataFrame:
    """One frame of all partitions; what several of them have of one schema or tool is kept once."""
    whole = pl.concat(parts)
    if whole.is_empty():
        return whole
    if name in SAME:
        return whole.unique(maintain_order=True).sort(whole.columns[:3], maintain_order=True)
    if name == "sessions":
        return whole.sort("first_event")
    if name == "offers":
        return whole.sort("session", "tool", "role", "since")
    if name == "counts":
        return whole.group_by("what", "key").agg(pl.col("count").sum()).sort("what", "key")
    return whole


def _fleet(whole: Frames, settings: Settings, rules: Sequence[Rule]) -> tuple[pl.DataFrame, list[tuple[str, str]]]:
    """The findings of the rules that see all sessions at once."""
    trace = Trace(settings=settings).with_frames(
        events=whole["offer_events"],
        showings=whole.pop("first_showings"),
        tables=whole.pop("shown_tables"),
        retries=whole.pop("retries"),
        strays=whole["strays"],
        **{name: whole[name] for name in ("sources", *KEPT)},
    )
    hits, crashes = run([rule for rule in rules if rule.scope == "fleet"], trace)
    across, more = run([rule for rule in rules if rule.across], trace, across=True)
    hits, crashes = pl.concat([hits, across]), [*crashes, *more]
    return assemble(settle(hits), trace), [(crash.rule.code, crash.error) for crash in crashes]


def _unfollowed(counts: pl.DataFrame) -> list[AnalyzerError]:
    """What could not be judged whole, for its ids are everywhere."""
    rows = sorted((key, count) for what, key, count in counts.iter_rows() if what == UNFOLLOWED)
    return [
        InputError(f"the session {visible(name, limit=200)} is too large: {count:,} of its ids stand on too many rows")
        for name, count in rows
    ]


def _crash_findings(crashed: list[tuple[str, str]]) -> pl.DataFrame:
    """A rule that crashed is a finding too, so that no report is green without it."""
    rows = [
        {
            "rule": rule,
            "slug": "rule-crashed",
            "severity": "error",
            "confidence": "certain",
            "message": f"The rule {rule} crashed and judged nothing: {error}",
            "hint": "This is a fault of the analyzer, not of the log; the other rules have reported.",
        }
        for rule, error in crashed
    ]
    return stated(rows)


def _named(sources: Iterable[Source]) -> list[int]:
    return [source.number for source in sources if source.named]
