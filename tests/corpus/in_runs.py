"""Faults of execution: what ran twice, unasked, in parallel, or never ended."""

from __future__ import annotations

import copy
from datetime import timedelta

from tests.corpus.log import Event, Fault, Log


def _turn(log: Log, turn: str, status: str, *, subagent: str | None = None) -> Event:
    created = next(event for _, event in log.events("turn.created"))
    body = {**created["turn"], "id": turn, "status": "in_progress" if status == "created" else status}
    body |= {"agent_id": subagent or body["agent_id"], "subagent_id": subagent}
    return {"type": f"agent.session.turn.{status}", "session_id": log.id, "turn_id": turn, "turn": body}


def _subagent(log: Log, name: str) -> Event:
    about = {"id": log.name(name), "object": "agent.session.subagent", "session_id": log.id, "name": log.name(name)}
    opened = {"parent_agent_id": "agent_frontdesk", "instructions": [], "opened_at": 1, "status": "active"}
    return {"type": "agent.session.subagent.created", "subagent": {**about, **opened, "closed_at": None}}


def side_effect_repeated(log: Log) -> Fault:
    """The turn fails after the payment, and the next one pays again."""
    block = log.block("refund")
    end = log.turn_end(block.turn)
    failed = log.event(end)
    failed["type"] = "agent.session.turn.failed"
    failed["turn"]["status"] = "failed"
    turn = f"turn_x{log.session.number:05d}"
    at = log.insert(end + 1, _turn(log, turn, "created")) + 1
    call, at = log.again(block, at, turn=turn)
    log.insert(at, _turn(log, turn, "completed"))
    return Fault("RUN003", call, ("FINAL002",))


def approval_mismatch(log: Log) -> Fault:
    """One parcel was approved and another one is tracked, or the approval was denied."""
    done = log.rng.choice([(n, e) for n, e in log.events("turn.item.added") if e["item"]["type"] == "mcp_call"])
    number, event = done
    item = event["item"]
    request = {"type": "mcp_tool_call", "server_label": item["server_label"], "name": item["name"], "message": "Allow?"}
    action = {
        "type": "mcp_approval_request",
        "request_id": f"apr_{log.session.number}",
        "turn_id": event["turn_id"],
        "request": {**request, "arguments": {"parcel": "par_000001"}},
    }
    snapshot = copy.deepcopy(log.snapshots()[0])
    snapshot |= {"status": "requires_action", "required_actions": [action]}
    denied = log.rng.random() < 0.3
    if denied:
        action["request"]["arguments"] = item["arguments"]
    answer = {"type": "mcp_tool_call", "decision": "deny" if denied else "approve"}
    log.insert(number, {"type": "agent.session.requires_action", "session": snapshot})
    kind = "agent.session.input.mcp_approval_request_result"
    log.insert(number + 1, {"type": kind, "request_id": action["request_id"], "response": answer}, "sent")
    return Fault("RUN005")


def subagent_function_tool(log: Log) -> Fault:
    block = log.block("get_order", "count")
    turn, name = f"turn_s{log.session.number:05d}", log.name("scout")
    at = log.turn_end(block.turn)
    at = log.insert(at, _subagent(log, "scout")) + 1
    at = log.insert(at, _turn(log, turn, "created", subagent=name)) + 1
    call, at = log.again(block, at, turn=turn)
    log.insert(at, _turn(log, turn, "completed", subagent=name))
    return Fault("RUN007", call, ("RUN003", "RUN014"))


def subagents_over_limit(log: Log) -> Fault:
    at = log.turn_end(log.rng.choice(log.turns()))
    names = [f"scout{number}" for number in range(3)]
    for name in names:
        at = log.insert(at, _subagent(log, name)) + 1
        at = log.insert(at, _turn(log, f"turn_{log.name(name)}", "created", subagent=log.name(name))) + 1
    for name in names:
        at = log.insert(at, _turn(log, f"turn_{log.name(name)}", "completed", subagent=log.name(name))) + 1
    return Fault("RUN008", None, ("RUN014",))


def retry_storm(log: Log) -> Fault:
    block = log.block("count")
    at = log.turn_end(block.turn)
    for _ in range(log.rng.randint(3, 5)):
        _, at = log.again(block, at, error="connection refused")
    return Fault("RUN009")


def session_stuck(log: Log) -> Fault:
    block = log.block(turns=(1, 2, 3))
    snapshot = block.snapshot
    del log.lines[snapshot + 1 :]
    return Fault("RUN010", None, ("CALL004", "LOG007"))


def action_waited(log: Log) -> Fault:
    block = log.block()
    wait = timedelta(seconds=log.rng.randint(700, 5_000))
    for line in log.lines[block.post :]:
        line.at += wait
    return Fault("RUN012")


def merge_unstructured(log: Log) -> Fault:
    turn, name = f"turn_s{log.session.number:05d}", log.name("scout")
    at = log.turn_end(log.rng.choice(log.turns()))
    said = log.rng.choice(["I think the network was down.", "It was the rain.", "Cause: the carrier's van."])
    message = {"type": "message", "id": f"msx_{log.session.number}", "role": "assistant", "phase": "final_answer"}
    content = [{"type": "output_text", "text": said}]
    at = log.insert(at, _subagent(log, "scout")) + 1
    at = log.insert(at, _turn(log, turn, "created", subagent=name)) + 1
    at = log.insert(at, log.item("done", turn, {**message, "content": content, "status": "completed"})) + 1
    log.insert(at, _turn(log, turn, "completed", subagent=name))
    return Fault("RUN014")


MUTATIONS = (
    side_effect_repeated,
    approval_mismatch,
    subagent_function_tool,
    subagents_over_limit,
    retry_storm,
    session_stuck,
    action_waited,
    merge_unstructured,
)
