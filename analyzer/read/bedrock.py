"""Bedrock Converse: requests and responses, exchanges, streams as JSON events, and model invocation logs.

A result may be JSON by itself here, the only model API with such a thing; `status` says whether the tool failed.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.converse.messages import said_of, words_of
from analyzer.read.converse.stream import EVENTS, Streaming
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Ask, Dialogue, Said
from analyzer.read.dialogue.exchanged import Exchanged
from analyzer.read.members import held, listed
from analyzer.read.openai.cursor import Place
from analyzer.read.openai.exchange import Recorded, exchange_of
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, first

_URL = re.compile(r"/model/([^/]+)/converse(?:-stream)?(?:$|\?)")


class _Output(msgspec.Struct, gc=False):
    message: Raw = ABSENT


class _Tools(msgspec.Struct, gc=False):
    tools: Raw = ABSENT


class _Logged(msgspec.Struct, gc=False):
    inputBodyJson: Raw = ABSENT  # noqa: N815 - the wire's names
    outputBodyJson: Raw = ABSENT  # noqa: N815


class Record(Recorded, gc=False):
    """Everything that one record may be."""

    system: Raw = ABSENT
    toolConfig: Raw = ABSENT  # noqa: N815
    modelId: str | None = None  # noqa: N815
    operation: str | None = None
    stopReason: str | None = None  # noqa: N815
    schemaType: str | None = None  # noqa: N815
    messageStart: Raw = ABSENT  # noqa: N815
    contentBlockStart: Raw = ABSENT  # noqa: N815
    contentBlockDelta: Raw = ABSENT  # noqa: N815
    contentBlockStop: Raw = ABSENT  # noqa: N815
    messageStop: Raw = ABSENT  # noqa: N815
    metadata: Raw = ABSENT


_record = msgspec.json.Decoder(Record).decode
_output = msgspec.json.Decoder(_Output).decode
_tools = msgspec.json.Decoder(_Tools).decode
_logged = msgspec.json.Decoder(_Logged).decode


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
        "The bodies of InvokeModel are those of the model's own API: its lines in an invocation log are not read.",
        "Streams in their binary framing are not read, only events written as JSON.",
        "What a result answered is known only when a later request was recorded.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._records = Decoding(source, rows, _record, self.knows)
        self._dialogue = Dialogue(self.name, rows, said_of)
        self._streaming = Streaming(self._dialogue)
        self._exchanged = Exchanged(rows, self._dialogue, self._streaming.end)
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
        if len(record) == 1 and next(iter(record)) in EVENTS[:5] and isinstance(next(iter(record.values())), dict):
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
        self._streaming.end()

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
            self._streaming.end()
            message = held(_output, record.output, _Output())[0].message
            self._answer(said_of(bytes(message)), record, place)
            return True
        for name in EVENTS:
            if first(getattr(record, name)) == b"{":
                self._streaming.take(name, getattr(record, name), place)
                return True
        if first(record.error) == b"{" and not record.request:
            self._streaming.end()
            self._dialogue.fail(place)
            return True
        if any(first(each) == b"{" for each in (record.http, record.request)) or record.body:
            return self._exchange(record, place)
        return False

    def _asked(self, record: Record, place: Place, model: str | None) -> None:
        self._streaming.end()
        config = held(_tools, record.toolConfig, _Tools())[0]
        ask = Ask(
            listed(record.messages),
            tools=bytes(config.tools),
            tools_to="/toolConfig/tools",
            shape="bedrock",
            model=model,
            instructions=words_of(record.system),
        )
        self._dialogue.ask(ask, place)

    def _answer(self, said: Said, record: Record, place: Place) -> None:
        self._dialogue.answer(said, place, native="converse", to="/output/message", stop=record.stopReason)

    def _invocation(self, record: Record, place: Place) -> None:
        """A line of the provider's own log: request and response together."""
        place = msgspec.structs.replace(place, when=record.timestamp)
        self._dialogue.forget()
        if record.operation is not None and not record.operation.startswith("Converse"):
            self._streaming.end()
            self._dialogue.move(place)
            self._dialogue.cursor.event(record.operation, "unknown", self._dialogue.session)
            return
        asked = held(_record, held(_logged, record.input, _Logged())[0].inputBodyJson, Record())[0]
        self._asked(asked, _inside(place, "/input/inputBodyJson"), record.modelId)
        answered = held(_logged, record.output, _Logged())[0].outputBodyJson
        if first(answered) == b"{":
            self._take(held(_record, answered, Record())[0], bytes(answered), _inside(place, "/output/outputBodyJson"))
        for index, frame in enumerate(listed(answered)):
            inside = _inside(place, f"/output/outputBodyJson/{index}")
            self._take(held(_record, frame, Record())[0], frame, inside)
        self._streaming.end()

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
