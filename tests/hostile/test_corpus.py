"""Every command over the hostile corpus: nothing crashes, hangs, leaks, runs, or reaches a terminal or a page alive.

The corpus is audited folder by folder here, one folder for each sample and one for what no sample is; with `-m long`
file by file, and larger where size is the attack.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.hostile.corpus import MAPPING, MUTATIONS, Hostile, corpus, samples, write
from tests.hostile.running import faults, leaks, no_sockets, report_formats, run

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = str(ROOT / "sample_traces" / "contracts.json")

JSON = ("json-file", ("audit", "--output-format", "json", "-o", "{out}"))
#: (what the output is, the command without its paths); `{out}` is a new place to write to.
COMMANDS: list[tuple[str, tuple[str, ...]]] = [
    JSON,
    *((form, ("audit", "--output-format", form)) for form in report_formats() if form not in {"json", "parquet"}),
    ("text", ("audit", "--statistics", "--strict", "--assert-formats", "--contracts", CONTRACTS)),
    ("files", ("audit", "--save", "{out}")),
    ("files", ("audit", "--output-format", "parquet", "-o", "{out}.parquet")),
    ("text", ("show",)),
    ("jsonl", ("gate",)),
    ("text", ("query", "--over", "events", "$[*]")),
    ("jsonl", ("query", "--over", "calls", "--output-format", "json", "$[*]")),
    ("jsonl", ("query", "--over", "results", "--output-format", "json", "[]")),
    ("jsonl", ("query", "--over", "findings", "--output-format", "json", "[]")),
    ("text", ("diff",)),
    ("json", ("diff", "--output-format", "json")),
    ("text", ("contracts", "list")),
    ("json", ("contracts", "list", "--output-format", "json")),
    ("text", ("contracts", "lint")),
    ("json", ("contracts", "lint", "--output-format", "json")),
    ("files", ("contracts", "tighten", "--all", "-o", "{out}.json")),
    ("json", ("contracts", "tighten", "--output-format", "json")),
    ("files", ("contracts", "pin", "--into", "{out}")),
    ("files", ("show", "--bundle", "{out}.zip")),
    ("files", ("batch", "--store", "{out}")),
    ("json", ("replay", "--against", CONTRACTS, "--output-format", "json")),
    ("text", ("replay", "--against", CONTRACTS)),
]


#: Mutations that leave every record readable: what is not taken for its format then tests nothing.
SOFT = frozenset(MUTATIONS) - {"torn", "flipped", "retyped", "shuffled", "duplicates", "deep"}
FOLDERS = (*(name for name, _ in samples()), "schemas", "containers")


@pytest.fixture(scope="module")
def made() -> dict[str, list[Hostile]]:
    """The corpus by what it was made of."""
    found: dict[str, list[Hostile]] = defaultdict(list)
    for each in corpus():
        found[each.sample or each.how].append(each)
    return dict(found)


def test_the_corpus_is_large_and_always_the_same(made: dict[str, list[Hostile]]) -> None:
    listed = [each for held in made.values() for each in held]
    assert tuple(made) == FOLDERS
    assert len({each.name for each in listed}) == len(listed) >= 600
    again = {each.name: each.data for each in corpus()}
    assert [each.name for each in listed if again[each.name] != each.data] == []


def _laid(inputs: list[Hostile], place: Path) -> tuple[Path, list[str]]:
    """The inputs as files of a new folder, and the secrets in them."""
    place.mkdir()
    for each in inputs:
        (place / each.name).write_bytes(each.data)
    return place, [secret for each in inputs for secret in each.secrets]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_command_gives_way(
    folder: str, made: dict[str, list[Hostile]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place, secrets = _laid(made[folder], tmp_path / folder)
    # Each folder meets some of the commands, and each command some of the folders.
    number = FOLDERS.index(folder)
    some = COMMANDS[1 + number % 14 :: 14]
    assert list(_wrong([JSON, *some], str(place), secrets, tmp_path / "out", limit=60)) == []
    assert {path.name for path in tmp_path.iterdir() if not path.name.startswith("out")} == {folder}
    report = json.loads((tmp_path / "out.json").read_bytes())
    known = {Path(each["path"].partition("!")[0]).name for each in report["inputs"] if each["format"]}
    read = {each.data for each in made[folder] if each.name in known}  # of files with the same bytes one is read
    soft = {each.name for each in made[folder] if each.sample and each.how in SOFT and each.data not in read}
    assert soft - known == set()


@pytest.mark.long
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_command_meets_every_folder(
    folder: str, made: dict[str, list[Hostile]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place, secrets = _laid(made[folder], tmp_path / folder)
    assert list(_wrong(COMMANDS, str(place), secrets, tmp_path / "out", limit=120)) == []


@pytest.mark.long
def test_no_command_gives_way_to_any_file_alone(tmp_path: Path) -> None:
    wrong: list[str] = []
    os.chdir(tmp_path)
    for number, each in enumerate(write(tmp_path / "corpus", seed=1)):
        wrong += _wrong(COMMANDS, str(tmp_path / "corpus" / each.name), each.secrets, tmp_path / str(number), limit=120)
    assert wrong == []


@pytest.mark.long
def test_no_audit_gives_way_to_size(tmp_path: Path) -> None:
    wrong: list[str] = []
    os.chdir(tmp_path)
    for each in corpus(large=True):
        if each.sample:
            continue
        (tmp_path / each.name).write_bytes(each.data)
        wrong += _wrong(
            [JSON, ("text", ("audit",))], str(tmp_path / each.name), each.secrets, tmp_path / "out", limit=300
        )
        (tmp_path / each.name).unlink()
    assert wrong == []


def _wrong(
    commands: list[tuple[str, tuple[str, ...]]],
    path: str,
    secrets: list[str] | tuple[str, ...],
    out: Path,
    *,
    limit: float,
) -> Iterator[str]:
    for number, (form, command) in enumerate(commands):
        place = f"{out}.{number}"
        arguments = [each.replace("{out}", place) for each in command]
        if form == "json-file":
            place = arguments[-1] = f"{out}.json"
        with no_sockets():
            done = run(*arguments, "--config", str(MAPPING), path, limit=limit)
        for problem in faults(done, form=form, secrets=secrets):
            yield f"{' '.join(command)} {Path(path).name}: {problem}"
        if form in {"files", "json-file"}:
            for text in _written(Path(place)):
                yield from (f"{' '.join(command)} {Path(path).name}: a file {each}" for each in leaks(text, secrets))


def _written(place: Path) -> Iterator[str]:
    """What a command wrote, as texts: of frames their values."""
    for file in sorted([*place.parent.glob(f"{place.name}*"), *place.rglob("*")]):
        if file.is_file():
            yield (
                repr(pl.read_parquet(file).to_dicts())
                if file.suffix == ".parquet"
                else file.read_text(errors="replace")
            )
