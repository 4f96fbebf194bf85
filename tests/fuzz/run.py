"""Runs fuzz targets: `python -m tests.fuzz.run [--seconds N] [--seed N] [--keep DIR] [TARGET...]`, all unless named.

With atheris it follows coverage; without, it mutates the seeds at random, which finds less but runs anywhere. Each
target has a process of its own. `tests/fuzz/corpus/TARGET/` holds what was once found: it is run first, every time.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LARGEST = 20_000
_SPLICED = (
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\",
    b"\n",
    b"\x00",
    b"\xff",
    b"null",
    b"1e999",
    b'"type":',
    b"data: ",
)


def seeds(target: str) -> Iterator[bytes]:
    """What the target was once broken by, then small inputs that reach far into it."""
    from analyzer.read import ADAPTERS
    from tests.hostile.corpus import samples

    for file in sorted((HERE / "corpus" / target).glob("*")):
        yield file.read_bytes()
    if target in {"compare", "repair"}:
        from tests.hostile import schemas

        for _, data in list(schemas.cases())[::5]:
            first = data.partition(b'"parameters": ')[2].partition(b"}]}}}")[0]
            yield first[:LARGEST] + b"\n" + first[:LARGEST] + b'\n{"x":1}'
        return
    for name, data in samples():
        if target == "read":
            number = next((n for n, each in enumerate(ADAPTERS) if each.name.partition("-")[0] in name), 0)
            yield from (bytes([number]) + each for each in (data[:LARGEST], *data.splitlines()[:3]))
            continue
        if (
            target in {"sniff", "audit", "visible", "mask", "pointer"}
            or target.removeprefix("read-").partition("-")[0] in name
        ):
            yield data[:LARGEST]
            yield from data.splitlines()[:3]
    if target == "config":
        yield (ROOT / "sample_traces" / "formats" / "mapped.toml").read_bytes()


def once(target: str, seconds: float, *, seed: int = 0) -> int:
    """Mutate the seeds at random for so long; how many inputs were run. A broken target raises."""
    from tests.fuzz.targets import TARGETS

    run, rng = TARGETS[target], random.Random(f"{target} {seed}")
    held = [each for each in seeds(target) if each] or [b"{}"]
    until, count = time.monotonic() + seconds, 0
    for data in held[: len(list((HERE / "corpus" / target).glob("*")))]:
        run(data)
        count += 1
    while time.monotonic() < until:
        data = _mutated(rng, held)
        try:
            run(data)
        except Exception:
            (Path(tempfile.gettempdir()) / f"broke-{target}").write_bytes(data)
            raise
        count += 1
    return count


def _mutated(rng: random.Random, held: list[bytes]) -> bytes:
    data = bytearray(rng.choice(held))
    for _ in range(1 << rng.randrange(5)):
        at, to = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
        match rng.randrange(6):
            case 0:
                data[at:to] = b""
            case 1:
                data[at:at] = rng.choice(_SPLICED)
            case 2:
                other = rng.choice(held)
                since = rng.randrange(len(other))
                data[at:at] = other[since : since + rng.randrange(200)]
            case 3:
                data[at:at] = data[at : min(to, at + 300)]
            case 4 if data:
                data[min(at, len(data) - 1)] = rng.randrange(256)
            case _:
                data[at : at + 1] = rng.choice(_SPLICED)
        del data[LARGEST:]
    return bytes(data)


def _guided(target: str, seconds: float, keep: str | None, seed: int | None) -> int:
    """One target under atheris, in this process, which it ends."""
    import atheris

    with atheris.instrument_imports(include=["analyzer"]):
        from tests.fuzz.targets import TARGETS
    with tempfile.TemporaryDirectory() as folder:
        grown = Path(keep) / target if keep else Path(folder)
        grown.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(seeds(target)):
            (grown / f"seed-{number}").write_bytes(data)
        options = [f"-max_total_time={int(seconds)}", f"-max_len={LARGEST}", "-timeout=60", "-rss_limit_mb=4096"]
        options += [f"-artifact_prefix={tempfile.gettempdir()}/broke-{target}-", "-print_final_stats=1"]
        options += [] if seed is None else [f"-seed={seed}"]
        atheris.Setup([sys.argv[0], *options, str(grown)], TARGETS[target])
        atheris.Fuzz()
    return 0


def main() -> int:
    """Run each target in a process of its own; 1 where one broke."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run")
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--keep", help="A folder for the inputs that reach new code.")
    parser.add_argument(
        "--seed", type=int, help="Look where a run with this number looked; elsewhere each time unless given."
    )
    parser.add_argument("--here", action="store_true", help="Run the one target in this process.")
    given = parser.parse_args()
    guided = importlib.util.find_spec("atheris") is not None
    if given.here:
        if guided:
            return _guided(given.targets[0], given.seconds, given.keep, given.seed)
        return once(given.targets[0], given.seconds, seed=given.seed or 0) * 0
    from tests.fuzz.targets import TARGETS

    broken = []
    for target in given.targets or TARGETS:
        command = [sys.executable, "-m", "tests.fuzz.run", "--here", "--seconds", str(given.seconds), target]
        command += ["--keep", given.keep] if given.keep else []
        command += [] if given.seed is None else ["--seed", str(given.seed)]
        # Sets are gone through in the same order too.
        hashes = {} if given.seed is None else {"PYTHONHASHSEED": str(given.seed)}
        done = subprocess.run(command, cwd=ROOT, env=os.environ | hashes, capture_output=True, text=True, check=False)
        told = [line for line in done.stderr.splitlines() if "number_of_executed_units" in line or "cov:" in line]
        print(target, "sound" if done.returncode == 0 else "BROKE", *told[-1:], *told[-2:-1], flush=True)  # noqa: T201
        if done.returncode:
            broken.append(target)
            print(done.stderr[-3_000:], flush=True)  # noqa: T201
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
