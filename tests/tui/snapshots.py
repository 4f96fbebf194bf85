"""Pictures of the workspace: which ones there are, how they are made, and the command that makes them anew.

python -m tests.tui.snapshots
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from analyzer.tui.screens import proving, querybar
from tests.tui import saved
from tests.tui.driver import opened
from tests.tui.hostile import PAYLOADS

FOLDER = Path(__file__).parent / "snapshots"
ROOT = Path(__file__).resolve().parents[2]
SMALL, MIDDLE, LARGE = (80, 24), (100, 30), (160, 50)


class Picture(NamedTuple):
    """One picture: the data, the keys that lead there, and how the terminal is."""

    data: str  # plain, hostile, sample
    keys: tuple[str, ...]
    size: tuple[int, int] = MIDDLE
    ascii_only: bool = False
    theme: str | None = None
    no_color: bool = False


PICTURES = {
    "overview-small": Picture("plain", (), SMALL),
    "overview": Picture("plain", ()),
    "workspace-small": Picture("plain", ("enter",), SMALL),
    "workspace": Picture("plain", ("enter", "enter")),
    "workspace-large": Picture("plain", ("a", "j", "enter", "enter"), LARGE),
    "schema-small": Picture("plain", ("enter", "enter", "s"), SMALL),
    "events-light": Picture("plain", ("enter", "a", "j"), MIDDLE, theme="audit-light"),
    "query": Picture("plain", ("enter", "enter", "full_stop")),
    "repair": Picture("plain", ("enter", "d")),
    "contracts": Picture("plain", ("enter", "c")),
    "versions-large": Picture("plain", ("enter", "c", "j", "j", "enter"), LARGE),
    "lanes": Picture("plain", ("enter", "t", "plus", "plus", "plus", "plus")),
    "lanes-ascii": Picture("plain", ("enter", "t"), ascii_only=True),
    "raw": Picture("plain", ("enter", "i", "s")),
    "help": Picture("plain", ("enter", "enter", "question_mark")),
    "monochrome": Picture("plain", ("enter", "enter"), no_color=True),
    "hostile": Picture("hostile", ("a", "enter"), LARGE),
}
# For the README: they change with the rules, so the tests look at what they tell and not at every pixel.
INCIDENT = {
    "incident": Picture("sample", ("e", "e", "enter"), (120, 36)),
    "incident-repair": Picture("sample", ("e", "e", "d"), (120, 24)),
}
_UNIQUE = re.compile(r"terminal-\d+-")


def clean(svg: str) -> str:
    """A picture without the marks of its making."""
    return _UNIQUE.sub("terminal-", svg)


def words(svg: str) -> list[str]:
    """What can be read in a picture, line by line."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def makers() -> str:
    """The libraries that a picture's pixels depend on."""
    return f"textual {version('textual')} rich {version('rich')}"


async def take(picture: Picture, audit: Path) -> str:
    """Take one picture."""
    session = "sess_1117_1042" if picture.data == "sample" else None
    with _colour(picture.no_color):
        async with opened(
            audit, size=picture.size, ascii_only=picture.ascii_only, theme=picture.theme, session=session
        ) as driver:
            driver.app.name_of_input = audit.name
            await driver.press(*picture.keys)
            if "full_stop" in picture.keys:
                await driver.until(lambda: "1 match" in driver.text())
            if "d" in picture.keys:
                await driver.until(lambda: "valid against" in driver.text())
            await driver.rest()
            return clean(driver.app.export_screenshot(title="analyzer tui"))


@contextmanager
def _colour(no_color: bool) -> Iterator[None]:
    before = os.environ.pop("NO_COLOR", None)
    if no_color:
        os.environ["NO_COLOR"] = "1"
    try:
        yield
    finally:
        os.environ.pop("NO_COLOR", None)
        if before is not None:
            os.environ["NO_COLOR"] = before


def audits(folder: Path) -> dict[str, Path]:
    """The data of the pictures, with paths that are the same on every machine."""
    os.chdir(folder)
    plain = saved.write(Path("plain"), 4_000, sessions=4)
    hostile = saved.write(Path("hostile"), 1_500, sessions=15, strange=tuple(PAYLOADS.values()), faults=50)
    return {"plain": plain, "hostile": hostile}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = f"{folder}/state"  # without the marks of whoever takes them
        proving._REST, querybar._PAUSE = 0.001, 0.02  # as in the tests, which wait for nothing else
        made = audits(Path(folder))
        for name, picture in PICTURES.items():
            svg = asyncio.run(take(picture, made[picture.data]))
            (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")
        os.chdir(ROOT)
        for name, picture in INCIDENT.items():
            svg = asyncio.run(take(picture, Path("sample_traces")))
            (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")
    (FOLDER / "MADE_BY").write_text(makers() + "\n", encoding="utf-8")
    shutil.rmtree(FOLDER / "__pycache__", ignore_errors=True)
    sys.stdout.write(f"{len(PICTURES) + len(INCIDENT)} pictures in {FOLDER}\n")


if __name__ == "__main__":
    main()
