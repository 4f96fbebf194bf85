r"""A stack trace was handed to the model.

What it says: a result holds two or more frames of a stack trace (Python, Java, .NET, JavaScript, Go, Rust, Ruby,
PHP).
Why it matters: it tells paths, versions and queries to whoever reads the conversation, and the model nothing that it
could do better.
Bad:
    tool locate {"type":"object","properties":{}}
    call c1 locate
    result c1 failed raw "TypeError: x\n  at find (/srv/geo.js:4:7)\n  at main (/srv/app.js:9:1)"
Good:
    tool locate {"type":"object","properties":{}}
    tool run_tests {"type":"object","properties":{}}
    call c1 locate
    result c1 failed no place with this id
    call c2 run_tests
    result c2 ok raw "TypeError: x\n  at find (/srv/geo.js:4:7)\n  at main (/srv/app.js:9:1)"
Blind spots: one frame alone may be a place that a message names. Tools that run, test or debug programs are left out
by their names.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import NONE
from analyzer.rules.payloads import error_speakers
from analyzer.rules.results import said
from analyzer.trace import Trace

# Frames stand at the start of a line, real or escaped. No bounded repeats: they blow the automaton up.
_LINE = r"(?:^|[\r\n]|\\+[nr])(?:[ \t]|\\+t)*"
_JVM = r"[A-Za-z0-9_$]+\.(?:java|kt|scala|groovy):[0-9]+|Native Method|Unknown Source"
_AT = (
    rf"[^()\r\n]+ ?\((?:{_JVM}|[^()\r\n]+:[0-9]+:[0-9]+|<anonymous>)\)",
    r"(?:async )?[^ ()\r\n]+\.[mc]?[jt]sx?:[0-9]+:[0-9]+",
    r"[A-Za-z0-9_.<>`+]+\([^()\r\n]*\) in [^\r\n]+:line [0-9]+",
)
_FRAMES = {
    '", line ': _LINE + r'File \\*"[^"\r\n]+", line [0-9]+',
    "at ": f"{_LINE}at (?:{'|'.join(_AT)})",
    ".go:": _LINE + r"[^\s:]+\.go:[0-9]+ \+0x[0-9a-f]+",
    "::": _LINE + r"[0-9]+: (?:0x[0-9a-f]+ - )?[A-Za-z0-9_<>]+(?:::[A-Za-z0-9_<>{}#$]+)+",
    ".rb:": r"(?:^|[\r\n]|\\n)\s*(?:from )?[^\s:]+\.rb:[0-9]+:in ",
    ".php(": _LINE + r"#[0-9]+ [^\s()]+\.php\([0-9]+\)",
}
_GATES = (
    r'", line [0-9]',
    r"[.](?:java|kt|scala|groovy|jsx?|tsx?|mjs|cjs|go|rb):[0-9]",
    ":line [0-9]",
    "[.]php[(][0-9]",
    "stack backtrace:",
)


def check(trace: Trace) -> pl.DataFrame:
    """Results with two frames or more, of tools that do not speak of errors on purpose."""
    texts = said(trace)
    suspects = texts.filter(texts["text"].str.contains("|".join(_GATES)))
    if suspects.is_empty():
        return NONE
    text = pl.col("text")
    frames = pl.sum_horizontal(
        pl.when(text.str.contains(gate, literal=True)).then(text.str.count_matches(frame)).otherwise(0)
        for gate, frame in _FRAMES.items()
    )
    return (
        suspects.filter(~pl.col("tool").is_in(error_speakers(trace)).fill_null(value=False))
        .with_columns(frames=frames)
        .filter(pl.col("frames") > 1)
        .sort("result", "frames", descending=[False, True])
        .unique("result", keep="first", maintain_order=True)
        .select(
            "result",
            message=pl.concat_str(
                pl.lit("The result hands "), "frames", pl.lit(" frames of a stack trace to the model.")
            ),
            hint=pl.lit("Log the trace where the tool runs, and return one sentence that says what can be done."),
            keyword=pl.lit("stack"),
        )
    )
