"""Tool tables as tools, and the store of their schemas."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from analyzer.contracts.timeline import SchemaStore, tools_of
from analyzer.frames import TABLES


def test_what_was_found_out_about_a_schema_is_kept_for_the_next_partition() -> None:
    store = SchemaStore()
    name = store.add({"type": "object"})
    assert store.bounded() is store
    assert store.judge(name) is store.bounded().judge(name)


def test_a_store_that_holds_more_than_a_log_needs_is_left_behind() -> None:
    store = SchemaStore()
    for number in range(20):
        store.add({"enum": [number], "description": "x" * (4 << 20)})
    assert store.bounded() is not store


@pytest.mark.parametrize(
    ("table", "found"),
    [
        (
            '[{"name":"a","parameters":{}},{"name":"b","parameters":true}]',
            [("a", 0, "/0/parameters"), ("b", 1, "/1/parameters")],
        ),
        ('{"tools":[{"name":"a","parameters":{}}]}', [("a", 0, "/tools/0/parameters")]),
        (
            '["a",{"type":"namespace","name":"n","tools":[{"name":"b"}]},{"name":"c"}]',
            [("a", 0, "/0"), ("b", 1, "/1/tools/0"), ("c", 2, "/2")],
        ),
        ('[{"name":"a"},', []),
        ('[{"name":"a"},{"name":"\\ud8"}]', []),
    ],
)
def test_tools_of_a_table_keep_their_places(table: str, found: list[tuple[str, int, str]]) -> None:
    tables = pl.DataFrame([{"table": "t", "shape": "openai", "text": table}], schema=TABLES)
    tools = tools_of(tables, SchemaStore())
    assert tools.select("name", "position", "pointer").rows() == found


@pytest.mark.parametrize(
    ("schema", "dialect"),
    [
        ({"type": "array", "prefixItems": [{"type": "integer"}]}, "2020-12"),
        ({"$ref": "#/$defs/n", "maximum": 2, "$defs": {"n": {"type": "integer"}}}, "2020-12"),
        ({"type": "array", "items": [{"type": "integer"}]}, "draft-07"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "prefixItems": [True]}, "draft-07"),
    ],
)
def test_what_a_server_lists_is_read_as_the_protocol_has_it(schema: dict[str, Any], dialect: str) -> None:
    table = json.dumps({"tools": [{"name": "a", "inputSchema": schema}]})
    store = SchemaStore()
    tools = tools_of(pl.DataFrame([{"table": "t", "shape": "mcp", "text": table}], schema=TABLES), store)
    schemas, _ = store.frames(tools["schema_id"], advertised=())
    assert schemas.select("dialect", "problem").rows() == [(dialect, None)]
