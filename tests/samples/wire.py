"""Records one agent session as the Agents API writes it: server events, and the inputs posted between them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

AGENT = "agent_frontdesk"
INSTRUCTIONS = (
    "You are the front desk of Fernhaven Outfitters. Look customers and orders up before you pay anything back. "
    "Pay back only what the customer asked for, one order at a time."
)


class Entry(NamedTuple):
    """One recorded event: when, of which session, received from the server or sent to it."""

    at: datetime
    session: str
    direction: str
    event: dict[str, Any]


class Call(NamedTuple):
    """A function call and its answer: an output, or the error it failed with."""

    name: str
    arguments: dict[str, Any]
    output: str | None = None
    error: str | None = None


class Turn:
    """A turn under way; `subagent` is the subagent whose turn it is."""

    def __init__(self, turn_id: str, started: int, subagent: str | None = None) -> None:
        self.id, self.started, self.subagent = turn_id, started, subagent
        self.outputs = 0


class Recording:
    """One session, written down event by event; ids and times follow from its start and the order of the calls."""

    def __init__(self, start: str, tools: list[dict[str, Any]], *, subagents: int = 0) -> None:
        self.now = datetime.fromisoformat(f"2026-11-17T{start}+00:00")
        self.started = int(self.now.timestamp())
        self.tag = f"{self.now:%H%M}"
        self.session = f"sess_1117_{self.tag}"
        self.tools, self.subagents = tools, subagents
        self.entries: list[Entry] = []
        self.pending: list[dict[str, Any]] = []  # required actions not yet answered
        self.calls: dict[str, tuple[dict[str, Any], int, Turn]] = {}
        self._counts: dict[str, int] = {}
        self._turns: list[Turn] = []
        self.snapshot("created", "idle")

    # --- ids and time

    def number(self, kind: str) -> int:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return self._counts[kind]

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    @property
    def turn(self) -> Turn:
        return self._turns[-1]

    # --- lines

    def receive(self, kind: str, **members: Any) -> dict[str, Any]:
        count = self.number("evt")
        event = {"type": f"agent.session.{kind}", "event_id": f"evt_{self.tag}_{count:04d}", **members}
        self.wait(0.12 + count * 53 % 17 / 20)
        self.entries.append(Entry(self.now, self.session, "received", event))
        return event

    def send(self, kind: str, **members: Any) -> None:
        self.wait(0.4)
        self.entries.append(Entry(self.now, self.session, "sent", {"type": f"agent.session.input.{kind}", **members}))

    def snapshot(self, kind: str, status: str | None = None) -> dict[str, Any]:
        """A session event: it carries the whole session, the tool table included."""
        agent = {
            "id": AGENT,
            "name": "Front desk",
            "model": "gpt-5.4",
            "instructions": INSTRUCTIONS,
            "multi_agent": {"enabled": self.subagents > 0, "max_concurrent_subagents": self.subagents or None},
            "reasoning": {"effort": "low", "summary": None},
            "service_tier": "auto",
            "text": {"format": {"type": "text"}, "verbosity": "low"},
            "tools": self.tools,
        }
        session = {
            "id": self.session,
            "object": "agent.session",
            "status": status or kind,
            "created_at": self.started,
            "last_active_at": int(self.now.timestamp()),
            "error": None,
            "metadata": {"desk": "returns"},
            "environment": {"type": "none"},
            "vault_ids": [],
            "usage": None,
            "required_actions": list(self.pending),
            "agent": agent,
        }
        return self.receive(kind, session=session)

    def turn_event(self, status: str, turn: Turn) -> None:
        body = {
            "id": turn.id,
            "object": "agent.session.turn",
            "session_id": self.session,
            "agent_id": turn.subagent or AGENT,
            "subagent_id": turn.subagent,
            "status": "in_progress" if status == "created" else status,
            "created_at": turn.started,
            "started_at": turn.started,
            "completed_at": int(self.now.timestamp()) if status == "completed" else None,
            "error": None,
            "usage": None,
        }
        self.receive(f"turn.{status}", session_id=self.session, turn_id=turn.id, turn=body)

    def item(self, stage: str, turn: Turn, index: int | None, item: dict[str, Any]) -> None:
        where = {"session_id": self.session, "turn_id": turn.id, "output_index": index}
        self.receive(f"turn.item.{stage}", **where, item={**item, "turn_id": turn.id})

    def output(self, turn: Turn, item: dict[str, Any], **done: Any) -> None:
        """An output item that nobody has to answer: added, then done, with `done` as what has changed by then."""
        index = turn.outputs
        turn.outputs += 1
        self.item("added", turn, index, {**item, "status": "in_progress"})
        self.item("done", turn, index, {**item, "status": "completed", **done})

    # --- turns and messages

    def ask(self, text: str) -> None:
        """The user writes, and a turn starts."""
        content = [{"type": "input_text", "text": text}]
        self.send("message", input=[{"type": "message", "role": "user", "content": content}])
        self.open_turn()
        self.snapshot("in_progress")
        message = {"type": "message", "id": f"umsg_{self.tag}_{self.number('umsg')}", "role": "user", "phase": None}
        self.item("added", self.turn, None, {**message, "content": content, "status": "completed"})

    def open_turn(self, subagent: str | None = None) -> None:
        turn = Turn(f"turn_{self.tag}_{self.number('turn')}", int(self.now.timestamp()), subagent)
        self._turns.append(turn)
        self.turn_event("created", turn)

    def close_turn(self) -> None:
        self.turn_event("completed", self._turns.pop())

    def say(self, text: str, phase: str = "final_answer") -> None:
        message = {"type": "message", "id": f"msg_{self.tag}_{self.number('msg')}", "role": "assistant", "phase": phase}
        index = self.turn.outputs
        self.turn.outputs += 1
        done = {**message, "content": [{"type": "output_text", "text": text}], "status": "completed"}
        self.item("done", self.turn, index, done)

    def stream(self, *pieces: str) -> None:
        """The final answer, heard piece by piece."""
        turn, index, text = self.turn, self.turn.outputs, "".join(pieces)
        turn.outputs += 1
        message = {
            "type": "message",
            "id": f"msg_{self.tag}_{self.number('msg')}",
            "role": "assistant",
            "phase": "final_answer",
        }
        part = {
            "session_id": self.session,
            "turn_id": turn.id,
            "item_id": message["id"],
            "output_index": index,
            "content_index": 0,
        }
        self.item("added", turn, index, {**message, "content": [], "status": "in_progress"})
        self.receive("turn.content_part.added", **part, part={"type": "output_text", "text": ""})
        for piece in pieces:
            self.receive("turn.output_text.delta", **part, delta=piece)
        self.receive("turn.output_text.done", **part, text=text)
        self.receive("turn.content_part.done", **part, part={"type": "output_text", "text": text})
        content = [{"type": "output_text", "text": text}]
        self.item("done", turn, index, {**message, "content": content, "status": "completed"})

    def end(self, text: str) -> None:
        """The final answer, the end of the turn, the session idle."""
        self.say(text)
        self.close_turn()
        self.snapshot("idle")

    # --- calls

    def call(self, call: Call) -> str:
        """The model calls: the item appears. Returns the call id."""
        count = self.number("call")
        call_id = f"call_{self.tag}_{count:02d}"
        item = {
            "type": "function_call",
            "id": f"fc_{self.tag}_{count:02d}",
            "call_id": call_id,
            "name": call.name,
            "arguments": call.arguments,
        }
        self.calls[call_id] = (item, self.turn.outputs, self.turn)
        self.pending.append(
            {
                "type": "function_call",
                "turn_id": self.turn.id,
                "call_id": call_id,
                "name": call.name,
                "arguments": call.arguments,
            }
        )
        self.item("added", self.turn, self.turn.outputs, {**item, "status": "in_progress"})
        self.turn.outputs += 1
        return call_id

    def post(self, call_id: str, answer: Call) -> None:
        """The host posts its answer."""
        body: dict[str, Any] = {"turn_id": self.calls[call_id][2].id, "call_id": call_id}
        if answer.error is None:
            self.send("tool_result", **body, success=True, output=answer.output)
        else:
            self.send("tool_result", **body, success=False, error=answer.error)

    def settle(self, call_id: str, answer: Call) -> None:
        """The server shows the answer it took, and the call as done."""
        item, index, turn = self.calls[call_id]
        self.pending = [action for action in self.pending if action["call_id"] != call_id]
        status = "completed" if answer.error is None else "failed"
        shown = {
            "type": "function_call_output",
            "id": f"fco_{call_id[5:]}",
            "call_id": call_id,
            "output": answer.output,
            "error": answer.error,
            "status": status,
        }
        self.item("added", turn, None, shown)
        self.item("done", turn, index, {**item, "status": status})

    def run(self, *calls: Call) -> list[str]:
        """Calls of one reply, asked for together and answered in turn. Returns their call ids."""
        ids = [self.call(call) for call in calls]
        self.snapshot("requires_action")
        for call_id, call in zip(ids, calls, strict=True):
            self.post(call_id, call)
            self.settle(call_id, call)
        return ids


# --- recorders


def text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def stamp(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ndjson(entries: list[Entry]) -> bytes:
    """The recorder's fields beside the event's own."""
    lines = (text({"recorded_at": stamp(e.at), "session_id": e.session, **e.event}) for e in entries)
    return "".join(f"{line}\n" for line in lines).encode()


def envelopes(entries: list[Entry]) -> bytes:
    """The event inside the recorder's envelope."""
    lines = (
        text({"recorded_at": stamp(e.at), "session_id": e.session, "direction": e.direction, "event": e.event})
        for e in entries
    )
    return "".join(f"{line}\n" for line in lines).encode()


def sse(entries: list[Entry]) -> bytes:
    """The stream as it came over the wire: what was sent is not on it, nor any time."""
    received = [e.event for e in entries if e.direction == "received"]
    frames = [f"event: {event['type']}\ndata: {text(event)}\n\n" for event in received]
    return ": stream opened\n\n{}: keep-alive\n\n{}".format("".join(frames[:9]), "".join(frames[9:])).encode()
