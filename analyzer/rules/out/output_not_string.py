"""A result is a bare JSON value where the wire wants text or content parts.

What it says: `output` is an object, a number, a boolean or a list that is not made of content parts.
Why it matters: the API takes text or parts. What a client turns such a value into (its own spelling, `[object
Object]`, a refused request) is not what the tool returned.
Bad:
    tool get_order {"type":"object","properties":{}}
    call c1 get_order
    result c1 ok raw {"total":12}
Good:
    tool get_order {"type":"object","properties":{}}
    call c1 get_order
    result c1 ok {"total":12}
    call c2 get_order
    result c2 ok raw [{"type":"input_text","text":"12"}]
    mcp m1 docs search {} ok raw {"found":2}
Blind spots: MCP calls, whose results may be values, are left out.
"""

from __future__ import annotations

import polars as pl

from analyzer.trace import Trace

_WIRES = (
    "openai-agents-api",
    "openai-responses",
    "openai-chat",
    "anthropic-messages",
    "claude-code-jsonl",
    "codex-rollout",
    "managed-agents",
)


def check(trace: Trace) -> pl.DataFrame:
    """Results of functions that stand as a bare value on a wire of texts."""
    return trace.results.filter(
        pl.col("wire").is_in(_WIRES),
        pl.col("container").is_in(["object", "array", "number", "boolean"]),
        pl.col("stage") != "executor",
        ~pl.col("tool").str.contains("^(?:mcp:|hosted)").fill_null(value=False),
    ).select(
        "result",
        message=pl.concat_str(
            pl.lit("The output is a JSON "),
            "container",
            pl.lit(" where this wire wants text or a list of content parts."),
        ),
        hint=pl.lit("Serialise the value to one JSON text before it is sent."),
        keyword=pl.lit("container"),
    )
