r"""The text of a result and its structured output do not say the same.

Wire: mcp-jsonrpc
What it says: the text is JSON and differs from structuredContent; or the tool declares an output schema and returns
text alone, where no version of the protocol is recorded that demands more.
Why it matters: the model reads one of the two and programs the other.
Bad:
    {"content":[{"type":"text","text":"{\"total\":12}"}],"structuredContent":{"total":21}}
Good:
    {"content":[{"type":"text","text":"Twelve in all."}],"structuredContent":{"total":12}}
Blind spots: whether prose says what the structured output says is not judged.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from analyzer.rules.hits import hits
from analyzer.rules.out.text_alone import text_alone
from analyzer.rules.payloads import decode
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Results with two outputs that differ, or without the structured one that is declared."""
    both = trace.results.filter(
        # Elsewhere what stands beside the text is the host's own record, and made to differ.
        pl.col("wire") == "mcp-jsonrpc",
        pl.col("structured").is_not_null(),
        pl.col("text").str.contains(r"^\s*[{\[]"),
        pl.col("structured") != pl.col("text"),
    ).select("result", "text", "structured")
    apart = hits(
        {
            "result": result,
            "message": "The text is JSON and says something else than the structured output.",
            "hint": "Make the text from the structured output, by the same code.",
            "keyword": "differs",
        }
        for result, text, structured in both.iter_rows()
        if isinstance(value := decode(text), dict | list) and not _same(value, text, decode(structured))
    )
    # Where the protocol demands it OUT004 speaks; versions before that know no output schema.
    absent = (
        text_alone(trace)
        .filter(pl.col("protocol").is_null())
        .select(
            "result",
            "verdict",
            message=pl.lit("The tool declares an output schema and returns text alone."),
            hint=pl.lit("Return structuredContent beside the text."),
            keyword=pl.lit("absent"),
        )
    )
    return pl.concat([apart, absent], how="diagonal")


def _same(value: Any, text: str, structured: Any) -> bool:
    """Whether the structured output is the text's value, or wraps the one or the other in a member."""
    return value == structured or (
        isinstance(structured, dict) and any(each in (value, text) for each in structured.values())
    )
