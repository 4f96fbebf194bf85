"""Inspect AI logs: samples of `.eval` files and of JSON logs.

A sample's events hold every request with its tools, what the model said, and what each tool did; where it has none, its
list of messages is read. Placeholders for attachments are put back before anything is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Ask, Call, Dialogue, Result, Said, unchosen
from analyzer.read.members import held
from analyzer.read.rows import Rows
from analyzer.read.values import contained, encoded

_PLACEHOLDERS = ("attachment://", "tc://")
_RAW = re.compile(r"arguments:\s*(.*?)\s*(?:\n\nError details:.*)?$", re.DOTALL)
_STOPS = {"max_tokens": "incomplete", "model_length": "incomplete"}
_MOST_DEPTH = 60


class Sample(msgspec.Struct, gc=False):
    """What of a sample is read, or a whole log that holds samples."""

    id: Any = None
    epoch: Any = None
    uuid: str | None = None
    messages: list[Any] | None = None
    events: list[Any] | None = None
    transcript: Any = None
    attachments: dict[str, Any] | None = None
    message_pool: list[Any] | None = None
    events_data: Any = None
    error: Any = None
    samples: list[Any] | None = None
    eval: Any = None


_record = msgspec.json.Decoder(Sample).decode
_sample = msgspec.json.Decoder(Sample).decode
_json = msgspec.json.Decoder().decode


class Inspect(RecordAdapter[Sample]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "inspect"
    title: ClassVar[str] = "Inspect AI logs (.eval, .json)"
    known_by: ClassVar[str] = (
        "samples with `epoch`, `input` or `target` and `messages` or `events`; logs with `eval`, `plan` and `samples`"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Output schemas are not recorded: give them as contract files.",
        "Arguments that could not be parsed are recorded as a best guess; what the model wrote is cut from the error.",
        "A sample without events has no tool tables: its arguments cannot be judged without --contracts.",
        "A result without an error need not be a success of the tool.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._records = Decoding(source, rows, _record, self.knows)
        self._rows = rows
        self._dialogue = Dialogue(self.name, rows, _said, executed=True)
        self._listed = Dialogue(self.name, rows, _said)
        self._listed.cursor = self._dialogue.cursor  # samples of one file number their events together

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is of this format."""
        if not isinstance(record, dict):
            return 0.0
        if isinstance(record.get("eval"), dict) and ("plan" in record or "samples" in record):
            return 1.0
        listed = any(isinstance(record.get(name), list) for name in ("messages", "events"))
        return 1.0 if "epoch" in record and listed and ("target" in record or "input" in record) else 0.0

    def _take(self, record: Sample, raw: bytes, place: Place) -> bool:
        """A sample, or a document of several."""
        del raw
        if record.samples is None:
            if record.epoch is not None:
                self._one(record, place, None)
            return record.epoch is not None
        task = record.eval.get("task") if isinstance(record.eval, dict) else None
        for number, each in enumerate(record.samples):
            sample = held(_sample, encoded(each), Sample())[0]
            inside = msgspec.structs.replace(place, pointer=f"{place.pointer}/samples/{number}")
            self._one(sample, inside, task if isinstance(task, str) else None)
        if not record.samples:
            self._dialogue.move(place)
            self._dialogue.cursor.event("log", "notice", None)
        return True

    def _one(self, sample: Sample, place: Place, task: str | None) -> None:
        """One sample: a session."""
        name = sample.uuid or f"{task or 'sample'} {sample.id} epoch {sample.epoch}"
        session = self._dialogue.name(name[:200])
        events, attachments, to = sample.events, sample.attachments, "/events"
        if not events and isinstance(sample.transcript, dict):
            events, attachments, to = (
                sample.transcript.get("events"),
                sample.transcript.get("content"),
                "/transcript/events",
            )
        kept = attachments if isinstance(attachments, dict) else {}
        if not any(each.get("event") in ("model", "tool") for _, each in _nested(events, "", 0)):
            self._messages(sample, place, session, kept)
            return
        for index, each in _nested(events, "", 0):
            when = each.get("timestamp")
            here = msgspec.structs.replace(
                place, pointer=f"{place.pointer}{to}{index}", when=when if isinstance(when, str) else None
            )
            if each.get("event") == "model":
                self._model(_restored(each, kept, 0), here, session, _pool(sample, kept))
            elif each.get("event") == "tool":
                self._tool(_restored(each, kept, 0), here, session)
            elif each.get("event") == "error":
                self._dialogue.move(here)
                self._dialogue.cursor.event("error", "error", session)
        if self._dialogue.cursor.place.event != place.event:
            self._dialogue.move(place)
            self._dialogue.cursor.event("sample", "notice", session)

    def _messages(self, sample: Sample, place: Place, session: str, kept: dict[str, Any]) -> None:
        raws = [encoded(_restored(each, kept, 0)) for each in sample.messages or ()]
        self._listed.ask(Ask(raws, "/messages", session, own=True), place)
        if not raws:
            self._listed.move(place)
            self._listed.cursor.event("sample", "notice", session)

    def _model(self, event: dict[str, Any], here: Place, session: str, pool: list[Any]) -> None:
        """A request and what the model answered."""
        sent = event.get("input")
        refs = event.get("input_refs")
        pooled = not sent and isinstance(refs, list)
        if pooled and isinstance(refs, list):
            pairs = [each for each in refs if isinstance(each, list) and [type(end) for end in each] == [int, int]]
            sent = [message for since, until in pairs for message in pool[max(since, 0) : max(until, 0)]]
        raws = [encoded(each) for each in sent] if isinstance(sent, list) else []
        model, tools = event.get("model"), event.get("tools")
        ask = Ask(
            raws,
            None if pooled else "/input",
            session,
            tools=encoded(tools) if tools is not None else b"",
            shape="responses",
            model=model if isinstance(model, str) else None,
        )
        self._dialogue.ask(ask, here)
        output = event.get("output")
        choices = output.get("choices") if isinstance(output, dict) else None
        if event.get("error") is not None and not choices:
            self._dialogue.fail(here)
            return
        for index, choice in enumerate(choices if isinstance(choices, list) else ()):
            if not isinstance(choice, dict):
                continue
            said = _said(encoded(choice.get("message")))
            stop = choice.get("stop_reason")
            for call in [each for each in said.calls if each.owed_by == "client"][-1:]:
                call.status = _STOPS.get(stop) if isinstance(stop, str) else None
            if len(choices or ()) > 1:
                unchosen(said, None)
            self._dialogue.answer(
                said,
                here,
                native="model",
                to=f"/output/choices/{index}/message",
                reply=f"{here.event}{here.pointer}/{index}",
                stop=stop if isinstance(stop, str) else None,
            )

    def _tool(self, event: dict[str, Any], here: Place, session: str) -> None:
        """A call that was run, with its result."""
        self._dialogue.move(here)
        number, _ = self._dialogue.cursor.event("tool", "item", session)
        call = _call(event, "")
        self._rows.call_sightings.add(
            event=number,
            session=session,
            wire=self.name,
            stage="executor",
            call_id=call.call_id,
            pair_id=call.call_id,
            kind="function",
            name=call.name,
            text=call.text,
            container=call.container,
            owed_by="client",
            pointer=call.to,
        )
        if event.get("pending") is True or ("result" not in event and event.get("error") is None):
            return
        text, container = _output(event.get("result"))
        success, status, error = _failed(event.get("error"), text)
        success = False if event.get("failed") is True else success
        status = status or ("truncated" if event.get("truncated") else None)
        self._rows.result_sightings.add(
            event=number,
            session=session,
            wire=self.name,
            stage="executor",
            item_id=f"{call.call_id}@{number}",
            call_id=call.call_id,
            pair_id=call.call_id,
            name=call.name,
            success=success,
            status=status,
            error=error,
            text=text,
            container=container,
            pointer="/result" if "result" in event else "/error",
        )


