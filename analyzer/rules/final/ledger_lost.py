"""A value that must not be lost changed or disappeared across a compaction, or stands in chat alone.

Wire: needs ledger fields in the configuration
What it says: a ledger field of the configuration (an amount, an approval, an id) had a value in the payloads before a
compaction, and neither the summary nor anything after it has that one. Where no compaction is recorded: the
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

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any

import jmespath
import msgspec
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
    cuts = _by_session(trace.summaries.filter(pl.col("what") == "compaction").sort("seq", "event"))
    paid = _by_session(payloads.sort("seq", "event", "pointer"))
    said = trace.messages.filter(pl.col("text").str.contains(r"^\s*[{\[]")).sort("seq", "event", "pointer")
    chat = _by_session(said.select("session", "event", "pointer", "turn", "text"))
    for session in trace.sessions["session"]:
        held = [(row, layers(row["text"])[1]) for row in _rows(paid, session)]
        for name, path in fields:
            values = [
                (row, value) for row, payload in held if (value := path.search(payload)) not in (None, [], {}, "")
            ]
            if session in cuts:
                found += _across(session, name, values, held, _rows(cuts, session))
            elif not values:
                found += _in_chat(_rows(chat, session), name, path)
    return hits(found)


def _by_session(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rows of each session, in the order of the frame."""
    parts = frame.filter(pl.col("session").is_not_null()).partition_by("session", maintain_order=True, as_dict=True)
    return {str(session): rows for (session,), rows in parts.items()}


def _rows(parts: dict[str, pl.DataFrame], session: str) -> Iterator[dict[str, Any]]:
    return parts[session].iter_rows(named=True) if session in parts else iter(())


def _across(
    session: str,
    name: str,
    values: list[tuple[dict[str, Any], Any]],
    held: list[tuple[dict[str, Any], Any]],
    cuts: Iterator[dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    places, later = ([row["seq"] for row, _ in rows] for rows in (values, held))
    kept: tuple[Any, int] | None = None  # a value, and the last payload that spells it
    for cut in cuts:
        begun, rest = bisect_left(places, cut["seq"]), bisect_right(later, cut["seq"])
        if not begun or rest == len(held):
            continue
        row, value = values[begun - 1]
        spelled = value if isinstance(value, str) else short(value, 200)
        if _stands(spelled, cut["text"] or ""):
            continue
        if kept is None or kept[0] is not value:
            spells = (at for at in reversed(range(len(held))) if _stands(spelled, _read(*held[at])))
            kept = value, next(spells, -1)
        if kept[1] >= rest:
            continue  # it stands in what came after
        now = next((each for each in values[begun:] if each[0]["seq"] > cut["seq"]), None)
        if now is not None:
            what, where = f"was {short(value, 30)} and is {short(now[1], 30)} after it", now[0]
        else:
            what, where = f"was {short(value, 30)} and is nowhere after it", cut
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


def _read(row: dict[str, Any], payload: Any) -> str:
    """The text of a payload without escapes."""
    text: str = row["text"]
    return text if "\\u" not in text else msgspec.json.encode(payload).decode()


def _stands(spelled: str, text: str) -> bool:
    """Whether a value stands in a text, and not only within another one: 12 neither in 1200 nor in 12.50."""
    if spelled not in text:
        return False
    return re.search(rf"(?<![\w.]){re.escape(spelled)}(?!\w|\.\d)", text, re.ASCII) is not None


def _in_chat(messages: Iterator[dict[str, Any]], name: str, path: Any) -> Iterator[dict[str, Any]]:
    for row in messages:
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
