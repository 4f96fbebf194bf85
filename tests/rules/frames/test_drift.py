from __future__ import annotations

import json
from typing import Any

import pytest

from analyzer.contracts.schemas import schema_id
from analyzer.frames import PART_BITS, RECORD_BITS
from analyzer.rules.drift import (
    fleet_drift,
    gate_drift,
    pin_drift,
    schema_drift,
    search_drift,
    shape_drift,
    tools_changed_mid_session,
)
from analyzer.rules.drift.refusal import refusal
from tests.rules.frames.build import Row, hits, trace

ARGUMENTS = {"query": "cats", "limit": 5, "filter": {"tag": "x"}}


@pytest.mark.parametrize(
    ("text", "member", "constraint"),
    [
        # zod, as text and as its list of issues
        ("Arguments parsing failed: limit: expected number, received null", "limit", "type"),
        ('[{"code":"invalid_type","expected":"number","received":"null","path":["limit"]}]', "limit", "type"),
        (
            '-32602: [{"code": "invalid_type", "path": ["owner"], "received": "undefined", "message": "Required"}]',
            "owner",
            "required",
        ),
        ('[{"code": "too_big", "maximum": 2, "path": ["filter", "tag"], "message": "Too big"}]', "tag", "range"),
        ("\u2716 Invalid input: expected string, received undefined\n  \u2192 at filter.tag", "tag", "type"),
        ("Unrecognized key(s) in object: 'limit'", "limit", "additionalProperties"),
        ('Invalid enum value. Expected "a" | "b" at query', "query", "enum"),
        # pydantic
        ("1 validation error for Find\nlimit\n  Input should be a valid string [type=string_type]", "limit", "type"),
        (
            "1 validation error for Find\nowner\n  Field required [type=missing, input_value={'query': 'x'}]",
            "owner",
            "required",
        ),
        (
            "1 validation error for call[find]\nowner\n  Missing required argument [type=missing_argument]",
            "owner",
            "required",
        ),
        (
            "1 validation error for Find\nfilter.tag\n  String should match pattern 'a' [type=string_pattern_mismatch]",
            "tag",
            "pattern",
        ),
        ("1 validation error for Find\n  Input should be a valid dictionary [type=dict_type]", "", "type"),
        ("limit\n  Extra inputs are not permitted [type=extra_forbidden]", "limit", "additionalProperties"),
        ("limit\n  Input should be greater than or equal to 10", "limit", "range"),
        ("Invalid params (-32602): limit must be at most 2", "limit", "range"),
        # ajv
        ("data/limit must be string", "limit", "type"),
        ("data must have required property 'owner'", "owner", "required"),
        ('/query must match pattern "^a"', "query", "pattern"),
        ("/limit must be >= 10", "limit", "range"),
        ("data must NOT have additional properties: limit", "limit", "additionalProperties"),
        ("/query must be equal to one of the allowed values", "query", "enum"),
        # jsonschema
        ("5 is not of type 'string'\n\nOn instance['limit']:\n    5", "limit", "type"),
        ("'owner' is a required property", "owner", "required"),
        ("Additional properties are not allowed ('limit' was unexpected)", "limit", "additionalProperties"),
        ("'cats' does not match '^dogs$' at query", "query", "pattern"),
        ("limit: 5 is less than the minimum of 10", "limit", "range"),
        # serde, Go, Python
        ("failed to parse function arguments: missing field `owner` at line 1 column 9", "owner", "required"),
        ("invalid type: integer `5`, expected a string for limit", "limit", "type"),
        ("unknown field `limit`, expected one of `query`", "limit", "additionalProperties"),
        ("json: cannot unmarshal number into Go struct field Args.limit of type string", "limit", "type"),
        ("find() got an unexpected keyword argument 'limit'", "limit", "additionalProperties"),
        # JSON-RPC
        ("MCP error -32602: Invalid arguments for tool find: limit must be a string", "limit", "type"),
        ("MCP error -32602: Invalid params: missing required parameter: owner", "owner", "required"),
        # the root
        ("Invalid input: arguments is not of type 'array'", "", "type"),
    ],
)
def test_refusals_are_recognised_in_the_words_of_validators(text: str, member: str, constraint: str) -> None:
    found = refusal(text, ARGUMENTS)
    assert found is not None
    assert found[:2] == (member, constraint)
    if "filter" in text and member == "tag":
        assert found.place == "/filter/tag"


