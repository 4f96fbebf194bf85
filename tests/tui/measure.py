"""Measures the workspace on a real pseudo-terminal, beside an empty application of the same library.

    python -m tests.tui.measure [EVENTS] [--json]

Writes a saved audit of 1,000,000 events (or EVENTS) to a temporary folder, opens it, and prints medians, 99th
percentiles and the ratio to the empty application, measured in the same run. Shell and rows are seconds since the
command; all other times are milliseconds, of keys from writing one to the first byte of the answer.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.tui import saved
from tests.tui.terminal import Terminal, workspace_command

EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("empty shell")
    def key_j(self):
        self.pressed = getattr(self, "pressed", 0) + 1
        self.query_one(Static).update(str(self.pressed))
Empty().run()
"""
RUNS = 5


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def empty() -> dict[str, float]:
    starts, keys, memory = [], [], []
    for _ in range(RUNS):
        terminal = Terminal([sys.executable, "-c", EMPTY])
        starts.append(terminal.until(b"empty shell"))
        terminal.quiet()
        keys += [terminal.press("j")[0] for _ in range(20)]
        memory.append(terminal.memory())
        terminal.send("\x11")
        terminal.end()
    return {
        "shell": statistics.median(starts),
        "key_p50": statistics.median(keys),
        "key_p99": percentile(keys, 0.99),
        "memory": statistics.median(memory),
    }


def shell_and_rows(audit: Path) -> dict[str, float]:
    shells, rows = [], []
    for _ in range(RUNS):
        terminal = Terminal(workspace_command(str(audit)))
        shells.append(terminal.until(b"sessions"))
        rows.append(terminal.until(b"s000"))
        terminal.quiet()
        terminal.send("Q")
        terminal.end()
    return {"shell": statistics.median(shells), "rows": statistics.median(rows)}


def at_work(audit: Path, events: int) -> dict[str, float]:
    out: dict[str, float] = {}
    terminal = Terminal(workspace_command(str(audit)))
    terminal.until(b"s000")
    terminal.quiet(1.0)
    terminal.send("a")
    terminal.until(b"ARG001")
    terminal.quiet(0.5)
    began = time.monotonic()
    terminal.send("a")
    terminal.until(f" of {events:,}".encode())
    out["events_table"] = (time.monotonic() - began) * 1000
    terminal.quiet(1.0)
    firsts: list[float] = []  # of every key that moves
    for name, key, times in (("down", "j", 60), ("page", "pagedown", 30), ("end", "G", 1)):
        pressed = [terminal.press(key) for _ in range(times)]
        firsts += [first for first, _, _ in pressed]
        out[f"{name}_p50"] = statistics.median(first for first, _, _ in pressed)
        out[f"{name}_p99"] = percentile([first for first, _, _ in pressed], 0.99)
        out[f"{name}_bytes"] = statistics.median(count for _, _, count in pressed)
    jumps = [terminal.press(key) for _ in range(8) for key in ("g", "G")]
    out["jump_p50"] = statistics.median(first for first, _, _ in jumps)
    ups = [terminal.press("k")[0] for _ in range(30)]
    out["up_at_end_p50"] = statistics.median(ups)
    firsts += [first for first, _, _ in jumps] + ups
    out["keys_p50"], out["keys_p99"] = statistics.median(firsts), percentile(firsts, 0.99)
    terminal.quiet()
    filters = []
    kept = {"type:tool": events // 10, "turn_777": 440 if events >= 1_000_000 else 0, "kind=delta": events * 8 // 10}
    for word, count in kept.items():
        filter_prompt(terminal, word)
        began, before = time.monotonic(), len(terminal.output)
        terminal.send("enter")
        while f" of {count:,}".encode() not in terminal.output[before:]:
            terminal.read(0.02)
            if time.monotonic() - began > 10:
                break
        filters.append((time.monotonic() - began) * 1000)
        terminal.quiet(0.5)
    out["filter_median"] = statistics.median(filters)
    filter_prompt(terminal, "!delta turn~777")
    terminal.send("enter")
    # A key that comes while the prompt closes is lost with it, and answers nothing.
    during = [first for first in (terminal.press("j", 1.0)[0] for _ in range(6)) if first]
    out["key_while_filtering"] = statistics.median(during) if during else float("nan")
    terminal.quiet(0.5)
    out["memory"] = terminal.memory()
    terminal.send("Q")
    began = time.monotonic()
    assert terminal.end() == 0
    out["leaving"] = (time.monotonic() - began) * 1000
    return out


def filter_prompt(terminal: Terminal, text: str) -> None:
    """Open the prompt, empty it and type: keys that come before it is open would be commands."""
    before = len(terminal.output)
    terminal.send("f")
    terminal.until(b"filter: word", since=before)
    terminal.quiet(0.5)
    terminal.send("\x15")
    terminal.quiet(0.3)
    for character in text:
        terminal.send(character)
        terminal.quiet(0.03)
    terminal.quiet(0.3)


def big_event(folder: Path) -> dict[str, float]:
    """An event of 100,000 leaves: from entering its row to its first line."""
    audit = saved.write(folder, 400, big=100_000)
    terminal = Terminal(workspace_command(str(audit)))
    terminal.until(b"1 of 1")
    terminal.quiet(0.6)
    terminal.send("a")
    terminal.quiet(0.6)
    times = []
    for _ in range(5):
        terminal.send("j")
        terminal.quiet(0.4)
        before, began = len(terminal.output), time.monotonic()
        terminal.send("k")
        while b"leaves" not in terminal.output[before:] and time.monotonic() - began < 10:
            terminal.read(0.01)
        times.append((time.monotonic() - began) * 1000)
        terminal.quiet(0.4)
    terminal.send("Q")
    terminal.end()
    return {"big_event": statistics.median(times)}


def measure(events: int) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        audit = saved.write(Path(folder) / "many", events)
        base = empty()
        start = shell_and_rows(audit)
        work = {**at_work(audit, events), **big_event(Path(folder) / "big")}
    ratios = {
        "shell": start["shell"] / base["shell"],
        "rows": start["rows"] / base["shell"],
        "down": work["down_p50"] / base["key_p50"],
        "memory": work["memory"] / base["memory"],
    }
    return {"empty": base, "start": start, "work": work, "ratio_to_empty": ratios}


def main() -> None:
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    found = measure(numbers[0] if numbers else 1_000_000)
    if "--json" in sys.argv:
        sys.stdout.write(json.dumps(found, indent=1) + "\n")
        return
    for part, figures in found.items():
        sys.stdout.write(f"{part}\n")
        for name, value in figures.items():
            sys.stdout.write(f"  {name:<22}{value:>12.2f}\n")


if __name__ == "__main__":
    main()
