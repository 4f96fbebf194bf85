"""The lowest version of each dependency that is allowed, as constraints for pip: python -m tests.project.lowest.

    python -m tests.project.lowest >lowest.txt && pip install -c lowest.txt '.[test]' && python -m pytest -q -n auto

holds the lower bounds of `pyproject.toml` to what they promise.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

_BOUND = re.compile(r"(?P<name>[\w.-]+)>=(?P<version>[\w.]+)")


def constraints() -> Iterator[str]:
    """One line for each dependency of the package and of its tests."""
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    for each in (*project["dependencies"], *project["optional-dependencies"]["test"]):
        if bound := _BOUND.match(each):
            yield f"{bound['name']}=={bound['version']}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in constraints())
