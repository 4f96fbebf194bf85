"""What may be made long by whoever wrote the log is read in time that grows with its length, and no faster.

Quadratic work on any of these would take minutes: the run as a whole is the alarm.
"""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest

from analyzer.read.reader import Tally
from analyzer.read.records import blocks
from analyzer.read.recover import parse
from tests.read.adapters import lines, recorded

MANY = 12_000
CHUNK = "chat.completion.chunk"
_ASKED: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Water."}]}
_FUNCTION: dict[str, Any] = {"type": "function", "function": {"name": "water", "parameters": {"type": "object"}}}


def _piece(index: int, **call: Any) -> dict[str, Any]:
    function = {"name": "water", "arguments": '{"a":'}
    delta = {"tool_calls": [{"index": index, "function": function, **call}]}
    return {"id": "c", "object": CHUNK, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def ids_of_pieces() -> bytes:
    """Every piece of a stream names a call of its own."""
    return lines(*(_piece(0, id=f"call_{n}") for n in range(MANY)))


def names_of_pieces() -> bytes:
    """Every piece of a call names its tool once more."""
    return lines(*(_piece(0) for _ in range(MANY * 3)))


def calls_without_ids() -> bytes:
    """Calls that nobody answers, and results of other tools."""
    turns: list[dict[str, Any]] = [{"role": "user", "content": "Water."}]
    for n in range(MANY):
        call = {"name": f"water_{n}", "arguments": "{}"}
        turns += [{"role": "assistant", "content": None, "function_call": call}]
        turns += [{"role": "function", "name": f"mow_{n}", "content": "1"}]
    return lines(*turns)


def one_id_for_all() -> bytes:
    """A host that calls every call alike, as some do."""
    block = {"type": "tool_use", "id": "x", "name": "water", "input": {}}
    asked = {"model": "claude", "max_tokens": 5, "messages": [{"role": "user", "content": "Water."}]}
    reply = {"type": "message", "role": "assistant", "model": "claude", "content": [block] * 4_000}
    both = {"request": asked, "response": {"id": "msg_1", **reply, "stop_reason": "tool_use"}}
    return lines(both, both)


def _row(name: int, said: Any, before: int | None, session: str = "s") -> dict[str, Any]:
    parent = None if before is None else f"u{before}"
    row = {"type": "assistant", "sessionId": session, "uuid": f"u{name}", "parentUuid": parent}
    return {**row, "timestamp": "2026-11-30T00:00:00Z", "message": {"id": f"m{name}", "role": "assistant", **said}}


def _use(n: int) -> dict[str, Any]:
    return {"content": [{"type": "tool_use", "id": f"t{n}", "name": "water", "input": {}}]}


def branches() -> bytes:
    """A user who goes back after every call, beside calls of other sessions that stay open."""
    rows = []
    for n in range(0, MANY, 3):
        rows.append(_row(n, _use(n), n - 1 if n else None))
        rows.append(_row(n + 1, {"content": "No."}, n - 1 if n else None))
        rows.append(_row(n + 2, _use(n + 2), None, f"s{n}"))
    return lines(*rows)


def sessions() -> bytes:
    """A session for every row, and none of them is its first."""
    return lines(*(_row(n, {"content": "Yes."}, None, f"s{n}") | {"isSidechain": True} for n in range(MANY)))


def two_wires() -> bytes:
    """A model that calls one tool again and again, and a server that is asked to run it with other arguments."""
    records: list[dict[str, Any]] = []
    for n in range(MANY // 6):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "water", "arguments": f'{{"bed":{n}}}'}}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}
        reply = {"id": f"r{n}", "object": "chat.completion", "choices": [choice]}
        records.append({"request": _ASKED | {"tools": [_FUNCTION]}, "response": reply})
        params = {"name": "water", "arguments": {"bed": -n - 1}}
        records.append({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params})
    return lines(*records)


def never_run() -> bytes:
    """Spans of a model whose calls no span shows to be run."""
    said = json.dumps([{"role": "assistant", "parts": [{"type": "tool_call", "id": "x", "name": "water"}]}])
    shown = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.output.messages", "value": {"stringValue": said}},
    ]
    spans = [{"traceId": "t", "spanId": f"{n:016x}", "name": "chat", "attributes": shown} for n in range(MANY)]
    return lines(*({"resourceSpans": [{"scopeSpans": [{"spans": [each]}]}]} for each in spans))


def arrays() -> bytes:
    """A document of arrays, one after the other."""
    reply = json.dumps([{"id": "r", "object": "chat.completion", "choices": []}])
    return f"[\n{reply[1:-1]}\n]\n".encode() + (reply + "\n").encode() * MANY * 3


@pytest.mark.parametrize(
    ("make", "least"),
    [
        (ids_of_pieces, MANY),
        (names_of_pieces, MANY * 3),
        (calls_without_ids, MANY * 2),
        (one_id_for_all, 8_000),
        (branches, MANY),
        (sessions, MANY),
        (two_wires, MANY // 6 * 4),
        (never_run, MANY),
        (arrays, MANY * 3),
    ],
)
def test_what_is_long_takes_linear_time(make: Callable[[], bytes], least: int) -> None:
    recording, frames = recorded(make())
    assert recording.sources[0]["format"]
    assert not recording.sources[0]["unreadable"]
    assert max(frames["events"].height, frames["call_sightings"].height) >= least


def test_what_is_made_of_tiny_pieces_takes_no_many_times_its_bytes() -> None:
    # Elements of a document, lines of one event, values of one record: an object for each would be 100 times as large.
    count = 150_000
    document = b"[" + b"1," * count + b"1]"
    assert [len(block.raw) for block in blocks(io.BytesIO(document), "document", Tally(sha256()))][-1] < count
    event = b"data: [\n" + b"data: 1,\n" * count + b"data: 1]\n\n"
    (block,) = blocks(io.BytesIO(event), "sse", Tally(sha256()))
    assert block.raw == [b"[\n" + b"1,\n" * count + b"1]"]
    tracemalloc.start()
    value, faults = parse(json.dumps({"a": [[1] * count, "\ud800", float("nan")]}).encode())  # type: ignore[misc]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert value["a"][1:] == ["\\ud800", None]
    assert [fault.pointer for fault in faults] == ["/a/1", "/a/2"]
    assert peak < count * 3 * 20
