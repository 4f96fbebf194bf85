"""Contents: the messages of generateContent, their parts, and what they say."""

from __future__ import annotations

import msgspec

from analyzer.read.dialogue import Call, Result, Said
from analyzer.read.google.pieces import go_on, piece_of
from analyzer.read.members import held, listed
from analyzer.read.values import ABSENT, Raw, arguments, first, output, text_of

_ROLES = {"model": "assistant", None: "user"}
_RETURNED = ("output", "result")


class Part(msgspec.Struct, gc=False, rename="camel"):
    """A part of a content: a text, a call, a result, code or another tool that the provider ran.

    The API takes the names of its protocol buffers, too, and clients that dump their models write those.
    """

    text: str | None = None
    thought: bool | None = None
    function_call: Raw = ABSENT
    function_response: Raw = ABSENT
    executable_code: Raw = ABSENT
    code_execution_result: Raw = ABSENT
    tool_call: Raw = ABSENT
    tool_response: Raw = ABSENT
    call: Raw = msgspec.field(default=ABSENT, name="function_call")
    response: Raw = msgspec.field(default=ABSENT, name="function_response")
    code: Raw = msgspec.field(default=ABSENT, name="executable_code")
    ran: Raw = msgspec.field(default=ABSENT, name="code_execution_result")
    hosted: Raw = msgspec.field(default=ABSENT, name="tool_call")
    found: Raw = msgspec.field(default=ABSENT, name="tool_response")


class Function(msgspec.Struct, gc=False, rename="camel"):
    """A call or a result; calls of tools that the provider runs have a type for a name."""

    id: str | None = None
    name: str | None = None
    args: Raw = ABSENT
    response: Raw = ABSENT
    tool_type: str | None = None
    partial_args: Raw = ABSENT
    will_continue: bool | None = None
    type: str | None = msgspec.field(default=None, name="tool_type")
    pieces: Raw = msgspec.field(default=ABSENT, name="partial_args")
    goes_on: bool | None = msgspec.field(default=None, name="will_continue")


class Content(msgspec.Struct, gc=False):
    """A message."""

    role: str | None = None
    parts: Raw = ABSENT


_content = msgspec.json.Decoder(Content).decode
_parts = msgspec.json.Decoder(list[Part]).decode
_part = msgspec.json.Decoder(Part).decode
_function = msgspec.json.Decoder(Function).decode
_members = msgspec.json.Decoder(dict[str, Raw]).decode


def said_of(raw: bytes) -> Said:
    """What one content says; clients may give a text or a part for one."""
    if first(raw) == b'"':
        return Said("user", text_of(Raw(raw)))
    content, faults = held(_content, raw, Content())
    said = Said(_ROLES.get(content.role, content.role), faults=faults)
    texts: list[str] = []
    parts = _parts_of(content.parts) if content.parts else [held(_part, raw, Part())[0]]
    for index, part in enumerate(parts):
        to = f"/parts/{index}" if content.parts else ""
        if part.text is not None and not part.thought:
            texts.append(part.text)
            said.to = said.to or f"{to}/text"
        if first(part.function_call or part.call) == b"{":
            call = held(_function, part.function_call or part.call, Function())[0]
            made = call_in(call, _spelled(to, "functionCall", "function_call", part.function_call))
            more = bool(call.will_continue or call.goes_on)
            go_on(said.calls, piece_of(made, call.partial_args or call.pieces, more=more))
        if first(part.function_response or part.response) == b"{":
            where = _spelled(to, "functionResponse", "function_response", part.function_response)
            said.results.append(_result(part.function_response or part.response, where))
        if first(part.tool_call or part.hosted) == b"{":
            call = held(_function, part.tool_call or part.hosted, Function())[0]
            text, container = arguments(call.args)
            where = _spelled(to, "toolCall", "tool_call", part.tool_call) + ("/args" if call.args else "")
            name = call.tool_type or call.type
            said.calls.append(Call(call.id or None, name, text, container, where, "hosted", owed_by="server"))
        if first(part.tool_response or part.found) == b"{":
            where = _spelled(to, "toolResponse", "tool_response", part.tool_response)
            said.results.append(_result(part.tool_response or part.found, where))
        if first(part.executable_code or part.code) == b"{":
            text, container = arguments(part.executable_code or part.code)
            where = _spelled(to, "executableCode", "executable_code", part.executable_code)
            call_ = Call(None, "code_execution", text, container, where, "hosted", owed_by="server")
            said.calls.append(call_)
        if first(part.code_execution_result or part.ran) == b"{":
            text, container = arguments(part.code_execution_result or part.ran)
            where = _spelled(to, "codeExecutionResult", "code_execution_result", part.code_execution_result)
            said.results.append(Result(None, "code_execution", text, container, where))
    said.text = "\n".join(texts) if texts else None
    return said


def _spelled(to: str, camel: str, snake: str, found: Raw) -> str:
    """The pointer to a member of a part, under the name that it has there."""
    return f"{to}/{camel if found else snake}"


def call_in(call: Function, to: str) -> Call:
    """A call, at `to`."""
    text, container = arguments(call.args) if bytes(call.args) != b"null" else (None, "absent")
    return Call(call.id or None, call.name or None, text, container, to + ("/args" if call.args else ""))


def _result(raw: Raw, to: str) -> Result:
    return result_in(held(_function, raw, Function())[0], to)


def result_in(result: Function, to: str) -> Result:
    """A result, at `to`.

    What the function returned stands alone under `output` (as the API's reference says) or `result` (as its clients
    write it), or the whole response is what it returned.
    """
    text, container = arguments(result.response)
    where = to + ("/response" if result.response else "")
    failed = False
    if container == "object":
        members = held(_members, result.response, dict[str, Raw]())[0]
        failed = text_of(members.get("error", ABSENT)) is not None
        if len(members) == 1 and (alone := next(iter(members))) in _RETURNED:
            text, container = output(members[alone])
            where = f"{where}/{alone}"
    name = result.name or result.tool_type or result.type
    return Result(result.id or None, name, text, container, where, False if failed else None)


def _parts_of(raw: Raw) -> list[Part]:
    try:
        return _parts(raw)
    except (msgspec.DecodeError, RecursionError):
        return [held(_part, each, Part())[0] for each in listed(raw)]
