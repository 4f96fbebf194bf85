"""The output is prose where an object or a list is promised.

What it says: the output schema asks for an object or a list, and the output is not JSON at all (or JSON in a code
fence, or a sentence quoted as a JSON string).
Why it matters: there is no member to read, and a sentence can say anything: that more is needed, or what to do next.
Bad:
    tool get_order {"type":"object","properties":{}}
    output get_order {"type":"object","properties":{"total":{"type":"integer"}}}
    call c1 get_order
    result c1 ok The order comes to twelve.
Good:
    tool get_order {"type":"object","properties":{}}
    tool find_article {"type":"object","properties":{}}
    output get_order {"type":"object","properties":{"total":{"type":"integer"}}}
    call c1 get_order
    result c1 ok {"total":12}
    call c2 find_article
    result c2 ok Returns are free of charge.
Blind spots: a text that begins as JSON does and cannot be decoded counts as cut (output-schema-mismatch), not as prose.
Where the wire has no flag for failures (Responses, chat, Codex), words that tell of one are a warning.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits
from analyzer.rules.out.failure_texts import UNTOLD, perhaps_failed
from analyzer.rules.out.output_stringly import spelled
from analyzer.rules.payloads import layers, opens_json, short
from analyzer.rules.results import breaking
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Invalid outputs that are texts, where the schema asks for a container."""
    judged = breaking(trace)
    if judged.is_empty():
        return hits(())
    free = pl.col("tool").str.replace("^.*:", "").is_in(sorted(trace.settings.free_text)).fill_null(value=False)
    results = (
        # Where a structured output stands beside the text, it is what was judged.
        trace.results.filter(trace.results["structured"].is_null())
        .select("result", "tool", "container", "text", "wire")
        .filter(pl.col("result").is_in(judged["result"].implode()))
        .filter(
            pl.col("container").is_in(["text", "parts"]),
            ~free,
            ~spelled(pl.col("text")),
            ~pl.col("text").str.contains(r"^\s*(?:\{\s*[\"}]|\[\s*[\[{\"\]])"),
        )
    )
    type_ = pl.col("text").str.json_path_match("$.type")
    several = type_.is_null() | type_.str.starts_with("[")
    wanted = trace.schemas.filter(pl.col("schema_id").is_in(judged["schema_id"].unique().implode())).select(
        "schema_id",
        wanted=pl.when(type_.is_in(["object", "array"])).then(type_).when(several).then(_by_members()),
    )
    rows = (
        judged.select("result", "verdict", "schema_id")
        .join(results, on="result", maintain_order="left")
        .join(wanted.drop_nulls(), on="schema_id", maintain_order="left")
        .select("result", "verdict", "text", "wanted", "wire")
    )
    failed = set(perhaps_failed(trace))
    found = []
    for result, verdict, text, kind, wire in rows.iter_rows():
        count, value = layers(text)
        if (count and not isinstance(value, str)) or (not count and opens_json(text)):
            continue
        fenced = text.lstrip().startswith("```") and ("{" in text or "[" in text)
        alone = ", and no structuredContent stands beside it" if wire == "mcp-jsonrpc" else ""
        promised = "an object" if kind == "object" else "a list"
        what = "JSON inside a code fence" if fenced else f"the text {short(value.strip(), 50)}"
        what = what if value.strip() else "empty"
        untold = result in failed
        found.append(
            {
                "result": result,
                "verdict": verdict,
                "message": f"The output is {what} where {promised} is promised{alone}{UNTOLD if untold else ''}.",
                "severity": "warning" if untold else None,
                "confidence": "likely" if untold else None,
                "hint": "Return the promised value as JSON, and put words into a member of it.",
                "keyword": "prose",
                "instance_pointer": "",
            }
        )
    return hits(found)


def _by_members() -> pl.Expr:
    """What a schema without one plain type asks for, by its members."""
    text = pl.col("text")
    return (
        pl.when(
            text.str.contains('"properties":{', literal=True)
            & ~text.str.contains(r'"type":(?:"string"|\[[^\]]*"string")[^{}]*\}$')
        )
        .then(pl.lit("object"))
        .otherwise(None)
    )
