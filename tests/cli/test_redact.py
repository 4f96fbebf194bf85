"""`--redact`, `--no-redact` and `--redact-key`: what is written holds no credential unless somebody asks for it."""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path

import polars as pl
import pytest

from tests.ground.tokens import ALNUM, BASE32, draw
from tests.hostile.running import report_formats, run
from tests.hostile.wire import session

SECRET = "AKIA" + draw(random.Random(3), BASE32, 16)
PASSWORD = "sesame-" + draw(random.Random(4), ALNUM, 9)


@pytest.fixture
def log(tmp_path: Path) -> str:
    """A log with a credential in every place: a name, an id, arguments, an output, a description."""
    schema = {"type": "object", "properties": {"x": {"type": "integer", "description": f"not {SECRET}"}}}
    arguments, output = json.dumps({"x": SECRET, "password": PASSWORD}), json.dumps({"error": f"bad key {SECRET}"})
    file = tmp_path / "log.ndjson"
    file.write_bytes(session(schema, arguments, output=output, name=SECRET, session_id=SECRET))
    return str(file)


@pytest.mark.parametrize("form", [each for each in report_formats() if each != "parquet"])
def test_reports_hide_and_show_on_demand(log: str, form: str) -> None:
    hidden, shown = (run("audit", "--output-format", form, *more, log).out.decode() for more in ((), ("--no-redact",)))
    assert SECRET not in hidden
    assert PASSWORD not in hidden
    assert "aws-access-key-id" in hidden
    assert SECRET in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("gate",),
        ("query", "$[*]"),
        ("query", "--output-format", "json", "--over", "events", "$[*]"),
        ("contracts", "list"),
        ("contracts", "tighten"),
        ("replay", "--against", "sample_traces/contracts.json"),
    ],
    ids=" ".join,
)
def test_commands_hide_and_show_on_demand(
    log: str, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    hidden, shown = (run(*arguments, *more, log) for more in ((), ("--no-redact",)))
    assert hidden.status == shown.status
    assert SECRET not in (hidden.out + hidden.err).decode()
    assert PASSWORD not in hidden.out.decode()
    assert SECRET in shown.out.decode() or arguments[0] == "replay"


def test_saved_frames_and_pins_hide_and_show_on_demand(log: str, tmp_path: Path) -> None:
    for more, expected in (((), False), (("--no-redact",), True)):
        saved, pins, parquet = (tmp_path / f"{name}{len(more)}" for name in ("saved", "pins", "report"))
        run("audit", "--save", str(saved), *more, log)
        run("contracts", "pin", "--into", str(pins), *more, log)
        run("audit", "--output-format", "parquet", "-o", str(parquet), *more, log)
        frames = "".join(repr(pl.read_parquet(file).to_dicts()) for file in sorted(saved.glob("*.parquet")))
        assert (SECRET in frames, PASSWORD in frames) == (expected, expected)
        assert (SECRET in "".join(each.read_text() for each in pins.rglob("*.json"))) is expected
        assert (SECRET in repr(pl.read_parquet(parquet).to_dicts())) is expected


def test_hidden_pins_hold_what_they_were_made_of(log: str, tmp_path: Path) -> None:
    run("contracts", "pin", "--into", str(tmp_path / "pins"), log)
    assert run("contracts", "pin", "--into", str(tmp_path / "pins"), "--check", log).status == 0


def test_the_verdicts_do_not_depend_on_it(log: str) -> None:
    hidden, shown = (
        json.loads(run("audit", "--output-format", "json", *more, log).out) for more in ((), ("--no-redact",))
    )
    assert hidden["summary"]["verdicts"] == shown["summary"]["verdicts"]
    assert [each["fingerprint"] for each in hidden["findings"]] == [each["fingerprint"] for each in shown["findings"]]


@pytest.mark.parametrize("jobs", ["2", pytest.param("1", marks=pytest.mark.long)])
def test_a_key_shows_that_two_are_equal_in_any_process(log: str, tmp_path: Path, jobs: str) -> None:
    (tmp_path / "key").write_bytes(b"sixteen bytes or more\n")
    (tmp_path / "analyzer.toml").write_text('redact_key = "key"\n')
    by_option = run("audit", "--jobs", jobs, "--redact-key", str(tmp_path / "key"), log).out.decode()
    by_setting = run("audit", "--jobs", jobs, "--config", str(tmp_path / "analyzer.toml"), log).out.decode()
    hashes = {part[:8] for part in by_option.split("[aws-access-key-id, 20 chars, hmac ")[1:]}
    assert len(hashes) == 1
    digest = hashes.pop()
    assert by_option.count(digest) == by_setting.count(digest) > 1


def test_a_short_key_is_refused(log: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"short")
    done = run("audit", "--redact-key", str(tmp_path / "key"), log)
    assert done.status == 2
    assert "at least 16 bytes" in done.err.decode()


def test_showing_is_asked_for_in_each_run(log: str, tmp_path: Path) -> None:
    assert SECRET in run("gate", "--no-redact", log).out.decode()
    assert SECRET not in run("gate", log).out.decode()
    (tmp_path / "analyzer.toml").write_text("redact = false\n")
    assert run("gate", "--config", str(tmp_path / "analyzer.toml"), log).status == 2


@pytest.mark.parametrize("jobs", ["2", pytest.param("1", marks=pytest.mark.long)])
def test_the_store_of_nights_hides_and_shows_on_demand(log: str, tmp_path: Path, jobs: str) -> None:
    for more, expected in (((), False), (("--no-redact",), True)):
        store = tmp_path / f"store{len(more)}"
        done = run("batch", "--store", str(store), "--jobs", jobs, *more, log)
        assert done.status in {0, 1, 3}
        frames = [pl.read_parquet(file) for file in sorted(store.rglob("*.parquet"))]
        written = "".join(repr(each.to_dicts()) for each in frames) + done.out.decode()
        assert (SECRET in written) is expected


WORDS = ("sesame one", "halloween tea", "first biscuit", "second biscuit", "fourthBiscuit9")


@pytest.fixture
def named(tmp_path: Path) -> str:
    """A call that breaks its schema, with credentials that only the names around them tell."""
    schema = {"type": "object", "properties": {"password": {"type": "string", "pattern": "^[a-z]+$"}}}
    arguments = {
        "password": "sesame one",
        "headers": [{"name": "Cookie", "value": "sid=halloween tea"}],
        "secret": ["first biscuit", "second biscuit"],
        "dsn": "postgres://ann:fourthBiscuit9@h/db",
    }
    file = tmp_path / "named.ndjson"
    text = json.dumps(arguments).replace("/", "\\/")  # as some writers do
    file.write_bytes(session(schema, text, output='{"ok":true}', name="login"))
    return str(file)


@pytest.mark.parametrize("form", [each for each in report_formats() if each != "parquet"])
def test_a_failing_member_of_a_secret_name_is_not_shown(named: str, form: str) -> None:
    done = run("audit", "--output-format", form, named)
    told = done.out.decode()
    assert done.status == 1
    assert "/password" in told
    assert [word for word in WORDS if word in told] == []
    assert "sesame one" in run("audit", "--output-format", form, "--no-redact", named).out.decode()


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "--call", "c"),
        ("query", "$[*].arguments"),
        ("query", "$[*].arguments.password"),
        ("query", "$[*].arguments.secret[0]"),
        ("query", "$[*].arguments.headers[0].value"),
        ("query", "--output-format", "json", "[].[arguments.password, arguments.secret, arguments.headers]"),
        ("query", "--over", "events", "--output-format", "json", "$[*]"),
        ("query", "--over", "events", "$..arguments"),
        ("query", "--over", "findings", "$[*]"),
        ("gate",),
    ],
    ids=" ".join,
)
def test_names_hide_wherever_one_asks(named: str, arguments: tuple[str, ...]) -> None:
    told = run(*arguments, named)
    assert told.status == 0
    assert told.out
    assert [word for word in WORDS if word in (told.out + told.err).decode()] == []


def test_names_hide_in_what_is_kept(named: str, tmp_path: Path) -> None:
    saved, bundle, store = (tmp_path / name for name in ("saved", "bundle.zip", "store"))
    run("audit", "--save", str(saved), named)
    run("show", "--call", "c", "--bundle", str(bundle), named)
    run("batch", "--store", str(store), named)
    kept = "".join(repr(pl.read_parquet(file).to_dicts()) for file in tmp_path.rglob("*.parquet"))
    with zipfile.ZipFile(bundle) as held:
        kept += "".join(held.read(name).decode() for name in held.namelist())
    kept += "".join(file.read_text(encoding="utf-8") for file in tmp_path.rglob("*.json"))
    assert "password" in kept
    assert [word for word in WORDS if word in kept] == []
