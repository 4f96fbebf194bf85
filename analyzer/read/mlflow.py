"""MLflow traces: a trace with its spans as it is exported, the artifact of a trace, or spans alone.

A span is read as an observation of Langfuse is. What it was given and what came of it are texts among its attributes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

import msgspec

from analyzer.read.cursor import Place
from analyzer.read.langfuse import Langfuse, Observation
from analyzer.read.payloads import opened

_GIVEN, _CAME, _KIND, _TOOLS = "mlflow.spanInputs", "mlflow.spanOutputs", "mlflow.spanType", "mlflow.chat.tools"
_TYPES = {"CHAT_MODEL": "GENERATION", "LLM": "GENERATION", "TOOL": "TOOL"}
_SESSION = "mlflow.trace.session"
_MOST = 1 << 62  # of nanoseconds

_decode = msgspec.json.Decoder().decode


class MLflow(Langfuse):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "mlflow"
    title: ClassVar[str] = "MLflow traces"
    known_by: ClassVar[str] = (
        "spans with attributes named mlflow.span*; traces with these under `data`, or under `spans`"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Payloads are in the shape of whatever framework was traced: what is in no known shape is not read.",
        "Tool tables are recorded only where the framework passed them on.",
        "Tools mostly have no call id: of several open calls of one name the first is taken to be run.",
        "Payloads are kept as texts: a pointer leads to the text.",
    )
    members: ClassVar[tuple[str, str]] = (f"attributes/{_GIVEN}", f"attributes/{_CAME}")

    @staticmethod
    def observed(raw: bytes) -> Any:
        """Read a record."""
        return _decode(raw)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is a trace or a span."""
        spans, _ = _spans_in(record)
        return 1.0 if spans and any(map(_is_span, spans[:64])) else 0.0

    def _take(self, record: Any, raw: bytes, place: Place) -> bool:
        del raw
        spans, to = _spans_in(record)
        info = record.get("info") if isinstance(record, dict) else None
        named = _session_of(_dict(info))
        listed = []
        for index, span in enumerate(spans):
            if _is_span(span):
                one = _observation_of(span)
                listed.append((one.startTime or "", index, one))
        if not listed:
            return False
        for _, index, one in sorted(listed, key=lambda each: each[:2]):
            here = msgspec.structs.replace(place, pointer=f"{place.pointer}{to}{f'/{index}' if to else ''}")
            self._observation(one, here, named or one.traceId or "")
        return True


def _spans_in(record: Any) -> tuple[list[Any], str]:
    """The spans of a record, and the pointer to their list: empty where the record is one."""
    if not isinstance(record, dict):
        return [], ""
    data = record.get("data")
    if isinstance(data, dict) and isinstance(data.get("spans"), list):
        return data["spans"], "/data/spans"
    if isinstance(record.get("spans"), list):
        return record["spans"], "/spans"
    return [record], ""


def _is_span(value: Any) -> bool:
    attributes = value.get("attributes") if isinstance(value, dict) else None
    return isinstance(attributes, dict) and any(name in attributes for name in (_KIND, _GIVEN, _CAME))


def _session_of(info: dict[str, Any]) -> str | None:
    """What a trace says it belongs to, else its own name."""
    for holder in (info.get("trace_metadata"), info.get("request_metadata"), info.get("tags")):
        if isinstance(holder, dict) and isinstance(holder.get(_SESSION), str):
            return str(holder[_SESSION])
    return _text(info.get("trace_id"), info.get("request_id"))


def _observation_of(span: dict[str, Any]) -> Observation:
    """A span under the names of an observation; before version 3 it has others."""
    context, status, attributes = _dict(span.get("context")), _dict(span.get("status")), span["attributes"]
    kind = opened(attributes.get(_KIND))
    kind = kind.strip('"') if isinstance(kind, str) else "SPAN"
    given, came = attributes.get(_GIVEN), attributes.get(_CAME)
    failed = "ERROR" in str(status.get("code") or span.get("status_code") or "")
    return Observation(
        id=_text(span.get("span_id"), context.get("span_id")),
        type=_TYPES.get(kind, kind),
        name=_text(span.get("name")),
        traceId=_text(span.get("trace_id"), context.get("trace_id")),
        startTime=_time(span.get("start_time_unix_nano", span.get("start_time"))),
        input=given,
        output=None if came in (None, "null") else came,
        metadata={"tools": attributes.get(_TOOLS)},
        level="ERROR" if failed else None,
        statusMessage=_text(status.get("message"), span.get("status_message"), _raised(span.get("events"))),
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _raised(events: Any) -> str | None:
    """What was raised inside of a span."""
    for event in events if isinstance(events, list) else ():
        told = event.get("attributes") if isinstance(event, dict) else None
        if isinstance(told, dict) and isinstance(told.get("exception.message"), str):
            return str(told["exception.message"])
    return None


def _time(nanoseconds: Any) -> str | None:
    if type(nanoseconds) is not int or not 0 <= nanoseconds < _MOST:
        return None
    whole, rest = divmod(nanoseconds, 1_000_000_000)
    return datetime.fromtimestamp(whole, UTC).replace(microsecond=rest // 1000).isoformat(timespec="microseconds")


def _text(*values: Any) -> str | None:
    return next((value for value in values if isinstance(value, str) and value), None)
