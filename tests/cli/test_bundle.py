"""`show --bundle` and `--verify`: evidence that is the same every time, hides credentials, and names what differs."""

from __future__ import annotations

import io
import json
import random
import zipfile
from pathlib import Path

import pytest

from tests.ground.tokens import BASE32, draw
from tests.hostile.infect import zipped
from tests.hostile.running import run
from tests.hostile.wire import session

SECRET = "AKIA" + draw(random.Random(7), BASE32, 16)
SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties": False}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "logs" / "run.ndjson"
    file.parent.mkdir()
    arguments = json.dumps({"x": SECRET, "password": "sesame open"})
    file.write_bytes(session(SCHEMA, arguments, output=f'{{"said":"{SECRET}"}}', more=[("c2", '{"x":1}')]))
    return file


def _held(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(file.read_bytes())) as archive:
        return {each: archive.read(each) for each in archive.namelist()}


@pytest.mark.parametrize("chosen", [(), ("--session", "s"), ("--turn", "t"), ("--call", "c")], ids=" ".join)
def test_a_bundle_is_the_same_every_time_and_verifies(log: Path, tmp_path: Path, chosen: tuple[str, ...]) -> None:
    one, other, elsewhere = (tmp_path / name for name in ("one.zip", "other.zip", "elsewhere.zip"))
    moved = tmp_path / "moved" / "run.ndjson"
    moved.parent.mkdir()
    moved.write_bytes(log.read_bytes())
    for file, source in ((one, log), (other, log), (elsewhere, moved)):
        done = run("show", *chosen, "--bundle", str(file), str(source))
        assert (done.status, done.out) == (0, b"")
    assert one.read_bytes() == other.read_bytes() == elsewhere.read_bytes()
    checked = run("show", "--verify", str(one), str(moved))
    assert checked.status == 0, checked.out
    assert b"the log says the same" in checked.out


