"""Vercel AI SDK: UI message streams, lists of UI messages and of model messages, results of runs and their steps.

In a stream a call is built of pieces, then shown whole; outputs marked preliminary are not results yet. Spans of the
SDK are read as OpenTelemetry.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.ai_sdk.steps import goes_on, is_result, is_step, said_in_step, table_in
from analyzer.read.anymessage import said_of
from analyzer.read.at_once import STREAMS
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Ask, Dialogue, Said
from analyzer.read.ledger import Recent
from analyzer.read.members import listed
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, contained, first, streamed

_OWN = ("tool-input-", "tool-output-", "tool-approval-")
# What the SDK's own stream, before it is made one of UI messages, has for the same.
_WHOLE = {
    "tool-call": "tool-input-available",
    "tool-result": "tool-output-available",
    "tool-error": "tool-output-error",
}
_FRAME = frozenset(
    {
        *("start", "finish", "start-step", "finish-step", "abort", "error", "message-metadata", "file"),
        *("text-start", "text-delta", "text-end", "reasoning-start", "reasoning-delta", "reasoning-end"),
        *("source-url", "source-document"),
    }
)
_MARKS = frozenset({"tool-call", "tool-result", "dynamic-tool", "step-start", "tool-invocation"})

_MOST = 4  # streams that did not end and may go on

_json = msgspec.json.Decoder().decode


class Record(msgspec.Struct, gc=False):
    """Everything that one record may be."""

    type: str | None = None
    messages: Raw = ABSENT
    role: str | None = None
    id: Any = None
    chatId: str | None = None  # noqa: N815 - the SDK's names
    messageId: str | None = None  # noqa: N815
    toolCallId: str | None = None  # noqa: N815
    toolName: str | None = None  # noqa: N815
    inputTextDelta: str | None = None  # noqa: N815
    input: Any = None
    output: Any = None
    errorText: str | None = None  # noqa: N815
    error: Any = None
    args: Any = None
    result: Any = None
    preliminary: bool | None = None
    providerExecuted: bool | None = None  # noqa: N815
    approvalId: str | None = None  # noqa: N815
    approved: bool | None = None
    delta: str | None = None
    content: Raw = ABSENT
    parts: Raw = ABSENT
    steps: Raw = ABSENT
    finishReason: str | None = None  # noqa: N815


_record = msgspec.json.Decoder(Record).decode


class _Stream(msgspec.Struct, eq=False):
    """The message that comes."""

    session: str
    names: dict[str, str | None] = {}
    pieces: dict[str, list[str]] = {}
    texts: list[str] = []
    last: int = 0
    step: int = 0
    woven: bool = False
    """Whether chunks of another one came among its own."""


class VercelAI(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "vercel-ai"
    title: ClassVar[str] = "Vercel AI SDK: UI message streams, UI and model messages, results and their steps"
    known_by: ClassVar[str] = (
        "chunks of type tool-input-*, tool-output-*, tool-approval-*, tool-call and tool-result; messages with parts "
        "tool-NAME, dynamic-tool, tool-invocation, with toolInvocations, or with content of type tool-call and "
        "tool-result; `steps` or a step with a `finishReason` beside `content`, or beside `toolCalls` and `toolResults`"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Tool tables stand only in what a step kept of its request (`request.body`): else give them with --contracts.",
        "A result of a run holds its steps and not what was asked; an error that was written as JSON says nothing.",
        "A stream is one message: what the client ran itself is in the next request, which is not in the stream.",
        "Output schemas are not on this wire.",
        "Nothing names a session but the id of a message or a chat.",
        "Of streams at once in one log only calls that were begun are told apart: all else is of the latest stream.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._records = Decoding(source, rows, _record, self.knows)
        self._dialogue = Dialogue(self.name, rows, _said)
        self._stream: _Stream | None = None
        self._others: list[_Stream] = []
        """Those before it that have not ended, and may go on."""
        self._owners: Recent[str, _Stream] = Recent(4_096)
        """By the ids of their calls."""
        self._shown: str | None = None
        self._memories = (self._dialogue, self._owners)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is of this wire."""
        if not isinstance(record, dict):
            return 0.0
        kind = record.get("type")
        if isinstance(kind, str):
            if kind.startswith(_OWN) or (kind in _WHOLE and "toolCallId" in record):
                return 1.0
            bare = not {"session_id", "turn_id", "event_id", "message", "delta_type"} & record.keys()
            plain = not isinstance(record.get("delta", ""), dict) and not isinstance(record.get("error"), dict)
            return 0.5 if kind in _FRAME and bare and plain and kind not in ("error", "file") else 0.0
        if is_step(record) or is_result(record):
            return 1.0
        if isinstance(record.get("messages"), list):
            return 1.0 if any(map(_marked, record["messages"][:64])) else 0.0
        return 1.0 if isinstance(record.get("role"), str) and _marked(record) else 0.0

    def close(self) -> None:
        """Streams that break off."""
        for stream in (*self._others, self._stream):
            self._over(stream)

    def _take(self, record: Record, raw: bytes, place: Place) -> bool:
        kind = record.type or ""
        kind = _WHOLE.get(kind, kind) if record.toolCallId is not None else kind
        if kind in _FRAME or kind.startswith(_OWN) or (kind.startswith("data-") and self._stream is not None):
            self._chunk(record, kind, place)
            return True
        if first(record.steps) == b"[" and self._run(record, place):
            return True
        if record.finishReason is not None and kind == "" and is_step(_value(raw)):
            self._step(raw, place)
            return True
        if first(record.messages) == b"[" and self._records.own(raw):
            name = record.chatId or (record.id if isinstance(record.id, str) else None)
            raws = listed(record.messages)
            self._dialogue.ask(Ask(raws, session=name, own=True), place)
            if not raws:
                self._dialogue.move(place)
                self._dialogue.cursor.event("messages", "notice", self._dialogue.session)
            return True
        if record.role is not None and (record.parts or record.content) and self._records.own(raw):
            self._dialogue.append(raw, place)
            return True
        return False

    def _step(self, raw: bytes, place: Place) -> None:
        """A step alone; the last one of a run ends it."""
        session, step = self._dialogue.append(raw, place), _value(raw)
        table = table_in([step])
        if table is not None:
            kept = self._rows.table(table.text, table.shape)
            if kept != self._shown:
                to = table.to and table.to.removeprefix("/0")
                self._rows.showings.append((self._dialogue.cursor.next - 1, session, "request", "all", kept, to))
            self._shown = kept
        if not goes_on(step):
            self._shown = None
            self._dialogue.part()

    def _run(self, record: Record, place: Place) -> bool:
        """The result of a whole run, each of its steps a reply."""
        raws = listed(record.steps)
        steps = [_value(each) for each in raws]
        if not is_result({"steps": steps}):
            return False
        table = table_in(steps)
        ask = Ask(raws, "/steps", own=True)
        if table is not None:
            ask.tools, ask.shape, ask.tools_to = table.text, table.shape, table.to and f"/steps{table.to}"
        self._dialogue.ask(ask, place)
        return True

    # --- streams ----------------------------------------------------------------------------------------------------

    def _chunk(self, record: Record, kind: str, place: Place) -> None:
        if kind == "start" and self._stream is not None:
            self._others.append(self._stream)
            if len(self._others) > _MOST:
                self._over(self._others.pop(0))
        elif kind != "start" and self._stream is None and self._others:
            self._stream = self._others.pop()
            self._among_others(self._stream, place)
        if kind == "start" or self._stream is None:
            given = record.messageId if kind == "start" else None
            self._stream = _Stream(self._dialogue.name(given or f"{self.name}-stream"))
        stream = self._stream
        self._dialogue.move(place)
        owner = self._owners.get(record.toolCallId or "")
        if owner is not None and owner is not stream and kind != "tool-input-start":
            if owner in self._others:
                self._among_others(owner, place)
                stream = owner
            elif kind.startswith("tool-output-"):  # it was begun in a message before, which is over
                stream = owner
        tool = kind.startswith(_OWN) and not kind.endswith(("-start", "-delta"))
        what = "error" if kind == "error" else "item" if tool else "delta" if kind.endswith("-delta") else "notice"
        event, _ = self._dialogue.cursor.event(kind, what, stream.session)
        stream.last = event
        stream.step += kind == "start-step"
        stream.texts += [record.delta] if kind == "text-delta" and record.delta else []
        if kind == "finish":
            self._finish(stream, place)
        elif kind.startswith("tool-approval-"):
            self._approval(event, stream, record, kind)
        else:
            self._tool(event, stream, record, kind)

    def _among_others(self, stream: _Stream, place: Place) -> None:
        """A stream goes on when another one has begun: text and new calls since then may be of either."""
        if not stream.woven:
            self._rows.faults.append((place.event, stream.session, *STREAMS))
        stream.woven = True

    def _tool(self, event: int, stream: _Stream, record: Record, kind: str) -> None:
        """A piece of a call, the whole of it, or its result."""
        name = record.toolCallId or (record.id if isinstance(record.id, str) else "")
        if kind == "tool-input-start":
            stream.names[name] = record.toolName
            self._owners[name] = stream
        elif kind == "tool-input-delta":
            stream.pieces.setdefault(name, []).append(record.inputTextDelta or record.delta or "")
        elif kind == "tool-input-end":
            pass
        elif kind in ("tool-input-available", "tool-input-error"):
            stream.names[name] = record.toolName or stream.names.get(name)
            self._owners[name] = stream
            pieces = "".join(stream.pieces.pop(name, ()))
            given, where = (record.input, "/input") if record.args is None else (record.args, "/args")
            if pieces:
                self._call(event, stream, record, ("stream", pieces, streamed(pieces), ""))
            self._call(event, stream, record, ("item", *contained(given), where))
            if kind == "tool-input-error":
                self._result(event, stream, record, success=False)
        elif kind == "tool-output-available" and not record.preliminary:
            self._result(event, stream, record, success=True)
        elif kind in ("tool-output-error", "tool-output-denied"):
            self._result(event, stream, record, success=False)

    def _approval(self, event: int, stream: _Stream, record: Record, kind: str) -> None:
        asked = kind == "tool-approval-request"
        decision = None if asked else "approve" if record.approved else "deny"
        stage = "request" if asked else "decision"
        self._rows.approvals.add(
            event=event,
            session=stream.session,
            request_id=record.approvalId,
            stage=stage,
            name=stream.names.get(record.toolCallId or ""),
            decision=decision,
            pointer="/approvalId",
        )

    def _call(self, event: int, stream: _Stream, record: Record, said: tuple[str, str | None, str, str]) -> None:
        name = record.toolCallId
        cut = "in_progress" if record.type is None else None
        owner = "server" if record.providerExecuted else "unknown"
        stage, text, container, where = said
        self._rows.call_sightings.add(
            event=event,
            session=stream.session,
            wire=self.name,
            stage=stage,
            reply=f"{stream.session} {stream.step}",
            item_id=name,
            call_id=name,
            pair_id=name,
            kind="function",
            name=stream.names.get(name or ""),
            text=text,
            container=container,
            status=cut,
            owed_by=owner,
            pointer=where,
        )

    def _result(self, event: int, stream: _Stream, record: Record, *, success: bool) -> None:
        name = record.toolCallId
        text, container = contained(record.output if record.result is None else record.result)
        told = record.error if isinstance(record.error, str) else None if record.error is None else "the tool failed"
        error = None if success else record.errorText or told or "denied"
        where = "/errorText" if record.errorText is not None else "/error" if record.error is not None else ""
        where = ("/output" if record.result is None else "/result") if success else where
        self._rows.result_sightings.add(
            event=event,
            session=stream.session,
            wire=self.name,
            stage="message",
            call_id=name,
            pair_id=name,
            name=stream.names.get(name or ""),
            success=success,
            error=error,
            text=text if success else None,
            container=container,
            pointer=where,
        )

    def _finish(self, stream: _Stream, place: Place) -> None:
        """A message ends: this one, unless a call of it has not come and one of those before it is complete."""
        if stream.pieces:
            stream = next((each for each in self._others if not each.pieces), stream)
        if stream is self._stream:
            self._stream = None
        else:
            self._others.remove(stream)
            self._among_others(stream, place)
        self._over(stream)

    def _over(self, stream: _Stream | None) -> None:
        """The message is whole, or it breaks off: calls whose pieces did not end are cut."""
        if stream is None:
            return
        for name, pieces in stream.pieces.items():
            text = "".join(pieces)
            self._call(stream.last, stream, Record(toolCallId=name), ("stream", text, streamed(text), ""))
        if stream.texts:
            self._rows.messages.add(
                event=stream.last, session=stream.session, role="assistant", text="".join(stream.texts), pointer=""
            )


def _value(raw: bytes) -> Any:
    try:
        return _json(raw)
    except (msgspec.DecodeError, RecursionError):
        return None


def _said(raw: bytes) -> Said:
    value = _value(raw)
    return said_in_step(value) if is_step(value) else said_of(value)


def _marked(message: Any) -> bool:
    if not isinstance(message, dict):
        return False
    if isinstance(message.get("toolInvocations"), list):
        return True
    for member in ("parts", "content"):
        parts = message.get(member)
        for part in parts if isinstance(parts, list) else ():
            kind = part.get("type") if isinstance(part, dict) else None
            if isinstance(kind, str) and (kind in _MARKS or (kind.startswith("tool-") and "state" in part)):
                return True
    return False
