"""The same faults in every wire: what one reader lets a rule see, all do, or it stands here why they cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer import audit
from tests.wires.bodies import Writer
from tests.wires.every import WIRES
from tests.wires.script import CONTRACTS, FAULTS, Session, plain, planted

Told = dict[str, tuple[str, ...]]

OBJECTS: Told = {"encoded_arguments": ("args-wrong-container",)}  # one text where an object belongs
LISTS: Told = {"list": ("args-schema-mismatch", "executed-despite-mismatch")}  # payloads in any framework's shape
EITHER: Told = LISTS | {"encoded_arguments": ()}  # values and texts alike
SILENT: Told = {"error_as_success": ("output-schema-mismatch",)}  # nobody says that it was a success
VALUES: Told = {"output_encoded": ()}  # outputs are values: one text is one layer
FLAGLESS: Told = SILENT | {
    "trace": ("output-stack-trace", "output-prose"),  # nor that these failed, so they are judged as outputs
    "secret": ("output-secret", "output-schema-mismatch"),
    "orders": ("output-instructs", "output-prose"),
}
TABLELESS: Told = {"unknown_tool": (), "withdrawn": (), "narrowed": (), "widened": ()}
# A later table is not recorded.
FIRST_TABLE: Told = {
    "narrowed": (),
    "widened": ("args-schema-mismatch", "executed-despite-mismatch"),
    "withdrawn": (),
}
# An id that comes again is one more showing of its call.
NUMBERED: Told = {"same_id": ("rpc-envelope",)}
SHOWN_AGAIN: Told = {"same_id": ("args-altered", "result-duplicate")}
MODEL_AND_HOST: Told = {"same_id": ("call-id-duplicate", "args-altered")}  # what ran is beside what was asked
THREADS: Told = {"orphan": ()}  # what came before may not be recorded, and the call may stand there

HELD: Told = {"orphan": (), "twice_answered": ()}  # a result stands in its call
PAGE: Told = {
    # The page answers in its next request, and its calls may stand in a message before.
    **dict.fromkeys(("unanswered", "orphan"), ()),
    # Input that is no object breaks the schema.
    **dict.fromkeys(("cut_arguments", "encoded_arguments", "list"), EITHER["list"]),
}

INSTEAD: dict[str, Told] = {
    "openai-agents-api": SHOWN_AGAIN | {"encoded_arguments": ()},  # one text is tolerated
    "openai-responses": FLAGLESS,
    "openai-responses streamed": FLAGLESS,
    "openai-chat": FLAGLESS,
    "openai-chat streamed": FLAGLESS,
    "openai-responses chained": FLAGLESS,
    "openai-responses in a conversation": FLAGLESS | THREADS,
    "openai-chat, request and response apart": FLAGLESS,
    "openai-chat trajectory": FLAGLESS | THREADS | FIRST_TABLE,
    "openhands": LISTS | SILENT | FIRST_TABLE | THREADS,
    "strands": OBJECTS | TABLELESS | THREADS,
    "pydantic-ai": LISTS | TABLELESS | THREADS,
    "langchain": LISTS | THREADS | FIRST_TABLE,
    "langchain updates": LISTS | TABLELESS | THREADS,
    "anthropic-messages, request and response apart": OBJECTS,
    "anthropic-messages": OBJECTS,
    "anthropic-messages streamed": OBJECTS,
    "claude-code-jsonl": OBJECTS | TABLELESS | SHOWN_AGAIN,
    "codex-rollout": FLAGLESS | FIRST_TABLE | {"unknown_tool": ()},
    "mcp-jsonrpc": OBJECTS | NUMBERED,
    "gemini": OBJECTS | SILENT | VALUES,
    "bedrock": OBJECTS,
    "managed-agents": OBJECTS | SHOWN_AGAIN,
    "otlp openinference": LISTS | SILENT,
    "gemini-cli": OBJECTS | TABLELESS | HELD | {"same_id": ("args-altered",)},
    "langfuse": LISTS | SILENT,
    "otlp": EITHER | MODEL_AND_HOST | SILENT,
    "langsmith": EITHER | MODEL_AND_HOST | THREADS,
    "agents-sdk": THREADS,
    "inspect": EITHER | SILENT,
    "vercel-ai": TABLELESS | SHOWN_AGAIN | VALUES | PAGE,
}


def _write(writer: Writer, session: Session, folder: Path) -> None:
    lines = (json.dumps(record) + "\n" for record in writer(session))
    (folder / f"{session.name}.jsonl").write_text("".join(lines), encoding="utf-8")


@pytest.mark.parametrize("wire", WIRES)
def test_a_fault_is_told_whatever_wire_recorded_it(wire: str, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (tmp_path / "contracts.json").write_text(json.dumps(CONTRACTS), encoding="utf-8")
    sessions = [plain("clean"), *(planted(kind).session for kind in FAULTS)]
    for session in sessions:
        _write(WIRES[wire], session, folder)
    made = audit([str(folder)], contracts=[str(tmp_path / "contracts.json")])

    assert (made.problems, made.unrecognised, made.crashed) == ([], [], [])
    assert made.summary["sessions"] == len(sessions)
    asked = {call.id for session in sessions for step in session.steps for call in step.calls}
    assert set(made.frames["calls"]["call_id"]) == asked

    found: dict[str | None, dict[str, str]] = {}
    for call, slug, severity in made.findings.select("call_id", "slug", "severity").iter_rows():
        found.setdefault(call, {})[slug] = severity
    for kind in FAULTS:
        expected = set(INSTEAD[wire].get(kind, planted(kind).told))
        told = found.pop(f"{kind}_bad", {})
        errors = {slug for slug, severity in told.items() if severity == "error"}
        assert expected <= set(told), kind
        assert errors <= expected, kind
    # Nothing is said of the calls beside, but that a wire has no schema for them.
    for told in found.values():
        told.pop("contract-unrecorded", None)
    assert [(call, told) for call, told in found.items() if call and {"error", "warning"} & set(told.values())] == []
