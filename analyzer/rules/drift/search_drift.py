"""The definition that a tool search returned is not the registered one.

Wire: openai-responses
What it says: a deferred tool was registered with one schema, and the search loaded it with another.
Why it matters: the model calls by what the search returned, the executor was built for what was registered.
Bad:
    tools[0] = {"type":"function","name":"find","defer_loading":true,"parameters":{"required":["q"]}}
    tool_search_output.tools[0] = {"type":"function","name":"find","parameters":{"required":["query"]}}
Good:
    tool_search_output.tools[0] = {"type":"function","name":"find","defer_loading":true,"parameters":{"required":["q"]}}
Blind spots: tools that were registered without a schema.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.drift.versions import direction
from analyzer.rules.hits import hits, place
from analyzer.rules.payloads import decode
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Offers by a search whose schema differs from the last offer by any other channel."""
    offers = trace.offers.filter(
        pl.col("state") == "offered", pl.col("role") == "arguments", pl.col("schema_id").is_not_null()
    )
    registered = offers.filter(pl.col("channel") != "search").select(
        "session", "tool", "since", old_schema="schema_id", old_event="event", old_pointer="pointer"
    )
    pairs = (
        offers.filter(pl.col("channel") == "search")
        .sort("since")
        .join_asof(registered.sort("since"), on="since", by=["session", "tool"], check_sortedness=False)
        .filter(pl.col("schema_id") != pl.col("old_schema"))
        .sort("session", "tool", "since")
    )
    texts = dict(trace.schemas.select("schema_id", "text").iter_rows()) if len(pairs) else {}
    found = []
    for row in pairs.iter_rows(named=True):
        old, new = (decode(texts.get(row[side])) for side in ("old_schema", "schema_id"))
        said = direction(old, new, "arguments", second="the search's", strict=bool(row["strict"]))
        if said is not None:
            found.append(
                {
                    **{name: row[name] for name in ("session", "event", "pointer", "tool", "schema_id", "channel")},
                    "offer_event": row["event"],
                    "offer_pointer": row["pointer"],
                    "message": f"The tool search returned another schema than the registered one: {said.words}.",
                    "hint": "Build the search index and the registry from one definition.",
                    "confidence": said.confidence,
                    "severity": "warning" if said.confidence == "hint" else None,
                    "keyword": said.relation,
                    "schema_pointer": said.pointer,
                    "related": [place(row["old_event"], row["old_pointer"], "registered")],
                }
            )
    return hits(found)
