"""The calls that findings are about, each beside the schema that judged it: as lines, with the pointer of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from analyzer.findings.details import MOST_TEXT
from analyzer.report.html.shown import POINTER, shown
from analyzer.report.outline import outline
from analyzer.visible import visible, visible_lines

if TYPE_CHECKING:
    from analyzer.auditing import Audit
    from analyzer.frames import Frames

_MOST_SCHEMAS = 1_000
_OF_NO_CALL = ("DRIFT", "LOG", "TOOL")  # these stand where tables and records are
_LINES = 120
_RESULT_LINES = 60

Lines = list[list[str]]
"""Pointer and text of each line."""


class Calls:
    """Collects the calls and schemas that the page shows, as findings and versions ask for them."""

    def __init__(self, audit: Audit, details: Frames) -> None:
        self.told: list[dict[str, Any]] = []
        self.schemas: dict[str, Lines] = {}
        self._known: dict[tuple[Any, ...], int] = {}
        self._texts: dict[str, str] = {}
        self._rows: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
        if "schemas" in audit.frames:
            self._texts = dict(audit.frames["schemas"].select("schema_id", "text").iter_rows())
        if "told_calls" in details:
            for row in details["told_calls"].sort("session", "seq", "call").iter_rows(named=True):
                for place in {row["call_id"], row["seq"], row["answered"]} - {None}:
                    self._rows.setdefault((row["session"], place), []).append(row)

    def of(self, finding: dict[str, Any]) -> int | None:
        """The place in `told` of the call that a finding is about; None where it has none, or it is not kept."""
        contract = finding["contract"]
        if contract is not None:
            self.schema(contract["schema_id"])
        row = self._meant(finding)
        if row is None:
            return None
        key = (row["session"], row["call"])
        if key not in self._known:
            self._known[key] = len(self.told)
            self.told.append(
                {
                    "arguments": _lines(row["text"], _LINES),
                    "outcome": row["outcome"],
                    "error": shown(row["error"], 600),
                    "result": _lines(row["answer"], _RESULT_LINES),
                }
            )
        return self._known[key]

    def _meant(self, finding: dict[str, Any]) -> dict[str, Any] | None:
        """The call with the id and at the place of a finding; of one without an id the only call that it can be."""
        if finding["call_id"] is not None:
            rows = self._rows.get((finding["session"], finding["call_id"]), [])
            return next((row for row in rows if row["seq"] == finding["seq"]), rows[0] if rows else None)
        if finding["seq"] is None or finding["rule"].startswith(_OF_NO_CALL):
            return None
        rows = self._rows.get((finding["session"], finding["seq"]), [])
        at = (finding["location"] or {}).get("pointer") or ""
        return next(
            (row for row in rows if row["pointer"] and at.endswith(row["pointer"])), rows[0] if len(rows) == 1 else None
        )

    def schema(self, schema_id: str | None) -> None:
        """Keep a schema for the page."""
        text = self._texts.get(schema_id or "")
        if schema_id is None or text is None or len(self.schemas) == _MOST_SCHEMAS:
            return
        name = visible(schema_id)
        if name not in self.schemas:
            self.schemas[name] = _lines(text, _LINES) or []


def _lines(text: str | None, most: int) -> Lines | None:
    if text is None:
        return None
    if len(text) <= MOST_TEXT:
        try:
            value = msgspec.json.decode(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict | list):
            return [[visible(line.pointer, limit=POINTER), line.text] for line in outline(value, most=most)]
    lines = visible_lines(text, limit=8_000).splitlines()
    more = [["", "… more lines"]] if len(lines) > most else []
    return [["", line] for line in lines[:most]] + more
