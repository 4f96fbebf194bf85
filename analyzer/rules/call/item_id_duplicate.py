"""One item id stands on two items.

What it says: the same item was sent twice in one request, or an id that one item has was given to another.
Why it matters: the API refuses such a request, or takes the second item for a rewrite of the first; stores that key
items by id lose one of them.
Bad:
    tool get_order {"type":"object"}
    turn
    call c1 get_order {"id":"ord_1"}
    result c1 ok {}
    event {"type":"agent.session.turn.item.added","event_id":"x1","session_id":"s1","turn_id":"t1","output_index":1,"item":{"type":"function_call","id":"fc_c1","call_id":"c2","name":"get_order","arguments":{"id":"ord_2"},"status":"in_progress","turn_id":"t1"}}
    end
Good:
    tool get_order {"type":"object"}
    turn
    call c1 get_order {"id":"ord_1"}
    result c1 ok {}
    call fc_c1 get_order {"id":"ord_2"}
    result fc_c1 ok {}
    end
Blind spots: only wires whose items have ids of their own are looked at; proxies that give an item a new id each time it
is shown go unnoticed.
"""  # noqa: E501 - a wire line is one line

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits, joined, place
from analyzer.rules.order import record_of
from analyzer.rules.sentence import sentence
from analyzer.rules.sightings import staged
from analyzer.trace import Trace, of_rows

_WIRES = ("openai-agents-api", "openai-responses")
_HINT = "Send every item once, and let whoever makes items give each an id of its own."


def check(trace: Trace) -> pl.DataFrame:
    """Items repeated inside one request, then other ids that belong to different items."""
    columns = ["session", "event", "pointer", "item_id"]
    repeated = _repeated(
        pl.concat([staged(trace, frame, "history")[columns] for frame in ("call_sightings", "result_sightings")])
    )
    items = _items(trace)
    return joined(_within_a_request(repeated), _across_items(items.filter(items["item_id"].is_duplicated()), repeated))


@of_rows
def _repeated(shown: pl.DataFrame) -> pl.DataFrame:
    """`session, item_id, event, pointer` of items that stand a second time in one request, `first, where` of before."""
    by = ["session", "record", "item_id"]
    # The same fault is resent with every later request: its first place is enough.
    return (
        shown.filter(pl.col("item_id").is_not_null())
        .with_columns(record=record_of("event"))
        .filter(pl.len().over(by) > 1)
        .sort("event", "pointer")
        .with_columns(first=pl.col("event").first().over(by), where=pl.col("pointer").first().over(by))
        .filter(pl.int_range(pl.len()).over(by) == 1)
        .unique(["session", "item_id"], keep="first", maintain_order=True)
    )


def _within_a_request(repeated: pl.DataFrame) -> pl.DataFrame:
    return hits(
        {
            "session": row["session"],
            "event": row["event"],
            "pointer": row["pointer"],
            "keyword": "request",
            "message": f"The item {row['item_id']} stands twice in one request.",
            "hint": _HINT,
            "related": [place(row["first"], row["where"], "first")],
        }
        for row in repeated.iter_rows(named=True)
    )


@of_rows
def _across_items(twice: pl.DataFrame, repeated: pl.DataFrame) -> pl.DataFrame:
    by = ["session", "item_id"]
    what = pl.col("what")
    again = (
        twice.join(repeated, on=by, how="anti")
        .with_columns(what=pl.when(what == "a message").then(what).otherwise(sentence("{} {}", what, "pair_id")))
        .filter(pl.col("what").n_unique().over(by) > 1)
        .sort("event", "pointer")
        .unique([*by, "what"], keep="first", maintain_order=True)
        .with_columns(
            first=pl.col("event").first().over(by),
            where=pl.col("pointer").first().over(by),
            was=pl.col("what").first().over(by),
        )
        .filter(pl.int_range(pl.len()).over(by) > 0)
    )
    return hits(
        {
            "session": row["session"],
            "event": row["event"],
            "pointer": row["pointer"],
            "keyword": "item",
            "message": f"The item id {row['item_id']} stands on {row['was']} and on {row['what']}.",
            "hint": _HINT,
            "related": [place(row["first"], row["where"], "first item with this id")],
        }
        for row in again.iter_rows(named=True)
    )


def _items(trace: Trace) -> pl.DataFrame:
    """Every item with an id, and what it is."""
    known = trace.sessions.filter(pl.col("wires").str.contains_any(list(_WIRES)))["session"].implode()
    columns = ("session", "event", "pointer", "item_id", "pair_id")
    here = pl.col("wire").is_in(list(_WIRES)) & pl.col("item_id").is_not_null()
    # An item of a server's call holds call and result in one.
    apart = here & (pl.col("pair_id") != pl.col("item_id"))
    calls, results = (
        frame[[*columns, "wire"]].filter(which).select(*columns, what=pl.lit(what))
        for frame, which, what in (
            (trace.calls, here, "the call"),
            (trace.result_sightings, apart, "the result of"),
        )
    )
    messages = trace.messages.filter(pl.col("item_id").is_not_null() & pl.col("session").is_in(known))
    return pl.concat(
        [
            calls,
            results,
            messages.select(*columns[:4], pl.lit(None, pl.String).alias("pair_id"), what=pl.lit("a message")),
        ]
    )
