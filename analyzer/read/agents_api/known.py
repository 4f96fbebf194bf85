"""Telling records of this wire from others."""

from __future__ import annotations

from typing import Any

from analyzer.read.agents_api.wire import ITEMS, RESOURCES


def knows(record: Any) -> bool:
    """Whether a parsed record is of this wire."""
    if not isinstance(record, dict):
        return False
    native = record.get("type")
    if isinstance(record.get("event"), dict) and not (isinstance(native, str) and native.startswith("agent.")):
        return knows(record["event"])
    if isinstance(record.get("event"), str) and native is None:
        return _is_event(record["event"])
    http = record.get("http")
    if isinstance(http, dict):
        return "/agents/sessions" in str(http.get("path") or http.get("url") or "")
    if isinstance(record.get("events"), list) and native is None:
        return any(map(knows, record["events"][:8]))
    kind = record.get("object")
    if kind == "list" and isinstance(record.get("data"), list):
        return any(map(knows, record["data"][:8]))
    if (isinstance(kind, str) and kind in RESOURCES) or kind in ("agent.session", "agent.session.turn"):
        return True
    if isinstance(native, str):
        if native == "error":
            return isinstance(record.get("session_id"), str)
        if native in ITEMS:
            return isinstance(record.get("turn_id"), str) and "event_id" not in record
        return native.startswith(("agent.session.", "agent.output.", "agent.environment."))
    return native is None and kind is None and isinstance(record.get("agent"), dict) and "tools" in record["agent"]


def _is_event(text: str) -> bool:
    """Whether a text in a row of a table is an event of this wire."""
    return text.lstrip()[:1] == "{" and any(
        f'"agent.{word}.' in text[:400] for word in ("session", "output", "environment")
    )
