"""One call was approved and another one ran.

What it says: a call ran with other arguments than the approver was shown (which members differ, and how), ran although
the approval was denied or still open, or ran a second time on an approval that was used up.
Why it matters: the approval is the last gate a person holds. It covers one call with these arguments, and no other.
Bad:
    server files
    turn
    approval r1 files remove_tree {"path":"/srv/cache"}
    decide r1 approve
    mcp m1 files remove_tree {"path":"/srv"} ok removed
    end
Good:
    server files
    turn
    approval r1 files remove_tree {"path":"/srv/cache"}
    decide r1 approve
    mcp m1 files remove_tree {"path":"/srv/cache"} ok removed
    approval r2 files remove_tree {"path":"/srv"}
    decide r2 deny
    mcp m2 files list_tree {"path":"/srv"} ok empty
    end
Blind spots: approvals that the host grants by a rule of its own are not in every log, so a call without any request is
reported only where the wire says that one is always needed. Where no decision is recorded nothing is judged. A denied
call that ran and failed cannot be told from one that was refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from analyzer.rules.canonical import canonical, difference
from analyzer.rules.hits import hits, place
from analyzer.trace import Trace

_HINT = "Bind the approval to the arguments it was asked for, use it once, and check both before the tool runs."


@dataclass(eq=False)
class _Request:
    seq: int
    event: int
    pointer: str | None
    text: str | None
    wanted: str | None  # its arguments in one spelling; null: any
    decision: str | None = None
    decided: int | None = None
    used: bool = False


def check(trace: Trace) -> pl.LazyFrame:
    """Every call that ran, held against the approval requests of its tool before it."""
    if trace.approvals.is_empty():
        return hits(())
    decisions = trace.approvals.lazy().filter(pl.col("stage") == "decision")
    decided = decisions.sort("seq", "event").unique(["session", "request_id"], keep="last", maintain_order=True)
    asked = (
        trace.approvals.lazy()
        .filter(pl.col("stage") == "request")
        .sort("seq", "event")
        # Pending requests are listed again in every snapshot.
        .unique(["session", "request_id"], keep="first", maintain_order=True)
        .join(
            decided.select("session", "request_id", told="decision", decided="seq"),
            on=["session", "request_id"],
            how="left",
            maintain_order="left",
        )
        .with_columns(decision=pl.coalesce("told", "decision"))
        .collect()
    )
    judged = decisions.select("session").unique()
    ran = (
        trace.calls.lazy()
        .join(judged, on="session", how="semi")
        .filter(pl.col("result").is_not_null() | pl.col("status").is_in(["completed", "failed"]))
        .join(trace.results.lazy().select("result", answered="seq"), on="result", how="left")
        .with_columns(done=pl.coalesce("answered", "last_seq"))
        .sort("done", "call")
        .select("session", "server", "name", "call", "call_id", "text", "done", failed=pl.col("outcome") == "error")
        .collect()
    )
    always = trace.approvals.filter(pl.col("policy") == "always").select("session", "server", "name").unique()
    return hits(_judge(asked, ran, set(always.iter_rows())))


def _judge(
    asked: pl.DataFrame, ran: pl.DataFrame, always: set[tuple[str, str | None, str | None]]
) -> Iterator[dict[str, Any]]:
    requests: dict[tuple[str, str | None, str | None], list[_Request]] = {}
    for row in asked.iter_rows(named=True):
        wanted = None if row["text"] is None else canonical(row["text"])
        request = _Request(
            *(row["seq"], row["event"], row["pointer"], row["text"], wanted, row["decision"], row["decided"])
        )
        requests.setdefault((row["session"], row["server"], row["name"]), []).append(request)
    for row in ran.iter_rows(named=True):
        key = (row["session"], row["server"], row["name"])
        # A request that does not name its tool may be for any tool of its server.
        open_to = requests.get(key, []) + requests.get((row["session"], row["server"], None), [])
        before = sorted((each for each in open_to if each.seq < row["done"]), key=lambda each: each.seq)
        found = _fault(row, before, always=key in always)
        if found is None:
            continue
        how, message, about = found
        yield {
            "call": row["call"],
            "keyword": how,
            "confidence": "likely" if how in ("used twice", "missing") else None,
            "message": message,
            "hint": _HINT,
            "related": None
            if about is None
            else [place(about.event, about.pointer, "approval request", row["call_id"])],
        }


def _fault(row: dict[str, Any], before: list[_Request], *, always: bool) -> tuple[str, str, _Request | None] | None:
    name, mine = row["name"] or "A tool", canonical(row["text"])

    def granted(request: _Request) -> bool:
        return request.decision == "approve" and (request.decided or 0) < row["done"]

    same = [each for each in before if each.wanted is None or each.wanted == mine]
    fresh = next((each for each in same if granted(each) and not each.used), None)
    if fresh is not None:
        fresh.used = True
        return None
    stopped = next((each for each in same if not granted(each) and not each.used), None)
    if stopped is not None:
        stopped.used = True
        if row["failed"] and stopped.decision not in {None, "approve"}:
            return None  # a call that is refused ends as a failure
        if stopped.decision in {None, "approve"}:
            return "open", f"{name} ran while the request to approve it was still open.", stopped
        return "denied", f"{name} ran although the request to approve it was answered with {stopped.decision}.", stopped
    other = next((each for each in before if granted(each) and not each.used), None)
    if other is not None:
        other.used = True
        members = "; ".join(
            f"{member} was {approved} when approved and {ran} when run"
            for member, approved, ran in difference(other.text, row["text"])[:3]
        )
        return "arguments", f"{name} was approved with other arguments than it ran with: {members}.", other
    spent = next((each for each in reversed(same) if granted(each)), None)
    if spent is not None:
        return "used twice", f"{name} ran again on an approval that an earlier call had used.", spent
    if always and not before:
        return "missing", f"{name} ran without a request for approval, which its server always needs.", None
    return None
