"""Bedrock Converse: requests and responses, exchanges, streams as JSON events, and model invocation logs.

Of the lines of an invocation log that are no Converse, those with the bodies of Anthropic's Messages are read as such.

A result may be JSON by itself here, the only model API with such a thing; `status` says whether the tool failed.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.anthropic import AnthropicMessages
from analyzer.read.claude.bodies import Record as Asked
from analyzer.read.claude.bodies import record_of
from analyzer.read.converse.messages import said_of, words_of
from analyzer.read.converse.stream import EVENTS, Streaming
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Ask, Dialogue, Said
from analyzer.read.dialogue.exchanged import Exchanged
from analyzer.read.exchange import Body, Exchange, exchange_of
from analyzer.read.members import held, listed
from analyzer.read.recorded import Recorded, is_exchange, sure_of
from analyzer.read.records import Block
from analyzer.read.recover import Fault
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, first

_REFUSED = 400
_ELSEWHERE = "a body that is kept outside of the log"
_URL = re.compile(r"/model/([^/]+)/converse(?:-stream)?(?:$|\?)")


class _Output(msgspec.Struct, gc=False):
    message: Raw = ABSENT


class _Tools(msgspec.Struct, gc=False):
    tools: Raw = ABSENT


class _Logged(msgspec.Struct, gc=False):
    inputBodyJson: Raw = ABSENT  # noqa: N815 - the wire's names
    outputBodyJson: Raw = ABSENT  # noqa: N815
    inputBodyS3Path: str | None = None  # noqa: N815
    outputBodyS3Path: str | None = None  # noqa: N815


class Record(Recorded, gc=False):
    """Everything that one record may be."""

    system: Raw = ABSENT
    toolConfig: Raw = ABSENT  # noqa: N815
    modelId: str | None = None  # noqa: N815
    operation: str | None = None
    errorCode: str | None = None  # noqa: N815
    anthropic_version: str | None = None
    stopReason: str | None = None  # noqa: N815
    schemaType: str | None = None  # noqa: N815
    schemaVersion: str | None = None  # noqa: N815
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
        "Of requests that wait at once, logged apart from their replies, a reply that is not resent stands alone.",
        "Output schemas are not on this wire: give them as contract files.",
        "A result without `status` counts as neither success nor failure.",
        "The bodies of InvokeModel are those of a model's own API: read are Anthropic's and those that are Converse's.",
        "Events name no stream: of streams woven into each other calls stand without arguments.",
        "Large bodies lie beside an invocation log and are not read.",
        "Streams in their binary framing are read in recorded exchanges only; elsewhere, events written as JSON.",
        "What a result answered is known only when a later request was recorded.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._records = Decoding(source, rows, _record, self.knows)
        self._dialogue = Dialogue(self.name, rows, said_of, apart=True)
        self._streaming = Streaming(self._dialogue)
        self._exchanged = Exchanged(rows, self._dialogue, self._streaming.end)
        self._anthropic = AnthropicMessages(source, rows)
        self._memories = (self._dialogue,)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is of this wire."""
        if not isinstance(record, dict):
            return 0.0
        if record.get("schemaType") == "ModelInvocationLog":
            return 1.0
        if isinstance(record.get("messages"), list) and "type" not in record:
            return _knows_messages(record)
        output = record.get("output")
        if isinstance(output, dict) and isinstance(output.get("message"), dict):
            return 1.0 if "stopReason" in record else 0.5
        if len(record) == 1 and next(iter(record)) in EVENTS[:5] and isinstance(next(iter(record.values())), dict):
            return 1.0
        return sure_of(record, lambda url: float(bool(_URL.search(url))), _knows_body)

    def close(self) -> None:
        """A stream that breaks off, and replies that may be of several requests."""
        self._streaming.end()
        self._dialogue.close()
        self._anthropic.close()

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        others = super().read(block)
        for each in (self._dialogue, self._streaming):
            each.place(partial(self._records.placed, block))  # what they keep is appended later
        return others

    # --- what a record holds ----------------------------------------------------------------------------------------

    def _take(self, record: Record, raw: bytes, place: Place) -> bool:
        if record.schemaType == "ModelInvocationLog":
            self._invocation(record, place)
            return True
        if first(record.messages) == b"[" and self._records.own(raw, bytes(record.toolConfig)):
            self._asked(record, place, record.modelId)
            message = held(_output, record.output, _Output())[0].message
            if message:
                self._answer(said_of(bytes(message)), record, place)
                return True
            faults = self._records.beside(record, place, self._take)
            self._rows.faults += [(place.event, self._dialogue.session, *fault) for fault in faults]
            return True
        if first(record.output) == b"{" and (record.stopReason is not None or not record.input):
            message = held(_output, record.output, _Output())[0].message
            if message or record.stopReason is not None:
                self._streaming.end()
                self._answer(said_of(bytes(message)), record, place)
                return True
        for name in EVENTS:
            told = getattr(record, name)
            if first(told) == b"{" and (name != "metadata" or b'"usage"' in bytes(told)):
                self._streaming.take(name, getattr(record, name), place)
                return True
        if not record.request and self._records.fails(record, raw):
            self._streaming.end()
            self._dialogue.fail(place)
            return True
        if is_exchange(record):
            return self._exchange(record, raw, place)
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
        self._streaming.end()
        asked, answered = held(_logged, record.input, _Logged())[0], held(_logged, record.output, _Logged())[0]
        request = held(_record, asked.inputBodyJson, Record())[0]
        elsewhere = [path for path in (asked.inputBodyS3Path, answered.outputBodyS3Path) if path is not None]
        self._rows.faults += [(place.event, None, *Fault("unknown_item", "", _ELSEWHERE)) for _ in elsewhere]
        converse = record.operation is None or record.operation.startswith("Converse")
        if not converse and not request.toolConfig and request.schemaVersion is None:
            if request.anthropic_version is None or not self._invoked(record, asked, answered, place):
                self._dialogue.move(place)
                self._dialogue.cursor.event(record.operation or "", "unknown", self._dialogue.session)
            return
        self._asked(request, _inside(place, "/input/inputBodyJson"), record.modelId)
        body = answered.outputBodyJson
        if first(body) == b"{":
            self._take(held(_record, body, Record())[0], bytes(body), _inside(place, "/output/outputBodyJson"))
        for index, frame in enumerate(listed(body)):
            inside = _inside(place, f"/output/outputBodyJson/{index}")
            self._take(held(_record, frame, Record())[0], frame, inside)
        self._streaming.end()
        if record.errorCode is not None:
            self._dialogue.fail(place)

    def _invoked(self, record: Record, asked: _Logged, answered: _Logged, place: Place) -> bool:
        """The same with the bodies of Anthropic's Messages; whether they are."""
        body = held(record_of, asked.inputBodyJson, None)[0]
        if body is None:
            return False
        body.model = body.model or record.modelId
        to, raw = "/output/outputBodyJson", bytes(answered.outputBodyJson)
        request = Body((bytes(asked.inputBodyJson),), "/input/inputBodyJson", False, False, body)
        response: Body[Asked] | None = Body((raw,), to, opaque=False) if raw[:1] == b"{" else None
        if raw[:1] == b"[":
            response = Body(tuple(listed(raw)), to, opaque=True, stream=True)
        status = None if record.errorCode is None else _REFUSED
        return self._anthropic.append(Exchange("", request, response, status, record.timestamp), place)

    def _exchange(self, record: Record, raw: bytes, place: Place) -> bool:
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
        if named is None and (asked is None or not self._records.own(raw, bytes(asked.toolConfig))):
            return False

        def ask(request: Record, inside: Place) -> None:
            self._asked(request, inside, named[1] if named else request.modelId)

        self._exchanged.append(exchange, place, self._records, asked=asked, ask=ask, take=self._take)
        return True


def _inside(place: Place, member: str) -> Place:
    return msgspec.structs.replace(place, pointer=place.pointer + member)


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


def _knows_body(body: dict[str, Any]) -> float:
    return BedrockConverse.knows(body) if "messages" in body else 0.0
