"""A value that must not be lost changed or disappeared across a compaction, or stands in chat alone.

Wire: needs ledger fields in the configuration
What it says: a ledger field of the configuration (an amount, an approval, an id) had a value in the payloads before a
compaction, and the summary and everything after it have another one, or none. Where no compaction is recorded: the
field is found in messages alone, in no call and no result.
Why it matters: the model goes on from the summary. What is not in it never happened.
Bad:
    result {"approval":"ap_17"}; a compaction whose summary says "the customer was helped"; a refund without it
Good:
    result {"approval":"ap_17"}; a compaction whose summary says "approved under ap_17"
Blind spots: encrypted summaries say nothing, so that only what comes after them counts. A value may be spelled in
another way. A session that is judged in windows is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jmespath
import polars as pl

from analyzer.rules.hits import hits, place
from analyzer.rules.payloads import NO_JSON, decode, layers, short
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Ledger values before each compaction against everything after it."""
    if not trace.settings.ledger:
        return hits(())
    fields = [(name, jmespath.compile(path)) for name, path in trace.settings.ledger]
    payloads = pl.concat(
        [
            trace.calls.select("session", "seq", "event", "pointer", "text"),
            trace.results.select("session", "seq", "event", "pointer", "text"),
        ]
    ).filter(pl.col("text").str.contains(r"^\s*[\"{\[]"))
    found: list[dict[str, Any]] = []
    cuts = trace.summaries.filter(pl.col("what") == "compaction").sort("session", "seq", "event")
    compacted = set(cuts["session"])
    for session in trace.sessions["session"]:
        mine = payloads.filter(pl.col("session") == session).sort("seq", "event", "pointer")
        held = [(row, layers(row["text"])[1]) for row in mine.iter_rows(named=True)]
        for name, path in fields:
            values = [
                (row, value) for row, payload in held if (value := path.search(payload)) not in (None, [], {}, "")
            ]
            if session in compacted:
                found += _across(session, name, values, held, cuts.filter(pl.col("session") == session))
            elif not values:
                found += _in_chat(trace, session, name, path)
    return hits(found)


def _across(
    session: str,
    name: str,
    values: list[tuple[dict[str, Any], Any]],
    held: list[tuple[dict[str, Any], Any]],
    cuts: pl.DataFrame,
) -> Iterator[dict[str, Any]]:
    for cut in cuts.iter_rows(named=True):
        before = [each for each in values if each[0]["seq"] < cut["seq"]]
        after = [each for each in values if each[0]["seq"] > cut["seq"]]
        if not before:
            continue
        row, value = before[-1]
        spelled = value if isinstance(value, str) else short(value, 200)
        if spelled in (cut["text"] or ""):
            continue
        if after and after[0][1] != value:
            what, where = f"was {short(value, 30)} and is {short(after[0][1], 30)} after it", after[0][0]
        elif not after and any(each["seq"] > cut["seq"] and spelled not in each["text"] for each, _ in held):
            what, where = f"was {short(value, 30)} and is nowhere after it", cut
        else:
            continue
        yield {
            "session": session,
            "event": where["event"],
            "pointer": where.get("pointer"),
            "turn": cut["turn"],
            "message": f"The ledger field {name} did not survive the compaction: it {what}.",
            "hint": "Keep the ledger outside of the conversation, and put it back after every compaction.",
            "confidence": "likely",
            "keyword": name,
            "related": [place(row["event"], row["pointer"], "value before"), place(cut["event"], "", "compaction")],
        }
        return


def _in_chat(trace: Trace, session: str, name: str, path: Any) -> Iterator[dict[str, Any]]:
    messages = trace.messages.filter(pl.col("session") == session, pl.col("text").str.contains(r"^\s*[{\[]"))
    for row in messages.sort("seq", "event", "pointer").iter_rows(named=True):
        payload = decode(row["text"])
        value = None if payload is NO_JSON else path.search(payload)
        if value not in (None, [], {}, ""):
            yield {
                **{column: row[column] for column in ("session", "event", "pointer", "turn")},
                "message": f"The ledger field {name} is {short(value, 30)} in a message, and in no call or result.",
                "hint": "Write it down by a tool: what lives in chat is gone with the next compaction.",
                "confidence": "hint",
                "keyword": name,
            }
            return
