"""Values came back as their spelling: a program's literals, or strings where the contract wants something else.

What it says: the output is a Python literal, holds `[object Object]`, or a member is the string of a number, a
boolean, null or a list where the output schema says otherwise; an error where a schema is broken. Without one a literal
is likely where other results of the tool are JSON, else a hint.
Why it matters: `"False"` is true, `"None"` is a name, and `[object Object]` is all that is left of the data.
Bad:
    tool get_order {"type":"object","properties":{}}
    output get_order {"type":"object","properties":{"total":{"type":"integer"},"paid":{"type":["boolean","null"]}}}
    call c1 get_order
    result c1 ok {"total":"12","paid":"None"}
Good:
    tool get_order {"type":"object","properties":{}}
    output get_order {"type":"object","properties":{"total":{"type":"integer"},"note":{"type":"string"}}}
    call c1 get_order
    result c1 ok {"total":12,"note":"12"}
Blind spots: dates and numbers as strings are lawful where the contract says string or nothing.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import NONE, hits, joined
from analyzer.rules.stringified import stringified
from analyzer.trace import Trace

_LOST = "[object Object]"
_WORD = r"^\s*(?:None|NaN|undefined|True|False)\s*$"
_LITERAL = r"^\s*(?:[{\[(]\s*'[^'\n]*'\s*[:,\])}]|\[\{'[^'\n]*'\s*:|[A-Z][A-Za-z0-9_]*\([a-z_]+=)"


def check(trace: Trace) -> pl.DataFrame:
    """Outputs that are literals, and invalid ones that strings explain."""
    members = hits(
        {
            "result": found.row,
            "verdict": found.verdict,
            "message": f"{found.words}.",
            "hint": "Return the value itself, not its spelling.",
            "severity": "error",  # it breaks the schema, and stands in the place of that finding
            "confidence": "certain",
            "keyword": "type",
            "instance_pointer": found.pointer,
        }
        for found in stringified(trace, "output", nothing=True)
    )
    return joined(members, _literals(trace))


def spelled(text: pl.Expr) -> pl.Expr:
    """Whether a text is the spelling of a program's value, and neither JSON nor prose."""
    return text.str.contains(_LITERAL) | text.str.contains(_WORD) | (text.str.strip_chars() == _LOST)


def _literals(trace: Trace) -> pl.DataFrame:
    results = trace.results.filter(
        # The text beside a structured output is for reading; what is judged is the other.
        pl.col("container").is_in(["text", "parts"]),
        pl.col("structured").is_null(),
    )
    text = pl.col("text")
    literal = results.filter(spelled(text) | text.str.contains(_LOST, literal=True))
    if literal.is_empty():
        return NONE
    told = trace.verdicts.filter(pl.col("role") == "output", pl.col("verdict_is") == "invalid")
    told = told.filter(pl.col("result").is_not_null()).select("result", "verdict").unique("result")
    shell = pl.col("tool").str.replace("^.*:", "").is_in(sorted(trace.settings.shell)).fill_null(value=False)
    # What else the tool returns: JSON of containers, and not what looks like it.
    json = results.filter(text.str.contains(r"^\s*(?:\{\s*[\"}]|\[\s*[\[{\"\]0-9])"), ~text.str.contains(_LITERAL))
    alike = json.select("session", "tool", alike=pl.lit(value=True)).drop_nulls("tool").unique()
    lost, broken = text.str.contains(_LOST, literal=True), pl.col("verdict").is_not_null()
    return (
        literal.filter(~shell)
        .join(told, on="result", how="left", maintain_order="left")
        .join(alike, on=["session", "tool"], how="left", maintain_order="left")
        # A word alone may be prose: only what was promised, or what else came, says that it is none.
        .filter(broken | pl.col("alike").is_not_null() | ~text.str.contains(_WORD))
        .select(
            "result",
            "verdict",
            message=pl.when(lost)
            .then(pl.lit("The output holds [object Object] in the place of data."))
            .otherwise(pl.lit("The output is a program's literal (quotes, parentheses, None), not JSON.")),
            hint=pl.lit("Serialise as JSON where the value is made."),
            keyword=pl.when(lost).then(pl.lit("object")).otherwise(pl.lit("literal")),
            severity=pl.when(broken).then(pl.lit("error")),
            confidence=pl.when(~broken & ~lost & pl.col("alike").is_null()).then(pl.lit("hint")),
        )
    )
