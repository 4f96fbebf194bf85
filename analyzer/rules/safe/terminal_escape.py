r"""A payload holds control sequences, or characters that nobody sees.

What it says: a result, arguments or a message hold characters that steer a terminal, that turn the direction of text
around, or that are not shown at all (tags). Colours from a shell and spaces without a width are info.
Why it matters: shown raw they move the cursor, rewrite lines, set titles or fill the clipboard: what a person reads
in their terminal is not what is in the log, nor what the model was told.
Bad:
    tool get_note {"type":"object","properties":{}}
    call c1 get_note
    result c1 ok raw "ok\u001b]0;all is well\u0007"
Good:
    tool get_note {"type":"object","properties":{}}
    call c1 get_note
    result c1 ok raw "line\tone\r\nline two"
Blind spots: sequences written out in prose (a backslash and letters) are harmless and not told; in JSON they are what
they stand for. Joiners, direction marks and variation selectors belong to ordinary scripts and emoji.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import NONE
from analyzer.rules.payloads import error_speakers
from analyzer.rules.results import said
from analyzer.rules.sentence import sentence
from analyzer.trace import Trace, of_rows

# Escape, bell, backspace, null, delete, and the one-letter forms of CSI, OSC and DCS: what terminals act upon. As
# literals these cost a thirtieth of a class of all control characters; twenty in one pattern cost as much as a class.
_CONTROL = "\\x1b|\\x07|\\x08|\\x00|\\x7f|\\u{9b}|\\u{9d}|\\u{90}"
_COLOUR = "\\x1b\\[[0-9;]*[mK]"
# Characters that turn text around, tags (but for those of a region's flag) and spaces without a width.
_TURNING = "\u202a|\u202b|\u202c|\u202d|\u202e|\u2066|\u2067|\u2068|\u2069"
_TAGS = "[\U000e0001-\U000e007f]"
_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
_TAG_BYTES = (b"\xf3\xa0\x80", b"\xf3\xa0\x81")  # how all tags begin; the class costs twenty times as much
_THIN = "\u200b|\u2060|\u2061|\u2062|\u2063|\u2064|\ufeff"
# The same in the strings of JSON: escaped by a backslash that is not escaped itself.
_ESCAPED = r"\\u00|\\u20|\\ufe|\\uFE|\\udb|\\uDB"
_BY = r"(?:^|[^\\])(?:\\\\)*"
_ESCAPED_CONTROL = _BY + r"\\u00(?:1[bB]|0[078]|7[fF]|9[0bBdD])"
_ESCAPED_HIDDEN = _BY + r"\\(?:u20(?:2[a-eA-E]|6[6-9])|u[dD][bB]40\\u[dD][cC][0-7])"
_ESCAPED_FLAG = r"(?i)\\ud83c\\udff4(?:\\udb40\\udc(?:3[0-9]|6[1-9a-f]|7[0-9a])){3,6}\\udb40\\udc7f"
_ESCAPED_THIN = _BY + r"\\(?:u20(?:0[bB]|6[0-4])|u[fF][eE][fF][fF])"
_JSON = r"^\s*[{\[\"]"


def _suspects(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows of which the text may hold such characters: two looks at all texts, and closer ones at few."""
    text = pl.col("text")
    looks = frame.select(
        near=text.str.contains(f"{_CONTROL}|{_ESCAPED}"), foreign=text.str.len_bytes() != text.str.len_chars()
    )
    if not looks["near"].any() and not looks["foreign"].any():
        return frame.clear()
    near, foreign = looks["near"].arg_true(), looks["foreign"].arg_true()
    if foreign.len():
        said = frame["text"].gather(foreign)
        hidden = said.str.contains(_TURNING) | said.str.contains(_THIN)
        for begins in _TAG_BYTES:
            hidden |= said.cast(pl.Binary).bin.contains(begins)
        near = pl.concat([near, foreign.filter(hidden)]).unique().sort()
    return frame[near]


@of_rows
def _looked_at(suspects: pl.DataFrame) -> pl.DataFrame:
    """The rows that hold such characters, with `control`, `hidden` and `thin`."""
    text, json = pl.col("text"), pl.col("text").str.contains(_JSON)
    return suspects.with_columns(
        control=text.str.contains(_CONTROL) | (json & text.str.contains(_ESCAPED_CONTROL)),
        hidden=text.str.contains(_TURNING)
        | text.str.replace_all(_FLAG, "").str.contains(_TAGS)
        | (json & text.str.replace_all(_ESCAPED_FLAG, "").str.contains(_ESCAPED_HIDDEN)),
        thin=text.str.contains(_THIN) | (json & text.str.contains(_ESCAPED_THIN)),
    ).filter(pl.col("control") | pl.col("hidden") | pl.col("thin"))


def check(trace: Trace) -> pl.DataFrame:
    """Payloads with control characters or hidden ones; each payload once."""
    outputs, calls, messages = (
        _looked_at(_suspects(frame[columns]))
        for frame, columns in (
            (said(trace), ["result", "tool", "text"]),
            (trace.calls, ["call", "text"]),
            (trace.messages, ["session", "event", "pointer", "turn", "item_id", "text"]),
        )
    )
    if outputs.is_empty() and calls.is_empty() and messages.is_empty():
        return NONE
    coloured = pl.col("tool").is_in(error_speakers(trace)).fill_null(value=False)
    found = ["text", "control", "hidden", "thin"]
    places = [
        outputs.sort("result", maintain_order=True)
        .unique("result", keep="first", maintain_order=True)
        .select("result", *found, coloured=coloured, what=pl.lit("result")),
        calls.sort("call").select("call", *found, what=pl.lit("call")),
        messages.sort("event", "pointer")
        .unique(["session", "item_id", "text"], keep="first", maintain_order=True)
        .select("session", "event", "pointer", "turn", *found, what=pl.lit("message")),
    ]
    only_colour = ~pl.col("text").str.replace_all(_COLOUR, "").str.contains(_CONTROL)
    control, hidden = pl.col("control"), pl.col("hidden")
    mild = control & ~hidden & pl.col("coloured").fill_null(value=False) & only_colour
    return (
        pl.concat(places, how="diagonal")
        .with_columns(mild=mild)
        .select(
            pl.exclude("text", "what", "mild", "coloured", "control", "hidden", "thin"),
            message=pl.when(pl.col("mild"))
            .then(pl.lit("The result is coloured for a terminal."))
            .when(control)
            .then(sentence("The {} holds control characters.", "what"))
            .when(hidden)
            .then(sentence("The {} holds characters that nobody sees, or that turn text around.", "what"))
            .otherwise(sentence("The {} holds spaces without a width.", "what")),
            hint=pl.lit("Strip them where the text is made; this report shows them escaped."),
            severity=pl.when(pl.col("mild") | ~(control | hidden)).then(pl.lit("info")),
            keyword=pl.when(pl.col("mild"))
            .then(pl.lit("colour"))
            .when(control)
            .then(pl.lit("control"))
            .when(hidden)
            .then(pl.lit("hidden"))
            .otherwise(pl.lit("thin")),
        )
    )
