"""The catalogue: every rule, in one explicit tuple.

To add a rule, write its module `analyzer/rules/FAMILY/SLUG_WITH_UNDERSCORES.py` (its docstring is the manual, its
`check(trace)` returns hits) and add a line here. Codes are never reused.

A rule works on the frames themselves, not on lazy ones: most find nothing, and a plan that is built and collected costs
more than the filter that proves it. What several rules need is made once for a trace (`analyzer.trace.shared`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from pkgutil import get_data
from typing import TYPE_CHECKING

from analyzer.errors import UsageError

if TYPE_CHECKING:  # `analyzer rules` answers without polars
    import polars as pl

    from analyzer.trace import Trace

SEVERITIES = ("error", "warning", "info")
CONFIDENCES = ("certain", "likely", "hint")


@dataclass(frozen=True)
class Rule:
    """One rule: its stable code, the name people type, and its defaults.

    `scope` says what it must see at once: `payload` (single texts), `session` (whole sessions), `fleet` (all sessions).
    """

    code: str
    slug: str
    severity: str
    confidence: str = "certain"
    scope: str = "session"
    looks_at: tuple[str, ...] = ()
    """Rows that a log must have, in the words of `Trace.holds`: without any of them the rule is not even loaded."""

    reach: str = "window"
    """What it must see of a session too large to be looked at whole. `window`: the calls of a window, all that hangs
    together with them, and the tables and states of the session. `session`: what is kept of the whole session.
    `sum`: its module has `places(trace)`, which adds up over windows, and `told(places)`. `near`: a window, though of
    the whole session it might say more. `once`: likewise, and what it has said in one window is not said again.
    `whole`: all of it, so that it is not run on such a session."""

    across: bool = False
    """Whether its module has a second look, `check_across`, at all sessions at once."""

    @property
    def module(self) -> str:
        """The module that holds it."""
        return f"analyzer.rules.{self.code.rstrip('0123456789').lower()}.{self.slug.replace('-', '_')}"

    @cached_property
    def _text(self) -> str:
        package, _, name = self.module.rpartition(".")
        source = get_data(package, f"{name}.py")
        assert source is not None
        return source.decode()

    @cached_property
    def manual(self) -> str:
        """The docstring of its module, read without running the module."""
        return ast.get_docstring(ast.parse(self._text)) or ""

    @property
    def title(self) -> str:
        """The first line of the manual, found without parsing: the whole list is asked for at once."""
        return self._text.partition("\n")[0].removeprefix("r").strip('"')

    @property
    def check(self) -> Callable[[Trace], pl.DataFrame]:
        """The function that finds the hits."""
        return import_module(self.module).check  # type: ignore[no-any-return]

    @property
    def check_across(self) -> Callable[[Trace], pl.DataFrame]:
        """The function that finds what shows over several sessions only, in the trace of all of them."""
        return import_module(self.module).check_across  # type: ignore[no-any-return]


RULES: tuple[Rule, ...] = (
    Rule("ARG001", "args-schema-mismatch", "error", looks_at=("verdicts.verdict_is=invalid|unverifiable",)),
    Rule("ARG002", "tool-not-advertised", "error"),
    Rule("ARG003", "args-invalid-json", "error", scope="payload", looks_at=("calls.container=text|broken",)),
    Rule("ARG004", "args-double-encoded", "error", scope="payload", looks_at=("calls.container=text",)),
    Rule("ARG005", "args-wrong-container", "error", scope="payload"),
    Rule("ARG006", "args-field-stringified", "error", looks_at=("violations",)),
    Rule("ARG007", "args-altered", "error"),
    Rule("ARG008", "args-truncated-executed", "error", looks_at=("call_sightings.status=incomplete",)),
    Rule("ARG009", "mcp-tool-disallowed", "error", looks_at=("calls.kind=mcp",)),
    Rule("ARG010", "text-tool-call", "info", "likely", looks_at=("messages",)),
    Rule("ARG011", "args-suspicious", "warning", "likely"),
    Rule("CALL001", "call-id-duplicate", "error"),
    Rule("CALL002", "item-id-duplicate", "error"),
    Rule("CALL003", "call-id-invalid", "error"),
    Rule("CALL004", "call-unanswered", "error", looks_at=("calls.outcome=none",)),
    Rule("CALL005", "result-orphan", "error", reach="near"),
    Rule("CALL006", "result-duplicate", "error"),
    Rule("CALL007", "result-wrong-turn", "error", across=True),
    Rule("CALL008", "result-late", "warning"),
    Rule("CALL009", "result-not-adjacent", "error", looks_at=("call_sightings.stage=history|message",)),
    Rule("CALL010", "result-name-mismatch", "error", looks_at=("results.name",)),
    Rule(
        "CALL011",
        "compaction-split-pair",
        "error",
        looks_at=(
            "call_sightings.stage=history",
            "result_sightings.stage=history",
        ),
    ),
    Rule("CALL012", "reasoning-orphan", "warning", "likely", looks_at=("events.type=reasoning",)),
    Rule("CALL013", "result-unrequested", "warning"),
    Rule("CALL014", "server-tool-unanswered", "warning", looks_at=("calls.owed_by=server",)),
    Rule(
        "CALL015",
        "finish-reason-mismatch",
        "info",
        looks_at=("messages.status=tool_calls|tool_use|function_call|stop|end_turn|stop_sequence",),
    ),
    Rule(
        "CALL016",
        "rpc-envelope",
        "error",
        looks_at=(
            "calls.wire=mcp-jsonrpc",
            "results.wire=mcp-jsonrpc",
            "faults",
        ),
    ),
    Rule("CALL017", "idempotency-key-misused", "error", looks_at=("result_sightings.key", "messages.key")),
    Rule("DRIFT001", "schema-drift", "error", across=True, reach="once"),
    Rule("DRIFT002", "tools-changed-mid-session", "warning", reach="session"),
    Rule("DRIFT003", "search-drift", "error", looks_at=("offers.channel=search",)),
    Rule("DRIFT004", "pin-drift", "error", scope="fleet", looks_at=("contracts",)),
    Rule("DRIFT005", "fleet-drift", "warning", scope="fleet"),
    Rule("DRIFT006", "shape-drift", "warning", "likely", reach="once"),
    Rule("DRIFT007", "gate-drift", "error", looks_at=("gates",), reach="session"),
    Rule("FINAL001", "final-schema-mismatch", "error", looks_at=("verdicts.role=final",)),
    Rule(
        "FINAL002",
        "final-not-json",
        "error",
        looks_at=(
            "verdicts.role=final",
            "sessions.text_format",
        ),
    ),
    Rule("FINAL003", "final-format-misplaced", "warning", looks_at=("session_states.text_format",), reach="once"),
    Rule("FINAL004", "ledger-lost", "warning", "likely", reach="whole"),
    Rule("LOG001", "record-unreadable", "error", scope="payload", looks_at=("faults",)),
    Rule("LOG002", "record-truncated", "warning", scope="payload", looks_at=("faults",)),
    Rule(
        "LOG003",
        "event-unknown",
        "info",
        looks_at=(
            "events.kind=unknown",
            "faults.fault=unknown_item",
        ),
        reach="session",
    ),
    Rule("LOG004", "event-redelivered", "info", looks_at=("events.copy=redelivered",), reach="session", across=True),
    Rule("LOG005", "event-id-reused", "error", looks_at=("events.copy=reused",), reach="session"),
    Rule("LOG006", "order-broken", "warning", reach="session"),
    Rule("LOG007", "record-missing", "info", reach="session"),
    Rule("LOG008", "contract-unrecorded", "warning", looks_at=("verdicts.reason=schema_unavailable",), reach="sum"),
    Rule(
        "LOG009",
        "json-ambiguous",
        "warning",
        looks_at=(
            "faults",
            "verdicts.reason=payload_ambiguous",
        ),
    ),
    Rule("LOG010", "request-invalid", "error"),
    Rule(
        "OUT001",
        "output-not-string",
        "error",
        scope="payload",
        looks_at=("results.container=object|array|number|boolean",),
    ),
    Rule("OUT002", "output-double-encoded", "error"),
    Rule("OUT003", "output-stringly", "warning", "likely", reach="near"),
    Rule(
        "OUT004",
        "output-schema-mismatch",
        "error",
        looks_at=("verdicts.verdict_is=invalid", "results.wire=mcp-jsonrpc"),
    ),
    Rule("OUT005", "output-prose", "error", looks_at=("verdicts.verdict_is=invalid",)),
    Rule("OUT006", "error-as-success", "error"),
    Rule("OUT007", "result-contradictory", "error", scope="payload"),
    Rule("OUT008", "output-structured-missing", "warning", looks_at=("results.wire=mcp-jsonrpc",)),
    Rule("OUT009", "output-truncated", "warning", scope="payload"),
    Rule("OUT010", "output-oversized", "info", reach="sum"),
    Rule("OUT011", "program-error-prose", "warning", "likely", looks_at=("calls.kind=program",), reach="near"),
    Rule("RUN001", "executed-despite-mismatch", "error", looks_at=("verdicts.verdict_is=invalid",)),
    Rule("RUN002", "executed-despite-gate", "error", looks_at=("gates",), reach="session"),
    Rule("RUN003", "side-effect-repeated", "error", reach="session"),
    Rule("RUN004", "retry-in-new-session", "warning", "likely", scope="fleet"),
    Rule("RUN005", "approval-mismatch", "error", looks_at=("approvals", "calls.kind=mcp"), reach="session"),
    Rule("RUN006", "parallel-not-allowed", "error", looks_at=("session_states.parallel",)),
    Rule("RUN007", "subagent-function-tool", "error", looks_at=("calls.subagent",)),
    Rule("RUN008", "subagents-over-limit", "warning", looks_at=("turns.subagent",), reach="session"),
    Rule("RUN009", "retry-storm", "warning", looks_at=("calls.outcome=error",), reach="session"),
    Rule("RUN010", "session-stuck", "info", looks_at=("session_states.status=requires_action",), reach="session"),
    Rule(
        "RUN011",
        "prompt-only-contract",
        "info",
        "hint",
        looks_at=("sessions.instructions", "messages.role=system|developer"),
        reach="session",
    ),
    Rule("RUN012", "action-waited", "info", looks_at=("calls.action_event",)),
    Rule("RUN013", "write-unapproved", "warning", looks_at=("approvals.policy", "calls.kind=mcp")),
    Rule("RUN014", "merge-unstructured", "info", looks_at=("turns.subagent",)),
    Rule("SAFE001", "output-secret", "error", scope="payload"),
    Rule("SAFE002", "output-stack-trace", "warning", scope="payload"),
    Rule("SAFE003", "output-instructs", "warning", "likely", scope="payload"),
    Rule("SAFE004", "terminal-escape", "warning", scope="payload"),
    Rule(
        "TOOL001",
        "tool-schema-invalid",
        "error",
        scope="fleet",
        looks_at=("schema_facts.fact=meta_invalid|pattern_invalid|ref_unresolved|root_not_object|array_without_items",),
    ),
    Rule("TOOL002", "strict-schema-violation", "error", scope="fleet", looks_at=("schema_facts.fact=strict",)),
    Rule("TOOL003", "object-open", "warning", scope="fleet", looks_at=("schema_facts.fact=object_open",)),
    Rule("TOOL004", "required-incomplete", "warning", scope="fleet", looks_at=("schema_facts.fact=property_optional",)),
    Rule(
        "TOOL005", "string-unbounded", "info", "likely", scope="fleet", looks_at=("schema_facts.fact=string_unbounded",)
    ),
    Rule("TOOL006", "schema-vacuous", "warning", scope="fleet", looks_at=("schema_facts.fact=schema_vacuous",)),
    Rule("TOOL007", "tool-name-invalid", "error", scope="fleet"),
    Rule("TOOL008", "tool-name-duplicate", "error", scope="fleet"),
    Rule("TOOL009", "ref-remote", "warning", scope="fleet", looks_at=("schema_facts.fact=ref_remote",)),
    Rule("TOOL010", "pattern-explosive", "warning", scope="fleet", looks_at=("schema_facts.fact=pattern_explosive",)),
    Rule("TOOL011", "description-instructs", "warning", "likely", scope="fleet"),
    Rule("TOOL012", "output-contract-missing", "info", "likely", reach="sum"),
    Rule("TOOL013", "tool-deferred-unreachable", "warning", scope="fleet"),
    Rule("TOOL014", "mcp-allowlist-open", "info", scope="fleet"),
    Rule(
        "TOOL015", "number-unbounded", "info", "likely", scope="fleet", looks_at=("schema_facts.fact=number_unbounded",)
    ),
    Rule("TOOL016", "table-oversized", "info", scope="fleet"),
)


def find_rule(name: str) -> Rule | None:
    """The rule with this code or slug, in any case."""
    wanted = name.strip().lower()
    return next((rule for rule in RULES if wanted in (rule.code.lower(), rule.slug)), None)


def family(name: str) -> tuple[Rule, ...]:
    """The rules of a family such as `ARG`, in any case."""
    wanted = name.strip().upper()
    return tuple(rule for rule in RULES if rule.code.rstrip("0123456789") == wanted)


def nearest(name: str) -> str | None:
    """The code or slug most like an unknown name."""
    names = {each.lower(): each for rule in RULES for each in (rule.slug, rule.code)}
    found = get_close_matches(name.strip().lower(), names, n=1, cutoff=0.6)
    return names[found[0]] if found else None


def check(names: Iterable[str]) -> None:
    """Raise UsageError for a name of no rule and no family: it selects nothing, and is no empty audit."""
    for name in names:
        if find_rule(name) is None and not family(name):
            near = nearest(name)
            raise UsageError(f"no rule {name!r}" + (f"; did you mean {near!r}?" if near else "; see `analyzer rules`"))
