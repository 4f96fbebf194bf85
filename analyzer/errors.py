"""Every exception of the project: each one is a mistake that the caller can put right.

Exception
└── AnalyzerError              the root: catch this to catch them all
    ├── UsageError             an option or argument that makes no sense (a ValueError too)
    ├── ConfigurationError     a setting that is unknown or cannot be used (a ValueError too)
    ├── ContractFileError      a contract file that is not JSON, no tool table and no schema
    ├── InputError             a path that does not exist or cannot be opened (an OSError too)
    └── EvidenceUnavailable    the log behind a finding has moved or changed since the audit

What is wrong with a log is no exception: it is a row of a frame. What is wrong with this program is no member of
this tree either. The texts here are as the caller gave them; whoever prints one passes it through `visible`.
"""

from __future__ import annotations

__all__ = [
    "AnalyzerError",
    "ConfigurationError",
    "ContractFileError",
    "EvidenceUnavailable",
    "InputError",
    "UsageError",
]


class AnalyzerError(Exception):
    """A mistake of the caller, with the place where it was made.

    The text is `FILE:LINE POINTER: PROBLEM`, with as much of the place as is known. `line` counts from 1; `pointer` is
    a JSON Pointer, of which the empty one (the whole document) adds nothing. `advice` is what to do; None leaves it to
    what is usual for the kind.
    """

    def __init__(
        self,
        problem: str,
        *,
        file: str | None = None,
        line: int | None = None,
        pointer: str | None = None,
        advice: str | None = None,
    ) -> None:
        # Only the problem goes to `args`: an exception that comes back from a worker process is rebuilt from it,
        # and finds the keyword members in its state.
        super().__init__(problem)
        self.problem = problem
        self.file = file
        self.line = line
        self.pointer = pointer
        self.advice = advice

    def __str__(self) -> str:
        """Give the place and the problem in one line."""
        spot = [self.file] if self.file else []
        if self.line is not None:
            spot.append(str(self.line) if self.file else f"line {self.line}")
        place = " ".join(part for part in (":".join(spot), self.pointer) if part)
        return f"{place}: {self.problem}" if place else self.problem

    def __repr__(self) -> str:
        """Give the same with the kind: in a list of problems the place matters most."""
        return f"{type(self).__name__}({str(self)!r})"


class UsageError(AnalyzerError, ValueError):
    """An option or an argument makes no sense, alone or beside another one."""


class ConfigurationError(AnalyzerError, ValueError):
    """A setting is unknown, has the wrong type or contradicts another one."""


class ContractFileError(AnalyzerError, ValueError):
    """A contract file holds neither a tool table nor a schema."""


class InputError(AnalyzerError, OSError):
    """A path named by the caller does not exist or cannot be opened."""


class EvidenceUnavailable(AnalyzerError):
    """The record behind a finding cannot be shown: its log has moved or changed since the audit."""
