"""What an audit saw, judged and could not judge: counts that add up over partitions, the hop table, idle rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import floor
from typing import Any

import polars as pl

from analyzer.findings.deciding import borne
from analyzer.rules.catalogue import Rule
from analyzer.trace import Trace

COUNTS = pl.Schema({"what": pl.String, "key": pl.String, "count": pl.Int64})

HOPS = ("session create", "definition", "model call", "result", "MCP", "event stream", "final object")

# What a rule cannot do without: (what must have been counted, why it did not run).
NEEDS: dict[str, tuple[str, str]] = {
    "ARG001": ("schemas", "no tool schema is recorded or given; --contracts supplies them"),
    "ARG002": ("tables", "no tool table is recorded"),
    "ARG006": ("schemas", "no tool schema is recorded or given; --contracts supplies them"),
    "CALL004": ("debts", "the log has no lists of required actions"),
    "CALL007": ("posts", "no posted results are recorded"),
    "CALL008": ("posts", "no posted results are recorded"),
    "CALL013": ("debts", "the log has no lists of required actions"),
    "FINAL001": ("final schema", "no schema of the final answer is given; --final-schema supplies it"),
    "OUT004": ("output schemas", "no output schema is recorded or given; --contracts supplies them"),
    "OUT005": ("output schemas", "no output schema is recorded or given; --contracts supplies them"),
    "RUN001": ("schemas", "no tool schema is recorded or given; --contracts supplies them"),
    "RUN005": ("approvals", "no approvals are recorded"),
    "TOOL001": ("schemas", "no tool schema is recorded or given; --contracts supplies them"),
    "TOOL003": ("schemas", "no tool schema is recorded or given; --contracts supplies them"),
    "DRIFT002": ("tables", "no tool table is recorded"),
}


def counts_of(trace: Trace) -> pl.DataFrame:
    """COUNTS of one partition."""
    rows = [(what, key, count) for what, key, count in _counted(trace) if count]
    return pl.DataFrame(rows, schema=COUNTS, orient="row")


def _counted(trace: Trace) -> Iterator[tuple[str, str, int]]:
    kinds = dict(trace.events["kind"].value_counts().iter_rows())
    broken, unknown = kinds.get("broken", 0), kinds.get("unknown", 0)
    events = trace.events.height - broken
    yield "sessions", "", trace.sessions.height
    yield "events", "", events
    yield "calls", "", trace.calls.height
    yield "results", "", trace.results.height
    advertised = trace.verdicts.select("call", "role", "side", "verdict_is", "reason", "window").filter(
        pl.col("side") == "advertised"
    )
    yield from _verdicts(advertised, "verdict")
    yield "bracketed", "", int((advertised["window"] == "bracketed").sum())
    yield "has", "schemas", trace.schemas.height
    yield "has", "tables", trace.showings["table"].drop_nulls().len()
    yield "has", "debts", trace.session_states["pending"].drop_nulls().len()
    yield "has", "posts", int((trace.result_sightings["stage"] == "post").sum())
    yield "has", "approvals", trace.approvals.height
    outputs = advertised.filter(pl.col("role") == "output")
    promised = int((trace.offers["role"] == "output").sum()) + int((trace.contracts["role"] == "output").sum())
    yield "has", "output schemas", promised

    asked = int((trace.events["type"] == "request.create").sum())
    unasked = max(0, trace.sessions.height - asked)
    broken_shape = trace.faults.filter(pl.col("fault").is_in(["member_type", "member_missing"]))
    refused = trace.events.filter(pl.col("type") == "request.create").join(broken_shape, on="event", how="semi").height
    yield "seen", "session create", asked + unasked
    yield "judged", "session create", asked
    yield "failed", "session create", refused
    yield "unjudged/session create", "request_not_recorded", unasked
    usable = trace.schemas["problem"].is_null()
    bare = trace.offers.filter((pl.col("state") == "offered") & pl.col("schema_id").is_null())
    yield "seen", "definition", trace.schemas.height + bare.select("tool").n_unique()
    yield "judged", "definition", trace.schemas.height
    yield "failed", "definition", int((~usable).sum())
    yield "unjudged/definition", "schema_unavailable", bare.select("tool").n_unique()
    remote = pl.col("kind") == "mcp"
    for hop, mine in (("model call", ~remote), ("MCP", remote)):
        calls = trace.calls.filter(mine)
        yield "seen", hop, calls.height
        yield from _hop(
            advertised.filter(pl.col("role") == "arguments").join(calls.select("call"), on="call", how="semi"), hop
        )
    yield "seen", "result", trace.results.height
    yield from _hop(outputs, "result")
    owed = trace.results.height - outputs.height
    yield "unjudged/result", "no_output_contract", owed
    yield "seen", "event stream", trace.events.height
    yield "judged", "event stream", events - unknown
    yield "failed", "event stream", broken
    yield "unjudged/event stream", "unknown_type", unknown
    finals = trace.messages.filter(
        (pl.col("role") == "assistant") & (pl.col("phase").fill_null("final_answer") == "final_answer")
    )
    finals = finals.unique(["session", "item_id"], keep="first", maintain_order=True)
    answers = advertised.filter(pl.col("role") == "final")
    if answers.is_empty():
        yield "seen", "final object", finals.height
        yield "unjudged/final object", "no_final_schema", finals.height
    else:
        yield "seen", "final object", answers.height
        yield from _hop(answers, "final object")
    yield "has", "final schema", int((trace.contracts["role"] == "final").sum())


def _verdicts(verdicts: pl.DataFrame, what: str) -> Iterator[tuple[str, str, int]]:
    for name, reason, count in verdicts.group_by("verdict_is", "reason").agg(pl.len()).iter_rows():
        yield (f"unverifiable/{what}", reason, count) if name == "unverifiable" else (what, name, count)


def _hop(verdicts: pl.DataFrame, hop: str) -> Iterator[tuple[str, str, int]]:
    for name, reason, count in verdicts.group_by("verdict_is", "reason").agg(pl.len()).iter_rows():
        if name in ("valid", "invalid"):
            yield "judged", hop, count
        if name == "invalid":
            yield "failed", hop, count
        if name in ("unverifiable", "not_applicable"):
            yield f"unjudged/{hop}", reason or name, count


def _lookup(counts: pl.DataFrame) -> dict[tuple[str, str], int]:
    added = counts.group_by("what", "key").agg(pl.col("count").sum())
    return {(what, key): count for what, key, count in added.iter_rows()}


def _keyed(counts: Mapping[tuple[str, str], int], what: str) -> dict[str, int]:
    return {key: counts[name, key] for name, key in sorted(counts) if name == what}


def hops(counts: pl.DataFrame) -> list[dict[str, Any]]:
    """The hop table: what was seen at each place of the way, judged, failed, and not judged and why."""
    known = _lookup(counts)
    return [
        {
            "hop": hop,
            "seen": known.get(("seen", hop), 0),
            "judged": known.get(("judged", hop), 0),
            "failed": known.get(("failed", hop), 0),
            "unjudged": _keyed(known, f"unjudged/{hop}"),
        }
        for hop in HOPS
    ]


def rules_not_run(counts: pl.DataFrame, rules: Sequence[Rule]) -> list[dict[str, str]]:
    """The rules that had nothing to look at, with the reason."""
    known = _lookup(counts)
    return [
        {"rule": rule.code, "reason": NEEDS[rule.code][1]}
        for rule in rules
        if rule.code in NEEDS and not known.get(("has", NEEDS[rule.code][0]))
    ]


def summarise(counts: pl.DataFrame, findings: pl.DataFrame, not_run: list[dict[str, str]]) -> dict[str, Any]:
    """The `summary` object of the JSON report."""
    known = _lookup(counts)
    judged = known.get(("verdict", "valid"), 0) + known.get(("verdict", "invalid"), 0)
    unverifiable = _keyed(known, "unverifiable/verdict")
    base = judged + sum(unverifiable.values())
    return {
        **{name: known.get((name, ""), 0) for name in ("sessions", "events", "calls", "results")},
        "coverage": floor(judged / base * 10_000) / 10_000 if base else None,  # never rounded up to all
        "verdicts": {
            "valid": known.get(("verdict", "valid"), 0),
            "invalid": known.get(("verdict", "invalid"), 0),
            "unverifiable": unverifiable,
            "not_applicable": known.get(("verdict", "not_applicable"), 0),
        },
        "bracketed": known.get(("bracketed", ""), 0),
        "rules_not_run": not_run,
        "findings": tally(findings),
    }


def tally(findings: pl.DataFrame) -> dict[str, int]:
    """How many findings of each severity count, and how many are suppressed or known."""
    shown = findings.filter(~borne())
    severities = dict(shown["severity"].value_counts().iter_rows())
    counts = {severity: severities.get(severity, 0) for severity in ("error", "warning", "info")}
    return {**counts, "suppressed": findings.height - shown.height}
