"""A recorded HTTP exchange in the shapes of the usual recorders, taken apart into the bodies of its two halves.

Known are `{http, response}`, `{request, response}`, HAR entries, VCR interactions (`parsed_body`, `body.string`) and
`{path, body}`. Bodies kept as text are opened; what stands in them cannot be pointed at.
"""

from __future__ import annotations

import base64
import binascii
import re

import msgspec

from analyzer.read.recover import Fault, Unreadable, parse
from analyzer.read.values import ABSENT, Raw, first

_string = msgspec.json.Decoder(str).decode


class Body(msgspec.Struct, frozen=True, gc=False):
    """The body of a half: one JSON value, or the frames of an event stream."""

    frames: tuple[bytes, ...]
    pointer: str
    opaque: bool
    stream: bool = False


class Exchange(msgspec.Struct, frozen=True, gc=False):
    """What was asked and answered; `url` is empty where the recorder left it out."""

    url: str
    request: Body | None
    response: Body | None
    status: int | None
    when: str | float | None


class _Text(msgspec.Struct, gc=False):
    text: Raw = ABSENT
    string: Raw = ABSENT
    encoding: Raw = ABSENT


class _Half(msgspec.Struct, gc=False):
    """One half, in any recorder's words; a body that stands bare shows itself by a member that only bodies have."""

    url: str | None = None
    uri: str | None = None
    path: str | None = None
    status: Raw = ABSENT
    status_code: int | None = None
    code: Raw = ABSENT
    body: Raw = ABSENT
    json: Raw = ABSENT
    parsed_body: Raw = ABSENT
    postData: Raw = ABSENT  # noqa: N815 - HAR's name
    content: Raw = ABSENT
    input: Raw = ABSENT
    output: Raw = ABSENT
    error: Raw = ABSENT
    messages: Raw = ABSENT
    choices: Raw = ABSENT
    contents: Raw = ABSENT
    candidates: Raw = ABSENT
    jsonrpc: Raw = ABSENT
    type: Raw = ABSENT


class _Whole(msgspec.Struct, gc=False):
    http: Raw = ABSENT
    request: Raw = ABSENT
    response: Raw = ABSENT
    response_raw: Raw = ABSENT
    path: str | None = None
    uri: str | None = None
    url: str | None = None
    body: Raw = ABSENT
    status: Raw = ABSENT
    recorded_at: str | float | None = None
    startedDateTime: str | None = None  # noqa: N815 - HAR's name


_whole = msgspec.json.Decoder(_Whole).decode
_half = msgspec.json.Decoder(_Half).decode
_text = msgspec.json.Decoder(_Text).decode
_skip = msgspec.json.Decoder(Raw).decode
# Texts inside JSON may hold what Python takes for line ends (U+2028 and others).
_LINE_END = re.compile(r"\r\n|\r|\n")
# How JSON begins; other texts may begin with a bracket too.
_JSON = re.compile(rb"""\{\s*(?:["}]|$)|\[\s*(?:["{\[\]]|$)""")
_MEMBERS = ("parsed_body", "json", "body", "postData", "content")


def exchange_of(raw: bytes | Raw) -> Exchange | None:
    """Take an exchange apart. Raises msgspec.DecodeError where it holds members of other types."""
    whole = _whole(raw)
    asked = "http" if first(whole.http) == b"{" else "request"
    url, status = whole.uri or whole.url or whole.path or "", whole.status
    request: Body | None = None
    if first(getattr(whole, asked)) == b"{":
        half = _half(getattr(whole, asked))
        url = half.url or half.uri or half.path or url
        request = _body(
            half, getattr(whole, asked), f"/{asked}", bare=half.input or half.messages or half.contents or half.jsonrpc
        )
    elif bytes(whole.body):
        request = _open(whole.body, "/body")
    response: Body | None = None
    if first(whole.response) == b"{":
        half = _half(whole.response)
        # A list is the content of a message; what HAR calls content is an object.
        blocks = half.content if first(half.content) == b"[" else ABSENT
        bare = half.output or half.error or half.choices or half.candidates or half.jsonrpc or blocks
        response = _body(half, whole.response, "/response", bare=bare)
        status = half.status if bytes(half.status) else status
        if half.status_code is not None:
            status = Raw(str(half.status_code).encode())
    elif first(whole.response) == b'"':
        response = _open(whole.response, "/response")
    elif first(whole.response_raw) == b'"':
        response = _open(whole.response_raw, "/response_raw")
    if request is None and response is None:
        return None
    return Exchange(url, request, response, _code(status), whole.recorded_at or whole.startedDateTime)


def _body(half: _Half, raw: Raw, pointer: str, *, bare: Raw) -> Body | None:
    if bytes(bare):
        return Body((bytes(raw),), pointer, opaque=False)
    for member in _MEMBERS:
        value: Raw = getattr(half, member)
        if bytes(value) and bytes(value) != b"null":
            return _open(value, f"{pointer}/{member}")
    return None


def _open(value: Raw, pointer: str) -> Body | None:
    kind = first(value)
    if kind == b"{":
        held = _text(value)
        for member in ("text", "string"):
            text: Raw = getattr(held, member)
            if first(text) == b'"':
                return opened(_decoded(_string(text), bytes(held.encoding)), f"{pointer}/{member}")
        return Body((bytes(value),), pointer, opaque=False)
    if kind == b"[":
        return Body((bytes(value),), pointer, opaque=False)
    return opened(_string(value), pointer) if kind == b'"' else None


def _decoded(text: str, encoding: bytes) -> str:
    if encoding != b'"base64"':
        return text
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""


def opened(text: str, pointer: str) -> Body | None:
    """A body that was kept as text: JSON, or an event stream."""
    stripped = text.lstrip("\ufeff \t\r\n")
    if stripped.startswith(("{", "[")):
        return Body((stripped.encode("utf-8", "replace"),), pointer, opaque=True)
    if not stripped.startswith(("data:", "event:", ":", "id:")):
        return None
    frames: list[bytes] = []
    data: list[str] = []
    for line in [*_LINE_END.split(stripped), ""]:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            frames.append("\n".join(data).encode("utf-8", "replace"))
            data = []
    return Body(tuple(frames), pointer, opaque=True, stream=True)


def unread(*bodies: Body | None) -> list[Fault]:
    """What was kept as text, begins as JSON does and is none: a recorder has mostly cut it."""
    faults: list[Fault] = []
    for body in bodies:
        for frame in body.frames if body is not None and body.opaque else ():
            parsed = parse(frame) if _JSON.match(frame) and not _is_json(frame) else None
            if body is not None and isinstance(parsed, Unreadable):
                what = f"the text at {body.pointer}"
                detail = f"{what} is cut" if parsed.cut else f"{what} is no JSON: {parsed.detail}"
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
        text = bytes(_half(raw).code)
    return int(text) if text.isdigit() and len(text) < 5 else None
