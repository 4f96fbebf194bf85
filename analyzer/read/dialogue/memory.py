"""The conversations of a run: which of them a request continues, and what of it was sent before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

from analyzer.read.dialogue.conversation import Conversation, common
from analyzer.read.dialogue.said import Ask, Call, Result, Said
from analyzer.read.ledger import Latest
from analyzer.read.members import listed
from analyzer.read.rows import Rows

_CONVERSATIONS = 20_000
_CALLS = 400_000
_ALIKE = 16  # conversations that begin alike and may be continued
_SURE = 5
_SYSTEM = (b'"system"', b'"developer"')


Found = tuple[Conversation, int, list[Said], list[int]]
"""A conversation, how many messages of a request were sent in it before, what the others say, and their digests."""


class Memory:
    """The conversations of a run; only so many are remembered."""

    def __init__(self) -> None:
        self.beginnings: dict[int, list[Conversation]] = {}
        self.named: dict[str, Conversation] = {}
        self.sessions: dict[str, Conversation] = {}
        """The first conversation of each named session."""
        self.owners: dict[str, Conversation] = {}
        self.names: dict[str, int] = {}

    def trim(self) -> None:
        """Forget the older half of what there is too much of."""
        kept: tuple[tuple[dict[Any, Any], int], ...] = (
            (self.beginnings, _CONVERSATIONS),
            (self.named, _CONVERSATIONS),
            (self.sessions, _CONVERSATIONS),
            (self.owners, _CALLS),
            (self.names, _CALLS),
        )
        for held, limit in kept:
            if len(held) > limit:
                for key in list(held)[: len(held) - limit // 2]:
                    del held[key]


class Conversations:
    """Finds the conversation of each request of one source."""

    def __init__(self, wire: str, rows: Rows, read: Callable[[bytes], Said], *, positional: bool) -> None:
        self._wire = wire
        self._memory: Memory = rows.shared.setdefault(f"dialogue {wire}", Memory())
        self._latest: Latest[Conversation] = Latest()
        self._read = read
        self._positional = positional

    def trim(self) -> None:
        """Forget what is oldest; called once for each block."""
        self._memory.trim()

    def name(self, wanted: str) -> str:
        """A session's name, with a number where the run has had one of that name."""
        nth = self._memory.names.get(wanted, 0) + 1
        self._memory.names[wanted] = nth
        return wanted if nth == 1 else f"{wanted}-{nth}"

    def begun(self, text: bytes) -> Conversation:
        """A conversation that begins with this text, under a name of its own."""
        name = f"{self._wire}-{blake2b(text, digest_size=6).hexdigest()}"
        return Conversation(self.name(name), name)

    def owns(self, conversation: Conversation, calls: Sequence[Call]) -> None:
        """Note the calls of a conversation."""
        if not self._positional:
            owners = self._memory.owners
            for call in calls:
                if call.call_id:
                    owners[call.call_id] = conversation

    def gist(self, said: Said) -> int:
        """What an assistant's message says and asks for, however it is written."""
        if not said.calls:
            return hash((said.text or "", ()))
        calls = tuple([(None if self._positional else call.call_id, call.name) for call in said.calls])
        return hash((said.text or "", calls))

    def replied(self, conversation: Conversation, said: Said) -> None:
        """A reply came."""
        conversation.replies.append(self.gist(said))
        if self._positional or conversation.twinned:
            conversation.exactly.append(_exactly(said))

    def twin(self, conversation: Conversation, digests: list[int], event: int) -> Conversation:
        """Another conversation that may have sent the same request, `event`, when this one waited for its reply."""
        names = ("name", "head", "second", "table", "shape", "state", "wire")
        said = {name: getattr(conversation, name) for name in names}
        twin = Conversation("", digests=list(digests), twinned=True, twin_of=conversation, asked_in=event, **said)
        conversation.twinned = True
        alike = self._memory.beginnings.setdefault(hash(tuple(digests[: conversation.head])), [])
        alike.insert(alike.index(conversation) if conversation in alike else 0, twin)
        return twin

    def sent(self, conversation: Conversation, asked: Ask, known: int, digests: list[int]) -> None:
        """A request was sent with messages of these digests after the `known` ones."""
        conversation.digests[known:] = digests
        digests, head = conversation.digests, conversation.head
        conversation.second = digests[head] if len(digests) > head else None
        conversation.replies, conversation.exactly, conversation.failed = [], [], False
        if asked.listing:
            conversation.text = asked.listing.rstrip().removesuffix(b"]").rstrip()
            self._latest.went_on(conversation)

    def find(self, asked: Ask) -> Found:
        """The conversation that a request continues, or a new one."""
        if asked.listing:
            if asked.session is None and (found := self._continued(asked.listing)) is not None:
                return found
            asked.raws = listed(asked.listing)
        raws = asked.raws
        digests = list(map(hash, raws))
        if asked.session is not None:
            conversation = self.named(asked.session, asked.thread)
            known = common(conversation.digests, digests)
            return conversation, known, list(map(self._read, raws[known:])), digests[known:]
        return self._sought(asked, digests)

    def _continued(self, listing: bytes) -> Found | None:
        """The conversation whose last request this one begins with, byte for byte, if it is one of the latest."""
        likely = self._latest.before(listing)
        if len(likely) > 1 and len(likely) > len({each.text for each in likely}):
            return None  # several sent the same
        for conversation in likely:
            tail = listing[len(conversation.text) :].lstrip()
            lost = conversation.failed and not conversation.replies
            if tail[:1] != b"," or not conversation.digests or lost or conversation.twinned:
                continue
            new = listed(b"[" + tail[1:])
            reply = self._read(new[0])
            if not conversation.replies or self.gist(reply) in conversation.replies:
                said = [reply, *map(self._read, new[1:])]
                return conversation, len(conversation.digests), said, list(map(hash, new))
        return None

    def named(self, session: str, thread: str) -> Conversation:
        """The conversation of a named session, or one of several in it."""
        named = f"{session}\0{thread}"
        conversation = self._memory.named.get(named)
        if conversation is None:
            conversation = self._memory.named[named] = Conversation(session)
            beside = self._memory.sessions.setdefault(session, conversation)
            if beside is not conversation:
                conversation.emitted = beside.emitted.beside()
        return conversation

    def _sought(self, asked: Ask, digests: list[int]) -> Found:
        """The conversation with the same beginning that a request continues, else the one that has its calls."""
        raws, head = asked.raws, 1
        while head < len(digests) and _is_system(raws[head - 1][:400]):
            head += 1
        alike = self._memory.beginnings.setdefault(hash(tuple(digests[:head])), [])
        best, known = self._nearest(alike, asked, digests, head) if alike else (None, 0)
        said = list(map(self._read, raws[known:]))
        if best is None:
            best = (None if asked.own else self._owner(said)) or self.begun(b"\0".join(raws))
            best.head = head
            alike.append(best)
            if len(alike) > _ALIKE:
                del alike[0]
        return best, known, said, digests[known:]

    def _nearest(
        self, alike: list[Conversation], asked: Ask, digests: Sequence[int], head: int
    ) -> tuple[Conversation | None, int]:
        """The one of conversations that begin alike that goes on with these messages, if one does."""
        if len(digests) > head:  # the others have nothing in common but how they begin
            likely = [each for each in alike if each.second is None or each.second == digests[head]]
        else:
            likely = [each for each in alike if each.failed or not (each.replies or asked.own)]
        best: tuple[int, int, Conversation | None] = (0, 0, None)
        for conversation in reversed(likely):
            known, sent = common(conversation.digests, digests), len(conversation.digests)
            if known < sent:
                again = known == len(digests) and conversation.failed
                score = 3 if again else 2 if head < known < len(digests) else 0
            elif known == len(digests):
                score = 0 if conversation.replies or asked.own else 3  # the same again, because no reply came
            else:
                # What was refused has no reply that this could go on with, and another one may have.
                lost = conversation.failed and not conversation.replies
                score = 1 if lost else self._answers(asked.raws[known], conversation)
            if score and (score, known) > best[:2]:
                best = (score, known, conversation)
            if score == _SURE:
                break
        return best[2], best[1]

    def _answers(self, raw: bytes, conversation: Conversation) -> int:
        """How well a message may stand behind those that were sent: it is one of the replies, if there are any."""
        if not conversation.replies:
            return 3
        said = self._read(raw)
        if self.gist(said) not in conversation.replies:
            return 1
        return _SURE if not conversation.exactly or _exactly(said) in conversation.exactly else 4

    def _owner(self, said: Sequence[Said]) -> Conversation | None:
        """The conversation that a call of these messages was made in."""
        owners = self._memory.owners
        for each in reversed(said):
            made: tuple[Call | Result, ...] = (*each.calls, *each.results)
            for named in made:
                if named.call_id and (owner := owners.get(named.call_id)) is not None:
                    return owner
        return None


def _exactly(said: Said) -> int:
    return hash(tuple([(call.call_id, call.text) for call in said.calls]))


def _is_system(message: bytes) -> bool:
    return _SYSTEM[0] in message or _SYSTEM[1] in message
