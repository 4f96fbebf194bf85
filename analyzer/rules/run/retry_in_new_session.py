"""A call that failed comes back in a new session.

Wire: several sessions at once

What it says: a call of one session failed or was never answered, and the same call, with the same arguments, was made
in a session that began later; the old session had no other end.
Why it matters: the old session waits for good, the new one knows nothing of it, and if the first call did run after all
it has now run twice.
Bad:
    session s1: call c1 refund {"order":"7"}, no result
    session s2: call c1 refund {"order":"7"}, result ok
Good:
    session s1: call c1 refund {"order":"7"}, result failed, call c2 refund {"order":"7"}, result ok
    session s2: call c1 refund {"order":"8"}, result ok
Blind spots: calls without arguments, and short ones that anybody may make, are passed over. Sessions are ordered by
where they begin in the logs as given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from analyzer.rules.canonical import canonical
from analyzer.rules.hits import hits, place
from analyzer.trace import Trace

_SHORTEST = 8  # characters of arguments that say enough to be recognised


def check(trace: Trace) -> pl.LazyFrame:
    """The last call of a session that did not succeed, and its twin in a later session."""
    columns = (
        "call",
        "session",
        "call_id",
        "tool",
        "name",
        "text",
        "outcome",
        "owed_by",
        "action_seq",
        "event",
        "pointer",
    )
    begun = trace.sessions.lazy().select("session", "first_event")
    known = (
        trace.calls.lazy()
        .filter(pl.col("kind").is_in(["function", "custom", "mcp"]), pl.col("text").str.len_bytes() >= _SHORTEST)
        .join(begun, on="session")
    )
    last = trace.calls.lazy().group_by("session").agg(pl.col("call").sort_by("seq").last())
    failed = known.join(last, on=["session", "call"], how="semi").filter(
        (pl.col("outcome") == "error") | ((pl.col("outcome") == "none") & pl.col("action_seq").is_not_null())
    )
    again = known.join(failed.select("tool").unique(), on="tool", how="semi")
    order = ("first_event", "event", "call")
    old = failed.select(*columns, "first_event").sort(order).collect()
    new = again.select(*columns, "first_event").sort(order).collect() if old.height else old
    return hits(_twins(old, new))


def _twins(old: pl.DataFrame, new: pl.DataFrame) -> Iterator[dict[str, Any]]:
    failed: dict[tuple[str, str], dict[str, Any]] = {}
    for row in old.iter_rows(named=True):
        failed.setdefault((row["tool"], canonical(row["text"])), row)
    for row in new.iter_rows(named=True):
        first = failed.get((row["tool"], canonical(row["text"])))
        if first is None or first["session"] == row["session"] or first["first_event"] >= row["first_event"]:
            continue
        del failed[row["tool"], canonical(row["text"])]
        ended = "failed" if first["outcome"] == "error" else "was never answered"
        yield {
            "call": row["call"],
            "keyword": ended,
            "message": f"{row['name'] or 'A tool'} is called with the arguments of a call that {ended} "
            f"in session {first['session']}, whose last call it was.",
            "hint": "Answer the call in the session that waits for it; find out whether the first one ran.",
            "related": [place(first["event"], first["pointer"], "first call", first["call_id"])],
        }
