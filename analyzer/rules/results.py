"""The results that the rules about outputs look at, and the texts that they hold."""

from __future__ import annotations

import polars as pl

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
    return pl.concat(
        [
            results.filter(results[what].is_not_null()).select("result", "tool", pl.lit(what).alias("what"), text=what)
            for what in ("text", "error", "structured")
        ]
    )


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
