"""Contract files in every shape, what is said of broken ones, and tool tables of every provider."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.contracts.files import Contracts, load_contracts
from analyzer.contracts.schemas import schema_id
from analyzer.contracts.tables import ToolDefinition, is_tool_table, parse_tool_table

IN = {"type": "object", "properties": {"order_id": {"type": "string"}}}
OUT = {"type": "object", "properties": {"state": {"type": "string"}}}


def written(folder: Path, name: str, value: object) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(value if isinstance(value, bytes) else json.dumps(value, indent=1).encode())
    return path


def names(contracts: Contracts) -> list[tuple[str | None, str, str]]:
    return [(each.server, each.tool, each.role) for each in contracts.entries]


def test_a_map_of_tools(tmp_path: Path) -> None:
    path = written(
        tmp_path, "contracts.json", {"look_up": {"arguments": IN, "output": OUT}, "shop/refund": {"output": OUT}}
    )
    contracts = load_contracts([path])
    assert contracts.problems == ()
    assert names(contracts) == [
        (None, "look_up", "arguments"),
        (None, "look_up", "output"),
        ("shop", "refund", "output"),
    ]
    first = contracts.entries[0]
    assert (first.schema, first.schema_id, first.dialect) == (IN, schema_id(IN), "2020-12")
    assert (first.file, first.line, first.pointer) == (str(path), 3, "/look_up/arguments")
    assert contracts.entries[2].pointer == "/shop~1refund/output"


def test_one_schema_in_a_file_named_for_it(tmp_path: Path) -> None:
    path = written(tmp_path, "orders.find.arguments.json", {"$schema": "http://json-schema.org/draft-07/schema#", **IN})
    contracts = load_contracts([path])
    assert names(contracts) == [(None, "orders.find", "arguments")]
    assert contracts.entries[0].dialect == "draft-07"
    assert (contracts.entries[0].line, contracts.entries[0].pointer) == (1, "")


def test_a_folder_and_its_servers(tmp_path: Path) -> None:
    written(tmp_path, "b.output.json", OUT)
    written(tmp_path, "a.arguments.json", IN)
    written(tmp_path, "shop/a.arguments.json", OUT)
    written(tmp_path, "notes.txt", b"nothing")
    contracts = load_contracts([tmp_path])
    assert contracts.problems == ()
    assert names(contracts) == [(None, "a", "arguments"), (None, "b", "output"), ("shop", "a", "arguments")]
    plain, shop = contracts.entries[0], contracts.entries[2]
    assert contracts.find("a", "arguments") is plain
    assert contracts.find("a", "arguments", server="shop") is shop
    assert contracts.find("a", "arguments", server="other") is plain
    assert contracts.find("a", "output") is None
    assert load_contracts([tmp_path / "shop"]).find("a", "arguments", server=None) is not None


@pytest.mark.parametrize(
    ("table", "pointer"),
    [
        ([{"type": "function", "name": "t", "parameters": IN}], "/0/parameters"),
        ([{"type": "function", "function": {"name": "t", "parameters": IN}}], "/0/function/parameters"),
        ({"tools": [{"name": "t", "input_schema": IN}]}, "/tools/0/input_schema"),
        (
            {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "t", "inputSchema": IN}]}},
            "/result/tools/0/inputSchema",
        ),
        ({"name": "t", "parameters": IN}, "/parameters"),
        (
            {"toolConfig": {"tools": [{"toolSpec": {"name": "t", "inputSchema": {"json": IN}}}]}},
            "/toolConfig/tools/0/toolSpec/inputSchema/json",
        ),
        (
            [{"functionDeclarations": [{"name": "t", "parametersJsonSchema": IN}]}],
            "/0/functionDeclarations/0/parametersJsonSchema",
        ),
    ],
)
def test_a_tool_table_of_any_provider(tmp_path: Path, table: object, pointer: str) -> None:
    contracts = load_contracts([written(tmp_path, "tools.json", table)])
    assert contracts.problems == ()
    assert [(each.tool, each.role, each.schema, each.pointer) for each in contracts.entries] == [
        ("t", "arguments", IN, pointer)
    ]
    assert contracts.entries[0].line > 1


def test_the_same_contract_twice_is_one_and_another_is_a_problem(tmp_path: Path) -> None:
    one = written(tmp_path, "one.json", {"t": {"arguments": IN}})
    same = written(tmp_path, "same.json", {"t": {"arguments": dict(reversed(IN.items()))}})
    other = written(tmp_path, "other.json", {"t": {"arguments": OUT}})
    contracts = load_contracts([one, same, other])
    assert names(contracts) == [(None, "t", "arguments")]
    (problem,) = contracts.problems
    assert f"{one}:3" in problem.problem
    assert (problem.file, problem.line, problem.pointer) == (str(other), 3, "/t/arguments")


@pytest.mark.parametrize(
    ("name", "content", "words", "line", "pointer"),
    [
        ("a.json", b'{"t":\n {"arguments":\n oops}}', "not JSON", 3, None),
        ("a.json", b"", "not JSON", 1, None),
        ("a.json", b'{"t":\n "\xff"}', "no UTF-8", 2, None),
        ("a.json", b'{"t": {"arguments": {"maximum": NaN}}}', "not JSON", None, None),
        ("a.json", b"[" * 600, "deeper than 500", None, None),
        ("a.json", b'{"type": "object", "properties": {}}', "not a contract", 1, None),
        ("a.json", b'"text"', "not a contract", 1, None),
        ("a.json", b"{}", "not a contract", 1, None),
        ("a.json", b'{"t": {"in": {}}}', "not a contract", 1, None),
        ("a.json", b"[]", "without any schema", 1, None),
        ("a.json", b'[{"type": "web_search"}]', "without any schema", 1, None),
        ("a.json", b'{"t": {"arguments": {},\n "result": {}}}', "`result`", 2, "/t/result"),
        ("t.arguments.json", b'{\n"properties": {\n"a": {"type": "strin"}}}', "wants", 3, "/properties/a/type"),
        ("t.arguments.json", b'{"$ref": "#/$defs/gone"}', "/$defs/gone", 1, ""),
        ("t.output.json", b'{"$ref": "https://example.test/s.json"}', "example.test", 1, ""),
        ("t.output.json", b"[1]", "wants", 1, ""),
    ],
)
def test_a_broken_file_is_told_and_the_rest_is_read(
    tmp_path: Path, *, name: str, content: bytes, words: str, line: int | None, pointer: str | None
) -> None:
    bad = written(tmp_path, name, content)
    good = written(tmp_path, "good/u.output.json", OUT)
    contracts = load_contracts([bad, good])
    assert (None, "u", "output") in names(contracts)
    (problem,) = contracts.problems
    assert words in problem.problem
    assert (problem.file, problem.line, problem.pointer) == (str(bad), line, pointer)
    assert "\n" not in str(problem)


def test_a_bad_schema_does_not_cost_the_good_ones_in_its_file(tmp_path: Path) -> None:
    value = {
        "a": {"arguments": {"type": 1}, "output": OUT},
        "b": {"arguments": {"pattern": "("}},
        "c": {"arguments": IN},
    }
    contracts = load_contracts([written(tmp_path, "all.json", value)])
    assert names(contracts) == [(None, "a", "output"), (None, "c", "arguments")]
    assert [problem.pointer for problem in contracts.problems] == ["/a/arguments/type", "/b/arguments/pattern"]


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    contracts = load_contracts([tmp_path / "gone.json", tmp_path / "empty"])
    assert contracts.entries == ()
    assert [problem.file for problem in contracts.problems] == [str(tmp_path / "gone.json"), str(tmp_path / "empty")]


def test_nothing_is_nothing() -> None:
    assert load_contracts([]) == Contracts()


def brief(tool: ToolDefinition) -> dict[str, object]:
    """What is not a default."""
    plain = asdict(ToolDefinition(name="", kind=""))
    return {name: value for name, value in asdict(tool).items() if value != plain[name]}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            [
                {
                    "type": "function",
                    "name": "t",
                    "description": "d",
                    "parameters": IN,
                    "output_schema": OUT,
                    "strict": True,
                    "defer_loading": True,
                    "async": True,
                }
            ],
            {
                "name": "t",
                "kind": "function",
                "description": "d",
                "arguments": IN,
                "output": OUT,
                "strict": True,
                "deferred": True,
                "async_": True,
                "pointer": "/0",
                "arguments_pointer": "/0/parameters",
                "output_pointer": "/0/output_schema",
            },
        ),
        (
            [{"type": "function", "name": "t", "parameters": None, "strict": None}],
            {"name": "t", "kind": "function", "pointer": "/0"},
        ),
        (
            [{"type": "function", "function": {"name": "t", "parameters": IN}, "strict": False}],
            {
                "name": "t",
                "kind": "function",
                "arguments": IN,
                "strict": False,
                "pointer": "/0/function",
                "arguments_pointer": "/0/function/parameters",
            },
        ),
        (
            [{"type": "namespace", "name": "ns", "tools": [{"type": "function", "name": "t", "parameters": IN}]}],
            {
                "name": "t",
                "kind": "namespace",
                "server": "ns",
                "arguments": IN,
                "pointer": "/0/tools/0",
                "arguments_pointer": "/0/tools/0/parameters",
            },
        ),
        (
            [{"type": "mcp", "server_label": "s", "allowed_tools": None}],
            {"name": "*", "kind": "mcp", "server": "s", "pointer": "/0"},
        ),
        (
            [{"type": "mcp_toolset", "mcp_server_name": "s"}],
            {"name": "*", "kind": "mcp", "server": "s", "pointer": "/0"},
        ),
        (
            {"type": "mcp_list_tools", "server_label": "s", "tools": [{"name": "t", "input_schema": IN}]},
            {
                "name": "t",
                "kind": "mcp",
                "server": "s",
                "arguments": IN,
                "pointer": "/tools/0",
                "arguments_pointer": "/tools/0/input_schema",
            },
        ),
        (
            {"tools": [{"name": "t", "inputSchema": IN, "outputSchema": OUT}]},
            {
                "name": "t",
                "kind": "mcp",
                "arguments": IN,
                "output": OUT,
                "pointer": "/tools/0",
                "arguments_pointer": "/tools/0/inputSchema",
                "output_pointer": "/tools/0/outputSchema",
            },
        ),
        (
            [{"type": "function", "name": "t", "inputSchema": IN, "deferLoading": True}],
            {
                "name": "t",
                "kind": "function",
                "arguments": IN,
                "deferred": True,
                "pointer": "/0",
                "arguments_pointer": "/0/inputSchema",
            },
        ),
        (
            [{"type": "custom", "name": "t", "format": {"type": "text"}}],
            {"name": "t", "kind": "custom", "pointer": "/0"},
        ),
        (
            [{"type": "custom", "name": "t", "input_schema": True}],
            {
                "name": "t",
                "kind": "function",
                "arguments": True,
                "pointer": "/0",
                "arguments_pointer": "/0/input_schema",
            },
        ),
        (
            [{"type": "web_search_20250305", "name": "web_search"}],
            {"name": "web_search", "kind": "hosted", "pointer": "/0"},
        ),
        ([{"type": "tool_search"}], {"name": "tool_search", "kind": "hosted", "pointer": "/0"}),
        (["Bash"], {"name": "Bash", "kind": "function", "pointer": "/0"}),
        (
            [json.dumps({"type": "function", "name": "t", "parameters": IN})],
            {"name": "t", "kind": "function", "arguments": IN, "pointer": "/0", "arguments_pointer": "/0"},
        ),
        (
            {"function_declarations": {"name": "t", "parameters": {"type": "OBJECT"}, "response": {"type": "STRING"}}},
            {
                "name": "t",
                "kind": "function",
                "arguments": {"type": "object"},
                "output": {"type": "string"},
                "pointer": "/function_declarations/0",
                "arguments_pointer": "/function_declarations/0/parameters",
                "output_pointer": "/function_declarations/0/response",
            },
        ),
        (
            [{"name": "t", "parameters": {"type": "dict", "properties": {"a": {"type": "float"}}}}],
            {
                "name": "t",
                "kind": "function",
                "arguments": {"type": "object", "properties": {"a": {"type": "number"}}},
                "pointer": "/0",
                "arguments_pointer": "/0/parameters",
            },
        ),
    ],
)
def test_definitions(table: object, expected: dict[str, object]) -> None:
    assert [brief(tool) for tool in parse_tool_table(table)] == [expected]


def test_a_listing_belongs_to_the_server_named() -> None:
    (tool,) = parse_tool_table([{"name": "t", "inputSchema": IN}], server="shop")
    assert (tool.kind, tool.server) == ("mcp", "shop")


def test_order_and_duplicates_are_kept_and_other_things_passed_over() -> None:
    table = [{"name": "b", "parameters": IN}, 1, None, {}, {"name": "a"}, {"name": "b", "parameters": OUT}, {"name": 7}]
    assert [tool.name for tool in parse_tool_table(table)] == ["b", "a", "b"]
    nothings: tuple[object, ...] = (None, 1, True, {}, [], "")
    assert [parse_tool_table(nothing) for nothing in nothings] == [[]] * 6


def test_hostile_nesting_ends() -> None:
    table: object = [{"name": "t", "parameters": IN}]
    for _ in range(10_000):
        table = [{"type": "namespace", "name": "n", "tools": table}]
    assert parse_tool_table(table) == []
    deep: object = []
    for _ in range(100_000):
        deep = {"result": deep}
    assert parse_tool_table(deep) == []
    assert not is_tool_table(deep)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.text(max_size=3)
    | st.sampled_from(["mcp", "function", "namespace", "OBJECT", "dict"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "name",
                    "tools",
                    "function",
                    "parameters",
                    "inputSchema",
                    "functionDeclarations",
                    "toolSpec",
                    "result",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(JSON)
def test_anything_can_be_read(value: object) -> None:
    for tool in parse_tool_table(value):
        assert tool.kind in {"function", "mcp", "namespace", "hosted", "custom"}
    assert is_tool_table(value) in {True, False}


def test_recorded_tables(shared: Path) -> None:
    for name, count in (("claude-code/tools_2.1.144.json", 47), ("tau-bench/tools_airline.json", 14)):
        contracts = load_contracts([shared / "data" / name])
        assert contracts.problems == ()
        assert len(contracts.entries) == count
