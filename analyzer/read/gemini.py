"""Gemini: generateContent bodies, exchanges and streams, of the developer API and of Vertex.

Calls mostly have no id: a call is the k-th of its name in the conversation, and a result answers the first open call of
its name. A result is an object by the wire's rule; one with an `error` member says that the tool failed. Read are the
spelling of the API and those of its clients' dumps: google-genai's models, with nulls, and protocol buffers.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Ask, Dialogue
from analyzer.read.dialogue.exchanged import Exchanged
from analyzer.read.exchange import exchange_of
from analyzer.read.google.contents import said_of
from analyzer.read.google.replies import Replies
from analyzer.read.members import held, listed
from analyzer.read.recorded import Recorded, enclosed_in, is_exchange, sure_of
from analyzer.read.records import Block
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, first

_MODEL = re.compile(r"/models/([^/:?]+):(?:stream)?[gG]enerateContent")
_ROLES = ("user", "model", "function")
_METHOD = re.compile(r":(?:stream)?[gG]enerateContent(?:$|\?)")


class _Config(msgspec.Struct, gc=False, rename="camel"):
    response_schema: Raw = ABSENT
    response_json_schema: Raw = ABSENT
    schema: Raw = msgspec.field(default=ABSENT, name="response_schema")
    json_schema: Raw = msgspec.field(default=ABSENT, name="response_json_schema")
    tools: Raw = ABSENT
    system_instruction: Raw = msgspec.field(default=ABSENT, name="systemInstruction")
    system: Raw = msgspec.field(default=ABSENT, name="system_instruction")
    cached: str | None = msgspec.field(default=None, name="cached_content")


class Record(Recorded, gc=False):
    """Everything that one record may be; the provider's clients write other names than its API."""

    tools: Raw = ABSENT
    system_instruction: Raw = msgspec.field(default=ABSENT, name="systemInstruction")
    generation: Raw = msgspec.field(default=ABSENT, name="generationConfig")
    response_id: str | None = msgspec.field(default=None, name="responseId")
    prompt_feedback: Raw = msgspec.field(default=ABSENT, name="promptFeedback")
    usage: Raw = msgspec.field(default=ABSENT, name="usageMetadata")
    cached_content: str | None = msgspec.field(default=None, name="cachedContent")
    model: str | None = None
    role: str | None = None
    parts: Raw = ABSENT
    system: Raw = msgspec.field(default=ABSENT, name="system_instruction")
    generation_config: Raw = ABSENT
    config: Raw = ABSENT
    reply_id: str | None = msgspec.field(default=None, name="response_id")
    feedback: Raw = msgspec.field(default=ABSENT, name="prompt_feedback")
    used: Raw = msgspec.field(default=ABSENT, name="usage_metadata")
    cached: str | None = msgspec.field(default=None, name="cached_content")
    ran: Raw = msgspec.field(default=ABSENT, name="automatic_function_calling_history")
    ran_for: Raw = msgspec.field(default=ABSENT, name="automaticFunctionCallingHistory")


_record = msgspec.json.Decoder(Record).decode
_records = msgspec.json.Decoder(list[Raw]).decode
_config = msgspec.json.Decoder(_Config).decode


