"""Two wires of one call in one file: what the model asked for, and what a server was then asked to run.

A log may hold a model's requests and the messages of MCP servers side by side. A request to run a tool is shown once
more in the session of the call that it is the execution of, so that the two are compared; both stay what they are.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import polars as pl

from analyzer.frames import CALL_SIGHTINGS, EVENTS, PART_BITS, RECORD_BITS, RESULT_SIGHTINGS, Frames
from analyzer.read.values import value_of

Row = dict[str, Any]
Key = tuple[str | None, str | None]
"""Session and pair id of a call."""

_SERVER = "mcp-jsonrpc"
_SAME = ("session", "turn", "wire", "call_id", "pair_id")  # of an execution and the call it is of
_MADE = ("item", "done", "stream")
_PART = 1 << PART_BITS - 1  # parts from here on are those of the model's session
_OTHER = re.compile(r"[^A-Za-z0-9_-]")  # what clients replace in the names of servers and tools
_MOST = 20_000  # calls of one file that may still be run


class Wires:
    """Joins the wires of each file; what a server runs later than in the next frames is not found any more."""

    def __init__(self) -> None:
        self._before = CALL_SIGHTINGS.to_frame()

    def join(self, frames: Frames) -> Frames:
        """The frames with the executions that a server's messages show, and with what came of them."""
        calls, results = frames["call_sightings"], frames["result_sightings"]
        served = calls["wire"] == _SERVER
        before, self._before = self._before, calls.tail(_MOST)
        if not served.any():
            return frames
        asked = pl.concat([before, calls]).filter(
            pl.col("wire") != _SERVER,
            pl.col("stage").is_in(_MADE),
            pl.col("owed_by") == "client",
            pl.col("name").is_not_null(),
        )
        run = calls.filter(served, pl.col("stage") == "item", pl.col("name").is_not_null())
        mixed = set(_sources(asked)) & set(_sources(run))
        if not mixed:
            return frames
        answers = _answers(results)
        pairs = [pair for source in sorted(mixed) for pair in _pairs(_of(asked, source), _of(run, source), answers)]
        executed = pl.DataFrame([_executed(*pair) for pair in pairs], CALL_SIGHTINGS, orient="row")
        passed_on = list(_passed_on(pairs, results, answers))
        ended = pl.DataFrame([row for row, _ in passed_on], RESULT_SIGHTINGS, orient="row")
        # What the model is told of an execution is a copy of what the server answered.
        told = pl.Series([place for _, place in passed_on], dtype=pl.Int64)
        copies = pl.int_range(results.height, eager=True).is_in(told.implode())
        results = results.with_columns(stage=pl.when(copies).then(pl.lit("history")).otherwise("stage"))
        return frames | {
            "events": pl.concat([frames["events"], _events(frames["events"], executed, ended)]).sort("event"),
            "call_sightings": pl.concat([calls, executed]).sort("event", maintain_order=True),
            "result_sightings": pl.concat([results, ended]).sort("event", maintain_order=True),
        }


def _passed_on(
    pairs: list[tuple[Row, Row]], results: pl.DataFrame, answers: dict[Key, tuple[int, int]]
) -> Iterator[tuple[list[Any], int]]:
    """What the server answered, as the session of the call shows it, and the place of what the model was told then.

    A call whose result never reached the model is as unanswered as it was.
    """
    waiting: dict[Key, list[tuple[Row, Row]]] = {}
    for call, run in pairs:
        waiting.setdefault((run["session"], run["pair_id"]), []).append((call, run))
    for result in results.filter(pl.col("wire") == _SERVER).sort("event", maintain_order=True).iter_rows(named=True):
        found = waiting.get((result["session"], result["pair_id"]), [])
        pair = next((each for each in found if each[1]["event"] < result["event"]), None)
        if pair is None or result["event"] & _PART:
            continue
        found.remove(pair)
        call = pair[0]
        event, place = answers.get((call["session"], call["pair_id"]), (0, 0))
        if event > result["event"]:
            own = {"stage": "executor", "item_id": f"{call['pair_id']}@{result['event']}", "name": None}
            row = {**result, **{name: call[name] for name in _SAME}, **own, "event": result["event"] + _PART}
            yield [row[name] for name in RESULT_SIGHTINGS], place


