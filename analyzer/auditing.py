"""The way through the house: read, contracts, replay, rules, findings.

`audit_partition` is a pure function of the recorded frames of whole sessions; `audit` reads, calls it for every
partition, and puts the answers together. Whatever runs on more than one core or machine calls the same function.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from analyzer import frames
from analyzer.config import Suppression
from analyzer.contracts.files import Contracts, load_contracts
from analyzer.contracts.timeline import SchemaStore, contracts_of, offers_of, tools_of
from analyzer.errors import AnalyzerError, InputError, UsageError
from analyzer.findings.assemble import assemble, ordered
from analyzer.findings.baseline import Baseline
from analyzer.findings.baseline import load as load_baseline
from analyzer.findings.kept import SAME, Kept
from analyzer.findings.listing import foremost, listed, thinned, told
from analyzer.findings.precedence import settle, settle_across
from analyzer.findings.repairs import Repairers, with_repairs
from analyzer.findings.suppress import suppress
from analyzer.frame_masking import masked_frame
from analyzer.masking import masked
from analyzer.read import ADAPTERS, Crew, read
from analyzer.read.adapter import Adapter
from analyzer.read.files import STDIN, Evidence, Source, find
from analyzer.read.recording import Loadable, Recording
from analyzer.read.rows import no_collection
from analyzer.redaction import HIDDEN, Redaction, current, redacting
from analyzer.replay.final import FinalSchema, final_answers, final_verdicts, load_final_schema
from analyzer.replay.fold import fold_calls, fold_results
from analyzer.replay.force import in_force
from analyzer.replay.pair import pair
from analyzer.replay.place import place
from analyzer.replay.retries import retries_of
from analyzer.replay.scopes import scoped
from analyzer.replay.sightings import sightings_of
from analyzer.replay.state import running_versions, sessions_of, turns_of
from analyzer.replay.strays import misdirected, strays_of
from analyzer.replay.verdicts import verdicts_of
from analyzer.rules.catalogue import RULES, Rule
from analyzer.rules.engine import run
from analyzer.summary import counts_of, definitions, hops, rules_not_run, summarise, tally
from analyzer.trace import Settings, Trace

Frames = dict[str, pl.DataFrame]
Progress = Callable[[str, int, int], None]
Fetch = Callable[[int, int, int], bytes]
Answered = tuple[Frames, list[tuple[str, str]]]
"""The answer to a partition, and the rules that crashed on it."""

# What the fleet rules and the reports need of every partition; payload texts are not among it.
_KEPT = ("sessions", "tools", "offers", "schemas", "schema_facts", "contracts")


@dataclass(frozen=True)
class Audit:
    """What an audit found, and what it could not see."""

    findings: pl.DataFrame
    """FINDINGS, sorted by session first seen, place in it, rule, pointer and fingerprint."""
    frames: Frames = field(default_factory=dict)
    """Frames by the names of `frames.SAVED`; without `keep_frames` only those that reports need."""
    summary: dict[str, Any] = field(default_factory=dict)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    hops: list[dict[str, Any]] = field(default_factory=list)
    problems: list[AnalyzerError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What is wrong with the suppressions (expired, or nothing left to suppress), and what the baseline has to say."""
    ran: list[str] = field(default_factory=list)
    """Codes of the rules that had something to look at."""
    lost: list[str] = field(default_factory=list)
    """What the baseline had judged and this audit has not; it is among the notes too."""
    unrecognised: list[str] = field(default_factory=list)
    crashed: list[tuple[str, str]] = field(default_factory=list)
    sources: tuple[Source, ...] = field(default=(), compare=False, repr=False)
    """The inputs as they were opened: standard input is kept nowhere else. Empty in a saved audit."""

    def evidence(self) -> Evidence:
        """Raw bytes of the records; raises EvidenceUnavailable where a log has moved or changed since."""
        if self.sources:
            return Evidence(self.sources)
        sources = self.frames["sources"]
        return Evidence([Source(number, path) for number, path in sources.select("source", "path").iter_rows()])

    def save(self, folder: str) -> None:
        """Write the frames as Parquet and the rest as `audit.json`, credentials hidden. Raises OSError."""
        target = Path(folder)
        try:
            folder.encode()
        except UnicodeEncodeError as error:  # Polars opens no other
            raise UsageError("cannot save under a name that is no UTF-8", file=folder) from error
        target.mkdir(parents=True, exist_ok=True)
        for name, frame in {**self.frames, "findings": self.findings}.items():
            masked_frame(frame).write_parquet(target / f"{name}.parquet")
        rest = masked(
            {
                "schema": "analyzer.saved/v1",
                "summary": self.summary,
                "inputs": self.inputs,
                "hops": self.hops,
                "problems": [str(problem) for problem in self.problems],
                "notes": self.notes,
                "ran": self.ran,
                "lost": self.lost,
                "unrecognised": self.unrecognised,
                "crashed": self.crashed,
            }
        )
        (target / "audit.json").write_text(json.dumps(rest, indent=1), encoding="utf-8")


