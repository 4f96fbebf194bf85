"""Items of a Responses transcript as rows. Every item is an event of its own, so pointers begin at the item."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from analyzer.read.ledger import Ledger
from analyzer.read.openai.wire import Item
from analyzer.read.rows import Rows
from analyzer.read.values import Raw, arguments, first, output, refuses, text_of, words


class At(msgspec.Struct, gc=False):
    """Where an item stands, and what its surroundings say of it."""

    event: int
    session: str | None
    turn: str | None = None
    stage: str = "done"
    """Of calls: item, done, stream, history."""
    answer: str = "echo"
    """Of results: post, echo, history."""
    reply: str | None = None
    index: int | None = None
    emission: str | None = None
    """Identity of the emission; null: the item's own id."""
    owed_by: str = "client"
    fresh: bool = True
    """False for a copy: its messages, tables and approvals were shown before."""
    accepted: bool | None = None
    """False: the request that brought a result was refused."""
    member: str = ""
    """From the event to the item."""
    opaque: bool = False
    """Inside a text: nothing in it can be pointed at."""

    def to(self, member: str) -> str:
        """The pointer to a member of the item."""
        return "" if self.opaque else self.member + member


# Of these nothing is asked but that they are there.
PLAIN = frozenset(
    {
        *("reasoning", "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"),
        *("item_reference", "configuration_update", "compaction_trigger", "agent_message", "other"),
    }
)
_HOSTED = {
    "local_shell_call": "local_shell",
    "shell_call": "shell",
    "apply_patch_call": "apply_patch",
    "computer_call": "computer",
}
_MCP_NAMESPACE = "mcp__"
_TAKEN = {
    "function_call": "_function_call",
    "function_call_output": "_output",
    "custom_tool_call": "_custom_call",
    "custom_tool_call_output": "_output",
    "message": "_message",
    "mcp_call": "_mcp_call",
    "mcp_list_tools": "_listing",
    "mcp_approval_request": "_approval",
    "mcp_approval_response": "_decision",
    "tool_search_call": "_search_call",
    "tool_search_output": "_search_output",
    "additional_tools": "_additional",
    "program": "_program",
    "program_output": "_program_output",
    **dict.fromkeys(("compaction", "context_compaction", "compaction_summary"), "_compaction"),
    **dict.fromkeys(_HOSTED, "_hosted_call"),
    **{f"{native}_output": "_hosted_output" for native in _HOSTED},
}
KNOWN = PLAIN | frozenset(_TAKEN)


