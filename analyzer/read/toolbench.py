"""ToolBench answer files: a tree of thoughts, actions and their inputs; every branch was really run, kept or not."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Dialogue, Said
from analyzer.read.rows import Rows
from analyzer.read.values import encoded

_FINE = (0, 3)  # 3: the final answer was given


class Record(msgspec.Struct, gc=False):
    """An answer file."""

    tree: Any = None
    answer_generation: Any = None
    win: Any = None


class _Node(msgspec.Struct, gc=False):
    """A node of the tree, and the action whose input it is."""

    value: dict[str, Any]
    pointer: str
    action: str | None


_record = msgspec.json.Decoder(Record).decode


class ToolBench(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "toolbench"
    title: ClassVar[str] = "ToolBench answer trees"
    known_by: ClassVar[str] = "a `tree` of nodes with a `node_type` beside `answer_generation`"
    loses: ClassVar[tuple[str, ...]] = (
        "Calls have no ids: a result is the observation of the input's own node.",
        "Observations are cut after 1024 characters.",
        "Branches that were given up are calls like the others: the tree does not say which were meant.",
        "No times are recorded.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._records = Decoding(source, rows, _record, self.knows)
        self._rows = rows
        self._dialogue = Dialogue(self.name, rows, lambda _: Said())

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is an answer file."""
        if not isinstance(record, dict) or not isinstance(record.get("tree"), dict):
            return 0.0
        node = record["tree"].get("tree", record["tree"])
        return 1.0 if isinstance(node, dict) and "node_type" in node else 0.0

    def _take(self, record: Record, raw: bytes, place: Place) -> bool:
        if not isinstance(record.tree, dict):
            return False
        answer = record.answer_generation if isinstance(record.answer_generation, dict) else {}
        query = answer.get("query")
        key = query.encode("utf-8", "replace") if isinstance(query, str) else raw
        session = self._dialogue.name(f"{self.name}-{blake2b(key, digest_size=6).hexdigest()}")
        cursor = self._dialogue.cursor
        cursor.move(place)
        event, _ = cursor.event("answer", "request", session)
        functions = answer.get("function")
        if isinstance(functions, list):
            table = self._rows.table(encoded(functions), "responses")
            where = "/answer_generation/function"
            self._rows.showings.add(
                event=event, session=session, channel="request", scope="all", table=table, pointer=where
            )
        if isinstance(query, str):
            where = "/answer_generation/query"
            self._rows.messages.add(event=event, session=session, role="user", text=query, pointer=where)
        for node in _nodes(record.tree):
            cursor.within(msgspec.structs.replace(place, pointer=place.pointer + node.pointer))
            self._node(node, session)
        return True

    def _node(self, node: _Node, session: str) -> None:
        cursor = self._dialogue.cursor
        kind, text = node.value.get("node_type"), node.value.get("description")
        if kind == "Thought" and isinstance(text, str) and text:
            event, _ = cursor.event("Thought", "item", session)
            self._rows.messages.add(
                event=event,
                session=session,
                item_id=node.pointer,
                role="assistant",
                phase="commentary",
                text=text,
                pointer="/description",
            )
            return
        if kind != "Action Input" or node.action is None:
            return
        event, _ = cursor.event("Action Input", "item", session)
        arguments = text if isinstance(text, str) else None
        key = node.pointer
        self._rows.call_sightings.add(
            event=event,
            session=session,
            wire=self.name,
            stage="item",
            reply=key,
            item_id=key,
            pair_id=key,
            kind="function",
            name=node.action,
            text=arguments,
            container="absent" if arguments is None else "text",
            owed_by="client",
            pointer="/description",
        )
        if "observation" not in node.value:
            return
        output, code = node.value["observation"], node.value.get("observation_code")
        success = code in _FINE if isinstance(code, int) else None
        event, _ = cursor.event("observation", "item", session)
        written = output if isinstance(output, str) else encoded(output).decode()
        status = None if code is None else str(code)[:20]
        self._rows.result_sightings.add(
            event=event,
            session=session,
            wire=self.name,
            stage="message",
            item_id=key,
            pair_id=key,
            name=node.action,
            success=success,
            status=status,
            text=written,
            container="text" if isinstance(output, str) else "object",
            pointer="/observation",
        )


def _nodes(tree: dict[str, Any]) -> Iterator[_Node]:
    """The nodes in the order in which they were made: depth first, by hand because trees are deep."""
    inner = tree.get("tree")
    root, pointer = (inner, "/tree/tree") if isinstance(inner, dict) else (tree, "/tree")
    stack = [_Node(root, pointer, None)]
    while stack:
        node = stack.pop()
        yield node
        named = node.value.get("description") if node.value.get("node_type") == "Action" else None
        action = named if isinstance(named, str) else None
        children = node.value.get("children")
        placed = list(enumerate(children)) if isinstance(children, list) else []
        stack += [
            _Node(child, f"{node.pointer}/children/{index}", action)
            for index, child in reversed(placed)
            if isinstance(child, dict)
        ]
