r"""A member of the arguments is a string that holds the value its schema wants.

What it says: the schema asks for a number, a boolean, null, a list or an object; the member is a string, and with what
the string decodes to the arguments keep the schema. Every failure of the call is of this kind.
Why it matters: the value is right and its encoding is wrong. Some servers coerce it, the next one refuses, and a
coerced "false" is true in more than one language.
Bad:
    tool find {"type":"object","properties":{"filter":{"type":"object"},"limit":{"type":"integer"}}}
    call c1 find {"filter":"{\"open\":true}","limit":"5"}
    result c1 failed invalid arguments
Good:
    tool find {"properties":{"filter":{"type":"object"},"text":{"type":"string"},"id":{"type":["integer","string"]}}}
    call c1 find {"filter":{"open":true},"text":"[]","id":"5"}
    result c1 ok {}
Blind spots: where one string of several decodes to what is still refused, the call is args-schema-mismatch as a whole.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits
from analyzer.rules.stringified import stringified
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Invalid calls of which every failure is a string that decodes to a value that the schema takes."""
    return hits(
        {
            "call": found.row,
            "verdict": found.verdict,
            "message": f"{found.words}.",
            "hint": "Send the value itself: the string decodes to what the schema asks for.",
            "keyword": "type",
            "instance_pointer": found.pointer,
        }
        for found in stringified(trace, "arguments", kept=True)
    )
