"""The results that the rules about outputs look at, and the texts that they hold."""

from __future__ import annotations

import polars as pl

from analyzer.rules.payloads import FLAGGED_WIRES
from analyzer.trace import Trace, shared


@shared
def standing(trace: Trace) -> pl.DataFrame:
    """RESULTS without the repeats of a result that counts."""
    repeats = (trace.results["rank"] > 0).fill_null(value=False)
    return trace.results.filter(~repeats) if repeats.any() else trace.results


@shared
def said(trace: Trace) -> pl.DataFrame:
    """Every text of the standing results: `result`, `tool`, `what` (text, error, structured) and `text`."""
    results = standing(trace)
    texts = [
        results.select("result", "tool", pl.lit(what).alias("what"), text=what).filter(pl.col("text").is_not_null())
        for what in ("text", "error", "structured")
        if what == "text" or results[what].null_count() < results.height
    ]
    return pl.concat(texts)


@shared
def failing(trace: Trace) -> pl.DataFrame:
    """RESULTS that answer a call and failed, as far as is known: where the wire has no flag, words alone tell it."""
    results = trace.results
    unflagged = results["success"].is_null() & ~results["wire"].is_in(FLAGGED_WIRES)
    return results.filter((results["rank"] == 0) & (~results["success"] | unflagged))


@shared
def breaking(trace: Trace) -> pl.DataFrame:
    """VERDICTS that refuse an output, one for each result: the advertised schema's where there is one."""
    verdicts = trace.verdicts
    wrong = verdicts.filter(
        (verdicts["verdict_is"] == "invalid") & (verdicts["role"] == "output") & verdicts["result"].is_not_null()
    )
    return wrong.sort("result", pl.col("side") != "advertised", "verdict").unique(
        "result", keep="first", maintain_order=True
    )
