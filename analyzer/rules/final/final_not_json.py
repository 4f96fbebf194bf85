"""The final answer is prose where an object is promised.

Wire: needs a final schema beside the log
What it says: a final schema, or the text format that holds for the answer, asks for an object, and the last answer is
not JSON, or JSON with words or a code fence around it. What the wire itself marks as a refusal is information.
Why it matters: whoever parses the answer stops, or cuts the object out by a guess.
Bad:
    Here is the result: {"refund": true}
Good:
    {"refund": true}
Blind spots: on wires that do not apply a text format only a final schema promises anything.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.rules.final.answers import answers, judged_answers
from analyzer.rules.held import held
from analyzer.rules.hits import hits
from analyzer.rules.payloads import NO_JSON, decode, short
from analyzer.trace import Trace

_JSON = r'"json_(?:schema|object)"'


def check(trace: Trace) -> pl.DataFrame:
    """Final answers that are not JSON, where a schema or a format promises it."""
    formats = held(trace, "text_format", pl.lit(""))
    asked = formats.filter(pl.col("text_format").str.contains(_JSON))
    if asked.is_empty() and not trace.holds("verdicts.role=final"):
        return hits(())
    unheld = trace.events.filter(pl.col("type").str.starts_with("agent.session.")).select("session").unique()
    columns = ["session", "event", "pointer", "turn", "text", "status"]
    by_schema = judged_answers(trace).filter(pl.col("payload") == "not_json").select(*columns, "verdict")
    by_format = (
        answers(trace)
        .join(asked, on="session", how="semi")
        .join(unheld, on="session", how="anti")
        .sort("seq", "event", "pointer")
        .join_asof(formats, on="seq", by="session", check_sortedness=False)
        .filter(pl.col("text_format").str.contains(_JSON))
        .select(columns)
    )
    rows = (
        pl.concat([by_schema, by_format], how="diagonal")
        .sort("event", "pointer", "verdict", nulls_last=True)
        .unique(["event", "pointer"], keep="first", maintain_order=True)
    )
    return hits(
        {
            **{name: row[name] for name in ("session", "event", "pointer", "turn", "verdict")},
            "message": f"The final answer is {_what(row)}, where an object is promised.",
            "hint": "Handle a refusal as an outcome of its own: the wire says it in another place than the answer."
            if row["status"] == "refusal"
            else "Ask for the object alone, and hold the model to it with a format or a retry.",
            "severity": "info" if row["status"] == "refusal" else None,
            "keyword": "prose",
        }
        for row in rows.iter_rows(named=True)
        if decode(row["text"]) is NO_JSON
    )


def _what(row: dict[str, Any]) -> str:
    if row["status"] == "refusal":
        return "a refusal"
    plain = row["text"].strip()
    if plain.startswith("```"):
        return "JSON inside a code fence"
    start, end = plain.find("{"), plain.rfind("}")
    if 0 <= start < end and decode(plain[start : end + 1]) is not NO_JSON:
        return "JSON with words around it"
    return f"the text {short(plain, 50)}" if plain else "empty"
