"""Measures a warm night beside a cold one: `batch` over many unchanged files.

    python -m tests.perf.nights [FILES] [KILOBYTES]

Writes so many logs (10,000 of 200 kB unless told otherwise) of one session each, runs `batch` twice as a process of its
own, and prints CPU and wall time of both and their ratio. The findings of both nights are compared.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.batch.nights import log, story

PIECE = "a sentence of an answer, as models write them; " * 8


def write(folder: Path, files: int, size: int) -> None:
    """Logs of about so many bytes: a call, and an answer in pieces."""
    for number in range(files):
        session = f"sess_{number:06}"
        events = story(session, {"id": "x"} if number % 50 else {"id": number})
        turn = f"turn_{session}"
        pieces = max(0, size // 500)
        deltas = [
            {
                "event_id": f"evt_{session}_d{at}",
                "session_id": session,
                "sequence_number": 2,
                "type": "agent.session.turn.output_text.delta",
                "turn_id": turn,
                "delta": PIECE,
            }
            for at in range(pieces)
        ]
        whole = [*events[:2], *deltas, *events[2:]]
        for at, event in enumerate(whole, 1):
            event["sequence_number"] = at
        log(folder / f"{number // 500:03}", f"{number:06}.ndjson", whole)


def night(store: Path, logs: Path) -> tuple[float, float, dict[str, object]]:
    """CPU and wall seconds of one run, and its trend."""
    before, since = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "analyzer", "batch", "--store", str(store), "--output-format", "json", str(logs)]
    done = subprocess.run(command, capture_output=True, check=False)
    wall, after = time.perf_counter() - since, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr.decode())
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, json.loads(done.stdout)


def main() -> None:
    numbers = [int(word) for word in sys.argv[1:]]
    files, size = (numbers + [10_000, 200][len(numbers) :])[:2]
    with tempfile.TemporaryDirectory() as folder:
        logs, store = Path(folder) / "logs", Path(folder) / "store"
        write(logs, files, size * 1000)
        whole = sum(file.stat().st_size for file in logs.rglob("*.ndjson"))
        cold, warm = night(store, logs), night(store, logs)
    assert [change["count"] for change in cold[2]["changes"]] == [change["count"] for change in warm[2]["changes"]]  # type: ignore[attr-defined]
    sys.stdout.write(f"{files} files, {whole / 1e9:.2f} GB\n")
    for name, (cpu, wall, _) in (("cold", cold), ("warm", warm)):
        sys.stdout.write(f"{name}: {cpu:.1f} s of CPU, {wall:.1f} s\n")
    sys.stdout.write(f"warm to cold: {warm[0] / cold[0]:.3f} of the CPU, {warm[1] / cold[1]:.3f} of the time\n")


if __name__ == "__main__":
    main()
