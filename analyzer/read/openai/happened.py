"""Events of a rollout: turns that begin and end, and what was run for the calls of the model."""

from __future__ import annotations

from analyzer.read.openai.executions import Execution, outcome_of
from analyzer.read.openai.thread import Thread
from analyzer.read.rows import Rows
from analyzer.read.values import Raw, arguments, text_of

_ENDS = {"task_complete": "completed", "turn_complete": "completed", "turn_aborted": "cancelled"}
_BEGINS = frozenset({"task_started", "turn_started"})
RAN = frozenset({"item_completed", "mcp_tool_call_end", "exec_command_end", "dynamic_tool_call_response"})
TELLING = RAN | _BEGINS | _ENDS.keys() | {"thread_rolled_back"}


def kind_of(native: str) -> str:
    """The kind of an event of this type."""
    return "turn" if native in _BEGINS or native in _ENDS else "notice"


class Happened:
    """Appends the rows of the events of one source."""

    def __init__(self, wire: str, rows: Rows, thread: Thread) -> None:
        self._wire = wire
        self._rows = rows
        self._thread = thread

    def take(self, native: str, event: int, turn: str | None, ran: Execution | None, error: Raw) -> str:
        """Append what an event of this type tells; its kind."""
        thread = self._thread
        if native in _BEGINS or native in _ENDS:
            status = _ENDS.get(native, "in_progress")
            self._rows.turn_states.add(
                event=event, session=thread.session, turn=turn, status=status, error=text_of(error)
            )
            thread.turn = turn
            return "turn"
        if native in RAN:
            if ran is not None:
                self._executed(ran, event, turn)
        elif native == "thread_rolled_back":
            self._rows.summaries.add(event=event, session=thread.session, turn=turn, what="rollback")
        return "notice"

    def _executed(self, ran: Execution, event: int, turn: str | None) -> None:
        """What was run for a call: its arguments, and its result where that is not in the transcript yet."""
        thread, call_id = self._thread, ran.call_id
        session, turn = thread.session, thread.turn_of(call_id, turn)
        if ran.arguments:
            text, container = arguments(ran.arguments)
            self._rows.call_sightings.append(
                (
                    *(event, session, turn, self._wire, "executor", None, None, call_id, call_id),
                    *(ran.kind, ran.server, ran.name, text, container, ran.status, "client", None),
                    f"/payload{ran.to_arguments}",
                )
            )
        nth = thread.ran(call_id)
        if thread.is_told(call_id):
            return  # a process in the background ends long after the model had its answer
        done = outcome_of(ran)
        self._rows.result_sightings.append(
            (
                *(event, session, turn, self._wire, "executor", f"{call_id}@{nth}", call_id, call_id),
                *(None, done.success, ran.status, done.error, done.text, done.container, done.structured, None, None),
                f"/payload{ran.to_result}",
            )
        )
