"""The hostile corpus, which `python -m tests.hostile.corpus FOLDER [--large]` writes: the same bytes every time.

Each sample of `sample_traces/formats`, and a short Agents API session, is made hostile in each way of MUTATIONS;
beside them stand schemas, payloads and containers that ruin readers.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.hostile import containers, schemas
from tests.hostile.infect import infected
from tests.hostile.payloads import MARK, TEXTS, named_secrets, secrets
from tests.hostile.wire import session

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "sample_traces" / "formats"
#: Reads what `mapped.log` holds.
MAPPING = SAMPLES / "mapped.toml"


class Hostile(NamedTuple):
    """One input: the name of its file, its bytes, the sample it was made of (`""`: none), and what must not leak."""

    name: str
    data: bytes
    sample: str
    how: str
    secrets: tuple[str, ...] = ()


def corpus(*, seed: int = 0, large: bool = False) -> Iterator[Hostile]:
    """All inputs; `large` makes those larger whose size is the attack."""
    for number, (name, data) in enumerate(samples()):
        for how, mutate in MUTATIONS.items():
            made, leaks = mutate(data, name, random.Random(f"{seed} {number} {how}"))
            stem, _, suffix = name.partition(".")
            yield Hostile(f"{stem}.{how}.{suffix}", made, name, how, leaks)
    for how, source in (
        ("schemas", schemas.cases(large=large)),
        ("containers", containers.cases(SAMPLES, large=large)),
    ):
        yield from (Hostile(name, data, "", how) for name, data in source)


def samples() -> Iterator[tuple[str, bytes]]:
    """One harmless recording of each shape of each format."""
    schema = {"type": "object", "properties": {"x": {"type": "string", "description": "d"}}, "required": ["x"]}
    yield "openai-agents-api.ndjson", session(schema, '{"x":"y"}', output='{"z":"said"}', more=[("c2", '{"x":7}')])
    for path in sorted(SAMPLES.iterdir()):
        if path.suffix != ".toml":
            yield path.name, path.read_bytes()


Mutated = tuple[bytes, tuple[str, ...]]


def _said(kind: str) -> Callable[[bytes, str, random.Random], Mutated]:
    texts = TEXTS[kind]

    def mutate(data: bytes, name: str, rng: random.Random) -> Mutated:
        tail = rng.choice(texts)
        members = {f"{kind} {text}": text for text in texts}
        return infected(
            data,
            name,
            lambda text: f"{text} {rng.choice(texts)}",
            ids=lambda text: text + tail,
            members=members,
        ), ()

    return mutate


def _leaking(data: bytes, name: str, rng: random.Random) -> Mutated:
    seed = rng.randrange(1 << 30)
    found, named = secrets(seed), named_secrets(seed)
    told = iter(rng.sample(found, len(found)) * 1_000)
    by_id: dict[str, str] = {}
    # Those that are whole by themselves may be an identifier too.
    whole = iter(
        [each.text for each in rng.sample(found, len(found)) if each.text == each.value and "\n" not in each.text] * 100
    )

    def ids(text: str) -> str:
        return by_id.setdefault(text, next(whole)) if rng.random() < 0.5 or text in by_id else text

    members: dict[str, Any] = {**named, "notes": [each.text for each in found], found[0].text: "under a secret's name"}
    made = infected(data, name, lambda text: f"{text} {next(told).text}", ids=ids, members=members)
    return made, tuple(each.value for each in found) + tuple(named.values())


def _member(text: str) -> Callable[[bytes, str, random.Random], Mutated]:
    """A member put into every object, as written: what no encoder would write."""

    def mutate(data: bytes, name: str, rng: random.Random) -> Mutated:
        del rng
        if name.endswith((".eval", ".yaml")):
            return data[: len(data) // 2] + data[len(data) // 3 :], ()
        plain = data.replace(b'{"', b"{" + text.encode() + b',"')
        return plain.replace(b'{\\"', b"{" + text.replace("\\", "\\\\").replace('"', '\\"').encode() + b',\\"'), ()

    return mutate


def _torn(data: bytes, name: str, rng: random.Random) -> Mutated:
    del name
    return data[: rng.randrange(len(data) // 3, len(data))], ()


def _flipped(data: bytes, name: str, rng: random.Random) -> Mutated:
    del name
    made = bytearray(data)
    for _ in range(max(4, len(data) // 400)):
        made[rng.randrange(len(made))] = rng.choice(b'\x00\x1b"{}[]\\,:\xff\xef0-e\n')
    return bytes(made), ()


def _retyped(data: bytes, name: str, rng: random.Random) -> Mutated:
    """Values of another type than any reader expects."""
    if name.endswith((".eval", ".yaml")):
        return data[len(data) // 2 :] + data[: len(data) // 2], ()
    others = [b"null", b"true", b"[]", b"{}", b"-1", b"1e400", b'""', b"[null]", b'{"a":null}', b'"\\ud800"']
    value = re.compile(rb'(?<=":)\s*(?:"[^"\\]{0,40}"|-?\d+|true|false|null)(?=[,}\s])')
    return value.sub(lambda match: rng.choice(others) if rng.random() < 0.2 else match[0], data), ()


def _shuffled(data: bytes, name: str, rng: random.Random) -> Mutated:
    """Records missing, twice, and in another order."""
    del name
    lines = data.splitlines(keepends=True)
    return b"".join(rng.choices(lines, k=len(lines) * 2)), ()


MUTATIONS: dict[str, Callable[[bytes, str, random.Random], Mutated]] = {
    **{kind: _said(kind) for kind in TEXTS},
    "secrets": _leaking,
    "duplicates": _member('"type":"x","arguments":{},"id":1,"id":"2"'),
    "numbers": _member(
        '"n":9007199254740993,"m":1e999,"k":NaN,"i":-Infinity,"z":-0,"l":123456789012345678901234567890'
    ),
    "surrogates": _member(r'"\ud800":"\udc00 \ud83d","\u0000":"\u001b]0;PWNED\u0007"'),
    "deep": _member('"deep":' + "[" * 600 + "]" * 600),
    "long": _member('"long":"' + "long " * 200 + '"'),
    "torn": _torn,
    "flipped": _flipped,
    "retyped": _retyped,
    "shuffled": _shuffled,
}


def write(folder: Path, *, seed: int = 0, large: bool = False) -> list[Hostile]:
    """Write the corpus into a folder, and give what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    made = list(corpus(seed=seed, large=large))
    for each in made:
        (folder / each.name).write_bytes(each.data)
    return made


if __name__ == "__main__":
    written = write(Path(sys.argv[1]), large="--large" in sys.argv)
    print(f"{len(written)} inputs, {sum(len(each.data) for each in written)} bytes, marked {MARK}")  # noqa: T201
