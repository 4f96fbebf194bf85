"""A result was sent to another turn or session than its call's.

What it says: the turn or session the result was sent to, and the one in which the call with this id was made.
Why it matters: the server looks for the call in the turn that is named. The result is refused or lost, and the call
waits.
Bad:
    tool weigh {"type":"object"}
    turn
    call c1 weigh {"crate":"K1"}
    result c1 ok 12 kg
    end
    turn
    call c2 weigh {"crate":"K2"}
    post c2@t1 ok 30 kg
    end
Good:
    tool weigh {"type":"object"}
    turn
    call c1 weigh {"crate":"K1"}
    result c1 ok 12 kg
    end
    turn
    call c1 weigh {"crate":"K2"}
    result c1 ok 30 kg
    end
Blind spots: another session is told only where the server names sessions, one call alone waits under this id, and the
logs of both sessions are audited together; else the result is an orphan.
"""

from __future__ import annotations

import polars as pl

from analyzer.replay.strays import misdirected
from analyzer.rules.hits import hits, place
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Results whose call lives in another turn."""
    lost = trace.results.filter(trace.results["other_turn"] & trace.results["call"].is_not_null())
    if lost.is_empty():
        return hits(())
    calls = trace.calls.select("call", home="turn", at="event", where="pointer")
    found = (
        lost.join(calls, on="call", maintain_order="left")
        .sort("result")
        .select("result", "call", "call_id", "turn", "home", "at", "where", "event", "pointer", "stage", "wire")
    )
    return hits(
        {
            "result": row["result"],
            "call": row["call"],
            "turn": row["turn"],
            "event": row["event"],
            "pointer": "/turn_id" if (row["stage"], row["wire"]) == ("post", "openai-agents-api") else row["pointer"],
            "keyword": "turn_id",
            "message": f"The result of {row['call_id']} was sent to turn {row['turn']}; "
            f"the call was made in {row['home']}.",
            "hint": f"Post it with the turn of its required action, {row['home']}.",
            "related": [place(row["at"], row["where"], "call", row["call_id"])],
        }
        for row in found.iter_rows(named=True)
    )


def check_across(trace: Trace) -> pl.DataFrame:
    """Results that no call of their session asked for, and whose call waits in another session."""
    return hits(
        {
            **{name: row[name] for name in ("session", "turn", "call_id", "event", "pointer")},
            "tool": row["home_tool"],
            "keyword": "session",
            "confidence": "likely",
            "message": f"The result of {row['call_id']} was sent to session {row['session']}; "
            f"the call waits in session {row['home_session']}.",
            "hint": f"Post it to the session of its required action, {row['home_session']}.",
            "related": [place(row["home_event"], row["home_pointer"], "call", row["call_id"])],
        }
        for row in misdirected(trace.strays).iter_rows(named=True)
    )
