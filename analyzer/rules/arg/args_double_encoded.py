r"""The arguments were encoded as JSON more often than the wire says.

What it says: the arguments decode to a string that is JSON again, down to an object or a list; the message counts the
layers. One layer of text is what string wires carry, and on object wires it is args-wrong-container.
Why it matters: one side serialised what another had already serialised. Readers that decode once get a string, and
those that decode until it fits hide the fault until a value that looks like JSON is decoded too.
Bad:
    tool get_order {"type":"object","properties":{"id":{"type":"string"}}}
    call c1 get_order text "{\"id\":\"ord_204418\"}"
    result c1 failed not an object
Good:
    tool get_order {"type":"object","properties":{"id":{"type":"string"}}}
    call c1 get_order text {"id":"ord_204418"}
    result c1 ok {}
    call c2 get_order {"id":"{\"a\":1}"}
    result c2 ok {}
Blind spots: a member that holds JSON text is args-field-stringified, and only where the schema wants something else.
"""

from __future__ import annotations

import polars as pl

from analyzer.rules.hits import hits
from analyzer.rules.payloads import OBJECT_WIRES, json_type, layers
from analyzer.trace import Trace


def check(trace: Trace) -> pl.DataFrame:
    """Calls whose text decodes to a text that decodes to a container."""
    calls = trace.calls.filter(
        pl.col("container") == "text", pl.col("kind") != "custom", pl.col("text").str.contains(r'^\s*"')
    ).select("call", "text", "wire")
    found = []
    for call, text, wire in calls.iter_rows():
        count, value = layers(text)
        if count > 1 and isinstance(value, dict | list):
            allowed = 0 if wire in OBJECT_WIRES else 1
            found.append(
                {
                    "call": call,
                    "message": f"The arguments are JSON text inside JSON text: {count} layers around the "
                    f"{json_type(value)}, and this wire has {allowed or 'none'}.",
                    "hint": "Find the second serialiser and remove it; do not decode until it fits.",
                    "keyword": "encoding",
                }
            )
    return hits(found)
