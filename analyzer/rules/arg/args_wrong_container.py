"""The arguments stand in another JSON type than this wire carries them in.

What it says: an object where the wire wants a JSON string, a string where it wants an object, or a list where the
tool's members should be. The Agents API tolerates one layer of text: that is info, and the arguments are judged.
Why it matters: clients of a wire decode by its rules. What one of them lets pass, the next one throws away.
Bad:
    tool get_order {"type":"object","properties":{"id":{"type":"string"}}}
    call c1 get_order text {"id":"ord_204418"}
    result c1 ok {}
Good:
    tool get_order {"type":"object","properties":{"id":{"type":"string"}}}
    call c1 get_order {"id":"ord_204418"}
    result c1 ok {}
Blind spots: nothing is said on wires that carry both, nor of `null`, which counts as no arguments at all.
"""

from __future__ import annotations

import polars as pl

from analyzer.replay.payloads import one_by_one
from analyzer.rules.hits import NONE
from analyzer.rules.payloads import OBJECT_WIRES, STRING_WIRES
from analyzer.rules.sightings import staged
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Calls whose container is not the wire's."""
    wire, container, text = pl.col("wire"), pl.col("container"), pl.col("text")
    objects, strings = wire.is_in(OBJECT_WIRES), wire.is_in(STRING_WIRES)
    as_text = objects & (container == "text") & text.str.contains(r"^\s*\{")
    as_value = strings & container.is_in(["object", "array", "number", "boolean"])
    listed = (container == "text") & text.str.contains(r"^\s*\[")  # one layer of text is no excuse for a list
    as_list = ((objects | strings) & listed) | (objects & container.is_in(["array", "number", "boolean"]))
    tolerated = as_text & (wire == "openai-agents-api")
    columns = ["call", "wire", "kind", "container", "text", "event", "pointer"]
    wrong = pl.col("kind").is_in(["function", "mcp"]) & (as_text | as_value | as_list)
    calls = trace.calls[columns].filter(wrong)
    # A client that resends a call may change what it stands in: the text is the same, and no copy that differs.
    resent = staged(trace, "call_sightings", "history")
    if resent.height:
        calls = pl.concat([calls, resent.filter(wrong).sort("seq", "event").select(columns)])
    if calls.is_empty():
        return NONE
    return (
        calls.unique("call", keep="first", maintain_order=True)
        .filter(~(as_text | (objects & listed)) | text.map_batches(_whole, return_dtype=pl.Boolean))
        .select(
            "call",
            "event",
            "pointer",
            message=pl.when(as_text)
            .then(pl.lit("The arguments are a JSON string where this wire carries an object."))
            .when(as_value)
            .then(
                pl.concat_str(
                    pl.lit("The arguments are a JSON "), container, pl.lit(" where this wire carries a string.")
                )
            )
            .otherwise(pl.lit("The arguments are a list or a bare value where an object belongs.")),
            hint=pl.lit("Send the arguments in the container that the wire names, and decode them exactly once."),
            severity=pl.when(tolerated).then(pl.lit("info")),
            keyword=pl.lit("container"),
        )
    )


def _whole(texts: pl.Series) -> pl.Series:
    from analyzer.rules.payloads import NO_JSON, decode

    return pl.Series([decode(text) is not NO_JSON for text in one_by_one(texts)], dtype=pl.Boolean)
