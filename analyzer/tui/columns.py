"""The columns of every table, and how their values look."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from analyzer.tui.rows import Column, Span
from analyzer.tui.theme import Glyphs, glyph
from analyzer.visible import visible


def findings(glyphs: Glyphs, marked: Container[str], *, session: bool) -> list[Column]:
    """Of findings."""
    where = [Column("session", "session", 14, middle=True)] if session else []
    return [
        Column("fingerprint", "", 1, starred(glyphs, marked)),
        Column("stands", "severity", 9, standing(glyphs)),
        Column("rule", "rule", 8),
        *where,
        Column("seq", "seq", 7, number, right=True),
        Column("tool", "tool", 14),
        Column("at", "at", 16, middle=True),
        Column("message", "message", 0),
    ]


def events(glyphs: Glyphs, marked: Container[str], *, session: bool) -> list[Column]:
    """Of events."""
    where = [Column("session", "session", 14, middle=True)] if session else []
    return [
        Column("event", "", 1, lambda value: starred(glyphs, marked)(f"event {value}")),
        *where,
        Column("seq", "seq", 8, number, right=True),
        Column("time", "time", 14, right=True),
        Column("kind", "kind", 8),
        Column("turn", "turn", 18, middle=True),
        Column("line", "line", 9, number, right=True),
        Column("type", "type", 0),
    ]


def sessions(glyphs: Glyphs) -> list[Column]:
    """Of sessions."""
    return [
        Column("session", "session", 20, middle=True),
        Column("started", "started", 14, right=True),
        Column("events", "events", 9, number, right=True),
        Column("turns", "turns", 6, number, right=True),
        Column("agents", "agents", 6, number, right=True),
        Column("calls", "calls", 7, number, right=True),
        Column("errors", f"{glyphs.error} err", 7, counted(glyphs, "error"), right=True),
        Column("warnings", f"{glyphs.warning} warn", 7, counted(glyphs, "warning"), right=True),
        Column("infos", f"{glyphs.info} info", 7, counted(glyphs, "info"), right=True),
        Column("activity", "activity", 0, lambda value: (value or "", "key"), most=24),
    ]


RULES = ("severity", "rule", "slug", "findings", "sessions")


def rules(glyphs: Glyphs) -> list[Column]:
    """Of rule totals."""
    return [
        Column("severity", "severity", 9, severity(glyphs)),
        Column("rule", "rule", 8),
        Column("findings", "found", 7, number, right=True),
        Column("sessions", "in", 5, number, right=True),
        Column("what", "what, and the first", 0),
    ]


def calls(glyphs: Glyphs) -> list[Column]:
    """Of calls of a tool."""
    return [
        Column("verdict_is", "verdict", 14, verdict(glyphs)),
        Column("session", "session", 16, middle=True),
        Column("seq", "seq", 7, number, right=True),
        Column("call_id", "call", 20, middle=True),
        Column("outcome", "outcome", 8),
        Column("text", "arguments", 0),
    ]


def contracts() -> list[Column]:
    """Of tools and their offers."""
    return [
        Column("name", "tool", 26, middle=True),
        Column("state", "last state", 10),
        Column("versions", "versions", 8, number, right=True),
        Column("used", "used", 6, number, right=True),
        Column("refused", "invalid", 7, number, right=True),
        Column("story", "in force", 0),
    ]


def marks(glyphs: Glyphs) -> list[Column]:
    """Of marks."""
    return [
        Column("session", "session", 16, middle=True),
        Column("seq", "seq", 7, number, right=True),
        Column("rule", "rule", 8),
        Column("pointer", "at", 22, middle=True),
        Column("note", f"{glyphs.mark} note", 0),
    ]


def hits() -> list[Column]:
    """Of query results."""
    return [
        Column("session", "session", 12, middle=True),
        Column("seq", "seq", 7, number, right=True),
        Column("path", "path", 40, middle=True),
        Column("value", "value", 0),
    ]


def lane_table() -> list[Column]:
    """Of lanes."""
    return [
        Column("name", "lane", 24, middle=True),
        Column("kind", "kind", 9),
        Column("first", "first", 10),
        Column("last", "last", 10),
        Column("events", "events", 9, number, right=True),
        Column("errors", "errors", 7, number, right=True),
        Column("longest_gap", "longest gap", 0, lambda value: ("" if value is None else f"{value:,.1f}", "")),
    ]


def number(value: Any) -> Span:
    """A number with its thousands apart."""
    return ("" if value is None else f"{value:,}", "number")


def severity(glyphs: Glyphs) -> Callable[[Any], Span]:
    """Sign and word."""

    def look(value: Any) -> Span:
        word = visible(str(value or ""), limit=8)
        return f"{glyph(glyphs, word)} {word}", word if word in ("error", "warning", "info") else ""

    return look


def standing(glyphs: Glyphs) -> Callable[[Any], Span]:
    """Sign and word of a severity; in brackets, without a colour, where the finding is suppressed or known."""
    look = severity(glyphs)

    def stands(value: Any) -> Span:
        word, _, rest = str(value or "").partition(" ")
        return (f"({visible(word, limit=8)})", "dim") if rest else look(word)

    return stands


def counted(glyphs: Glyphs, word: str) -> Callable[[Any], Span]:
    """A count that stands out where it is not nought."""

    def look(value: Any) -> Span:
        return (f"{value or 0:,}", word if value else "dim")

    del glyphs
    return look


def verdict(glyphs: Glyphs) -> Callable[[Any], Span]:
    """Sign and word of a verdict."""

    def look(value: Any) -> Span:
        word = visible(str(value or "not judged"), limit=14)
        if word == "invalid":
            return f"{glyphs.error} {word}", "error"
        return (f"{glyphs.valid} {word}", "good") if word == "valid" else (f"{glyphs.info} {word}", "dim")

    return look


def starred(glyphs: Glyphs, marked: Container[str]) -> Callable[[Any], Span]:
    """The sign of a mark where there is one."""

    def look(value: Any) -> Span:
        return (glyphs.mark, "mark") if value in marked else ("", "")

    return look
