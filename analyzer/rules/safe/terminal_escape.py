r"""A payload holds control sequences.

What it says: a result, arguments or a message hold characters that steer a terminal. Colours from a shell are info.
Why it matters: shown raw they move the cursor, rewrite lines, set titles or fill the clipboard: what a person reads
in their terminal is not what is in the log.
Bad:
    tool get_note {"type":"object","properties":{}}
    call c1 get_note
    result c1 ok raw "ok\u001b]0;all is well\u0007"
Good:
    tool get_note {"type":"object","properties":{}}
    call c1 get_note
    result c1 ok raw "line\tone\r\nline two"
Blind spots: sequences written out as text (a backslash and letters) are harmless and not told.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import NONE
from analyzer.rules.payloads import error_speakers
from analyzer.rules.results import said
from analyzer.rules.sentence import sentence
from analyzer.trace import Trace

# Escape, bell, backspace, null, delete, and the one-letter forms of CSI, OSC and DCS: what terminals act upon. As
# literals these cost a thirtieth of a class of all control characters.
_CONTROL = "\\x1b|\\x07|\\x08|\\x00|\\x7f|\\u{9b}|\\u{9d}|\\u{90}"
_COLOUR = "\\x1b\\[[0-9;]*[mK]"


def check(trace: Trace) -> pl.DataFrame:
    """Payloads with control characters; each payload once."""
    outputs, calls, messages = (
        frame.filter(frame["text"].str.contains(_CONTROL)) for frame in (said(trace), trace.calls, trace.messages)
    )
    if outputs.is_empty() and calls.is_empty() and messages.is_empty():
        return NONE
    coloured = pl.col("tool").is_in(error_speakers(trace)).fill_null(value=False)
    places = [
        outputs.sort("result", maintain_order=True)
        .unique("result", keep="first", maintain_order=True)
        .select("result", "text", coloured=coloured, what=pl.lit("result")),
        calls.select("call", "text", what=pl.lit("call")),
        messages.unique(["session", "item_id", "text"], keep="first", maintain_order=True).select(
            "session", "event", "pointer", "turn", "text", what=pl.lit("message")
        ),
    ]
    only_colour = ~pl.col("text").str.replace_all(_COLOUR, "").str.contains(_CONTROL)
    return (
        pl.concat(places, how="diagonal")
        .with_columns(mild=pl.col("coloured").fill_null(value=False) & only_colour)
        .drop("coloured")
        .select(
            pl.exclude("text", "what", "mild"),
            message=pl.when(pl.col("mild"))
            .then(pl.lit("The result is coloured for a terminal."))
            .otherwise(sentence("The {} holds control characters.", "what")),
            hint=pl.lit("Strip them where the text is made; this report shows them escaped."),
            severity=pl.when(pl.col("mild")).then(pl.lit("info")),
            keyword=pl.when(pl.col("mild")).then(pl.lit("colour")).otherwise(pl.lit("control")),
        )
    )
