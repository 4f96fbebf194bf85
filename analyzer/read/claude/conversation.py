"""Which conversation a request continues, and what of it was sent before: every request resends the whole history."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from analyzer.read.claude.blocks import CALLS, Block, is_result, words_of
from analyzer.read.claude.bodies import Sentence, sentence_of
from analyzer.read.dialogue.conversation import common
from analyzer.read.ledger import Latest, Recent
from analyzer.read.members import listed

_CACHE_MARK = re.compile(rb',\s*"cache_control"\s*:\s*(?:\{[^{}]*\}|null)')
_SAME_BEGINNING = 16  # conversations that begin alike and may be continued
_CONVERSATIONS = 20_000
_SURE = 4


class Conversation(msgspec.Struct, eq=False):
    """What is known of one conversation."""

    session: str | None = None
    sent: list[int] = []
    """Digests of the messages of its last request."""
    calls: dict[str, int] = {}
    results: dict[str, int] = {}
    """How many calls and results of an id these messages hold."""
    reply: int | None = None
    """Digest of what the last reply says; None while none has come."""
    answered: dict[str, int] = {}
    """How many results of a call one history held."""
    emitted: dict[str, dict[str, int]] = {}
    """The replies in which the model wrote a call of this id, each with its number among such calls."""
    second: int | None = None
    """Digest of the second of these messages."""
    text: bytes = b""
    """The JSON text of these messages without its end; of the conversations that were the last to go on."""
    table: bytes = b""
    hosted: frozenset[str] = frozenset()
    """Tools of the provider's own in the table."""
    added: dict[str, bytes] = {}
    """Tools that came on offer in messages, by name."""
    removed: dict[str, bytes] = {}
    """Those that messages took out, until they are added again."""
    state: bytes = b""

    def emit(self, call_id: str, reply: str, before: int) -> str:
        """The emission of a call in a reply to a request that held `before` calls of this id."""
        replies = self.emitted.setdefault(call_id, {})
        after = max(next(reversed(replies.values()), -1) + 1, before)
        return emission(call_id, replies.setdefault(reply, after))


Found = tuple[Conversation, int, list[Sentence], list[int]]
"""A conversation, how many messages of a request were sent in it before, the others, and their digests."""


def emission(call_id: str, nth: int) -> str:
    """The emission of the nth call of this id in a history."""
    return call_id if nth == 0 else f"{call_id}#{nth + 1}"


def numbered(counts: dict[str, int], name: str) -> int:
    """How many of this name came before; counts this one."""
    nth = counts.get(name, 0)
    counts[name] = nth + 1
    return nth


def counted(sentences: Iterable[Sentence]) -> tuple[dict[str, int], dict[str, int]]:
    """How many calls and results of an id these messages hold."""
    calls: dict[str, int] = {}
    results: dict[str, int] = {}
    for sentence in sentences:
        for block in sentence.blocks:
            if block.type in CALLS:
                numbered(calls, block.id or "")
            elif is_result(block):
                numbered(results, block.tool_use_id or "")
    return calls, results


def gist(blocks: Sequence[Block]) -> int:
    """What an assistant's message says and asks for, however it is written."""
    return hash((words_of(blocks), tuple([block.id for block in blocks if block.type in CALLS])))


def _digests(raws: list[bytes]) -> list[int]:
    """Equal for equal messages of one run, wherever the client put its cache marks."""
    return [hash(_CACHE_MARK.sub(b"", raw) if b'"cache_control"' in raw else raw) for raw in raws]


