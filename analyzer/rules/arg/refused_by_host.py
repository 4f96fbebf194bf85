"""Calls of which no schema is known, and whose arguments the host or the server itself refused by one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl

from analyzer.rules.hits import place
from analyzer.rules.payloads import FLAGGED_WIRES, layers, short
from analyzer.trace import Trace

# What Claude Code, Codex and the SDKs of MCP say before a tool runs.
_SURE = r"\bInputValidationError\b|failed to parse function arguments"
_SERVER = r"-32602|[Ii]nvalid arguments for tool"
# Pydantic AI hands the errors of its validator back as they are.
_LISTED = r'^\[\{"type":"\w+","loc":\['
_TAG = re.compile(r"</?[a-z_]+>")
_AT_ONCE = 200  # characters; further down such words may be what a tool found


def refused_by_host(trace: Trace) -> Iterator[dict[str, Any]]:
    """Hits, in the order of the calls."""
    verdicts = trace.verdicts.filter(trace.verdicts["role"] == "arguments")
    judged = verdicts.filter(pl.col("verdict_is").is_in(["valid", "invalid"]))["call"]
    open_ = verdicts.filter(pl.col("verdict_is") == "unverifiable")["call"]
    results = trace.results
    # Where the wire has no flag, words alone tell a failure.
    unflagged = results["success"].is_null() & ~results["wire"].is_in(FLAGGED_WIRES)
    failed = results.filter(
        (results["rank"] == 0) & (~results["success"] | unflagged) & results["call"].is_in(open_.implode())
    ).select("call", "event", "pointer", "call_id", "wire", said=pl.coalesce("error", "text").str.slice(0, 4_000))
    begins = pl.col("said").str.slice(0, _AT_ONCE)
    listed = (pl.col("wire") == "pydantic-ai") & begins.str.contains(_LISTED)
    failed = failed.filter(begins.str.contains(f"{_SURE}|{_SERVER}") | listed).with_columns(
        sure=begins.str.contains(_SURE)
    )
    if failed.is_empty():
        return
    from analyzer.rules.drift.refusal import refusal  # its wordings take longer to compile than most audits need them

    calls = trace.calls.select("call", "name", arguments="text")
    rows = failed.filter(~pl.col("call").is_in(judged.implode())).join(calls, on="call").sort("call")
    for row in rows.iter_rows(named=True):
        _, arguments = layers(row["arguments"] or "{}")
        refused = refusal(row["said"], arguments)
        if refused is None and not row["sure"]:
            continue
        member = refused.place if refused is not None else ""
        yield {
            "call": row["call"],
            "message": "The arguments were refused before the tool ran, by a schema that the log does not hold: "
            f"{short(' '.join(_TAG.sub('', row['said']).split()), 160)}.",
            "hint": "Give the tool's schema as a contract file (--contracts), so that every call is judged by it.",
            "confidence": "likely",
            "keyword": refused.constraint if refused is not None else "refused",
            "instance_pointer": member,
            "related": [place(row["event"], row["pointer"], "result", row["call_id"])],
        }
