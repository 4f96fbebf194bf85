"""Texts that tell of a failure: objects that say so, messages that begin like one, and words."""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.rules.payloads import FLAGGED_WIRES, decode, layers, short
from analyzer.rules.results import breaking
from analyzer.trace import Trace, shared

OPENS = (
    r"^\s*(?:Traceback \(most recent call last\)|(?:[A-Za-z0-9_.]*(?:Error|Exception)|error|ERROR|[Ff]atal|FATAL)"
    r"\s?(?:\[[^\]]*\]|\([^)]*\))?:"
    r"|(?:MCP error|Request failed|Failed to|Unable to|Tool (?:call|execution) failed)\b)"
)
OBJECT = r'^\s*"?\s*\{'
# A gate for objects, so that few are decoded: a member that says so. Quotes may be escaped, in text inside text.
_Q = r'\\?"'
NAMES = (
    rf"{_Q}(?:is_?[Ee]rror{_Q}\s*:\s*true|(?:success|ok|succeeded){_Q}\s*:\s*false"
    rf"|(?:errors?|exception|error_?[Mm]essage|error_?[Cc]ode){_Q}\s*:\s*(?:{_Q}[^\"\\]|[{{\[]\s*[^\s}}\]]|true|-?[1-9])"
    rf"|status{_Q}\s*:\s*{_Q}(?i:error|fail)|(?:status|status_?[Cc]ode|http_status|code){_Q}\s*:\s*[45][0-9][0-9]\b)"
)
_BESIDE = {
    *("error", "errors", "error_code", "errorCode", "code", "type", "title", "message", "msg", "detail", "details"),
    *("reason", "hint", "status", "statusCode", "status_code", "http_status", "success", "ok", "succeeded", "isError"),
    *("is_error", "instance", "path", "retryable", "request_id", "requestId", "trace_id", "traceId", "timestamp"),
    *("data", "result"),
}
_WORDS = ("title", "message", "msg", "detail", "details", "reason", "hint")
_ERRORS = ("error", "errors", "error_message", "errorMessage", "error_code", "errorCode", "exception")
# Words by which a text tells of a failure, however it is put.
TELLS = (
    r"(?i)error|fail|exception|traceback|panic|denied|refus|reject|invalid|unable|not able|can(?:not|'t| not)"
    r"|could ?n[o']t|not found|no such|not exist|missing|unknown|unsupported|not supported|unavailable|tim(?:ed|e) ?out"
    r"|abort|cancel|forbidden|unauthori|not allowed|conflict|exceed|exit(?:ed)?\b.{0,20}[1-9]|sorry|wrong|problem"
)
_BEGINNING = 200  # characters: a failure is told at once
#: What a message says of such a text.
UNTOLD = " (it may be a failure, which this wire has no other place for)"
_STATUS = ("status", "statusCode", "status_code", "http_status", "code")


def said_failure(value: dict[str, Any], *, measured: bool = False) -> str | None:
    """What in an object says that it stands for a failure, or None; no `status` alone does if it is a measure."""
    error = next((name for name in _ERRORS if value.get(name) not in (None, False, "", [], {}, 0)), None)
    alone = value.keys() <= _BESIDE and value.get("data") in (None, [], {}) and value.get("result") in (None, [], {})
    for name in ("isError", "is_error"):
        if value.get(name) is True:
            return f"{name} is true"
    for name in ("success", "ok", "succeeded"):
        if value.get(name) is False and (error or alone):
            return f"{name} is false" + (f", {error} is {short(value[error], 40)}" if error else "")
    status = value.get("status")
    if isinstance(status, str) and status.casefold() in ("error", "failed", "failure") and (error or alone):
        return f"status is {short(status)}"
    for name in _STATUS:
        code = value.get(name)
        if name == "code" and not error and "message" not in value:
            continue  # of what, nobody says
        if name == "status" and measured and not error and not any(isinstance(value.get(each), str) for each in _WORDS):
            continue
        if isinstance(code, int) and not isinstance(code, bool) and 400 <= code < 600 and (error or alone):
            return f"{name} is {code}"
    return f"{error} is {short(value[error], 40)}" if error and alone else None


@shared
def measured(trace: Trace) -> pl.Series:
    """Those of the results whose output breaks a schema that wants its `status` as a number."""
    broken = breaking(trace)
    texts = trace.schemas.filter(pl.col("schema_id").is_in(broken["schema_id"].unique().implode()))
    wanting = [schema for schema, text in texts.select("schema_id", "text").iter_rows() if _wants_number(decode(text))]
    return broken["result"].filter(broken["schema_id"].is_in(wanting))


def _wants_number(schema: Any) -> bool:
    members = schema.get("properties") if isinstance(schema, dict) else None
    status = members.get("status") if isinstance(members, dict) else None
    kind = status.get("type") if isinstance(status, dict) else None
    return any(each in ("integer", "number") for each in (kind if isinstance(kind, list) else [kind]))


@shared
def perhaps_failed(trace: Trace) -> pl.Series:
    """Those of the results whose output breaks its schema that read as failures, where nothing else could say so."""
    broken = breaking(trace)["result"]
    told = trace.results.filter(
        pl.col("result").is_in(broken.implode()), pl.col("success").is_null(), ~pl.col("wire").is_in(FLAGGED_WIRES)
    ).select("result", "text", tells=pl.col("text").str.slice(0, _BEGINNING).str.contains(TELLS))
    told = told.drop_nulls().with_columns(measured=pl.col("result").is_in(measured(trace).implode()))
    found = [
        result
        for result, text, tells, measure in told.iter_rows()
        if (said_failure(value, measured=measure) is not None if isinstance(value := layers(text)[1], dict) else tells)
    ]
    return pl.Series(found, dtype=pl.Int64)
