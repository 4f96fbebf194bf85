"""SQLite stores of sessions: read from a private copy that is opened immutable, so that nothing of them is executed."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

BROKEN = sqlite3.Error
_ROWS = 4096
_MOST_CELL = 256 << 20  # bytes of one cell


def rows(pieces: Iterable[bytes]) -> Iterator[list[tuple[str, bytes]]]:
    """The messages of every session store in a database, in lists of (pointer, JSON text).

    A table is a store where it has the columns `session_id` and `message_data`. Of a cut file what is there is read.
    Raises BROKEN where the database is, after what could be read.
    """
    with tempfile.NamedTemporaryFile(prefix="analyzer-", suffix=".db") as copy:
        for piece in pieces:
            copy.write(piece)
        _shorten(copy)
        copy.flush()
        database = sqlite3.connect(f"file:{copy.name}?mode=ro&immutable=1", uri=True)
        try:
            database.execute("PRAGMA trusted_schema=OFF")
            database.execute("PRAGMA cell_size_check=ON")
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MOST_CELL)
            database.text_factory = lambda raw: raw.decode("utf-8", "replace")
            yield from _messages(database)
        finally:
            database.close()


def _shorten(copy: Any) -> None:
    """Make the header agree with a file that was cut, so that the pages there are can be read."""
    copy.seek(16)
    size = int.from_bytes(copy.read(2), "big")
    size = 65536 if size == 1 else max(size, 512)
    pages = copy.seek(0, 2) // size
    copy.seek(28)
    if int.from_bytes(copy.read(4), "big") > pages:
        copy.seek(28)
        copy.write(pages.to_bytes(4, "big"))


def _messages(database: sqlite3.Connection) -> Iterator[list[tuple[str, bytes]]]:
    names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
    columns = {name: {row[1] for row in database.execute(f"PRAGMA table_info({_quoted(name)})")} for (name,) in names}
    branches = next((name for name, held in columns.items() if {"message_id", "branch_id"} <= held), None)
    for name, held in columns.items():
        if not {"session_id", "message_data"} <= held:
            continue
        created = "m.created_at" if "created_at" in held else "NULL"
        branch, join = "NULL", ""
        if branches is not None:
            branch, join = "s.branch_id", f"LEFT JOIN {_quoted(branches)} s ON s.message_id = m.rowid"
        cursor = database.execute(
            f"SELECT m.rowid, m.session_id, m.message_data, {created}, {branch} "  # noqa: S608 - quoted names
            f"FROM {_quoted(name)} m {join} ORDER BY m.rowid"
        )
        batch: list[tuple[str, bytes]] = []
        try:
            for row in cursor:
                batch.append(_row(name, *row))
                if len(batch) == _ROWS:
                    yield batch
                    batch = []
        except sqlite3.Error:
            yield batch
            raise
        yield batch


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _row(table: str, number: int, *held_by: Any) -> tuple[str, bytes]:
    session, data, created, branch = held_by
    text = data if isinstance(data, str) else "" if data is None else str(data)
    try:
        held: Any = msgspec.Raw(text.encode("utf-8", "replace"))
        msgspec.json.decode(held, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        held = text
    row = {
        "sqlite_table": table,
        "row": number,
        "session_id": None if session is None else str(session),
        "created_at": None if created is None else str(created),
        "branch_id": None if branch is None else str(branch),
        "message_data": held,
    }
    return f"/{table.replace('~', '~0').replace('/', '~1')}/{number}", msgspec.json.encode(row)
