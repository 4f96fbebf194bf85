"""What recorders call a request and what came back, and how surely a record is an exchange of a wire."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from analyzer.read.members import listed
from analyzer.read.values import ABSENT, Raw, first

#: Wires have bodies with members of the later names: of these both must stand there.
HALVES = (
    ("http", "response"),
    ("request", "response"),
    ("input", "output"),
    ("inputs", "outputs"),
    ("req", "res"),
    ("request_body", "response_body"),
    ("requestBody", "responseBody"),
    ("req_payload", "resp_payload"),
)
_CALLED = re.compile(rb"tool_call|function_call|functionCall|tool_use|toolUse")
_LEAST, _LATEST = 1e8, 1e17  # since 1970: smaller numbers are durations, larger ones nothing that is known
_PLAIN = ("http", "request")
# What in an address names an API, of models or other.
_NAMED = re.compile(
    r"/(?:completions?|complete|responses|messages|count_tokens|sessions|interactions|converse|converse-stream|invoke"
    r"|invoke-with-response-stream|api/chat|api/generate|embeddings?|embed|moderations?|models?|files|uploads|images"
    r"|audio|batch(?:es)?|threads|assistants|realtime|rerank|tokenize|traces|mcp|sse|vector_stores|fine_tuning)"
    r"(?:$|[/?])|:[A-Za-z]+(?:$|\?)"
)
_MOST = 0.85  # of a record under one of the later names: a tracer's own records, which have them too, are surer


class Recorded(msgspec.Struct, gc=False):
    """What recorders put around bodies, and the members that tell a bare body: a record, or a half of an exchange.

    The record of a wire extends it, so that a body which stands bare is decoded once.
    """

    http: Raw = ABSENT
    request: Raw = ABSENT
    response: Raw = ABSENT
    response_raw: Raw = ABSENT
    path: Raw = ABSENT
    uri: Raw = ABSENT
    url: Raw = ABSENT
    body: Raw = ABSENT
    status: Raw = ABSENT
    status_code: Raw = ABSENT
    code: Raw = ABSENT
    event: Raw = ABSENT
    data: Raw = ABSENT
    message: Raw = ABSENT
    timestamp: str | float | None = None
    recorded_at: str | float | None = None
    startedDateTime: Raw = ABSENT  # noqa: N815 - HAR's name
    ts: Raw = ABSENT
    time: Raw = ABSENT
    time_at: Raw = msgspec.field(default=ABSENT, name="@timestamp")
    start_time: Raw = ABSENT
    logged_at: Raw = ABSENT
    json: Raw = ABSENT
    parsed_body: Raw = ABSENT
    body_raw: Raw = ABSENT
    raw_body: Raw = ABSENT
    rawBody: Raw = ABSENT  # noqa: N815
    postData: Raw = ABSENT  # noqa: N815 - HAR's name
    content: Raw = ABSENT
    text: Raw = ABSENT
    string: Raw = ABSENT
    encoding: Raw = ABSENT
    input: Raw = ABSENT
    output: Raw = ABSENT
    error: Raw = ABSENT
    messages: Raw = ABSENT
    choices: Raw = ABSENT
    contents: Raw = ABSENT
    candidates: Raw = ABSENT
    jsonrpc: Raw = ABSENT
    stream: Raw = ABSENT
    inputs: Raw = ABSENT
    outputs: Raw = ABSENT
    req: Raw = ABSENT
    res: Raw = ABSENT
    request_body: Raw = ABSENT
    response_body: Raw = ABSENT
    requestBody: Raw = ABSENT  # noqa: N815 - so gateways call them
    responseBody: Raw = ABSENT  # noqa: N815
    req_payload: Raw = ABSENT
    resp_payload: Raw = ABSENT
    result: Raw = ABSENT
    completion: Raw = ABSENT
    custom_id: Raw = ABSENT


_recorded = msgspec.json.Decoder(Recorded).decode
_string = msgspec.json.Decoder(str).decode
_json = msgspec.json.Decoder().decode


def halves(whole: Recorded) -> tuple[Raw, str, Raw, str]:
    """What was sent and what came back, each with the pointer to it; absent where the record is no exchange."""
    for asked, told in HALVES:
        sent: Raw = getattr(whole, asked)
        back: Raw = getattr(whole, told)
        if not sent or not (back or asked in _PLAIN):
            continue
        if first(sent) == b"{" or (first(sent) == b'"' and back and _string(sent).lstrip()[:1] == "{"):
            return sent, f"/{asked}", back, f"/{told}"
    return ABSENT, "/request", whole.response, "/response"


def beside(whole: Recorded) -> Iterator[tuple[str, list[tuple[str, bytes]], bool]]:
    """What loggers put beside the members of a request.

    Given are the pointer to it, the objects in it with theirs, and whether it has to be read: a text may be words.
    """
    for member, raw in (("response", whole.response), ("output", whole.output), ("completion", whole.completion)):
        kind, to = first(raw), f"/{member}"
        values = [(to, bytes(raw))] if kind == b"{" else []
        if kind == b"[":
            values = [(f"{to}/{index}", text) for index, text in enumerate(listed(raw)) if text[:1] == b"{"]
        if raw:
            yield to, values, kind == b"{" or _CALLED.search(bytes(raw)) is not None


def enclosed(whole: Recorded) -> Iterator[tuple[str, Raw]]:
    """What may stand inside the envelope of a recorder, with the pointers to it: an event, or a response alone.

    So batches are answered: with a `response` that has a body, or a `result` that has a message.
    """
    yield from (("/event", whole.event), ("/data", whole.data), ("/message", whole.message))
    if first(whole.response) == b"{":
        body = _recorded(whole.response).body
        yield ("/response/body", body) if first(body) == b"{" else ("/response", whole.response)
    if first(whole.result) == b"{":
        yield "/result/message", _recorded(whole.result).message


def enclosed_in(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same of a parsed record."""
    response, result = record.get("response"), record.get("result")
    inner = [record.get("event"), record.get("data"), record.get("message"), response]
    inner += [half.get(name) for half, name in ((response, "body"), (result, "message")) if isinstance(half, dict)]
    yield from (each for each in inner if isinstance(each, dict))


