"""The rows of the calls, results and messages of conversations."""

from __future__ import annotations

from analyzer.read.dialogue.said import Call, Result, Said
from analyzer.read.rows import Rows
from analyzer.read.sheets import Sheet


class Sightings:
    """Appends what messages hold; `turn`, if any, is that of what comes next."""

    def __init__(self, wire: str, rows: Rows) -> None:
        self._wire = wire
        self._rows = rows
        self._calls = rows.waiting("dialogue calls", 10, self._append_calls)
        self._results = rows.waiting("dialogue results", 9, self._append_results)
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
        item_id = emission if self.turn is None else None
        self._calls.append(
            (event, session, self.turn, wire or self._wire, stage, reply, item_id, pair_id, pointer, call)
        )

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
        self._results.append((event, session, self.turn, wire or self._wire, stage, emission, pair_id, pointer, result))

    def faults(self, event: int, session: str, said: Said, to: str | None) -> None:
        """What was wrong with a message; nothing points into it where `to` is None."""
        self._rows.faults += [
            (event, session, fault, "" if to is None else to + where, detail, None)
            for fault, where, detail, _ in said.faults
        ]

    def _append_calls(self, waiting: Sheet) -> None:
        event, session, turn, wire, stage, reply, item_id, pair_id, pointer, calls = waiting.columns()
        self._rows.bulk(
            "call_sightings",
            wire=wire,
            stage=stage,
            kind=[call.kind for call in calls],
            container=[call.container for call in calls],
            owed_by=[call.owed_by for call in calls],
            event=event,
            session=session,
            turn=turn,
            reply=reply,
            item_id=item_id,
            call_id=[call.call_id for call in calls],
            pair_id=pair_id,
            server=[call.server for call in calls],
            name=[call.name for call in calls],
            text=[call.text for call in calls],
            status=[call.status for call in calls],
            pointer=pointer,
        )

    def _append_results(self, waiting: Sheet) -> None:
        event, session, turn, wire, stage, item_id, pair_id, pointer, results = waiting.columns()
        self._rows.bulk(
            "result_sightings",
            wire=wire,
            stage=stage,
            container=[result.container for result in results],
            event=event,
            session=session,
            turn=turn,
            item_id=item_id,
            call_id=[result.call_id for result in results],
            pair_id=pair_id,
            name=[result.name for result in results],
            success=[result.success for result in results],
            status=[result.status for result in results],
            error=[result.error for result in results],
            text=[result.text for result in results],
            pointer=pointer,
        )
