"""Messages in whatever shape a framework gave them: tracers and front ends pass on what they got.

Known are OpenAI's `tool_calls`, Anthropic's and the AI SDK's blocks, GenAI parts, LangChain's calls and UI messages.
"""

from __future__ import annotations

from typing import Any

import msgspec

from analyzer.read.dialogue import Call, Result, Said
from analyzer.read.values import contained

_CALLS = frozenset({"tool_use", "tool-call", "tool_call", "function_call", "toolCall", "custom_tool_call"})
_HOSTED = frozenset({"server_tool_use", "mcp_tool_use"})
_RESULTS = frozenset({"tool-result", "tool_call_response", "toolResult", "function_call_output"})
_ENDS = ("tool_result", "tool_call_output")
# Calls and results that a part holds under their name, as Google, Bedrock and Haystack write them.
_HELD_CALLS = ("functionCall", "function_call", "toolUse", "tool_call")
_HELD_RESULTS = ("functionResponse", "function_response", "toolResult", "tool_call_result")
_ROLES = {"model": "assistant", "ai": "assistant", "human": "user"}
_CHUNK = "MessageChunk"  # how classes of LangChain end whose messages came in pieces
_FLAGS = {"success": True, "error": False}
_ANSWERED = {"output-available": True, "output-error": False, "output-denied": False, "result": True}
_BEGUN = ("input-streaming", "partial-call")
_MOST_LAYERS = 4

_json = msgspec.json.Decoder().decode


def unpacked(value: Any) -> tuple[Any, int]:
    """A value out of the texts it was written into, and how many there were; at most four are opened."""
    for layer in range(_MOST_LAYERS):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            return value, layer
        try:
            value = _json(value)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            return value, layer
    return value, _MOST_LAYERS


def said_of(value: Any) -> Said:
    """What one message says; pointers lead from the message."""
    if not isinstance(value, dict):
        return Said(text=value if isinstance(value, str) else None)
    stored = _stored(value)
    if stored is not None:
        said, to = said_of(stored[0]), stored[1]
        said.to = said.to and f"{to}{said.to}"
        move(said, to)
        return said
    role = value.get("role", value.get("type"))
    if "role" not in value and _is_item(role):
        said = Said("tool" if "output" in value else "assistant")
        _part(value, "", said, [])
        return said
    said = Said(_role(role), item_id=_string(value.get("id")))
    texts: list[str] = []
    content = value.get("content")
    if said.role in {"tool", "function"} and not isinstance(content, list):
        said.results = [_answer(value, *contained(content))]
    elif isinstance(content, str):
        texts.append(content)
        said.to = "/content"
    for member in ("content", "parts"):
        listed = value.get(member)
        for index, part in enumerate(listed if isinstance(listed, list) else ()):
            _part(part, f"/{member}/{index}", said, texts)
    if said.role == "tool" and isinstance(content, list) and not said.results:
        said.results = [_answer(value, "\n".join(texts), "parts")]
        texts = []
    shown, said.calls = said.calls, []
    _listed(value, "", said)
    _beside(shown, said)
    invoked = value.get("toolInvocations")
    for index, each in enumerate(invoked if isinstance(invoked, list) and not said.calls else ()):
        if isinstance(each, dict):
            _invoked(each, f"/toolInvocations/{index}", None, said)
    _provided(value.get("additional_kwargs"), said)
    said.text = "\n".join(texts) if texts else _string(value.get("text"))
    return said


def _provided(value: Any, said: Said) -> None:
    """The calls as the provider wrote them, which LangChain keeps beside its own."""
    if isinstance(value, dict):
        provided = Said()
        _listed(value, "/additional_kwargs", provided)
        _beside([call for call in provided.calls if call.call_id is not None or not said.calls], said)


def _stored(value: dict[str, Any]) -> tuple[dict[str, Any], str] | None:
    """A message out of what LangChain stores it in, and the member that it stood in."""
    held, path = value.get("kwargs"), value.get("id")
    if isinstance(held, dict) and isinstance(path, list):
        return {"role": _stored_role(path), **held}, "/kwargs"
    held = value.get("data")
    if isinstance(held, dict) and "content" in held and "role" not in value:
        return {"type": value.get("type"), **held}, "/data"
    return None


