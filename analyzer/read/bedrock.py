"""Bedrock Converse: requests and responses, exchanges, streams as JSON events, and model invocation logs.

A result may be JSON by itself here, the only model API with such a thing; `status` says whether the tool failed.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Ask, Call, Dialogue, Result, Said
from analyzer.read.dialogue.exchanged import Exchanged
from analyzer.read.members import held, listed
from analyzer.read.openai.cursor import Place
from analyzer.read.openai.exchange import Recorded, exchange_of
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Int64, Raw, arguments, first

_URL = re.compile(r"/model/([^/]+)/converse(?:-stream)?(?:$|\?)")
_STREAM = (
    *("messageStart", "contentBlockStart", "contentBlockDelta"),
    *("contentBlockStop", "messageStop", "metadata"),
)


class ToolUse(msgspec.Struct, gc=False):
    """A call."""

    toolUseId: str | None = None  # noqa: N815 - the wire's names
    name: str | None = None
    input: Raw = ABSENT


class ToolResult(msgspec.Struct, gc=False):
    """A result."""

    toolUseId: str | None = None  # noqa: N815
    content: Raw = ABSENT
    status: str | None = None


class Part(msgspec.Struct, gc=False):
    """A block of a message's content, or of a result's."""

    text: str | None = None
    json: Raw = ABSENT
    toolUse: Raw = ABSENT  # noqa: N815
    toolResult: Raw = ABSENT  # noqa: N815


class Message(msgspec.Struct, gc=False):
    """A message."""

    role: str | None = None
    content: Raw = ABSENT


class _Output(msgspec.Struct, gc=False):
    message: Raw = ABSENT


class _Tools(msgspec.Struct, gc=False):
    tools: Raw = ABSENT


class _Logged(msgspec.Struct, gc=False):
    inputBodyJson: Raw = ABSENT  # noqa: N815
    outputBodyJson: Raw = ABSENT  # noqa: N815


class _Piece(msgspec.Struct, gc=False):
    contentBlockIndex: Int64 | None = None  # noqa: N815
    start: Raw = ABSENT
    delta: Raw = ABSENT
    stopReason: str | None = None  # noqa: N815
    toolUse: Raw = ABSENT  # noqa: N815
    text: str | None = None


class Record(Recorded, gc=False):
    """Everything that one record may be."""

    system: Raw = ABSENT
    toolConfig: Raw = ABSENT  # noqa: N815
    modelId: str | None = None  # noqa: N815
    stopReason: str | None = None  # noqa: N815
    schemaType: str | None = None  # noqa: N815
    messageStart: Raw = ABSENT  # noqa: N815
    contentBlockStart: Raw = ABSENT  # noqa: N815
    contentBlockDelta: Raw = ABSENT  # noqa: N815
    contentBlockStop: Raw = ABSENT  # noqa: N815
    messageStop: Raw = ABSENT  # noqa: N815
    metadata: Raw = ABSENT


_record = msgspec.json.Decoder(Record).decode
_message = msgspec.json.Decoder(Message).decode
_part = msgspec.json.Decoder(Part).decode
_use = msgspec.json.Decoder(ToolUse).decode
_result = msgspec.json.Decoder(ToolResult).decode
_output = msgspec.json.Decoder(_Output).decode
_tools = msgspec.json.Decoder(_Tools).decode
_logged = msgspec.json.Decoder(_Logged).decode
_piece = msgspec.json.Decoder(_Piece).decode


class _Open(msgspec.Struct):
    """A call that comes in pieces."""

    use: ToolUse
    pieces: list[str] = []


class _Stream(msgspec.Struct):
    """A reply that comes in pieces."""

    place: Place
    calls: dict[int, _Open] = {}
    texts: list[str] = []


class BedrockConverse(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "bedrock"
    title: ClassVar[str] = "Bedrock Converse: bodies, exchanges, streams, invocation logs"
    known_by: ClassVar[str] = (
        "`messages` with blocks `toolUse`, `toolResult` or beside `toolConfig`, `inferenceConfig`; responses with "
        "`output.message` and `stopReason`; `schemaType` ModelInvocationLog; exchanges under /model/ID/converse"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Nothing names a session: requests are joined by the messages and the call ids that they resend.",
        "Output schemas are not on this wire: give them as contract files.",
        "A result without `status` counts as neither success nor failure.",
        "Streams in their binary framing are not read, only events written as JSON.",
        "What a result answered is known only when a later request was recorded.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._records = Decoding(source, rows, _record, self.knows)
        self._dialogue = Dialogue(self.name, rows, _said)
        self._exchanged = Exchanged(rows, self._dialogue, self._end)
        self._stream: _Stream | None = None
        self._memories = (self._dialogue,)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is of this wire."""
        if not isinstance(record, dict):
            return 0.0
        if record.get("schemaType") == "ModelInvocationLog" and "messages" in _body(record):
            return 1.0
        if isinstance(record.get("messages"), list) and "type" not in record:
            return _knows_messages(record)
        output = record.get("output")
        if isinstance(output, dict) and isinstance(output.get("message"), dict):
            return 1.0 if "stopReason" in record else 0.5
        if len(record) == 1 and next(iter(record)) in _STREAM[:5] and isinstance(next(iter(record.values())), dict):
            return 1.0
        for half in (record.get("http"), record.get("request"), record):
            if not isinstance(half, dict):
                continue
            url = next((half[name] for name in ("url", "uri", "path") if isinstance(half.get(name), str)), "")
            if url:
                return float(_URL.search(url) is not None)
            for each in (half if half is not record else None, half.get("body") if half is not record else None):
                if isinstance(each, dict) and "messages" in each and (sure := BedrockConverse.knows(each)):
                    return sure
        return 0.0

    def close(self) -> None:
        """A stream that breaks off."""
        self._end()

    # --- what a record holds ----------------------------------------------------------------------------------------

    def _take(self, record: Record, raw: bytes, place: Place) -> bool:
        del raw
        if record.schemaType == "ModelInvocationLog":
            self._invocation(record, place)
            return True
        if first(record.messages) == b"[":
            self._asked(record, place, record.modelId)
            return True
        if first(record.output) == b"{" and (record.stopReason is not None or not record.input):
            self._end()
            message = held(_output, record.output, _Output())[0].message
            self._answer(_said(bytes(message)), record, place)
            return True
        if any(first(getattr(record, name)) == b"{" for name in _STREAM):
            self._piece(record, place)
            return True
        if first(record.error) == b"{" and not record.request:
            self._end()
            self._dialogue.fail(place)
            return True
        if any(first(each) == b"{" for each in (record.http, record.request)) or record.body:
            return self._exchange(record, place)
        return False

    def _asked(self, record: Record, place: Place, model: str | None) -> None:
        self._end()
        config = held(_tools, record.toolConfig, _Tools())[0]
        ask = Ask(
            listed(record.messages),
            tools=bytes(config.tools),
            tools_to="/toolConfig/tools",
            shape="bedrock",
            model=model,
            instructions=_words(record.system),
        )
        self._dialogue.ask(ask, place)

    def _answer(self, said: Said, record: Record, place: Place) -> None:
        if record.stopReason == "max_tokens":
            for call in said.calls[-1:]:
                call.status = "incomplete"
        self._dialogue.answer(said, place, native="converse", to="/output/message", stop=record.stopReason)

    def _invocation(self, record: Record, place: Place) -> None:
        """A line of the provider's own log: request and response together."""
        place = msgspec.structs.replace(place, when=record.timestamp)
        self._dialogue.forget()
        asked = held(_record, held(_logged, record.input, _Logged())[0].inputBodyJson, Record())[0]
        self._asked(asked, _inside(place, "/input/inputBodyJson"), record.modelId)
        answered = held(_logged, record.output, _Logged())[0].outputBodyJson
        if first(answered) == b"{":
            self._take(held(_record, answered, Record())[0], bytes(answered), _inside(place, "/output/outputBodyJson"))
        for index, frame in enumerate(listed(answered)):
            inside = _inside(place, f"/output/outputBodyJson/{index}")
            self._take(held(_record, frame, Record())[0], frame, inside)
        self._end()

    def _exchange(self, record: Record, place: Place) -> bool:
        """A request and its response, recorded together."""
        try:
            exchange = exchange_of(record, _record)
        except msgspec.DecodeError:
            return False
        named = None if exchange is None else _URL.search(exchange.url)
        if exchange is None or (exchange.url and named is None):
            return False
        asked = self._records.body(exchange.request)
        if asked is not None and first(asked.messages) != b"[":
            asked = None
        if named is None and asked is None:
            return False

        def ask(request: Record, inside: Place) -> None:
            self._asked(request, inside, named[1] if named else request.modelId)

        self._exchanged.append(exchange, place, self._records, asked=asked, ask=ask, take=self._take)
        return True

    # --- streams ----------------------------------------------------------------------------------------------------

    def _piece(self, record: Record, place: Place) -> None:
        name = next(name for name in _STREAM if first(getattr(record, name)) == b"{")
        piece = held(_piece, getattr(record, name), _Piece())[0]
        if name == "messageStart" or (self._stream is None and name != "metadata"):
            self._end()
            self._stream = _Stream(place)
        self._dialogue.move(place)
        self._dialogue.cursor.event(name, "delta", self._dialogue.session)
        stream = self._stream
        if stream is None:
            return
        stream.place = place
        index = piece.contentBlockIndex or 0
        if name == "contentBlockStart":
            start = held(_piece, piece.start, _Piece())[0]
            if first(start.toolUse) == b"{":
                stream.calls[index] = _Open(held(_use, start.toolUse, ToolUse())[0])
        elif name == "contentBlockDelta":
            delta = held(_piece, piece.delta, _Piece())[0]
            stream.texts += [delta.text] if delta.text else []
            if first(delta.toolUse) == b"{":
                use = held(_use, delta.toolUse, ToolUse())[0]
                text = arguments(use.input)[0] if use.input else None
                stream.calls.setdefault(index, _Open(ToolUse())).pieces += [text] if text else []
        elif name == "messageStop":
            self._end(piece.stopReason or "end_turn")

    def _end(self, stop: str | None = None) -> None:
        """The streamed reply is whole, or it breaks off."""
        stream, self._stream = self._stream, None
        if stream is None:
            return
        cut = "in_progress" if stop is None else "incomplete" if stop == "max_tokens" else None
        last = max(stream.calls, default=0)
        calls = [
            Call(
                *(each.use.toolUseId, each.use.name, "".join(each.pieces) or "{}", "object"),
                status=cut if index == last else None,
            )
            for index, each in sorted(stream.calls.items())
        ]
        said = Said("assistant", "".join(stream.texts) or None, calls=calls)
        place = msgspec.structs.replace(stream.place, opaque=True)
        self._dialogue.answer(said, place, native="converse-stream", stop=stop, stage="stream")


