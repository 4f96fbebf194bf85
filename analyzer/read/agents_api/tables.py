"""Tool tables: a session event embeds the whole of one, most often one that was seen before."""

from __future__ import annotations

import os

from analyzer.read.agents_api.wire import Record, decode_record
from analyzer.read.rows import Rows
from analyzer.read.values import Raw

SMALL = 2048  # bytes: a record under it has no tool table worth cutting out
HEAD = 160  # bytes: where the type of an event stands, as the API writes it
_ITEM, _INPUT = b'"agent.session.turn.item.', b'"agent.session.input.'
_CUT_KEY, _CUT_LIMIT = 96, 64


class Tables:
    """The tool tables of one source.

    One seen before is cut out of the bytes before they are decoded and a token left in its place; the token is of this
    process alone, so no log can hold it.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._token = b'"' + os.urandom(12).hex().encode()
        self._cuts: dict[bytes, list[tuple[bytes, bytes]]] = {}

    def decode(self, raw: bytes) -> Record:
        """Decode a record with the tool table cut out where the table is a known one."""
        # Long outputs are most of some logs, and have no table: no need to look for one from end to end.
        if len(raw) < SMALL or raw.find(_ITEM, 0, HEAD) > 0 or raw.find(_INPUT, 0, HEAD) > 0:
            return decode_record(raw)
        at = raw.find(b'"tools":[') + 8
        if at < 8:
            at = raw.find(b'"tools": [') + 9
            if at < 9:
                return decode_record(raw)
        for table, token in self._cuts.get(raw[at : at + _CUT_KEY], ()):
            if raw.startswith(table, at):
                record = decode_record(b"".join((raw[:at], token, raw[at + len(table) :])))
                session = record.session
                if session is not None and session.agent is not None and bytes(session.agent.tools) == token:
                    return record
                break  # the same bytes stood elsewhere
        return decode_record(raw)

    def show(self, tools: Raw, event: int, session: str | None, channel: str, pointer: str) -> None:
        """Append what a `tools` member says: nothing where there is none, and null takes all tools away."""
        text = bytes(tools)
        if not text:
            return
        table: str | None = None
        if text.startswith(self._token):
            table = text[len(self._token) + 1 : -1].decode()
        elif text[:1] == b"[":
            table = self._rows.table(text, "openai")
            known = self._cuts.setdefault(text[:_CUT_KEY], [])
            if len(text) >= _CUT_KEY and len(known) < _CUT_LIMIT:
                known.append((text, self._token + b":" + table.encode() + b'"'))
        elif text != b"null":
            self._rows.faults.add(
                event=event,
                session=session,
                fault="member_type",
                pointer=pointer,
                detail="tools is neither a list nor null",
            )
            return
        self._rows.showings.add(
            event=event, session=session, channel=channel, scope="all", table=table, pointer=pointer
        )
