"""Where the command line writes: results on standard output or into a file, everything else on standard error."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import traceback
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import IO

from analyzer.errors import AnalyzerError, ConfigurationError, ContractFileError, InputError, UsageError

PLAIN_WIDTH = 80  # of what does not go to a terminal: the same bytes everywhere
_WIDEST = 120
_ADVICE: dict[type[AnalyzerError], str] = {
    ConfigurationError: "put the setting right, or name another file with --config",
    ContractFileError: "correct the file, or leave it out",
    InputError: "check the path and its permissions",
}


def colour(*, wanted: bool = True) -> bool:
    """Whether standard output shows colour: a terminal that knows it, and neither NO_COLOR nor `--no-color`."""
    return wanted and sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Columns to write for: the terminal's, within reason."""
    return min(shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns, _WIDEST) if sys.stdout.isatty() else PLAIN_WIDTH


def write(*pieces: str) -> None:
    """Write to standard output; a reader that has gone is no failure."""
    deliver((piece.encode() for piece in pieces), None)


def deliver(pieces: Iterable[bytes], file: str | None) -> None:
    """Write UTF-8 to a file, which appears whole or not at all, or to standard output."""
    if file is not None:
        _into(Path(file), pieces)
        return
    out = sys.stdout
    exact = (out.encoding or "utf-8").lower().replace("-", "") == "utf8"
    try:
        out.flush()
        for piece in pieces:
            if exact and hasattr(out, "buffer"):
                out.buffer.write(piece)
            else:  # a terminal of another encoding shows escapes rather than failing
                encoding = out.encoding or "ascii"
                out.write(piece.decode().encode(encoding, "backslashreplace").decode(encoding))
        out.flush()
    except BrokenPipeError:
        silence()


def silence() -> None:
    """Send the rest of standard output nowhere: its reader has gone, and the interpreter would complain at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _into(path: Path, pieces: Iterable[bytes]) -> None:
    try:
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):  # a device or pipe cannot be replaced
            with path.open("wb") as device:
                _all(device, pieces)
            return
        target = path.resolve()
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name[:100]}.", delete=False) as part:
            try:
                _all(part, pieces)
            except BaseException:
                Path(part.name).unlink(missing_ok=True)
                raise
        mask = os.umask(0)
        os.umask(mask)
        Path(part.name).chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~mask)
        Path(part.name).replace(target)
    except OSError as error:
        hint = None if path.parent.is_dir() else "make its folder first"
        raise UsageError(f"cannot write: {error.strerror or error}", file=str(path), advice=hint) from error


def _all(out: IO[bytes], pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        out.write(piece)


def complain(problem: str, advice: str | None = None) -> None:
    """One line on standard error, `analyzer: PROBLEM`, and what to do about it."""
    from analyzer.visible import visible  # its table of credentials costs more than the rest of a short command

    line = f"analyzer: {visible(problem, limit=1000)}"
    complain_raw(f"{line}; {advice}" if advice else line)


def complain_raw(text: str) -> None:
    """Text of our own on standard error."""
    with contextlib.suppress(OSError):
        encoding = sys.stderr.encoding or "ascii"
        sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        sys.stderr.flush()


def advice(error: AnalyzerError) -> str | None:
    """What to do about a mistake of this kind."""
    return _ADVICE.get(type(error)) if error.advice is None else error.advice


def confess(error: Exception) -> None:
    """A failure of our own: where in the program it happened, with the message made safe to look at."""
    from analyzer.visible import visible

    complain_raw(f"analyzer: a fault of the analyzer itself: {type(error).__name__}: {visible(str(error))}")
    for frame in traceback.extract_tb(error.__traceback__)[-6:]:
        complain_raw(f"  at {Path(frame.filename).name}:{frame.lineno} in {frame.name}")


def meant(name: str, names: Iterable[str]) -> str:
    """A question that offers the nearest of the names, or nothing."""
    near = get_close_matches(name.lower(), list(names), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def examples(*commands: str) -> str:
    """The end of a help page: commands to copy, one a line."""
    return "\b\nExamples:\n" + "\n".join(f"  {command}" for command in commands)
