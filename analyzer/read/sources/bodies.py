"""The bytes of an HTTP body as text: unpacked where it was sent compressed, a binary event stream as lines of JSON."""

from __future__ import annotations

import base64
import binascii
import io
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec

from analyzer.read import limits
from analyzer.read.sources.packed import unpacked

# Of a frame of Amazon's event streams: its length, that of its headers and a checksum of both; behind it, another one.
_PRELUDE, _BEHIND = 12, 4
_LEAST = _PRELUDE + _BEHIND
_STRING = 7  # the type of a header that is text, the only one of those that name an event
# What a body may come to, or a small file of many fills the memory: texts shrink to a tenth, streams to a thirtieth.
_FREE, _TIMES = 1 << 20, 50
_ZLIB, _CHECK = 8, 31  # the method in the first byte of a zlib stream; what its first two bytes are a multiple of


def text_of(body: bytes) -> str:
    """A body as text; what is neither text nor compressed in a known way comes back with U+FFFD for its bytes."""
    plain = _plain(body)
    # A line end in JSON stands between its tokens.
    events = [event.replace("\n", " ") for event in _events(plain)]
    return "".join(f"data: {event}\n\n" for event in events) or plain.decode("utf-8", "replace")


def _plain(body: bytes) -> bytes:
    """The bytes of a body before it was compressed, up to where it is cut, or to the most that it may come to."""
    most = min(_FREE + _TIMES * len(body), limits.MAX_RECORD)
    if body[:1] and body[0] & 15 == _ZLIB and int.from_bytes(body[:2]) % _CHECK == 0:
        try:
            return zlib.decompressobj().decompress(body, most)
        except zlib.error:
            return body
    stream = unpacked(io.BytesIO(body), body[:4])
    if stream is None:
        return body
    pieces: list[bytes] = []
    size = 0
    try:
        while size < most and (piece := stream.read(min(limits.BLOCK, most - size))):
            pieces.append(piece)
            size += len(piece)
    except OSError:
        pass  # broken behind what came before
    return b"".join(pieces) or body


def _events(body: bytes) -> Iterator[str]:
    """The events of a binary stream as JSON objects that have the name of the event as their one member."""
    at = 0
    while at + _LEAST <= len(body):
        size, headers = int.from_bytes(body[at : at + 4]), int.from_bytes(body[at + 4 : at + 8])
        if size < _LEAST + headers or int.from_bytes(body[at + 8 : at + _PRELUDE]) != zlib.crc32(body[at : at + 8]):
            return
        begun = at + _PRELUDE + headers
        named = dict(_headers(body[at + _PRELUDE : begun]))
        name = named.get(":event-type") or named.get(":exception-type")
        payload = body[begun : at + size - _BEHIND]
        if name is not None:
            yield _event(name, payload)
        at += size


def _headers(raw: bytes) -> Iterator[tuple[str, str]]:
    """The headers that are texts, up to one of another type."""
    at = 0
    while at < len(raw):
        name = raw[at + 1 : at + 1 + raw[at]]
        at += 1 + raw[at]
        if raw[at : at + 1] != bytes([_STRING]):
            return
        size = int.from_bytes(raw[at + 1 : at + 3])
        yield name.decode("utf-8", "replace"), raw[at + 3 : at + 3 + size].decode("utf-8", "replace")
        at += 3 + size


def _event(name: str, payload: bytes) -> str:
    text = payload.decode("utf-8", "replace")
    if name == "chunk":  # an event of the model's own API, inside
        try:
            return base64.b64decode(_chunk(payload).bytes, validate=True).decode("utf-8", "replace")
        except (msgspec.DecodeError, binascii.Error):
            pass
    return f"{{{msgspec.json.encode(name).decode()}:{text or '{}'}}}"


class _Chunk(msgspec.Struct):
    bytes: str = ""


_chunk: Any = msgspec.json.Decoder(_Chunk).decode
