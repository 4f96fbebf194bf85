"""Faults in identifiers, pairing and order of calls and results."""

from __future__ import annotations

import copy

from tests.corpus.log import Block, Event, Fault, Log
from tests.samples.wire import text


def _item_of(log: Log, block: Block, **changes: object) -> Event:
    item = {**log.event(block.added)["item"], **changes}
    return log.item("added", block.turn, item)


def call_id_duplicate(log: Log) -> Fault:
    block = log.block("get_order", "count")
    again = _item_of(log, block, id=f"fcx_{log.session.number}", name=log.name("refund"))
    log.insert(block.done + 1, again)
    return Fault("CALL001", block.call_id, ("LOG007", "ARG001", "ARG007"))


def item_id_duplicate(log: Log) -> Fault:
    block = log.block()
    log.insert(block.done + 1, _item_of(log, block, call_id=f"call_x{log.session.number}"))
    return Fault("CALL002", None, ("LOG007",))


def call_id_invalid(log: Log) -> Fault:
    block = log.block()
    wrong = log.rng.choice(["", " ", None])
    log.insert(block.done + 1, _item_of(log, block, id=f"fcx_{log.session.number}", call_id=wrong))
    return Fault("CALL003", None, ("LOG007", "LOG010"))


def call_unanswered(log: Log) -> Fault:
    block = log.block(turns=(0,))
    for number in sorted((block.post, block.echo, block.done), reverse=True):
        del log.lines[number]
    return Fault("CALL004", block.call_id, ("LOG007",))


def result_orphan(log: Log) -> Fault:
    block = log.block()
    post = copy.deepcopy(log.event(block.post))
    post["call_id"] = log.rng.choice([f"fc_{block.call_id[5:]}", block.call_id[:-2], "call_of_nobody"])
    log.insert(block.post, post, "sent")
    return Fault("CALL005")


def result_duplicate(log: Log) -> Fault:
    block = log.block()
    post = copy.deepcopy(log.event(block.post))
    if log.rng.random() < 0.5:
        post["output"] = text({"refund_id": "ref_999999", "paid": True})
    log.insert(block.post + 1, post, "sent")
    return Fault("CALL006", block.call_id, ("RUN003", "OUT004", "DRIFT006"))


def result_wrong_turn(log: Log) -> Fault:
    block = log.block(turns=(1, 2, 3))
    turns = log.turns()
    log.event(block.post)["turn_id"] = log.rng.choice([turn for turn in turns if turn < block.turn])
    for number in sorted((block.echo, block.done), reverse=True):
        del log.lines[number]
    return Fault("CALL007", block.call_id, ("LOG007",))


def result_late(log: Log) -> Fault:
    block = log.block()
    post = log.lines[block.post]
    for number in sorted((block.post, block.echo, block.done), reverse=True):
        del log.lines[number]
    end = log.turn_end(block.turn)
    log.insert(end + 1, post.event or {}, "sent")
    return Fault("CALL008", block.call_id, ("CALL004", "LOG007"))


def result_unrequested(log: Log) -> Fault:
    block = log.block()
    call, item = f"call_x{log.session.number}", f"fcx_{log.session.number}"
    end = log.turn_end(block.turn)
    shown = {**log.event(block.added)["item"], "id": item, "call_id": call}
    post = {**copy.deepcopy(log.event(block.post)), "call_id": call}
    log.insert(end, log.item("added", block.turn, shown))
    # The session shows what it waits for, and this call is not among it.
    snapshot = copy.deepcopy(log.snapshots()[0]) | {"status": "in_progress"}
    log.insert(end + 1, {"type": "agent.session.in_progress", "session": snapshot})
    end += 1
    log.insert(end + 1, log.item("done", block.turn, {**shown, "status": "completed"}))
    log.insert(end + 2, post, "sent")
    return Fault("CALL013", call, ("RUN003",))


def idempotency_key_misused(log: Log) -> Fault:
    first, second = log.rng.sample(log.blocks("get_order", "refund"), 2)
    for block in (first, second):
        body = log.event(block.post)
        http = {"method": "POST", "path": f"/v1/agents/sessions/{log.id}/events"}
        sent = {**http, "headers": {"Idempotency-Key": f"key-{log.session.number}"}, "body": {"events": [body]}}
        exchange = {"http": sent, "response": {"status": 202, "body": None}}
        log.lines[block.post].event = None
        log.lines[block.post].raw = text(exchange)
    return Fault("CALL017")


MUTATIONS = (
    call_id_duplicate,
    item_id_duplicate,
    call_id_invalid,
    call_unanswered,
    result_orphan,
    result_duplicate,
    result_wrong_turn,
    result_late,
    result_unrequested,
    idempotency_key_misused,
)
