"""Short stories for the manuals of the rules: a line or two per event, made into a real Agents API log (NDJSON).

One line each; words are separated by single blanks, JSON stands as one piece, and the rest of a line is taken as it is.

    session ID                   starts session ID or goes on with it (default: s1); its table is empty at first
    tool NAME SCHEMA [async] [deferred]      puts a function into the tool table; after the start: for later snapshots
    server LABEL [NAME ...]      puts an MCP server into the table, with its allowed tools
    hosted TYPE [JSON]           puts a tool that has no schema into the table, with other members
    untool NAME                  takes a function, server or hosted tool out
    subagents N                  how many may run at once
    instructions TEXT            of the agent
    contract NAME SCHEMA         the contract file says: arguments; `output NAME SCHEMA`: output
    writes NAME ... / reads NAME ...         the tool hints of the configuration
    clock SECONDS                later lines carry this time (seconds after a fixed start)

    snapshot [STATUS]            a session event with the table and the pending actions; STATUS as they imply
    update                       the request that replaces the session's table by the present one
    user TEXT / say TEXT         the user's posted message; the assistant's final answer
    turn [ID] [subagent ID]      a turn (default: t1, t2, ...), a subagent's where it says so, and a snapshot
    end [completed|failed|cancelled]         of the turn under way; then the turn before it is under way again
    idle                         snapshot without pending actions

    call ID NAME ARGS            the item, and the snapshot that requires the action
    item ID NAME ARGS            the item alone: added; `done ID [STATUS]`: the item, finished
    action ID NAME ARGS          the required action alone
    result ID ok|failed TEXT     the posted result, the server's echo of it, and the finished call
    post ID ok|failed TEXT       the posted result alone
    echo ID ok|failed TEXT       the echo alone (the action is no longer pending)
    exchange KEY STATUS ID ok|failed TEXT    the result posted in a recorded exchange: idempotency key, HTTP status
    mcp ID LABEL NAME ARGS ok|failed TEXT    a finished call of an MCP server, with its result
    approval ID LABEL NAME ARGS  a request for approval; `decide ID approve|deny|cancel` answers it

    again                        the last line once more, as a reconnect delivers it
    event JSON                   an event just as it stands; `line TEXT`: any line; `torn TEXT`: the last line, cut

A call `ID` may say the turn it is sent to: `ID@TURN` (default: the turn of its call, else the one under way).
ARGS is JSON text, put in letter by letter (`text TEXT` makes it a JSON string; nothing is `{}`). TEXT is the output as
the tool's code returned it, so `{"a":1}` is text that holds JSON; `raw JSON` puts a JSON value in instead; nothing is
null. Where a result failed, TEXT is its error. Events are numbered `evt_1`, `evt_2`, ...; items are `fc_ID`, `fco_ID`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

_START = datetime(2026, 11, 17, 9, 0, tzinfo=UTC)
_MARK = "\x02{}\x03"  # stands for JSON text that goes in letter by letter
_MARKED = re.compile(r'"\\u0002(\d+)\\u0003"')


class Story(NamedTuple):
    """A log, the contract file beside it, and the tool hints of the configuration."""

    log: bytes
    contracts: dict[str, dict[str, Any]]
    hints: dict[str, frozenset[str]]


def story_log(lines: Iterable[str]) -> tuple[bytes, dict[str, dict[str, Any]]]:
    """The NDJSON log that a story tells, and what its contract file holds."""
    story = tell(lines)
    return story.log, story.contracts


def tell(lines: Iterable[str]) -> Story:
    """Everything that a story says. A line that it does not understand is a ValueError."""
    teller = _Teller()
    for line in lines:
        if line.strip():
            teller.take(line.strip())
    teller.begin()
    hints = {name: frozenset(names) for name, names in teller.hints.items()}
    return Story("".join(teller.written).encode(), teller.contracts, hints)


@dataclass
class _Session:
    id: str
    begun: bool = False
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    instructions: str | None = None
    subagents: int | None = None
    pending: dict[str, dict[str, Any]] = field(default_factory=dict)
    turns: list[str] = field(default_factory=list)
    of_subagent: dict[str, str] = field(default_factory=dict)
    indexes: dict[str, int] = field(default_factory=dict)
    items: dict[str, tuple[dict[str, Any], str, int]] = field(default_factory=dict)


class _Teller:
    def __init__(self) -> None:
        self.written: list[str] = []
        self.contracts: dict[str, dict[str, Any]] = {}
        self.hints: dict[str, set[str]] = {}
        self.sessions = {"s1": _Session("s1")}
        self.now = self.sessions["s1"]
        self.clock: datetime | None = None
        self.events = 0
        self.turns = 0
        self.letters: list[str] = []

    def take(self, line: str) -> None:
        verb, _, rest = line.partition(" ")
        tell: Callable[[str], None] | None = getattr(self, f"do_{verb}", None)
        if tell is None:
            raise ValueError(f"no such line in a story: {line}")
        tell(rest.strip())

    # --- what is written

    def begin(self) -> None:
        if not self.now.begun:
            self.now.begun = True
            self.session_event("created", "idle")

    def write(self, value: dict[str, Any], *, stamped: bool = True) -> None:
        self.begin()
        if self.clock is not None and stamped:
            value = {"recorded_at": self.clock.isoformat().replace("+00:00", "Z"), **value}
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        text = _MARKED.sub(lambda mark: self.letters[int(mark[1])], text)
        self.written.append(f"{text}\n")

    def receive(self, kind: str, **members: Any) -> None:
        self.begin()
        self.events += 1
        self.write({"type": f"agent.session.{kind}", "event_id": f"evt_{self.events}", **members})

    def session_event(self, kind: str, status: str) -> None:
        self.receive(kind, session=self.session(status))

    def session(self, status: str) -> dict[str, Any]:
        now = self.now
        agent = {
            "id": "agent_1",
            "name": None,
            "model": "gpt-5.4",
            "instructions": now.instructions,
            "multi_agent": {"enabled": now.subagents is not None, "max_concurrent_subagents": now.subagents},
            "reasoning": {"effort": None, "summary": None},
            "service_tier": "auto",
            "text": {"format": {"type": "text"}, "verbosity": "medium"},
            "tools": list(now.tools.values()),
        }
        at = int(_START.timestamp())
        return {
            "id": now.id,
            "object": "agent.session",
            "status": status,
            "created_at": at,
            "last_active_at": at,
            "error": None,
            "metadata": {},
            "environment": {"type": "none"},
            "vault_ids": [],
            "usage": None,
            "required_actions": list(now.pending.values()),
            "agent": agent,
        }

    def item(self, stage: str, turn: str, index: int | None, item: dict[str, Any]) -> None:
        where = {"session_id": self.now.id, "turn_id": turn, "output_index": index}
        self.receive(f"turn.item.{stage}", **where, item={**item, "turn_id": turn})

    def turn_event(self, word: str, turn: str) -> None:
        child = self.now.of_subagent.get(turn)
        body = {
            "id": turn,
            "object": "agent.session.turn",
            "session_id": self.now.id,
            "agent_id": child or "agent_1",
            "subagent_id": child,
            "status": "in_progress" if word == "created" else word,
            "created_at": int(_START.timestamp()),
            "started_at": int(_START.timestamp()),
            "completed_at": None if word == "created" else int(_START.timestamp()),
            "error": None,
            "usage": None,
        }
        self.receive(f"turn.{word}", session_id=self.now.id, turn_id=turn, turn=body)

    # --- pieces of a line

    @property
    def turn(self) -> str:
        if not self.now.turns:
            self.do_turn("")
        return self.now.turns[-1]

    def index(self, turn: str) -> int:
        number = self.now.indexes.get(turn, 0)
        self.now.indexes[turn] = number + 1
        return number

    def letter_by_letter(self, text: str) -> str:
        self.letters.append(text)
        return _MARK.format(len(self.letters) - 1)

    def arguments(self, text: str) -> Any:
        if text == "text" or text.startswith("text "):
            return text[5:]
        return self.letter_by_letter(text or "{}")

    def text(self, text: str) -> Any:
        if text.startswith("raw "):
            return self.letter_by_letter(text.removeprefix("raw "))
        return text or None

    def called(self, word: str, *, anew: bool = False) -> tuple[str, str]:
        """The call id and the turn it is sent to."""
        call, _, turn = word.partition("@")
        if not turn:
            turn = self.now.items[call][1] if call in self.now.items and not anew else self.turn
        return call, turn

    # --- before and beside the events

    def do_session(self, rest: str) -> None:
        if self.now.begun or self.now.tools:
            self.begin()
        self.now = self.sessions.setdefault(rest, _Session(rest))

    def do_tool(self, rest: str) -> None:
        name, schema, words = _named(rest)
        tool = {"type": "function", "name": name, "description": f"{name}.", "parameters": schema}
        self.now.tools[name] = tool | {"defer_loading": "deferred" in words}
        if "async" in words:
            self.now.tools[name]["async"] = True

    def do_server(self, rest: str) -> None:
        label, *allowed = rest.split()
        self.now.tools[label] = {
            "type": "mcp",
            "server_label": label,
            "connection_origin": "service",
            "request_metadata": {},
            "required": False,
            "allowed_tools": allowed or None,
            "transport": {"type": "http", "server_url": f"https://{label}.example/mcp"},
        }

    def do_hosted(self, rest: str) -> None:
        native, _, members = rest.partition(" ")
        self.now.tools[native] = {"type": native, **json.loads(members or "{}")}

    def do_untool(self, rest: str) -> None:
        del self.now.tools[rest]

    def do_subagents(self, rest: str) -> None:
        self.now.subagents = int(rest)

    def do_instructions(self, rest: str) -> None:
        self.now.instructions = rest

    def do_contract(self, rest: str) -> None:
        name, schema, _ = _named(rest)
        self.contracts.setdefault(name, {})["arguments"] = schema

    def do_output(self, rest: str) -> None:
        name, schema, _ = _named(rest)
        self.contracts.setdefault(name, {})["output"] = schema

    def do_writes(self, rest: str) -> None:
        self.hints.setdefault("writes", set()).update(rest.split())

    def do_reads(self, rest: str) -> None:
        self.hints.setdefault("reads", set()).update(rest.split())

    def do_clock(self, rest: str) -> None:
        self.clock = _START + timedelta(seconds=float(rest))

    # --- the session and its turns

    def do_snapshot(self, rest: str) -> None:
        status = rest or ("requires_action" if self.now.pending else "in_progress")
        self.begin()
        self.session_event(status, status)

    def do_idle(self, _: str) -> None:
        self.now.pending.clear()
        self.do_snapshot("idle")

    def do_update(self, _: str) -> None:
        http = {"method": "POST", "path": f"/v1/agents/sessions/{self.now.id}", "headers": {}}
        self.begin()
        body = {"agent": {"tools": list(self.now.tools.values())}}
        self.write({"http": {**http, "body": body}, "response": {"status": 200, "body": self.session("in_progress")}})

    def do_user(self, rest: str) -> None:
        content = [{"type": "input_text", "text": rest}]
        message = {"type": "message", "role": "user", "content": content}
        self.write({"type": "agent.session.input.message", "input": [message]})

    def do_say(self, rest: str) -> None:
        turn = self.turn
        index = self.index(turn)
        content = [{"type": "output_text", "text": rest}]
        message = {"type": "message", "id": f"msg_{turn}_{index}", "role": "assistant", "phase": "final_answer"}
        self.item("done", turn, index, {**message, "status": "completed", "content": content})

    def do_turn(self, rest: str) -> None:
        words = rest.split()
        self.turns += 1
        named = len(words) % 2 == 1
        turn = words[0] if named else f"t{self.turns}"
        self.now.turns.append(turn)
        self.begin()
        if words[named : named + 1] == ["subagent"]:
            child = words[-1]
            self.now.of_subagent[turn] = child
            about = {"id": child, "object": "agent.session.subagent", "parent_agent_id": "agent_1", "status": "active"}
            opened = {"session_id": self.now.id, "opened_at": int(_START.timestamp()), "closed_at": None}
            self.receive("subagent.created", subagent={**about, **opened, "name": child, "instructions": None})
        self.turn_event("created", turn)
        self.do_snapshot("")

    def do_end(self, rest: str) -> None:
        turn = self.turn
        self.turn_event(rest or "completed", turn)
        self.now.turns.pop()

    # --- calls and results

    def do_item(self, rest: str) -> None:
        word, name, arguments = _words(rest, 2)
        call, turn = self.called(word, anew=True)
        index = self.index(turn)
        item = {"type": "function_call", "id": f"fc_{call}", "call_id": call, "name": name}
        item["arguments"] = self.arguments(arguments)
        self.now.items[call] = item, turn, index
        self.item("added", turn, index, {**item, "status": "in_progress"})

    def do_done(self, rest: str) -> None:
        call, _, status = rest.partition(" ")
        item, turn, index = self.now.items[call]
        self.item("done", turn, index, {**item, "status": status or "completed"})

    def do_action(self, rest: str) -> None:
        word, name, arguments = _words(rest, 2)
        call, turn = self.called(word)
        action = {"type": "function_call", "turn_id": turn, "call_id": call, "name": name}
        self.now.pending[call] = {**action, "arguments": self.arguments(arguments)}
        self.do_snapshot("")

    def do_call(self, rest: str) -> None:
        self.do_item(rest)
        self.do_action(rest)

    def posted(self, rest: str) -> dict[str, Any]:
        word, outcome, text = _words(rest, 2)
        call, turn = self.called(word)
        body = {"type": "agent.session.input.tool_result", "turn_id": turn, "call_id": call, "success": outcome == "ok"}
        return {**body, "output" if outcome == "ok" else "error": self.text(text)}

    def do_post(self, rest: str) -> None:
        body = self.posted(rest)
        self.write(body)

    def do_exchange(self, rest: str) -> None:
        key, status, posted = _words(rest, 2)
        body = self.posted(posted)
        self.begin()
        http = {"method": "POST", "path": f"/v1/agents/sessions/{self.now.id}/events"}
        sent = {**http, "headers": {"Idempotency-Key": key}, "body": {"events": [body]}}
        self.write({"http": sent, "response": {"status": int(status), "body": None}})

    def do_echo(self, rest: str) -> None:
        word, outcome, text = _words(rest, 2)
        call, turn = self.called(word)
        item = {"type": "function_call_output", "id": f"fco_{call}", "call_id": call, "output": None, "error": None}
        item["output" if outcome == "ok" else "error"] = self.text(text)
        self.now.pending.pop(call, None)
        self.item("added", turn, None, {**item, "status": "completed" if outcome == "ok" else "failed"})

    def do_result(self, rest: str) -> None:
        self.do_post(rest)
        self.do_echo(rest)
        word, outcome, _ = _words(rest, 2)
        call, _, _ = word.partition("@")
        if call in self.now.items:
            self.do_done(f"{call} {'completed' if outcome == 'ok' else 'failed'}")

    def do_mcp(self, rest: str) -> None:
        call, label, name, rest = _words(rest, 3)
        arguments, rest = _json(rest)
        outcome, text = _words(rest, 1)
        turn = self.turn
        index = self.index(turn)
        item = {"type": "mcp_call", "id": call, "server_label": label, "name": name, "output": None, "error": None}
        item["arguments"] = self.arguments(arguments)
        self.item("added", turn, index, {**item, "status": "in_progress"})
        item["output" if outcome == "ok" else "error"] = self.text(text)
        self.item("done", turn, index, {**item, "status": "completed" if outcome == "ok" else "failed"})

    def do_approval(self, rest: str) -> None:
        request, label, name, arguments = _words(rest, 3)
        about = {"type": "mcp_tool_call", "server_label": label, "name": name, "message": f"Allow {name}?"}
        self.now.pending[request] = {
            "type": "mcp_approval_request",
            "request_id": request,
            "turn_id": self.turn,
            "request": {**about, "arguments": self.arguments(arguments)},
        }
        self.do_snapshot("")

    def do_decide(self, rest: str) -> None:
        request, decision = rest.split()
        self.now.pending.pop(request, None)
        response = {"type": "mcp_tool_call", "decision": decision}
        kind = "agent.session.input.mcp_approval_request_result"
        self.write({"type": kind, "request_id": request, "response": response})

    # --- everything else

    def do_again(self, _: str) -> None:
        self.written.append(self.written[-1])

    def do_event(self, rest: str) -> None:
        self.do_line(rest)

    def do_line(self, rest: str) -> None:
        self.begin()
        self.written.append(f"{rest}\n")

    def do_torn(self, rest: str) -> None:
        self.begin()
        self.written.append(rest)


def _words(text: str, count: int) -> list[str]:
    """The first words of a text and, as the last, the rest of it."""
    words = text.split(" ", count)
    return words + [""] * (count + 1 - len(words))


def _named(text: str) -> tuple[str, Any, list[str]]:
    name, _, rest = text.partition(" ")
    schema, words = _json(rest.strip())
    return name, json.loads(schema), words.split()


def _json(text: str) -> tuple[str, str]:
    """The JSON text that a text begins with, and the rest."""
    _, end = json.JSONDecoder().raw_decode(text)
    return text[:end], text[end:].strip()
