"""The ticket reads well, and nothing that a log says becomes markup in it."""

from __future__ import annotations

from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from analyzer.findings.baseline import KNOWN
from analyzer.report import markdown
from tests.report import hostile
from tests.report.made import audit, finding, source

READER = MarkdownIt("commonmark").enable("table")


def ticket(made: Any) -> str:
    return b"".join(markdown.pieces(made, next_command="analyzer show --call c1 run.ndjson")).decode()


def tokens(text: str) -> list[Token]:
    found = []
    for block in READER.parse(text):
        found += [block, *(block.children or [])]
    return found


def test_the_ticket_says_what_broke_where_by_which_schema_and_what_to_do() -> None:
    shown = ticket(audit(finding(), finding(session="s2", fingerprint="f2")))
    for part in (
        "**2 errors, 0 warnings, 0 info** in 1 session",
        "| error | ARG001 args-schema-mismatch | 2 | `get_order` | `c1` |",
        "### 1. ARG001 args-schema-mismatch (error, 2 times)",
        '| `/order_id` | `pattern "^ord_[0-9]{6}$"` | `"all of them"` |',
        "- at `run.ndjson:8 /item/arguments`",
        "- judged by schema `s_1`, advertised in the session's table",
        "- do: `Look the order up first.`",
        "- group `g1`, fingerprint `f1`",
    ):
        assert part in shown
    assert shown.rstrip().endswith("```sh\nanalyzer show --call c1 run.ndjson\n```")


def test_what_was_not_judged_not_run_and_not_read_is_said() -> None:
    shown = ticket(
        audit(
            verdicts={"unverifiable": {"schema_ambiguous": 2}},
            summary={"rules_not_run": [{"rule": "OUT004", "reason": "no output schema is recorded"}]},
            inputs=[source(unreadable=1), source(path="x.log", format="")],
            notes=["a suppression expired"],
            unrecognised=["logs/notes.md"],
            hops=[{"hop": "result", "seen": 4, "judged": 3, "failed": 0, "unjudged": {"no_output_contract": 1}}],
        )
    )
    for part in (
        "- 2 `schema_ambiguous`: the table changed about then",
        "- did not run: OUT004 (no output schema is recorded)",
        "- 1 of 20 records not read: `run.ndjson`",
        "- not recognised: `x.log`",
        "- note: `a suppression expired`",
        "- no log, left out: `logs/notes.md`",
        "100 % of what was owed a verdict has one; 1 result has no output contract and was not judged.",
    ):
        assert part in shown


def test_what_is_suppressed_is_listed_with_its_reason_and_what_is_known_is_counted() -> None:
    borne = finding(suppressed={"reason": "ticket 17 | x", "until": "2027-01-31"})
    shown = ticket(audit(borne, finding(suppressed={"reason": KNOWN, "until": None}, rule="RUN001")))
    assert "0 info, 1 suppressed, 1 known**" in shown
    assert "| ARG001 args-schema-mismatch | `get_order` | `c1` | `ticket 17 \\| x` | 2027-01-31 |" in shown
    assert "1 finding of the baseline: 1 RUN001" in shown
    assert "Look the order up first." not in shown


@pytest.mark.parametrize("text", hostile.PAYLOADS)
def test_what_a_log_says_is_only_ever_code(text: str) -> None:
    made = audit(hostile.row(text), inputs=[source(path=text, unreadable=1)])
    shown = ticket(made)
    plain = [each.content for each in tokens(shown) if each.type == "text"]
    kinds = {each.type for each in tokens(shown)}
    assert not kinds & {"link_open", "image", "html_block", "html_inline", "em_open"}
    for part in ("alert", "@everyone", "https:", "::", "constructor", "proto"):
        assert not [each for each in plain if part in each]


def test_a_cell_with_bars_and_backticks_is_one_cell() -> None:
    failure = finding()["failures"][0] | {"actual": "a | b ` c `` d"}
    rows = [each for each in tokens(ticket(audit(finding(failures=[failure])))) if each.type == "code_inline"]
    assert "a | b ` c `` d" in [each.content for each in rows]
