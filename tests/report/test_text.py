"""The text report: what stands where, at 80 columns, and that nothing hostile gets through."""

from __future__ import annotations

import re
from typing import Any

import pytest

from analyzer.findings.baseline import KNOWN
from analyzer.report.paper import cells
from analyzer.report.text import page
from analyzer.rules.catalogue import RULES
from tests.report.made import audit, finding, location, source

RAN = {
    "rule": "RUN001",
    "slug": "executed-despite-mismatch",
    "message": "get_order ran all the same.",
    "group": "g2",
    "fingerprint": "f2",
    "contract": None,
    "failures": [],
    "related": [{"location": location(8, "/item/arguments"), "call_id": "c1", "role": "call"}],
}
NOTE = {"rule": "LOG004", "slug": "event-redelivered", "severity": "info", "group": "g3", "call_id": None, "tool": None}


def text(*rows: dict[str, Any], **options: Any) -> str:
    shown = {name: options.pop(name) for name in ("width", "colour", "statistics") if name in options}
    return page(audit(*rows, **options), next_command="analyzer show --call c1 run.ndjson", **shown)


def test_the_worst_comes_first_and_the_next_command_last() -> None:
    lines = text(finding(**NOTE), finding(), finding(**RAN)).splitlines()
    assert lines[0].startswith("2 errors, 1 info in 1 session: 20 events, 4 calls, 4 results;")
    first = lines.index("Where to look first")
    assert [line.split()[:2] for line in lines[first + 1 : first + 4]] == [
        ["error", "RUN001"],
        ["error", "ARG001"],
        ["info", "LOG004"],
    ]
    assert lines[-1] == "  analyzer show --call c1 run.ndjson"


def test_a_finding_names_the_member_both_sides_the_schema_and_what_to_do() -> None:
    shown = text(finding())
    for part in (
        "Session s1",
        "call c1  get_order  turn t1",
        "error ARG001 args-schema-mismatch",
        '> /order_id  expected pattern "^ord_[0-9]{6}$"  actual "all of them"',
        "at        run.ndjson:8 /item/arguments",
        "judged by schema s_1, advertised in the session's table",
        "run.ndjson:1 /session/agent/tools/0/parameters",
        "passes no other recorded version",
        "do        Look the order up first.",
    ):
        assert part in shown


def test_another_version_that_would_pass_is_named() -> None:
    contract = finding()["contract"] | {"passes": "s_2"}
    assert "would pass another version: s_2" in text(finding(contract=contract))


def test_an_absent_member_is_said_to_be_absent() -> None:
    failure = finding()["failures"][0] | {"keyword": "required", "expected": '"order_id"', "actual": ""}
    assert 'expected required "order_id"  actual nothing there' in text(finding(failures=[failure]))


def test_long_sides_stand_beside_each_other() -> None:
    failure = finding()["failures"][0] | {"expected": "expected words " * 8, "actual": "actual words " * 8}
    lines = text(finding(failures=[failure])).splitlines()
    at = lines.index("      > /order_id")
    assert re.match(r"\s+expected .* \| actual ", lines[at + 1])
    assert " | " in lines[at + 2]


def test_repeats_are_named_once_each_and_the_rest_counted() -> None:
    rows = [finding(call_id=f"c{number}", session=f"s{number}", fingerprint=f"f{number}") for number in range(9)]
    shown = text(*rows)
    assert shown.count("Look the order up first.") == 1
    assert shown.count("error ARG001 args-schema-mismatch") == 4
    assert "also      5 more like it, in 9 sessions in all" in shown
    assert "error  ARG001  9x" in shown


def test_a_repeat_that_says_something_else_says_it() -> None:
    rows = [
        finding(call_id=f"c{number}", fingerprint=f"f{number}", message=f"c{number} is {what}.")
        for number, what in enumerate(("no JSON: it breaks off", "no JSON: it breaks off", "no JSON: a comma trails"))
    ]
    shown = text(*rows)
    assert shown.count("it breaks off") == 1
    assert "c2 is no JSON: a comma trails." in shown


def test_of_very_many_faults_the_worst_are_told_more_have_a_line_and_the_rest_is_stated() -> None:
    minor = [finding(group=f"m{number}", fingerprint=f"m{number}", severity="warning") for number in range(120)]
    shown = text(*minor, finding(message="The one error."))
    assert "The one error." in shown
    short = shown[shown.index("In short") : shown.index("Not told here")]
    assert len([line for line in short.splitlines() if line.startswith("  warning  ARG001  1x  ")]) == 60
    assert "Not told here: 21 more kinds of fault (21 findings)." in shown


def test_statistics_count_by_rule_and_tell_no_finding() -> None:
    shown = text(finding(), finding(fingerprint="f2", session="s2"), finding(**NOTE), statistics=True)
    assert re.search(r"^ +2 +1 +2 +error +ARG001 +args-schema-mismatch$", shown, flags=re.MULTILINE)
    assert "Look the order up first." not in shown


