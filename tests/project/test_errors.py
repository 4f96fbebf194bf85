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
        ({"file": "tools.json"}, "no schema at tools.json"),
        ({"file": "tools.json", "line": 7}, "no schema at tools.json:7"),
        ({"file": "tools.json", "line": 7, "pointer": "/a/0"}, "no schema at tools.json:7 /a/0"),
        ({"file": "tools.json", "pointer": ""}, "no schema at tools.json"),
        ({"line": 7}, "no schema at line 7"),
        ({"pointer": "/a"}, "no schema at /a"),
    ],
)
def test_a_message_ends_with_its_place(place: dict[str, str | int], text: str) -> None:
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
    with pytest.raises(builtin, match=r"^wrong at f:1$"):
        raise kind("wrong", file="f", line=1)


@pytest.mark.parametrize("name", errors.__all__)
def test_an_exception_comes_back_whole_from_another_process(name: str) -> None:
    sent = getattr(errors, name)("wrong", file="f", line=1, pointer="/a")
    received = pickle.loads(pickle.dumps(sent))
    assert (type(received), str(received), received.pointer) == (type(sent), "wrong at f:1 /a", "/a")
