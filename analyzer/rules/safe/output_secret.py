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
from analyzer.trace import Trace

_CONFIDENCE = {"certain": 0, "likely": 1, "hint": 2}
_GATE = "|".join(secrets.GATES)


def check(trace: Trace) -> pl.LazyFrame:
    """Payloads that hold a credential; the first showing of each payload, and each payload once."""
    results = trace.results.lazy().filter(pl.col("rank").fill_null(0) == 0)
    places = [
        results.select("result", "text", what=pl.lit("output")),
        results.select("result", text="error", what=pl.lit("error")),
        results.filter(pl.col("structured") != pl.col("text")).select(
            "result", text="structured", what=pl.lit("structured output")
        ),
        trace.calls.lazy().select("call", "text", what=pl.lit("arguments")),
        trace.messages.lazy()
        .unique(["session", "item_id", "text"], keep="first", maintain_order=True)
        .select("session", "event", "pointer", "turn", "text", what=pl.lit("message")),
        trace.session_states.lazy()
        .sort("session", "seq", "event")
        .unique(["session", "instructions"], keep="first", maintain_order=True)
        .select("session", "event", text="instructions", what=pl.lit("instructions")),
        _tables(trace),
    ]
    found: list[dict[str, Any]] = []
    for sifted in pl.collect_all([_sifted(each) for each in places]):
        for payload in sifted.iter_rows(named=True):
            held = secrets.find(payload["text"])
            if not held:
                continue
            sure = min((secret.confidence for secret in held), key=_CONFIDENCE.__getitem__)
            kinds = sorted({f"{secret.kind} ({secret.end - secret.start} characters)" for secret in held})
            found.append(
                {
                    **{
                        name: payload[name]
                        for name in ("result", "call", "session", "event", "pointer", "turn")
                        if name in payload
                    },
                    "message": f"The {payload['what']} {_verb(payload['what'])} "
                    f"{_count(len(held))}: {', '.join(kinds[:4])}.",
                    "hint": "Revoke it, keep it out of what tools return, and treat this log as secret.",
                    "severity": "warning" if sure == "hint" else None,
                    "confidence": sure,
                    "keyword": min(secret.kind for secret in held),
                }
            )
    return hits(found)


def _sifted(payloads: pl.LazyFrame) -> pl.LazyFrame:
    """The payloads that one of the patterns touches; the loose ones run only behind literals."""
    text = pl.col("text")
    assigned, *others = secrets.LOOSE
    loose = text.str.contains(_GATE) & text.str.contains(assigned)
    return payloads.filter(
        text.str.contains(secrets.PREFIXED) | loose | pl.any_horizontal(text.str.contains(other) for other in others)
    )


def _tables(trace: Trace) -> pl.LazyFrame:
    """Tool tables with a credential (headers of servers, say), once per session."""
    suspects = _sifted(trace.tables.lazy().select("table", "text")).collect()
    return (
        trace.showings.lazy()
        .join(suspects.lazy(), on="table")
        .sort("session", "seq", "event", "pointer")
        .unique(["session", "table"], keep="first", maintain_order=True)
        .select("session", "event", "pointer", "text", what=pl.lit("tool table"))
    )


def _count(number: int) -> str:
    return "a credential" if number == 1 else f"{number} credentials"


def _verb(what: str) -> str:
    return "hold" if what in ("arguments", "instructions") else "holds"