@pytest.mark.parametrize(
    "text",
    [
        "The value of the order is too long to wait for",
        "1 validation error for Find\nlimit\n  Value error, the shop is closed [type=value_error, input_value=5]",
        '[{"code": "custom", "path": ["limit"], "message": "The shop is closed"}]',
    ],
)
def test_what_a_program_checks_itself_is_business(text: str) -> None:
    assert refusal(text, {**ARGUMENTS, "to": "x", "value": 1}) is None


@pytest.mark.parametrize(
    "text",
    [
        "order 17 not found",
        "forbidden: query is not allowed for this role",
        "conflict: limit was already set",
        "limit exceeded: at most 5 searches per day",
        "Tool handler failed.",
        "upstream timeout after 30 s",
        "query returned nothing",
        "insufficient balance: limit must be >= 10",
        "the filter matched 3 rows, expected one",
        "",
    ],
)
def test_business_is_no_refusal(text: str) -> None:
    assert refusal(text, ARGUMENTS) is None


def test_a_hostile_error_text_is_cut() -> None:
    assert refusal("expected " + "a " * 200_000, {f"m{n}": 1 for n in range(5_000)}) is None


def schemas(*given: Any) -> tuple[list[Row], list[str]]:
    names = [schema_id(each) for each in given]
    return [{"schema_id": name, "text": json.dumps(each)} for name, each in zip(names, given, strict=True)], names


def offer(name: str, since: int = 0, **more: Any) -> Row:
    given = {"tool": "function::find", "role": "arguments", "since": since, "event": since, "pointer": "/tools/0"}
    return {**given, "state": "offered", "exact": True, "channel": "session", "schema_id": name, **more}


OLD = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
NEW = {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}, "required": ["q", "n"]}
SAME = {
    "required": ["q"],
    "properties": {"q": {"type": "string"}},
    "type": "object",
    "$schema": "https://json-schema.org/draft/2020-12/schema",
}
WORDED = {"type": "object", "properties": {"q": {"type": "string", "description": "What to find."}}, "required": ["q"]}


def refused(text: str, **more: Any) -> list[Row]:
    rows, (name,) = schemas(OLD)
    about = {"tool": "function::find", "call": 1, "call_id": "c1"}
    return hits(
        schema_drift.check,
        trace(
            schemas=rows,
            offers=[offer(name)],
            calls=[{**about, "text": '{"q":"x"}', "event": 5, "pointer": "/item/arguments", "result": 1}],
            results=[
                {**about, "result": 1, "rank": 0, "success": False, "error": text, "wire": "openai-agents-api"} | more
            ],
            verdicts=[{"call": 1, "role": "arguments", "side": "advertised", "verdict_is": "valid", "schema_id": name}],
        ),
    )


def test_schema_drift_a_refusal_names_the_member_and_points_to_the_call() -> None:
    (hit,) = refused("q: expected number, received string")
    assert "/q (type)" in hit["message"]
    assert hit["confidence"] == "likely"
    assert hit["related"][0]["event"] == 5


def test_schema_drift_leaves_business_and_successes_alone() -> None:
    assert refused("q not found") == []
    assert refused("q: expected number, received string", success=True) == []


def declared(advertised: Any, executed: Any, role: str = "arguments", **more: Any) -> list[Row]:
    rows, (one, other) = schemas(advertised, executed)
    contract = {"name": "find", "role": role, "schema_id": other, "file": "contracts.json", **more}
    return hits(schema_drift.check, trace(schemas=rows, offers=[offer(one, role=role)], contracts=[contract]))