def when_of(whole: Recorded) -> str | float | None:
    """When an exchange was recorded, under whatever name; numbers that are durations are none."""
    if whole.recorded_at is not None:
        return whole.recorded_at
    for raw in (whole.startedDateTime, whole.time_at, whole.ts, whole.time, whole.start_time, whole.logged_at):
        kind = first(raw)
        if kind == b'"' and (text := _string(raw)):
            return text
        if kind.isdigit() and _LEAST < (number := float(bytes(raw))) < _LATEST:
            return number
    told = whole.timestamp
    return told if isinstance(told, str) or (told is not None and _LEAST < told < _LATEST) else None


def is_exchange(whole: Recorded) -> bool:
    """Whether a record has the members of an exchange."""
    return bool(whole.body) or bool(halves(whole)[0])


def sure_of(
    record: dict[str, Any], of_url: Callable[[str], float | None], of_body: Callable[[dict[str, Any]], float]
) -> float:
    """How surely a parsed record is an exchange of a wire: what its address says, else what its body does."""
    for asked, told in HALVES:
        half = record.get(asked)
        if isinstance(half, str) and told in record and half.lstrip()[:1] == "{":
            half = _opened(half)
        if not isinstance(half, dict) or not (told in record or asked in _PLAIN):
            continue
        sure = _of_address(half, of_url)
        if sure is not None:
            return sure
        most = 1.0 if asked in _PLAIN else _MOST
        for each in (half, *_bodies(half)):
            if sure := min(of_body(each), most):
                return sure
    return _of_address(record, of_url) or 0.0


def _of_address(half: dict[str, Any], of_url: Callable[[str], float | None]) -> float | None:
    url = next((half[name] for name in ("url", "uri", "path") if isinstance(half.get(name), str)), "")
    return of_url(url) if telling(url) else None


def telling(url: str) -> str:
    """An address, or nothing where it names no API: one that was hidden, or a gateway's own, says nothing of a body."""
    return url if _NAMED.search(url) else ""


def _bodies(half: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects that may be the body of a half; recorders also keep it as text, alone or under a name."""
    for name in ("body", "postData", "parsed_body", "json"):
        value = half.get(name)
        texts: list[Any] = [value]
        if isinstance(value, dict):
            yield value
            texts = [value.get("text"), value.get("string")]
        for text in texts:
            opened = _opened(text) if isinstance(text, str) and text.lstrip()[:1] == "{" else None
            if isinstance(opened, dict):
                yield opened


def _opened(text: str) -> Any:
    try:
        return _json(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
