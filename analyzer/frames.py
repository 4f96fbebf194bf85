"""The project's dictionary: every frame, its columns and its key.

*Recorded* frames are what an adapter of `analyzer.read` appends while it reads: nothing in them is concluded.
*Concluded* frames are what the stages after it make of them. Names and types are a public contract: they change only
with a note in the changelog.

Numbers that recur:

- `event` (Int64) names one recorded event in the whole run: `source << 43 | record << 13 | part`. It sorts by file as
  given, then by place in the file. It says where the evidence is, never when something happened.
- `seq` (Int64) counts the events of one session from 0 in the order in which they happened.
- `pointer` columns of recorded frames are JSON Pointers relative to the event (see EVENTS.pointer).
- `call`, `result`, `verdict` (Int64) number the rows of CALLS, RESULTS and VERDICTS, of a partition or of all
  that an audit keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from polars._typing import PolarsDataType

RECORD_BITS, PART_BITS = 30, 13
MOST_RECORDS = 1 << RECORD_BITS
PART_LIMIT = (1 << PART_BITS) - 1

TIME = pl.Datetime("us", "UTC")

Frames = dict[str, pl.DataFrame]
"""Frames by their names."""


def _schema(columns: Mapping[str, PolarsDataType]) -> pl.Schema:
    return pl.Schema(columns)


# --- recorded ---------------------------------------------------------------------------------------------------------

SOURCES = _schema(
    {
        "source": pl.Int64,  # position in the run; key
        "path": pl.String,  # as given on the command line; `x.eval!samples/1.json` for a member
        "format": pl.String,  # adapters that knew its records, comma separated
        "sha256": pl.String,  # of the decompressed bytes
        "bytes": pl.Int64,  # decompressed
        "records": pl.Int64,  # of a file that a folder held and no adapter knows: JSON values at its beginning
        "unreadable": pl.Int64,  # records that could not be read
    }
)

EVENTS = _schema(
    {
        "event": pl.Int64,  # key
        "session": pl.String,  # null until the session is known
        "source": pl.Int64,
        "offset": pl.Int64,  # of the record, in the decompressed stream
        "length": pl.Int64,  # of the record, in bytes
        "line": pl.Int64,  # from 1; of the record's first line
        "pointer": pl.String,  # from the record to this event: "" or "/event" or "/data/3"
        "time": TIME,  # what the recorder or the wire says
        "number": pl.Int64,  # sequence number or ordinal, where the wire has one
        "type": pl.String,  # native type, as written
        "kind": pl.String,  # one of KINDS
        "turn": pl.String,
        "event_id": pl.String,
    }
)

# What an event is to the audit, whatever the wire calls it.
KINDS = (
    "session",  # a snapshot or change of the session
    "turn",  # a change of a turn
    "item",  # a model or tool item in the history
    "delta",  # a piece of a streamed text
    "input",  # something the client sent
    "request",  # a request body or exchange
    "notice",  # known and without consequence for the audit
    "gate",  # a host's own check of a call; see GATES
    "error",  # the wire's own error event
    "unknown",  # a type that the adapter does not know; kept and counted
    "broken",  # a record that is no event at all
)

FAULTS = _schema(
    {
        "event": pl.Int64,  # the record; not a key: one record may have several faults
        "session": pl.String,
        "fault": pl.String,  # one of FAULT_KINDS
        "pointer": pl.String,  # relative to the event
        "detail": pl.String,  # in words, made of our own text and masked values only
        "at": pl.Int64,  # byte inside the record, where known
    }
)

#: Statuses of calls and results that who wrote the log left out or cut, or that a mapping does not find.
CUT = ("truncated", "redacted", "unmapped")

FAULT_KINDS = (
    "unreadable",  # LOG001: no JSON, no frame
    "line_end_missing",  # LOG001, as a warning: two records on one line, both read
    "truncated",  # LOG002: the last record is cut
    "duplicate_member",  # LOG009
    "number_inexact",  # LOG009: beyond 2^53 or not finite
    "lone_surrogate",  # LOG009
    "invalid_utf8",  # LOG009 where the rest could be read
    "member_type",  # LOG010: a known member has another type than the wire says
    "member_missing",  # LOG010
    "more_pages",  # LOG007: has_more on the last page
    "calls_uncaptured",  # LOG007: a reply that ended with calls, and none of them is in the log
    "too_large",  # payload_too_large
    "session_too_large",  # LOG001: not all that hangs together in it was seen together
    "session_in_windows",  # LOG001, as information: it was not looked at whole
    "unknown_item",  # LOG003: an item type that the adapter does not know
)

SESSION_STATES = _schema(
    {
        "event": pl.Int64,
        "session": pl.String,
        "status": pl.String,
        "agent": pl.String,  # id of the root agent; NAME/VERSION of a program that brings its own tools
        "agent_name": pl.String,
        "model": pl.String,
        "max_subagents": pl.Int64,
        "parallel": pl.Boolean,  # parallel tool calls allowed, where the wire says
        "text_format": pl.String,  # JSON text of the declared text format
        "instructions": pl.String,
        "parent": pl.String,  # session this one was forked or spawned from
        "pending": pl.Int64,  # how many required actions it lists; null when the wire has no such list
        "begins": pl.Boolean,  # true: the record says of itself that nothing of the session came before it
        "protocol": pl.String,  # version of the protocol that both sides agreed on, where the wire names one
    }
)

TURN_STATES = _schema(
    {
        "event": pl.Int64,
        "session": pl.String,
        "turn": pl.String,
        "agent": pl.String,
        "subagent": pl.String,
        "status": pl.String,  # created, in_progress, waiting, completed, failed, cancelled
        "error": pl.String,
    }
)

TABLES = _schema(
    {
        "table": pl.String,  # digest of its text; key
        "shape": pl.String,  # whose tool table it is: openai, responses, chat, anthropic, mcp, gemini, bedrock, codex
        "text": pl.String,  # JSON text of the list of tools
        "server": pl.String,  # the MCP server whose listing it is; null: the table says itself which are whose
    }
)

#: The scope of a table in a request that was refused: no model ever saw it.
REFUSED = "refused"

SHOWINGS = _schema(
    {
        "event": pl.Int64,
        "session": pl.String,
        "channel": pl.String,  # session, update, create, request, search, listing, registry
        "scope": pl.String,  # replaces "all" or "server:LABEL"; "add", "remove": these; REFUSED: never in force
        "table": pl.String,  # null: all tools withdrawn
        "pointer": pl.String,  # to the list of tools; null: it stands inside a text
    }
)

CALL_SIGHTINGS = _schema(
    {
        "event": pl.Int64,
        "session": pl.String,
        "turn": pl.String,
        "wire": pl.String,  # adapter name
        "stage": pl.String,  # one of CALL_STAGES
        "reply": pl.String,  # calls of one model reply share it; null: work it out from the order
        "item_id": pl.String,  # one value per emission; null: refers to a call shown elsewhere
        "call_id": pl.String,  # as written; null where the wire has none
        "pair_id": pl.String,  # what results refer to: the call id, else the item id
        "kind": pl.String,  # function, mcp, custom, hosted, program, search
        "server": pl.String,  # MCP server label or namespace
        "name": pl.String,
        "text": pl.String,  # the arguments: JSON text after one text layer is taken off, or free text
        "container": pl.String,  # how they stood on the wire: one of CONTAINERS
        "status": pl.String,  # as written; an adapter adds abandoned, truncated (on export), redacted, unmapped
        "owed_by": pl.String,  # client, server, nobody, unknown
        "index": pl.Int64,  # output index
        "pointer": pl.String,  # to the arguments
    }
)

#: Ends the pair id of a result that names its tool only, and no call of it waits for one.
UNASKED = " unasked"

CALL_STAGES = (
    "item",  # the call in the model's output
    "done",  # the same, finished
    "action",  # in the list of required actions
    "approval",  # in an approval request
    "stream",  # put together from deltas
    "executor",  # in the log of who ran it
    "history",  # resent with a later request
)

CONTAINERS = (
    "object",
    "array",
    "number",
    "boolean",
    "null",
    "absent",
    "text",  # a JSON string; its decoded content is in `text`
    "parts",  # supported content parts; their texts joined are in `text`
    "free",  # free text by contract
    "broken",  # not JSON
)

RESULT_SIGHTINGS = _schema(
    {
        "event": pl.Int64,
        "session": pl.String,
        "turn": pl.String,
        "wire": pl.String,
        "stage": pl.String,  # post (client sent it), echo (item in the history), executor, message, history
        "item_id": pl.String,
        "call_id": pl.String,
        "pair_id": pl.String,
        "name": pl.String,  # tool the result names, if any
        "success": pl.Boolean,  # as the wire says; null: the wire has no flag
        "status": pl.String,
        "error": pl.String,
        "text": pl.String,  # the output: text, or JSON text for containers other than text
        "container": pl.String,
        "structured": pl.String,  # JSON text of structuredContent
        "accepted": pl.Boolean,  # false: the server refused the post
        "key": pl.String,  # idempotency key
        "pointer": pl.String,  # to the output, or to the error where there is no output
    }
)

APPROVALS = _schema(
    {
        "event": pl.Int64,
        "session": pl.String,
        "turn": pl.String,
        "request_id": pl.String,
        "stage": pl.String,  # request, decision, policy
        "server": pl.String,
        "name": pl.String,
        "text": pl.String,  # arguments as shown to the approver; null: not shown
        "decision": pl.String,  # approve, deny, cancel
        "policy": pl.String,  # never, always, ... where the wire says
        "pointer": pl.String,
    }
)

GATES = _schema(
    {
        "event": pl.Int64,
        "session": pl.String,
        "turn": pl.String,
        "check": pl.String,
        "call_id": pl.String,
        "execute": pl.Boolean,
        "failures": pl.List(pl.Struct({"path": pl.String, "reason": pl.String})),
        "pointer": pl.String,
    }
)

MESSAGES = _schema(
    {
        "event": pl.Int64,
        "session": pl.String,
        "turn": pl.String,
        "item_id": pl.String,
        "role": pl.String,
        "phase": pl.String,
        "status": pl.String,  # as written, or why the reply stopped; refusal: it says why there is no answer
        "text": pl.String,
        "pointer": pl.String,
        "key": pl.String,  # of a posted one: the idempotency key of its request
    }
)

SUMMARIES = _schema(
    {
        "event": pl.Int64,
        "session": pl.String,
        "turn": pl.String,
        "what": pl.String,  # compaction, trim, fork, rollback
        "kept": pl.List(pl.String),  # call ids that the replacement history still holds, where recorded
        "text": pl.String,
    }
)

# What an adapter fills, by the name of its list in `read.rows.Rows`.
RECORDED: dict[str, pl.Schema] = {
    "events": EVENTS,
    "faults": FAULTS,
    "session_states": SESSION_STATES,
    "turn_states": TURN_STATES,
    "tables": TABLES,
    "showings": SHOWINGS,
    "call_sightings": CALL_SIGHTINGS,
    "result_sightings": RESULT_SIGHTINGS,
    "approvals": APPROVALS,
    "gates": GATES,
    "messages": MESSAGES,
    "summaries": SUMMARIES,
}


@cache
def no_rows(name: str) -> pl.DataFrame:
    """A recorded frame without rows, by its name; made once, for frames do not change."""
    return RECORDED[name].to_frame()


# --- concluded --------------------------------------------------------------------------------------------------------

SESSIONS = _schema(
    {
        "session": pl.String,  # key
        "first_event": pl.Int64,
        "events": pl.Int64,
        "order": pl.String,  # file, number, time; "files": the order across its files is not proved
        "agent": pl.String,
        "agent_name": pl.String,
        "model": pl.String,
        "max_subagents": pl.Int64,
        "parallel": pl.Boolean,
        "text_format": pl.String,
        "instructions": pl.String,
        "last_status": pl.String,
        "wires": pl.String,  # adapters that read it, comma separated
        "from_start": pl.Boolean,  # the recording holds the beginning
        "protocol": pl.String,  # the last version of the protocol that both sides agreed on; null: none is recorded
    }
)

TURNS = _schema(
    {
        "session": pl.String,
        "turn": pl.String,  # key: session, turn
        "ordinal": pl.Int64,  # from 0 within the session
        "agent": pl.String,
        "subagent": pl.String,
        "since": pl.Int64,  # seq of the first event
        "until": pl.Int64,  # seq of the event that ended it, or null
        "end_event": pl.Int64,
        "status": pl.String,
        "error": pl.String,  # why it ended as it did, where the wire says so
    }
)

OFFERS = _schema(
    {
        "session": pl.String,
        "tool": pl.String,  # tool key: function::NAME, mcp:SERVER:NAME, namespace:NS:NAME, hosted::TYPE
        "role": pl.String,  # arguments, output
        "since": pl.Int64,  # seq of the showing that first says so; key: session, tool, role, since
        "after": pl.Int64,  # seq of the last showing that said otherwise; null: nothing is known before
        "exact": pl.Boolean,  # the change took effect at `since`, not somewhere between `after` and it
        "state": pl.String,  # offered, withdrawn
        "schema_id": pl.String,  # null: offered without a schema
        "channel": pl.String,
        "strict": pl.Boolean,
        "deferred": pl.Boolean,
        "async": pl.Boolean,
        "event": pl.Int64,  # of that showing
        "pointer": pl.String,  # to the schema, relative to the event
    }
)

TOOLS = _schema(
    {
        "table": pl.String,
        "position": pl.Int64,  # in the list; key: table, tool, role
        "tool": pl.String,
        "kind": pl.String,
        "server": pl.String,
        "name": pl.String,
        "role": pl.String,
        "schema_id": pl.String,
        "strict": pl.Boolean,
        "deferred": pl.Boolean,
        "async": pl.Boolean,
        "description": pl.String,
        "pointer": pl.String,  # from the list to the schema (to the tool where it has none)
    }
)

SCHEMAS = _schema(
    {
        "schema_id": pl.String,  # digest of the canonical JSON; key
        "dialect": pl.String,
        "problem": pl.String,  # schema_invalid, schema_unresolvable, ...; null: it can judge
        "text": pl.String,  # canonical JSON
    }
)

SCHEMA_FACTS = _schema(
    {
        "schema_id": pl.String,
        "pointer": pl.String,  # into the schema
        "fact": pl.String,  # one of contracts.facts.FACTS
        "value": pl.String,
    }
)

#: Channels of schemas that the caller gives: no log advertises these.
GIVEN = ("contract", "code")

CONTRACTS = _schema(
    {
        "tool": pl.String,  # name as the file gives it, `server/name` where it says so
        "server": pl.String,
        "name": pl.String,
        "role": pl.String,
        "schema_id": pl.String,
        "file": pl.String,
        "line": pl.Int64,
        "pointer": pl.String,
        "version": pl.String,  # of the program whose tools the file captures; null: whatever the version
        "channel": pl.String,  # contract (a file), code (Python that was named)
        "superseded": pl.List(pl.String),  # schema ids that it replaced as a pin
    }
)

SIGHTINGS = _schema(
    {
        "what": pl.String,  # call, result
        "id": pl.Int64,  # the call or result it shows
        "event": pl.Int64,
        "seq": pl.Int64,
        "stage": pl.String,
        "pointer": pl.String,
        "digest": pl.UInt64,  # of its text, for equality within this audit only
    }
)

CALLS = _schema(
    {
        "call": pl.Int64,  # key
        "session": pl.String,
        "turn": pl.String,
        "agent": pl.String,
        "subagent": pl.String,
        "wire": pl.String,
        "call_id": pl.String,
        "pair_id": pl.String,
        "item_id": pl.String,
        "tool": pl.String,  # tool key
        "kind": pl.String,
        "server": pl.String,
        "name": pl.String,
        "text": pl.String,
        "container": pl.String,
        "status": pl.String,  # the last one shown
        "owed_by": pl.String,
        "seq": pl.Int64,  # of the first sighting: the model call
        "event": pl.Int64,
        "pointer": pl.String,
        "action_seq": pl.Int64,  # first time it was a required action
        "action_event": pl.Int64,
        "last_seq": pl.Int64,  # last sighting
        "sightings": pl.Int64,
        "reply": pl.Int64,  # calls of one model reply share it, per session
        "ordinal": pl.Int64,  # of the calls of this tool in this turn, from 0
        "copies": pl.Int64,  # distinct arguments texts among its sightings
        "result": pl.Int64,  # the result that answers it, or null
        "outcome": pl.String,  # ok, error, unknown (answered, no flag), none
    }
)

RESULTS = _schema(
    {
        "result": pl.Int64,  # key
        "session": pl.String,
        "turn": pl.String,
        "wire": pl.String,
        "call_id": pl.String,
        "pair_id": pl.String,
        "name": pl.String,
        "tool": pl.String,  # tool key of its call
        "success": pl.Boolean,
        "status": pl.String,
        "error": pl.String,
        "text": pl.String,
        "container": pl.String,
        "structured": pl.String,
        "seq": pl.Int64,
        "event": pl.Int64,
        "pointer": pl.String,
        "stage": pl.String,
        "echo_event": pl.Int64,  # the server's echo of a post
        "key": pl.String,
        "call": pl.Int64,  # the call it belongs to; null: orphan
        "rank": pl.Int64,  # 0: answers the call; 1, 2, ...: repeats
        "other_turn": pl.Boolean,  # its call lives in another turn
    }
)

VERDICTS = _schema(
    {
        "verdict": pl.Int64,  # key
        "call": pl.Int64,
        "result": pl.Int64,
        "session": pl.String,
        "tool": pl.String,
        "role": pl.String,  # arguments, output
        "side": pl.String,  # advertised, executed (contract files and what else says how the tool behaves)
        "schema_id": pl.String,
        "channel": pl.String,
        "offer_event": pl.Int64,  # where the schema was advertised
        "offer_pointer": pl.String,
        "verdict_is": pl.String,  # valid, invalid, unverifiable, not_applicable
        "reason": pl.String,  # one of REASONS
        "window": pl.String,  # exact, bracketed
        "also": pl.List(pl.String),  # the other candidates in a bracket
        "passes": pl.String,  # another version of the tool in this session that the payload satisfies
        "payload": pl.String,  # what its text holds: value, string (JSON of a string), not_json, empty
    }
)

# Why something owed a verdict has none.
REASONS = (
    "schema_unavailable",
    "schema_invalid",
    "schema_ambiguous",
    "schema_unresolvable",
    "payload_redacted",
    "payload_truncated",
    "payload_unmapped",
    "payload_ambiguous",
    "payload_too_deep",
    "payload_too_large",
    "pattern_undecided",
    "engine_failed",
)

VIOLATIONS = _schema(
    {
        "verdict": pl.Int64,
        "position": pl.Int64,  # key: verdict, position
        "instance_pointer": pl.String,
        "schema_pointer": pl.String,
        "keyword": pl.String,
        "expected": pl.String,
        "actual": pl.String,  # masked
        "branch": pl.Int64,
        "member": pl.String,  # the extra or the absent member: each has a row of its own
    }
)

#: Failures told of one payload, those of branches not counted; where as many are told there may be more.
MOST_TOLD = 50

# What is left of calls when their partition is gone, for rules that see all sessions at once.
RETRIES = _schema(
    {
        "session": pl.String,
        "turn": pl.String,
        "agent": pl.String,  # the subagent where there is one
        "call_id": pl.String,
        "tool": pl.String,
        "name": pl.String,
        "digest": pl.UInt64,  # of tool and canonical arguments
        "ended": pl.String,  # failed, was never answered: the last call of its session; null: may repeat one
        "event": pl.Int64,
        "pointer": pl.String,
        "first_event": pl.Int64,  # of its session
    }
)

# What is left of the calls that wait for a result and of the results that found no call.
STRAYS = _schema(
    {
        "what": pl.String,  # call, result
        "session": pl.String,
        "turn": pl.String,
        "call_id": pl.String,
        "tool": pl.String,
        "event": pl.Int64,
        "pointer": pl.String,
        "stage": pl.String,  # of the result
    }
)

RELATED = pl.Struct({"event": pl.Int64, "pointer": pl.String, "call_id": pl.String, "role": pl.String})
FAILURE = pl.Struct(
    {
        "pointer": pl.String,
        "keyword": pl.String,
        "schema_pointer": pl.String,
        "expected": pl.String,
        "actual": pl.String,
    }
)

# What a rule returns: the frame from which the engine makes FINDINGS. Missing columns are null.
HITS = _schema(
    {
        "session": pl.String,
        "event": pl.Int64,  # the evidence
        "pointer": pl.String,  # relative to the event
        "call": pl.Int64,
        "result": pl.Int64,
        "verdict": pl.Int64,  # brings the contract and the failures
        "turn": pl.String,
        "agent": pl.String,
        "call_id": pl.String,
        "tool": pl.String,
        "message": pl.String,
        "hint": pl.String,
        "severity": pl.String,  # only where it differs from the rule's default
        "confidence": pl.String,
        "keyword": pl.String,  # for the group, where no verdict gives it
        "instance_pointer": pl.String,
        "schema_pointer": pl.String,
        "schema_id": pl.String,  # contract, where no verdict gives it
        "offer_event": pl.Int64,
        "offer_pointer": pl.String,
        "channel": pl.String,
        "contract_file": pl.String,
        "related": pl.List(RELATED),
        "failures": pl.List(FAILURE),
    }
)

LOCATION = pl.Struct(
    {
        "file": pl.String,
        "line": pl.Int64,
        "offset": pl.Int64,
        "length": pl.Int64,
        "pointer": pl.String,
        "path": pl.String,
    }
)

FINDINGS = _schema(
    {
        "rule": pl.String,
        "slug": pl.String,
        "severity": pl.String,
        "confidence": pl.String,
        "message": pl.String,
        "session": pl.String,
        "turn": pl.String,
        "agent": pl.String,
        "call_id": pl.String,
        "tool": pl.String,  # bare name, with its server's prefix where it has one
        "seq": pl.Int64,
        "location": LOCATION,
        "contract": pl.Struct(
            {
                "schema_id": pl.String,
                "channel": pl.String,
                "file": pl.String,
                "line": pl.Int64,
                "pointer": pl.String,
                "passes": pl.String,
            }
        ),
        "failures": pl.List(
            pl.Struct(
                {
                    "pointer": pl.String,
                    "path": pl.String,
                    "keyword": pl.String,
                    "schema_pointer": pl.String,
                    "expected": pl.String,
                    "actual": pl.String,
                }
            )
        ),
        "hint": pl.String,
        "related": pl.List(pl.Struct({"location": LOCATION, "call_id": pl.String, "role": pl.String})),
        "group": pl.String,
        "fingerprint": pl.String,
        "suppressed": pl.Struct({"reason": pl.String, "until": pl.String}),
    }
)

# What `--save` writes, by file name.
SAVED: dict[str, pl.Schema] = {
    "sources": SOURCES,
    "events": EVENTS,
    "sessions": SESSIONS,
    "turns": TURNS,
    "offers": OFFERS,
    "tools": TOOLS,
    "schemas": SCHEMAS,
    "schema_facts": SCHEMA_FACTS,
    "sightings": SIGHTINGS,
    "calls": CALLS,
    "results": RESULTS,
    "approvals": APPROVALS,
    "gates": GATES,
    "messages": MESSAGES,
    "summaries": SUMMARIES,
    "faults": FAULTS,
    "verdicts": VERDICTS,
    "violations": VIOLATIONS,
    "findings": FINDINGS,
}
