"""Records inside others: what collectors of logs, consoles, warehouses and people put around them."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer import Audit, audit
from analyzer.cli import main
from analyzer.errors import InputError
from tests.read.adapters import SAMPLES, mutations, recorded

PARAMETERS = {"type": "object", "properties": {"bed": {"type": "string"}}, "required": ["bed"]}
TOOLS = [{"type": "function", "function": {"name": "water", "parameters": PARAMETERS}}]
WHEN = "2026-11-30T03:00:00.500Z"


def exchange(number: int, *said: Any, calls: str | None = None, text: str | None = None) -> dict[str, Any]:
    asked = [{"role": "user", "content": f"Water bed {number}, größer."}, *said]
    reply: dict[str, Any] = {"role": "assistant", "content": text}
    if calls is not None:
        reply["tool_calls"] = [called(number, calls)]
    end = "stop" if calls is None else "tool_calls"
    answer = {"id": f"chatcmpl-{number}-{end}", "object": "chat.completion", "model": "gpt-4o"}
    answer["choices"] = [{"index": 0, "finish_reason": end, "message": reply}]  # type: ignore[assignment]
    return {"request": {"model": "gpt-4o", "messages": asked, "tools": TOOLS}, "response": answer}


def called(number: int, arguments: str) -> dict[str, Any]:
    return {"id": f"call_{number}", "type": "function", "function": {"name": "water", "arguments": arguments}}


def session(number: int, arguments: str) -> list[dict[str, Any]]:
    said = {"role": "assistant", "content": None, "tool_calls": [called(number, arguments)]}
    told = {"role": "tool", "tool_call_id": f"call_{number}", "content": '{"litres": 4}'}
    return [exchange(number, calls=arguments), exchange(number, said, told, text="Done.")]


RECORDS = [*session(1, '{"bed": "north"}'), *session(2, '{"bed": 7}')]
TEXTS = [json.dumps(record) for record in RECORDS]
OTHER = ["Listening on port 8080", "{'kept': None}", "retry in {n} seconds"]


def lines(*records: Any) -> str:
    return "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in records)


def listed(name: str, *around: str) -> Callable[[], str]:
    def made() -> str:
        value: Any = [{"timestamp": 1_796_000_000_000, name: text} for text in TEXTS]
        for each in around:
            value = {each: value}
        return json.dumps(value)

    return made


def table(separator: str, *columns: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator)
    writer.writerow(["id", *columns])
    for number, record in enumerate(RECORDS):
        writer.writerow([number, *(json.dumps(record.get(name, record), indent=1) for name in columns)])
    return text.getvalue()


def pieces(text: str) -> list[str]:
    return [text[:90], text[90:200], text[200:]]


FORMS: dict[str, Callable[[], str]] = {
    "docker": lambda: lines(*({"log": f"{text}\n", "stream": "stdout", "time": WHEN} for text in [*OTHER, *TEXTS])),
    "docker in pieces": lambda: lines(
        *(
            {"log": piece + ("\n" if last else ""), "stream": stream, "time": WHEN}
            for text in TEXTS
            for stream, piece, last in [
                *(("stdout", piece, False) for piece in pieces(text)[:2]),
                ("stderr", "a warning", True),
                ("stdout", pieces(text)[2], True),
            ]
        )
    ),
    "docker, a logger's record": lambda: lines(
        *(
            {"log": json.dumps({"level": "info", "msg": "llm", "exchange": record}) + "\n", "stream": "stderr"}
            for record in RECORDS
        )
    ),
    "cri": lambda: lines(*(f"{WHEN} stdout F {text}" for text in [*OTHER, *TEXTS])),
    "cri in pieces": lambda: lines(
        *(f"{WHEN} stdout {'F' if n == 2 else 'P'} {piece}" for text in TEXTS for n, piece in enumerate(pieces(text)))
    ),
    "journal": lambda: lines(
        *({"__REALTIME_TIMESTAMP": "1796000000500000", "MESSAGE": text, "PRIORITY": "6"} for text in [*OTHER, *TEXTS])
    ),
    "journal, as bytes": lambda: lines(*({"MESSAGE": list(f"\x1b[1mINFO\x1b[0m {text}".encode())} for text in TEXTS)),
    "fluent": lambda: lines(*({"date": 1796000000.5, "log": text, "kubernetes": {"pod": "p"}} for text in TEXTS)),
    "message": lambda: lines(*({"level": "info", "message": text, "timestamp": WHEN} for text in TEXTS)),
    "message behind a prefix": lambda: lines(*({"message": f"{WHEN} INFO model {text}"} for text in TEXTS)),
    "pages of events": listed("message", "events"),
    "subscription": listed("message", "logEvents"),
    "sent in batches": lambda: "".join(json.dumps({"logEvents": [{"id": "1", "message": text}]}) for text in TEXTS),
    "query results": lambda: json.dumps({"results": [[{"field": "@message", "value": text}] for text in TEXTS]}),
    "hits": lambda: json.dumps({"hits": {"hits": [{"_source": {"@timestamp": WHEN, "llm": r}} for r in RECORDS]}}),
    "attributes": lambda: json.dumps({"data": [{"attributes": {"timestamp": WHEN, "message": t}} for t in TEXTS]}),
    "streams": lambda: json.dumps({"data": {"result": [{"values": [["1796000000500000000", t] for t in TEXTS]}]}}),
    "payload object": lambda: lines(*({"insertId": "x", "jsonPayload": r, "timestamp": WHEN} for r in RECORDS)),
    "payload text": lambda: lines(*({"insertId": "x", "textPayload": t, "timestamp": WHEN} for t in TEXTS)),
    "by name": lambda: json.dumps({f"run-{number}": record for number, record in enumerate(RECORDS)}),
    "quoted": lambda: lines(*(json.dumps(text) for text in TEXTS)),
    "table": lambda: table(",", "request", "response"),
    "table of one": lambda: table("\t", "body"),
    "commas": lambda: "".join(f"{text},\n" for text in TEXTS),
    "commas between": lambda: ",\n".join(TEXTS),
    "comments": lambda: "// kept by hand\n[" + ",\n/* the next */ ".join(TEXTS) + "\n]\n",
    "sequence": lambda: "".join(f"\x1e{text}\n" for text in TEXTS),
    "carriage returns": lambda: "\r".join(TEXTS),
    "spaces": lambda: " ".join(TEXTS),
    "colours": lambda: lines(*(f"\x1b[32m{WHEN}\x1b[0m INFO {text}" for text in TEXTS)),
}


def write(tmp_path: Path, data: str | bytes, name: str = "log.json") -> str:
    file = tmp_path / name
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(file)


def told(found: Audit) -> list[Any]:
    assert found.crashed == []
    calls = found.frames["calls"].select("call_id", "outcome", "text").rows()
    return [
        sorted(calls),
        sorted(found.findings.filter(pl.col("severity") == "error").select("rule", "call_id").rows()),
    ]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return told(audit([write(tmp_path_factory.mktemp("bare"), lines(*TEXTS))]))


@pytest.mark.parametrize("form", FORMS)
def test_what_stands_inside_is_read_as_if_it_stood_alone(tmp_path: Path, form: str, bare: list[Any]) -> None:
    path = write(tmp_path, FORMS[form]())
    found = audit([path])
    assert told(found) == bare
    assert found.problems == []
    assert not found.inputs[0]["unreadable"]
    data = Path(path).read_bytes()
    for row in found.findings.iter_rows(named=True):
        where = row["location"]
        record = data[where["offset"] : where["offset"] + where["length"]]
        assert record, row
        end = b"\r" if form == "carriage returns" else b"\n"
        assert data.count(end, 0, where["offset"]) == where["line"] - 1
        resolves(record, where["pointer"])


def resolves(record: bytes, pointer: str) -> None:
    """A pointer leads somewhere in a record that is JSON."""
    try:
        value = json.loads(record)
    except ValueError:
        return
    for step in pointer.split("/")[1:]:
        value = value[int(step) if isinstance(value, list) else step.replace("~1", "/").replace("~0", "~")]


def test_the_time_beside_a_record_is_its_own_where_it_has_none() -> None:
    for form in ("docker", "docker in pieces", "journal", "streams", "payload object"):
        _, frames = recorded(FORMS[form]().encode())
        times = frames["events"].filter(pl.col("session").is_not_null())["time"].cast(pl.String).to_list()
        assert all(time is not None and time[17:22] in ("00.50", "20.50") for time in times), (form, times)


def test_tables_in_the_text_of_a_record_have_no_pointer() -> None:
    _, frames = recorded(FORMS["message"]().encode())
    assert frames["showings"]["pointer"].is_null().all()
    assert set(frames["events"]["pointer"]) == {"/message"}


def test_a_record_that_nobody_knows_among_them_is_kept_and_counted() -> None:
    records = [{"message": text} for text in TEXTS]
    recording, frames = recorded(lines(*records[:2], {"note": "deployed", "build": 7}, *records[2:]).encode())
    assert recording.sources[0]["records"] == 5
    assert frames["events"].filter(kind="unknown")["line"].to_list() == [3]


def test_a_piece_whose_end_is_not_there_is_told() -> None:
    text = FORMS["docker in pieces"]().splitlines(keepends=True)
    recording, frames = recorded("".join(text[:-1]).encode())
    assert recording.sources[0]["unreadable"] == 1
    assert frames["faults"]["fault"].to_list() == ["truncated"]


def test_a_row_without_the_cells_of_its_header_is_told() -> None:
    recording, _ = recorded((table(",", "request", "response") + "9,one cell too few\n").encode())
    assert recording.sources[0]["unreadable"] == 1


def test_another_format_is_found_inside_as_well(tmp_path: Path) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "water", "arguments": {}}}
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "done"}]}}
    log = lines(*({"log": json.dumps(each) + "\n", "stream": "stdout", "time": WHEN} for each in (asked, answer)))
    found = audit([write(tmp_path, log)])
    assert found.inputs[0]["format"] == "mcp-jsonrpc"
    assert found.frames["calls"]["outcome"].to_list() == ["ok"]


def test_a_format_that_was_named_is_read_inside_too(tmp_path: Path, bare: list[Any]) -> None:
    assert told(audit([write(tmp_path, FORMS["journal"]())], input_format="openai-chat")) == bare


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("log.jsonl.bz2", bz2.compress),
        ("log.jsonl.xz", lzma.compress),
        ("log.jsonl.gz", lambda data: gzip.compress(gzip.compress(data))),
        ("log.jsonl", lambda data: data.decode().encode("utf-32")),
        ("wide.jsonl.gz", lambda data: gzip.compress(data.decode().encode("utf-16"))),
    ],
)
def test_what_is_packed_or_wide_is_unpacked(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes], bare: list[Any]
) -> None:
    assert told(audit([write(tmp_path, pack(lines(*TEXTS).encode()), name)])) == bare


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress], ids=["bzip2", "xz"])
def test_what_is_packed_and_cut_is_read_as_far_as_it_goes(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    whole = pack(lines(*TEXTS).encode()) + pack(lines(*TEXTS).encode())
    found = audit([write(tmp_path, whole[: len(whole) * 3 // 4], "log.jsonl.x")])
    assert [str(problem).rpartition(": ")[2] for problem in found.problems] == [
        "the compressed stream is cut; what came before it was read"
    ]
    assert found.frames["calls"].height == 2


def test_a_zip_file_inside_another_is_told(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("log.jsonl", lines(*TEXTS))
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.writestr("inner.zip", inner.getvalue())
    with pytest.raises(InputError, match="a zip file inside another file is not opened"):
        audit([str(tmp_path / "outer.zip")])


@pytest.mark.parametrize("form", ["docker in pieces", "cri in pieces", "journal", "table", "commas", "streams"])
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_no_mutation_raises(data: st.DataObject, form: str) -> None:
    recording, _ = recorded(data.draw(mutations(FORMS[form]().encode())))
    assert recording.problems == []


STREAM: list[dict[str, Any]] = [
    {"type": "response.created", "response": {"id": "resp_1", "object": "response", "status": "in_progress"}},
    *(
        {"type": "response.output_item.done", "output_index": n, "item": item}
        for n, item in enumerate(
            {"type": "function_call", "id": f"fc_{n}", "call_id": f"c{n}", "name": "water", "arguments": "{}"}
            for n in range(3)
        )
    ),
    {"type": "response.completed", "response": {"id": "resp_1", "object": "response", "status": "completed"}},
]


@pytest.mark.parametrize(
    "log",
    [
        lines(*(f"data: {json.dumps(each)}" for each in STREAM)),
        lines(*(f"event: {each['type']}\ndata: {json.dumps(each)}" for each in STREAM)),
        lines(*(f"data: {json.dumps(each)}" for each in STREAM), "data: [DONE]"),
        lines(": keep-alive", *STREAM),
        lines(*STREAM[:2], ": keep-alive", "", *STREAM[2:]),
        lines(*(f"data: {json.dumps(each)}" for each in STREAM[:2]), ": ping", json.dumps(STREAM[2])),
    ],
)
def test_events_whose_blank_lines_were_lost_are_told_apart(log: str) -> None:
    recording, frames = recorded(log.encode())
    assert recording.sources[0]["unreadable"] == 0
    assert frames["call_sightings"]["call_id"].to_list() == ["c0", "c1", "c2"][: log.count("fc_")]
    texts = log.splitlines()
    for line, offset, length in frames["events"].select("line", "offset", "length").rows():
        assert log.encode()[offset : offset + length].decode().startswith(texts[line - 1])


def test_data_over_several_lines_is_one_event() -> None:
    log = "".join(f"data: {line}\n" for line in json.dumps(STREAM[1], indent=1).splitlines()) + "\n"
    recording, frames = recorded(log.encode())
    assert (recording.sources[0]["records"], recording.sources[0]["unreadable"]) == (1, 0)
    assert frames["call_sightings"]["call_id"].to_list() == ["c0"]


@pytest.mark.parametrize("text", [False, True], ids=["as objects", "as texts"])
@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.jsonl")), ids=lambda sample: sample.name)
def test_every_format_is_found_inside_under_any_name(sample: Path, *, text: bool) -> None:
    records = [json.loads(line) for line in sample.read_bytes().splitlines()]
    inside = lines(*({"any": json.dumps(each) if text else each, "n": 1} for each in records))
    if sample.stem == "bfcl":
        return  # a row of two members, one of which is a list of objects
    bare, _ = recorded(sample.read_bytes())
    found, _ = recorded(inside.encode())
    assert found.sources[0]["format"].split(",")[0] in bare.sources[0]["format"].split(",")


@pytest.mark.parametrize("form", ["docker", "docker in pieces", "message", "payload object", "table"])
def test_a_call_is_shown_beside_its_schema_wherever_that_stands(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "--call", "call_2", write(tmp_path, FORMS[form]())]) == 0
    told = capsys.readouterr().out
    assert '| >       "type": "string"' in told
    assert "gpt-4o" not in told


def test_a_cell_and_an_event_of_many_lines_take_linear_time(tmp_path: Path) -> None:
    # Quadratic work on these would take minutes: the run as a whole is the alarm.
    row = '"now","{""id"":""r"",""object"":""chat.completion"",""choices"":[]}"\n'
    table, stream = tmp_path / "table.csv", tmp_path / "stream.sse"
    table.write_text(f'time,message\n{row * 3}"now","open\n' + "and on\n" * 300_000, encoding="utf-8")
    stream.write_text('data: {"a": [\n' + "data: 1,\n" * 100_000 + "data: 1]}\n\n", encoding="utf-8")
    assert audit(str(table)).inputs[0]["unreadable"] == 1
    assert recorded(stream.read_bytes(), name="log.sse")[0].source_frame()["records"].to_list() == [1]
