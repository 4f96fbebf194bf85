"""Sightings to calls and results: copies of one thing are folded into one row.

One call is seen as `item.added`, in every list of required actions, as `item.done`, in pages and in resent history. The
adapters give every emission of the model an item id; what has none (a required action) refers to the emission it follows.
"""

from __future__ import annotations

import polars as pl

from analyzer.frames import CALLS

Frames = dict[str, pl.DataFrame]

_SCOPE = ("session", "turn", "pair_id")

HOSTED = "hosted"


def tool_key(kind: pl.Expr, server: pl.Expr, name: pl.Expr) -> pl.Expr:
    """The tool key: `function::NAME`, `mcp:SERVER:NAME`, `namespace:NS:NAME`, `hosted::TYPE`."""
    server = server.fill_null("")
    word = pl.when((kind == "function") & (server != "")).then(pl.lit("namespace")).otherwise(kind)
    return pl.format("{}:{}:{}", word, server, name.fill_null(""))


def fold_calls(sightings: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """CALL_SIGHTINGS with seq -> (calls without their result, the sightings with `call`)."""
    if sightings.is_empty():
        calls = pl.DataFrame(schema={**CALLS, "reply_text": pl.String()})
        return calls, sightings.with_columns(call=pl.lit(None, pl.Int64))
    order = ("session", "seq", "event", "place")
    seen = sightings.with_row_index("place").sort(order)
    scope = [pl.col(name) for name in _SCOPE]
    # One emission per scope is the rule: the window functions below are for the scopes that have more.
    groups = seen.lazy().select(
        _group=pl.struct(scope).hash(), name="name", item_id="item_id"
    )
    emission = pl.coalesce(
        pl.col("item_id").forward_fill().over(_SCOPE), pl.col("item_id").backward_fill().over(_SCOPE)
    )
    del groups
    seen = seen.with_columns(emission=emission)
    keys = (*_SCOPE, "emission", "name")
    first = pl.col("seq").first()
    finished = pl.col("text").filter(pl.col("stage") == "done")
    chosen = pl.when(pl.col("text").n_unique() == 1).then(pl.col("text").first()).otherwise(
        pl.coalesce(finished.first(), pl.col("text").drop_nulls().first())
    )
    calls = (
        seen.lazy()
        .group_by(keys, maintain_order=True)
        .agg(
            first.alias("seq"),
            pl.col("event", "pointer", "wire", "call_id", "kind", "server", "owed_by", "container").first(),
            item_id=pl.col("item_id").drop_nulls().first(),
            text=chosen,
            status=pl.col("status").drop_nulls().last(),
            action_seq=pl.col("seq").filter(pl.col("stage") == "action").first(),
            action_event=pl.col("event").filter(pl.col("stage") == "action").first(),
            last_seq=pl.col("seq").last(),
            sightings=pl.len().cast(pl.Int64),
            copies=pl.col("text").drop_nulls().n_unique().cast(pl.Int64),
            reply_text=pl.col("reply").drop_nulls().first(),
        )
        .sort("session", "seq", "event", "pointer")
        .with_row_index("call")
        .with_columns(
            pl.col("call").cast(pl.Int64), tool=tool_key(pl.col("kind"), pl.col("server"), pl.col("name"))
        )
        .collect()
    )
    seen = seen.join(calls.select(*keys, "call"), on=keys, how="left", nulls_equal=True, maintain_order="left")
    return _evidence(calls, seen), seen.drop("place", "emission")


def _evidence(calls: pl.DataFrame, seen: pl.DataFrame) -> pl.DataFrame:
    """Calls whose copies differ stand where the text that was chosen is shown first."""
    differing = calls.filter(pl.col("copies") > 1).select("call", "text")
    if differing.is_empty():
        return calls
    shown = (
        seen.join(differing, on="call", suffix="_chosen", maintain_order="left")
        .filter(pl.col("text").eq_missing(pl.col("text_chosen")))
        .unique("call", keep="first", maintain_order=True)
        .select("call", "event", "pointer", "container")
    )
    return calls.update(shown, on="call", how="left", maintain_order="left")


def fold_results(sightings: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """RESULT_SIGHTINGS with seq -> (results without their call, the sightings with `result`)."""
    seen = sightings.with_row_index("place").sort("session", "seq", "event", "place")
    refused = pl.col("accepted").fill_null(value=True).not_()
    # The same post again under its idempotency key is one post.
    repeated = pl.col("key").is_not_null() & (pl.int_range(pl.len()).over(*_SCOPE, "key") > 0)
    # And the same item sent again (a request tried twice, a session read from two files) is one.
    resent = pl.col("item_id").is_not_null() & (pl.int_range(pl.len()).over(*_SCOPE, "item_id", "stage") > 0)
    posted = seen.filter(~refused & pl.col("stage").is_in(["post", "executor", "message"])).filter(~(repeated | resent))
    shown = seen.filter(pl.col("stage").is_in(["echo", "history"]))
    again = pl.col("item_id").is_not_null() & (pl.int_range(pl.len()).over(*_SCOPE, "item_id") > 0)
    shown = shown.filter(~again)
    rank = pl.int_range(pl.len(), dtype=pl.Int64).over(_SCOPE)
    posted = posted.with_columns(nth=rank)
    shown = shown.with_columns(nth=rank)
    echoes = shown.select(*_SCOPE, "nth", "status", "error", "item_id", echo_event="event", echo_place="place")
    together = posted.drop("status", "item_id").join(
        echoes.rename({"error": "echo_error"}), on=[*_SCOPE, "nth"], how="left", nulls_equal=True, maintain_order="left"
    )
    alone = shown.join(posted.select("place", *_SCOPE, "nth"), on=[*_SCOPE, "nth"], how="anti", nulls_equal=True)
    columns = (
        *("session", "turn", "wire", "call_id", "pair_id", "name", "success", "status", "error", "text", "container"),
        *("structured", "seq", "event", "pointer", "stage", "key", "echo_event", "place", "echo_place"),
    )
    results = (
        pl.concat(
            [
                together.select(columns),
                alone.with_columns(echo_event=pl.lit(None, pl.Int64), echo_place=pl.lit(None, pl.UInt32)).select(columns),
            ]
        )
        .sort("session", "seq", "event", "place")
        .with_row_index("result")
        .with_columns(pl.col("result").cast(pl.Int64))
    )
    owner = pl.concat(
        [
            results.select("result", "place"),
            results.filter(pl.col("echo_place").is_not_null()).select("result", place="echo_place"),
        ]
    )
    seen = seen.join(owner, on="place", how="left", maintain_order="left").drop("place")
    if seen.height > owner.height:
        # What was left out as a copy shows the result that it copies.
        copied = pl.col("result").drop_nulls().first().over(*_SCOPE, "item_id")
        copies = pl.col("result").is_null() & pl.col("item_id").is_not_null() & ~refused
        seen = seen.with_columns(result=pl.when(copies).then(copied).otherwise("result"))
    return results.drop("place", "echo_place"), seen