def _said(raw: bytes) -> Said:
    """What one message says."""
    message: Any = held(_json, raw, None)[0]
    if not isinstance(message, dict):
        return Said(text=message if isinstance(message, str) else None)
    said = Said(_string(message.get("role")), item_id=_string(message.get("id")))
    text, container = _output(message.get("content"))
    if said.role == "tool":
        failure = message.get("error")
        result = Result(
            _string(message.get("tool_call_id")), _string(message.get("function")), text, container, "/content"
        )
        result.success, result.status, result.error = _failed(failure, text)
        said.results = [result]
        return said
    said.text, said.to = text, "/content" if "content" in message else ""
    content = message.get("content")
    for index, each in enumerate(content if isinstance(content, list) else ()):
        if isinstance(each, dict) and each.get("type") == "tool_use":  # of the provider's own tools, with its result
            _hosted(each, f"/content/{index}", said)
    calls = message.get("tool_calls")
    for index, each in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(each, dict):
            said.calls.append(_call(each, f"/tool_calls/{index}"))
    return said


def _call(entry: dict[str, Any], to: str) -> Call:
    name, wrong = entry.get("function"), entry.get("parse_error")
    if isinstance(wrong, str) and wrong:
        match = _RAW.search(wrong)
        return Call(_string(entry.get("id")), _string(name), match[1] if match else wrong, "text", f"{to}/parse_error")
    value = entry.get("arguments")
    text, container = _output(value)
    return Call(
        _string(entry.get("id")), _string(name), text, container, f"{to}/arguments" if "arguments" in entry else to
    )