def test_schema_drift_says_direction_and_whom_it_breaks() -> None:
    (hit,) = declared(OLD, NEW)
    assert "narrower" in hit["message"]
    assert (hit["severity"], hit["contract_file"]) == (None, "contracts.json")
    (hit,) = declared(NEW, OLD)
    assert hit["severity"] == "warning"
    (hit,) = declared(NEW, OLD, role="output")
    assert hit["severity"] is None


@pytest.mark.parametrize("executed", [OLD, SAME, WORDED])
def test_schema_drift_leaves_normalisation_alone(executed: Any) -> None:
    assert declared(OLD, executed) == []


def test_schema_drift_leaves_other_servers_and_pins_alone() -> None:
    assert declared(OLD, NEW, server="docs") == []
    assert declared(OLD, NEW, file="pins/find.json") == []


MET = {"type": "object", "properties": {"q": {"type": "integer"}}, "required": ["q"]}


@pytest.mark.parametrize(
    ("tools", "told"),
    [
        (["function::find"], []),
        (["function::find", "mcp:docs:other find"], []),  # the function is meant
        (["mcp:docs:find", "mcp:shop:other find"], []),  # the one that shows it is
        (["mcp:shop:other find"], ["mcp:shop:find"]),
        (["mcp:docs:other find", "mcp:shop:other find"], ["mcp:docs:find", "mcp:shop:find"]),
        (["function::other find", "mcp:docs:find"], ["function::find"]),
    ],
)
@pytest.mark.parametrize("file", ["pins/find.json", "contracts.json"])
def test_an_entry_under_a_bare_name_means_one_tool(tools: list[str], told: list[str], file: str) -> None:
    rows, (same, other) = schemas(OLD, MET)
    entry = {
        "name": "find",
        "tool": "find",
        "role": "arguments",
        "schema_id": same,
        "file": file,
        "channel": "contract",
    }
    offers = [
        offer(other if "other" in tool else same, tool=tool.replace("other ", ""), event=number)
        for number, tool in enumerate(tools)
    ]
    rule = pin_drift if "pins" in file else schema_drift
    found = hits(rule.check, trace(schemas=rows, offers=offers, contracts=[entry]))
    assert sorted(hit["tool"] for hit in found) == sorted(told)
    apart = [{**each, "session": f"s{number}"} for number, each in enumerate(offers)]
    if "pins" not in file:  # what another session offers says nothing
        found = hits(rule.check, trace(schemas=rows, offers=apart, contracts=[entry]))
        assert len(found) == sum("other" in tool for tool in tools)


def test_pin_drift_counts_sessions_and_finds_renamed_tools() -> None:
    rows, (old, new) = schemas(OLD, NEW)
    pin = {"name": "find", "role": "arguments", "schema_id": old, "file": "pins/find.json"}
    both = [offer(new), offer(new, session="s2")]
    (hit,) = hits(pin_drift.check, trace(schemas=rows, offers=both, contracts=[pin]))
    assert "(sessions: 2)" in hit["message"]
    assert hits(pin_drift.check, trace(schemas=rows, offers=[offer(old)], contracts=[pin])) == []
    renamed = [offer(old, tool="function::find_docs")]
    (hit,) = hits(pin_drift.check, trace(schemas=rows, offers=renamed, contracts=[pin]))
    assert "find_docs has its shape" in hit["message"]


def test_what_a_pin_replaced_is_no_drift_beside_the_pin_itself() -> None:
    rows, (old, new) = schemas(OLD, NEW)
    pin = {"name": "find", "role": "arguments", "schema_id": new, "file": "pins/find.json", "superseded": [old]}
    both = [offer(old), offer(new, session="s2")]
    assert hits(pin_drift.check, trace(schemas=rows, offers=both, contracts=[pin])) == []
    (hit,) = hits(pin_drift.check, trace(schemas=rows, offers=[offer(old)], contracts=[pin]))
    assert "differs from its pin" in hit["message"], "the old one alone has come back"
    (hit,) = hits(pin_drift.check, trace(schemas=rows, offers=both, contracts=[{**pin, "superseded": []}]))


