"""Which session a request or a response belongs to: by conversation, by the response before it, by what it resends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from analyzer.read.ledger import Ledger, Recent
from analyzer.read.openai.wire import Item
from analyzer.read.values import Raw, first

_KEPT = 32  # requests whose input may be the beginning of a later one
_LONGEST = 8 << 20
_MOST_OWED = 64  # calls of one reply that are looked for, each in all that follows
_COMMA = ord(",")


class _Conversation(msgspec.Struct, gc=False):
    id: str | None = None


_conversation = msgspec.json.Decoder(_Conversation).decode
_string = msgspec.json.Decoder(str).decode


def conversation_of(raw: Raw) -> str | None:
    """The id of a conversation, which the wire writes as a string or as an object."""
    kind = first(raw)
    if kind == b'"':
        return _string(raw) or None
    return _conversation(raw).id if kind == b"{" else None


class Owed(NamedTuple):
    """A call of a reply."""

    call_id: str
    item_id: str | None
    name: str | None


class _Sent(msgspec.Struct, gc=False):
    text: bytes
    """The input without its closing bracket."""
    size: int
    count: int
    """Its items."""
    owed: dict[Owed, None] = {}
    """Calls of the response to it."""


class Chains:
    """Links the exchanges of one source; what is known by id is shared with all sources of a run."""

    def __init__(self, ledger: Ledger) -> None:
        self._owners = ledger.owners
        self._sent: dict[str, _Sent] = {}  # by session, the latest last
        self._owed: Recent[str, dict[Owed, None]] = Recent()

    def resent(self, text: bytes) -> tuple[str | None, int, int]:
        """The session whose last input this one begins with, byte by byte; how many bytes and items that is, else 0."""
        whole = len(text)
        found: tuple[str | None, int, int] = (None, 0, 0)
        for session, sent in reversed(self._sent.items()):
            size = sent.size
            better = size < whole and found[1] < size + bool(sent.owed)
            if better and text[size] == _COMMA and text.startswith(sent.text):
                tail = text[size:]
                # A reply with calls can only be continued with them; what leaves them out tries the same again.
                if all(call.call_id.encode() in tail for call in islice(sent.owed, _MOST_OWED)):
                    found = session, size, sent.count
                    if sent.owed:
                        break  # of several that sent the same it is the one whose calls come back
        return found

    def sent(self, session: str, text: bytes, count: int) -> None:
        """Keep an input as the possible beginning of a later one."""
        if text[-1:] == b"]" and len(text) <= _LONGEST:
            body = text[:-1].rstrip()
            self._sent.pop(session, None)
            if len(self._sent) > _KEPT:
                del self._sent[next(iter(self._sent))]
            self._sent[session] = _Sent(body, len(body), count)

    def replied(self, session: str | None, response: str | None, items: Sequence[Item] = ()) -> None:
        """Note a response, and what it holds that a later request may refer to."""
        if session is None:
            return
        if response is not None:
            self._owners[response] = session
        owed = self._owed[session] = {}
        sent = self._sent.get(session)
        if sent is not None:
            sent.owed = owed
        for item in items:
            self._hold(session, item, owed)

    def went_on(self, session: str | None, item: Item) -> None:
        """Note one more item of the response."""
        if session is not None:
            self._hold(session, item, self._owed.setdefault(session, {}))

    def _hold(self, session: str, item: Item, owed: dict[Owed, None]) -> None:
        if item.call_id is not None:
            self._owners[item.call_id] = session
            owed[Owed(item.call_id, item.id, item.name)] = None
        elif item.id is not None:
            self._owners[item.id] = session

    def abandoned(self, session: str, items: Sequence[Item]) -> tuple[Owed, ...]:
        """The calls of the latest reply where an input goes on without any of them: the reply was made anew."""
        owed = tuple(self._owed.get(session, ()))
        named = {item.call_id for item in items}
        if any(each.call_id in named for each in owed):
            return ()
        self._owed.pop(session, None)
        return owed

    def trim(self) -> None:
        """Forget what is oldest; called once for each block."""
        self._owed.trim()

    def named(self, response: str | None) -> str | None:
        """The session of a response; one that is not recorded names the session."""
        return None if response is None else self._owners.get(response, response)

    def of_items(self, items: Sequence[Item]) -> str | None:
        """The session that the newest known item of an input came from."""
        for item in reversed(items):
            for name in (item.call_id, item.id, item.approval_request_id):
                if name is not None and name in self._owners:
                    return self._owners[name]
        return None
