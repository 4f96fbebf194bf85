"""One HTML file that needs nothing beside it: overview, findings, sessions, contracts, coverage.

Nothing that a log says can run in it. Data stand in blocks that no browser executes, with `<` escaped, and the page
shows them as text only; the policy at its top allows the one script and the one style by their digests, nothing else,
and forbids the script to turn text into markup.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from analyzer.findings.details import details_in
from analyzer.report.html.calls import Calls
from analyzer.report.html.findings import MOST, table
from analyzer.report.html.overview import overview
from analyzer.report.html.sessions import sessions
from analyzer.report.html.versions import versions
from analyzer.report.json import encoded

if TYPE_CHECKING:
    from analyzer.auditing import Audit

SCRIPTS = (
    "dom",
    "list",
    "state",
    "overview",
    "finding",
    "findings",
    "timeline",
    "sessions",
    "contracts",
    "coverage",
    "main",
)

__all__ = ["MOST", "pieces"]


def pieces(audit: Audit, *, next_command: str | None = None) -> Iterator[bytes]:
    """The page, in pieces. For calls, timelines and contracts the audit must have kept details, or all frames."""
    style, script = _text("page.css"), "\n".join(['"use strict";', *(_text(f"{name}.js") for name in SCRIPTS)])
    head, body = _text("page.html").split("<!-- data -->")
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )
    yield head.replace("<!-- policy -->", policy).replace("/* style */", style).encode()
    details = details_in(audit.frames, audit.findings)
    calls = Calls(audit, details)
    place = sessions(audit, details)
    yield from _block("overview", overview(audit, next_command, bare=not details))
    yield from _block("findings", table(audit, place, calls))
    yield from _block("sessions", place.told)
    yield from _block("calls", calls.told)
    yield from _block("contracts", versions(audit, details, calls))
    yield from _block("schemas", calls.schemas)
    yield body.replace("/* script */", script).encode()


def _text(name: str) -> str:
    return files("analyzer.report.html").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _block(name: str, value: Any) -> Iterator[bytes]:
    yield f'<script type="application/json" id="{name}">'.encode()
    yield encoded(value).replace(b"<", b"\\u003c").replace(b"&", b"\\u0026")
    yield b"</script>\n"
