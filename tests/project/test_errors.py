"""The tree of exceptions: as drawn, and worded the same way everywhere."""

from __future__ import annotations

import pickle
import re

import pytest

from analyzer import errors
from analyzer.errors import AnalyzerError, ConfigurationError, ContractFileError, InputError, UsageError


def test_the_tree_is_drawn_as_it_is() -> None:
    drawn = re.findall(r"^ *[└├]── (\w+)", errors.__doc__ or "", flags=re.MULTILINE)
    assert sorted(drawn) == errors.__all__
    assert all(issubclass(getattr(errors, name), AnalyzerError) for name in drawn)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, "no schema"),
        ({"file": "tools.json"}, "tools.json: no schema"),
        ({"file": "tools.json", "line": 7}, "tools.json:7: no schema"),
        ({"file": "tools.json", "line": 7, "pointer": "/a/0"}, "tools.json:7 /a/0: no schema"),
        ({"file": "tools.json", "pointer": ""}, "tools.json: no schema"),
        ({"line": 7}, "line 7: no schema"),
        ({"pointer": "/a"}, "/a: no schema"),
    ],
)
def test_a_message_begins_with_its_place(place: dict[str, str | int], text: str) -> None:
    assert str(ContractFileError("no schema", **place)) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (UsageError, ValueError),
        (ConfigurationError, ValueError),
        (ContractFileError, ValueError),
        (InputError, OSError),
    ],
)
def test_a_mistake_is_caught_by_the_name_a_caller_expects(kind: type[AnalyzerError], builtin: type[Exception]) -> None:
    with pytest.raises(builtin, match=r"^f:1: wrong$"):
        raise kind("wrong", file="f", line=1)


@pytest.mark.parametrize("name", errors.__all__)
def test_an_exception_comes_back_whole_from_another_process(name: str) -> None:
    sent = getattr(errors, name)("wrong", file="f", line=1, pointer="/a", advice="mend it")
    received = pickle.loads(pickle.dumps(sent))
    assert (type(received), str(received), received.advice) == (type(sent), "f:1 /a: wrong", "mend it")
