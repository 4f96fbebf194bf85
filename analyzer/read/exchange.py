"""A recorded HTTP exchange in the shapes of the usual recorders, taken apart into the bodies of its two halves.

Known are pairs of the names in HALVES, HAR entries, VCR interactions (`parsed_body`, `body.string`) and `{path, body}`.
Bodies kept as text are opened; what stands in them cannot be pointed at.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from analyzer.read.members import listed
from analyzer.read.recorded import Recorded, halves, telling, when_of
from analyzer.read.recover import Fault, Unreadable, parse
from analyzer.read.sources.bodies import text_of
from analyzer.read.values import ABSENT, Raw, first

_string = msgspec.json.Decoder(str).decode


R = TypeVar("R", bound=Recorded)
S = TypeVar("S")


class Body(msgspec.Struct, Generic[S], frozen=True, gc=False):
    """The body of a half: one JSON value, or the frames of an event stream, of which there is at least one."""

    frames: tuple[bytes, ...]
    pointer: str
    opaque: bool
    stream: bool = False
    record: S | None = None
    """The value, where it was decoded on the way."""


class Exchange(msgspec.Struct, Generic[S], frozen=True, gc=False):
    """What was asked and answered; `url` is empty where the recorder left it out, or it names no API."""

    url: str
    request: Body[S] | None
    response: Body[S] | None
    status: int | None
    when: str | float | None


#: What came back and is not read: calls may stand in it.
STRANGE = Fault("unknown_item", "", "a response in no shape of its wire")
# How any API shows a call of a tool; lists and objects that are empty are none.
_CALLS = re.compile(
    rb'"(?:tool_calls?|toolCalls?|function_?[cC]all|toolUse)"\s*:\s*(?:\[\s*)?\{\s*"|"(?:tool_use|tool-call-start)"'
)
_EMPTY = frozenset({b"", b"[DONE]", b"null", b"{}", b"[]", b'""'})
_recorded = msgspec.json.Decoder(Recorded).decode
_skip = msgspec.json.Decoder(Raw).decode
# Texts inside JSON may hold what Python takes for line ends (U+2028 and others).
_LINE_END = re.compile(r"\r\n|\r|\n")
# How JSON begins; other texts may begin with a bracket too.
_JSON = re.compile(rb"""\{\s*(?:["}]|$)|\[\s*(?:["{\[\]]|$)""")
_NO_TEXT, _HEAD = "\ufffd".encode(), 64  # what stands for a byte that is no text, and how soon it does
_MEMBERS = ("parsed_body", "json", "body", "postData", "content", "body_raw", "raw_body", "rawBody")
# What the half of an exchange may have beside a body.
_BESIDE = frozenset(
    {
        *("status", "status_code", "code", "statusText", "status_text", "reason", "headers", "cookies", "ok", "url"),
        *("httpVersion", "http_version", "redirectURL", "headersSize", "bodySize", "timestamp", "duration", "elapsed"),
        *("version", "request_id", "ResponseMetadata", "method", "bytes", "size", "latency_ms", "duration_ms"),
        *_MEMBERS,
    }
)


def exchange_in(raw: bytes | Raw) -> Exchange[Recorded] | None:
    """Take the exchange in a JSON text apart. Raises msgspec.DecodeError where it holds members of other types."""
    return exchange_of(_recorded(raw), _recorded)


def exchange_of(whole: Recorded, decode: Callable[[Raw], R]) -> Exchange[R] | None:
    """Take an exchange apart; `decode` reads its bodies.

    Raises msgspec.DecodeError where it holds members of other types.
    """
    asked, name, told, back = halves(whole)
    url, status = _word(whole.uri) or _word(whole.url) or _word(whole.path), whole.status
    when = when_of(whole)
    request: Body[R] | None = None
    if first(asked) == b"{":
        half, record = _half(asked, decode)
        url = _word(half.url) or _word(half.uri) or _word(half.path) or url
        bare = half.input or half.messages or half.contents or half.jsonrpc
        request = Body((bytes(asked),), name, False, False, record) if bare else _wrapped(half, name, decode)
    elif first(asked) == b'"':
        request = opened(_string(asked), name)
    elif whole.body:
        request = _open(whole.body, "/body", decode)
    if not told:
        told, back = whole.response_raw, "/response_raw"
    response, said = _told(told, back, decode)
    if response is not None and response.record is None and first(response.frames[0][:1]) == b"[":
        response = _listed(response)
    response = response or _strange(told, back)
    if request is None and response is None:
        return None
    return Exchange(telling(url), request, response, _code(said or status), when)


def _told(raw: Raw, name: str, decode: Callable[[Raw], R]) -> tuple[Body[R] | None, Raw]:
    """What came back, and its status where that stands beside it."""
    if first(raw) == b"[":
        return _open(raw, name, decode), ABSENT
    if first(raw) != b"{":
        return opened(_string(raw), name) if first(raw) == b'"' else None, ABSENT
    half, record = _half(raw, decode)
    status = half.status_code if first(half.status_code) not in (b"", b"n") else half.status
    whole = Body((bytes(raw),), name, False, False, record)
    bare = half.output or half.error or half.choices or half.candidates or half.jsonrpc
    # A list is the content of a message; what HAR calls content is an object.
    if bare or first(half.content) == b"[" or first(half.message) == b"{":
        return whole, status
    response = _wrapped(half, name, decode)
    if response is None and first(half.stream) == b"[":  # the events that a client's stream gave
        response = _open(half.stream, f"{name}/stream", decode)
    plain = _code(half.status) is None and not (half.status_code or half.code) and bytes(raw) != b"{}"
    if response is None and plain:  # no half of an exchange: what it is, is for the wire to say
        response = whole
    return response, status


def _strange(raw: Raw, pointer: str) -> Body[Any] | None:
    """A response that is there and can be no body of any wire: a text that is not JSON, or a number."""
    if first(raw) == b"{":
        half = _recorded(raw)
        member = next((name for name in _MEMBERS if first(getattr(half, name)) not in (b"", b"n")), None)
        if member is None:
            return Body((bytes(raw),), pointer, opaque=False) if holds_more(raw) else None
        raw, pointer = getattr(half, member), f"{pointer}/{member}"
        held = _recorded(raw) if first(raw) == b"{" else half
        raw = next((text for text in (held.text, held.string) if first(text) == b'"'), raw)
    text = _string(raw) if first(raw) == b'"' else bytes(raw).decode()
    return Body((text.strip().encode("utf-8", "replace"),), pointer, opaque=True) if text.strip() else None


def holds_more(raw: Raw) -> bool:
    """Whether a half of an exchange without a body has a member that no recorder has beside one."""
    return not _BESIDE.issuperset([name for name, value in msgspec.json.decode(raw).items() if value])


def says_something(body: Body[Any] | None) -> bool:
    """Whether a body holds more than nothing, an empty value or the end mark of a stream."""
    return body is not None and not _EMPTY.issuperset([frame.strip() for frame in body.frames])


def strange(body: Body[Any] | None) -> Fault:
    """What is told of a response that no reader of its wire takes: one in which calls stand is lost to the audit."""
    if body is not None and any(map(_CALLS.search, body.frames)):
        return Fault("unreadable", "", f"the calls at {body.pointer} are in no shape of their wire")
    return STRANGE


def _listed(body: Body[R]) -> Body[R]:
    """A response kept as a list holds the events of a stream; that of a JSON-RPC batch is one value."""
    try:
        frames = listed(body.frames[0])
    except msgspec.DecodeError:  # cut, as `unread` tells
        return body
    if not frames or any(b'"jsonrpc"' in frame for frame in frames):
        return body
    return Body(tuple(frames), body.pointer, opaque=True, stream=True)


def _word(raw: Raw) -> str:
    """A member that is a string, or nothing."""
    return _string(raw) if raw and first(raw) != b"n" else ""


def _half(raw: Raw, decode: Callable[[Raw], R]) -> tuple[Recorded, R | None]:
    """What stands in an exchange, and the same as a record of the wire, where it is one."""
    try:
        record = decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return _recorded(raw), None
    return record, record


def _wrapped(half: Recorded, pointer: str, decode: Callable[[Raw], R]) -> Body[R] | None:
    for member in _MEMBERS:
        value: Raw = getattr(half, member)
        if value and first(value) != b"n":
            return _open(value, f"{pointer}/{member}", decode)
    return None


def _open(value: Raw, pointer: str, decode: Callable[[Raw], R]) -> Body[R] | None:
    kind = first(value)
    if kind == b"{":
        held, record = _half(value, decode)
        for member, text in (("text", held.text), ("string", held.string)) if held.text or held.string else ():
            if first(text) == b'"':
                return opened(_decoded(_string(text), bytes(held.encoding)), f"{pointer}/{member}")
        return Body((bytes(value),), pointer, False, False, record)
    if kind == b"[":
        return Body((bytes(value),), pointer, opaque=False)
    return opened(_string(value), pointer) if kind == b'"' else None


def _decoded(text: str, encoding: bytes) -> str:
    if encoding != b'"base64"':
        return text
    try:
        return text_of(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return ""


def opened(text: str, pointer: str) -> Body[Any] | None:
    """A body that was kept as text: JSON, or an event stream."""
    stripped = text.lstrip("\ufeff \t\r\n")
    if stripped.startswith(("{", "[")):
        begun, _, rest = stripped.partition("\n")
        if begun.rstrip("\r").endswith("}") and rest.startswith("{"):  # lines, the events of a stream
            lines = stripped.encode("utf-8", "replace").splitlines()
            return Body(tuple(filter(None, lines)), pointer, opaque=True, stream=True)
        return Body((stripped.encode("utf-8", "replace"),), pointer, opaque=True)
    if not stripped.startswith(("data:", "event:", ":", "id:")):
        return None
    frames = _frames(stripped)  # there are none where only comments came
    return Body(frames, pointer, opaque=True, stream=True) if frames else None


def _frames(text: str) -> tuple[bytes, ...]:
    """The data of the events of a stream."""
    frames: list[bytes] = []
    events = text.encode("utf-8", "replace").split(b"\n\n") if "\r" not in text else []
    if text.count("\n") == 2 * len(events) - 2:  # each is one line
        return tuple([event[5:].removeprefix(b" ") for event in events if event.startswith(b"data:")])
    for event in events:
        start = 5 if event.startswith(b"data:") else event.find(b"\ndata:") + 6
        if event.find(b"\n", start) > 0:
            break  # more than one line of data, or lines behind it
        if start > 5 or event.startswith(b"data:"):
            frames.append(event[start:].removeprefix(b" "))
    else:
        if frames:
            return tuple(frames)
    frames, data = [], []
    for line in [*_LINE_END.split(text), ""]:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            frames.append("\n".join(data).encode("utf-8", "replace"))
            data = []
    return tuple(frames)


def unread(*bodies: Body[Any] | None) -> list[Fault]:
    """What was kept as text and is none, or begins as JSON does and is none: a recorder has mostly cut it."""
    faults: list[Fault] = []
    for body in bodies:
        if body is None or not body.opaque:
            continue
        if _NO_TEXT in body.frames[0][:_HEAD] and not _JSON.match(body.frames[0]):
            faults.append(
                Fault("unreadable", "", f"what stands at {body.pointer} is no text, or packed in an unknown way")
            )
            continue
        frames = [frame for frame in body.frames if _JSON.match(frame)]
        for frame in frames if not _is_json(b"[" + b",".join(frames) + b"]") else ():
            parsed = parse(frame) if not _is_json(frame) else None
            if isinstance(parsed, Unreadable):
                what = f"the text at {body.pointer}"
                detail = f"{what} is cut" if parsed.cut else f"{what} is not JSON: {parsed.detail}"
                faults.append(Fault("unreadable", "", detail, parsed.at))
    return faults


def _is_json(frame: bytes) -> bool:
    try:
        _skip(frame)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _code(raw: Raw) -> int | None:
    text = bytes(raw)
    if text[:1] == b"{":
        text = bytes(_recorded(raw).code)
    return int(text) if text.isdigit() and len(text) < 5 else None