def _said(raw: bytes) -> Said:
    """What one message says."""
    message, faults = held(_message, raw, Message())
    said = Said(message.role, faults=faults)
    texts: list[str] = []
    for index, each in enumerate(listed(message.content)):
        part = held(_part, each, Part())[0]
        to = f"/content/{index}"
        if part.text is not None:
            texts.append(part.text)
            said.to = said.to or f"{to}/text"
        if first(part.toolUse) == b"{":
            use = held(_use, part.toolUse, ToolUse())[0]
            text, container = arguments(use.input)
            where = f"{to}/toolUse" + ("/input" if use.input else "")
            said.calls = [*said.calls, Call(use.toolUseId, use.name, text, container, where)]
        if first(part.toolResult) == b"{":
            result = held(_result, part.toolResult, ToolResult())[0]
            text, container = _content(result.content)
            where = f"{to}/toolResult" + ("/content" if result.content else "")
            success = {"error": False, "success": True}.get(result.status or "")
            said.results = [*said.results, Result(result.toolUseId, None, text, container, where, success)]
    said.text = "\n".join(texts) if texts else None
    return said


def _content(raw: Raw) -> tuple[str | None, str]:
    """The text of a result; a single JSON value is itself."""
    parts = [held(_part, each, Part())[0] for each in listed(raw)]
    values = [part.json for part in parts if part.json]
    if len(parts) == 1 and values:
        return arguments(values[0])
    if first(raw) != b"[":
        return arguments(raw)
    texts = [part.text if part.text is not None else bytes(part.json).decode() for part in parts]
    return "\n".join(filter(None, texts)), "parts"


def _words(raw: Raw) -> str | None:
    return "\n".join(filter(None, (held(_part, each, Part())[0].text for each in listed(raw)))) or None


def _inside(place: Place, member: str) -> Place:
    return msgspec.structs.replace(place, pointer=place.pointer + member)


def _body(record: dict[str, Any]) -> dict[str, Any]:
    held_ = record.get("input")
    body = held_.get("inputBodyJson") if isinstance(held_, dict) else None
    return body if isinstance(body, dict) else {}


def _knows_messages(record: dict[str, Any]) -> float:
    if "toolConfig" in record or "inferenceConfig" in record:
        return 1.0
    blocks = [
        block
        for message in record["messages"]
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        for block in message["content"]
        if isinstance(block, dict)
    ]
    if any("toolUse" in block or "toolResult" in block for block in blocks):
        return 1.0
    return 0.7 if blocks and all("type" not in block for block in blocks) else 0.0
