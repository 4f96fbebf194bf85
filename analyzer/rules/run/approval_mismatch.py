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

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import polars as pl

from analyzer.rules.canonical import canonical, difference
from analyzer.rules.hits import hits, place
from analyzer.rules.run.policies import policies
from analyzer.trace import Trace

_HINT = "Bind the approval to the arguments it was asked for, use it once, and check both before the tool runs."
_ALL = object()


@dataclass(eq=False)
class _Request:
    place: tuple[int, int, int]  # its order among the requests that a call may use: seq, named or not, number
    event: int
    pointer: str | None
    text: str | None
    decision: str | None
    since: int | None  # granted to calls that end after this; null: never
    used: bool = False


_Entry = tuple[tuple[int, int, int], _Request]


class _Queue:
    """Requests in their order, told apart as calls end: granted, or denied or still open; looked at once each."""

    def __init__(self) -> None:
        self._later: deque[_Request] = deque()
        self._coming: list[tuple[int, tuple[int, int, int], _Request]] = []
        self._granted: list[_Entry] = []
        self._stopped: list[_Entry] = []
        self._done = -1
        self.begun = False
        self.last: _Entry | None = None  # of those granted

    def put(self, request: _Request) -> None:
        self._later.append(request)

    def advance(self, done: int) -> None:
        """Take in what was asked and granted before `done`, which never falls."""
        self._done = done
        while self._later and self._later[0].place[0] < done:
            request = self._later.popleft()
            self.begun = True
            heappush(self._stopped, (request.place, request))
            if request.since is not None:
                heappush(self._coming, (request.since, request.place, request))
        while self._coming and self._coming[0][0] < done:
            _, place_, request = heappop(self._coming)
            heappush(self._granted, (place_, request))
            if self.last is None or place_ > self.last[0]:
                self.last = place_, request

    def granted(self) -> _Entry | None:
        """The first one that is granted and not used."""
        while self._granted and self._granted[0][1].used:
            heappop(self._granted)
        return self._granted[0] if self._granted else None

    def stopped(self) -> _Entry | None:
        """The first one that is neither granted nor used."""
        while self._stopped and (self._stopped[0][1].used or _is_granted(self._stopped[0][1], self._done)):
            heappop(self._stopped)
        return self._stopped[0] if self._stopped else None


def _is_granted(request: _Request, done: int) -> bool:
    return request.since is not None and request.since < done


def _first(entries: Iterable[_Entry | None]) -> _Request | None:
    found = [entry for entry in entries if entry is not None]
    return min(found)[1] if found else None


def check(trace: Trace) -> pl.DataFrame:
    """Every call that ran, held against the approval requests of its tool before it."""
    policy = policies(trace)
    always = set(policy.filter(policy["policy"] == "always")["call"])
    if trace.approvals.is_empty() and not always:
        return hits(())
    decisions = trace.approvals.filter(pl.col("stage") == "decision")
    decided = _decided(decisions)
    asked = (
        trace.approvals.filter(pl.col("stage") == "request")
        .sort("seq", "event")
        # Pending requests are listed again in every snapshot.
        .unique(["session", "request_id"], keep="first", maintain_order=True)
        .join(
            decided,
            on=["session", "request_id"],
            how="left",
            maintain_order="left",
        )
        .with_columns(decision=pl.coalesce("told", "decision"))
    )
    # Where requests are recorded and no decision is, nothing is known; where neither is, there was none.
    unasked = trace.sessions.filter("from_start").join(
        trace.approvals.filter(pl.col("stage") != "policy"), on="session", how="anti"
    )
    judged = pl.concat([decisions.select("session"), unasked.select("session")]).unique()
    ran = (
        trace.calls.join(judged, on="session", how="semi")
        .filter(pl.col("result").is_not_null() | pl.col("status").is_in(["completed", "failed"]))
        .join(trace.results.select("result", answered="seq"), on="result", how="left")
        .with_columns(done=pl.coalesce("answered", "last_seq"))
        .sort("done", "call")
        .select("session", "server", "name", "call", "call_id", "text", "done", failed=pl.col("outcome") == "error")
    )
    return hits(_judge(asked, ran, always))


def _decided(decisions: pl.DataFrame) -> pl.DataFrame:
    """The last decision on each request, and since when it holds: session, request_id, told, decided.

    Histories are resent with the decisions in them: the same one again changes nothing.
    """
    of_request = ["session", "request_id"]
    inner = decisions.sort("seq", "event").with_columns(told=pl.col("decision").last().over(of_request))
    other = pl.col("seq").filter(pl.col("decision").ne_missing(pl.col("told"))).max().over(of_request)
    lasting = inner.filter(pl.col("seq") > other.fill_null(-1))
    return lasting.group_by(of_request, maintain_order=True).agg(pl.first("told"), decided=pl.min("seq"))


def _judge(asked: pl.DataFrame, ran: pl.DataFrame, always: set[int]) -> Iterator[dict[str, Any]]:
    # By tool: those for any arguments and, by their one spelling, those for these; all of the tool under ALL.
    requests: dict[tuple[str, str | None, str | None], dict[Any, _Queue]] = {}
    for number, row in enumerate(asked.iter_rows(named=True)):
        wanted = None if row["text"] is None else canonical(row["text"])
        since = (row["decided"] or 0) if row["decision"] == "approve" else None
        request = _Request(
            (row["seq"], int(row["name"] is None), number),
            *(row["event"], row["pointer"], row["text"], row["decision"], since),
        )
        queues = requests.setdefault((row["session"], row["server"], row["name"]), {})
        for key in (_ALL, wanted):
            queues.setdefault(key, _Queue()).put(request)
    for row in ran.iter_rows(named=True):
        tool = (row["session"], row["server"], row["name"])
        # A request that does not name its tool may be for any tool of its server.
        open_to = [requests[key] for key in dict.fromkeys((tool, (*tool[:2], None))) if key in requests]
        mine = canonical(row["text"])
        every = [queues[_ALL] for queues in open_to]
        same = [queues[key] for queues in open_to for key in (None, mine) if key in queues]
        for queue in (*every, *same):
            queue.advance(row["done"])
        found = _fault(row, every, same, always=row["call"] in always)
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


def _fault(
    row: dict[str, Any], every: list[_Queue], same: list[_Queue], *, always: bool
) -> tuple[str, str, _Request | None] | None:
    name = row["name"] or "A tool"
    fresh = _first(queue.granted() for queue in same)
    if fresh is not None:
        fresh.used = True
        return None
    stopped = _first(queue.stopped() for queue in same)
    if stopped is not None:
        stopped.used = True
        if row["failed"] and stopped.decision not in {None, "approve"}:
            return None  # a call that is refused ends as a failure
        if stopped.decision in {None, "approve"}:
            return "open", f"{name} ran while the request to approve it was still open.", stopped
        return "denied", f"{name} ran although the request to approve it was answered with {stopped.decision}.", stopped
    other = _first(queue.granted() for queue in every)
    if other is not None:
        other.used = True
        members = "; ".join(
            f"{member} was {approved} when approved and {ran} when run"
            for member, approved, ran in difference(other.text, row["text"])[:3]
        )
        return "arguments", f"{name} was approved with other arguments than it ran with: {members}.", other
    spent = [queue.last for queue in same if queue.last is not None]
    if spent:
        return "used twice", f"{name} ran again on an approval that an earlier call had used.", max(spent)[1]
    if always and not any(queue.begun for queue in every):
        return "missing", f"{name} ran without a request for approval, which its server always needs.", None
    return None