def open_audit(folder: str) -> Audit:
    """A saved audit. Raises InputError where the folder holds none."""
    source = Path(folder)
    try:
        rest = json.loads((source / "audit.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"not a saved audit: {error.strerror or error}", file=folder) from error
    except ValueError as error:
        raise InputError("not a saved audit: audit.json is not JSON", file=folder) from error
    held = {file.stem: pl.read_parquet(file) for file in sorted(source.glob("*.parquet"))}
    findings = held.pop("findings", frames.FINDINGS.to_frame())
    return Audit(
        findings,
        held,
        summary=rest["summary"],
        inputs=rest["inputs"],
        hops=rest["hops"],
        problems=[InputError(text) for text in rest["problems"]],
        notes=rest["notes"],
        ran=rest.get("ran", []),
        lost=rest.get("lost", []),
        unrecognised=rest["unrecognised"],
        crashed=[(rule, error) for rule, error in rest["crashed"]],
    )


@no_collection()
def audit(
    paths: Sequence[str | PathLike[str]] | str | PathLike[str],
    *,
    contracts: Sequence[str] = (),
    executed: Sequence[str] = (),
    final_schema: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    settings: Settings | None = None,
    input_format: str | None = None,
    mappings: Mapping[str, Mapping[str, str]] | None = None,
    session: str | None = None,
    partitions: int = 1,
    jobs: int = 1,
    keep_frames: bool = True,
    suppressions: Sequence[Suppression] = (),
    baseline: str | None = None,
    progress: Progress | None = None,
    so_far: Callable[[Audit], None] | None = None,
) -> Audit:
    """Audit recorded logs: files, folders or `-`.

    `executed` names Python functions and models as `package.module:name`: they are imported, and contracts like files.
    `mappings` are the configuration's, of in-house logs: name to field to JMESPath.
    `baseline` is a file that `--write-baseline` wrote: what it holds is marked as known.
    `jobs` processes read the logs and audit the partitions, of which there are then at least as many; the
    answer is the same.
    `so_far` is called with the audit of what has been judged, each time there is more of it and not yet all.
    Whatever could be read is audited; what could not is among `problems` and in the summary. Raises UsageError for
    options that make no sense.
    """
    settings = settings or Settings()
    adapters = _adapters(mappings or {})
    if input_format is not None and input_format not in {adapter.name for adapter in adapters}:
        raise UsageError(f"no input format {input_format!r}; see `analyzer formats`")
    report = progress or _silent
    given = contracts_given(contracts, executed)
    before = None if baseline is None else load_baseline(baseline)
    sources, missing = find([fspath(path) for path in ([paths] if isinstance(paths, str | PathLike) else paths)])
    if any(source.path == STDIN for source in sources):
        jobs = 1  # what was piped in cannot be read again by another process
    if jobs > 1:
        partitions = max(partitions, jobs)
    rules = chosen(select, ignore)
    final = None if final_schema is None else load_final_schema(final_schema)
    evidence = Evidence(sources)
    recording = Recording(at_least=partitions)
    crashed: list[tuple[str, str]] = []
    with closing(Kept()) as kept, _pool(jobs) as pool:
        crew = None if pool is None else Crew(pool, jobs, mappings or {})
        try:
            read(
                sources,
                input_format=input_format,
                recording=recording,
                progress=report,
                adapters=adapters,
                crew=crew,
            )
            lots = recording.lots()
            problems: list[AnalyzerError] = [*missing, *recording.problems, *given.problems]
            inputs = recording.source_frame()
            work = partial(
                audit_partition,
                contracts=given if pool is None else _portable(given),
                settings=settings,
                rules=[rule for rule in rules if rule.scope != "fleet"],
                fetch=evidence.fetch,
                session=session,
                final=final,
                keep_frames=keep_frames,
                redaction=current(),
            )
            together = partial(
                gathered,
                inputs=inputs,
                settings=settings,
                rules=rules,
                suppressions=suppressions,
                problems=problems,
                sources=sources,
            )
            for number, (part, crashes) in enumerate(_each(work, lots, inputs, pool, jobs), 1):
                report("audit", number, recording.expected_partitions)
                kept.add(part)
                thinned(kept.parts, settings.max_findings)
                crashed += crashes
                if so_far is not None and number < recording.expected_partitions:
                    so_far(together(kept.whole(), crashed))
        finally:
            recording.close()
            evidence.close()
        report("report", 0, 0)
        done = together(kept.whole(), crashed)
    return done if before is None else held_to(done, before)


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


def gathered(
    parts: Sequence[Frames],
    crashed: Sequence[tuple[str, str]],
    *,
    inputs: pl.DataFrame,
    settings: Settings,
    rules: Sequence[Rule],
    suppressions: Sequence[Suppression] = (),
    problems: Sequence[AnalyzerError] = (),
    sources: Sequence[Source] = (),
) -> Audit:
    """The audit whose partitions gave `parts` (answers of `audit_partition`, at least one) and `crashed`.

    `inputs` are SOURCES of all of them. The rules of the fleet run here, over what is kept of every partition.
    """
    whole = {name: _together(name, [part[name] for part in parts]) for name in parts[0]}
    whole["sources"] = inputs
    fleet, crashes = _fleet(whole, settings, rules)
    crashed = sorted({*crashed, *crashes})
    found, unlisted = whole.pop("found"), whole.pop("unlisted")
    if found.height > settings.max_findings or unlisted.height:
        found, unlisted = listed(ordered([found]), settings.max_findings, unlisted)
    fleet, more = listed(fleet, settings.max_findings)
    unlisted = pl.concat([unlisted, more])
    found = settle_across(found, fleet, misdirected(whole.pop("strays")))
    findings = ordered([found, fleet, told(unlisted), _crash_findings(crashed)]).drop("first_event")
    findings, notes = suppress(findings, suppressions, today=date.today())  # noqa: DTZ011 - the day where it is read
    counts = pl.concat([whole.pop("counts"), definitions(whole["schemas"], whole["offers"])])
    idle = rules_not_run(counts, rules)
    absent = {each["rule"] for each in idle} | {rule for rule, _ in crashed}
    named = pl.col("source").is_in(_named(sources))
    read = pl.col("format") != ""
    return Audit(
        findings=findings,
        frames=whole,
        summary=summarise(counts, findings, idle, unlisted),
        inputs=pl.concat([inputs.filter(read), inputs.filter(~read & named)]).drop("source").to_dicts(),
        hops=hops(counts),
        problems=list(problems),
        notes=notes,
        ran=[rule.code for rule in rules if rule.code not in absent],
        unrecognised=inputs.filter(~read & ~named)["path"].to_list(),
        crashed=crashed,
        sources=tuple(sources),
    )


def contracts_given(contracts: Sequence[str], executed: Sequence[str]) -> Contracts:
    """The executed side: contract files and folders, and Python that is named. Raises UsageError for what is not."""
    if not executed:
        return load_contracts([Path(path) for path in contracts])
    from analyzer.contracts.executed import load_executed  # it imports what it is told: only when it is told

    code = load_executed(executed)
    return load_contracts([Path(path) for path in contracts]).beside(code)


def _portable(contracts: Contracts) -> Contracts:
    """Contracts without their compiled schemas, which stay in the process that made them."""
    return replace(contracts, entries=tuple(replace(entry, judge=None) for entry in contracts.entries))


@contextmanager
def _pool(jobs: int) -> Iterator[Executor | None]:
    """Some processes, or none where this one is enough."""
    if jobs == 1:
        yield None
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # spawn: a forked child of a process with Polars' threads may hang
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _each(
    work: partial[Answered], lots: Sequence[Loadable], inputs: pl.DataFrame, pool: Executor | None, jobs: int
) -> Iterator[Answered]:
    """The answers to the partitions, in their order; a process has one in memory, and loads it itself."""
    if pool is None:
        kept = {"store": SchemaStore(assert_formats=work.keywords["settings"].assert_formats), "repairers": Repairers()}
        yield from (work({**lot.load(), "sources": inputs}, **kept) for lot in lots)
        return
    waiting: deque[Future[Answered]] = deque()
    for lot in lots:
        waiting.append(pool.submit(_elsewhere, work, lot, inputs))
        if len(waiting) > jobs:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


@no_collection()
def _elsewhere(work: partial[Answered], lot: Loadable, inputs: pl.DataFrame) -> Answered:
    """The answer to a partition, in a process of the pool."""
    store, repairers = _kept_here(work.keywords["settings"].assert_formats)
    return work({**lot.load(), "sources": inputs}, store=store, repairers=repairers)


@cache
def _kept_here(assert_formats: bool) -> tuple[SchemaStore, Repairers]:  # noqa: FBT001 - of a setting
    """What a process of the pool keeps from one partition to the next; it ends with the audit."""
    return SchemaStore(assert_formats=assert_formats), Repairers()


def _adapters(mappings: Mapping[str, Mapping[str, str]]) -> Sequence[type[Adapter]]:
    if not mappings:
        return ADAPTERS
    from analyzer.read.mapped import adapters_of

    return adapters_of(mappings)


def _named(sources: Iterable[Source]) -> list[int]:
    return [source.number for source in sources if source.named]


def _silent(stage: str, done: int, total: int) -> None:
    del stage, done, total


def chosen(select: Sequence[str], ignore: Sequence[str]) -> list[Rule]:
    """The rules whose code, slug or family is selected and not ignored."""

    def named(rule: Rule, names: Sequence[str]) -> bool:
        family = rule.code.rstrip("0123456789")
        return any(name.upper() in (rule.code, family) or name.lower() == rule.slug for name in names)

    return [rule for rule in RULES if (not select or named(rule, select)) and not named(rule, ignore)]


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
    redaction: Redaction = HIDDEN,
    store: SchemaStore | None = None,
    repairers: Repairers | None = None,
) -> tuple[Frames, list[tuple[str, str]]]:
    """Audit the recorded frames of whole sessions.

    Concluded frames come back, and `found` (FINDINGS with `first_event`), `unlisted` and `counts` among them. Pure: the
    same frames give the same answer, whatever else is audited, and no payload text is kept beyond it unless
    `keep_frames` says so.
    `fetch(source, offset, length)` gives the bytes of a record, for the few whose event id repeats. `store` and
    `repairers` keep what other partitions have found out about the same schemas.
    """
    with redacting(redaction):  # another process knows nothing of it
        trace = conclude(
            recorded, contracts=contracts, settings=settings, fetch=fetch, session=session, final=final, store=store
        )
        hits, crashes = run(rules, trace)
        hits, beyond = foremost(with_repairs(settle(hits), trace, repairers), trace, settings.max_findings)
        found = assemble(hits, trace)
    kept = _KEPT if not keep_frames else [name for name in frames.SAVED if hasattr(trace, name)] + ["contracts"]
    answer = {name: getattr(trace, name) for name in dict.fromkeys(kept) if name != "sources"}
    if keep_frames:
        answer["sightings"] = sightings_of(trace.call_sightings, trace.result_sightings)
    answer["found"], answer["unlisted"] = listed(found, settings.max_findings, beyond)
    answer["counts"] = counts_of(trace)
    # The rules about tools see all sessions at once: they need every table, and where it was shown first.
    shown = trace.showings.filter(pl.col("table").is_not_null()).sort("event", "pointer")
    answer["first_showings"] = shown.unique(["session", "channel", "table"], keep="first", maintain_order=True)
    answer["shown_tables"] = trace.tables
    answer["retries"], answer["strays"] = trace.retries, trace.strays
    seen = (trace.offers, answer["first_showings"], trace.retries, trace.strays)
    places = pl.concat([frame["event"] for frame in seen])
    answer["offer_events"] = trace.events.filter(pl.col("event").is_in(places.implode()))
    return answer, [(crash.rule.code, crash.error) for crash in crashes]


def conclude(
    recorded: Frames,
    *,
    contracts: Contracts,
    settings: Settings,
    fetch: Fetch,
    session: str | None = None,
    final: FinalSchema | None = None,
    store: SchemaStore | None = None,
) -> Trace:
    """The trace of one partition: everything up to the rules."""
    if session is not None:
        recorded = {
            name: frame.filter(pl.col("session") == session) if "session" in frame.columns else frame
            for name, frame in recorded.items()
        }
    store = store.bounded() if store is not None else SchemaStore(assert_formats=settings.assert_formats)
    placed = place(recorded, fetch)
    shown_calls, shown_results = scoped(placed["call_sightings"], placed["result_sightings"])
    call_rows, call_sightings = fold_calls(shown_calls)
    result_rows, result_sightings = fold_results(shown_results)
    calls, results = pair(call_rows, result_rows)
    turns = turns_of(placed["events"], placed["turn_states"])
    sessions = sessions_of(placed["events"], placed["session_states"], calls)
    calls = calls.join(
        turns.select("session", "turn", "agent", "subagent"), on=["session", "turn"], how="left", maintain_order="left"
    ).select(list(frames.CALLS))
    shown = placed["showings"]["table"].unique()
    tools = tools_of(placed["tables"].filter(pl.col("table").is_in(shown.implode())), store)
    offers = offers_of(placed["showings"], tools)
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
    advertised = set(offers["schema_id"].drop_nulls())
    schemas, facts = store.frames(advertised | set(files["schema_id"]), advertised=advertised)
    return Trace(
        settings=settings,
        sources=recorded["sources"],
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


def _together(name: str, parts: list[pl.DataFrame]) -> pl.DataFrame:
    """One frame of all partitions; what several of them have of one schema or tool is kept once."""
    whole = pl.concat(parts)
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
        events=whole.pop("offer_events"),
        showings=whole.pop("first_showings"),
        tables=whole.pop("shown_tables"),
        retries=whole.pop("retries"),
        strays=whole["strays"],
        **{name: whole[name] for name in ("sources", *_KEPT)},
    )
    hits, crashes = run([rule for rule in rules if rule.scope == "fleet"], trace)
    across, more = run([rule for rule in rules if rule.across], trace, across=True)
    hits, crashes = pl.concat([hits, across]), [*crashes, *more]
    return assemble(settle(hits), trace), [(crash.rule.code, crash.error) for crash in crashes]


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
    hits = pl.DataFrame(rows, schema=pl.Schema({"rule": pl.String(), "slug": pl.String(), **frames.HITS}))
    return assemble(hits, Trace())
