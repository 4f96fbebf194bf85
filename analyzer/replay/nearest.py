"""The passing call of a tool that is most like a failing one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import polars as pl

from analyzer.replay.payloads import read_payload

#: Passing calls that are looked at: the nearest in time, on either side.
MOST = 2_000
_MOST_PLACES = 2_000
_ABSENT = 3.0  # what a member on one side only costs, against 1 for another value


class Near(NamedTuple):
    """A call of CALLS, and how far its arguments are from those of the other one."""

    call: int
    distance: float


def nearest(frames: Mapping[str, pl.DataFrame], call: int) -> Near | None:
    """The valid, successful call of the same tool with the least different arguments; of equals the nearest in time.

    Calls of the same session come before those of others. None where no call of the tool passed.
    """
    calls = frames["calls"]
    [mine] = calls.filter(pl.col("call") == call).to_dicts()
    verdicts = frames["verdicts"].filter(pl.col("role") == "arguments")
    failed = verdicts.filter(pl.col("verdict_is") != "valid").select("call")
    passed = verdicts.filter(pl.col("verdict_is") == "valid").join(failed, on="call", how="anti").select("call")
    others = (
        calls.filter(
            (pl.col("tool") == mine["tool"]) & (pl.col("call") != call) & pl.col("outcome").is_in(["ok", "unknown"])
        )
        .join(passed, on="call", how="semi", maintain_order="left")
        .with_columns(
            apart=(pl.col("event") - mine["event"]).abs(),
            elsewhere=pl.col("session").ne_missing(pl.lit(mine["session"])),
        )
        .sort("elsewhere", "apart", "call")
        .head(MOST)
    )
    wanted = _places(mine["text"])
    best: Near | None = None
    for other, text in others.select("call", "text").iter_rows():
        found = distance(wanted, _places(text))
        if best is None or found < best.distance:
            best = Near(other, found)
            if not found:
                break
    return best


def distance(a: Mapping[str, Any], b: Mapping[str, Any]) -> float:
    """How far two payloads are apart, place by place."""
    total = 0.0
    for place in {*a, *b}:
        if place not in a or place not in b:
            total += _ABSENT
        elif type(a[place]) is not type(b[place]):
            total += 2
        elif a[place] != b[place]:
            total += 1
    return total


def _places(text: str | None) -> dict[str, Any]:
    payload = read_payload(text)
    if payload.problem is not None or payload.kind == "not_json":
        return {"": text}
    return dict(_leaves(payload.value))


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    stack: list[tuple[str, Any]] = [("", value)]
    seen = 0
    while stack and seen < _MOST_PLACES:
        seen += 1
        place, here = stack.pop()
        if isinstance(here, dict):
            yield place, None
            stack.extend((f"{place}/{name}", child) for name, child in here.items())
        elif isinstance(here, list):
            yield place, ()
            stack.extend((f"{place}/{number}", child) for number, child in enumerate(here))
        else:
            yield place, here
