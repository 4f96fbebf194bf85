"""What a log may say to break out of a report, and findings that say it in every member."""

from __future__ import annotations

from typing import Any

from tests.report.made import finding, location

PAYLOADS = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "]]> <!-- &amp; \x1b[31m \u202e \x00 \ufffe",
    "`code` ``` | [a](javascript:alert(1)) @everyone #1 https://x.test",
    "a\n::error file=x::pwned\r\n::stop-commands::t",
    "${{7*7}} {{constructor.constructor('alert(1)')()}} %0A",
    "__proto__",
)


def row(text: str) -> dict[str, Any]:
    """A finding whose every text is this one; its message and hint as the engine would have shown them."""
    from analyzer.visible import visible

    there = location(3, f"/{text}", file=f"logs/{text}")
    failure = dict.fromkeys(("pointer", "path", "keyword", "schema_pointer", "expected", "actual"), text)
    return finding(
        message=visible(text, limit=1000),
        hint=visible(text, limit=1000),
        session=text,
        turn=text,
        agent=text,
        call_id=text,
        tool=text,
        location=there,
        contract={"schema_id": text, "channel": text, "file": text, "line": 1, "pointer": text, "passes": text},
        failures=[failure],
        related=[{"location": there, "call_id": text, "role": text}],
        group=f"g{PAYLOADS.index(text)}",
        fingerprint=f"f{PAYLOADS.index(text)}",
        suppressed=None,
    )