class Conversations:
    """The conversations of a run; only so many are remembered."""

    def __init__(self) -> None:
        self._beginnings: Recent[int, list[Conversation]] = Recent(_CONVERSATIONS)
        self._owners: Recent[str, Conversation] = Recent()
        self._latest: Latest[Conversation] = Latest()
        self._names: Recent[str, int] = Recent()

    def trim(self) -> None:
        """Forget what is oldest; called once for each block."""
        self._beginnings.trim()
        self._owners.trim()
        self._names.trim()

    def name(self, wanted: str) -> str:
        """A session's name, with a number where the run has had one of that name."""
        nth = numbered(self._names, wanted) + 1
        return wanted if nth == 1 else f"{wanted}-{nth}"

    def owns(self, conversation: Conversation, call_id: str) -> None:
        """Note a call of a conversation."""
        self._owners[call_id] = conversation

    def find(self, listing: bytes) -> Found:
        """The conversation that a request with these messages (a JSON text) continues, or a new one."""
        found = self._continued(listing)
        if found is not None:
            return found
        raws = listed(listing)
        digests = _digests(raws)
        if not digests:
            return Conversation(), 0, [], []
        alike = self._beginnings.setdefault(digests[0], [])
        best, known = self._nearest(alike, raws, digests) if alike else (None, 0)
        new = list(map(sentence_of, raws[known:]))
        conversation = best or self._owner(new) or Conversation()
        if conversation not in alike:
            self._beginnings[digests[0]] = [*alike[1 - _SAME_BEGINNING :], conversation]
        return conversation, known, new, digests[known:]

    def _continued(self, listing: bytes) -> Found | None:
        """The conversation whose last request this one begins with, byte for byte.

        Only the latest conversations are looked at, and none is given where another one may be meant too.
        """
        for conversation in self._latest.before(listing):
            if conversation.second is None:
                continue
            alike = self._beginnings.get(conversation.sent[0], [])
            if sum(each.second in (None, conversation.second) for each in alike) > 1:
                return None
            tail = listing[len(conversation.text) :].lstrip()
            raws = listed(b"[" + tail[1:]) if tail[:1] == b"," else []
            new = list(map(sentence_of, raws))
            if new and (conversation.reply is None or conversation.reply == gist(new[0].blocks)):
                return conversation, len(conversation.sent), new, _digests(raws)
        return None

    def _nearest(
        self, alike: list[Conversation], raws: Sequence[bytes], digests: list[int]
    ) -> tuple[Conversation | None, int]:
        """The one of conversations that begin alike that goes on with these messages, and how many it has sent."""
        if len(digests) > 1:  # the others have nothing in common but how they begin
            nearest = [each for each in alike if each.second is None or each.second == digests[1]]
        else:
            nearest = [each for each in alike if each.second is None and (each.reply is None or not each.sent)]
        best: tuple[int, int, Conversation | None] = (0, 0, None)
        for conversation in reversed(nearest):
            sent = conversation.sent
            known = common(sent, digests)
            if known < len(sent):
                score = 2 if len(digests) > 1 and known > 1 else 0
            elif known == len(digests):
                score = 3 if conversation.reply is None else 0  # the same again, because no reply came
            elif not sent:
                score = 1  # what was refused; another one may have a reply that this goes on with
            else:
                score = 3
                if conversation.reply is not None:
                    score = _SURE if conversation.reply == gist(sentence_of(raws[known]).blocks) else 1
            if score and (score, known) > best[:2]:
                best = (score, known, conversation)
            if score == _SURE:
                break
        return best[2], best[1]

    def _owner(self, new: list[Sentence]) -> Conversation | None:
        """The conversation that a call of these messages was made in."""
        for sentence in reversed(new):
            calls = [block.id or "" for block in sentence.blocks if block.type in CALLS]
            results = [block.tool_use_id or "" for block in sentence.blocks if is_result(block)]
            for call_id in (*calls, *results):
                if (owner := self._owners.get(call_id)) is not None:
                    return owner
        return None

    def went_on(self, conversation: Conversation, known: int, digests: list[int], listing: bytes) -> None:
        """A request with these messages was accepted; `digests` are those of the messages after the `known` ones."""
        sent = conversation.sent
        sent[known:] = digests
        conversation.reply = None
        conversation.second = sent[1] if len(sent) > 1 else None
        conversation.text = listing.rstrip().removesuffix(b"]").rstrip()
        self._latest.went_on(conversation)
