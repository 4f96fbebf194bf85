"""What a member's name says its value is: an identifier, a path, an amount; nothing else is known of it."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FREE_TEXT = _set(
    "answer body comment content description detail details explanation instructions label message note notes "
    "prompt reason remark summary template text title"
)
_STRINGS = {
    "url": _set("domain endpoint host hostname href link uri uris url urls webhook"),
    "path": _set("cwd dir directories directory file filename filepath files folder path paths"),
    "command": _set("argv bash cmd command commands script shell"),
    "query": _set("cypher expression filter graphql jmespath jql jsonpath query sql where xpath"),
    "identifier": _set("email guid iban id identifier ids isbn login phone sku slug username uuid vin zip"),
}
# These name something else when they stand alone: `code` is a program, `key` a member, `number` a number.
_AFTER_ANOTHER = _set("account code handle key number ref reference token")

_NUMBERS = {
    "amount": _set(
        "amount balance budget cost discount fee payment percent percentage price refund salary subtotal tax total "
        "cents chf dollars eur euros gbp jpy pence usd"
    ),
    "count": _set(
        "age attempts bytes count days depth height hours length limit milliseconds minutes months ms offset page qty "
        "quantity retries rows seconds size timeout top ttl weeks width years"
    ),
    "identifier": frozenset(["id", "ids", "identifier"]),
}
_BOUNDS = frozenset(["max", "min", "num"])


def words(name: str) -> list[str]:
    """Split `orderId`, `order_id` and `Order-ID` into lower-case words."""
    return [word.lower() for word in _WORD.findall(name[:200])]


def string_class(name: str) -> str | None:
    """Return `identifier`, `path`, `query`, `command` or `url` where the name says so, else None."""
    parts = words(name)
    if not parts or parts[-1] in _FREE_TEXT:
        return None
    for kind, names in _STRINGS.items():
        if parts[-1] in names:
            return kind
    return "identifier" if len(parts) > 1 and parts[-1] in _AFTER_ANOTHER else None


def number_class(name: str) -> str | None:
    """Return `amount`, `count` or `identifier` where the name says so, else None."""
    parts = words(name)
    if not parts:
        return None
    for kind, names in _NUMBERS.items():
        if parts[-1] in names:
            return kind
    return "count" if parts[0] in _BOUNDS else None
