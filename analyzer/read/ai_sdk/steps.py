"""Results of `generateText` and `streamText` as JSON, and their steps as the callbacks of each step get them.

A step is one reply of the model with what its tools returned: in `content` parts, before version 5 in lists beside the
text. What was sent to the provider, its tool table too, stands in `request.body` where it was kept.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from analyzer.read.anymessage import said_of, unpacked
from analyzer.read.dialogue import Said
from analyzer.read.dialogue.said import CUT
from analyzer.read.values import contained, encoded

_LISTS = ("toolCalls", "toolResults")
_BESIDE = ("usage", "response", "stepType", "warnings", "request")


class Table(NamedTuple):
    """A tool table as it was sent, in a provider's shape; `to` leads to it, and is None inside a text."""

    text: bytes
    shape: str
    to: str | None


def is_step(value: Any) -> bool:
    """Whether a value is a step."""
    if not isinstance(value, dict) or not isinstance(value.get("finishReason"), str) or "role" in value:
        return False
    held = isinstance(value.get("content"), list) or any(isinstance(value.get(name), list) for name in _LISTS)
    return held and any(name in value for name in _BESIDE)


def is_result(value: Any) -> bool:
    """Whether a value is a result with its steps."""
    steps = value.get("steps") if isinstance(value, dict) else None
    return isinstance(steps, list) and bool(steps) and all(map(is_step, steps[:8]))


def goes_on(step: Any) -> bool:
    """Whether another step is to follow this one."""
    return isinstance(step, dict) and step.get("finishReason") in ("tool-calls", "continue")


def said_in_step(step: dict[str, Any]) -> Said:
    """What a step says, asks for and was given; pointers lead from the step."""
    if isinstance(step.get("content"), list):
        said = said_of({"role": "assistant", "content": step["content"]})
        _failures(step["content"], said)
    else:
        said = Said("assistant", text=step["text"] if isinstance(step.get("text"), str) else None, to="/text")
        for name in _LISTS:
            part = said_of({"role": "assistant", "content": step.get(name) or []})
            for call in part.calls:
                call.to = call.to.replace("/content", f"/{name}", 1)
            for result in part.results:
                result.to = result.to.replace("/content", f"/{name}", 1)
            said.calls, said.results = said.calls + part.calls, said.results + part.results
    if step["finishReason"] in CUT and said.calls:
        said.calls[-1].status = "incomplete"
    for result in said.results:
        result.success = True if result.success is None else result.success
    return said


def _failures(parts: list[Any], said: Said) -> None:
    """What failed stands in parts of its own; a JSON text of it may have lost all that it said."""
    for index, part in enumerate(parts):
        if isinstance(part, dict) and part.get("type") == "tool-error":
            told = part.get("error")
            text = told if isinstance(told, str) else told.get("message") if isinstance(told, dict) else None
            (result,) = said_of({"role": "assistant", "content": [{**part, "type": "tool-result"}]}).results
            result.text, result.container = contained(None if told == {} else told)
            result.success, result.error = False, text if isinstance(text, str) and text else "the tool failed"
            result.to = f"/content/{index}/error"
            said.results.append(result)


def table_in(steps: list[Any]) -> Table | None:
    """The tool table of the first step that kept what was sent; the pointer leads from the list of steps."""
    for index, step in enumerate(steps):
        request = step.get("request") if isinstance(step, dict) else None
        body = request.get("body") if isinstance(request, dict) else None
        sent, layers = unpacked(body)
        tools = sent.get("tools") if isinstance(sent, dict) else None
        if isinstance(tools, list) and tools and isinstance(tools[0], dict):
            to = f"/{index}/request/body/tools" if not layers else None
            return Table(encoded(tools), _shape_of(tools[0]), to)
    return None


def _shape_of(tool: dict[str, Any]) -> str:
    if isinstance(tool.get("function"), dict):
        return "chat"
    if "input_schema" in tool:
        return "anthropic"
    return "gemini" if "functionDeclarations" in tool else "responses"
