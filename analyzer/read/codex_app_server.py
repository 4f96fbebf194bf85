"""Codex app-server: the JSON-RPC messages between Codex and the program that shows it, mostly without a `jsonrpc`.

An item is a step of a turn: begun, then completed. Tools of the program itself are declared when a thread starts; Codex
asks the program to run them, and to approve commands and changes of files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.cursor import Cursor, Place
from analyzer.read.decoding import Decoding
from analyzer.read.ledger import Recent
from analyzer.read.openai.app_server import (
    ASKED,
    CALL,
    DECISIONS,
    MEMBERS,
    NATIVE,
    OTHERS,
    OURS,
    START,
    STATUSES,
    Item,
    Message,
    Params,
    Question,
    decode,
    texts_in,
)
from analyzer.read.openai.executions import Execution, Ran, execution_in, outcome_of
from analyzer.read.records import Block
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, arguments, first, text_of


class CodexAppServer(RecordAdapter[Message]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "codex-app-server"
    title: ClassVar[str] = "Codex app-server: its JSON-RPC messages"
    known_by: ClassVar[str] = "methods named thread/*, turn/* and item/* with `params`, and what answers them"
    loses: ClassVar[tuple[str, ...]] = (
        "Schemas of built-in tools and of MCP servers are never sent: only those of the program's own tools.",
        "Messages do not say their direction: answers are told from the requests before them.",
        "What the model saw is not on this wire: only what was run, and what came of it.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._rows = rows
        self._records = Decoding(source, rows, decode, self.knows)
        self._cursor = Cursor(rows)
        self._asked: Recent[bytes, Question] = Recent(4096)
        """By the program, by their ids."""
        self._asks: Recent[bytes, Question] = Recent(4096)
        """By Codex."""
        self._memories = (self._asked, self._asks)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is a message of this wire."""
        if not isinstance(record, dict):
            return 0.0
        method = record.get("method")
        return float(isinstance(method, str) and method.startswith(OURS) and isinstance(record.get("params"), dict))

    @classmethod
    def sniff(cls, records: Sequence[Any], path: str) -> float:
        """The share of the records that are messages; responses count where something is asked in this way."""
        del path
        sure = sum(map(cls.knows, records))
        others = [each for each in records if isinstance(each, dict) and not cls.knows(each)]
        around = sum(("id" in each and ("result" in each or "error" in each)) or "method" in each for each in others)
        return (sure + around) / len(records) if sure else 0.0

    def read(self, block: Block) -> list[int]:
        """Append the rows of the block; see `Adapter.read`."""
        others = super().read(block)
        for question in self._asked.values():
            self._declare(question, None)
        return others

    def _isdecode(self, record: Message, raw: bytes) -> bool:
        """Whether a record is one of this wire, and no other one with members of the same names."""
        if record.method is not None and record.method.startswith(OURS):
            return True
        if msgspec.json.decode(raw, type=dict[str, Raw]).keys() - MEMBERS:
            return False
        if record.method is not None:
            return record.jsonrpc is None or not record.method.startswith(OTHERS)
        name = bytes(record.id)
        answers = bool(name) and (record.result is not None or bool(record.error))
        return answers and (record.jsonrpc is None or name in self._asked or name in self._asks)

    def _take(self, record: Message, raw: bytes, place: Place) -> bool:
        if not self._isdecode(record, raw):
            return False
        self._cursor.move(place)
        if record.method is None:
            self._answer(record, place)
            return True
        params = record.params or Params()
        if record.id and record.method == START:
            self._asked[bytes(record.id)] = Question(record.method, params, place)
            if not params.dynamicTools:
                self._cursor.event(START, "request", None)
            return True
        turn = params.turnId or (params.turn.id if params.turn is not None else None)
        session = params.threadId or (params.thread.id if params.thread is not None else None)
        if record.id and record.method.startswith("item/"):
            self._asks[bytes(record.id)] = Question(record.method, params, place)
            self._requested(record.method, params, session, turn)
        elif record.method in ("item/started", "item/completed") and params.item is not None:
            self._item(record.method, params.item, session, turn)
        elif record.method.startswith("turn/") and params.turn is not None and not record.id:
            event, _ = self._cursor.event(record.method, "turn", session, turn=turn)
            status = STATUSES.get(params.turn.status or "", params.turn.status) or "in_progress"
            error = text_of(params.turn.error) if first(params.turn.error) not in (b"", b"n") else None
            self._rows.turn_states.add(event=event, session=session, turn=turn, status=status, error=error)
        else:
            if record.id:
                self._asked[bytes(record.id)] = Question(record.method, params, place)
            delta = record.method.endswith(("/delta", "Delta"))
            kind = "delta" if delta else "session" if record.method.startswith("thread/") else "notice"
            self._cursor.event(record.method, "error" if record.method == "error" else kind, session, turn=turn)
        return True

    # --- requests and what answers them -----------------------------------------------------------------------------

    def _answer(self, record: Message, place: Place) -> None:
        """A response: the program's where only it answers so, else that to what was asked under this id."""
        name, result = bytes(record.id), record.result or Params()
        ours = bool(result.contentItems) or bool(result.decision) or name not in self._asked
        question = self._asks.pop(name, None) if ours else self._asked.pop(name, None)
        failed = bool(record.error) and bytes(record.error) != b"null"
        if question is not None and question.method == START:
            session = result.thread.id if result.thread is not None else None
            self._declare(question, session)
            self._cursor.move(place)
            event, _ = self._cursor.event("thread/start result", "error" if failed else "session", session)
            self._rows.session_states.add(event=event, session=session, model=result.model, begins=not failed or None)
            return
        asked = question.params if question is not None else Params()
        event, _ = self._cursor.event(
            "error" if failed else "result", "error" if failed else "notice", asked.threadId, turn=asked.turnId
        )
        if question is not None and question.method == CALL:
            self._ran(event, asked, result, text_of(record.error) if failed else None)
        elif question is not None and question.method in ASKED and result.decision:
            decided = text_of(result.decision) if first(result.decision) == b'"' else "accept"
            self._rows.approvals.add(
                event=event,
                session=asked.threadId,
                turn=asked.turnId,
                request_id=asked.itemId,
                stage="decision",
                name=ASKED[question.method],
                decision=DECISIONS.get(decided or ""),
                pointer="/result/decision",
            )

    def _declare(self, question: Question, session: str | None) -> None:
        """The tools that a thread was started with, once its name is known, or is not going to be."""
        tools = bytes(question.params.dynamicTools)
        if question.method != START or not tools:
            return
        question.params.dynamicTools = ABSENT
        self._cursor.move(question.place)
        event, _ = self._cursor.event(START, "request", session)
        if tools[:1] == b"[":
            table = self._rows.table(tools, "codex")
            self._rows.showings.add(
                event=event,
                session=session,
                channel="registry",
                scope="add",
                table=table,
                pointer="/params/dynamicTools",
            )

    def _requested(self, method: str, params: Params, session: str | None, turn: str | None) -> None:
        """Codex asks the program for something."""
        event, _ = self._cursor.event(method, "item" if method == CALL else "request", session, turn=turn)
        if method == CALL and params.callId is not None:
            ran = Ran("dynamic_tool_call", params.callId, None, None, params.tool, params.namespace, params.arguments)
            if (execution := execution_in(ran)) is not None:
                self._call(event, execution, session, turn, "action", "/params/arguments")
        elif method in ASKED:
            self._rows.approvals.add(
                event=event,
                session=session,
                turn=turn,
                request_id=params.itemId,
                stage="request",
                name=ASKED[method],
                pointer="/params/itemId",
            )

    def _ran(self, event: int, asked: Params, result: Params, error: str | None) -> None:
        """What the program says came of its tool."""
        ran = Ran("dynamic_tool_call", asked.callId, success=result.success, content_items=result.contentItems)
        execution = execution_in(ran)
        if execution is not None:
            to = "/error" if error is not None else "/result/contentItems" if result.contentItems else "/result"
            self._result(event, execution, asked.threadId, asked.turnId, "post", to, error)

    # --- items ------------------------------------------------------------------------------------------------------

    def _item(self, method: str, item: Item, session: str | None, turn: str | None) -> None:
        event, _ = self._cursor.event(method, "item", session, turn=turn)
        whole = method == "item/completed"
        if item.type in ("agentMessage", "userMessage") and whole:
            user = item.type == "userMessage"
            text, to = (_words(item.content), "/content") if user else (item.text, "/text")
            self._rows.messages.add(
                event=event,
                session=session,
                turn=turn,
                item_id=item.id,
                role="user" if user else "assistant",
                phase=item.phase,
                text=text,
                pointer=f"/params/item{to}",
            )
        shown = Ran(
            type=NATIVE.get(item.type or ""),
            id=item.id,
            server=item.server,
            tool=item.tool,
            namespace=item.namespace,
            arguments=item.arguments,
            command=item.command,
            status=STATUSES.get(item.status or "", item.status),
            success=item.success,
            exit_code=item.exitCode,
            aggregated_output=item.aggregatedOutput,
            content_items=item.contentItems,
            result=item.result,
            error=item.error,
        )
        ran = execution_in(shown, "/params/item", "/params/item/arguments")
        if ran is None:
            return
        self._call(event, ran, session, turn, "done" if whole else "item", ran.to_arguments)
        if whole:
            to = ran.to_result.replace("content_items", "contentItems").replace("aggregated_output", "aggregatedOutput")
            self._result(event, ran, session, turn, "echo" if ran.kind == "function" else "executor", to, None)

    def _call(  # noqa: PLR0917 - what one sighting needs
        self, event: int, ran: Execution, session: str | None, turn: str | None, stage: str, pointer: str
    ) -> None:
        text, container = (ran.command, "free") if ran.kind == "hosted" else arguments(ran.arguments)
        self._rows.call_sightings.add(
            event=event,
            session=session,
            turn=turn,
            wire=self.name,
            stage=stage,
            item_id=ran.call_id,
            call_id=ran.call_id,
            pair_id=ran.call_id,
            kind=ran.kind,
            server=ran.server,
            name=ran.name,
            text=text,
            container=container,
            status=ran.status,
            owed_by="client" if ran.kind == "function" else "server",
            pointer=pointer,
        )

    def _result(  # noqa: PLR0917 - what one sighting needs
        self,
        event: int,
        ran: Execution,
        session: str | None,
        turn: str | None,
        stage: str,
        pointer: str,
        error: str | None,
    ) -> None:
        done = outcome_of(ran)
        self._rows.result_sightings.add(
            event=event,
            session=session,
            turn=turn,
            wire=self.name,
            stage=stage,
            item_id=None if stage == "post" else ran.call_id,
            call_id=ran.call_id,
            pair_id=ran.call_id,
            success=False if error is not None else done.success,
            status=ran.status,
            error=error or done.error,
            text=done.text,
            container=done.container,
            structured=done.structured,
            pointer=pointer,
        )


def _words(content: Raw) -> str | None:
    try:
        parts = texts_in(content) if content else []
    except msgspec.DecodeError:
        return None
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str)) or None
