"""Session Trace Analyzer: replay recorded agent sessions against the contracts in force, and say what broke."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.auditing import Audit, audit, open_audit
    from analyzer.trace import Settings, Trace

__all__ = ["Audit", "Settings", "Trace", "audit", "open_audit"]

_HOMES = {
    "Audit": "analyzer.auditing",
    "Settings": "analyzer.trace",
    "Trace": "analyzer.trace",
    "audit": "analyzer.auditing",
    "open_audit": "analyzer.auditing",
}


if not TYPE_CHECKING:  # to a type checker a name that is not above is a mistake

    def __getattr__(name: str) -> Any:
        # `analyzer --help` imports this package: polars costs 0.2 s and is loaded only when somebody audits.
        if name not in _HOMES:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
