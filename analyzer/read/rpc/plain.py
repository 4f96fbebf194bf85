"""Calls and the answers to them as they nearly always are, column by column: they are most of a long log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analyzer.frames import PART_BITS
from analyzer.read.records import Block
from analyzer.read.rows import Rows
from analyzer.read.rpc.connections import Call, Connection
from analyzer.read.rpc.messages import CALL, Line, Message, Result, output_of, when_of
from analyzer.read.values import arguments, text_of

_COMPLETE = (None, "complete")
_NO_ID = (b"null", b"true", b"false")


class Plain:
    """The usual records of one block. Anything unusual is left to others."""

    def __init__(self, wire: str, connections: Mapping[bytes, Connection]) -> None:
        """`connections` are the open ones by their server, as envelopes write it."""
        self._wire = wire
        self._by_name = connections
        self._indexes: list[int] = []
        self._records: list[Line] = []
        self._sessions: list[str] = []
        self._types: list[str] = []
        self._calls: list[tuple[int, Connection, Call]] = []
        self._results: list[tuple[int, Connection, Call, Result]] = []

    def take(self, record: Line, event: int, index: int) -> bool:
        """Take a record, if it is a usual one."""
        message: Message = record if record.msg is None else record.msg
        connection = self._by_name.get(bytes(record.server))
        if connection is None or message.jsonrpc != "2.0" or record.http or connection.asked_back:
            return False
        params, result = message.params, message.result
        identity = bytes(message.id)
        if message.method == CALL:
            if params is None or params.name is None or not identity or connection.waiting or identity in _NO_ID:
                return False
            text, container = arguments(params.arguments) if params.arguments else (None, "absent")
            key = identity.decode()
            call_id = key.strip('"') if "\\" not in key else text_of(message.id) or ""
            call = connection.calls[key] = Call(f"#{event}", call_id, key, params.name, text, container)
            self._calls.append((index, connection, call))
            self._types.append(CALL)
        else:
            if message.method is not None or result is None or message.error or result.task is not None:
                return False
            if result.result_type not in _COMPLETE or not result.content:
                return False
            found = connection.calls.pop(identity.decode(), None)
            if found is None:
                return False
            self._results.append((index, connection, found, result))
            self._types.append("result")
        self._indexes.append(index)
        self._records.append(record)
        self._sessions.append(connection.session)
        return True

    def append(self, rows: Rows, block: Block, base: int) -> None:
        """Append the rows of what was taken, column by column; `base` is the event of the block's first record."""
        if not self._indexes:
            return
        indexes, chosen = self._indexes, self._records
        ways = ["" if record.msg is None else "/msg" for record in chosen]
        if block.pointer is not None:
            ways = [block.pointer[index] + way for index, way in zip(indexes, ways, strict=True)]
        times: list[Any] = [record.ts for record in chosen]
        rows.bulk(
            "events",
            event=[base + (index << PART_BITS) for index in indexes],
            session=self._sessions,
            offset=[block.offset[index] for index in indexes],
            length=[block.length[index] for index in indexes],
            line=[block.line[index] for index in indexes],
            pointer=ways,
            time=list(map(when_of, chosen)) if None in times else times,
            type=self._types,
            kind=["item"] * len(indexes),
        )
        calls = [call for _, _, call in self._calls]
        rows.bulk(
            "call_sightings",
            event=[base + (index << PART_BITS) for index, _, _ in self._calls],
            session=[connection.session for _, connection, _ in self._calls],
            wire=[self._wire] * len(calls),
            stage=["item"] * len(calls),
            item_id=[call.emission for call in calls],
            call_id=[call.call_id for call in calls],
            pair_id=[call.pair_id for call in calls],
            kind=["mcp"] * len(calls),
            server=[connection.label for _, connection, _ in self._calls],
            name=[call.name for call in calls],
            text=[call.text for call in calls],
            container=[call.container for call in calls],
            owed_by=["client"] * len(calls),
            pointer=["/params" if call.container == "absent" else "/params/arguments" for call in calls],
        )
        answered = [call for _, _, call, _ in self._results]
        answers = [result for _, _, _, result in self._results]
        outputs = [output_of(result.content) for result in answers]
        rows.bulk(
            "result_sightings",
            event=[base + (index << PART_BITS) for index, _, _, _ in self._results],
            session=[connection.session for _, connection, _, _ in self._results],
            wire=[self._wire] * len(answers),
            stage=["message"] * len(answers),
            call_id=[call.call_id for call in answered],
            pair_id=[call.pair_id for call in answered],
            success=[result.is_error is not True for result in answers],
            text=[text for text, _ in outputs],
            container=[container for _, container in outputs],
            structured=[bytes(result.structured).decode() or None for result in answers],
            pointer=["/result/content"] * len(answers),
        )
