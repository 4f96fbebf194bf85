"""A credential stands in a payload.

What it says: a key, a token, a private key or a password was found in a result, in arguments, in a message, in the
instructions or in a tool table. Only its kind and length are told, never the value.
Why it matters: the log is read by more people and kept for longer than the system that the credential opens, and the
model may repeat it in its next answer.
Bad:
    tool get_config {"type":"object","properties":{}}
    call c1 get_config
    result c1 ok db: postgres://shop:Tr4nquil-Otter-92@db.example.net/orders
Good:
    tool get_config {"type":"object","properties":{}}
    call c1 get_config
    result c1 ok db: postgres://shop:${DB_PASSWORD}@db.example.net/orders
    call c2 get_config
    result c2 ok AKIAIOSFODNN7EXAMPLE, commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b
Blind spots: kinds without a known shape, values split over several payloads, and encodings other than JSON's own.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer import secrets
from analyzer.rules.hits import hits
from analyzer.rules.results import said
from analyzer.trace import Trace, of_rows

_CONFIDENCE = {"certain": 0, "likely": 1, "hint": 2}
_GATE = "|".join(secrets.GATES)


def check(trace: Trace) -> pl.DataFrame:
    """Payloads that hold a credential; the first showing of each payload, and each payload once."""
    places = [
        *_outputs(_sifted(said(trace))),
        _arguments(_sifted(trace.calls)),
        _messages(_sifted(trace.messages)),
        _instructions(_sifted(trace.session_states, "instructions")),
        _tables(_sifted(trace.tables), trace.showings),
    ]
    rows = (row for payloads in places for row in payloads.iter_rows(named=True))
    return hits(hit for row in rows if (hit := _told(row)) is not None)


def _sifted(payloads: pl.DataFrame, column: str = "text") -> pl.DataFrame:
    """The payloads that one of the patterns touches; the loose ones run only behind literals."""
    text = pl.col(column)
    assigned, *others = secrets.LOOSE
    touched = pl.any_horizontal(text.str.contains(pattern) for pattern in (secrets.PREFIXED, *others))
    gated = payloads.filter(touched | text.str.contains(_GATE)) if payloads.height else payloads
    return gated.filter(touched | text.str.contains(assigned)) if gated.height else gated


@of_rows
def _outputs(suspects: pl.DataFrame) -> list[pl.DataFrame]:
    output, error, structured = (
        suspects.filter(suspects["what"] == what).select("result", "text", what=pl.lit(name))
        for what, name in (("text", "output"), ("error", "error"), ("structured", "structured output"))
    )
    return [output, error, structured.join(output, on=["result", "text"], how="anti", maintain_order="left")]


@of_rows
def _arguments(suspects: pl.DataFrame) -> pl.DataFrame:
    return suspects.select("call", "text", what=pl.lit("arguments"))


@of_rows
def _messages(suspects: pl.DataFrame) -> pl.DataFrame:
    first = suspects.unique(["session", "item_id", "text"], keep="first", maintain_order=True)
    return first.select("session", "event", "pointer", "turn", "text", what=pl.lit("message"))


@of_rows
def _instructions(suspects: pl.DataFrame) -> pl.DataFrame:
    return (
        suspects.sort("session", "seq", "event")
        .unique(["session", "instructions"], keep="first", maintain_order=True)
        .select("session", "event", text="instructions", what=pl.lit("instructions"))
    )


@of_rows
def _tables(suspects: pl.DataFrame, showings: pl.DataFrame) -> pl.DataFrame:
    """Tool tables with a credential (headers of servers, say), once per session."""
    return (
        showings.join(suspects.select("table", "text"), on="table")
        .sort("session", "seq", "event", "pointer")
        .unique(["session", "table"], keep="first", maintain_order=True)
        .select("session", "event", "pointer", "text", what=pl.lit("tool table"))
    )


def _count(number: int) -> str:
    return "a credential" if number == 1 else f"{number} credentials"


def _verb(what: str) -> str:
    return "hold" if what in ("arguments", "instructions") else "holds"


def _told(payload: dict[str, Any]) -> dict[str, Any] | None:
    held = secrets.find(payload["text"])
    if not held:
        return None
    sure = min((secret.confidence for secret in held), key=_CONFIDENCE.__getitem__)
    kinds = sorted({f"{secret.kind} ({secret.end - secret.start} characters)" for secret in held})
    return {
        **{name: value for name, value in payload.items() if name not in ("text", "what")},
        "message": f"The {payload['what']} {_verb(payload['what'])} {_count(len(held))}: {', '.join(kinds[:4])}.",
        "hint": "Revoke it, keep it out of what tools return, and treat this log as secret.",
        "severity": "warning" if sure == "hint" else None,
        "confidence": sure,
        "keyword": min(secret.kind for secret in held),
    }
