"""Edits of a JSON value: what a repair is made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from analyzer.masking import masked_at
from analyzer.pointer import parts

INVENTED = "placeholder, not what the model meant"


class Edit(NamedTuple):
    """One change at one place.

    `before` and `after` are JSON values, for `rename` the two names; what is absent is None (`before` of an `add`,
    `after` of a `remove`). `pointer` is the place before the edit, for `add` the new place; an array index may be one
    past the end. `lossless`: the old value can be told from the new one. `invented`: the new value is neither in the
    payload nor the only one the schema offers.
    """

    op: Literal["replace", "remove", "add", "rename"]
    pointer: str
    before: Any
    after: Any
    why: str
    lossless: bool
    invented: bool = False


def shown(edit: Edit, whole: Any) -> Edit:
    """An edit of a payload for reports: what a member of a secret name holds is hidden, what is invented is not."""
    if edit.op == "rename":
        return edit
    after = edit.after if edit.invented else masked_at(edit.pointer, edit.after, whole)
    return edit._replace(before=masked_at(edit.pointer, edit.before, whole), after=after)


def apply(payload: Any, edits: Iterable[Edit]) -> Any:
    """A copy of the payload with the edits made in order; what no edit touches is shared with the original.

    Raises:
        LookupError: an edit's place is not there.
    """
    owned: set[int] = set()
    for edit in edits:
        payload = _apply(payload, edit, owned)
    return payload


def _apply(payload: Any, edit: Edit, owned: set[int]) -> Any:
    steps = parts(edit.pointer)
    if not steps:
        return edit.after
    root = here = _own(payload, owned)
    for step in steps[:-1]:
        key = _key(here, step)
        here[key] = below = _own(here[key], owned)
        here = below
    if edit.op == "add":
        if isinstance(here, dict):
            here[steps[-1]] = edit.after
        else:
            here.insert(int(steps[-1]), edit.after)
        return root
    key = _key(here, steps[-1])
    if edit.op == "replace":
        here[key] = edit.after
    elif edit.op == "remove":
        del here[key]
    else:
        items = [(edit.after if name == key else name, value) for name, value in here.items()]
        here.clear()
        here.update(items)
    return root


def _own(value: Any, owned: set[int]) -> Any:
    """A copy that may be written to: the value itself if it is one."""
    if isinstance(value, dict | list):
        if id(value) not in owned:
            value = value.copy()
            owned.add(id(value))
        return value
    raise LookupError("an edit leads into a scalar")


def _key(container: Any, step: str) -> Any:
    key: str | int = step if isinstance(container, dict) else int(step) if step.isdecimal() else step
    if (key in container) if isinstance(container, dict) else (isinstance(key, int) and key < len(container)):
        return key
    raise LookupError("an edit's place is not there")


def condense(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """The edits with changes of one place that follow each other made into one."""
    out: list[Edit] = []
    for edit in edits:
        last = out[-1] if out else None
        if last and edit.op == "replace" and last.op in ("replace", "add") and last.pointer == edit.pointer:
            why = last.why if last.why == edit.why else f"{last.why}, {edit.why}"
            lossless, invented = last.lossless and edit.lossless, last.invented or edit.invented
            out[-1] = last._replace(after=edit.after, why=why, lossless=lossless, invented=invented)
        else:
            out.append(edit)
    return tuple(out)
