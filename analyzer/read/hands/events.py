"""Events of OpenHands as messages: the call that an action is of, the result that an observation is, and words.

The first generation keeps the whole response of the model with each of its actions; the SDK the call alone.
"""

from __future__ import annotations

from typing import Any

import msgspec

from analyzer.read.anymessage import call_of, move, said_of
from analyzer.read.dialogue import Call, Result, Said
from analyzer.read.values import contained, string

_ENDS = ("finish", "reject")  # of the first generation, which answers them with nothing

_json = msgspec.json.Decoder().decode


def said_in(raw: bytes) -> Said:
    """What an event says; nothing where it is about the program itself."""
    try:
        event = _json(raw)
    except (msgspec.DecodeError, RecursionError):
        return Said()
    if not isinstance(event, dict):
        return Said()
    if isinstance(event.get("kind"), str):
        return _said_in_sdk(event, event["kind"])
    about, args = event.get("tool_call_metadata"), event.get("args")
    args = args if isinstance(args, dict) else {}
    if isinstance(about, dict) and isinstance(event.get("action"), str):
        call = _asked(about)
        call.owed_by = "nobody" if event["action"] in _ENDS else "client"
        response = about.get("model_response")
        reply = string(response.get("id")) if isinstance(response, dict) else None
        return Said("assistant", *_words(args, "thought", "/args"), calls=[call], item_id=reply, reply=reply)
    if isinstance(about, dict):
        return Said("tool", results=[_came(event, about)])
    if event.get("action") in ("message", "system"):
        role = "system" if event["action"] == "system" else "user" if event.get("source") == "user" else "assistant"
        return Said(role, *_words(args, "content", "/args"))
    return Said()


def _asked(about: dict[str, Any]) -> Call:
    """The call as the model asked for it, in the response that is kept with each of its actions."""
    name, call_id = string(about.get("function_name")), string(about.get("tool_call_id"))
    response = about.get("model_response")
    choices = response.get("choices") if isinstance(response, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    made = message.get("tool_calls") if isinstance(message, dict) else None
    to = "/tool_call_metadata/model_response/choices/0/message/tool_calls"
    for index, each in enumerate(made if isinstance(made, list) else ()):
        if isinstance(each, dict) and each.get("id") == call_id:
            call = call_of(each, f"{to}/{index}")
            call.name = call.name or name
            return call
    return Call(call_id, name, None, "absent", "/tool_call_metadata", status="redacted")


def _came(event: dict[str, Any], about: dict[str, Any]) -> Result:
    """What came back; the exit status of a command is its flag."""
    extras = event.get("extras")
    extras = extras if isinstance(extras, dict) else {}
    ended = extras.get("metadata")
    status = ended.get("exit_code") if isinstance(ended, dict) else extras.get("exit_code")
    success = event.get("success") if isinstance(event.get("success"), bool) else None
    if success is None and isinstance(status, int) and status >= 0:
        success = status == 0
    success = False if event.get("observation") in ("error", "user_rejected") else success
    text, container = contained(event.get("content"))
    ids = string(about.get("tool_call_id")), string(about.get("function_name"))
    return Result(*ids, text, container, "/content" if "content" in event else "", success)


def _said_in_sdk(event: dict[str, Any], kind: str) -> Said:
    """The same of the SDK."""
    ids = string(event.get("tool_call_id")), string(event.get("tool_name"))
    if kind == "ActionEvent":
        asked, ran = event.get("tool_call"), event.get("action")
        call = call_of(asked, "/tool_call") if isinstance(asked, dict) else Call(None, None, None, "absent", "/action")
        if not isinstance(asked, dict) and isinstance(ran, dict):
            inner = {name: value for name, value in ran.items() if name != "kind"}
            call.text, call.container = contained(inner)
        call.call_id, call.name = call.call_id or ids[0], call.name or ids[1]
        thought, reply = said_of({"content": event.get("thought")}).text, string(event.get("llm_response_id"))
        to = "/thought" if "thought" in event else ""
        return Said("assistant", thought, to, calls=[call], item_id=reply, reply=reply)
    if kind == "ObservationEvent":
        told: Any = event.get("observation")
        told = told if isinstance(told, dict) else {}
        content = told.get("content", told.get("output"))
        said = said_of({"content": content}) if isinstance(content, list) else None
        text, container = (said.text or "", "parts") if said is not None else contained(content)
        if content is None:
            text, container = contained({name: value for name, value in told.items() if name != "kind"})
        failed = told.get("is_error")
        to = "/observation/content" if "content" in told else "/observation"
        success = not failed if isinstance(failed, bool) else None
        return Said("tool", results=[Result(*ids, text, container, to, success)])
    if kind in ("AgentErrorEvent", "UserRejectObservation") and ids[0] is not None:
        member = "error" if kind == "AgentErrorEvent" else "rejection_reason"
        text, container = contained(event.get(member))
        return Said("tool", results=[Result(*ids, text, container, f"/{member}", success=False)])
    if kind == "MessageEvent" and isinstance(event.get("llm_message"), dict):
        said = said_of(event["llm_message"])
        move(said, "/llm_message")
        said.to = "/llm_message/content" if "content" in event["llm_message"] else "/llm_message"
        return said
    prompt = event.get("system_prompt")
    if kind == "SystemPromptEvent":
        return Said("system", *_words(prompt if isinstance(prompt, dict) else {}, "text", "/system_prompt"))
    return Said()


def _words(holder: dict[str, Any], name: str, above: str) -> tuple[str | None, str]:
    """The text in a member, and the pointer to it."""
    return (string(holder[name]), f"{above}/{name}") if name in holder else (None, "")