def _answer(value: dict[str, Any], text: str | None, container: str) -> Result:
    """The result that a message of a tool is."""
    flag = value.get("status") if "tool_call_id" in value else None
    name = _string(value.get("name"), value.get("tool_name"))
    call_id = _string(value.get("tool_call_id"), value.get("toolCallId"))
    return Result(call_id, name, text, container, "/content", _FLAGS.get(flag) if isinstance(flag, str) else None)


def move(said: Said, to: str | None) -> None:
    """Let the pointers to calls and results begin with `to`, or with None lead to the whole."""
    for call in said.calls:
        call.to = "" if to is None else to + call.to
        for copy in call.copies:
            copy.to = "" if to is None else to + copy.to
    for result in said.results:
        result.to = "" if to is None else to + result.to


def _listed(value: dict[str, Any], to: str, said: Said) -> None:
    """The calls in the members of a message that list them."""
    for member in ("tool_calls", "toolCalls", "invalid_tool_calls"):
        calls = value.get(member)
        for index, each in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(each, dict):
                call = call_of(each, f"{to}/{member}/{index}")
                call.owed_by = "nobody" if member == "invalid_tool_calls" else call.owed_by
                said.calls.append(call)
    if isinstance(value.get("function_call"), dict):
        said.calls.append(call_of(value["function_call"], f"{to}/function_call"))


def _beside(shown: list[Call], said: Said) -> None:
    """Calls that a message shows once more, in its content or as the provider wrote them: copies of those it lists.

    What a stream began is an empty object in the content, and no copy. A call that is in no list was made all the same.
    """
    listed = {call.call_id: call for call in said.calls if call.call_id is not None}
    for call in shown:
        same = listed.get(call.call_id or "")
        if same is None or same.name != call.name:
            call.owed_by = "nobody" if listed and call.kind == "function" else call.owed_by
            said.calls.append(call)
        elif call.text not in {None, "", "{}"}:
            call.owed_by = same.owed_by
            same.copies.append(call)


def _role(value: Any) -> str | None:
    """The role under its usual name."""
    if not isinstance(value, str):
        return None
    role = value.removesuffix(_CHUNK).lower() if value.endswith(_CHUNK) else value
    return _ROLES.get(role, role)


def _is_item(kind: Any) -> bool:
    """Whether a type is that of a call or a result which stands among messages, as in the input of Responses."""
    return isinstance(kind, str) and (kind in _CALLS or kind in _RESULTS or kind.endswith(_ENDS))


def _stored_role(path: list[Any]) -> str | None:
    """The role of a stored message by the last step of its class."""
    last = path[-1] if path and isinstance(path[-1], str) else ""
    return last.removesuffix("Chunk").removesuffix("Message").lower() or None


def call_of(entry: dict[str, Any], to: str) -> Call:
    """A call in any of the known shapes."""
    function = entry.get("function")
    inner: dict[str, Any] = function if isinstance(function, dict) else entry
    to = f"{to}/function" if inner is not entry else to
    name = _string(inner.get("name"), inner.get("toolName"), inner.get("tool_name"))
    # The id of an item of Responses is not that of its call.
    ids = ("call_id", "toolUseId", "id", "toolCallId", "tool_call_id")
    call_id = _string(*[entry.get(name) for name in ids])
    members = [each for each in ("arguments", "input", "args", "rawInput") if each in inner]
    # What could not be read as the input of its tool is kept as it came, beside an input that is null.
    member = next((each for each in members if inner[each] is not None), members[0] if members else None)
    text, container = contained(inner[member]) if member is not None else (None, "absent")
    return Call(call_id, name, text, container, f"{to}/{member}" if member is not None else to)


