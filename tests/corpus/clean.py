"""Clean sessions of a parcel depot, composed at random from a seed: nothing in them breaks anything.

Every session has tools, ids and times of its own, so that a fault in one says nothing about another.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tests.samples.wire import Call, Entry, Recording, text

_TAG = "0317"  # the start of every recording; in ids it is replaced by the number of the session
STATES = ("paid", "packed", "sent")
REASONS = ("damaged", "late", "lost")
FINAL = {
    "type": "object",
    "properties": {"done": {"type": "boolean"}, "orders": {"type": "integer", "minimum": 0}},
    "required": ["done", "orders"],
    "additionalProperties": False,
}


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def pattern(start: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^{start}_[0-9]{{6}}$"}


ORDER = closed(
    order_id=pattern("ord"),
    view={"type": "string", "enum": ["short", "long"]},
    page={"type": "integer", "minimum": 1, "maximum": 50},
)
REFUND = closed(
    order_id=pattern("ord"),
    cents={"type": "integer", "minimum": 1, "maximum": 100_000},
    reason={"type": "string", "enum": list(REASONS)},
    note={"type": "string", "maxLength": 200},
)
ASK = closed(question={"type": "string", "maxLength": 200})
COUNT = closed(shelf=pattern("shf"))
TRACK = closed(parcel=pattern("par"))
ITEM = closed(sku=pattern("sku"), quantity={"type": "integer", "minimum": 1})
ORDER_OUT = closed(
    order_id=pattern("ord"),
    state={"type": "string", "enum": list(STATES)},
    total={"type": "integer", "minimum": 0},
    items={"type": "array", "items": ITEM},
)
REFUND_OUT = closed(refund_id=pattern("ref"), paid={"type": "boolean"})
TRACK_OUT = closed(parcel=pattern("par"), place={"type": "string"})
SCOUT_OUT = closed(cause={"type": "string"})


@dataclass
class Session:
    """A recording and what stands beside it: contracts by tool, and tools that write."""

    number: int
    entries: list[Entry]
    contracts: dict[str, dict[str, Any]] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)

    def name(self, tool: str) -> str:
        """The session's own name of a tool."""
        return f"{tool}_{self.number:05d}"


def function(name: str, description: str, parameters: Any) -> dict[str, Any]:
    return {
        "type": "function",
        "name": name,
        "description": description,
        "parameters": parameters,
        "defer_loading": False,
    }


def server(label: str, allowed: list[str] | None) -> dict[str, Any]:
    return {
        "type": "mcp",
        "server_label": label,
        "transport": {"type": "http", "server_url": "https://c.example/mcp"},
        "allowed_tools": allowed,
        "connection_origin": "service",
        "credential_id": None,
        "request_metadata": {},
        "required": False,
    }


def clean(number: int, rng: random.Random) -> Session:
    """Session `number`: two to four turns, three to seven calls in each, the last answer an object of its own."""
    own = Session(number, [])
    tools = [
        function(own.name("get_order"), "Returns one order.", ORDER),
        function(own.name("refund"), "Pays an order back. Moves money.", REFUND),
        function(own.name("ask"), "Returns the text of the help article that fits best.", ASK),
        function(own.name("count"), "Counts the parcels on a shelf.", COUNT),
        server(own.name("carrier"), ["track"]),
    ]
    own.contracts = {
        own.name("get_order"): {"arguments": ORDER, "output": ORDER_OUT},
        own.name("refund"): {"arguments": REFUND, "output": REFUND_OUT},
        f"{own.name('carrier')}/track": {"arguments": TRACK, "output": TRACK_OUT},
        f"subagent/{own.name('scout')}": {"output": SCOUT_OUT},
    }
    own.writes = [own.name("refund")]
    log = Recording("03:17:00", tools, subagents=2)
    asked = 0
    for turn in range(rng.randint(2, 4)):
        numbers = rng.sample(range(100_000, 999_999), 4)
        asked += len(numbers)
        log.ask(f"Please see to the orders {', '.join(map(str, numbers))}.")
        _turn(log, own, rng, numbers, first=turn == 0)
        log.end(text({"done": True, "orders": asked}))
        log.wait(rng.randint(5, 90))
    own.entries = _numbered(log.entries, own, rng)
    return own


def _turn(log: Recording, own: Session, rng: random.Random, numbers: list[int], *, first: bool) -> None:
    orders = [_order(own, rng, number) for number in numbers[: rng.randint(2, 3)]]
    log.run(*orders)
    if rng.random() < 0.4:
        log.say("I have found the orders and go on.", "commentary")
    log.run(*(_refund(own, rng, number) for number in numbers[: rng.randint(1, 2)]))
    if first:
        log.run(Call(own.name("ask"), {"question": "How long does it take?"}, "It takes three to five days."))
        for shelf in rng.sample(range(100_000, 999_999), 3):
            found = text({"left": rng.randint(1, 40)})
            log.run(Call(own.name("count"), {"shelf": f"shf_{shelf}"}, found))
    parcel = f"par_{rng.randint(100_000, 999_999)}"
    count = log.number("mcp")
    item = {"type": "mcp_call", "id": f"mcp_{_TAG}_{count}", "server_label": own.name("carrier"), "name": "track"}
    found = text({"parcel": parcel, "place": rng.choice(["depot", "van", "door"])})
    log.output(log.turn, {**item, "arguments": {"parcel": parcel}, "output": None, "error": None}, output=found)


def _order(own: Session, rng: random.Random, number: int) -> Call:
    arguments = {"order_id": f"ord_{number}", "view": rng.choice(["short", "long"]), "page": rng.randint(1, 9)}
    items = [{"sku": f"sku_{number + 1}", "quantity": rng.randint(1, 5)}]
    output = {"order_id": f"ord_{number}", "state": rng.choice(STATES), "total": rng.randint(5, 900), "items": items}
    return Call(own.name("get_order"), arguments, text(output))


def _refund(own: Session, rng: random.Random, number: int) -> Call:
    arguments = {"order_id": f"ord_{number}", "cents": rng.randint(100, 9_000), "reason": rng.choice(REASONS)}
    output = text({"refund_id": f"ref_{number}", "paid": True})
    return Call(own.name("refund"), {**arguments, "note": "see the carrier's list"}, output)


def _numbered(entries: list[Entry], own: Session, rng: random.Random) -> list[Entry]:
    """The entries with ids and a day of their own."""
    shift = timedelta(minutes=17 * own.number + rng.randint(0, 10))
    tag = f"_{own.number:05d}"
    return [
        Entry(
            entry.at + shift,
            entry.session.replace(f"_{_TAG}", tag),
            entry.direction,
            json.loads(json.dumps(entry.event).replace(f"_{_TAG}", tag)),
        )
        for entry in entries
    ]