def _events(events: pl.DataFrame, *shown: pl.DataFrame) -> pl.DataFrame:
    """The events in which executions are shown: those of the server once more, in the session of the call."""
    where = pl.concat([each.select(event=pl.col("event") - _PART, of="session", within="turn") for each in shown])
    same = [name for name in EVENTS if name not in ("session", "turn", "event", "kind", "event_id")]
    moved = events.join(where, on="event", maintain_order="right").select(
        *same,
        event=pl.col("event") + _PART,
        session="of",
        turn="within",
        kind=pl.lit("notice"),
        event_id=pl.lit(None, pl.String),
    )
    return moved.select(list(EVENTS))


def _sources(calls: pl.DataFrame) -> list[int]:
    return (calls["event"] // (1 << RECORD_BITS + PART_BITS)).unique().to_list()


def _of(calls: pl.DataFrame, source: int) -> list[Row]:
    mine = calls.filter(pl.col("event") // (1 << RECORD_BITS + PART_BITS) == source).sort("event", maintain_order=True)
    return mine.unique(["session", "pair_id", "item_id"], keep="first", maintain_order=True).to_dicts()


def _answers(results: pl.DataFrame) -> dict[Key, tuple[int, int]]:
    """The first event that tells the model of a call's result, and its place among the results."""
    told = results.with_row_index("place").filter(pl.col("stage").is_in(["message", "post"]))
    first = told.unique(["session", "pair_id"], keep="first", maintain_order=True)
    return {
        (session, pair): (event, place)
        for session, pair, event, place in first.select("session", "pair_id", "event", "place").iter_rows()
    }


def _pairs(asked: list[Row], run: list[Row], answers: dict[Key, tuple[int, int]]) -> Iterator[tuple[Row, Row]]:
    """Calls with their executions: those with equal arguments first; another one only where no other can be meant."""
    named: dict[str, deque[Row]] = {}
    equal: dict[tuple[str, Hashable], deque[Row]] = {}
    for call in asked:
        value = value_of(call["text"] or "{}")
        for name in {_flat(call["name"]), _flat(f"mcp__{call['server']}__{call['name']}")}:
            named.setdefault(name, deque()).append(call)
            equal.setdefault((name, value), deque()).append(call)
    taken: set[int] = set()

    def unrun(call: Row, _: int) -> bool:
        return id(call) not in taken

    def is_open(call: Row, event: int) -> bool:
        told = answers.get((call["session"], call["pair_id"]))
        return id(call) not in taken and (told is None or told[0] >= event)

    left: list[Row] = []
    for each in run:
        if each["event"] & _PART:
            continue  # of a record with more parts than there is room for
        value, event = value_of(each["text"] or "{}"), each["event"]
        for name in _names(each):
            same = _first(equal.get((name, value), deque()), 1, event, unrun)
            if same:
                taken.add(id(same[0]))
                yield same[0], each
                break
        else:
            left.append(each)
    for each in left:
        event = each["event"]
        still = {
            id(call): call for name in _names(each) for call in _first(named.get(name, deque()), 2, event, is_open)
        }
        if len(still) == 1:
            (call,) = still.values()
            taken.add(id(call))
            yield call, each


def _first(calls: deque[Row], most: int, event: int, is_open: Callable[[Row, int], bool]) -> list[Row]:
    """The first calls before an event that are open; those before them that are not will never be again, and go."""
    found: list[Row] = []
    while calls and len(found) < most and calls[0]["event"] < event:
        call = calls.popleft()
        if is_open(call, event):
            found.append(call)
    calls.extendleft(reversed(found))
    return found


def _names(run: Row) -> list[str]:
    """What clients call a server's tool."""
    server, name = run["server"], run["name"]
    return list(
        dict.fromkeys(_flat(each) for each in (f"mcp__{server}__{name}", name, f"{server}__{name}", f"{server}_{name}"))
    )


def _flat(name: str) -> str:
    return _OTHER.sub("_", name)


def _executed(call: Row, run: Row) -> list[Any]:
    """The execution as the session of the call shows it."""
    own = {name: call[name] for name in (*_SAME, "kind", "server", "name")}
    row = {**run, **own, "event": run["event"] + _PART, "stage": "executor", "reply": None, "item_id": None}
    return [row[name] for name in CALL_SIGHTINGS]
