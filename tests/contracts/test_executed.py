"""Python callables and models as the executed side."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from analyzer.cli import main
from analyzer.contracts.executed import load_executed
from analyzer.contracts.files import Contracts
from analyzer.contracts.verdicts.engine import Judge
from analyzer.errors import UsageError
from tests.audit.wire import action, added, answered, asked, begun, called, done, ended, function

_NUMBERS = count()


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes a module that no other test has imported, and gives its name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(code: str) -> str:
        name = f"executed_sample_{next(_NUMBERS)}"
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
        return name

    return write


def takes(contracts: Contracts, tool: str, value: Any, role: str = "arguments") -> bool:
    entry = contracts.find(tool, role)
    assert entry is not None, (tool, role)
    return Judge(entry.schema, dialect=entry.dialect).judge(value)[0] == "valid"


def test_a_function_takes_what_its_signature_takes(written: Any) -> None:
    name = written(
        "from typing import Literal\n"
        "async def refund(id: str, cents: int, why: Literal['late', 'lost'] = 'late', *, note=None) -> bool: ...\n"
    )
    found = load_executed([f"{name}:refund"])
    assert [(each.tool, each.role, each.channel, each.line) for each in found.entries] == [
        ("refund", "arguments", "code", 2)
    ]
    assert Path(found.entries[0].file).name == f"{name}.py"
    assert takes(found, "refund", {"id": "o", "cents": 5})
    assert takes(found, "refund", {"id": "o", "cents": 5, "why": "lost", "note": [1]})
    for wrong in ({"id": "o"}, {"id": "o", "cents": "5"}, {"id": "o", "cents": 5, "because": 1}):
        assert not takes(found, "refund", wrong)


def test_a_dataclass_a_typed_dict_and_what_is_returned(written: Any) -> None:
    name = written(
        "from dataclasses import dataclass\nfrom typing import TypedDict\n"
        "@dataclass\nclass Order:\n    id: str\n    cents: int = 0\n"
        "class Query(TypedDict):\n    text: str\n"
        "def get(id: str) -> Order | None: ...\n"
        "tools = {'shop/get': get, 'search': Query, 'put': Order}\n"
        "many = [get, Order]\n"
    )
    found = load_executed([f"{name}:tools"])
    assert [(each.server, each.tool, each.role) for each in found.entries] == [
        ("shop", "get", "arguments"),
        ("shop", "get", "output"),
        (None, "search", "arguments"),
        (None, "put", "arguments"),
    ]
    assert takes(found, "search", {"text": "x"})
    assert not takes(found, "search", {})
    assert not takes(found, "put", {"id": 1})
    [output] = [each for each in found.entries if each.role == "output"]
    judge = Judge(output.schema, dialect=output.dialect)
    assert [judge.judge(each)[0] for each in (None, {"id": "x"}, {"id": 7})] == ["valid", "valid", "invalid"]
    assert [each.tool for each in load_executed([f"{name}:many"]).entries] == ["get", "get", "Order"]


def test_pydantic_models_and_fields_keep_their_bounds(written: Any) -> None:
    pytest.importorskip("pydantic")
    name = written(
        "from typing import Annotated\nfrom pydantic import BaseModel, ConfigDict, Field\n"
        "class Refund(BaseModel):\n    model_config = ConfigDict(extra='forbid')\n"
        "    order_id: str = Field(pattern='^ord_')\n"
        "def refund(cents: Annotated[int, Field(gt=0)], to: str = Field(min_length=2)) -> Refund: ...\n"
    )
    found = load_executed([f"{name}:Refund", f"{name}:refund"])
    assert takes(found, "Refund", {"order_id": "ord_1"})
    assert not takes(found, "Refund", {"order_id": "1"})
    assert not takes(found, "Refund", {"order_id": "ord_1", "x": 1})
    assert takes(found, "refund", {"cents": 1, "to": "me"})
    for wrong in ({"cents": 0, "to": "me"}, {"cents": 1, "to": "m"}, {"cents": 1}):
        assert not takes(found, "refund", wrong)
    assert takes(found, "refund", {"order_id": "ord_1"}, "output")


@pytest.mark.parametrize(
    ("code", "rest", "said"),
    [
        ("", "", "package.module:name"),
        ("", ":absent", "has no 'absent'"),
        ("raise SystemExit(3)", ":x", "cannot be imported: SystemExit"),
        ("x = 3", ":x", "int"),
        ("x = {}", ":x", "empty"),
        ("x = {1: print}", ":x", "names of tools"),
        ("class T: ...\ndef x(ctx: T): ...", ":x", "`ctx`"),
        ("def x(a: 'Nowhere'): ...", ":x", "Nowhere"),
        ("x = [lambda a: a]", ":x", "has no name"),
    ],
)
def test_what_cannot_be_used_is_named(written: Any, code: str, rest: str, said: str) -> None:
    name = written(code)
    with pytest.raises(UsageError) as caught:
        load_executed([name + rest])
    assert said in str(caught.value)
    assert name in str(caught.value)


def test_a_module_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match=r"no_such_package.*ModuleNotFoundError"):
        load_executed(["no_such_package.tools:x"])


def test_without_pydantic_a_model_says_what_it_needs(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pydantic")
    name = written("from pydantic import BaseModel\nclass M(BaseModel):\n    a: int\n")
    __import__(name)  # the model is there, and then pydantic cannot be imported
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(UsageError, match="pydantic"):
        load_executed([f"{name}:M"])


def test_pydantic_is_not_loaded_for_plain_functions(written: Any, tmp_path: Path, root: Path) -> None:
    name = written("def get(id: str) -> dict: ...\n")
    code = (
        f"import sys; from analyzer.contracts.executed import load_executed; load_executed(['{name}:get']); "
        "print('pydantic' in sys.modules)"
    )
    environment = {"PYTHONPATH": str(root)}
    done_ = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done_.stdout == "False\n"


def test_the_audit_compares_what_was_advertised_with_the_code(
    written: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = written("print('imported')\ndef get(id: str, limit: int): ...\n")
    log = tmp_path / "log.jsonl"
    events = [*begun(), added(called()), asked(action()), added(answered(), index=None), done(called()), *ended()]
    log.write_text("".join(json.dumps(each) + "\n" for each in events), encoding="utf-8")
    status = main(["audit", "--executed", f"{name}:get", "--output-format", "json", str(log)])
    out, _ = capsys.readouterr()
    report = json.loads(out)
    [drift] = [each for each in report["findings"] if each["rule"] == "DRIFT001"]
    assert status == 1
    assert "the code" in drift["message"].lower()
    assert [each["call_id"] for each in drift["related"]] == ["c1"]
    assert main(["audit", str(log)]) == 0
    capsys.readouterr()
    assert main(["replay", "--against", f"{name}:get", "--output-format", "json", str(log)]) == 1
    assert json.loads(capsys.readouterr()[0])["counts"]["broken"] == 1
    wider = written("def get(id: str): ...\n")
    assert main(["contracts", "diff", f"{wider}:get", f"{name}:get"]) == 1
    assert "callers break" in capsys.readouterr()[0]


def test_code_judges_where_nothing_is_advertised(
    written: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = written("def other(limit: int): ...\n")
    log = tmp_path / "log.jsonl"
    wrong: dict[str, Any] = {"name": "other", "arguments": {"limit": "five"}}
    tools = (function("get"), {"type": "function", "name": "other"})
    events = [*begun(tools=tools), added(called(**wrong)), asked(action(**wrong), tools=tools)]
    events += [added(answered(), index=None), done(called(**wrong)), *ended(tools=tools)]
    log.write_text("".join(json.dumps(each) + "\n" for each in events), encoding="utf-8")
    main(["audit", "--executed", f"{name}:other", "--output-format", "json", str(log)])
    findings = json.loads(capsys.readouterr()[0])["findings"]
    [found] = [each for each in findings if each["rule"] == "ARG001"]
    assert found["contract"]["channel"] == "code"
    assert found["contract"]["file"].endswith(f"{name}.py")
    assert "the executed code" in found["message"]
