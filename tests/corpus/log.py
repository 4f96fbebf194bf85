"""A clean session opened for planting: find its calls, change them everywhere they are shown, put lines in between."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from tests.corpus.clean import Session
from tests.samples.wire import stamp, text

Event = dict[str, Any]


class Fault(NamedTuple):
    """What was planted: the rule that must find it, the call it is about, and what lawfully follows from it."""

    rule: str
    call_id: str | None = None
    also: tuple[str, ...] = ()


@dataclass
class Line:
    """One line of the log: an event with its time, or any bytes. `cut` characters are missing at its end."""

    at: Any
    event: Event | None
    direction: str = "received"
    raw: str | None = None
    replace: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Block:
    """The lines of one function call, by what they are; positions in the log."""

    call_id: str
    name: str
    turn: str
    arguments: Any
    added: int
    snapshot: int
    post: int
    echo: int
    done: int

    @property
    def lines(self) -> list[int]:
        return [self.added, self.snapshot, self.post, self.echo, self.done]


class Log:
    """The lines of a session, and the random choices of one mutation."""

    def __init__(self, session: Session, rng: random.Random) -> None:
        self.session, self.rng = session, rng
        self.contracts = copy.deepcopy(session.contracts)
        self.pins: dict[str, dict[str, Any]] = {}
        self.lines = [Line(e.at, copy.deepcopy(e.event), e.direction) for e in session.entries]
        self.torn = 0  # characters that are missing at the end of the file
        self._made = 0

    def name(self, tool: str) -> str:
        return self.session.name(tool)

    @property
    def id(self) -> str:
        return self.session.entries[0].session

    def events(self, kind: str = "") -> list[tuple[int, Event]]:
        """Positions and events of a kind, `agent.session.` left out."""
        return [
            (number, line.event)
            for number, line in enumerate(self.lines)
            if line.event is not None and line.event.get("type", "") == f"agent.session.{kind}"
        ]

    # --- calls

    def blocks(self, *tools: str) -> list[Block]:
        """The function calls of these tools, or of all, each in a reply of its own or with others."""
        found = []
        for number, event in self.events("turn.item.added"):
            item = event["item"]
            if item["type"] != "function_call" or (tools and item["name"] not in map(self.name, tools)):
                continue
            call = item["call_id"]
            about = {what: self._first(partial(_is, what, call)) for what in ("snapshot", "post", "echo", "done")}
            found.append(Block(call, item["name"], event["turn_id"], item["arguments"], number, **about))
        return found

    def block(self, *tools: str, turns: tuple[int, ...] = ()) -> Block:
        """One call of these tools at random; `turns` names those of the turns (from 0) it may be in."""
        blocks = self.blocks(*tools)
        if turns:
            order = self.turns()
            blocks = [block for block in blocks if order.index(block.turn) in turns]
        return self.rng.choice(blocks)

    def turns(self) -> list[str]:
        return [event["turn_id"] for _, event in self.events("turn.created")]

    def turn_end(self, turn: str) -> int:
        return next(number for number, event in self.events("turn.completed") if event["turn_id"] == turn)

    def each(self, call: str) -> list[Event]:
        """Every showing of a call that has arguments: the items and the required actions."""
        found = []
        for line in self.lines:
            if line.event is None:
                continue
            item = _item(line.event)
            if item.get("type") == "function_call" and item.get("call_id") == call:
                found.append(item)
            found += [action for action in _actions(line.event) if action.get("call_id") == call]
        return found

    def set_arguments(self, call: str, arguments: Any) -> None:
        for showing in self.each(call):
            showing["arguments"] = copy.deepcopy(arguments)

    def set_name(self, call: str, name: str) -> None:
        for showing in self.each(call):
            showing["name"] = name

    def set_output(self, block: Block, output: Any) -> None:
        self.event(block.post)["output"] = output
        _item(self.event(block.echo))["output"] = output

    def set_failure(self, block: Block, error: str | None) -> None:
        post, echo = self.event(block.post), _item(self.event(block.echo))
        post.pop("output", None)
        post |= {"success": False, "error": error}
        echo |= {"output": None, "error": error, "status": "failed"}
        _item(self.event(block.done))["status"] = "failed"

    def event(self, number: int) -> Event:
        event = self.lines[number].event
        assert event is not None
        return event

    def _first(self, wanted: Callable[[Event], bool]) -> int:
        return next(n for n, line in enumerate(self.lines) if line.event is not None and wanted(line.event))

    # --- tables

    def snapshots(self, since: int = 0) -> list[Event]:
        return [
            line.event["session"] for line in self.lines[since:] if line.event is not None and "session" in line.event
        ]

    def add_tool(self, *tools: Event) -> None:
        for session in self.snapshots():
            session["agent"]["tools"] = [*session["agent"]["tools"], *copy.deepcopy(tools)]

    # --- new lines

    def insert(self, at: int, event: Event, direction: str = "received", **more: Any) -> int:
        """Put an event in front of line `at`; what the server sends gets an id of its own."""
        self._made += 1
        if direction == "received" and "event_id" not in event:
            event = {"type": event["type"], "event_id": f"evx_{self.session.number:05d}_{self._made}", **event}
        before = self.lines[max(at - 1, 0)].at
        self.lines.insert(at, Line(before + timedelta(milliseconds=1), event, direction, **more))
        return at

    def item(self, stage: str, turn: str, item: Event, index: int | None = 90) -> Event:
        return {
            "type": f"agent.session.turn.item.{stage}",
            "session_id": self.id,
            "turn_id": turn,
            "output_index": index,
            "item": {**item, "turn_id": turn},
        }

    def again(self, block: Block, at: int, *, turn: str | None = None, **changes: Any) -> tuple[str, int]:
        """Make the call once more, under new ids, in front of line `at`; the new call id and the line after it."""
        self._made += 1
        old, new = block.call_id, f"call_x{self.session.number:05d}_{self._made}"
        copies = [copy.deepcopy(self.event(number)) for number in block.lines]
        snapshot = copies[1]["session"]
        snapshot["required_actions"] = [a for a in snapshot["required_actions"] if a.get("call_id") == old]
        for event in copies:
            event.pop("event_id", None)
            filled = (
                text(event)
                .replace(old, new)
                .replace(f"fc_{old[5:]}", f"fc_{new[5:]}")
                .replace(f"fco_{old[5:]}", f"fco_{new[5:]}")
            )
            if turn is not None:
                filled = filled.replace(f'"{block.turn}"', f'"{turn}"')
            event.clear()
            event.update(_load(filled))
            if "output_index" in event and event["output_index"] is not None:
                event["output_index"] = 50 + self._made
        for number, event in enumerate(copies):
            self.insert(at + number, event, "sent" if number == 2 else "received")
        if changes.get("error") is not None:
            made = Block(new, block.name, turn or block.turn, block.arguments, at, at + 1, at + 2, at + 3, at + 4)
            self.set_failure(made, changes["error"])
        return new, at + len(copies)

    def copies(self, *numbers: int) -> list[Line]:
        """Some of the lines as they would stand in another session of the same agent: its tools, other ids."""
        tag = f"_{self.session.number:05d}"
        ids = re.compile(rf"\b(sess_1117|evt|turn|call|fc|fco|msg|umsg){tag}")
        end = self.lines[-1].at + timedelta(seconds=90)
        made = []
        for count, number in enumerate(numbers):
            at = end + timedelta(seconds=count)
            raw = text({"recorded_at": stamp(at), "session_id": self.id, **self.event(number)})
            made.append(Line(at, None, raw=ids.sub(rf"\1{tag}b", raw)))
        return made

    # --- bytes

    def bytes(self) -> bytes:
        """The log as NDJSON, the recorder's fields beside the event's own."""
        out = []
        for line in self.lines:
            written = (
                line.raw
                if line.raw is not None
                else text({"recorded_at": stamp(line.at), "session_id": self.id, **(line.event or {})})
            )
            for old, new in line.replace:
                written = written.replace(old, new)
            out.append(f"{written}\n")
        whole = "".join(out)
        return (whole[: -1 - self.torn] if self.torn else whole).encode("utf-8", "surrogatepass")


def _is(what: str, call: str, event: Event) -> bool:
    """Whether an event is the snapshot, post, echo or end of a call."""
    item, kind = _item(event), event.get("type", "")
    if what == "snapshot":
        return any(action.get("call_id") == call for action in _actions(event))
    if what == "post":
        return bool(kind.endswith("tool_result") and event["call_id"] == call)
    if item.get("call_id") != call:
        return False
    return bool(item["type"] == "function_call_output" if what == "echo" else kind.endswith("item.done"))


def _item(event: Event) -> Event:
    item: Event = event.get("item") or {}
    return item


def _actions(event: Event) -> list[Event]:
    actions: list[Event] = (event.get("session") or {}).get("required_actions") or []
    return actions


def _load(written: str) -> Event:
    loaded: Event = json.loads(written)
    return loaded