def test_a_bundle_without_the_log_is_a_mistake_and_no_change(log: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.zip"
    run("show", "--bundle", str(file), str(log))
    assert run("show", "--verify", str(file)).status == 2


def test_it_holds_what_a_judgement_rests_on(log: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.zip"
    run("show", "--call", "c", "--bundle", str(file), str(log))
    held = _held(file)
    manifest = json.loads(held["manifest.json"])
    (call,) = map(json.loads, held["calls.jsonl"].splitlines())
    records = [json.loads(line) for line in held["records.jsonl"].splitlines()]
    (verdict,) = call["verdicts"]
    assert verdict["verdict_is"] == "invalid"
    assert {each["keyword"] for each in verdict["failures"]} == {"type", "additionalProperties"}
    assert json.loads(held[f"schemas/{verdict['schema_id']}.json"]) == SCHEMA
    assert [json.loads(each["raw"])["type"].rpartition(".")[2] for each in records] == ["created", "added", "added"]
    assert any(json.loads(line)["rule"] == "ARG001" for line in held["findings.jsonl"].splitlines())
    assert manifest["inputs"][0]["path"] == "run.ndjson"
    assert {each["name"] for each in manifest["members"]} == held.keys() - {"manifest.json"}
    assert str(tmp_path) not in b"".join(held.values()).decode()


def test_credentials_are_hidden_unless_asked_for(log: Path, tmp_path: Path) -> None:
    hidden, shown = tmp_path / "hidden.zip", tmp_path / "shown.zip"
    run("show", "--bundle", str(hidden), str(log))
    run("show", "--no-redact", "--bundle", str(shown), str(log))
    assert SECRET.encode() not in hidden.read_bytes()
    assert b"sesame open" not in hidden.read_bytes()
    assert SECRET.encode() in shown.read_bytes()
    assert json.loads(_held(hidden)["manifest.json"])["redacted"] is True
    assert run("show", "--verify", str(shown), str(log)).status == 0
    assert SECRET.encode() not in run("show", "--verify", str(shown), str(log)).out


def test_a_keyed_bundle_needs_its_key(log: Path, tmp_path: Path) -> None:
    key, file = tmp_path / "key", tmp_path / "x.zip"
    key.write_bytes(b"0123456789abcdef")
    run("show", "--redact-key", str(key), "--bundle", str(file), str(log))
    assert b"hmac" in file.read_bytes()
    assert run("show", "--verify", str(file), "--redact-key", str(key), str(log)).status == 0
    assert run("show", "--verify", str(file), str(log)).status == 2
    key.write_bytes(b"another key, long enough")
    assert run("show", "--verify", str(file), "--redact-key", str(key), str(log)).status == 1


def test_a_log_edited_after_the_audit_is_recognised(log: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.zip"
    run("show", "--bundle", str(file), str(log))
    log.write_bytes(log.read_bytes().replace(b'{\\"x\\":1}', b'{\\"x\\":2}'))
    done = run("show", "--verify", str(file), str(log))
    assert done.status == 1
    said = done.out.decode()
    assert "run.ndjson was changed: " in said
    assert "calls.jsonl:2 differs from the log" in said
    assert "records.jsonl:4 differs from the log" in said


def test_blanks_that_change_no_record_are_recognised_by_digest(log: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.zip"
    run("show", "--call", "c", "--bundle", str(file), str(log))
    log.write_bytes(log.read_bytes() + b"\n")
    done = run("show", "--verify", str(file), str(log))
    assert (done.status, done.out.count(b"\n")) == (1, 1)
    assert b"was changed" in done.out


def test_a_bundle_that_was_changed_is_recognised(log: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.zip"
    run("show", "--bundle", str(file), str(log))
    held = _held(file)
    for changed, said in (
        ({**held, "calls.jsonl": held["calls.jsonl"].replace(b"invalid", b"valid")}, "calls.jsonl was changed"),
        ({**held, "more.txt": b"x"}, "more.txt is in the bundle and not in the manifest"),
        ({name: data for name, data in held.items() if name != "findings.jsonl"}, "findings.jsonl is in the manifest"),
    ):
        file.write_bytes(zipped(changed))
        done = run("show", "--verify", str(file), str(log))
        assert done.status == 1
        assert said in done.out.decode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        b"no zip",
        zipped({"x": b""}),
        zipped({"manifest.json": b"[]"}),
        zipped({"manifest.json": b"\xff"}),
        zipped({"manifest.json": b"[" * 100_000}),
        zipped({"manifest.json": b'{"schema":"analyzer.bundle/v1"}'}),
        zipped({"manifest.json": b'{"schema":"x"}'}),
    ],
    ids=range(9),
)
def test_what_is_no_bundle_is_said_to_be_none(log: Path, tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "x.zip"
    file.write_bytes(data)
    done = run("show", "--verify", str(file), str(log))
    assert done.status == 2
    assert b"not a bundle" in done.err


def test_documents_and_archives_can_be_bundled(tmp_path: Path, root: Path) -> None:
    for name in ("inspect.eval", "inspect.json", "openai-responses.cassette.yaml", "toolbench.json"):
        source, file = root / "sample_traces" / "formats" / name, tmp_path / f"{name}.zip"
        assert run("show", "--bundle", str(file), str(source)).status == 0
        assert len(_held(file)["records.jsonl"].splitlines()) > 1
        assert run("show", "--verify", str(file), str(source)).status == 0


def _contract(folder: Path, name: str, schema: object) -> Path:
    file = folder / name
    file.write_text(json.dumps({"f": {"arguments": schema}}), encoding="utf-8")
    return file


def test_a_bundle_asks_for_the_contracts_that_it_was_made_with(log: Path, tmp_path: Path) -> None:
    file, plain = tmp_path / "x.zip", tmp_path / "plain.zip"
    tools, others = _contract(tmp_path, "tools.json", SCHEMA), _contract(tmp_path, "others.json", {"type": "object"})
    run("show", "--contracts", str(tools), "--bundle", str(file), str(log))
    run("show", "--bundle", str(plain), str(log))
    held = run("show", "--verify", str(file), "--contracts", str(tools), str(log))
    assert (held.status, held.err) == (0, b"")
    for made, given, words in (
        (file, (), b"the bundle was made with the contracts tools.json: give the same"),
        (
            file,
            (others,),
            b"tools.json: give the same (--contracts, --executed); the bundle was made without others.json",
        ),
        (plain, (tools,), b"the bundle was made without tools.json: leave it out"),
    ):
        options = [part for each in given for part in ("--contracts", str(each))]
        asked = run("show", "--verify", str(made), *options, str(log))
        assert (asked.status, asked.out) == (2, b"")
        assert len(asked.err.splitlines()) == 1
        assert words in asked.err
    _contract(tmp_path, "tools.json", {"type": "object"})
    changed = run("show", "--verify", str(file), "--contracts", str(tools), str(log))
    assert changed.status == 1
    assert changed.out.startswith(b"tools.json says other contracts than when the bundle was made\n")


@pytest.mark.parametrize("chosen", [("--session", "s"), ("--call", "c")], ids=" ".join)
def test_a_bundle_lists_the_inputs_that_its_evidence_stands_in(
    log: Path, tmp_path: Path, chosen: tuple[str, ...]
) -> None:
    other = log.with_name("other.ndjson")
    other.write_bytes(log.read_bytes().replace(b'"s"', b'"other"').replace(b'"c"', b'"d"'))
    file, whole = tmp_path / "x.zip", tmp_path / "whole.zip"
    run("show", *chosen, "--bundle", str(file), str(log.parent))
    run("show", "--bundle", str(whole), str(log.parent))
    listed = [[each["path"] for each in json.loads(_held(each)["manifest.json"])["inputs"]] for each in (file, whole)]
    assert listed == [["run.ndjson"], ["other.ndjson", "run.ndjson"]]
    checked = run("show", "--verify", str(file), str(log))
    assert (checked.status, checked.out.endswith(b"the log says the same\n")) == (0, True)
