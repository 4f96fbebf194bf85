"""Recorded exchanges: a request and its response, the bodies as values or as texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from analyzer.read.agents_api.pointing import marks, point_at_text
from analyzer.read.agents_api.wire import (
    Http,
    Record,
    Response,
    decode_http,
    decode_raws,
    decode_record,
    decode_response,
    decode_session,
    decode_string,
)
from analyzer.read.members import held
from analyzer.read.openai import exchange
from analyzer.read.values import ABSENT, Raw, first

if TYPE_CHECKING:
    from analyzer.read.agents_api.single import Place, Single


def take(single: Single, record: Record, pointer: str, place: Place) -> bool:  # noqa: C901 - one branch for each endpoint
    """A recorded request and its response."""
    http, _ = held(decode_http, record.http, Http())
    path = (http.path or http.url).partition("?")[0]
    _, found, rest = path.partition("/agents/sessions")
    if not found:
        return False
    response, _ = held(decode_response, record.response, Response())
    _, session, *below = [*rest.split("/"), ""]
    accepted = None if response.status is None else response.status < 400
    keys = [value for name, value in http.headers.items() if name.lower() == "idempotency-key"]
    place = replace(place, session=session or place.session, accepted=accepted, key=str(keys[0]) if keys else None)
    body, body_at = _body(http.body), f"{pointer}/http/body"
    answers, answer_at = _bodies(response.body), f"{pointer}/response/body"
    if not session:
        named = (_named(answer) for answer in answers if first(answer) == b"{")
        place = replace(place, session=next(filter(None, named), place.session))
    native = f"{http.method} {'/'.join(('/agents/sessions', *(['{id}'] if session else []), *filter(None, below)))}"
    event = single.event(record, native, "request", place.session, None, pointer, place)
    for half, where in ((http.body, "/http/body"), (response.body, "/response/body")):
        if first(half) == b'"':
            unread = exchange.unread(exchange.opened(held(decode_string, half, "")[0], where))
            single.rows.faults += [(event, place.session, *fault._replace(pointer=where)) for fault in unread]
    before = marks(single.rows)
    if http.method == "POST" and first(body) == b"{" and accepted is not False and not any(below):
        single.request(held(decode_record, body, Record())[0], body_at, place, "update" if session else "create")
    elif http.method == "POST" and first(body) in (b"{", b"["):
        inner = held(decode_record, body, Record())[0] if first(body) == b"{" else None
        if inner is None:
            single.all(decode_raws(body), body_at, place)
        elif first(inner.events) == b"[":
            single.all(decode_raws(inner.events), f"{body_at}/events", place)
    if first(http.body) == b'"':
        point_at_text(single.rows, before, body_at)
    before = marks(single.rows)
    if accepted is not False:
        for answer in answers:
            single.inside(answer, answer_at, replace(place, accepted=None, key=None))
    if first(response.body) == b'"':
        point_at_text(single.rows, before, answer_at)
    return True


def _body(raw: Raw) -> Raw | bytes:
    """The recorded body of a request."""
    return next(iter(_bodies(raw)), ABSENT)


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
