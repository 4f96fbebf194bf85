"""Steps of interactions: what one of them says, in a request, a response or a stream."""

from __future__ import annotations

import msgspec

from analyzer.read.dialogue import Call, Result, Said
from analyzer.read.members import held, listed
from analyzer.read.values import ABSENT, Raw, arguments, first, output, text_of

_ROLES = {"model": "assistant", "model_output": "assistant", "user_input": "user"}
_PARTS = frozenset({"text", "image", "audio", "video", "document"})
_FUNCTION, _MCP = "function", "mcp_server_tool"
_CALL, _RESULT = "_call", "_result"


class Step(msgspec.Struct, gc=False):
    """A step, a part of one, or a turn of several; calls have an id, and results that of their call."""

    type: str | None = None
    role: str | None = None
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    server_name: str | None = None
    arguments: Raw = ABSENT
    result: Raw = ABSENT
    is_error: bool | None = None
    content: Raw = ABSENT
    text: str | None = None


step_of = msgspec.json.Decoder(Step).decode


def said_of(raw: bytes) -> Said:
    """What one step says; an input may be a text, a part, or a turn as well."""
    if first(raw) == b'"':
        return Said("user", text_of(Raw(raw)))
    step, faults = held(step_of, raw, Step())
    said = Said(_ROLES.get(step.role or step.type or "", step.role or "user"), faults=faults)
    texts: list[str] = []
    if first(step.content) == b"[":
        for index, each in enumerate(listed(step.content)):
            _take(held(step_of, each, Step())[0], f"/content/{index}", said, texts)
    elif step.content:
        texts += [text_of(step.content) or ""]
        said.to = "/content"
    _take(step, "", said, texts)
    said.text = "\n".join(texts) if texts else None
    return said


def _take(step: Step, to: str, said: Said, texts: list[str]) -> None:
    """A step or a part of one."""
    kind = step.type or ""
    if kind.endswith(_CALL):
        said.calls.append(call_of(step, to))
        said.role = "assistant"
    elif kind.endswith(_RESULT):
        text, container = output(step.result, _PARTS)
        success = None if step.is_error is None else not step.is_error
        where = f"{to}/result" if step.result else to
        said.results.append(Result(step.call_id, step.name, text, container, where, success))
    elif step.text is not None and kind != "thought":
        texts.append(step.text)
        said.to = said.to or f"{to}/text"


def call_of(step: Step, to: str) -> Call:
    """The call of a step; the provider's own tools are named by the type."""
    text, container = arguments(step.arguments)
    where = f"{to}/arguments" if step.arguments else to
    named = (step.type or "").removesuffix(_CALL)
    if named == _FUNCTION:
        return Call(step.id, step.name, text, container, where)
    if named == _MCP:
        return Call(step.id, step.name, text, container, where, "mcp", step.server_name, owed_by="server")
    return Call(step.id, named, text, container, where, "hosted", owed_by="server")