class Gemini(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "gemini"
    title: ClassVar[str] = "Gemini: generateContent bodies, exchanges, streams"
    known_by: ClassVar[str] = (
        "`contents` with `parts`, `candidates` with a `content`, in the spelling of the API or of its clients; "
        "messages of role `user` or `model` with `parts`; exchanges whose address ends in :generateContent or "
        ":streamGenerateContent"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Nothing names a session: requests are joined by the contents that they resend.",
        "Of requests that wait at once, logged apart from their replies, a reply that is not resent stands alone.",
        "Tools are known only where the request was recorded: a saved history and a response alone hold none.",
        "Most calls have no id: of several open calls of one tool the first is taken to be answered.",
        "Whether a tool succeeded is told by an `error` member, which is a custom and no rule.",
        "Tools of the provider's own (search, code execution) have no schema: their arguments are not judged.",
        "Tools in cached contents are not in the log: give them as contract files.",
        "What a result answered is known only when a later request was recorded.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._records = Decoding(source, rows, _record, self.knows)
        self._dialogue = Dialogue(self.name, rows, said_of, positional=True, apart=True)
        self._replies = Replies(self._dialogue)
        self._exchanged = Exchanged(rows, self._dialogue, self._replies.end)
        self._memories = (self._dialogue,)
        self._last = Ask([])

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
        if isinstance(contents, str) and isinstance(record.get("config"), dict):
            return 0.6
        if isinstance(record.get("candidates"), list) or "usageMetadata" in record or "promptFeedback" in record:
            return 1.0
        if "usage_metadata" in record and {"prompt_feedback", "candidates"} & record.keys():
            return 1.0
        if "parts" in record:
            return _knows_message(record)
        if isinstance(record.get("error"), dict) and not {"type", "object", "jsonrpc"} & record.keys():
            return 0.3 if isinstance(record["error"].get("status"), str) else 0.1
        sure = sure_of(record, lambda url: float(bool(_METHOD.search(url))), _knows_body)
        inner = enclosed_in(record)
        return max((Gemini.knows(each) for each in inner), default=sure) or sure

    def close(self) -> None:
        """A stream that breaks off, and replies that may be of several requests."""
        self._replies.end()
        self._dialogue.close()

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        others = super().read(block)
        for each in (self._dialogue, self._replies):
            each.place(partial(self._records.placed, block))  # what they keep is appended later
        return others

    # --- what a record holds ----------------------------------------------------------------------------------------

    def _take(self, record: Record, raw: bytes, place: Place, *, top: bool = True) -> bool:
        replied = record.prompt_feedback or record.feedback
        if first(record.candidates) == b"[" or replied or (record.usage and record.response_id) or record.used:
            self._ran(record, place)
            reply = record.response_id or record.reply_id
            event, faults = self._replies.take(record.candidates, reply, place)
            self._rows.faults += [(event, None, *fault) for fault in faults]
            return True
        if first(record.contents) in (b"[", b"{") or (record.contents and first(record.config) == b"{"):
            self._asked(record, place, record.model)
            faults = self._records.beside(record, place, self._inside)
            self._rows.faults += [(place.event, self._dialogue.session, *fault) for fault in faults]
            return True
        if not record.request and self._records.fails(record, raw):
            self._replies.end()
            self._dialogue.fail(place)
            return True
        if first(record.parts) == b"[" and record.role in _ROLES:
            self._replies.end()
            self._dialogue.append(raw, place)  # one message of a list that has a record for each
            return True
        if is_exchange(record):
            return self._exchange(record, place)
        return top and self._records.enveloped(record, place, self._inside)

    def _inside(self, record: Record, raw: bytes, place: Place) -> bool:
        return self._take(record, raw, place, top=False)

    def _asked(self, record: Record, place: Place, model: str | None) -> None:
        self._replies.end()
        single = first(record.contents) != b"["
        config = held(_config, record.config, _Config())[0]
        form = held(_config, record.generation or record.generation_config or record.config, _Config())[0]
        schema = form.response_schema or form.schema or form.response_json_schema or form.json_schema
        inner = not record.tools or bytes(record.tools) == b"null"
        tools = config.tools if inner else record.tools
        # Without a table, or with one that lies with the provider, nothing is said of what was offered.
        unsaid = bytes(tools) == b"null" or record.cached_content or record.cached or config.cached
        system = record.system_instruction or record.system or config.system_instruction or config.system
        ask = Ask(
            [bytes(record.contents)] if single else listed(record.contents),
            "/contents",
            single=single,
            tools=b"" if unsaid else bytes(tools),
            tools_to="/config/tools" if inner else "/tools",
            shape="gemini",
            model=model,
            text_format=None if first(schema) != b"{" else bytes(schema).decode(),
            instructions=None if first(system) not in (b"{", b'"') else said_of(bytes(system)).text,
        )
        self._dialogue.ask(ask, place)
        self._last = ask

    def _ran(self, record: Record, place: Place) -> None:
        """The calls that a client made by itself before it gave the answer, after the contents that it was given."""
        history = record.ran_for or record.ran
        if first(history) != b"[" or bytes(history) == b"[]":
            return
        self._replies.end()
        to = "/automaticFunctionCallingHistory" if record.ran_for else "/automatic_function_calling_history"
        self._last = msgspec.structs.replace(self._last, raws=listed(history), to=to, single=False)
        self._dialogue.ask(self._last, place)

    def _exchange(self, record: Record, place: Place) -> bool:
        """A request and its response, recorded together."""
        try:
            exchange = exchange_of(record, _record)
        except msgspec.DecodeError:
            return False
        if exchange is None or (exchange.url and not _METHOD.search(exchange.url)):
            return False
        self._last = Ask([])
        asked = self._records.body(exchange.request)
        if not exchange.url and (asked is None or not asked.contents):
            return False
        if asked is not None and not asked.contents:
            asked = None
        named = _MODEL.search(exchange.url)

        def ask(request: Record, inside: Place) -> None:
            self._asked(request, inside, named[1] if named else request.model)

        self._exchanged.append(*(exchange, place, self._records), asked=asked, ask=ask, take=self._inside)
        return True


def _knows_message(record: dict[str, Any]) -> float:
    """How surely a record is one message of a list; parts of other wires' messages have a type."""
    parts = record["parts"]
    if record.get("role") not in _ROLES or not isinstance(parts, list) or not parts:
        return 0.0
    return 0.9 if all(isinstance(each, dict) and not {"type", "kind"} & each.keys() for each in parts) else 0.0


def _knows_body(body: dict[str, Any]) -> float:
    return Gemini.knows(body) if "contents" in body else 0.0
