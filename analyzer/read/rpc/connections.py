"""Connections between clients and servers: who is at the other end, and what was asked and not answered."""

from __future__ import annotations

import msgspec

from analyzer.read.rpc.messages import Params

NO_LABEL = "server"  # of a server that no record names


class Call(msgspec.Struct, frozen=True):
    """A request to run a tool that has no answer yet."""

    emission: str
    call_id: str
    pair_id: str
    name: str | None
    text: str | None
    container: str


class Connection(msgspec.Struct):
    """What is known of one connection: who is at the other end, and what was asked and not answered."""

    session: str
    label: str | None = None
    calls: dict[str, Call] = {}
    asked: dict[str, tuple[str, bool]] = {}  # by the client, other than calls: method, and whether it is a first page
    asked_back: set[str] = set()  # by the server
    waiting: list[tuple[bytes, Call]] = []  # calls that were answered with a request for input
    tasks: dict[str, Call] = {}
    pages: list[bytes] = []  # of the listing that is being read, the newest first
    page: int = 0  # event of the newest


class Place(msgspec.Struct, gc=False):
    """Where a message stands in its record, and what the envelope says."""

    pointer: str = ""
    when: str | float | None = None
    server: bytes = b""
    """As the envelope writes it, in JSON."""
    toward: str | None = None
    session: str | None = None
    opaque: bool = False  # it stands in a text, where no pointer leads


class At(msgspec.Struct, frozen=True, gc=False):
    """One event: its number, its connection and its place."""

    event: int
    connection: Connection
    place: Place

    def to(self, pointer: str) -> str:
        """A pointer below the message, which leads nowhere where the message stands in a text."""
        return "" if self.place.opaque else pointer


def resumed(connection: Connection, params: Params, text: str | None) -> Call | None:
    """The call that was answered with a request for input and is now made again with it."""
    state = bytes(params.request_state)
    for index, (given, call) in enumerate(connection.waiting):
        if call.name == params.name and (given == state if given or state else call.text == text):
            del connection.waiting[index]
            return msgspec.structs.replace(call, text=text)
    return None
