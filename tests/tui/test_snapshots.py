"""The workspace looks as it looked. Taken anew by `python -m tests.tui.snapshots`; look at the difference before."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.driver import run
from tests.tui.snapshots import FOLDER, INCIDENT, PICTURES, audits, makers, take, words

EXACT = (FOLDER / "MADE_BY").read_text(encoding="utf-8").strip() == makers()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pictures")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return {name: path.resolve() for name, path in audits(folder).items()}


@pytest.mark.parametrize("name", PICTURES)
def test_it_looks_as_before(name: str, made: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    picture = PICTURES[name]
    audit = made[picture.data]
    monkeypatch.chdir(audit.parents[1])

    async def story() -> None:
        svg = await take(picture, audit.relative_to(audit.parents[1]))
        kept = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
        assert words(svg) == words(kept)
        if EXACT:  # pixels are those of one version of the library
            assert svg == kept

    run(story())


@pytest.mark.parametrize("name", INCIDENT)
def test_the_pictures_of_the_incident_tell_it(name: str) -> None:
    told = "\n".join(words((FOLDER / f"{name}.svg").read_text(encoding="utf-8"))).replace("&#160;", " ")
    for word in ("sess_1117_1042", "order_id"):
        assert word in told


def test_there_is_no_picture_too_many() -> None:
    assert {path.stem for path in FOLDER.glob("*.svg")} == {*PICTURES, *INCIDENT}


def test_ascii_pictures_are_ascii() -> None:
    told = "".join(words((FOLDER / "lanes-ascii.svg").read_text(encoding="utf-8"))).replace("&#160;", " ")
    assert told.isascii()
