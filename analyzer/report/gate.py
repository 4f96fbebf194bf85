"""Gate records: what a host that checks each call before it runs would have written down, one JSON line a call.

`pass` lists the top-level members of the arguments without a failure, in the order of the schema and then as sent;
`fail` names each failing member by JSON Pointer with the keyword it breaks; `execute` is true only for a call that is
valid. What could not be judged must not run: it fails with the reason `unverifiable`, and what is no JSON with
`not_json`. Where so much fails that not all of it is told, nothing passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Self

import msgspec
import polars as pl

from analyzer import pointer
from analyzer.contracts.verdicts.engine import MAX_EXPLAINED
from analyzer.contracts.verdicts.violations import more_than
from analyzer.frames import MOST_TOLD
from analyzer.masking import masked
from analyzer.report.evidence import Recorded
from analyzer.report.json import encoded
from analyzer.rules.failures import failed_members

if TYPE_CHECKING:
    from analyzer.auditing import Audit


class Records:
    """The records as JSON Lines, in the order in which the sessions came and the model called.

    Audits of whole sessions are added one after the other; their records wait on disk, in a private file. Use it as a
    context manager.
    """

    def __init__(self) -> None:
        self._file = TemporaryFile(prefix="analyzer-")  # noqa: SIM115 - it goes with this
        self._sessions: list[tuple[int, str, int, int]] = []  # first event, name, and where the records lie

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, audit: Audit) -> None:
        """Add the calls of an audit that kept its frames."""
        begun = dict(audit.frames["sessions"].select("session", "first_event").iter_rows())
        with Recorded(audit) as recorded:
            for session, mine in groupby(records(audit.frames, recorded), key=itemgetter("session")):
                since = self._file.tell()
                self._file.writelines(encoded(masked(record)) + b"\n" for record in mine)
                self._sessions.append((begun[session], session or "", since, self._file.tell() - since))

    def pieces(self) -> Iterator[bytes]:
        """The lines, session by session."""
        for _, _, since, length in sorted(self._sessions):
            self._file.seek(since)
            yield self._file.read(length)


def records(frames: Mapping[str, pl.DataFrame], recorded: Recorded) -> Iterator[dict[str, Any]]:
    """One record for each call that has a verdict; calls of hosted and free-text tools pass no gate and have none."""
    failures: dict[int, list[dict[str, str]]] = {}
    failed = frames["violations"].sort("verdict", "position").select("verdict", "keyword", path=failed_members())
    for verdict, keyword, path in failed.iter_rows():
        failures.setdefault(verdict, []).append({"path": path or "", "reason": keyword})
    order = _Orders(recorded)
    for row in _judged(frames).iter_rows(named=True):
        yield _record(row, failures.get(row["verdict"], []), order)


def _judged(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Calls with the verdict that the gate would have reached: by the advertised schema, else by a contract file's."""
    verdicts = (
        frames["verdicts"]
        .filter((pl.col("role") == "arguments") & (pl.col("verdict_is") != "not_applicable"))
        .with_columns(
            rank=(pl.col("side") != "advertised").cast(pl.Int8)
            + 2 * (pl.col("reason") == "schema_unavailable").fill_null(value=False).cast(pl.Int8)
        )
        .sort("call", "rank", "verdict")
        .unique("call", keep="first", maintain_order=True)
        .select("call", "verdict", "verdict_is", "payload", "schema_id", "offer_event", "offer_pointer")
    )
    sessions = frames["sessions"].select("session", "first_event")
    return (
        frames["calls"]
        .join(verdicts, on="call", maintain_order="left")
        .join(sessions, on="session", how="left", nulls_equal=True, maintain_order="left")
        .sort("first_event", "session", "seq", "call")
    )


class _Orders:
    """The order of members by schema, read where each is advertised first."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._members: dict[str | None, list[str]] = {}

    def of(self, schema_id: str | None, event: int | None, pointer: str | None) -> list[str]:
        if schema_id not in self._members:
            schema = None if schema_id is None else self._recorded.schema(schema_id, event, pointer)
            properties = schema.get("properties") if isinstance(schema, dict) else None
            self._members[schema_id] = list(properties) if isinstance(properties, dict) else []
        return self._members[schema_id]


def _record(row: dict[str, Any], failures: list[dict[str, str]], order: _Orders) -> dict[str, Any]:
    if row["verdict_is"] == "unverifiable":
        failures = [{"path": "", "reason": "unverifiable"}]
    elif row["verdict_is"] == "invalid" and not failures:
        failures = [{"path": "", "reason": "not_json" if row["payload"] == "not_json" else "schema"}]
    guilty = {(pointer.parts(each["path"]) or [""])[0] for each in failures}
    arguments = _decoded(row["text"])
    untold = len(failures) >= MOST_TOLD or (bool(failures) and more_than(arguments, MAX_EXPLAINED))
    whole = untold or any(not each["path"] for each in failures)
    members = list(arguments) if isinstance(arguments, dict) and not whole else []
    first = [name for name in order.of(row["schema_id"], row["offer_event"], row["offer_pointer"]) if name in members]
    passing = [*first, *(name for name in members if name not in first)]
    return {
        "check": row["name"],
        "schema": "parameters",
        "pass": [name for name in passing if name not in guilty],
        "fail": failures,
        "execute": row["verdict_is"] == "valid",
        "session": row["session"],
        "turn": row["turn"],
        "call_id": row["call_id"],
    }


def _decoded(text: str | None) -> Any:
    try:
        return msgspec.json.decode(text or "null")
    except (ValueError, RecursionError):
        return None
