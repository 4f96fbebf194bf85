"""Items of a Responses transcript as the wire has them."""

from __future__ import annotations

import msgspec

from analyzer.read.recover import Fault, Unreadable, parse, typed
from analyzer.read.values import ABSENT, Raw, first


class Item(msgspec.Struct, gc=False):
    """The members of an item that the audit reads."""

    type: str | None = None
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    namespace: str | None = None
    server_label: str | None = None
    status: str | None = None
    role: str | None = None
    phase: str | None = None
    execution: str | None = None
    arguments: Raw = ABSENT
    input: Raw = ABSENT
    output: Raw = ABSENT
    error: Raw = ABSENT
    content: Raw = ABSENT
    tools: Raw = ABSENT
    code: Raw = ABSENT
    result: Raw = ABSENT
    action: Raw = ABSENT
    operation: Raw = ABSENT
    encrypted_content: Raw = ABSENT
    approval_request_id: str | None = None
    approve: bool | None = None


def items_of(raw: Raw | bytes) -> tuple[list[Item], list[Fault]]:
    """The items of a list, empty where it is none; members of another type than expected are named and left out."""
    if not raw:
        return [], []
    try:
        return _items(raw), []
    except (msgspec.DecodeError, RecursionError):
        if first(raw) != b"[":
            return [], []
    items: list[Item] = []
    faults: list[Fault] = []
    for index, each in enumerate(_raws(raw)):
        item, found = _read(each)
        items.append(item)
        faults += [Fault(fault.fault, f"/{index}{fault.pointer}", fault.detail) for fault in found]
    return items, faults


def _read(raw: Raw) -> tuple[Item, list[Fault]]:
    try:
        return _item(raw), []
    except (msgspec.DecodeError, RecursionError):
        parsed = parse(bytes(raw))
        found = None if isinstance(parsed, Unreadable) else typed(_item, parsed[0])
        if found is None or isinstance(parsed, Unreadable):
            return Item(type=""), [Fault("member_type", "", "no item stands where one should")]
        return found[0], parsed[1] + found[1]


_item = msgspec.json.Decoder(Item).decode
_items = msgspec.json.Decoder(list[Item]).decode
_raws = msgspec.json.Decoder(list[Raw]).decode
