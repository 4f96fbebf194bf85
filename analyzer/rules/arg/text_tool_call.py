"""The model wrote a call as text instead of making it.

What it says: a message holds what reads as a call (JSON with a name and arguments, a tag of some chat template, lines
`Action:` and `Action Input:`, or NAME(...) in a program's way) of a tool that was advertised, and hardly anything else.
Why it matters: nothing runs, the user is shown the raw call, and the turn counts as finished.
Bad:
    tool get_order {"type":"object","properties":{"id":{"type":"string"}}}
    turn
    say {"name": "get_order", "arguments": {"id": "ord_204418"}}
Good:
    tool get_order {"type":"object","properties":{"id":{"type":"string"}}}
    turn
    say An example of a call is {"name": "get_order", "arguments": {"id": "x"}}; the answer has the total in it.
Blind spots: calls in prose ("I will now look the order up").
"""

from __future__ import annotations

import re

import polars as pl

from analyzer.rules.hits import NONE, hits
from analyzer.trace import Trace

_GATE = r'"(?:arguments|parameters|tool_uses)"|<tool_call|<function[=_ ]|<invoke|to=functions|<\|tool|\[TOOL_CALLS\]'
# Without the bound of a name, which would take 100 ms to compile: it is held to what passes.
_GATE += r"|(?m:^Action Input:)|^\s*(?:```\w*\n)?[\w.-]+\("
_NAME = re.compile(r"""(?:"(?:name|tool|tool_name)"\s*:\s*"|<function=|name=["']|to=functions\.)([\w.:/-]{1,128})""")
_TAGGED = re.compile(r"<tool_call|<function[=_ ]|<invoke|to=functions|<\|tool|\[TOOL_CALLS\]")
_LINES = re.compile(r"(?m)^Action:[ \t]*([\w.:/-]{1,128})[ \t]*\nAction Input:")
_WRITTEN = re.compile(r"(?:functions\.)?([\w.-]{1,128})\((?:\s*\{.*\}\s*|\s*\w+\s*=.*)\);?", re.DOTALL)
_FENCE = re.compile(r"^```\w*\n|\n```$")
_LONGEST = 20_000
_BESIDE = 80  # letters of other text that a call may have beside it


def check(trace: Trace) -> pl.DataFrame:
    """Messages of the assistant that are a call in all but form."""
    said = trace.messages.filter(pl.col("role") == "assistant", pl.col("text").str.contains(_GATE))
    if said.is_empty():
        return NONE
    said = (
        said.sort("event", "pointer")
        .unique(["session", "item_id", "text"], keep="last", maintain_order=True)
        .select("session", "event", "turn", "pointer", "text")
    )
    offers = trace.offers.filter(pl.col("state") == "offered")
    offered = set(offers.select("session", pl.col("tool").str.replace("^.*:", "")).unique().iter_rows())
    found = []
    for session, event, turn, pointer, text in said.iter_rows():
        name = next((name for name in _names(text[:_LONGEST]) if (session, name) in offered), None)
        if name is not None:
            found.append(
                {
                    "session": session,
                    "event": event,
                    "pointer": pointer,
                    "turn": turn,
                    "message": f"The message is a call of {name}, written as text.",
                    "hint": "Check that the model is given the tools in the form that it was trained on.",
                    "keyword": "text",
                    "instance_pointer": f"/{name}",
                }
            )
    return hits(found)


def _names(text: str) -> list[str]:
    """The tools that a text may be a call of."""
    names: list[str] = _NAME.findall(text) if _TAGGED.search(text) or _alone(text) else []
    written = _WRITTEN.fullmatch(_FENCE.sub("", text.strip()))
    return names + _LINES.findall(text) + ([written[1]] if written else [])


def _alone(text: str) -> bool:
    """Whether the JSON of the call is all there is, but for a few words."""
    plain = _FENCE.sub("", text.strip())
    start, end = plain.find("{"), plain.rfind("}")
    return 0 <= start < end and start + len(plain) - end - 1 <= min(_BESIDE, (end - start) // 2)
