"""The rows of the calls and results in content blocks."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from analyzer.read.claude.blocks import CALLS, CLIENTS, Block
from analyzer.read.recover import Fault
from analyzer.read.rows import Rows
from analyzer.read.sheets import Sheet
from analyzer.read.values import ABSENT, Raw, arguments, arguments_of, first, streamed, text_of, texts_of

_PARTS = frozenset({"text", "image", "document", "search_result", "tool_reference", "file", "resource"})
_PAIRED = {"pair_id": "call_id"}
_SPOKEN = (b'"', b"[")


class At(msgspec.Struct, gc=False):
    """Where and in which role a block stands; `to` leads to it from its event."""

    event: int
    session: str | None
    stage: str
    to: str
    turn: str | None = None
    reply: str | None = None
    emission: str | None = None
    accepted: bool | None = None
    status: str | None = None
    opaque: bool = False

    def pointer(self, member: str) -> str:
        """A pointer below the block."""
        return "" if self.opaque else f"{self.to}{member}"


class _Part(msgspec.Struct, gc=False):
    type: str
    text: str | None = None


class _Failure(msgspec.Struct, gc=False):
    type: str = ""
    error_code: str | None = None


_parts = msgspec.json.Decoder(list[_Part]).decode
_outputs = msgspec.json.Decoder(list[str | list[_Part] | None]).decode
_failure = msgspec.json.Decoder(_Failure).decode


class Sightings:
    """Appends the rows of calls and results for one wire."""

    def __init__(self, wire: str, rows: Rows) -> None:
        self._wire = {"wire": wire}
        self._rows = rows
        self._calls = rows.waiting(f"{wire} calls", 14, self._append_calls)
        self._results = rows.waiting(f"{wire} results", 13, self._append_results)

    def call(self, block: Block, at: At, *, kind: str | None = None, member: str = "/input") -> None:
        """A call; `kind` is that of its tool where the block's type does not say it: the client runs all of these."""
        native, name = CALLS[block.type], block.id
        where = "" if at.opaque else at.to + member if block.input else at.to
        owed_by = "client" if native == "function" else "server"
        self._calls.append(
            (
                at.event,
                at.session,
                at.turn,
                at.stage,
                at.reply,
                at.emission,
                name,
                kind or native,
                block.server_name,
                block.name,
                at.status,
                owed_by,
                where,
                block.input,
            )
        )

    def result(self, block: Block, at: At, *, beside: Raw = ABSENT) -> None:
        """A result; `beside` is what the record says of it outside the block."""
        where = "" if at.opaque else at.to + "/content" if block.content else at.to
        self._results.append(
            (
                at.event,
                at.session,
                at.turn,
                at.stage,
                at.emission,
                block.tool_use_id,
                block.is_error,
                at.status,
                at.accepted,
                where,
                block.type,
                block.content,
                beside,
            )
        )

    def _append_calls(self, waiting: Sheet) -> None:
        event, session, turn, stage, reply, item_id, call_id, kind, server, name, status, owed_by, pointer, inputs = (
            waiting.columns()
        )
        text, container = arguments_of(inputs)
        for index, told in enumerate(stage):
            if told == "stream" and text[index] is not None:
                container[index] = streamed(text[index] or "", container[index])
        self._rows.bulk(
            "call_sightings",
            constant=self._wire,
            same=_PAIRED,
            stage=stage,
            kind=kind,
            container=container,
            owed_by=owed_by,
            event=event,
            session=session,
            turn=turn,
            reply=reply,
            item_id=item_id,
            call_id=call_id,
            server=server,
            name=name,
            text=text,
            status=status,
            pointer=pointer,
        )

    def _append_results(self, waiting: Sheet) -> None:
        event, session, turn, stage, item_id, call_id, failed, status, accepted, pointer, native, contents, beside = (
            waiting.columns()
        )
        text, container = outputs_of(contents)
        told = texts_of(beside)
        error = [
            _failure_of(raw) if holder == "object" and kind not in CLIENTS else None
            for raw, holder, kind in zip(contents, container, native, strict=True)
        ]
        # without the flag it is a success
        success = [flag is not True and failure is None for flag, failure in zip(failed, error, strict=True)]
        for place, each in enumerate(told):
            if each.startswith('"Error:') and not failed[place]:
                error[place] = error[place] or text_of(beside[place])
        self._rows.bulk(
            "result_sightings",
            constant=self._wire,
            same=_PAIRED,
            stage=stage,
            container=container,
            event=event,
            session=session,
            turn=turn,
            item_id=item_id,
            call_id=call_id,
            success=success,
            status=status,
            error=error,
            text=text,
            structured=[_structured(raw, each) for raw, each in zip(beside, told, strict=True)],
            accepted=accepted,
            pointer=pointer,
        )

    def faults(self, faults: Sequence[Fault], at: At) -> None:
        """What was wrong with the blocks of a content at `at`."""
        for fault, where, detail, _ in faults:
            self._rows.faults.append((at.event, at.session, fault, at.pointer(where), detail, None))

    def unknown(self, block: Block, at: At) -> None:
        """A block whose type means nothing here."""
        detail = f"a block of type {block.type[:80]!r}"
        self._rows.faults.append(
            (at.event, at.session, "unknown_item", at.pointer("/type" if block.type else ""), detail, None)
        )


def output_of(raw: Raw) -> tuple[str | None, str]:
    """The text of an output, and the container it stood in; content parts come back as their joined texts."""
    kind = first(raw)
    if kind != b"[":
        return (text_of(raw), "text") if kind == b'"' else arguments(raw)
    try:
        parts = _parts(raw)
    except msgspec.DecodeError:
        return bytes(raw).decode(), "array"
    texts = []
    for part in parts:
        if part.type not in _PARTS:
            return bytes(raw).decode(), "array"
        if part.text is not None:
            texts.append(part.text)
    return "\n".join(texts), "parts"


def outputs_of(raws: Sequence[Raw]) -> tuple[list[str | None], list[str]]:
    """The same of many at once."""
    texts = b"\0".join(raws).split(b"\0")  # NUL stands in no JSON
    try:
        found = _outputs(b"[" + b",".join([text if text[:1] in _SPOKEN else b"null" for text in texts]) + b"]")
    except (msgspec.DecodeError, RecursionError):
        found = [None] * len(raws)
    told: list[str | None] = []
    containers: list[str] = []
    for raw, value in zip(raws, found, strict=True):
        text: str | None
        if type(value) is str:
            text, container = value, "text"
        elif type(value) is list and _PARTS.issuperset([part.type for part in value]):
            text, container = "\n".join([part.text for part in value if part.text is not None]), "parts"
        else:
            text, container = output_of(raw)
        told.append(text)
        containers.append(container)
    return told, containers


def _structured(raw: Raw, text: str) -> str | None:
    """What a tool made beside the text for the model; of MCP servers' tools it is the model's content once more."""
    if text[:1] == "[":
        return None if output_of(raw)[1] == "parts" else text
    return text if text[:1] == "{" else None


def _failure_of(raw: Raw) -> str | None:
    """The error in the place of a server tool's result."""
    try:
        failure = _failure(raw)
    except msgspec.DecodeError:
        return None
    return failure.error_code or failure.type if failure.type.endswith("_error") else None
