"""Sightings to calls and results: copies of one thing are folded into one row.

One call is seen as `item.added`, in every list of required actions, as `item.done`, in pages and in resent history. The
adapters give every emission of the model an item id; what has none (a required action) refers to the emission it
follows.
"""

from __future__ import annotations

import polars as pl

from analyzer.frames import CALLS, CUT
from analyzer.replay.scopes import NUMBERS, nth, number

_BROKEN_OFF = ((pl.col("stage") == "stream") & (pl.col("status") == "in_progress")).fill_null(value=False)


def tool_key(kind: pl.Expr, server: pl.Expr, name: pl.Expr) -> pl.Expr:
    """The tool key: `function::NAME`, `mcp:SERVER:NAME`, `namespace:NS:NAME`, `hosted::TYPE`."""
    server = server.fill_null("")
    word = pl.when((kind == "function") & (server != "")).then(pl.lit("namespace")).otherwise(kind)
    # not pl.format: in Polars 2.1 it panics on frames of several chunks with nulls
    return pl.concat_str(word, pl.lit(":"), server, pl.lit(":"), name.fill_null(""))


def fold_calls(sightings: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """CALL_SIGHTINGS of `scopes.scoped` -> (calls without their result, the sightings with `call`).

    The calls keep the numbers of `scopes`. Groups are made of row numbers alone; texts are gathered once, at the end.
    """
    if sightings.is_empty():
        calls = pl.DataFrame(schema={**CALLS, "reply_text": pl.String(), **sightings.select(NUMBERS).schema})
        return calls, sightings.drop(NUMBERS).with_columns(call=pl.lit(None, pl.Int64))
    seen = sightings.with_row_index("_row")
    row = pl.col("_row")
    keys = seen.select(
        "_row",
        "_scope",
        _event="event",
        _item=number("item_id"),
        _name=number("name"),
        # A number, too, but without holding on to payloads, which may be long.
        _text=pl.when(pl.col("text").is_not_null()).then(row.min().over("text")),
        item=pl.when(pl.col("item_id").is_not_null()).then(row),
        text=pl.when(pl.col("text").is_not_null()).then(row),
        # What came of a stream that broke off is the text of a call that nothing else shows.
        whole=pl.when(pl.col("text").is_not_null() & ~_BROKEN_OFF).then(row),
        done=pl.when((pl.col("stage") == "done") & pl.col("text").is_not_null()).then(row),
        status=pl.when(pl.col("status").is_not_null()).then(row),
        action=pl.when(pl.col("stage") == "action").then(row),
        reply=pl.when(pl.col("reply").is_not_null()).then(row),
    )
    keys = _emissions(keys).with_columns(first=row.min().over("_scope", "_emission", "_name"))
    rows = keys.group_by("first").agg(
        pl.col("item", "text", "whole", "done", "action", "reply").min(),
        pl.col("status").max(),
        last=row.max(),
        sightings=pl.len().cast(pl.Int64),
        one=pl.col("_text").min() == pl.col("_text").max(),
    )
    several = rows.filter(~pl.col("one"))
    rows = rows.with_columns(
        copies=pl.col("one").cast(pl.Int64).fill_null(0), chosen=pl.coalesce("done", "whole", "text")
    )
    if several.height:
        shown = keys.join(several, on="first", how="semi").filter(pl.col("_text").is_not_null())
        copies = shown.group_by("first").agg(several=pl.col("_text").n_unique().cast(pl.Int64))
        rows = rows.join(copies, on="first", how="left").with_columns(copies=pl.coalesce("several", "copies"))
    calls = _gathered(seen, _in_order(seen, rows)).with_row_index("call")
    calls = calls.with_columns(
        pl.col("call").cast(pl.Int64), tool=tool_key(pl.col("kind"), pl.col("server"), pl.col("name"))
    )
    numbered = keys.select("first").join(calls.select("first", "call"), on="first", how="left", maintain_order="left")
    seen = seen.drop("_row", *NUMBERS).with_columns(numbered["call"])
    return _evidence(calls.drop("first"), seen), seen


def _emissions(keys: pl.DataFrame) -> pl.DataFrame:
    """The rows with `_emission`: what shows no item id is of the emission before it, else of the one after it."""
    item = pl.col("_item")
    several = keys.group_by("_scope").agg(least=item.min(), most=item.max()).filter(pl.col("least") != pl.col("most"))
    # One emission in a scope is the rule: the window functions are for the scopes that have more.
    if several.is_empty():
        return keys.with_columns(_emission=pl.lit(None, pl.UInt32))
    part = _shared(keys.join(several, on="_scope", how="semi", maintain_order="left"))
    return keys.join(part, on="_row", how="left", maintain_order="left")


def _shared(keys: pl.DataFrame) -> pl.DataFrame:
    """The emissions of scopes with several: `_row`, `_emission`.

    A snapshot lists calls of one id in the order in which they came; one that shows the text of another emission is of
    that.
    """
    scope, item = ["_scope"], pl.col("_item")
    named = keys.filter(item.is_not_null())
    order = named.unique(["_scope", "_item"], keep="first", maintain_order=True).select(
        *("_scope", "_item"), nth=pl.int_range(pl.len(), dtype=pl.Int64).over(scope)
    )
    # `back`: how many of the same event come after it.
    back = (
        pl.when(item.is_null())
        .then(pl.int_range(pl.len() - 1, -1, -1, dtype=pl.Int64).over("_scope", "_event"))
        .otherwise(0)
    )
    nth = pl.col("nth")
    placed = (
        keys.join(order, on=["_scope", "_item"], how="left", maintain_order="left")
        .with_columns(nth=pl.coalesce(nth.forward_fill().over(scope), nth.backward_fill().over(scope)))
        .with_columns(nth=pl.max_horizontal(nth - back, 0))
        .join(order.rename({"_item": "_near"}), on=["_scope", "nth"], how="left", maintain_order="left")
    )
    texts = named.filter(pl.col("_text").is_not_null()).select("_scope", "_text", _alike="_item").unique()
    fits = texts.select("_scope", "_text", _near="_alike", fits=pl.lit(value=True))
    texts = texts.filter(pl.len().over("_scope", "_text") == 1)
    return (
        placed.join(fits, on=["_scope", "_text", "_near"], how="left", maintain_order="left")
        .join(texts, on=["_scope", "_text"], how="left", maintain_order="left")
        .select(
            "_row",
            _emission=pl.coalesce("_item", pl.when(pl.col("fits").is_null()).then("_alike"), "_near"),
        )
    )


def _in_order(seen: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of row numbers in the order in which their first ones happened, session by session."""
    keys = seen.select("session", "seq", "event")[rows["first"]].hstack([rows["first"]])
    return rows[keys.select(pl.arg_sort_by(keys.columns)).to_series()]


def _gathered(seen: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The calls that rows of row numbers stand for."""
    columns = ("session", "turn", "pair_id", "name", "event", "pointer", "wire", "call_id", "kind", "server", "owed_by")
    first = seen.select(*columns, "container", "seq", *NUMBERS)[rows["first"]]
    places = {
        "item_id": ("item_id", "item"),
        "text": ("text", "chosen"),
        "status": ("status", "status"),
        "action_seq": ("seq", "action"),
        "action_event": ("event", "action"),
        "last_seq": ("seq", "last"),
        "reply_text": ("reply", "reply"),
    }
    return first.with_columns(
        *(seen[column].gather(rows[place]).alias(name) for name, (column, place) in places.items()),
        *rows.select("first", "sightings", "copies"),
    )


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
    """RESULT_SIGHTINGS of `scopes.scoped` -> (results without their call, the sightings with `result`).

    The results keep the numbers of `scopes`.
    """
    seen = sightings.with_row_index("place")
    keys = seen.select("place", "_scope", "stage", "accepted", _item=number("item_id"), _key=number("key"))
    posted = keys.filter(
        pl.col("accepted").fill_null(value=True) & pl.col("stage").is_in(["post", "executor", "message"])
    )
    # The same post again under its idempotency key is one post; the same item sent again (a request tried twice, a
    # session read from two files) is one too.
    posted = _firsts(posted, ("_key",), ("_item", "stage"))
    shown = _firsts(keys.filter(pl.col("stage").is_in(["echo", "history"])), ("_item",))
    posted = posted.select("place", "_scope", nth=nth(posted.select("_scope")))
    shown = shown.select("_scope", nth=nth(shown.select("_scope")), echo_place="place")
    on = ["_scope", "nth"]
    together = posted.join(shown, on=on, how="left").select("place", "echo_place", said="echo_place")
    alone = shown.join(posted, on=on, how="anti").select(
        place="echo_place", echo_place=pl.lit(None, pl.UInt32), said="echo_place"
    )
    rows = pl.concat([together, alone])
    columns = (
        *("session", "turn", "wire", "call_id", "pair_id", "name", "success", "error", "text", "container"),
        *("structured", "seq", "event", "pointer", "stage", "key", "place", *NUMBERS),
    )
    rows = _in_order(seen, rows.rename({"place": "first"}))
    own, said = seen["status"].gather(rows["first"]), seen["status"].gather(rows["said"])
    results = (
        seen.select(columns)[rows["first"]]
        .with_columns(
            rows["echo_place"],
            pl.when(pl.lit(own).is_in(CUT)).then(own).otherwise(said).alias("status"),
            seen["event"].gather(rows["echo_place"]).alias("echo_event"),
        )
        .with_row_index("result")
        .with_columns(pl.col("result").cast(pl.Int64))
    )
    owner = pl.concat(
        [
            results.select("result", "place"),
            results.filter(pl.col("echo_place").is_not_null()).select("result", place="echo_place"),
        ]
    )
    owned = seen.select("place").join(owner, on="place", how="left", maintain_order="left")
    if owner.height < keys.filter(pl.col("accepted").fill_null(value=True)).height:
        # What was left out as a copy shows the result that it copies.
        copied = pl.col("result").drop_nulls().first().over("_scope", "_item")
        mine = pl.col("_item").is_not_null() & pl.col("accepted").fill_null(value=True)
        owned = keys.with_columns(owned["result"]).select(result=pl.coalesce("result", pl.when(mine).then(copied)))
    return results.drop("place", "echo_place"), seen.drop("place", *NUMBERS).with_columns(owned["result"])


def _firsts(shown: pl.DataFrame, *keys: tuple[str, ...]) -> pl.DataFrame:
    """The rows that repeat none of the keys in their scope; none is one where its first column is null."""
    repeats = [
        pl.col(key[0]).is_not_null() & ~pl.struct("_scope", *key).is_first_distinct()
        for key in keys
        if shown[key[0]].null_count() < shown.height
    ]
    return shown.filter(~pl.any_horizontal(repeats)) if repeats else shown