def test_rules_that_were_not_wanted_are_told_by_family() -> None:
    idle = [{"rule": rule.code, "reason": "it was not selected"} for rule in RULES if rule.code != "ARG001"]
    shown = " ".join(text(summary={"rules_not_run": idle}).split())
    assert "ARG002, ARG003" in shown
    assert "CALL, DRIFT, FINAL, LOG, OUT, RUN, SAFE, TOOL: it was not selected" in shown


def test_errors_that_the_other_side_reported_are_counted() -> None:
    assert "error that a provider" not in text()
    shown = " ".join(text(hops=BARE, summary={"errors": 1}).split())
    assert "1 event is an error that a provider, server or host reported, and no finding: `analyzer query" in shown


BARE = [{"hop": "result", "seen": 4, "judged": 0, "failed": 0, "unjudged": {"no_output_contract": 4}}]


def test_suppressed_findings_are_listed_with_their_reason_and_known_ones_are_called_known() -> None:
    borne = finding(suppressed={"reason": "ticket 17", "until": "2027-01-31"})
    known = finding(suppressed={"reason": KNOWN, "until": None}, rule="RUN001")
    shown = text(borne, known, known)
    assert shown.startswith("1 suppressed, 2 known in 1 session")
    assert "ARG001 args-schema-mismatch get_order c1: ticket 17, until 2027-01-31" in " ".join(shown.split())
    assert "Look the order up first." not in shown
    assert re.search(r"^Known.*\n+ *2 RUN001$", shown, flags=re.MULTILINE)


def test_a_coverage_of_all_says_which_results_nobody_could_judge() -> None:
    told = "100 % of what was owed a verdict has one; 4 results have no output contract and were not judged"
    shown = " ".join(text(hops=BARE).split())
    assert shown.count(told) == 2


def test_what_was_not_judged_not_run_and_not_read_is_said() -> None:
    shown = text(
        verdicts={"unverifiable": {"schema_ambiguous": 1}},
        summary={"coverage": 0.9999, "bracketed": 2, "rules_not_run": [{"rule": "OUT004", "reason": "no schema"}]},
        hops=[{"hop": "model call", "seen": 3, "judged": 2, "failed": 1, "unjudged": {"schema_ambiguous": 1}}],
        inputs=[source(), source(path="other.log", format="", records=0)],
        problems=[OSError("cannot read: Permission denied at locked.log")],
        unrecognised=["README.md"],
        notes=["the suppression of rule ARG001 expired on 2020-01-31"],
    )
    for part in (
        "the suppression of rule ARG001 expired on 2020-01-31",
        "99.9 % of what was owed a verdict has one",
        "2 judged in a window where the table changed",
        "1  schema_ambiguous",
        "OUT004: no schema",
        r"not recognised     other.log",
        "not read: cannot read: Permission denied at locked.log",
        "no log, left out: README.md",
    ):
        assert part in " ".join(shown.split()) or part in shown
    assert re.search(r"model call +3 +2 +1 +1 schema_ambiguous", shown)


def test_a_crashed_rule_is_said_at_the_top() -> None:
    assert "ARG001 crashed: it failed" in text(crashed=[("ARG001", "it failed")])


HOSTILE = "\x1b]0;owned\x07\u202e\x9b31m\u2028[red]x[/red]"


@pytest.mark.parametrize("member", ["message", "session", "turn", "call_id", "tool", "hint"])
@pytest.mark.parametrize("colour", [False, True])
def test_no_text_of_a_log_acts_on_the_terminal(member: str, colour: bool) -> None:
    shown = text(finding(**{member: HOSTILE}), colour=colour)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown) if colour else shown
    assert all(char.isprintable() or char == "\n" for char in plain)
    assert "\\x1b]0;owned" in plain


def test_hostile_places_and_sides_are_spelled_out() -> None:
    failure = dict.fromkeys(finding()["failures"][0], HOSTILE)
    contract = {**finding()["contract"], "channel": HOSTILE, "file": HOSTILE, "pointer": HOSTILE, "passes": HOSTILE}
    row = finding(failures=[failure], contract=contract, location=location(1, HOSTILE, HOSTILE))
    shown = text(row, unrecognised=[HOSTILE], inputs=[source(path=HOSTILE)], problems=[OSError(HOSTILE)])
    assert all(char.isprintable() or char == "\n" for char in shown)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_prose_keeps_to_the_width(width: int) -> None:
    failure = finding()["failures"][0] | {"expected": "名" * 150, "actual": "a" * 200}
    shown = text(finding(message="long words " * 30, hint="名前 " * 60, failures=[failure]), width=width)
    assert [line for line in shown.splitlines() if cells(line) > width and ".ndjson" not in line] == []


def test_colour_changes_nothing_but_colour() -> None:
    rows = [finding(), finding(**RAN), finding(**NOTE)]
    coloured = text(*rows, colour=True)
    assert coloured != text(*rows)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text(*rows)