def changed(*offers: Row, events: list[Row] | None = None, order: str = "file") -> list[Row]:
    rows, _ = schemas(OLD, NEW, SAME, WORDED)
    made = trace(schemas=rows, offers=list(offers), events=events or [], sessions=[{"order": order}])
    return hits(tools_changed_mid_session.check, made)


def test_tools_changed_mid_session_says_what_breaks() -> None:
    (hit,) = changed(offer(schema_id(OLD)), offer(schema_id(NEW), 8))
    assert "callers break" in hit["message"]
    assert (hit["event"], hit["related"][0]["event"]) == (8, 0)


def test_tools_changed_mid_session_announcements() -> None:
    both = [offer(schema_id(OLD)), offer(schema_id(NEW), 8, channel="listing")]
    announced = {"event": 5, "seq": 5, "type": "notifications/tools/list_changed"}
    assert changed(*both, events=[announced]) == []
    assert len(changed(*both, events=[{**announced, "seq": 9}])) == 1
    (hit,) = changed(offer(schema_id(OLD)), offer(schema_id(NEW), 8, channel="update"))
    assert hit["severity"] == "info"


def test_tools_changed_mid_session_wording_is_info_and_normalisation_nothing() -> None:
    (hit,) = changed(offer(schema_id(OLD)), offer(schema_id(WORDED), 8))
    assert hit["severity"] == "info"
    assert changed(offer(schema_id(OLD)), offer(schema_id(SAME), 8)) == []


def test_tools_changed_mid_session_removal_counts_where_tables_are_whole() -> None:
    gone = offer(schema_id(OLD), 8, state="withdrawn")
    assert len(changed(offer(schema_id(OLD)), gone)) == 1
    assert changed(offer(schema_id(OLD)), {**gone, "channel": "request"}) == []


def test_tools_changed_mid_session_needs_a_proved_order() -> None:
    other_file = {**offer(schema_id(NEW), 8), "event": 1 << 43}
    assert changed(offer(schema_id(OLD)), other_file, order="files") == []
    assert len(changed(offer(schema_id(OLD)), other_file)) == 1


def test_search_drift_compares_with_the_registration() -> None:
    rows, (old, new, same) = schemas(OLD, NEW, SAME)
    found = offer(new, 4, channel="search")
    (hit,) = hits(search_drift.check, trace(schemas=rows, offers=[offer(old), found]))
    assert hit["related"][0]["role"] == "registered"
    for search in (offer(same, 4, channel="search"), offer(old, 4, channel="search")):
        assert hits(search_drift.check, trace(schemas=rows, offers=[offer(old), search])) == []
    assert hits(search_drift.check, trace(schemas=rows, offers=[found])) == []


def fleet(*names: str, agents: list[str] | None = None) -> list[Row]:
    rows, _ = schemas(OLD, NEW, SAME, WORDED)
    sessions = [
        {"session": f"s{n}", "first_event": n, "agent": agents[n] if agents else "a"} for n in range(len(names))
    ]
    offers = [{**offer(name), "session": f"s{n}", "event": n} for n, name in enumerate(names)]
    return hits(fleet_drift.check, trace(schemas=rows, offers=offers, sessions=sessions))


def test_fleet_drift_tells_the_timeline() -> None:
    old, new = schema_id(OLD), schema_id(NEW)
    (hit,) = fleet(old, old, new)
    assert "s0 to s1 (2); s2 to s2 (1)" in hit["message"]
    assert hit["severity"] is None
    assert fleet(old, old) == []
    assert fleet(old, schema_id(SAME)) == []
    assert fleet(old, schema_id(WORDED))[0]["severity"] == "info"


def test_fleet_drift_by_agent_is_info() -> None:
    (hit,) = fleet(schema_id(OLD), schema_id(NEW), agents=["a", "b"])
    assert hit["severity"] == "info"


