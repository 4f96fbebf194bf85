"""A call ran although its arguments failed the schema in force.

What it says: the arguments are invalid under the schema that was in force at the model call, and the call succeeded.
Certain for functions; likely for servers, which may coerce, and where the table changed near the call. Where the wire
has no success flag, or a success is told in the words of a refusal, it is a hint. A refusal on a wire without a flag
is no finding: the call did not run.
Why it matters: nothing stood between the model and the tool. Whatever the extra or wrong member did, it was done.
Bad:
    tool refund {"type":"object","properties":{"order":{"type":"string","pattern":"^ord_[0-9]{6}$"}}}
    turn
    call c1 refund {"order":"204418"}
    result c1 ok paid
    end
Good:
    tool refund {"type":"object","properties":{"order":{"type":"string","pattern":"^ord_[0-9]{6}$"}}}
    turn
    call c1 refund {"order":"204418"}
    result c1 failed order: no such form
    call c2 refund {"order":"ord_204418"}
    result c2 ok paid
    end
Blind spots: refusals are known by the words of validators and parsers; one in other words, reported as a success or on
a wire without a flag, looks as if the call had run. What the tool did is not known.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.failures import failure_words, refused
from analyzer.rules.hits import NONE
from analyzer.rules.payloads import layers
from analyzer.rules.sentence import sentence
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Calls that were answered without failure and whose deciding verdict is invalid."""
    wrong = refused(trace, "arguments").select("verdict", "call", "window", "side")
    if wrong.is_empty():
        return NONE
    ran = _unrefused(
        trace,
        (
            trace.calls.filter(pl.col("call").is_in(wrong["call"].implode()))
            .filter(pl.col("outcome").is_in(["ok", "unknown"]))
            .select("call", "kind", "name", "outcome", arguments="text", answer="result")
        ),
    )
    answers = trace.results.filter(pl.col("result").is_in(ran["answer"].implode())).select(
        answer="result", answered="event", where="pointer", answer_id="call_id"
    )
    likely = (pl.col("window") == "bracketed") | (pl.col("kind") != "function") | (pl.col("side") != "advertised")
    unknown = (pl.col("outcome") == "unknown") | pl.col("turned_back")
    answer = pl.struct(
        pl.col("answered").alias("event"),
        pl.col("where").alias("pointer"),
        pl.col("answer_id").alias("call_id"),
        pl.lit("result").alias("role"),
    )
    return (
        wrong.join(ran, on="call")
        .join(answers, on="answer", how="left")
        .join(failure_words(trace), on="verdict", how="left")
        .sort("call")
        .select(
            "verdict",
            "call",
            severity=pl.when(unknown).then(pl.lit("warning")),
            confidence=pl.when(unknown).then(pl.lit("hint")).when(likely).then(pl.lit("likely")),
            message=sentence(
                "{} {} although its arguments fail the schema in force: {}.",
                pl.col("name").fill_null("A tool"),
                pl.when(unknown).then(pl.lit("may have run")).otherwise(pl.lit("ran")),
                pl.col("words").fill_null("they are not JSON"),
            ),
            hint=pl.lit(
                "Validate before the tool runs, and answer an invalid call with a failure that names the member."
            ),
            related=pl.concat_list(answer),
        )
    )


def _unrefused(trace: Trace, ran: pl.DataFrame) -> pl.DataFrame:
    """Those calls with `turned_back`: answered in the words of a refusal, which only a success flag gainsays."""
    from analyzer.rules.drift.refusal import turned_back  # its wordings take longer to compile than most audits need

    answered = trace.results.filter(pl.col("result").is_in(ran["answer"].implode()))
    texts = answered.select(answer="result", said=pl.coalesce("error", "text"))
    said = ran.join(texts, on="answer", how="left", maintain_order="left").select("said", "arguments")
    back = [turned_back(text, layers(arguments or "{}")[1]) for text, arguments in said.fill_null("").iter_rows()]
    found = ran.drop("arguments").with_columns(turned_back=pl.Series(back, dtype=pl.Boolean))
    return found.filter((pl.col("outcome") == "ok") | ~pl.col("turned_back"))
