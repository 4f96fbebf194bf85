"""Recorded exchanges: a request and its response, the bodies as values or as texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from analyzer.read import exchange
from analyzer.read.agents_api.wire import (
    Create,
    Http,
    Record,
    Response,
    decode_create,
    decode_http,
    decode_metadata,
    decode_record,
    decode_response,
    decode_session,
    decode_string,
)
from analyzer.read.members import held
from analyzer.read.recover import Fault
from analyzer.read.values import ABSENT, Raw, first

CREATES = "POST /agents/sessions"


class Exchange(NamedTuple):
    """What a request to this API and its response say."""

    native: str  # method and path, without ids
    session: str | None  # as the path names it, or one of the answers
    accepted: bool | None  # None: no status is recorded
    key: str | None  # the request's idempotency key
    channel: str | None  # "create" or "update" of a session; None: inputs, or refused
    asked: Raw | bytes  # the body of a request that posts; may be absent
    asked_in_text: bool  # whether the recorder kept that body as text
    answers: Sequence[Raw | bytes]  # none of a refused request
    answered_in_text: bool
    unread: list[Fault]  # of bodies that are kept as text
    says_something: bool  # whether anything came back that ought to be one of these answers


def exchange_of(record: Record) -> Exchange | None:
    """The request and response of a record; None where they are of another API."""
    http, _ = held(decode_http, record.http, Http())
    path = (http.path or http.url).partition("?")[0]
    _, found, rest = path.partition("/agents/sessions")
    if not found:
        return None
    response, _ = held(decode_response, record.response, Response())
    _, session, *below = [*rest.split("/"), ""]
    accepted = None if response.status is None else response.status < 400
    keys = [value for name, value in http.headers.items() if name.lower() == "idempotency-key"]
    answers = _bodies(response.body)
    named = None if session else next(filter(None, (_named(each) for each in answers if first(each) == b"{")), None)
    of_a_session = accepted is not False and not any(below)
    unread: list[Fault] = []
    for half, where in ((http.body, "/http/body"), (response.body, "/response/body")):
        if first(half) == b'"':
            faults = exchange.unread(exchange.opened(held(decode_string, half, "")[0], where))
            unread += [fault._replace(pointer=where) for fault in faults]
    return Exchange(
        f"{http.method} {'/'.join(('/agents/sessions', *(['{id}'] if session else []), *filter(None, below)))}",
        session or named,
        accepted,
        str(keys[0]) if keys else None,
        ("update" if session else "create") if of_a_session else None,
        next(iter(_bodies(http.body)), ABSENT) if http.method == "POST" else ABSENT,
        first(http.body) == b'"',
        () if accepted is False else answers,
        first(response.body) == b'"',
        unread,
        accepted is not False and _says_something(record.response, response),
    )


def _says_something(raw: Raw, response: Response) -> bool:
    """Whether something came back that has to be read: no error, no receipt, no text that is told as cut."""
    bare = not response.body and first(raw) == b"{" and exchange.holds_more(raw)
    whole = raw if bare or (response.status is None and not response.body) else response.body
    kind, text = first(whole), bytes(whole)
    if kind == b'"':
        told = held(decode_string, whole, "")[0].strip()
        return told not in ("", "[DONE]") and not exchange.unread(exchange.opened(told, ""))
    known = held(decode_record, whole, Record())[0] if kind == b"{" else Record()
    return text not in (b"", b"null", b"{}") and not known.error and not (known.object or "").endswith(".deleted")


def _bodies(raw: Raw) -> Sequence[Raw | bytes]:
    """What a recorded body holds: itself, or what the text that a recorder made of it holds."""
    if first(raw) != b'"':
        return (raw,)
    opened = exchange.opened(held(decode_string, raw, "")[0], "")
    return [frame for frame in (opened.frames if opened is not None else ()) if _is_json(frame)]


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text, type=Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _named(raw: Raw | bytes) -> str | None:
    """The session that an answer is about: one of its resources, or an event of its stream."""
    try:
        record = decode_record(raw)
        if record.object == "agent.session":
            return decode_session(raw).id
    except (msgspec.DecodeError, RecursionError):
        return None
    return record.session_id or (None if record.session is None else record.session.id)


def wrong_in_create(body: Raw | bytes) -> list[Fault]:
    """What of the published shape a request that makes a session breaks; see the client library's parameters."""
    create, faults = held(decode_create, body, Create())
    if held(decode_metadata, create.metadata, None)[1]:
        faults = [*faults, Fault("member_type", "/metadata", "a map of texts is expected")]
    wrong = {fault.pointer for fault in faults}
    absent = [
        ("/environment", create.environment is None),
        ("/agent/model", create.agent_id is None and (create.agent is None or create.agent.model is None)),
        (
            "/input",
            create.input is None and create.environment is not None and create.environment.type == "none",
        ),
    ]
    return [
        *faults,
        *(
            Fault("member_missing", at, "the request needs it")
            for at, missing in absent
            if missing and not any(at == each or at.startswith(f"{each}/") for each in wrong)
        ),
    ]