def shapes(*texts: str, **more: Any) -> list[Row]:
    results = [
        {"result": n, "seq": n, "event": n, "tool": "function::find", "text": text, **more}
        for n, text in enumerate(texts)
    ]
    return hits(shape_drift.check, trace(results=results))


def test_shape_drift_tells_one_switch() -> None:
    (hit,) = shapes('{"a":{"b":1}}', '{"a":{"b":2}}', '{"a":{"b":"3"}}', '{"a":{"b":"4"}}')
    assert "/a/b was number 2 times and is string" in hit["message"]
    assert (hit["result"], hit["related"][0]["event"]) == (2, 1)


@pytest.mark.parametrize(
    "texts",
    [
        ['{"a":1}', '{"a":2}', '{"a":2.5}'],
        ['{"a":1}', '{"a":2}', '{"a":null}'],
        ['{"a":1}', '{"a":"2"}', '{"a":"3"}'],
        ['{"a":1}', '{"a":2}', '{"a":"3"}', '{"a":4}'],
        ['{"a":1}', '{"a":2}', "words"],
    ],
)
def test_shape_drift_leaves_unions_and_nulls_alone(texts: list[str]) -> None:
    assert shapes(*texts) == []


def test_shape_drift_looks_at_members_that_a_kept_schema_leaves_free() -> None:
    free = {"schema_id": "a", "pointer": "/properties/id", "fact": "schema_vacuous", "value": "anything"}

    def told(*texts: str, facts: list[Row]) -> list[Row]:
        calls = [{"call": n, "seq": n, "event": n, "tool": "function::f", "text": text} for n, text in enumerate(texts)]
        verdict = {"role": "arguments", "verdict_is": "valid", "schema_id": "a"}
        verdicts = [{"verdict": n, "call": n, **verdict} for n in range(len(texts))]
        return hits(shape_drift.check, trace(calls=calls, verdicts=verdicts, schema_facts=facts))

    texts = ('{"id":1,"n":1}', '{"id":2,"n":2}', '{"id":"3","n":"3"}')
    [found] = told(*texts, facts=[free])
    assert "/id was number 2 times and is string" in found["message"]
    assert told(*texts, facts=[]) == []
    assert told(*texts, facts=[free | {"pointer": "/properties/id/items"}]) == []


def reworded(*shown: tuple[int, str, str], notice: int | None = None, channel: str = "session") -> list[Row]:
    """Showings of one tool by place, description and schema."""
    offers, known = [], None
    for seq, _, schema in shown:
        if schema != known:
            offers.append(
                {"tool": "function::f", "role": "arguments", "since": seq, "event": seq, "state": "offered"}
                | {"schema_id": schema, "channel": channel, "pointer": "/tools/0"}
            )
        known = schema
    noticed = [{"event": notice, "seq": notice, "type": "notifications/tools/list_changed"}] if notice else []
    made = trace(
        sessions=[{"session": "s1", "order": "file"}],
        events=noticed,
        showings=[
            {"event": seq, "seq": seq, "channel": channel, "scope": "all", "table": f"t{seq}", "pointer": "/tools"}
            for seq, _, _ in shown
        ],
        tools=[
            {"table": f"t{seq}", "position": 0, "tool": "function::f", "role": "arguments", "schema_id": schema}
            | {"description": words, "pointer": "/0"}
            for seq, words, schema in shown
        ],
        offers=offers,
        schemas=[{"schema_id": "a", "text": '{"type":"object"}'}, {"schema_id": "b", "text": '{"type":"array"}'}],
    )
    return hits(tools_changed_mid_session.check, made)


def test_a_description_that_changes_is_told_as_information() -> None:
    [found] = reworded((1, "Finds.", "a"), (5, "Finds. Call export first.", "a"))
    assert (found["severity"], found["event"], found["pointer"]) == ("info", 5, "/tools/0")
    assert "only its description changed" in found["message"]
    assert reworded((1, "Finds.", "a"), (5, "Finds.", "a")) == []
    assert len(reworded((1, "Finds.", "a"), (5, "Other.", "b"))) == 1  # one change, one finding
    assert reworded((1, "Finds.", "a"), (5, "Other.", "a"), notice=3) == []
    assert reworded((1, "Finds.", "a"), (5, "Other.", "a"), channel="search") == []
    assert len(reworded((1, "Finds.", "a"), (5, "Other.", "a"), (9, "Finds.", "a"))) == 2


