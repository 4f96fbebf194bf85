"""What was not recorded is no fault of what was: logs that begin in the middle, and streams with holes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analyzer import audit
from tests.wires.every import WIRES, some
from tests.wires.script import planted, renamed

#: Of two calls of one id it is then not recorded that there were two.
KINDS = ("missing", "twice_answered")
Errors = set[tuple[str | None, str]]


def _errors(logs: dict[str, list[str]], folder: Path, contracts: Path) -> dict[str, Errors]:
    """The errors in each of some logs, by the marks of their sessions."""
    folder.mkdir()
    for name, lines in logs.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    made = audit([str(folder)], contracts=[str(contracts)])
    assert made.crashed == []
    found: dict[str, Errors] = {name: set() for name in logs}
    for place, call, slug in made.findings.filter(severity="error").select("location", "call_id", "slug").iter_rows():
        found[Path(place["file"]).stem].add(((call or "_").partition("_")[2], slug))
    return found


def _lines(wire: str, kind: str, mark: str) -> list[str]:
    return [json.dumps(record) for record in WIRES[wire](renamed(planted(kind).session, f"{mark}_"))]


@pytest.mark.parametrize("wire", some(WIRES, 3))
def test_a_log_that_begins_in_the_middle_has_no_more_errors(wire: str, contracts: Path, tmp_path: Path) -> None:
    for kind in KINDS:
        count = len(_lines(wire, kind, "0"))
        logs = {str(since): _lines(wire, kind, str(since))[since:] for since in range(count)}
        found = _errors(logs, tmp_path / kind, contracts)
        whole = found.pop("0")
        whole |= {("", slug) for _, slug in whole}  # what ran is known, and what asked for it is not
        assert {since: errors - whole for since, errors in found.items() if errors - whole} == {}, kind


def test_pieces_need_not_add_up_where_some_were_not_recorded(contracts: Path, tmp_path: Path) -> None:
    wire, kind = "openai-responses streamed", "missing"
    count = len(_lines(wire, kind, "0"))
    pieces = [at for at, line in enumerate(_lines(wire, kind, "0")) if "arguments.delta" in line]
    assert len(pieces) > 6
    logs = {str(at): [*(lines := _lines(wire, kind, str(at)))[:at], *lines[at + 1 :]] for at in pieces}
    found = _errors(logs | {str(count): _lines(wire, kind, str(count))}, tmp_path / "logs", contracts)
    whole = found.pop(str(count))
    assert {at: errors - whole for at, errors in found.items() if errors - whole} == {}
