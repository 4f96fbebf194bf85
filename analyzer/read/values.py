"""Members of a record kept as raw JSON, turned into the texts and containers that the frames hold."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Any

import msgspec

Raw = msgspec.Raw
ABSENT = Raw()
#: A number that fits a column: a larger one is no position and no index.
Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class _Part(msgspec.Struct, gc=False):
    """A content part; pictures and files in it are passed over, however large."""

    type: str | None = None
    text: str | None = None
    refusal: str | None = None
    content: Raw = ABSENT


_string = msgspec.json.Decoder(str).decode
_parts = msgspec.json.Decoder(list[_Part]).decode
_CONTAINERS = {ord("{"): "object", ord("["): "array", ord("t"): "boolean", ord("f"): "boolean", ord("n"): "null"}
_PARSED: dict[type, str] = {dict: "object", list: "array", bool: "boolean"}
_BEGINNINGS = {'"': "text", "": "absent", **{chr(code): container for code, container in _CONTAINERS.items()}}
_BYTES = [bytes((code,)) for code in range(256)]
_skim = msgspec.json.Decoder(Raw).decode
_PLAIN = frozenset(("object", "array", "number", "boolean", "null"))
#: The content parts that the Responses API takes as an output.
PARTS = frozenset({"input_text", "input_image", "input_file", "output_text"})


def encoded(value: Any) -> bytes:
    """A value as JSON text; null where it cannot be written as such."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError):
        return b"null"


def marked(raw: bytes) -> int:
    """What tells a JSON text from others, however it is written."""
    return hash(msgspec.json.encode(msgspec.json.decode(raw), order="sorted"))


def contained(value: Any) -> tuple[str | None, str]:
    """Arguments or an output that were parsed: as text, and the container they stood in."""
    if value is None:
        return None, "null"
    if isinstance(value, str):
        return value, "text"
    return encoded(value).decode(), _PARSED.get(type(value), "number")


def first(raw: Raw | bytes) -> bytes:
    """The first byte; empty where the member is absent."""
    if type(raw) is bytes:
        return raw[:1]
    return _BYTES[memoryview(raw)[0]] if raw else b""


def arguments(raw: Raw) -> tuple[str | None, str]:
    """The JSON text of arguments after one layer of text is taken off, and the container they stood in."""
    text = bytes(raw)
    if not text:
        return None, "absent"
    if text[:1] == b'"':
        return _string(text), "text"
    return text.decode(), _CONTAINERS.get(text[0], "number")


def texts_of(raws: Sequence[Raw]) -> list[str]:
    """The JSON texts of many members at once: a Raw made a text alone takes four times as long."""
    return b"\0".join(raws).decode().split("\0") if raws else []  # NUL stands in no JSON


def streamed(text: str, container: str = "object") -> str:
    """The container of an object that came in pieces: `broken` where they do not add up to JSON."""
    try:
        _skim(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return "broken"
    except RecursionError:
        return container
    return container


def arguments_of(raws: Sequence[Raw]) -> tuple[list[str | None], list[str]]:
    """The same as `arguments` of many; a text that is none is `broken`."""
    texts: list[str | None] = [*texts_of(raws)]
    containers = [_BEGINNINGS.get(text[:1], "number") for text in texts if text is not None]
    if not _PLAIN.issuperset(containers):
        for place, container in enumerate(containers):
            if container == "absent":
                texts[place] = None
            elif container == "text":
                try:
                    texts[place] = _string(raws[place])
                except msgspec.DecodeError:
                    containers[place] = "broken"
    return texts, containers


def output(raw: Raw, supported: frozenset[str] = PARTS) -> tuple[str | None, str]:
    """The text of an output, and the container it stood in; content parts come back as their joined texts.

    A list that holds a part of a type that is not supported is an array.
    """
    if first(raw) == b'"':
        return _string(raw), "text"
    text = bytes(raw)
    if not text:
        return None, "absent"
    if text == b"null":
        return None, "null"
    if text[:1] == b"[":
        try:
            parts = _parts(text)
        except msgspec.DecodeError:
            parts = []
        if parts and all(part.type in supported for part in parts):
            return "\n".join(part.text for part in parts if part.text is not None), "parts"
    return text.decode(), _CONTAINERS.get(text[0], "number")


def parts_of(raw: Raw, supported: frozenset[str]) -> list[str] | None:
    """The texts of a list of content parts; None where one is of a type that is not supported."""
    try:
        parts = _parts(raw)
        return (
            [part.text for part in parts if part.text is not None] if all(p.type in supported for p in parts) else None
        )
    except msgspec.DecodeError:
        found = msgspec.json.decode(raw)
    if not all(isinstance(part, dict) and part.get("type") in tuple(supported) for part in found):
        return None
    return [part["text"] for part in found if isinstance(part.get("text"), str)]


def quoted_output(raw: Raw, supported: frozenset[str] = PARTS) -> tuple[str | bytes | None, str]:
    """The same with a JSON string left as it stands, for `Rows.bulk` to decode many at once."""
    return (bytes(raw), "text") if first(raw) == b'"' else output(raw, supported)


def text_of(raw: Raw) -> str | None:
    """A member as text: a string as it is, anything else as its JSON text, null and absent as None."""
    if not raw:
        return None
    text = str(raw, "utf-8")
    return _string(raw) if text[:1] == '"' else None if text == "null" else text


def words(raw: Raw) -> str | None:
    """The texts of a message's content parts."""
    if first(raw) != b"[":
        return text_of(raw)
    try:
        parts = _parts(raw)
    except msgspec.DecodeError:
        return _odd_words(raw)
    if any(bytes(part.content) for part in parts):
        return _odd_words(raw)
    return "\n".join(text for part in parts if (text := part.refusal if part.text is None else part.text) is not None)


def refuses(raw: Raw) -> bool:
    """Whether a message's content parts say why the model does not answer."""
    if first(raw) != b"[" or b'"refusal"' not in bytes(raw):
        return False
    try:
        return any(part.type == "refusal" for part in _parts(raw))
    except msgspec.DecodeError:
        return False


def _odd_words(raw: Raw) -> str:
    """The same where parts hold parts, or are of other types than the wire says."""
    found: list[str] = []
    for part in msgspec.json.decode(raw):
        if not isinstance(part, dict):
            continue
        inner = part.get("content")
        for each in inner if isinstance(inner, list) else [part]:
            text = each.get("text") if isinstance(each, dict) else None
            found += [text] if isinstance(text, str) else []
    return "\n".join(found)


def microseconds(when: float) -> int | None:
    """A number of seconds, milliseconds or microseconds since 1970, told apart by size, as microseconds."""
    if not -1e17 < when < 1e17:
        return None
    factor = 1 if abs(when) >= 1e14 else 1_000 if abs(when) >= 1e11 else 1_000_000
    return round(when * factor)


def value_of(text: str | None) -> Hashable:
    """What a JSON text says, equal for texts that differ only in how they are written; else the text."""
    try:
        return text if text is None else _frozen(msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text


def _frozen(value: Any) -> Hashable:
    if isinstance(value, dict):
        return frozenset((name, _frozen(inner)) for name, inner in value.items())
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def string(value: Any) -> str | None:
    """A parsed value that is a text and says something; None for any other."""
    return value if isinstance(value, str) and value else None


def under(value: Any, path: Sequence[str]) -> Any:
    """What stands in a parsed value under these names; None where nothing does."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
