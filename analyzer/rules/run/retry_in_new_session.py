"""A call that failed comes back in a new session.

Wire: several sessions at once

What it says: a call of one session failed or was never answered, and the same call, with the same arguments, was made
in a session that began later. It was the last call of the old session, and no words of the model followed.
Why it matters: the old session waits for good, the new one knows nothing of it, and if the first call did run after all
it has now run twice.
Bad:
    session s1: call c1 refund {"order":"7"}, no result
    session s2: call c1 refund {"order":"7"}, result ok
Good:
    session s1: call c1 refund {"order":"7"}, result failed, call c2 refund {"order":"7"}, result ok
    session s2: call c1 refund {"order":"8"}, result ok
Blind spots: calls without arguments, and short ones that anybody may make, are passed over. Sessions are ordered by
where they begin in the logs as given. Logs of trials, where one task is tried again on purpose, are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from analyzer.rules.hits import hits, place
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """The last call of a session that did not succeed, and its first twin in a later session."""
    order = ("first_event", "event", "pointer")
    failed = trace.retries.filter(pl.col("ended").is_not_null()).sort(order)
    if failed.is_empty():
        return hits(())
    again = trace.retries.join(failed.select("digest").unique(), on="digest", how="semi").sort(order)
    return hits(_twins(failed, again))


def _twins(old: pl.DataFrame, new: pl.DataFrame) -> Iterator[dict[str, Any]]:
    failed: dict[int, dict[str, Any]] = {}
    for row in old.iter_rows(named=True):
        failed.setdefault(row["digest"], row)
    for row in new.iter_rows(named=True):
        first = failed.get(row["digest"])
        if first is None or first["session"] == row["session"] or first["first_event"] >= row["first_event"]:
            continue
        del failed[row["digest"]]
        yield {
            **{name: row[name] for name in ("session", "turn", "agent", "call_id", "tool", "event", "pointer")},
            "keyword": first["ended"],
            "message": f"{row['name'] or 'A tool'} is called with the arguments of a call that {first['ended']} "
            f"in session {first['session']}, whose last call it was.",
            "hint": "Answer the call in the session that waits for it; find out whether the first one ran.",
            "related": [place(first["event"], first["pointer"], "first call", first["call_id"])],
        }
