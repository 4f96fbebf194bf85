"""A harmless recording made hostile without being made unreadable: its free texts say what they are told to say."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import yaml

Say = Callable[[str], str]
"""From a free text to what it becomes."""

#: Members that hold free text in one format or another; a text that is JSON inside is opened and its texts are changed.
FREE = frozenset(
    (
        *("text", "content", "output", "description", "arguments", "input", "result", "error", "message", "title"),
        *("instructions", "system", "thinking", "said", "words", "args", "value", "stringValue", "stdout", "stderr"),
        *("thought", "observation", "question", "answer", "body", "data", "summary", "why", "reason", "detail"),
    )
)
#: Members that hold identifiers: changed in the same way wherever they stand, so that they still lead to each other.
IDS = frozenset(
    (
        *("call_id", "callId", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "id", "step", "name"),
        *("toolName", "tool_name", "sessionId", "session_id", "turn_id", "item_id", "tool", "traceId", "spanId"),
    )
)
#: What tells one record from another: never changed.
FIXED = frozenset(
    ("type", "role", "object", "status", "kind", "jsonrpc", "method", "protocolVersion", "version", "$schema")
)


def infected(
    data: bytes, file: str, say: Say, *, ids: Say | None = None, members: Mapping[str, Any] | None = None
) -> bytes:
    """The recording `data` with every free text changed by `say`, identifiers by `ids`, and `members` in every object
    that a tool was given or gave."""

    def change(value: Any) -> Any:
        return _changed(value, "", say, ids, members or {})

    if file.endswith(".eval"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            held = {name: archive.read(name) for name in archive.namelist()}
        return zipped({name: _json(change(json.loads(text))).encode() for name, text in held.items()})
    text = data.decode()
    if file.endswith(".yaml"):
        return yaml.safe_dump(change(yaml.safe_load(text)), allow_unicode=False, sort_keys=False).encode()
    if file.endswith((".json", ".har")):
        return _json(change(json.loads(text)), indent=1).encode()
    out = []
    for line in text.splitlines():
        head, body = ("data: ", line[6:]) if line.startswith("data: ") else ("", line)
        out.append(head + (_json(change(json.loads(body))) if body.startswith(('{"', "[{")) else body))
    return ("\n".join(out) + "\n").encode()


def zipped(members: Mapping[str, bytes]) -> bytes:
    """A zip file of these members, the same bytes every time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _json(value: Any, *, indent: int | None = None) -> str:
    return json.dumps(value, indent=indent)


def _changed(value: Any, key: str, say: Say, ids: Say | None, members: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        if key == "parameters" or key.endswith(("chema",)):  # a schema keeps its shape: its words are free
            return _schema(value, say)
        changed = {name: _changed(inner, name, say, ids, members) for name, inner in value.items()}
        return (
            {**changed, **members} if key in {"arguments", "input", "args", "output", "structuredContent"} else changed
        )
    if isinstance(value, list):
        return [_changed(inner, key, say, ids, members) for inner in value]
    if not isinstance(value, str) or key in FIXED:
        return value
    if key in IDS and "." not in value and "/" not in value and " " not in value:
        return ids(value) if ids is not None else value
    if value[:1] in ("{", "[") and value:
        try:
            inner = json.loads(value)
        except ValueError:
            return say(value) if key in FREE else value
        return _json(_changed(inner, key, say, ids, members))
    return say(value) if key in FREE and not value[:1].isdigit() else value


def _schema(value: Any, say: Say) -> Any:
    if isinstance(value, dict):
        return {
            name: say(inner) if name in {"description", "title"} and isinstance(inner, str) else _schema(inner, say)
            for name, inner in value.items()
        }
    return [_schema(inner, say) for inner in value] if isinstance(value, list) else value
