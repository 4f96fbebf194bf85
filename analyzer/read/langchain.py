"""LangChain and LangGraph: messages as the libraries write them, alone, in lists, and in the states of a graph.

A state holds all messages so far, an update those that a node added; both of one run may stand in one file, and are
copies then. What a model streams is a message of its own only where no state or update shows it.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from analyzer import pointer
from analyzer.read.adapter import RecordAdapter
from analyzer.read.anymessage import said_of
from analyzer.read.cursor import Place
from analyzer.read.decoding import Decoding
from analyzer.read.dialogue import Ask, Dialogue, Said
from analyzer.read.lang import known
from analyzer.read.lang.callbacks import happened
from analyzer.read.lang.known import LIST, Members, at, is_message, knows, message_in, record_of
from analyzer.read.lang.pieces import Pieces
from analyzer.read.ledger import Recent
from analyzer.read.members import listed
from analyzer.read.rows import Rows
from analyzer.read.values import ABSENT, Raw, first, text_of

_STEP = b'"langgraph_step"'
_OPEN = (b"{", b"[")
_ABOUT = frozenset({"run_id", "attempt", "thread_id"})

_json = msgspec.json.Decoder().decode


class LangChain(RecordAdapter[Members]):
    """The adapter; see `analyzer.read.adapter.Adapter`."""

    name: ClassVar[str] = "langchain"
    title: ClassVar[str] = (
        "LangChain and LangGraph: message lists and stores, states, checkpoints, what a graph streams"
    )
    known_by: ClassVar[str] = (
        "messages of type `human`, `ai` or `tool` with `additional_kwargs`, under `data` or as constructors (`lc`); "
        "such lists in `messages`, `values`, `channel_values` or under the name of a node; pieces behind the name of "
        "what is streamed"
    )
    loses: ClassVar[tuple[str, ...]] = (
        "Tool tables stand only in records with `tools`, also of `kwargs`: else give them with --contracts.",
        "Arguments were parsed by the library; what the model wrote is there only in the provider's own copy.",
        "A result that a program wrote itself counts as a success, unless it set the status.",
        "Nothing names a session but a `thread_id`: states without one are joined by the messages that they repeat.",
        "Messages that were removed from a state are known only where an earlier state was recorded.",
        "Checkpoints in databases are binary, and not read: dump the states.",
    )

    def __init__(self, source: int, rows: Rows) -> None:
        self._records: Decoding[Members] = Decoding(source, rows, record_of, self.knows)
        self._dialogue = Dialogue(self.name, rows, _said)
        self._pieces = Pieces()
        self._current: str | None = None
        """The session of the last state: updates belong to it."""
        self._unnamed = False
        """Whether no thread was named for it."""
        self._threads: Recent[str, str | None] = Recent()
        """The sessions of threads that what is streamed names, where states do not."""
        self._known: Recent[tuple[str | None, str], int] = Recent()
        """The messages of a session that came alone."""
        self._memories = (self._dialogue, self._threads, self._known)

    knows = staticmethod(knows)

    def close(self) -> None:
        """Messages that nothing has shown whole."""
        self._end(b"")

    def _take(self, record: Members, raw: bytes, place: Place) -> bool:
        if not self._records.own(raw):
            return self._beside(record, place)
        if "sqlite_table" in record:
            here = msgspec.structs.replace(place, pointer=f"{place.pointer}/message_data")
            session = text_of(record.get("session_id", ABSENT))
            self._dialogue.append(bytes(record["message_data"]), here, session=session)
            return True
        return self._taken(record, raw, place, None)

    def _taken(self, record: Members, raw: bytes, place: Place, thread: str | None, depth: int = 0) -> bool:
        """Append what is a record, or is inside of one at the place."""
        if depth > known.DEEPEST:
            return False
        if LIST in record:
            return self._list(raw, place, thread, depth)
        named = next((text_of(each) for way in known.THREADS if (each := at(record, way)) is not None), None) or thread
        event = text_of(record.get("event", ABSENT)) or ""
        if event.startswith("on_"):
            happened(record, event, place, self._dialogue, named)
            return True
        for way in known.WAYS:
            found = at(record, way)
            if found is not None and first(found) == b"[":
                self._state(record, way, found, place, named)
                return True
        data = record.get("data", ABSENT)
        if first(data) in _OPEN and ("event" in record or "ns" in record):
            return self._inside(bytes(data), "/data", place, named, depth)
        if ("type" in record or "lc" in record) and is_message(_json(raw)):
            self._piece(raw, place, named)
            return True
        if "values" in record and "next" in record:
            self._dialogue.move(place)
            self._dialogue.cursor.event("values", "notice", named)
            return True
        return self._update(record, raw, place, named)

    def _inside(self, raw: bytes, to: str, place: Place, thread: str | None, depth: int) -> bool:
        return self._taken(record_of(raw), raw, _below(place, to), thread, depth + 1)

    def _list(self, raw: bytes, place: Place, thread: str | None, depth: int) -> bool:
        """A list of messages, a piece of a stream, or one behind the name of what is streamed."""
        each = listed(raw)
        streamed = len(each) in {2, 3} and first(each[-2]) == b'"' and text_of(Raw(each[-2])) in known.MODES
        if streamed or (len(each) == 2 and first(each[0]) == b"[" and first(each[1]) == b"{"):
            return first(each[-1]) in _OPEN and self._inside(each[-1], f"/{len(each) - 1}", place, thread, depth)
        if len(each) == 2 and _STEP in each[1] and is_message(_json(each[0])):
            named = at(record_of(each[1]), ("thread_id",))
            session = self._streamed(thread if named is None else text_of(named))
            self._piece(each[0], _below(place, "/0"), session, streamed=True)
            return True
        if not each or not all(is_message(_json(one)) for one in each[:2]):
            return False
        so_far = message_in(each[0]) if len(each) == 1 else {}
        if isinstance(so_far.get("id"), str) and so_far.get("type") in ("ai", "AIMessageChunk"):
            self._piece(each[0], _below(place, "/0"), thread, streamed=True, whole=True)
            return True
        self._end(raw)
        self._dialogue.ask(Ask([], "", thread, own=True, listing=raw), place)
        self._current, self._unnamed = None, False
        return True

    # --- states -----------------------------------------------------------------------------------------------------

    def _state(self, record: Members, way: tuple[str, ...], found: Raw, place: Place, thread: str | None) -> None:
        """All messages so far."""
        listing = bytes(found)
        self._end(listing)
        space = next((text_of(each) for path in known.SPACES if (each := at(record, path)) is not None), None)
        session = self._threads.get(thread, thread) if thread is not None else None
        ask = Ask([], "/" + "/".join(way), session, space or "", own=True, listing=listing)
        for path in known.TABLES:
            table = at(record, path)
            if table is not None and first(table) == b"[":
                ask.tools, ask.tools_to = bytes(table), "/" + "/".join(path)
                break
        self._current, self._unnamed = self._dialogue.ask(ask, place), session is None

    def _update(self, record: Members, raw: bytes, place: Place, thread: str | None) -> bool:
        """What nodes of a graph added."""
        self._end(raw)
        for name, gave in record.items():
            to = pointer.join("", name)
            several = first(gave) == b"["
            for nth, one in enumerate(listed(gave) if several else [bytes(gave)]):
                messages = record_of(one).get("messages") if first(one) == b"{" else None
                if messages is None:
                    continue
                single = first(messages) == b"{"
                for index, message in enumerate([bytes(messages)] if single else listed(messages)):
                    where = f"{to}/{nth}/messages" if several else f"{to}/messages"
                    where = where if single else f"{where}/{index}"
                    self._message(message, _below(place, where), thread)
        if self._dialogue.cursor.next <= place.event:
            self._dialogue.move(place)
            self._dialogue.cursor.event("update", "notice", self._current)
        return True

    def _message(self, raw: bytes, place: Place, session: str | None) -> None:
        """The next message of a thread; one of an id that was there stands in its place, or is the same again."""
        self._unnamed = session is None and (self._unnamed or self._current is None)
        session, name = session or self._current, message_in(raw).get("id")
        before = self._known.get((session, name)) if isinstance(name, str) else None
        if before != hash(raw):
            session = self._dialogue.append(raw, place, session=session, again=before is not None)
            if isinstance(name, str):
                self._known[session, name] = hash(raw)
        self._current = session

    def _beside(self, record: Members, place: Place) -> bool:
        """What a stream tells beside messages: about the run, a node that added nothing, a question to people."""
        members = list(record.values())
        about = len(members) == 1 and bytes(members[0]).startswith(b'{"metadata"') and _STEP in bytes(members[0])
        if self._current is not None:
            about = about or record.keys() == {"__interrupt__"} or all(bytes(each) == b"null" for each in members)
        if not members or not (about or record.keys() <= _ABOUT):
            return False
        self._dialogue.move(place)
        self._dialogue.cursor.event("update", "notice", self._current)
        return True

    # --- what a model streams ---------------------------------------------------------------------------------------

    def _streamed(self, thread: str | None) -> str | None:
        """The session of a thread that a piece names; the states before it may not have named it."""
        if thread is None:
            return None
        if thread not in self._threads:
            self._threads[thread] = self._current if self._unnamed else thread
        return self._threads[thread]

    def _piece(
        self, raw: bytes, place: Place, session: str | None, *, streamed: bool = False, whole: bool = False
    ) -> None:
        """A piece of a message, the message as it is so far, or one that came whole."""
        message = message_in(raw)
        kind, name = message.get("type"), message.get("id")
        piece = kind == "AIMessageChunk" or (streamed and kind == "ai")
        if not piece or not isinstance(name, str):
            self._end(raw)
            self._message(raw, place, session)
            return
        if self._pieces.full:
            self._end(b"")
        held = self._pieces.open(name, place, session or self._current)
        if whole or kind == "ai":
            held.whole = raw
        else:
            held.add(message)
        self._dialogue.move(place)
        self._dialogue.cursor.event("messages", "delta", held.session)

    def _end(self, shown: bytes) -> None:
        """What the model streamed is whole, and a message of its own where what comes does not show it."""
        here, back = self._dialogue.cursor.place, self._dialogue.cursor.next
        for held, message in self._pieces.end(shown):
            self._dialogue.cursor.move(held.place, held.place.event + 1)
            place = msgspec.structs.replace(held.place, opaque=not held.whole)
            self._current = self._dialogue.append(message, place, session=held.session or self._current)
            self._unnamed = self._unnamed or held.session is None
            self._dialogue.cursor.move(here, back)


def _below(place: Place, to: str) -> Place:
    return msgspec.structs.replace(place, pointer=place.pointer + to)


def _said(raw: bytes) -> Said:
    try:
        return said_of(_json(raw))
    except (msgspec.DecodeError, RecursionError):
        return Said()
