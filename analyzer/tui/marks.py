"""Marks with notes: kept beside a saved audit, or with the user's own state; never in the log."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_FILE = "marks.json"


@dataclass(frozen=True)
class Mark:
    """A finding or an event that somebody wants to find again. Texts are as in the log."""

    key: str
    note: str
    session: str | None
    seq: int | None
    rule: str | None
    file: str | None
    line: int | None
    offset: int | None
    pointer: str | None
    event: int | None = None
    fingerprint: str | None = None


class Marks:
    """The marks of one audit, written to their file whenever one changes."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.marks: dict[str, Mark] = {}
        self.trouble = ""

    @classmethod
    def of(cls, folder: Path | None, digests: list[str]) -> Marks:
        """The marks beside a saved audit; of logs just read, those kept for the same bytes."""
        if folder is not None:
            file = folder / _FILE
        else:
            name = hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()[:24]
            state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
            file = Path(state) / "analyzer" / "marks" / f"{name}.json"
        marks = cls(file)
        try:
            kept = json.loads(file.read_text(encoding="utf-8"))
            marks.marks = {row["key"]: Mark(**row) for row in kept["marks"]}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError) as error:
            marks.file, marks.trouble = None, f"the marks in {file} cannot be read and are left alone: {error}"
        return marks

    def put(self, mark: Mark) -> str:
        """Add or change a mark; the answer says why it could not be kept, if so."""
        self.marks[mark.key] = mark
        return self._write()

    def remove(self, key: str) -> str:
        """Take a mark away."""
        self.marks.pop(key, None)
        return self._write()

    def rows(self) -> list[dict[str, Any]]:
        """The marks in the order of the log, as rows for tables and exports."""
        order = sorted(self.marks.values(), key=lambda m: (m.session or "", m.seq if m.seq is not None else -1, m.key))
        return [asdict(mark) for mark in order]

    def _write(self) -> str:
        if self.file is None:
            return self.trouble or "these marks are not kept"
        text = json.dumps({"marks": self.rows()}, indent=1)
        draft = self.file.with_name(self.file.name + ".new")
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(text + "\n", encoding="utf-8")
            draft.replace(self.file)
        except OSError as error:
            return f"the mark is not kept: {error.strerror or error}"
        return ""