def gate(verdict: str, *, host: list[Row] | None = None, execute: bool | None = None, **more: Any) -> list[Row]:
    failure = {"verdict": 1, "position": 0, "instance_pointer": "", "keyword": "required", "member": "q"}
    judged = "invalid" if verdict == "not JSON" else verdict
    record = {"event": 6, "seq": 6, "check": "find", "execute": execute, "failures": host or [], "pointer": "", **more}
    return hits(
        gate_drift.check,
        trace(
            gates=[record],
            calls=[{"call": 1, "call_id": "c1", "name": "find", "seq": 5, "event": 5, "pointer": "/a"}],
            verdicts=[{"verdict": 1, "call": 1, "role": "arguments", "side": "advertised", "verdict_is": judged}],
            violations=[failure] if verdict == "invalid" else [],
        ),
    )


def test_gate_drift_is_found_in_both_directions() -> None:
    assert "lets a call pass" in gate("invalid", execute=True)[0]["message"]
    assert "refuses" in gate("valid", execute=False)[0]["message"]
    strange = [{"path": "/q", "reason": "type"}]
    assert "type at /q" in gate("invalid", execute=False, host=strange)[0]["message"]
    assert len(gate("invalid", execute=True, call_id="c1", check="other")) == 1


def test_gate_drift_leaves_alone() -> None:
    assert gate("valid", execute=True) == []
    assert gate("invalid", execute=False) == []
    assert gate("invalid", execute=False, host=[{"path": "/q", "reason": "required"}]) == []
    assert gate("unverifiable", execute=False) == []
    assert gate("unverifiable", execute=True) == []
    assert gate("not JSON", execute=False, host=[{"path": "", "reason": "type"}]) == []


def test_a_gate_record_that_passes_a_call_may_name_no_failure_of_it() -> None:
    [found] = gate("valid", execute=True, host=[{"path": "/call_id", "reason": "type"}])
    assert "names a failure that is none: type at /call_id" in found["message"]
    assert found["keyword"] == "fail"


def test_a_gate_record_of_no_call_is_told() -> None:
    [named] = gate("invalid", execute=True, call_id="c9")
    assert named["message"] == "A host's gate record of find names the call c9, which is not there."
    assert (named["severity"], named["call_id"]) == ("warning", "c9")
    [early] = gate("invalid", execute=True, seq=2)
    assert early["message"] == "A host's gate record of find belongs to no call of the tool that waits."


def test_of_a_gate_record_of_another_file_the_place_tells_nothing() -> None:
    elsewhere = 1 << RECORD_BITS + PART_BITS
    assert len(gate("invalid", execute=True, event=elsewhere, seq=2)) == 1  # the only call of its tool
    assert "lets a call pass" in gate("invalid", execute=True, event=elsewhere, seq=2, call_id="c1")[0]["message"]


def test_a_gate_record_without_an_id_belongs_to_the_latest_call_that_waits() -> None:
    calls = [
        {
            "call": call,
            "call_id": f"c{call}",
            "name": "find",
            "seq": call,
            "event": call,
            "pointer": "",
            "result": result,
        }
        for call, result in ((1, None), (2, 7))
    ]
    [found] = hits(
        gate_drift.check,
        trace(
            gates=[{"event": 6, "seq": 6, "check": "find", "execute": True, "failures": [], "pointer": ""}],
            calls=calls,
            results=[{"result": 7, "call": 2, "seq": 4, "event": 4, "pointer": ""}],
            verdicts=[
                {"verdict": call, "call": call, "role": "arguments", "side": "advertised", "verdict_is": "invalid"}
                for call in (1, 2)
            ],
        ),
    )
    assert found["call"] == 1
