"""Langfuse downloads: a trace with its observations, or observations alone, whatever framework wrote their payloads.

Records of other tracers that keep messages in an input and a reply in an output are read as generations, too.

Inputs and outputs are mostly JSON in texts, up to four deep. A generation holds what was sent to the model and what it
said, a tool observation what was run; a tool mostly has no call id, and ran the first open call of its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.anymessage import call_of, unpacked
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Ask, Dialogue, Said, Unrun, unchosen
from analyzer.read.payloads import call_id_in, defined, is_step, messages_of, opened, replies_of, said_in, table_of
from analyzer.read.rows import Rows
from analyzer.read.values import contained, encoded


class Observation(msgspec.Struct, gc=False):
    """One observation, or a record that holds several."""

    id: str | None = None
    type: str | None = None
    name: str | None = None
    traceId: str | None = None  # noqa: N815 - the API's names
    startTime: str | None = None  # noqa: N815
    model: str | None = None
    input: Any = None
    output: Any = None
    metadata: Any = None
    level: str | None = None
    statusMessage: str | None = None  # noqa: N815
    sessionId: str | None = None  # noqa: N815
    trace: Any = None
    observations: list[Any] | None = None
    toolCalls: list[Any] | None = None  # noqa: N815
    toolDefinitions: dict[str, Any] | None = None  # noqa: N815
    inputs: Any = None
    outputs: Any = None
    session_id: str | None = None
    conversation_id: str | None = None
    trace_id: str | None = None
    start_time: str | None = None
    provided_model_name: str | None = None
    status_message: str | None = None
    tool_calls: Any = None
    tool_definitions: Any = None
    data: list[Any] | None = None

    @property
    def unread(self) -> bool:
        """Whether the arguments of a tool are there and cannot be read."""
        return False

    def named(self) -> Observation:
        """The same under the names of the API; tables that the service exports have others."""
        self.traceId, self.startTime = self.traceId or self.trace_id, self.startTime or self.start_time
        self.sessionId, self.model = self.sessionId or self.session_id, self.model or self.provided_model_name
        self.statusMessage = self.statusMessage or self.status_message
        calls, definitions = opened(self.tool_calls), opened(self.tool_definitions)
        self.toolCalls = self.toolCalls or (calls if isinstance(calls, list) else None)
        self.toolDefinitions = self.toolDefinitions or (definitions if isinstance(definitions, dict) else None)
        return self


_MARKS = (("traceId", "startTime"), ("trace_id", "start_time"))
_record = msgspec.json.Decoder(Observation).decode


class Langfuse(RecordAdapter[Observation]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "langfuse"
    title: ClassVar[str] = "Langfuse trace downloads and observations; input and output of other tracers"
    known_by: ClassVar[str] = (
        "`trace` beside `observations`, or observations with `traceId`, `type` and `startTime`; an `output` beside an "
        "`input` that holds messages"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Payloads are in the shape of whatever framework was traced: what is in no known shape is not read.",
        "Tool tables are recorded only where the framework passed them on.",
        "Tools mostly have no call id: of several open calls of one name the first is taken to be run.",
        "Payloads are kept as texts in texts: a pointer leads to the outermost one.",
    )

    members: ClassVar[tuple[str, str]] = ("input", "output")
    """Where an observation has what was given and what came of it."""
    wrapped: ClassVar[bool] = False
    """Whether what came of a tool is the one member of an object."""

    def __init__(self, source: int, rows: Rows) -> None:
        self._records: Decoding[Any] = Decoding(source, rows, self.observed, self.knows)
        self._rows = rows
        self._dialogue = Dialogue(self.name, rows, said_in, executed=True)
        memory = rows.shared.setdefault(f"{self.name} calls", ({}, {}))
        self._open: dict[str, Unrun] = memory[0]
        """By session the calls that no observation shows to be run."""
        self._runs: dict[tuple[str, str | None], int] = memory[1]
        self._memories = (self._dialogue,)

    @staticmethod
    def observed(raw: bytes) -> Observation:
        """Read a record."""
        return _record(raw)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is a download or an observation."""
        if not isinstance(record, dict):
            return 0.0
        if isinstance(record.get("observations"), list):
            return 1.0 if isinstance(record.get("trace"), dict) or "traceId" in record else 0.6
        if isinstance(record.get("type"), str) and any(set(each) <= record.keys() for each in _MARKS):
            return 0.9
        page = record.get("data")
        if isinstance(page, list) and page and "meta" in record:
            return Langfuse.knows(page[0])
        return 0.3 if is_step(*(record.get(name, record.get(f"{name}s")) for name in ("input", "output"))) else 0.0

    def _take(self, record: Observation, raw: bytes, place: Place) -> bool:
        page = record.observations if record.observations is not None else record.data
        if record.observations is None and page is not None and not self._records.own(raw):
            return False
        if page is None and (record.named().traceId is None or record.type is None):
            return self._step(record, place)
        if page is None:
            self._observation(record, place, record.sessionId or record.traceId or "")
            return True
        trace = record.trace if isinstance(record.trace, dict) else {}
        named = [trace.get("sessionId"), record.sessionId, trace.get("id")]
        listed: list[tuple[str, int, Observation]] = []
        for index, each in enumerate(page):
            try:
                one = msgspec.convert(each, Observation).named()
            except (msgspec.ValidationError, RecursionError):
                continue
            listed.append((one.startTime or "", index, one))
        session = next((name for name in named if isinstance(name, str) and name), "")
        for _, index, one in sorted(listed, key=lambda each: each[:2]):
            to = f"{place.pointer}/{'data' if record.observations is None else 'observations'}/{index}"
            mine = session or one.sessionId or one.traceId or ""
            self._observation(one, msgspec.structs.replace(place, pointer=to), mine)
        if not listed:
            self._dialogue.move(place)
            self._dialogue.cursor.event("trace", "notice", session or None)
        return True

    def _observation(self, one: Observation, place: Place, session: str) -> None:
        here = msgspec.structs.replace(place, when=one.startTime)
        kind = (one.type or "").upper()
        if kind in ("GENERATION", "LLM"):
            self._generation(one, here, session)
        elif kind == "TOOL":
            self._tool(one, here, session)
        else:
            self._dialogue.move(here)
            failed = one.level == "ERROR"
            self._dialogue.cursor.event(kind or "observation", "error" if failed else "notice", session or None)

    def _step(self, record: Observation, place: Place) -> bool:
        """A record of another tracer: a call of the model, where an input of messages says so."""
        members = [name if getattr(record, name) is not None else f"{name}s" for name in ("input", "output")]
        record.input, record.output = (getattr(record, name) for name in members)
        if not is_step(record.input, record.output):
            return False
        session = record.sessionId or record.session_id or record.conversation_id or record.traceId or ""
        self._generation(record, place, session, members)
        return True

    def _generation(self, one: Observation, here: Place, session: str, members: Sequence[str] | None = None) -> None:
        """A call of the model; `members` are those that hold what was sent and what it said."""
        members = members or self.members
        value, layers = unpacked(one.input)
        messages, to = messages_of(value)
        at = msgspec.structs.replace(here, pointer=f"{here.pointer}/{members[0]}", opaque=layers > 0)
        tools, tools_to = table_of(value, one.metadata)
        ask = Ask(
            list(map(encoded, messages)),
            to,
            session or None,
            tools=tools or defined(one.toolDefinitions),
            tools_to=tools_to if messages else None,
            model=one.model,
        )
        self._dialogue.ask(ask, at if messages else here)
        if one.level == "ERROR" and one.output is None:
            self._dialogue.fail(here)
            return
        value, layers = unpacked(one.output)
        at = msgspec.structs.replace(here, pointer=f"{here.pointer}/{members[1]}", opaque=layers > 0)
        replies = replies_of(value)
        if one.toolCalls and not any(said.calls for said, _ in replies):
            calls = [call_of(each, "") for each in map(opened, one.toolCalls) if isinstance(each, dict)]
            at, replies = msgspec.structs.replace(here, opaque=True), [(Said("assistant", calls=calls), "")]
        unrun = self._open.setdefault(session, Unrun())
        for nth, (said, to) in enumerate(replies):
            for call in said.calls:
                if call.container == "absent":  # left out by the tracer
                    call.status = "redacted"
            if len(replies) > 1:
                unchosen(said, None)
            # A generation inside another one tells the same reply.
            ids = [call.call_id for call in said.calls]
            reply = "+".join(map(str, ids)) if ids and all(ids) else f"{one.id}#{nth}" if nth else one.id
            self._dialogue.answer(said, at, native="GENERATION", to=to, reply=reply)
            unrun.expect(self._dialogue.made)

    def _invoker(self, one: Observation, here: Place, session: str, messages: list[Any]) -> None:
        """A step that is given the conversation, runs the calls in it and adds their results."""
        value = opened(one.output)
        more = value.get("tool_messages", value.get("messages")) if isinstance(value, dict) else None
        raws = list(map(encoded, [*messages, *(more if isinstance(more, list) else [])]))
        self._dialogue.ask(Ask(raws, "", session or None), msgspec.structs.replace(here, opaque=True))

    def _tool(self, one: Observation, here: Place, session: str) -> None:
        """A call that was run, with its result."""
        asked, layers = unpacked(one.input)
        if isinstance(asked, dict) and isinstance(asked.get("messages"), list):
            self._invoker(one, here, session, asked["messages"])
            return
        told, _ = unpacked(one.metadata)
        gave, to = opened(one.output), f"/{self.members[1]}"
        if self.wrapped and isinstance(gave, dict) and gave.keys() == {"output"}:
            one.output, to = gave["output"], f"{to}/output"
            gave = opened(one.output)
        whole = gave if isinstance(gave, dict) and "tool_call_id" in gave and "content" in gave else None
        called = call_of(asked, "") if isinstance(asked, dict) and asked.get("type") == "tool_call" else None
        call_id = (called.call_id if called is not None else None) or call_id_in(asked, told, whole)
        name = one.name or ""
        named = isinstance(asked, dict) and (called is not None or call_id_in(asked) is not None)
        inner = asked.get("args", asked.get("arguments")) if named else None
        text, container = contained(inner if inner is not None else asked if layers < 2 else one.input)
        text = None if one.unread else text
        pair_id, name, emission = self._pair(session, call_id, name, text)
        self._dialogue.move(here)
        event, _ = self._dialogue.cursor.event("TOOL", "item", session or None)
        self._rows.call_sightings.add(
            event=event,
            session=session or None,
            wire=self.name,
            stage="executor",
            item_id=emission,
            call_id=call_id,
            pair_id=pair_id,
            kind="function",
            name=name,
            text=text,
            container=container,
            status="redacted" if one.unread else None,
            owed_by="client",
            pointer=f"/{self.members[0]}",
        )
        failed = one.level == "ERROR" or (whole is not None and whole.get("status") == "error")
        if one.output is None and not failed:
            return
        text, container = contained(one.output if whole is None else whole["content"])
        went_well = True if whole is not None and whole.get("status") == "success" else None
        error = one.statusMessage or (None if text else "the observation is marked as an error")
        self._rows.result_sightings.add(
            event=event,
            session=session or None,
            wire=self.name,
            stage="executor",
            item_id=f"{pair_id}@{one.id or event}",
            call_id=call_id,
            pair_id=pair_id,
            name=name,
            success=False if failed else went_well,
            error=error if failed else None,
            text=text,
            container=container,
            pointer=(f"{to}/content" if whole is not None and whole is one.output else to) if gave is not None else "",
        )

    def _pair(self, session: str, call_id: str | None, name: str, text: str | None) -> tuple[str, str, str | None]:
        """What pairs a run with the model's call, its name without words of the tracer's own, and its emission."""
        unrun, words = self._open.get(session, Unrun()), name.split()
        found = unrun.run(call_id, words[-1] if words else None, text) if words or call_id is not None else None
        if found is not None:
            return found.pair_id, found.name or name, found.emission
        if call_id is not None:
            return call_id, name, None
        nth = self._runs.get((session, name), 0) + 1
        self._runs[session, name] = nth
        return f"{name}#{nth}", name, None
