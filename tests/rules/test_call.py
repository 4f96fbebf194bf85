"""The CALL family: what it must not fire on, and what it says where it does."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from analyzer import audit
from analyzer.secret_kinds import checksum
from tests.rules.story import story_log
from tests.rules.told import found

TOOL = "tool f {}\n"


def added(call: str, item: str, name: str, *, index: int = 1, turn: str = "t1") -> str:
    """An item event, letter by letter."""
    body = (
        f'"id":"{item}","call_id":"{call}","name":"{name}","arguments":{{}},"status":"in_progress","turn_id":"{turn}"'
    )
    where = f'"event_id":"x_{item}_{call}","session_id":"s1","turn_id":"{turn}","output_index":{index}'
    return f'event {{"type":"agent.session.turn.item.added",{where},"item":{{"type":"function_call",{body}}}}}\n'


@pytest.mark.parametrize(
    "story",
    [
        "turn\nitem c1 f {}\naction c1 f {}\nsnapshot\nresult c1 ok x\nend\nidle",
        "turn\ncall c1 f {}\nresult c1 ok x\nend\nturn\ncall c1 f {}\nresult c1 ok x\nend",
        "turn\ncall c1 f {}\nresult c1 ok x\nend\nsession s2\ntool f {}\nturn t1\ncall c1 f {}\nresult c1 ok x\nend",
        "turn\ncall c1 f {}\nagain\nresult c1 ok x\nend",
    ],
    ids=["copies", "turns", "sessions", "redelivery"],
)
def test_one_call_shown_again_and_ids_of_other_scopes_are_no_duplicates(story: str) -> None:
    for slug in ("call-id-duplicate", "item-id-duplicate", "result-duplicate", "call-unanswered", "result-orphan"):
        assert found(slug, TOOL + story) == []


def test_two_calls_with_one_id_name_both_tools() -> None:
    [hit] = found("call-id-duplicate", f"{TOOL}turn\ncall c1 f {{}}\n{added('c1', 'fc_x', 'g')}result c1 ok x\nend")
    assert "first f, then g" in hit["message"]
    assert [each["call_id"] for each in hit["related"]] == ["c1"]


def test_an_item_id_is_another_name_space_than_a_call_id() -> None:
    story = f"{TOOL}turn\ncall c1 f {{}}\nresult c1 ok x\ncall fc_c1 f {{}}\nresult fc_c1 ok x\nend"
    assert found("item-id-duplicate", story) == []
    [hit] = found("item-id-duplicate", f"{TOOL}turn\ncall c1 f {{}}\n{added('c2', 'fc_c1', 'f')}end")
    assert "fc_c1" in hit["message"]


def test_a_required_action_without_an_id_is_of_the_call_that_it_shows() -> None:
    story = f'{TOOL}turn\nitem c1 f {{"a":1}}\naction c1 f {{"a":1}}\nresult c1 ok x\nend\nidle'
    with_id = story_log(story.splitlines())[0].decode()
    events = [json.loads(line) for line in with_id.splitlines()]
    for event in events:
        for action in event.get("session", {}).get("required_actions", ()):
            del action["call_id"]
    with TemporaryDirectory() as folder:
        log = Path(folder, "log.jsonl")
        log.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
        made = audit([str(log)], select=["CALL"])
    assert made.frames["calls"].height == 1
    assert made.findings.select("rule", "call_id").rows() == [("CALL003", "c1")]
    assert "The required action for f has no call id" in made.findings["message"][0]


def test_a_result_of_a_call_without_an_id_is_no_second_fault() -> None:
    item = added("", "fc_1", "f")
    post = '{"type":"agent.session.input.tool_result","turn_id":"t1","call_id":"","success":true,"output":"x"}'
    [hit] = found("call-id-invalid", f"{TOOL}turn\n{item}event {post}\nend")
    assert "The call of f" in hit["message"]


@pytest.mark.parametrize(("call_id", "word"), [('""', "empty"), ("null", "no call id"), ('"  "', "empty")])
def test_missing_and_empty_call_ids_are_told_of_calls_and_of_posts(call_id: str, word: str) -> None:
    item = added("c1", "fc_1", "f").replace('"call_id":"c1"', f'"call_id":{call_id}')
    [hit] = found("call-id-invalid", f"{TOOL}turn\n{item}end")
    assert word in hit["message"]
    post = (
        f'{{"type":"agent.session.input.tool_result","turn_id":"t1","call_id":{call_id},"success":true,"output":"x"}}'
    )
    assert word in found("call-id-invalid", f"{TOOL}turn\nline {post}\nend")[0]["message"]
    assert found("result-orphan", f"{TOOL}turn\nline {post}\nend") == []


@pytest.mark.parametrize(
    ("rest", "severity", "word"),
    [
        ("end\nturn\nsay x\nend", "error", "although the session went on"),
        ("say so", "error", "although the session went on"),
        ("idle", "error", "although the session went on"),
        ("end cancelled", "info", "nothing came after"),
        ("end cancelled\nuser more\nturn\nsay x\nend", "warning", "cancelled"),
        ("", "info", "ends while it waits"),
        ("user hurry", "info", "ends while it waits"),
    ],
    ids=["turn ended", "talked on", "idle", "cancelled last", "cancelled", "waiting", "steered"],
)
def test_an_unanswered_call_says_which_kind_it_is(rest: str, severity: str, word: str) -> None:
    [hit] = found("call-unanswered", f"{TOOL}turn\ncall c2 f {{}}\ncall c1 f {{}}\nresult c2 ok x\n{rest}")
    assert (hit["call_id"], hit["severity"]) == ("c1", severity)
    assert word in hit["message"]


@pytest.mark.parametrize(
    "story",
    [
        "tool f {} async\nturn\ncall c1 f {}\nend\nidle",
        "server docs\nturn\napproval r1 docs g {}\nend\nidle",
        "server docs\nturn\nmcp m1 docs g {} ok x\nend\nidle",
        "tool f {}\nturn\nitem c1 f {}\ndone c1\nend\nidle",
    ],
    ids=["async", "approval", "server", "history"],
)
def test_what_is_no_debt_is_not_unanswered(story: str) -> None:
    assert found("call-unanswered", story) == []


def test_a_refused_result_is_shown_beside_the_open_call() -> None:
    [hit] = found("call-unanswered", f"{TOOL}turn\ncall c1 f {{}}\nexchange k 400 c1 ok x\nend\nidle")
    assert "refused" in hit["message"]
    assert hit["related"][0]["role"] == "refused result"


@pytest.mark.parametrize(
    ("wrong", "word"),
    [("fc_call_77", "item id"), ("call_7", "cut"), ("call-77", "nearest open")],
    ids=["item", "cut", "typo"],
)
def test_an_orphan_offers_the_call_it_may_mean(wrong: str, word: str) -> None:
    [hit] = found("result-orphan", f"{TOOL}turn\ncall call_77 f {{}}\npost {wrong}@t1 ok x\n")
    assert word in hit["message"]
    assert hit["related"][0]["call_id"] == "call_77"


def test_where_the_beginning_is_missing_an_orphan_is_proved_only_in_turns_that_are_whole(tmp_path: Path) -> None:
    log, _ = story_log(["turn t0", "turn t1", *(f"post c{turn}@t{turn} ok x" for turn in (0, 1))])
    lines = log.splitlines(keepends=True)
    (tmp_path / "late.ndjson").write_bytes(b"".join(lines[2:]))  # without the beginning of t0
    audited = audit([str(tmp_path / "late.ndjson")], select=["result-orphan"])
    assert audited.findings["call_id"].to_list() == ["c1"]


@pytest.mark.parametrize(
    ("story", "word"),
    [("post c1 ok x\npost c1 ok x", "identical"), ("post c1 ok x\npost c1 ok y", "conflicts")],
    ids=["identical", "conflicting"],
)
def test_a_second_result_says_whether_it_conflicts(story: str, word: str) -> None:
    [hit] = found("result-duplicate", f"{TOOL}turn\ncall c1 f {{}}\n{story}\necho c1 ok x\ndone c1\nend")
    assert word in hit["message"]


@pytest.mark.parametrize(
    "story",
    [
        "exchange k 400 c1 ok x\nexchange k 202 c1 ok x",
        "exchange k 202 c1 ok x\nexchange k 202 c1 ok x",
        "post c1 ok x",
    ],
    ids=["refused", "same key", "echo"],
)
def test_refused_posts_retries_and_echoes_are_no_second_result(story: str) -> None:
    assert found("result-duplicate", f"{TOOL}turn\ncall c1 f {{}}\n{story}\necho c1 ok x\ndone c1\nend") == []


def test_conflicting_results_show_no_half_of_a_credential() -> None:
    first, second = ("aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0", "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xZ9")
    posts = "".join(f"post c1 ok token ghp_{body}{checksum(body)}\n" for body in (first, second))
    [hit] = found("result-duplicate", f"{TOOL}turn\ncall c1 f {{}}\n{posts}end")
    assert "vW8x" not in hit["message"]


def test_a_wrong_turn_names_both_and_silences_the_open_call() -> None:
    story = f"{TOOL}turn\ncall c1 f {{}}\nresult c1 ok x\nend\nturn\ncall c2 f {{}}\npost c2@t1 ok y\nend\nidle"
    others = ("call-unanswered", "result-orphan", "result-late")
    [hit] = found("result-wrong-turn", story)
    assert "t1" in hit["message"]
    assert "t2" in hit["message"]
    assert hit["location"]["pointer"] == "/turn_id"
    assert [found(slug, story, "result-wrong-turn") for slug in others] == [[], [], []]


def test_a_late_result_says_how_the_turn_had_ended() -> None:
    [hit] = found("result-late", f"{TOOL}turn\ncall c1 f {{}}\nend cancelled\npost c1@t1 ok x")
    assert "cancelled" in hit["message"]
    cancel = 'line {"type":"agent.session.input.cancel"}'
    assert len(found("result-late", f"{TOOL}turn\ncall c1 f {{}}\n{cancel}\npost c1@t1 ok x\nend cancelled")) == 1
    assert found("result-late", f"{TOOL}turn\ncall c1 f {{}}\npost c1@t1 ok x\n{cancel}\nend cancelled") == []
    again = f"{TOOL}turn\n{cancel}\nend cancelled\nturn\ncall c1 f {{}}\nresult c1 ok x\nend"
    assert found("result-late", again) == []
    assert found("result-late", "tool f {} async\nturn\ncall c1 f {}\nend\npost c1@t1 ok x") == []
    assert found("result-late", f"{TOOL}turn\ncall c1 f {{}}\npost c1 ok x\nend\necho c1@t1 ok x") == []


def test_a_result_without_a_snapshot_before_it_may_be_owed() -> None:
    assert found("result-unrequested", f"{TOOL}turn\nitem c1 f {{}}\npost c1 ok x\nsnapshot\nend") == []
    assert len(found("result-unrequested", f"{TOOL}turn\nitem c1 f {{}}\nsnapshot\npost c1 ok x\nend")) == 1


def test_a_key_stands_for_one_request() -> None:
    story = f"{TOOL}turn\ncall c1 f {{}}\ncall c2 f {{}}\n"
    assert len(found("idempotency-key-misused", f"{story}exchange k 202 c1 ok x\nexchange k 202 c2 ok x\nend")) == 1
    assert found("idempotency-key-misused", f"{story}exchange k 202 c1 ok x\nexchange l 202 c2 ok x\nend") == []
    assert found("idempotency-key-misused", f"{story}exchange k 400 c1 ok x\nexchange l 202 c1 ok x\nend") == []


def test_a_success_with_an_error_has_lost_nothing_on_the_way() -> None:
    """One contradiction is one finding: both ends show the same error beside the success."""
    events = [
        json.loads(line)
        for line in story_log(f"{TOOL}turn\ncall c1 f {{}}\nresult c1 ok x\nend".splitlines())[0].splitlines()
    ]
    for event in events:
        for shown in (event, event.get("item", {})):
            if shown.get("type") in ("agent.session.input.tool_result", "function_call_output"):
                shown["error"] = "boom"
    with TemporaryDirectory() as folder:
        log = Path(folder, "log.jsonl")
        log.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
        assert audit([str(log)], select=["OUT"]).findings["rule"].to_list() == ["OUT007"]
