"""The rows of the calls, results and faults of conversations."""

from __future__ import annotations

from analyzer.read.dialogue.said import Call, Result, Said
from analyzer.read.rows import Rows


class Sightings:
    """Appends what messages hold; `turn`, if any, is that of what comes next."""

    def __init__(self, wire: str, rows: Rows) -> None:
        self._wire = wire
        self._rows = rows
        self.turn: str | None = None

    def call(  # noqa: PLR0917 - a row
        self,
        event: int,
        session: str,
        stage: str,
        reply: str,
        emission: str,
        pair_id: str,
        pointer: str,
        call: Call,
        wire: str | None = None,
    ) -> None:
        """A call; with a turn, it is one that another wire of the session shows."""
        self._rows.call_sightings.append(
            (
                event,
                session,
                self.turn,
                call.wire or wire or self._wire,
                stage,
                reply,
                emission if self.turn is None else None,
                call.call_id,
                pair_id,
                call.kind,
                call.server,
                call.name,
                call.text,
                call.container,
                call.status,
                call.owed_by,
                None,
                pointer,
            )
        )
        for copy in call.copies:
            where = pointer and pointer.removesuffix(call.to) + copy.to
            self.call(event, session, stage, reply, emission, pair_id, where, copy, wire)

    def result(  # noqa: PLR0917 - a row
        self,
        event: int,
        session: str,
        stage: str,
        emission: str,
        pair_id: str,
        pointer: str,
        result: Result,
        wire: str | None = None,
    ) -> None:
        """A result."""
        self._rows.result_sightings.append(
            (
                event,
                session,
                self.turn,
                wire or self._wire,
                stage,
                emission,
                result.call_id,
                pair_id,
                result.name,
                result.success,
                result.status,
                result.error,
                result.text,
                result.container,
                None,
                None,
                None,
                pointer,
            )
        )

    def faults(self, event: int, session: str, said: Said, to: str | None) -> None:
        """What was wrong with a message; nothing points into it where `to` is None."""
        self._rows.faults += [
            (event, session, fault, "" if to is None else to + where, detail, None)
            for fault, where, detail, _ in said.faults
        ]
