"""Recorded files in, recorded frames out: find, open, cut into records, hand each to the adapter that knows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from analyzer.errors import InputError
from analyzer.read.adapter import Adapter
from analyzer.read.agents_api import AgentsApi
from analyzer.read.agents_sdk import AgentsSdk
from analyzer.read.anthropic import AnthropicMessages
from analyzer.read.bedrock import BedrockConverse
from analyzer.read.bfcl import Bfcl
from analyzer.read.chat import OpenAIChat
from analyzer.read.claude_code import ClaudeCode
from analyzer.read.codex import Codex
from analyzer.read.codex_app_server import CodexAppServer
from analyzer.read.gate_records import GateRecords
from analyzer.read.gemini import Gemini
from analyzer.read.gemini_cli import GeminiCli
from analyzer.read.gemini_live import GeminiLive
from analyzer.read.inspect import Inspect
from analyzer.read.interactions import Interactions
from analyzer.read.langchain import LangChain
from analyzer.read.langfuse import Langfuse
from analyzer.read.langsmith import LangSmith
from analyzer.read.managed_agents import ManagedAgents
from analyzer.read.mcp import Mcp
from analyzer.read.mlflow import MLflow
from analyzer.read.openhands import OpenHands
from analyzer.read.otel import OpenTelemetry
from analyzer.read.pydantic_ai import PydanticAI
from analyzer.read.reader import read_source
from analyzer.read.recording import Recording
from analyzer.read.responses import Responses
from analyzer.read.rows import Rows, no_collection
from analyzer.read.shares import Crew, read_shared
from analyzer.read.sniffing import Known, first_values
from analyzer.read.sources.files import Source, Stream
from analyzer.read.sources.ranges import size_of
from analyzer.read.strands import Strands
from analyzer.read.toolbench import ToolBench
from analyzer.read.vercel import VercelAI

__all__ = ["ADAPTERS", "Crew", "first_values", "read"]

ADAPTERS: tuple[type[Adapter], ...] = (
    AgentsApi,
    Mcp,
    Responses,
    AgentsSdk,
    Codex,
    CodexAppServer,
    AnthropicMessages,
    ClaudeCode,
    OpenAIChat,
    ManagedAgents,
    Gemini,
    Interactions,
    GeminiLive,
    GeminiCli,
    OpenTelemetry,
    Inspect,
    BedrockConverse,
    ToolBench,
    Bfcl,
    VercelAI,
    Langfuse,
    LangSmith,
    LangChain,
    PydanticAI,
    OpenHands,
    Strands,
    MLflow,
    GateRecords,
)

_PART = 96 << 20  # bytes on disk for which a spilled recording has a part of its own
_MOST_PARTS = 512


def read(
    sources: list[Source],
    *,
    input_format: str | None = None,
    recording: Recording | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    adapters: Sequence[type[Adapter]] = ADAPTERS,
    crew: Crew | None = None,
) -> Recording:
    """Read every source into one recording. What cannot be opened is among its `problems`, and the rest is read.

    `progress("read", done, in all)` is called on the way: bytes, or parts with a crew. `adapters` are ADAPTERS, or
    these and more. A `crew` reads what can be read apart; the recording is the same with it and without.
    """
    recording = recording if recording is not None else Recording()
    sizes = [size_of(source) or 0 for source in sources]
    size = sum(sizes)
    recording.parts = max(recording.parts, recording.at_least, min(size // _PART, _MOST_PARTS))
    known = Known(input_format, adapters)
    report = progress or (lambda *_: None)
    done = {} if crew is None else read_shared(sources, known, crew, recording, report)
    rows = Rows()
    with no_collection():
        for source, own, before in zip(sources, sizes, accumulate(sizes, initial=0), strict=False):
            if source.number in done:
                row, problems = done[source.number]
                recording.problems += problems
            else:

                def moved(read: int, own: int = own, before: int = before) -> None:
                    report("read", before + min(read, own), size)

                row = _read_here(source, rows, recording, known, moved)
            if row is not None:
                recording.sources.append(row)
    recording.add(rows.take())
    return recording


def _read_here(
    source: Source, rows: Rows, recording: Recording, known: Known, moved: Callable[[int], None]
) -> dict[str, Any] | None:
    try:
        stream = Stream(source)
    except InputError as error:
        recording.problems.append(error)
        return None
    return read_source(source, stream, rows, recording, known, moved=moved)
