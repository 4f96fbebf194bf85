"""A program on a pseudo-terminal of its own: what it writes, when, and what a terminal would show of it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEYS = {
    "down": "\x1b[B",
    "up": "\x1b[A",
    "pagedown": "\x1b[6~",
    "pageup": "\x1b[5~",
    "home": "\x1b[H",
    "end": "\x1b[F",
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
}


class Terminal:
    """A child process on a pty; `output` is every byte that it wrote."""

    def __init__(
        self, command: Sequence[str], *, columns: int = 120, rows: int = 40, env: Mapping[str, str] | None = None
    ) -> None:
        self.output = bytearray()
        self.started = time.monotonic()
        pid, self.fd = pty.fork()
        if pid == 0:  # pragma: no cover - the child
            whole = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TEXTUAL_THEME")}
            whole |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": str(ROOT), **(env or {})}
            os.execvpe(command[0], list(command), whole)
        self.pid = pid
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds: float) -> bytes:
        """What comes within some seconds; empty when nothing does or the child is gone."""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return b""
        try:
            piece = os.read(self.fd, 1 << 16)
        except OSError:
            return b""
        self.output += piece
        return piece

    def until(self, text: bytes, seconds: float = 20.0, *, since: int = 0) -> float:
        """Read until the output after `since` bytes holds a text; give the seconds since the start, or TimeoutError."""
        end = time.monotonic() + seconds
        while text not in self.output[since:]:
            if time.monotonic() > end:
                raise TimeoutError(f"{text!r} did not appear; the last bytes are {bytes(self.output[-500:])!r}")
            self.read(0.05)
        return time.monotonic() - self.started

    def quiet(self, seconds: float = 0.25, most: float = 20.0) -> None:
        """Read until nothing came for some time."""
        end = time.monotonic() + most
        while time.monotonic() < end and self.read(seconds):
            pass

    def send(self, *keys: str) -> None:
        """Press keys, by name or as they are typed."""
        for key in keys:
            os.write(self.fd, KEYS.get(key, key).encode())

    def press(self, key: str, seconds: float = 5.0) -> tuple[float, float, int]:
        """Press one key: milliseconds to the first and to the last byte of the answer, and how many bytes it had."""
        began = time.monotonic()
        self.send(key)
        first = last = 0.0
        count = 0
        while piece := self.read(0.12 if count else seconds):
            last = (time.monotonic() - began) * 1000
            first = first or last
            count += len(piece)
        return first, last, count

    def memory(self) -> float:
        """Resident memory of the child in megabytes."""
        for line in Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0.0

    def end(self, seconds: float = 5.0) -> int | None:
        """Wait for the child to leave, else end it; gives its exit status, None where it had to be ended."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.quiet(0.05, 1.0)
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)
        return None


def workspace_command(*arguments: str) -> list[str]:
    """The command line of the workspace."""
    return [sys.executable, "-m", "analyzer", "tui", *arguments]