def _part(part: Any, to: str, said: Said, texts: list[str]) -> None:
    if isinstance(part, str):
        texts.append(part)
    if not isinstance(part, dict):
        return
    kind = part.get("type")
    named = kind if isinstance(kind, str) else ""
    made = next((name for name in _HELD_CALLS if isinstance(part.get(name), dict)), None)
    gave = next((name for name in _HELD_RESULTS if isinstance(part.get(name), dict)), None)
    if made is not None:
        said.calls.append(call_of(part[made], f"{to}/{made}"))
    elif gave is not None:
        said.results.append(_result(part[gave], f"{to}/{gave}"))
    elif named in _CALLS or named in _HOSTED:
        call = call_of(part, to)
        call.kind, call.owed_by = ("hosted", "server") if named in _HOSTED else ("function", "client")
        if named == "custom_tool_call":
            call.kind, call.container = "custom", "free"
        said.calls.append(call)
    elif named in _RESULTS or named.endswith(_ENDS):
        said.results.append(_result(part, to))
    elif named == "tool-invocation" and isinstance(part.get("toolInvocation"), dict):
        _invoked(part["toolInvocation"], f"{to}/toolInvocation", None, said)
    elif named == "dynamic-tool" or (named.startswith("tool-") and "state" in part):
        _invoked(part, to, named.removeprefix("tool-"), said)
    else:
        text = next((part[name] for name in ("text", "content") if isinstance(part.get(name), str)), None)
        texts += [text] if text is not None and named not in ("reasoning", "thinking") else []


def _invoked(part: dict[str, Any], to: str, name: str | None, said: Said) -> None:
    """A call and what became of it, as front ends show it."""
    call = call_of(part, to)
    call.name = call.name or name
    call.status = "in_progress" if part.get("state") in _BEGUN else None
    said.calls.append(call)
    if isinstance(part.get("state"), str) and part["state"] in _ANSWERED:
        success = _ANSWERED[part["state"]]
        member = "result" if "result" in part else "output"
        text, container = contained(part.get(member))
        error = None if success else _string(part.get("errorText")) or str(part["state"])
        where = f"{to}/{member}" if member in part else to
        said.results.append(Result(call.call_id, call.name, text, container, where, success, error))


def _result(part: dict[str, Any], to: str) -> Result:
    """A result; the AI SDK wraps it once more and says so what it is."""
    names = ("output", "result", "response", "content")
    member = next((name for name in names if name in part), None)
    value = part[member] if member is not None else None
    success = not part["is_error"] if isinstance(part.get("is_error"), bool) else None
    success = (
        {"error": False, "success": True}.get(str(part.get("status")), success) if "toolUseId" in part else success
    )
    where = f"{to}/{member}" if member is not None else to
    if isinstance(value, dict) and value.get("type") == "execution-denied":
        success = False
    elif isinstance(value, dict) and "value" in value and isinstance(value.get("type"), str):
        success = False if value["type"].startswith("error") else True if value["type"] in ("text", "json") else success
        value, where = value["value"], f"{where}/value"
    ids = ("tool_use_id", "toolUseId", "toolCallId", "tool_call_id", "call_id")
    call_id = _string(*[part.get(name) for name in ids])
    if isinstance(part.get("origin"), dict):  # the call that a result is of
        call_id, success = _string(part["origin"].get("id")), False if part.get("error") is True else success
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and value[0].keys() == {"json"}:
        value, where = value[0]["json"], f"{where}/0/json"
    text, container = contained(value)
    if isinstance(value, list) and value and all(isinstance(each, dict) and _is_part(each) for each in value):
        text, container = "\n".join(str(each["text"]) for each in value if "text" in each), "parts"
    name = _string(part.get("name"), part.get("toolName"))
    return Result(call_id or _string(part.get("id")), name, text, container, where, success)


def _is_part(value: dict[str, Any]) -> bool:
    """Whether an element of a result is a content part: a text, or a file."""
    return "text" in value or value.get("type") in ("media", "file", "image", "image-data", "file-data")


def _string(*values: Any) -> str | None:
    return next((value for value in values if isinstance(value, str) and value), None)
