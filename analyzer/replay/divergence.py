"""Two sessions step by step, to the first one that differs; ids and times are not compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import polars as pl

from analyzer.replay.payloads import read_payload


class Step(NamedTuple):
    """One thing that happened: `what` is message, call or result; `value` is what is compared."""

    what: str
    label: str  # role of a message, tool of a call or result
    value: Any
    seq: int
    event: int | None
    pointer: str | None
    call: int | None = None


class Tool(NamedTuple):
    """What one session was offered and the other not, or otherwise."""

    tool: str
    role: str
    a: tuple[str, ...]
    b: tuple[str, ...]


@dataclass(frozen=True)
class Divergence:
    """Where two sessions part. `common` counts the steps before; `a` or `b` is None where that one had ended.

    `reason` says what differs first: what happened, whom or what it names, or its content; empty where nothing does.
    """

    common: int
    before: tuple[Step, ...]
    a: Step | None
    b: Step | None
    reason: str
    tools: tuple[Tool, ...]


def divergence(frames: Mapping[str, pl.DataFrame], a: str, b: str) -> Divergence:
    """Compare the messages, calls and results of two sessions in order, and what tools they were offered."""
    left, right = steps(frames, a), steps(frames, b)
    common = 0
    for one, other in zip(left, right, strict=False):
        if one[:3] != other[:3]:
            break
        common += 1
    one_left = left[common] if common < len(left) else None
    one_right = right[common] if common < len(right) else None
    before = tuple(left[max(common - 3, 0) : common])
    return Divergence(common, before, one_left, one_right, _reason(one_left, one_right), _tools(frames, a, b))


def _reason(a: Step | None, b: Step | None) -> str:
    if a is None and b is None:
        return ""
    if a is None or b is None:
        return "one of the two ends here"
    if a.what != b.what:
        return f"a {a.what} against a {b.what}"
    if a.label != b.label:
        return "another role" if a.what == "message" else "another tool"
    return {"call": "other arguments", "result": "another answer"}.get(a.what, "another text")


def steps(frames: Mapping[str, pl.DataFrame], session: str) -> list[Step]:
    """What happened in a session, in order."""
    mine = pl.col("session") == session
    found = [
        Step("call", row["tool"] or "-", _decoded(row["text"]), row["seq"], row["event"], row["pointer"], row["call"])
        for row in frames["calls"].filter(mine).iter_rows(named=True)
    ]
    for row in frames["results"].filter(mine & (pl.col("rank") == 0)).iter_rows(named=True):
        flag = {True: "success", False: "failure", None: "no flag"}[row["success"]]
        value = (flag, _decoded(row["structured"] or row["text"]), row["error"])
        found.append(Step("result", row["tool"] or "-", value, row["seq"], row["event"], row["pointer"], row["call"]))
    # A message is shown when it is posted, when its item begins and when that is done: one of these counts.
    said: dict[tuple[str | None, str], str | None] = {}
    for row in frames["messages"].filter(mine).sort("seq", "event").iter_rows(named=True):
        key = (row["role"], row["text"] or "")
        known = key in said and (said[key] is None or row["item_id"] is None or said[key] == row["item_id"])
        if not row["text"] or known:
            said[key] = said.get(key) or row["item_id"]
            continue
        said[key] = row["item_id"]
        found.append(Step("message", row["role"] or "-", row["text"], row["seq"], row["event"], row["pointer"]))
    return sorted(found, key=lambda step: (step.seq, step.what, step.event or 0, step.pointer or ""))


def _decoded(text: str | None) -> Any:
    """The value, so that the order of members does not count; a text that is not JSON as it is."""
    payload = read_payload(text)
    if payload.problem is not None or payload.kind in ("not_json", "empty"):
        return text
    return msgspec.json.decode(msgspec.json.encode(payload.value, order="deterministic"))


def _tools(frames: Mapping[str, pl.DataFrame], a: str, b: str) -> tuple[Tool, ...]:
    sides: list[dict[tuple[str, str], list[str]]] = []
    for session in (a, b):
        offered: dict[tuple[str, str], list[str]] = {}
        rows = frames["offers"].filter(pl.col("session") == session).sort("tool", "role", "since")
        for tool, role, state, schema in rows.select("tool", "role", "state", "schema_id").iter_rows():
            offered.setdefault((tool, role), []).append((schema or "no schema") if state == "offered" else state)
        sides.append(offered)
    left, right = sides
    return tuple(
        Tool(*key, tuple(left.get(key, ())), tuple(right.get(key, ())))
        for key in sorted({*left, *right})
        if left.get(key) != right.get(key)
    )
