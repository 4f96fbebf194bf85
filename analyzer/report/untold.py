"""What an audit has no answer to: what was not recognised, not read and left out, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.auditing import Audit


@dataclass(frozen=True)
class Untold:
    """What a run has no answer to, and what is wrong with its suppressions."""

    unrecognised: tuple[str, ...] = ()
    """Inputs that should be logs, and of which nothing was recognised; they decide the status."""
    left_out: tuple[str, ...] = ()
    """Inputs in folders that are no logs."""
    unread: tuple[str, ...] = ()
    """What could not be read, in words."""
    notes: tuple[str, ...] = ()
    """Of suppressions that have expired or suppress nothing; what the baseline or the last run had and this has not."""

    @classmethod
    def of(cls, audit: Audit) -> Untold:
        """What an audit leaves open."""
        return cls.told(audit.inputs, audit.unrecognised, audit.problems, audit.notes)

    @classmethod
    def told(
        cls, inputs: Sequence[dict[str, Any]], left_out: Iterable[str], problems: Iterable[object], notes: Iterable[str]
    ) -> Untold:
        """The same of the members of an audit, saved ones included."""
        broken = [
            f"{each['path']}: {each['unreadable']} of {each['records']} records cannot be read"
            for each in inputs
            if each["format"] and each["unreadable"]
        ]
        unrecognised = tuple(each["path"] for each in inputs if not each["format"])
        return cls(unrecognised, tuple(left_out), (*map(str, problems), *broken), tuple(notes))

    @property
    def all_unread(self) -> list[str]:
        """What was not read and so not audited: not recognised, or with the reason."""
        return [*(f"{path}: not recognised as any format, or empty" for path in self.unrecognised), *self.unread]
