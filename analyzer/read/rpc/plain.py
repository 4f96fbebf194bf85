"""Calls and the answers to them as they nearly always are: they are most of a long log."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.read.rows import Rows
from analyzer.read.rpc.connections import Call, Connection
from analyzer.read.rpc.messages import CALL, Line, Message, output_of, when_of
from analyzer.read.values import arguments, text_of

_COMPLETE = (None, "complete")
_NO_ID = (b"null", b"true", b"false")


class Plain:
    """The usual records of one source. Anything unusual is left to others."""

    def __init__(self, wire: str, rows: Rows, connections: Mapping[bytes, Connection]) -> None:
        """`connections` are the open ones by their server, as envelopes write it."""
        self._wire = wire
        self._rows = rows
        self._by_name = connections

    def take(self, record: Line, event: int, pointer: str) -> bool:
        """Append the rows of a record at `pointer`, if it is a usual one."""
        message: Message = record if record.msg is None else record.msg
        connection = self._by_name.get(bytes(record.server))
        if connection is None or message.jsonrpc != "2.0" or record.http or connection.asked_back:
            return False
        identity = bytes(message.id)
        if message.method == CALL:
            params = message.params
            if params is None or params.name is None or not identity or connection.waiting or identity in _NO_ID:
                return False
            text, container = arguments(params.arguments) if params.arguments else (None, "absent")
            key = identity.decode()
            call_id = key.strip('"') if "\\" not in key else text_of(message.id) or ""
            emission, native = f"#{event}", CALL
            connection.calls[key] = Call(emission, call_id, key, params.name, text, container)
            self._rows.call_sightings.append(
                (
                    *(event, connection.session, None, self._wire, "item", None, emission, call_id, key, "mcp"),
                    *(connection.label, params.name, text, container, None, "client", None),
                    "/params/arguments" if params.arguments else "/params",
                )
            )
        else:
            result = message.result
            if message.method is not None or result is None or message.error or result.task is not None:
                return False
            if result.result_type not in _COMPLETE or not result.content:
                return False
            text, container = output_of(result.content)
            structured = bytes(result.structured).decode() or None
            call = connection.calls.pop(identity.decode(), None)
            if call is None:
                return False
            native = "result"
            self._rows.result_sightings.append(
                (
                    *(event, connection.session, None, self._wire, "message", None, call.call_id, call.pair_id, None),
                    *(result.is_error is not True, None, None, text, container, structured, None, None),
                    "/result/content",
                )
            )
        when = record.ts if record.ts is not None else when_of(record)
        to = pointer if record.msg is None else pointer + "/msg"
        self._rows.whole.append((event, connection.session, None, when, None, native, "item", to))
        return True