class Items:
    """Appends the rows of items; one object for each source."""

    def __init__(self, wire: str, rows: Rows, ledger: Ledger, *, shape: str, remote_namespaces: bool = False) -> None:
        """`remote_namespaces`: a namespace `mcp__SERVER` stands for a server whose listing is recorded nowhere."""
        self.wire = wire
        self.ledger = ledger
        self._rows = rows
        self._shape = shape
        self._remote = remote_namespaces
        self._search: str | None = None
        self._take: dict[str, Callable[[Item, At], None]] = {n: getattr(self, m) for n, m in _TAKEN.items()}

    def take(self, item: Item, at: At) -> None:
        """Append the rows of one item."""
        native = item.type if item.type is not None else "message" if item.role is not None else ""
        take = self._take.get(native)
        if take is not None:
            take(item, at)
        elif native not in PLAIN:
            detail = f"an item of type {native[:80]!r}"
            self._rows.faults.add(
                event=at.event, session=at.session, fault="unknown_item", pointer=at.to("/type"), detail=detail
            )

    def table(self, text: bytes) -> str:
        """The digest of a tool table."""
        return self._rows.table(text, self._shape)

    # --- calls ------------------------------------------------------------------------------------------------------

    def _call(  # noqa: PLR0917 - one row, spelled out
        self,
        item: Item,
        at: At,
        kind: str,
        name: str | None,
        payload: tuple[str | None, str],
        member: str,
        *,
        server: str | None = None,
        owed_by: str | None = None,
        pair: str | None = None,
    ) -> None:
        pair = pair or item.call_id or item.id
        emission = at.emission or item.id
        if pair is not None:
            if at.stage == "history":
                emission = self.ledger.emission(at.session, pair, emission)
            else:
                self.ledger.called(at.session, pair, emission)
        self._rows.call_sightings.append(
            (
                *(at.event, at.session, at.turn, self.wire, at.stage, at.reply, emission, item.call_id, pair),
                *(kind, server, name, *payload, item.status, owed_by or at.owed_by, at.index),
                at.to(member),
            )
        )

    def server_of(self, name: str | None, namespace: str | None) -> tuple[str, str | None, str | None]:
        """Kind, server and bare name of a function by its name and namespace."""
        if self._remote:
            if namespace is not None and namespace.startswith(_MCP_NAMESPACE):
                return "mcp", namespace[len(_MCP_NAMESPACE) :], name
            if namespace is None and name is not None and name.startswith(_MCP_NAMESPACE):
                server, found, bare = name[len(_MCP_NAMESPACE) :].partition("__")
                if found:
                    return "mcp", server, bare
        # Search loads a bare function under a namespace of its own name.
        return "function", None if namespace == name else namespace, name

    def _function_call(self, item: Item, at: At) -> None:
        if item.namespace is None and not self._remote:
            self._call(item, at, "function", item.name, arguments(item.arguments), "/arguments")
            return
        kind, server, name = self.server_of(item.name, item.namespace)
        self._call(item, at, kind, name, arguments(item.arguments), "/arguments", server=server)

    def _custom_call(self, item: Item, at: At) -> None:
        server = None if item.namespace == item.name else item.namespace
        self._call(item, at, "custom", item.name, (text_of(item.input), "free"), "/input", server=server)

    def _mcp_call(self, item: Item, at: At) -> None:
        payload = arguments(item.arguments)
        self._call(
            item, at, "mcp", item.name, payload, "/arguments", server=item.server_label, owed_by="server", pair=item.id
        )
        text, container = output(item.output)
        error = text_of(item.error)
        if error is None and text is None and item.status not in {"completed", "failed"}:
            return
        success = error is None and item.status not in {"failed", "incomplete"}
        where = "/error" if text is None and error is not None else "/output"
        self._rows.result_sightings.add(
            event=at.event,
            session=at.session,
            turn=at.turn,
            wire=self.wire,
            stage="echo",
            item_id=at.emission or item.id,
            pair_id=item.id,
            success=success,
            status=item.status,
            error=error,
            text=text,
            container=container,
            pointer=at.to(where),
        )

    def _search_call(self, item: Item, at: At) -> None:
        client = item.execution == "client"
        # The server's own searches have no call id: what follows one is its output.
        self._search = item.call_id or item.id
        kind, owed_by = ("search", at.owed_by) if client else ("hosted", "server")
        self._call(item, at, kind, "tool_search", arguments(item.arguments), "/arguments", owed_by=owed_by)

    def _program(self, item: Item, at: At) -> None:
        self._call(item, at, "program", "program", (text_of(item.code), "free"), "/code", owed_by="server")

    def _hosted_call(self, item: Item, at: At) -> None:
        member = "/action" if bytes(item.action) else "/operation"
        payload = arguments(item.action if bytes(item.action) else item.operation)
        self._call(item, at, "hosted", _HOSTED[item.type or ""], payload, member)

    # --- results ----------------------------------------------------------------------------------------------------

    def _answer(
        self, item: Item, at: At, payload: tuple[str | None, str], member: str, *, pair: str | None = None
    ) -> None:
        pair = pair or item.call_id
        self._rows.result_sightings.append(
            (
                *(at.event, at.session, at.turn, self.wire, at.answer, at.emission or item.id, item.call_id, pair),
                *(item.name, None, item.status, text_of(item.error), *payload, None, at.accepted, None),
                at.to(member),
            )
        )

    def _output(self, item: Item, at: At) -> None:
        self._answer(item, at, output(item.output), "/output")

    def _program_output(self, item: Item, at: At) -> None:
        self._answer(item, at, output(item.result), "/result")

    def _search_output(self, item: Item, at: At) -> None:
        pair = item.call_id or self._search or item.id
        self._answer(item, at, (None, "absent"), "/tools", pair=pair)
        if at.fresh and first(item.tools) == b"[":
            self._show(at, "search", "add", bytes(item.tools), "/tools")

    def _hosted_output(self, item: Item, at: At) -> None:
        text, container = output(item.output)
        if container == "array":
            text, container = _streams(item.output), "parts"
        elif container == "object":
            text, container = None, "absent"  # a picture of the screen
        self._answer(item, at, (text, container), "/output")

    # --- tables, approvals, messages --------------------------------------------------------------------------------

    def _show(self, at: At, channel: str, scope: str, text: bytes, member: str) -> None:
        table = self.table(text)
        pointer = None if at.opaque else at.member + member
        self._rows.showings.add(
            event=at.event, session=at.session, channel=channel, scope=scope, table=table, pointer=pointer
        )

    def _additional(self, item: Item, at: At) -> None:
        if at.fresh and first(item.tools) == b"[":
            self._show(at, "request", "add", bytes(item.tools), "/tools")

    def _listing(self, item: Item, at: At) -> None:
        if at.fresh and first(item.tools) == b"[" and text_of(item.error) is None:
            label = msgspec.json.encode(item.server_label or "")
            text = b'{"type":"mcp_list_tools","server_label":%b,"tools":%b}' % (label, bytes(item.tools))
            self._show(at, "listing", f"server:{item.server_label or ''}", text, "")

    def _approval(self, item: Item, at: At) -> None:
        if at.fresh:
            text, _ = arguments(item.arguments)
            self._rows.approvals.add(
                event=at.event,
                session=at.session,
                turn=at.turn,
                request_id=item.id,
                stage="request",
                server=item.server_label,
                name=item.name,
                text=text,
                pointer=at.to(""),
            )

    def _decision(self, item: Item, at: At) -> None:
        if at.fresh:
            told = None if item.approve is None else "approve" if item.approve else "deny"
            self._rows.approvals.add(
                event=at.event,
                session=at.session,
                turn=at.turn,
                request_id=item.approval_request_id,
                stage="decision",
                decision=told,
                pointer=at.to(""),
            )

    def _message(self, item: Item, at: At) -> None:
        if at.fresh:
            place = (at.event, at.session, at.turn, item.id)
            status = "refusal" if refuses(item.content) else item.status
            said = (item.role, item.phase, status, words(item.content))
            self._rows.messages.append((*place, *said, at.to("/content"), None))

    def _compaction(self, item: Item, at: At) -> None:
        del item
        if at.fresh:
            self._rows.summaries.add(event=at.event, session=at.session, turn=at.turn, what="compaction")


def _streams(raw: Raw) -> str:
    """The texts of a shell's outputs, command by command."""
    found: list[str] = []
    for part in msgspec.json.decode(raw):
        if isinstance(part, dict):
            found += [part[name] for name in ("stdout", "stderr") if isinstance(part.get(name), str)]
    return "\n".join(found)
