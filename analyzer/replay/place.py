"""Which session each event is of, in which order its events happened, and which came twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

import msgspec
import polars as pl

from analyzer import pointer as pointers
from analyzer.frames import PART_BITS, PART_LIMIT, RECORDED, Frames
from analyzer.trace import of_rows

# Members that the transport or the recorder adds to an event: two deliveries of one event may differ in them.
_PADDING = frozenset({"obfuscation", "recorded_at", "session_id", "direction", "sequence_number", "ordinal"})

_LAST = (1 << 63) - 1
_IN_FILE = pl.int_range(pl.len(), dtype=pl.Int64).over("session")


def place(frames: Frames, fetch: Callable[[int, int, int], bytes]) -> Frames:
    """The recorded frames with `seq` in all of them and `copy` in `events`; see `analyzer.trace.Trace`.

    `fetch(source, offset, length)` gives the bytes of a record; it is asked for events whose id comes more than once.
    What has been placed before, as a part of a session has to be, stays where it is.
    """
    events = frames["events"].rechunk()
    if "copy" not in events.columns:
        events = copies(ordered(events), fetch)
    redelivered = pl.col("copy").eq_missing("redelivered")
    where = events.select("event", "session", seq="seq", kept=pl.when(~redelivered).then("seq"))
    placed: Frames = {"events": events}
    for name in RECORDED:
        if name not in ("events", "tables"):
            # Faults of a redelivered event stay: they are facts about its bytes.
            frame = _seated(frames[name], where, all_of_them=name == "faults")
            # A selection has the same chunks in all columns, by which all that comes after takes a third less.
            placed[name] = frame.select(*RECORDED[name], "seq") if frame.height else frame[[*RECORDED[name], "seq"]]
    placed["tables"] = frames["tables"].sort("table")
    return placed


@of_rows
def _seated(frame: pl.DataFrame, where: pl.DataFrame, *, all_of_them: bool) -> pl.DataFrame:
    """A recorded frame with the session and `seq` of its events; its texts, most of the log, are not touched."""
    if "seq" in frame.columns:
        return frame
    if where.is_empty() or frame.is_empty():
        return frame.clear().with_columns(seq=pl.lit(None, pl.Int64))
    # Events are sorted and unique: looking one up costs a third of a join.
    rows = where["event"].search_sorted(frame["event"]).clip(upper_bound=where.height - 1)
    seats = where[rows]
    seq = pl.when(seats["event"] == frame["event"]).then(seats["seq" if all_of_them else "kept"])
    frame = frame.with_columns(seats["session"], seq=seq)
    return frame.filter(pl.col("seq").is_not_null()) if frame["seq"].null_count() else frame


def ordered(events: pl.DataFrame) -> pl.DataFrame:
    """Events with `seq`, in the order of `event`; the column `order` says what the order of its session rests on.

    Records of a gate that stand in a file of their own, or lack what orders the other events, come last in their
    session: nothing proves when they were written.
    """
    if not events["event"].is_sorted():  # an adapter may hold a request back until it knows whose it is
        events = events.sort("event")
    # Sessions as numbers: hashing and gathering the names again and again would be half the cost of this stage.
    keys = events.select(
        "event",
        "source",
        "number",
        "time",
        session=pl.col("session").cast(pl.Categorical).to_physical(),
        whole=~pl.col("kind").is_in(["broken", "gate"]),
        gate=pl.col("kind") == "gate",
    )
    if (keys["whole"] | keys["gate"]).all() and keys["source"].min() == keys["source"].max():
        return events.with_columns(pl.lit("file").alias("order"), keys.select(seq=_IN_FILE).to_series())
    facts = (
        keys.lazy()
        .filter("whole")
        .group_by("session")
        .agg(
            files=pl.col("source").n_unique(),
            numbered=pl.col("number").is_not_null().all(),
            timed=pl.col("time").is_not_null().all(),
        )
        .select(
            "session",
            order=pl.when(pl.col("files") == 1)
            .then(pl.lit("file"))
            .when("numbered")
            .then(pl.lit("number"))
            .when("timed")
            .then(pl.lit("time"))
            .otherwise(pl.lit("files")),
        )
        .collect()
    )
    keys = keys.join(facts, on="session", how="left", nulls_equal=True, maintain_order="left")
    if keys["gate"].any():
        keys = _with_late(keys)
    if facts["order"].is_in(["file", "files"]).all() and "late" not in keys.columns:
        seq = keys.select(_IN_FILE).to_series()
    else:
        key = (
            pl.when(pl.col("order") == "number")
            .then("number")
            .when(pl.col("order") == "time")
            .then(pl.col("time").dt.epoch("us"))
            .otherwise("event")
        )
        if "late" in keys.columns:
            key = pl.when("late").then(_LAST).otherwise(key)
        place = pl.struct(key.alias("key"), "event").rank("ordinal").over("session").cast(pl.Int64) - 1
        seq = keys.select(place).to_series()
    return events.with_columns(keys["order"], seq.alias("seq"))


def _with_late(keys: pl.DataFrame) -> pl.DataFrame:
    """The keys with `late`: the records of a gate whose place among the events of their session nothing proves."""
    seen = keys.filter("whole").select("session", "source", beside=pl.lit(value=True)).unique()
    keys = keys.join(seen, on=["session", "source"], how="left", nulls_equal=True, maintain_order="left")
    placed = (
        pl.when(pl.col("order") == "number")
        .then(pl.col("number").is_not_null())
        .when(pl.col("order") == "time")
        .then(pl.col("time").is_not_null())
        .otherwise(pl.col("beside").fill_null(value=False))
    )
    return keys.with_columns(
        late=pl.col("gate") & ~placed & pl.col("order").is_not_null(), order=pl.col("order").fill_null("file")
    )


def copies(events: pl.DataFrame, fetch: Callable[[int, int, int], bytes]) -> pl.DataFrame:
    """Events with `copy`: whether an event of the same id came before, with the same content or with another.

    Where wires give no ids, records of the same bytes and the same time are copies of one; see `again_key`.
    """
    found = marks(events, events, fetch)
    if found.is_empty():
        return events.with_columns(copy=pl.lit(None, pl.String))
    if events["event_id"].null_count() and events["source"].min() != events["source"].max():
        found = pl.concat([found, _among_copies(events, found, fetch)])
    return events.join(found, on="event", how="left", maintain_order="left")


def marks(events: pl.DataFrame, rows: pl.DataFrame, fetch: Callable[[int, int, int], bytes]) -> pl.DataFrame:
    """`event, copy` of the events that came before; `rows` are those of EVENTS that may have, of the sessions at hand.

    Of a record that was written again these are all `events`, of which `event` and `session` are looked at.
    """
    found = list(_named_again(rows, fetch))
    again = _written_again(rows, fetch)
    if again:
        record = (pl.col("event") // (1 << PART_BITS)).alias("record")
        of = pl.DataFrame(again, schema={"record": pl.Int64, "session": events.schema["session"]}, orient="row")
        copied = events.select("event", "session", record).join(of, on=["record", "session"], how="semi")
        found += [(event, "redelivered") for event in copied["event"]]
    return pl.DataFrame(found, schema={"event": pl.Int64, "copy": pl.String}, orient="row")


def again_key() -> pl.Expr:
    """What a copy of a record would share with it, on the first event of each that its ids do not tell; else null.

    That is a time that is finer than seconds, the place of the record, and its number or else its length. Pieces of
    streams have no key: two alike may come at once.
    """
    said = pl.when(pl.col("number").is_null()).then("length").otherwise(-1 - pl.col("number"))
    first = (pl.col("event") & PART_LIMIT) == 0
    fine = pl.col("time").dt.microsecond() != 0
    return pl.when(first & fine & pl.col("event_id").is_null() & (pl.col("kind") != "delta")).then(
        pl.struct("time", said.alias("said"), "pointer").hash(6)
    )


def _named_again(events: pl.DataFrame, fetch: Callable[[int, int, int], bytes]) -> Iterator[tuple[int, str]]:
    """The events whose id came before in their session."""
    ids = events["event_id"].drop_nulls()
    if ids.n_unique() == ids.len():
        return
    again = events.filter(pl.col("event_id").is_not_null() & pl.struct("session", "event_id").is_duplicated()).sort(
        "session", "seq"
    )
    seen: dict[tuple[str, str], set[bytes]] = {}  # digests: one id may come a hundred thousand times
    for row in again.select("event", "session", "event_id", "source", "offset", "length", "pointer").iter_rows():
        event, session, event_id, source, offset, length, pointer = row
        content = _digest(_content(fetch(source, offset, length), pointer))
        before = seen.setdefault((session, event_id), set())
        if before:
            yield event, "redelivered" if content in before else "reused"
        before.add(content)


def _written_again(events: pl.DataFrame, fetch: Callable[[int, int, int], bytes]) -> list[tuple[int, str]]:
    """The numbers and sessions of records that came before in their session, at the same time.

    Those that are numbered may be written in another way; of others all bytes are the same.
    """
    keys = events.select("event", "session", key=again_key()).drop_nulls()
    twice = keys.filter(pl.struct("session", "key").is_duplicated()).select("event", "key")
    seen: set[tuple[str, int, bytes]] = set()
    copied: list[tuple[int, str]] = []
    rows = events.join(twice, on="event").sort("session", "seq")
    columns = ("event", "session", "key", "number", "source", "offset", "length")
    for event, session, key, number, *where in rows.select(columns).iter_rows():
        raw = fetch(*where)
        content = (session, key, _digest(raw if number is None else _content(raw, "")))
        if content in seen:
            copied.append((event >> PART_BITS, session))
        seen.add(content)
    return copied


def _among_copies(events: pl.DataFrame, found: pl.DataFrame, fetch: Callable[[int, int, int], bytes]) -> pl.DataFrame:
    """`event, copy` of what has no id, stands among copies of what another file holds, and is in that file, too."""
    again = pl.col("event").is_in(found.filter(copy="redelivered")["event"].implode())
    named = pl.when(pl.col("event_id").is_not_null()).then(again)
    beside = named.forward_fill().over("session", "source").fill_null(named.backward_fill().over("session", "source"))
    rows = events.select(
        *("event", "event_id", "session", "source", "offset", "length", "pointer"),
        beside=beside.fill_null(value=False) & ~again,
    )
    copied = rows.filter(pl.col("beside").any().over("session"))
    held = pl.col("event_id").is_null() & ~pl.col("event").is_in(found["event"].implode())
    seen: dict[tuple[str | None, bytes], int] = {}
    marked = []
    for event, _, session, source, offset, length, pointer, near in copied.filter(held).sort("event").iter_rows():
        key = session, _digest(_content(fetch(source, offset, length), pointer))
        if seen.setdefault(key, source) != source and near:
            marked.append((event, "redelivered"))
    return pl.DataFrame(marked, schema=found.schema, orient="row")


def _digest(content: Any) -> bytes:
    raw = content if isinstance(content, bytes) else msgspec.json.encode(content, order="sorted")
    return blake2b(raw, digest_size=16).digest()


def _content(raw: bytes, pointer: str) -> Any:
    """What an event says, without what its delivery adds; the raw bytes where they are no plain JSON."""
    lines = [line.removeprefix(b"data:") for line in raw.splitlines() if line.startswith(b"data:")]
    try:
        value = pointers.resolve(msgspec.json.decode(b"\n".join(lines) if lines else raw), pointer)
    except (msgspec.DecodeError, LookupError, RecursionError):
        return raw
    if not isinstance(value, dict):
        return value
    return {name: member for name, member in value.items() if name not in _PADDING}
