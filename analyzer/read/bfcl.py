"""Berkeley Function Calling Leaderboard: result rows, and the question rows that hold the functions.

A result names its calls as `{name: arguments}`, the arguments a text (function calling models) or a value. Several
turns are lists of lists. Names lose their dots on the way to the model; so do those of the questions here, or nothing
would match.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec

from analyzer.read.adapter import RecordAdapter
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Dialogue, Said
from analyzer.read.rows import Rows
from analyzer.read.values import encoded

_DEEPEST = 3


class Record(msgspec.Struct, gc=False):
    """A row of results or of questions."""

    id: str | None = None
    result: Any = None
    question: Any = None
    function: Any = None


_record = msgspec.json.Decoder(Record).decode


class Bfcl(RecordAdapter[Record]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "bfcl"
    title: ClassVar[str] = "Berkeley Function Calling Leaderboard results and questions"
    known_by: ClassVar[str] = "rows with `id` and a `result` of `{name: arguments}`, or with `question` and `function`"
    loses: ClassVar[tuple[str, ...]] = (
        "Nothing was run: there are no results, and calls have no ids.",
        "The functions stand in the question files: give these beside the results, or as --contracts.",
        "Ids of one release of the questions are not those of another.",
        "A model that answers in prose, or in Python calls, leaves no arguments to judge.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._records = Decoding(source, rows, _record, self.knows)
        self._rows = rows
        self._dialogue = Dialogue(self.name, rows, lambda _: Said())

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is a row of results or questions."""
        if (
            not isinstance(record, dict)
            or not isinstance(record.get("id"), str)
            or "type" in record
            or "object" in record
        ):
            return 0.0
        if isinstance(record.get("question"), list) and "function" in record:
            return 1.0
        result = record.get("result")
        if isinstance(result, list) and "jsonrpc" not in record:
            calls = [each for _, each in _walk(result, "", 0)]
            return 0.9 if calls and all(len(each) == 1 for each in calls) else 0.3 if not result else 0.0
        return 0.3 if isinstance(result, str) and record.keys() <= _USUAL else 0.0

    def _take(self, record: Record, raw: bytes, place: Place) -> bool:
        del raw
        if record.id is None or (record.result is None and record.question is None):
            return False
        self._dialogue.cursor.move(place)
        if record.question is not None:
            self._question(record, record.id)
        else:
            self._results(record, record.id)
        return True

    def _question(self, record: Record, session: str) -> None:
        event, _ = self._dialogue.cursor.event("question", "session", session)
        functions = record.function if isinstance(record.function, list) else [record.function]
        tools = [{**each, "name": _flat(each.get("name"))} for each in functions if isinstance(each, dict)]
        if tools:
            table = self._rows.table(encoded(tools), "responses")
            to = "/function" if isinstance(record.function, list) else None
            # The rows of the results may come first: what they were offered is what stands here all the same.
            self._rows.showings.add(
                event=event, session=session, channel="session", scope="all", table=table, pointer=to
            )
        for pointer, each in _walk(record.question, "/question", 0):
            role, text = each.get("role"), each.get("content")
            if isinstance(role, str) and isinstance(text, str):
                self._rows.messages.add(event=event, session=session, role=role, text=text, pointer=pointer)

    def _results(self, record: Record, session: str) -> None:
        event, _ = self._dialogue.cursor.event("result", "item", session)
        for pointer, each in _walk(record.result, "/result", 0):
            for nth, (name, value) in enumerate(each.items()):
                key = f"{pointer}/{nth}"
                text = value if isinstance(value, str) else encoded(value).decode()
                container = "text" if isinstance(value, str) else "object" if isinstance(value, dict) else "array"
                to = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
                self._rows.call_sightings.add(
                    event=event,
                    session=session,
                    wire=self.name,
                    stage="item",
                    reply=pointer.rpartition("/")[0],
                    item_id=key,
                    pair_id=key,
                    kind="function",
                    name=name,
                    text=text,
                    container=container,
                    owed_by="nobody",
                    pointer=to,
                )
        if isinstance(record.result, str):
            self._rows.messages.add(
                event=event, session=session, role="assistant", text=record.result, pointer="/result"
            )


def _walk(value: Any, pointer: str, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects in lists of lists, with their pointers."""
    if isinstance(value, dict):
        yield pointer, value
    elif isinstance(value, list) and depth <= _DEEPEST:
        for index, each in enumerate(value):
            yield from _walk(each, f"{pointer}/{index}", depth + 1)


def _flat(name: Any) -> Any:
    return name.replace(".", "_") if isinstance(name, str) else name


_USUAL = {"id", "result", "latency", "input_token_count", "output_token_count", "inference_log", "reasoning_content"}
