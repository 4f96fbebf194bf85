"""Which conversation a request continues, and what of it was sent before: every request resends the whole history."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from analyzer.read.claude.blocks import Block, is_call, is_result, words_of
from analyzer.read.members import listed
from analyzer.read.openai.ledger import Latest, Recent

_CACHE_MARK = re.compile(rb',\s*"cache_control"\s*:\s*(?:\{[^{}]*\}|null)')
_SAME_BEGINNING = 16  # conversations that begin alike and may be continued
_CONVERSATIONS = 20_000


class Sent(msgspec.Struct, frozen=True, gc=False):
    """One message as it was sent: its digest, and the ids of its calls and results."""

    digest: int
    calls: tuple[str, ...] = ()
    results: tuple[str, ...] = ()


class Conversation(msgspec.Struct, eq=False):
    """What is known of one conversation."""

    session: str | None = None
    sent: list[Sent] = []
    """The messages of its last request."""
    calls: dict[str, int] = {}
    results: dict[str, int] = {}
    """How many calls and results of an id these messages hold."""
    reply: int | None = None
    """Digest of what the last reply says; None while none has come."""
    answered: dict[str, int] = {}
    """How many results of a call one history held."""
    emitted: dict[str, list[str]] = {}
    """The replies in which the model wrote a call of this id."""
    second: int | None = None
    """Digest of the second of these messages."""
    text: bytes = b""
    """The JSON text of these messages without its end; of the conversations that were the last to go on."""
    table: bytes | None = None
    hosted: frozenset[str] = frozenset()
    """Tools of the provider's own in the table."""
    state: bytes = b""

    def counts(self, known: int, *, keep: bool) -> tuple[dict[str, int], dict[str, int]]:
        """How many calls and results of an id the first `known` messages hold; counted on in place unless `keep`."""
        if known == len(self.sent):
            return (dict(self.calls), dict(self.results)) if keep else (self.calls, self.results)
        calls: dict[str, int] = {}
        results: dict[str, int] = {}
        for each in self.sent[:known]:
            for counts, names in ((calls, each.calls), (results, each.results)):
                for name in names:
                    counts[name] = counts.get(name, 0) + 1
        return calls, results

    def emission(self, call_id: str, nth: int) -> str:
        """The emission of the nth call of this id in a history."""
        return call_id if nth == 0 else f"{call_id}#{nth + 1}"

    def emit(self, call_id: str, reply: str, before: int) -> str:
        """The emission of a call in a reply to a request that held `before` calls of this id."""
        replies = self.emitted.setdefault(call_id, [])
        if reply not in replies:
            replies += [""] * (before - len(replies))
            replies.append(reply)
        return self.emission(call_id, replies.index(reply))


def digest(message: bytes) -> int:
    """Equal for equal messages of one run, wherever the client put its cache marks."""
    return hash(_CACHE_MARK.sub(b"", message) if b'"cache_control"' in message else message)


def gist(blocks: Sequence[Block]) -> int:
    """What an assistant's message says and asks for, however it is written."""
    return hash((words_of(list(blocks)), tuple(block.id for block in blocks if is_call(block))))


def sent_as(message: int, blocks: Sequence[Block]) -> Sent:
    """A message with the ids in it."""
    calls = tuple([block.id or "" for block in blocks if is_call(block)])
    results = tuple([block.tool_use_id or "" for block in blocks if is_result(block)])
    return Sent(message, calls, results)


class Conversations:
    """The conversations of a run; only so many are remembered."""

    def __init__(self) -> None:
        self._beginnings: Recent[int, list[Conversation]] = Recent(_CONVERSATIONS)
        self._owners: Recent[str, Conversation] = Recent()
        self._latest: Latest[Conversation] = Latest()

    def of_call(self, call_id: str) -> Conversation | None:
        """The conversation that a call was made in."""
        return self._owners.get(call_id)

    def owns(self, conversation: Conversation, call_ids: Sequence[str]) -> None:
        """Note the calls of a conversation."""
        for call_id in call_ids:
            self._owners[call_id] = conversation

    def begun(self, conversation: Conversation, beginning: int) -> None:
        """Note a conversation by the digest of its first message."""
        alike = self._beginnings.get(beginning, [])
        if conversation not in alike:
            self._beginnings[beginning] = [*alike[1 - _SAME_BEGINNING :], conversation]

    def find(self, digests: Sequence[int], said: Callable[[int], int]) -> tuple[Conversation | None, int]:
        """The conversation that a request continues, and how many of its messages were sent before.

        `digests` are those of the messages, `said(index)` is what one of them says.
        """
        alike = self._beginnings.get(digests[0], []) if digests else []
        if len(digests) > 1:  # the others have nothing in common but how they begin
            nearest = [each for each in alike if each.second is None or each.second == digests[1]]
        else:
            nearest = [each for each in alike if each.second is None and (each.reply is None or not each.sent)]
        best: tuple[int, int, Conversation | None] = (0, 0, None)
        for conversation in reversed(nearest):
            sent = conversation.sent
            known = _common(sent, digests)
            if known < len(sent):
                score = 2 if len(digests) > 1 and known > 1 else 0
            elif known == len(digests):
                score = 3 if conversation.reply is None else 0  # the same again, because no reply came
            else:
                score = 3 if conversation.reply is None or conversation.reply == said(known) else 1
            if score > best[0]:
                best = (score, known, conversation)
            if score == 3:
                break
        return best[2], best[1]

    def continued(self, listing: bytes, said: Callable[[bytes], int]) -> tuple[Conversation, list[bytes]] | None:
        """The conversation whose last request this one begins with, byte for byte, and what is new in it.

        `listing` is the JSON text of the messages. Only the latest conversations are looked at, and none is given where
        another one may be meant too.
        """
        for conversation in self._latest.held:
            if conversation.second is None or not listing.startswith(conversation.text):
                continue
            alike = self._beginnings.get(conversation.sent[0].digest, [])
            if sum(each.second in (None, conversation.second) for each in alike) > 1:
                return None
            tail = listing[len(conversation.text) :].lstrip()
            new = listed(b"[" + tail[1:]) if tail[:1] == b"," else []
            if new and (conversation.reply is None or conversation.reply == said(new[0])):
                return conversation, new
        return None

    def went_on(self, conversation: Conversation, sent: list[Sent], text: bytes) -> None:
        """A request with these messages was accepted."""
        conversation.sent, conversation.reply = sent, None
        conversation.second = sent[1].digest if len(sent) > 1 else None
        conversation.text = text
        self._latest.went_on(conversation)


def _common(sent: Sequence[Sent], digests: Sequence[int]) -> int:
    count = 0
    for before, now in zip(sent, digests, strict=False):
        if before.digest != now:
            break
        count += 1
    return count
