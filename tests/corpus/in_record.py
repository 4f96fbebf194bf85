"""Faults of the record itself."""

from __future__ import annotations

import copy
from datetime import timedelta

from tests.corpus.log import Fault, Line, Log


def record_unreadable(log: Log) -> Fault:
    at = log.rng.randint(1, len(log.lines) - 2)
    raw = log.rng.choice(
        ['{"type":"agent.session.idle",,}', "Traceback (most recent call last):", '{"type": ', "\x00\x01"]
    )
    log.lines.insert(at, Line(log.lines[at].at, None, raw=raw))
    return Fault("LOG001")


def record_truncated(log: Log) -> Fault:
    log.torn = log.rng.randint(2, 60)
    return Fault("LOG002", None, ("LOG007", "RUN010"))


def event_unknown(log: Log) -> Fault:
    at = log.rng.randint(1, len(log.lines) - 1)
    kind = log.rng.choice(["agent.session.budget_reached", "agent.session.turn.mood", "agent.session.paused", ""])
    item = {"type": log.rng.choice(["sandbox_call", "memory_note"]), "id": f"itx_{log.session.number}"}
    unknown = {"type": kind, "session_id": log.id} if kind else log.item("done", log.turns()[0], item)
    log.insert(at, unknown)
    return Fault("LOG003")


def _received(log: Log) -> int:
    return log.rng.choice([n for n, e in log.events("turn.item.done") if e["item"]["type"] == "function_call"])


def event_redelivered(log: Log) -> Fault:
    number = _received(log)
    log.lines.insert(number + 1, copy.deepcopy(log.lines[number]))
    return Fault("LOG004")


def event_id_reused(log: Log) -> Fault:
    number, other = _received(log), log.events("turn.created")[0][0]
    log.event(number)["event_id"] = log.event(other)["event_id"]
    return Fault("LOG005")


def order_broken(log: Log) -> Fault:
    at = log.rng.randint(2, len(log.lines) - 2)
    log.lines[at].at -= timedelta(seconds=log.rng.randint(30, 600))
    return Fault("LOG006")


def record_missing(log: Log) -> Fault:
    del log.lines[_received(log)]
    return Fault("LOG007")


def contract_unrecorded(log: Log) -> Fault:
    del log.contracts[f"{log.name('carrier')}/track"]
    return Fault("LOG008")


def json_ambiguous(log: Log) -> Fault:
    block = log.block("get_order", "refund")
    member = "page" if "page" in block.arguments else "cents"
    old = f'"{member}":{block.arguments[member]}'
    new = log.rng.choice([f"{old},{old}0", f'"{member}":{2**53 + 1}'])
    for number in (block.added, block.snapshot, block.done):
        log.lines[number].replace = [(old, new)]
    return Fault("LOG009", None, ("ARG001", "RUN001", "ARG007"))


def request_invalid(log: Log) -> Fault:
    post = log.event(log.block().post)
    if log.rng.random() < 0.5:
        del post["success"]
    else:
        post["success"] = "true"
    return Fault("LOG010")


MUTATIONS = (
    record_unreadable,
    record_truncated,
    event_unknown,
    event_redelivered,
    event_id_reused,
    order_broken,
    record_missing,
    contract_unrecorded,
    json_ambiguous,
    request_invalid,
)
