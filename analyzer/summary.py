"""What an audit saw, judged and could not judge: counts that add up over partitions, the hop table, idle rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import floor
from typing import Any

import msgspec
import polars as pl

from analyzer.findings.deciding import borne
from analyzer.rules.catalogue import RULES, Rule
from analyzer.rules.debts import ACTIONS
from analyzer.rules.drift.pin_drift import PINNED
from analyzer.trace import Trace

NOT_SELECTED = "it was not selected"
UNFOLLOWED = "unfollowed"
"""Of COUNTS: by session, the ids that stand on too many rows to be followed through it."""
COUNTS = pl.Schema({"what": pl.String, "key": pl.String, "count": pl.Int64})

FINAL_PROMISE = "final promise"
"""Of COUNTS, under `has`: how often an object is promised as the final answer."""

HOPS = ("session create", "definition", "model call", "result", "MCP", "event stream", "final object")

_NO_SCHEMA = ("schemas", "no tool schema is recorded or given; --contracts supplies them")
_WITHOUT_TABLES = 12  # TOOL012 looks at results
_NO_TABLE = ("tables", "no tool table is recorded")

# What a rule cannot do without: (what must have been counted, why it did not run).
NEEDS: dict[str, tuple[str, str]] = {
    **dict.fromkeys((f"TOOL{number:03}" for number in range(1, 17) if number != _WITHOUT_TABLES), _NO_TABLE),
    **dict.fromkeys(("ARG009", "ARG010", "DRIFT002", "DRIFT005"), _NO_TABLE),
    **dict.fromkeys(("ARG006", "ARG011", "RUN001"), _NO_SCHEMA),
    "ARG001": (
        "schemas",
        "no tool schema is recorded or given, so it saw only what hosts refused; --contracts supplies them",
    ),
    "ARG002": ("tables", "no tool table is recorded, so it saw only what hosts did not know"),
    "CALL004": ("owed", "no call is recorded that a client has to answer"),
    "CALL007": ("posts", "no posted results are recorded"),
    "CALL008": ("posts", "no posted results are recorded"),
    "CALL013": ("debts", "the log has no lists of required actions"),
    "DRIFT004": ("pins", "no pins are given"),
    "DRIFT007": ("gates", "no gate records of a host are recorded"),
    "FINAL001": ("final schema", "no schema of the final answer is given; --final-schema supplies it"),
    "FINAL002": (FINAL_PROMISE, "no schema of the final answer is given; --final-schema supplies it"),
    "FINAL004": ("ledger", "no ledger fields are configured"),
    "OUT004": ("output schemas", "no output schema is recorded or given; --contracts supplies them"),
    "OUT005": ("output schemas", "no output schema is recorded or given; --contracts supplies them"),
    "RUN002": ("gates", "no gate records of a host are recorded"),
    "RUN005": ("approvals", "no approvals are recorded"),
    "RUN013": ("writes", "no tool is declared writing"),
}


def counts_of(trace: Trace, calls: pl.DataFrame | None = None) -> pl.DataFrame:
    """COUNTS of one partition; of a part of a session, `calls` are all that its verdicts may be about."""
    rows = [(what, key, count) for what, key, count in _counted(trace, trace.calls if calls is None else calls)]
    return counts_frame(rows)


def counts_frame(rows: Iterable[tuple[str, str, int]]) -> pl.DataFrame:
    """COUNTS of what was counted; what never occurred is no row."""
    return pl.DataFrame([row for row in rows if row[2]], schema=COUNTS, orient="row")


def _counted(trace: Trace, calls: pl.DataFrame) -> Iterator[tuple[str, str, int]]:
    kind, asking = pl.col("kind"), pl.col("type") == "request.create"
    broken, unknown, asked, errors = trace.events.select(
        broken=(kind == "broken").sum(),
        unknown=(kind == "unknown").sum(),
        asked=asking.sum(),
        errors=(kind == "error").sum(),
    ).row(0)
    events = trace.events.height - broken
    yield "sessions", "", trace.sessions.height
    yield "events", "", events
    yield "calls", "", trace.calls.height
    yield "results", "", trace.results.height
    yield "errors", "", errors
    yield "has", "schemas", trace.schemas.height
    yield "has", "tables", trace.showings.height - trace.showings["table"].null_count()
    listed = trace.session_states.height - trace.session_states["pending"].null_count()
    yield "has", "debts", listed
    # On the wire with lists of required actions a call is owed what they say; on the others, whatever it is.
    client = (trace.calls["owed_by"] == "client") & (trace.calls["wire"] != ACTIONS)
    yield "has", "owed", listed + int(client.sum() or 0)
    yield "has", "posts", int((trace.result_sightings["stage"] == "post").sum())
    bound = trace.tables["text"].str.contains('"require_approval"', literal=True).sum()
    yield "has", "approvals", trace.approvals.height + int(bound)
    promised = int((trace.offers["role"] == "output").sum()) + int((trace.contracts["role"] == "output").sum())
    yield "has", "output schemas", promised
    final = int((trace.contracts["role"] == "final").sum())
    yield "has", "final schema", final
    yield "has", FINAL_PROMISE, final + promised_by_format(trace.sessions)
    yield "has", "pins", int(trace.contracts["file"].str.contains(PINNED).sum())
    yield "has", "gates", trace.gates.height
    yield "has", "ledger", len(trace.settings.ledger)
    yield "has", "writes", len(trace.settings.writes)
    if trace.contracts.height:
        for server, name, count in trace.calls.group_by("server", "name").len().iter_rows():
            yield "called", msgspec.json.encode((server, name)).decode(), count

    # By session, so that it does not matter which are counted together.
    unasked, refused = trace.sessions.height, 0
    if asked:
        made = trace.events.filter(asking)
        unasked -= int(trace.sessions["session"].is_in(made["session"].drop_nulls().implode()).sum())
        broken_shape = trace.faults.filter(pl.col("fault").is_in(["member_type", "member_missing"]))
        refused = made.filter(pl.col("event").is_in(broken_shape["event"].implode())).height
    yield "seen", "session create", asked + unasked
    yield "judged", "session create", asked
    yield "failed", "session create", refused
    yield "unjudged/session create", "request_not_recorded", unasked
    far = int((trace.calls["kind"] == "mcp").sum())
    yield "seen", "model call", trace.calls.height - far
    yield "seen", "MCP", far
    yield "seen", "result", trace.results.height
    yield "seen", "event stream", trace.events.height
    yield "judged", "event stream", events - unknown
    yield "failed", "event stream", broken
    yield "unjudged/event stream", "unknown_type", unknown
    remote = calls.filter(calls["kind"] == "mcp")["call"]
    judged = {"output": 0, "final": 0}
    for role, is_far, name, reason, count, bracketed in _verdicts(trace, remote).iter_rows():
        judged[role] = judged.get(role, 0) + count
        yield ("unverifiable/verdict", reason, count) if name == "unverifiable" else ("verdict", name, count)
        yield "bracketed", "", bracketed
        hop = {"output": "result", "final": "final object"}.get(role, "MCP" if is_far else "model call")
        if name in ("valid", "invalid"):
            yield "judged", hop, count
            yield "failed", hop, count if name == "invalid" else 0
        else:
            yield f"unjudged/{hop}", reason or name, count
    yield "unjudged/result", "no_output_contract", trace.results.height - judged["output"]
    answers = judged["final"] or finals_of(trace.messages).height
    yield "seen", "final object", answers
    yield "unjudged/final object", "no_final_schema", answers - judged["final"]


def promised_by_format(sessions: pl.DataFrame) -> int:
    """The sessions whose text format promises an object."""
    return int(sessions["text_format"].str.contains('"json_', literal=True).sum())


def definitions(schemas: pl.DataFrame, offers: pl.DataFrame) -> pl.DataFrame:
    """COUNTS of the definitions of tools, from SCHEMAS and OFFERS of all partitions: these share most of them."""
    bare = offers.filter((pl.col("state") == "offered") & pl.col("schema_id").is_null())["tool"].n_unique()
    return counts_frame(
        [
            ("seen", "definition", schemas.height + bare),
            ("judged", "definition", schemas.height),
            ("failed", "definition", schemas["problem"].drop_nulls().len()),
            ("unjudged/definition", "schema_unavailable", bare),
        ]
    )


def called(counts: pl.DataFrame) -> set[tuple[str | None, str]]:
    """Server and name of the tools that were called, where contracts were given."""
    keys = counts.filter(pl.col("what") == "called")["key"]
    return {(server, name) for server, name in map(msgspec.json.decode, keys) if name is not None}


def _verdicts(trace: Trace, remote: pl.Series) -> pl.DataFrame:
    """The verdicts of the advertised side, counted by role, whether of a remote call (`far`), verdict and reason."""
    verdicts = trace.verdicts.select("call", "role", "side", "verdict_is", "reason", "window")
    return (
        verdicts.filter(verdicts["side"] == "advertised")
        .group_by("role", pl.col("call").is_in(remote.implode()).alias("far"), "verdict_is", "reason")
        .agg(pl.len(), bracketed=(pl.col("window") == "bracketed").sum())
    )


def _lookup(counts: pl.DataFrame) -> dict[tuple[str, str], int]:
    added: Counter[tuple[str, str]] = Counter()
    for what, key, count in counts.iter_rows():
        added[what, key] += count
    return dict(added)


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
    """The rules that had nothing to look at or are none of `rules`, with the reason."""
    known, chosen = _lookup(counts), {rule.code for rule in rules}
    found = []
    for rule in RULES:
        if rule.code not in chosen:
            found.append({"rule": rule.code, "reason": NOT_SELECTED})
        elif rule.code in NEEDS and not known.get(("has", NEEDS[rule.code][0])):
            found.append({"rule": rule.code, "reason": NEEDS[rule.code][1]})
    return found


def summarise(
    counts: pl.DataFrame, findings: pl.DataFrame, not_run: list[dict[str, str]], unlisted: pl.DataFrame
) -> dict[str, Any]:
    """The `summary` object of the JSON report. `unlisted`: `rule` and `count` of what is counted and not listed."""
    beyond = unlisted.group_by("rule").agg(pl.col("count").sum()).sort("rule")
    known = _lookup(counts)
    judged = known.get(("verdict", "valid"), 0) + known.get(("verdict", "invalid"), 0)
    unverifiable = _keyed(known, "unverifiable/verdict")
    base = judged + sum(unverifiable.values())
    return {
        **{name: known.get((name, ""), 0) for name in ("sessions", "events", "calls", "results", "errors")},
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
        "not_listed": dict(beyond.iter_rows()),
    }


def tally(findings: pl.DataFrame) -> dict[str, int]:
    """How many findings of each severity count, and how many are suppressed or known."""
    shown = findings["severity"].filter(findings.select(~borne()).to_series())
    severities = Counter(shown.to_list())
    counts = {severity: severities[severity] for severity in ("error", "warning", "info")}
    return {**counts, "suppressed": findings.height - shown.len()}


def finals_of(messages: pl.DataFrame) -> pl.DataFrame:
    """`session, item_id` of the final answers where no schema of them is known."""
    finals = messages.filter(
        (pl.col("role") == "assistant") & (pl.col("phase").fill_null("final_answer") == "final_answer")
    )
    return finals.select("session", "item_id").unique(maintain_order=True)
