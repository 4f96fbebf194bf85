"""LangSmith runs: of models with their messages, of tools with what they were given and returned; exports and pages.

A run is read as an observation of Langfuse is: its payloads are those of the framework that was traced.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from analyzer.read.cursor import Place
from analyzer.read.langfuse import Langfuse, Observation
from analyzer.read.payloads import opened

_KINDS = ("llm", "chat_model", "chain", "tool", "retriever", "embedding", "prompt", "parser")
_TYPES = {"llm": "GENERATION", "chat_model": "GENERATION", "tool": "TOOL"}


class Run(Observation, gc=False):
    """One run, or a page of them."""

    run_type: str | None = None
    extra: Any = None
    error: Any = None
    runs: list[Any] | None = None

    @property
    def unread(self) -> bool:
        """Whether a tool was given a text that a program wrote of its arguments."""
        given = self.input.get("input") if isinstance(self.input, dict) and len(self.input) == 1 else None
        return isinstance(given, str) and opened(given) is given and given[:1] in ("{", "(", "[")

    def named(self) -> Observation:
        """The same under the names of an observation."""
        super().named()
        kind = self.run_type or ""
        self.type = _TYPES.get(kind, kind.upper() or None)
        self.input, self.output, self.metadata = self.inputs, self.outputs, self.extra
        given = self.input.get("input") if isinstance(self.input, dict) and len(self.input) == 1 else None
        if kind == "tool" and isinstance(given, str) and isinstance(opened(given), dict):
            self.input = opened(given)
        self.sessionId = None  # a project, here
        if self.error:
            self.level, self.statusMessage = "ERROR", self.error if isinstance(self.error, str) else None
        return self


_run = msgspec.json.Decoder(Run).decode


class LangSmith(Langfuse):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "langsmith"
    title: ClassVar[str] = "LangSmith runs"
    known_by: ClassVar[str] = (
        "a `run_type` of its own beside `inputs` and `trace_id` or `start_time`; pages with `runs`"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Payloads are in the shape of whatever framework was traced: what is in no known shape is not read.",
        "Tool tables are recorded only where the framework passed them on.",
        "Arguments of tools may be kept as a program's text of a value: such ones are not judged.",
        "A run that goes on when it is exported has no outputs.",
    )
    members: ClassVar[tuple[str, str]] = ("inputs", "outputs")
    wrapped: ClassVar[bool] = True

    @staticmethod
    def observed(raw: bytes) -> Observation:
        """Read a record."""
        return _run(raw)

    @staticmethod
    def knows(record: Any) -> float:
        """How surely a parsed record is a run."""
        if not isinstance(record, dict):
            return 0.0
        runs = record.get("runs")
        if isinstance(runs, list) and runs:
            return LangSmith.knows(runs[0])
        placed = "trace_id" in record or "start_time" in record
        return 0.95 if placed and record.get("run_type") in _KINDS and isinstance(record.get("inputs"), dict) else 0.0

    def _take(self, record: Observation, raw: bytes, place: Place) -> bool:
        del raw
        assert isinstance(record, Run)
        if record.runs is None:
            if record.run_type is None:
                return False
            one = record.named()
            self._observation(one, place, one.traceId or one.id or "")
            return True
        listed = []
        for index, each in enumerate(record.runs):
            try:
                run = msgspec.convert(each, Run).named()
            except (msgspec.ValidationError, RecursionError):
                continue
            listed.append((run.startTime or "", index, run))
        for _, index, run in sorted(listed, key=lambda each: each[:2]):
            here = msgspec.structs.replace(place, pointer=f"{place.pointer}/runs/{index}")
            self._observation(run, here, run.traceId or run.id or "")
        if not listed:
            self._dialogue.move(place)
            self._dialogue.cursor.event("runs", "notice", None)
        return True
