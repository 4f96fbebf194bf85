"""Arguments in one spelling, so that two calls can be told to be the same."""

from __future__ import annotations

from contextlib import suppress
from unicodedata import normalize

import msgspec

from analyzer import masking, redaction, secrets
from analyzer.rules.payloads import NO_JSON, decode, layers
from analyzer.visible import visible_value

_EXACT = 2**53  # from here on a float stands for several integers


def canonical(text: str | None) -> str:
    """The JSON text with sorted members and no blanks, `5` for `5.0` and no member that is null; other text stays.

    Absent arguments are those of no members.
    """
    value = decode(text or "{}")
    return (text or "").strip() if value is NO_JSON else _spelled({} if value is None else value)


def _spelled(value: object) -> str:
    with suppress(RecursionError):  # nested deeper than anyone writes: as it is
        value = _plain(value)
    return msgspec.json.encode(value, order="deterministic").decode("utf-8", "replace")


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items() if member is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT else value


def alike(left: str, right: str) -> bool:
    """Whether two texts say the same: blanks, order of members, layers of text and `1` for `1.0` are no difference."""
    try:
        return left == right or _same(layers(left)[1], layers(right)[1])
    except RecursionError:  # nested deeper than anyone writes
        return False


def _same(left: object, right: object) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(value, right[name]) for name, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, str) and isinstance(right, str):
        return left == right or left.split() == right.split()
    return isinstance(left, bool) is isinstance(right, bool) and left == right


def difference(left: str | None, right: str | None) -> list[tuple[str, str, str]]:
    """Top-level members on which two arguments texts differ: name, left value, right value, as a human may see them."""
    first, second = decode(left or "{}"), decode(right or "{}")
    if not isinstance(first, dict) or not isinstance(second, dict):
        return [("the arguments", _shown("", first), _shown("", second))]
    names = sorted(name for name in {*first, *second} if _spelled(first.get(name)) != _spelled(second.get(name)))
    values = {name: [first.get(name, NO_JSON), second.get(name, NO_JSON)] for name in names}
    alike = len({normalize("NFKC", name) for name in names}) < len(names)
    return [(_plainly(name) if alike else name, *_apart(name, *both)) for name, both in values.items()]


def _apart(name: str, left: object, right: object) -> tuple[str, str]:
    """Both values as a human may see them, and see that they differ."""
    shown = _shown(name, left), _shown(name, right)
    if normalize("NFKC", shown[0]) != normalize("NFKC", shown[1]):
        return shown
    # The same letters in other characters, such as an accent of its own; or what differs is masked or cut off.
    first, second = (_plainly(each) for each in shown)
    return (first, second) if first != second else (shown[0], f"another {shown[1]}")


def _plainly(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode()


def _shown(name: str, value: object) -> str:
    if value is NO_JSON:
        return "absent"
    # Masked before it is cut: half a credential is not recognised as one.
    hidden = secrets.secret_name(name) and redaction.current().on
    return masking.label("secret", str(value)) if hidden else visible_value(value, limit=40)