def _hosted(part: dict[str, Any], to: str, said: Said) -> None:
    """A call that the provider ran, and its result."""
    call_id, name = _string(part.get("id")), _string(part.get("name"))
    text, container = contained(part.get("arguments"))
    said.calls.append(Call(call_id, name, text, container, f"{to}/arguments", "hosted", owed_by="server"))
    text, container = contained(part.get("result"))
    failed = _string(part.get("error"))
    if text is not None or failed:
        said.results.append(Result(call_id, name, text, container, f"{to}/result", False if failed else None, failed))


def _nested(events: Any, to: str, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of a sample with their places; what older logs have inside of other events comes before those."""
    for index, each in enumerate(events if isinstance(events, list) else ()):
        if isinstance(each, dict):
            if depth < _MOST_DEPTH and each.get("events"):
                yield from _nested(each["events"], f"{to}/{index}/events", depth + 1)
            yield f"{to}/{index}", each


def _output(value: Any) -> tuple[str | None, str]:
    """The text of a content or result, and the container it stood in; parts come back as their joined texts."""
    if isinstance(value, list) and value and all(isinstance(each, dict) and "type" in each for each in value):
        return "\n".join(each["text"] for each in value if isinstance(each.get("text"), str)), "parts"
    return contained(value)


def _failed(failure: Any, text: str | None) -> tuple[bool | None, str | None, str | None]:
    """The flag of a result, the kind of its failure, and why where its text does not say so."""
    if failure is None:
        return None, None, None
    held_ = failure if isinstance(failure, dict) else {"message": str(failure)}
    kind, why = _string(held_.get("type")), _string(held_.get("message"))
    return False, kind, None if text else why or kind or "an error"


def _restored(value: Any, kept: dict[str, Any], depth: int) -> Any:
    """A value with its attachments in place; what an attachment holds is not looked into again."""
    if isinstance(value, str):
        for mark in _PLACEHOLDERS:
            if value.startswith(mark):
                return kept.get(value[len(mark) :], value)
        return value
    if depth > _MOST_DEPTH or not kept:
        return value
    if isinstance(value, list):
        return [_restored(each, kept, depth + 1) for each in value]
    if isinstance(value, dict):
        return {name: _restored(each, kept, depth + 1) for name, each in value.items()}
    return value


def _pool(sample: Sample, kept: dict[str, Any]) -> list[Any]:
    """The messages that requests refer to by number, in newer logs."""
    pool: Any = sample.message_pool
    if not pool and isinstance(sample.events_data, dict):
        pool = sample.events_data.get("messages")
    return [_restored(each, kept, 0) for each in pool] if isinstance(pool, list) else []


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None
