"""Connections between clients and servers: who is at the other end, and what was asked and not answered."""

from __future__ import annotations

from collections import deque

import msgspec

from analyzer.read.rpc.messages import Params

_SAID = 10_000
NO_LABEL = "server"  # of a server that no record names

Asked = tuple[str | None, bytes, str | None]
"""Name of a tool, state, arguments."""


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
    protocol: str | None = None  # the version agreed on
    calls: dict[str, Call] = {}
    owed: dict[str, int] = {}  # by id: how many calls of it have no answer
    said: dict[str, int] = {}  # by id: a digest of what the last answer to a call said; of the latest of them
    asked: dict[str, tuple[str, bool]] = {}  # by the client, other than calls: method, and whether it is a first page
    asked_back: set[str] = set()  # by the server
    waiting: dict[Asked, deque[Call]] = {}  # calls that were answered with a request for input
    tasks: dict[str, Call] = {}
    pages: list[bytes] = []  # of the listing that is being read, the newest first
    page: int = 0  # event of the newest

    def answered(self, identity: str, told: int) -> bool:
        """Note an answer to a call; whether it is the last one of its id once more, and no call waits for it."""
        owed = self.owed.pop(identity, 0)
        if not owed and self.said.get(identity) == told:
            return True
        if owed > 1:
            self.owed[identity] = owed - 1
        self.said[identity] = told
        if len(self.said) > _SAID:
            for key in list(self.said)[: _SAID // 2]:
                del self.said[key]
        return False


class Place(msgspec.Struct, gc=False):
    """Where a message stands in its record, and what the envelope says."""

    pointer: str = ""
    when: str | float | None = None
    server: bytes = b""
    """As the envelope writes it, in JSON."""
    toward: str | None = None
    session: str | None = None
    protocol: str | None = None  # which a header of the request names
    opaque: bool = False  # it stands in a text, where no pointer leads


class At(msgspec.Struct, frozen=True, gc=False):
    """One event: its number, its connection and its place."""

    event: int
    connection: Connection
    place: Place

    def to(self, pointer: str) -> str:
        """A pointer below the message, which leads nowhere where the message stands in a text."""
        return "" if self.place.opaque else pointer


def wait(connection: Connection, call: Call, state: bytes) -> None:
    """The call was answered with a request for input: it waits to be made again with this state."""
    connection.waiting.setdefault(_again(call.name, state, call.text), deque()).append(call)


def resumed(connection: Connection, params: Params, text: str | None) -> Call | None:
    """The call that was answered with a request for input and is now made again with it."""
    key = _again(params.name, bytes(params.request_state), text)
    calls = connection.waiting.get(key)
    if calls is None:
        return None
    call = calls.popleft()
    if not calls:
        del connection.waiting[key]
    return msgspec.structs.replace(call, text=text)


def _again(name: str | None, state: bytes, text: str | None) -> Asked:
    """What tells a call that is made again: the state it was given, else its arguments."""
    return name, state, None if state else text
