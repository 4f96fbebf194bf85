"""The output of a successful call breaks the output schema.

What it says: the decoded output was judged by the schema that was declared, pinned or given in a contract file, and
failed. One finding per result; `failures` holds every failing keyword. Under MCP from 2025-06-18 on, also that a tool
with an output schema returned text alone, whatever stands in it: clients of the protocol refuse such a result.
Why it matters: programs and prompts downstream read the promised members. A missing one is read as empty, and the
model fills the gap with a guess.
Bad:
    tool get_order {"type":"object","properties":{}}
    output get_order {"type":"object","properties":{"total":{"type":"integer"}},"required":["total"]}
    call c1 get_order
    result c1 ok {"total":"twelve"}
Good:
    tool get_order {"type":"object","properties":{}}
    output get_order {"type":"object","properties":{"total":{"type":"integer"}},"required":["total"]}
    call c1 get_order
    result c1 ok {"total":12}
    call c2 get_order
    result c2 failed no such order
Blind spots: without an output schema nothing is judged. Failed results owe no output; where the wire has no flag for
failures (Responses, chat, Codex), what reads as one is a warning.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.failures import failure_words
from analyzer.rules.hits import NONE, joined
from analyzer.rules.out.failure_texts import UNTOLD, perhaps_failed
from analyzer.rules.out.text_alone import STRUCTURED_SINCE, text_alone
from analyzer.rules.payloads import cut_short, opens_json
from analyzer.rules.results import breaking
from analyzer.rules.sentence import sentence
from analyzer.trace import Trace
from analyzer.visible import visible


def check(trace: Trace) -> pl.DataFrame:
    """Results judged invalid by any output schema, by the advertised one first; then those of text alone."""
    return joined(_broken(trace, breaking(trace)), _missing(trace))


def _broken(trace: Trace, judged: pl.DataFrame) -> pl.DataFrame:
    if judged.is_empty():
        return NONE
    texts = trace.results.filter(pl.col("result").is_in(judged["result"].implode())).select("result", "text")
    cut = [result for result, text in texts.iter_rows() if text and opens_json(text) and cut_short(text)]
    failure, unread = pl.col("result").is_in(perhaps_failed(trace).implode()), pl.col("payload") == "not_json"
    return judged.join(failure_words(trace), on="verdict", how="left", maintain_order="left").select(
        "result",
        "verdict",
        message=sentence(
            "The output breaks its schema: {}{}.",
            pl.when(unread & pl.col("result").is_in(cut))
            .then(pl.lit("the text ends with JSON still open, cut by its host or its recorder"))
            .when(unread)
            .then(pl.lit("the text is not JSON"))
            .otherwise(pl.col("words").fill_null("nothing that it could judge was returned")),
            pl.when(failure).then(pl.lit(UNTOLD)).otherwise(pl.lit("")),
        ),
        hint=pl.lit("Validate before returning, or declare what the tool really returns."),
        severity=pl.when(failure).then(pl.lit("warning")),
        confidence=pl.when(failure | (pl.col("window") == "bracketed")).then(pl.lit("likely")),
    )


def _missing(trace: Trace) -> pl.DataFrame:
    alone = text_alone(trace).filter(pl.col("protocol") >= STRUCTURED_SINCE)
    return alone.select(
        "result",
        "verdict",
        message=sentence(
            "The tool declares an output schema and returns text alone; the protocol of {} demands structured content.",
            pl.col("protocol").map_elements(visible, return_dtype=pl.String),
        ),
        hint=pl.lit("Return structuredContent beside the text."),
        keyword=pl.lit("structuredContent"),
    )
