"""The same call was executed twice.

What it says: a call of the same tool with the same arguments (whatever the order of their members) had succeeded, and
it ran again: after an error, a turn that broke off, a resume or a compaction, without the user having asked again.
Certain for tools that are declared writing; a hint for others, and only after something went wrong.
Why it matters: the customer is refunded twice.
Bad:
    tool refund {"type":"object"}
    writes refund
    user refund order 7
    turn
    call c1 refund {"order":"7","amount":5}
    result c1 ok paid
    end failed
    turn
    call c2 refund {"amount":5,"order":"7"}
    result c2 ok paid
    end
Good:
    tool refund {"type":"object"}
    writes refund
    user refund order 7
    turn
    call c1 refund {"order":"7","amount":5}
    result c1 failed timeout
    call c2 refund {"order":"7","amount":5}
    result c2 ok paid
    end
    user once more, please
    turn
    call c3 refund {"order":"7","amount":5}
    result c3 ok paid
    end
Blind spots: a first call that ran and whose answer got lost counts as failed. Tools that are not declared writing and
whose names say that they read are passed over.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeVar

import polars as pl

from analyzer.rules.canonical import canonical
from analyzer.rules.hits import NONE, hits, place
from analyzer.rules.sentence import sentence
from analyzer.trace import Trace

_T = TypeVar("_T")
_READS = (
    r"(?i)(?:^|[^a-z0-9])(?:get|list|read|search|find|query|fetch|look_?up|check|describe|poll|wait|status|view|show"
    r"|count|load|preview|validate|calculate|convert|ls|cat|grep|exec_command|write_stdin|bash|shell)(?:$|[^a-z])"
)


def check(trace: Trace) -> pl.DataFrame:
    """Pairs of equal calls that both ran, with a cause between them or a tool that writes."""
    broken = _broken(trace)
    if broken.is_empty() and not trace.settings.writes:
        return NONE
    names = trace.calls["name"].unique()
    written = pl.col("name").is_in(sorted(trace.settings.writes))
    troubled = pl.col("session").is_in(broken["session"].unique().implode())
    by = ["session", "tool"]
    suspects = trace.calls.filter(
        written | (troubled & ~pl.col("name").is_in(_harmless(names, trace).implode(), nulls_equal=True))
    )
    ran = suspects.filter(
        pl.col("outcome").is_in(["ok", "unknown"]), pl.col("kind").is_in(["function", "custom", "mcp"])
    ).filter(pl.len().over(by) > 1)
    if ran.is_empty():
        return NONE
    ran = (
        ran.join(trace.results.select("result", answered="seq"), on="result", how="left")
        .sort("seq", "call")
        .select(
            *by,
            "call",
            "call_id",
            "name",
            "text",
            "seq",
            "reply",
            "turn",
            "event",
            "pointer",
            "answered",
            written=written,
        )
    )
    sessions = pl.col("session").is_in(ran["session"].unique().implode())
    causes: dict[str, list[tuple[int, str]]] = {}
    for session, seq, why in broken.filter(sessions).sort("seq", "why").iter_rows():
        causes.setdefault(session, []).append((seq, why))
    return hits(_repeats(ran, causes, _asked(trace, sessions)))


def _broken(trace: Trace) -> pl.DataFrame:
    """Where something went wrong or was cut off: session, seq, why."""
    errors = trace.events.filter((trace.events["kind"] == "error") & trace.events["copy"].is_null())
    looks = [errors.select("session", "seq", why=pl.lit("an error"))]
    if trace.holds("turn_states.status=failed|cancelled"):
        turns = trace.turn_states.filter(pl.col("status").is_in(["failed", "cancelled"]))
        looks.append(turns.select("session", "seq", why=sentence("a {} turn", "status")))
    if trace.holds("summaries"):
        looks.append(trace.summaries.select("session", "seq", why=sentence("a {}", pl.col("what").fill_null("cut"))))
    return pl.concat(looks).filter(pl.col("session").is_not_null(), pl.col("seq").is_not_null())


def _asked(trace: Trace, sessions: pl.Expr) -> dict[str, list[tuple[int, bool]]]:
    """Where the user spoke, and whether in words that came before."""
    said = trace.messages.filter(pl.col("role") == "user", sessions).sort("seq", "event")
    again = pl.int_range(pl.len()).over("session", "text") > 0
    asked: dict[str, list[tuple[int, bool]]] = {}
    for session, seq, repeated in said.select("session", "seq", again=again).iter_rows():
        asked.setdefault(session, []).append((seq, repeated))
    return asked


def _between(places: list[tuple[int, _T]], since: int, until: int) -> list[tuple[int, _T]]:
    left = bisect_right(places, since, key=lambda place: place[0])
    return places[left : bisect_left(places, until, key=lambda place: place[0])]


def _repeats(
    ran: pl.DataFrame, causes: dict[str, list[tuple[int, str]]], asked: dict[str, list[tuple[int, bool]]]
) -> Iterator[dict[str, Any]]:
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in ran.iter_rows(named=True):
        groups.setdefault((row["session"], row["tool"], canonical(row["text"])), []).append(row)
    for (session, _, _), calls in groups.items():
        for first, again in pairwise(calls):
            since, until = first["seq"], again["seq"]
            if first["reply"] == again["reply"] or until < (first["answered"] or since):
                continue  # twins of one reply are meant
            broken = _between(causes.get(session, []), since, until)
            # The same words sent again after something broke are a retry of the client's; else the user asks again.
            if any(
                not (repeated and broken and broken[0][0] < seq)
                for seq, repeated in _between(asked.get(session, []), since, until)
            ):
                continue
            why = broken[0][1] if broken else None
            if why is None and not again["written"]:
                continue
            yield {
                "call": again["call"],
                "confidence": None if again["written"] else "hint",
                "severity": None if again["written"] else "warning",
                "keyword": "arguments",
                "message": f"{again['name'] or 'A tool'} ran twice with the same arguments: as {first['call_id']}, and"
                f"{f' after {why}' if why else ''} again as {again['call_id']}.",
                "hint": "Keep the result of every call and post it again instead of running the call again.",
                "related": [place(first["event"], first["pointer"], "first execution", first["call_id"])],
            }


def _harmless(names: pl.Series, trace: Trace) -> pl.Series:
    """Those of the names that only read, as the settings say or by their words."""
    words = names.fill_null("").str.replace_all("([a-z0-9])([A-Z])", "${1}_$2")
    return names.filter(names.is_in(sorted(trace.settings.reads)) | words.str.contains(_READS))
