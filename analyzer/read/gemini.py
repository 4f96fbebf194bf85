"""Gemini: generateContent bodies, exchanges and streams, of the developer API and of Vertex.

Calls mostly have no id: a call is the k-th of its name in the conversation, and a result answers the first open call of
its name. A result is an object by the wire's rule; one with an `error` member says that the tool failed.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Ask, Dialogue
from analyzer.read.dialogue.exchanged import Exchanged
from analyzer.read.google.contents import said_of
from analyzer.read.google.replies import Replies
from analyzer.read.members import held, listed
from analyzer.read.openai.cursor import Place
from analyzer.read.openai.exchange import Body, Recorded, exchange_of
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, first

_MODEL = re.compile(r"/models/([^/:?]+):(?:stream)?[gG]enerateContent")
_METHOD = re.compile(r":(?:stream)?[gG]enerateContent(?:$|\?)")


class _Config(msgspec.Struct, gc=False, rename="camel"):
    response_schema: Raw = ABSENT
    response_json_schema: Raw = ABSENT


class Record(Recorded, gc=False):
    """Everything that one record may be."""

    tools: Raw = ABSENT
    system_instruction: Raw = msgspec.field(default=ABSENT, name="systemInstruction")
    config: Raw = msgspec.field(default=ABSENT, name="generationConfig")
    response_id: str | None = msgspec.field(default=None, name="responseId")
    prompt_feedback: Raw = msgspec.field(default=ABSENT, name="promptFeedback")
    usage: Raw = msgspec.field(default=ABSENT, name="usageMetadata")
    model: str | None = None


_record = msgspec.json.Decoder(Record).decode
_records = msgspec.json.Decoder(list[Raw]).decode
_config = msgspec.json.Decoder(_Config).decode


class Gemini(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "gemini"
    title: ClassVar[str] = "Gemini: generateContent bodies, exchanges, streams"
    known_by: ClassVar[str] = (
        "`contents` with `parts`, `candidates` with a `content`; exchanges whose address ends in :generateContent or "
        ":streamGenerateContent"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Nothing names a session: requests are joined by the contents that they resend.",
        "Most calls have no id: of several open calls of one tool the first is taken to be answered.",
        "Whether a tool succeeded is told by an `error` member, which is a custom and no rule.",
        "Tools of the provider's own (search, code execution) have no schema: their arguments are not judged.",
        "What a result answered is known only when a later request was recorded.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._records = Decoding(source, rows, _record, self.knows)
        self._dialogue = Dialogue(self.name, rows, said_of, positional=True)
        self._replies = Replies(self._dialogue)
        self._exchanged = Exchanged(rows, self._dialogue, self._replies.end)
        self._memories = (self._dialogue,)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is of this wire."""
        if not isinstance(record, dict):
            return 0.0
        contents = record.get("contents")
        if isinstance(contents, list | dict):
            parts = [
                each for each in (contents if isinstance(contents, list) else [contents]) if isinstance(each, dict)
            ]
            return 1.0 if any("parts" in each for each in parts) else 0.2
        if isinstance(record.get("candidates"), list) or "usageMetadata" in record or "promptFeedback" in record:
            return 1.0
        if isinstance(record.get("error"), dict) and "type" not in record and "jsonrpc" not in record:
            return 0.3 if isinstance(record["error"].get("status"), str) else 0.1
        for half in (record.get("http"), record.get("request"), record):
            if not isinstance(half, dict):
                continue
            url = next((half[name] for name in ("url", "uri", "path") if isinstance(half.get(name), str)), "")
            if url:
                return float(_METHOD.search(url) is not None)
            for each in (half if half is not record else None, half.get("body") if half is not record else None):
                if isinstance(each, dict) and "contents" in each and (sure := Gemini.knows(each)):
                    return sure
        inner = (record.get("event"), record.get("data"), record.get("message"))
        return max((Gemini.knows(each) for each in inner if isinstance(each, dict)), default=0.0)

    def close(self) -> None:
        """A stream that breaks off."""
        self._replies.end()

    # --- what a record holds ----------------------------------------------------------------------------------------

    def _take(self, record: Record, raw: bytes, place: Place, *, top: bool = True) -> bool:
        del raw
        if first(record.candidates) == b"[" or record.prompt_feedback or (record.usage and record.response_id):
            event, faults = self._replies.take(record.candidates, record.response_id, place)
            self._rows.faults += [(event, None, *fault) for fault in faults]
            return True
        if first(record.contents) in (b"[", b"{"):
            self._asked(record, place, record.model)
            return True
        if first(record.error) == b"{" and not record.request:
            self._replies.end()
            self._dialogue.fail(place)
            return True
        if any(first(each) == b"{" for each in (record.http, record.request)) or record.body:
            return self._exchange(record, place)
        return top and self._records.enveloped(record, place, self._inside)

    def _inside(self, record: Record, raw: bytes, place: Place) -> bool:
        return self._take(record, raw, place, top=False)

    def _asked(self, record: Record, place: Place, model: str | None) -> None:
        self._replies.end()
        single = first(record.contents) == b"{"
        config = held(_config, record.config, _Config())[0]
        form = bytes(config.response_schema or config.response_json_schema).decode() or None
        system = said_of(bytes(record.system_instruction)).text if first(record.system_instruction) == b"{" else None
        ask = Ask(
            [bytes(record.contents)] if single else listed(record.contents),
            "" if single else "/contents",
            tools=bytes(record.tools),
            shape="gemini",
            model=model,
            text_format=form,
            instructions=system,
        )
        self._dialogue.ask(ask, place)

    def _exchange(self, record: Record, place: Place) -> bool:
        """A request and its response, recorded together."""
        try:
            exchange = exchange_of(record, _record)
        except msgspec.DecodeError:
            return False
        if exchange is None or (exchange.url and not _METHOD.search(exchange.url)):
            return False
        asked = self._records.body(exchange.request)
        if not exchange.url and (asked is None or not asked.contents):
            return False
        if asked is not None and first(asked.contents) not in (b"[", b"{"):
            asked = None
        named = _MODEL.search(exchange.url)

        def ask(request: Record, inside: Place) -> None:
            self._asked(request, inside, named[1] if named else request.model)

        self._exchanged.append(
            *(exchange, place, self._records), asked=asked, ask=ask, take=self._inside, frames=_frames
        )
        return True


def _frames(body: Body[Record]) -> list[bytes]:
    """The bodies in a response; a stream may be kept as one list."""
    frames: list[bytes] = []
    for frame in body.frames:
        frames += listed(frame) if first(frame.lstrip()) == b"[" else [frame]
    return frames
