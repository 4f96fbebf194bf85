"""What adapters say: the calls and results in a message, what else it says, and what a request sets."""

from __future__ import annotations

import msgspec

from analyzer.read.recover import Fault

#: How replies end that ran into their limit: the last call may not be whole.
CUT = frozenset({"length", "max_tokens", "MAX_TOKENS"})


class Call(msgspec.Struct, gc=False):
    """A call in a message; `to` leads from the message to its arguments."""

    call_id: str | None
    name: str | None
    text: str | None
    container: str
    to: str = ""
    kind: str = "function"
    server: str | None = None
    status: str | None = None
    owed_by: str = "client"
    wire: str | None = None
    """Another wire than that of its conversation, where the call itself shows it."""
    copies: list[Call] = []
    """The same call as the message shows it elsewhere, as in the provider's own shape."""


class Result(msgspec.Struct, gc=False):
    """A result in a message; `to` leads from the message to its output."""

    call_id: str | None
    name: str | None
    text: str | None
    container: str
    to: str = ""
    success: bool | None = None
    error: str | None = None
    status: str | None = None


class Said(msgspec.Struct, gc=False):
    """What one message says; `to` leads from it to its text."""

    role: str | None = None
    text: str | None = None
    to: str = ""
    calls: list[Call] = []
    results: list[Result] = []
    faults: list[Fault] = []
    item_id: str | None = None
    phase: str | None = None
    reply: str | None = None
    """The reply of the model that its calls are of, where several messages are of one."""
    refused: bool = False
    """Whether its text says why the model does not answer, in the place that the wire has for that."""

    @property
    def arguments(self) -> str:
        """The arguments of its calls: they tell replies apart whose calls have the same ids."""
        return "\0".join([call.text or "" for call in self.calls])


def unchosen(said: Said, stop: str | None) -> Said:
    """One of several alternatives of a reply: the client goes on with one of them, the calls of the others are let go.

    `stop` says how it ended: where it may be cut, its last call stays as it is.
    """
    for call in said.calls[: -1 if stop in CUT else None]:
        call.status = call.status or "abandoned"
    return said


class Ask(msgspec.Struct, gc=False):
    """A request: its messages, and what else it sets. `own`: a list whose calls are the model's, and no reply comes."""

    raws: list[bytes]
    """The JSON texts of its messages; or they are in `listing`."""
    to: str | None = "/messages"
    """None where they stand elsewhere in the record."""
    session: str | None = None
    thread: str = ""
    """Which of several conversations of a named session it continues."""
    own: bool = False
    tools: bytes = b""
    """JSON text of the tool table; empty where the request has none."""
    tools_to: str | None = "/tools"
    """None where it stands in a text."""
    shape: str = "chat"
    model: str | None = None
    parallel: bool | None = None
    text_format: str | None = None
    instructions: str | None = None
    listing: bytes = b""
    """JSON text of the list of messages, for a wire whose clients resend long ones: what is known of it is not read."""
    single: bool = False
    """Whether one message stands there and no list."""
