"""Nothing in a log is fetched or run: by any command or reader, in Python or below it.

Two guards. A child process refuses every socket, program, unpickled class and module from beside a log by an audit
hook, which Python code cannot get around. A server that listens sees what native code would ask for.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.corpus import MAPPING, SAMPLES, corpus
from tests.hostile.running import report_formats, run
from tests.hostile.wire import session

ROOT = Path(__file__).resolve().parents[2]

CHILD = """
import sys
from analyzer.cli import main
import analyzer.auditing, analyzer.read, analyzer.report.bundle  # loaded before

REFUSED = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.startfile",
           "pickle.find_class", "sqlite3.enable_load_extension", "sqlite3.load_extension", "urllib.", "http.",
           "ftplib.",
           "smtplib.", "webbrowser.")
asked = []

def hook(event, arguments):
    if event.startswith(REFUSED):
        asked.append((event, repr(arguments)[:200]))
        raise RuntimeError(event)
    if event == "import" and arguments[1] and not str(arguments[1]).startswith(PREFIXES):
        asked.append((event, repr(arguments)[:200]))

PREFIXES = tuple({*filter(None, sys.path), sys.prefix, sys.base_prefix})
sys.addaudithook(hook)
import io, json, contextlib
for command in json.loads(sys.argv[1]):
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = main(command)
    if status not in (0, 1, 2, 3):
        asked.append(("status", f"{status}: {command[:6]}"))
print("CHILD " + json.dumps(asked))
"""


def _commands(path: str, out: Path) -> list[list[str]]:
    """Every command but the workspace, which needs a terminal."""
    contracts = str(ROOT / "sample_traces" / "contracts.json")
    return [
        ["audit", *(each for form in report_formats() for each in ("-o", f"{form}={out / form}")), path],
        ["audit", "--strict", "--assert-formats", "--contracts", contracts, "--save", str(out / "saved"), path],
        ["show", path],
        ["show", "--bundle", str(out / "x.zip"), path],
        ["show", "--verify", str(out / "x.zip"), path],
        ["gate", path],
        ["batch", "--store", str(out / "store"), path],
        ["query", "--over", "events", "$[*]", path],
        ["query", "--over", "findings", "[]", path],
        ["diff", path],
        ["contracts", "list", path],
        ["contracts", "lint", path],
        ["contracts", "pin", "--into", str(out / "pins"), path],
        ["contracts", "diff", str(out / "pins"), contracts],
        ["contracts", "tighten", path],
        ["replay", "--against", contracts, path],
        ["rules"],
        ["rules", "ARG001"],
        ["formats"],
        *(["formats", "--try", str(file)] for file in sorted(Path(path).iterdir())[:60]),
    ]


def _asked(commands: list[list[str]], folder: Path) -> list[list[str]]:
    told = [[*each, "--config", str(MAPPING)] if each[0] not in {"rules", "formats"} else each for each in commands]
    done = subprocess.run(
        [sys.executable, "-P", "-c", CHILD, json.dumps(told)],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    found: list[list[str]] = json.loads(done.stdout.rpartition("CHILD ")[2])
    return found


def test_no_command_asks_for_anything_over_a_log_of_every_format(tmp_path: Path) -> None:
    assert _asked(_commands(str(SAMPLES), tmp_path), tmp_path) == []


def test_no_reader_runs_what_containers_hold(tmp_path: Path) -> None:
    place, out = tmp_path / "logs", tmp_path / "out"
    for folder in (place, out):
        folder.mkdir()
    for each in corpus():
        if each.how == "containers":
            (place / each.name).write_bytes(each.data)
    # Modules beside a log, of the names that are loaded late, must not be taken for the real ones.
    for name in ("jsonschema", "yaml", "deepdiff", "isal"):
        (place / f"{name}.py").write_text("raise SystemExit(99)")
    commands = [["audit", "--output-format", "json", "-o", str(out / "json"), str(place)]]
    commands += [["formats", "--try", str(file)] for file in sorted(place.iterdir())]
    assert _asked(commands, place) == []
    assert [path.name for path in tmp_path.rglob("*") if path.name == "PWNED"] == []


@pytest.mark.parametrize("where", ["$ref", "$dynamicRef", "$schema", "$id", "$recursiveRef"])
def test_a_server_on_this_machine_is_not_asked(tmp_path: Path, where: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/x.json"
        inner = {"$ref": "y.json"} if where == "$id" else {}
        schema = {where: address, "type": "object", "properties": {"x": {where: address, **inner}}}
        file, contract = tmp_path / "log.ndjson", tmp_path / "f.arguments.json"
        file.write_bytes(session(schema, '{"x":1}'))
        contract.write_text(json.dumps(schema))
        for command in (
            ("audit", "--contracts", str(contract), str(file)),
            ("contracts", "lint", str(contract), str(file)),
            ("contracts", "diff", str(contract), str(contract), str(file)),
            ("contracts", "tighten", str(file)),
            ("replay", "--against", str(contract), str(file)),
            ("show", "--call", "c", str(file)),
        ):
            assert run(*command).status in {0, 1, 2, 3}
        with pytest.raises(BlockingIOError):
            server.accept()


def test_modules_beside_a_log_are_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "log.ndjson").write_bytes(session({"type": "object"}, "{}"))
    for name in ("polars", "yaml", "isal", "jsonschema_rs", "msgspec", "json", "ray", "click"):
        (tmp_path / f"{name}.py").write_text("print('PWNED')")
    done = subprocess.run(
        [sys.executable, "-m", "analyzer", "audit", "."],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    assert "PWNED" not in done.stdout + done.stderr
