"""Files that promise records and hold traps: bombs, path tricks, code in YAML and pickles, databases gone wrong."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import sqlite3
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard

from tests.hostile.infect import zipped
from tests.hostile.schemas import nested
from tests.hostile.wire import session

Case = tuple[str, bytes]
_LOG = session({"type": "object"}, '{"x":1}')


def cases(samples: Path, *, large: bool = False) -> Iterator[Case]:
    """Files by name."""
    yield from _packed(large=large)
    yield from _zips(large=large)
    yield from _cassettes((samples / "openai-responses.cassette.yaml").read_text())
    yield from _databases()
    yield from _streams(large=large)
    for protocol in (0, 2, 5):
        yield f"pickle-{protocol}.pkl", pickle.dumps(_Runs(), protocol)
    yield "python.py", b"import os\nos.system('touch PWNED')\n"
    yield "script.sh", b"#!/bin/sh\ntouch PWNED\n"
    yield "elf.bin", b"\x7fELF\x02\x01\x01" + bytes(2_000)
    yield "empty.json", b""
    yield "blank.ndjson", b"\n \n\t\n\r\n"
    yield "zeros.ndjson", bytes(100_000)
    yield "utf16.json", json.dumps([{"type": "agent.session.created"}]).encode("utf-16")
    yield "xml.json", b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'


class _Runs:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("open('PWNED','w').close()",)


def _packed(*, large: bool) -> Iterator[Case]:
    size = (1 << 30) if large else (8 << 20)
    whole = gzip.compress(_LOG, mtime=0)
    zst = zstandard.compress(_LOG)
    yield "bomb-zeros.gz", gzip.compress(bytes(size), 9, mtime=0)
    yield "bomb-lines.gz", gzip.compress(b"\n" * size, 9, mtime=0)
    yield "bomb-objects.gz", gzip.compress(b"{}\n" * (size // 64), 9, mtime=0)
    yield "bomb-array.gz", gzip.compress(b"[" + b"{}," * (size // 64) + b"{}]", 9, mtime=0)
    yield "bomb-zeros.zst", zstandard.compress(bytes(size), 19)
    yield "bomb-string.zst", zstandard.compress(b'{"type":"' + b"a" * size + b'"}\n' + _LOG, 19)
    yield "bomb-in-bomb.gz", gzip.compress(gzip.compress(bytes(size), 9, mtime=0), 9, mtime=0)
    yield "cut.gz", whole[: len(whole) // 2]
    yield "checksum.gz", whole[:-8] + b"\x00\x00\x00\x00" + whole[-4:]
    yield "garbage-after.gz", whole + b"\x00\x01PWNED" * 50
    yield "name.gz", whole[:3] + b"\x08" + whole[4:10] + b"../../PWNED\x1b[2J\x00" + whole[10:]
    yield "twice.gz", whole + whole
    yield "cut.zst", zst[: len(zst) // 2]
    yield "huge-window.zst", b"\x28\xb5\x2f\xfd\x00\xff" + bytes(64)
    yield "skippable.zst", b"\x50\x2a\x4d\x18" + struct.pack("<I", 9) + b"PWNED\x1b[2J"[:9] + zst
    yield "twice.zst", zst + zst
    yield "gzip-of-zstd.gz", gzip.compress(zst, mtime=0)


def _zips(*, large: bool) -> Iterator[Case]:
    for number, name in enumerate(
        (
            "../../../../PWNED",
            "/PWNED",
            "..\\..\\PWNED",
            "C:\\PWNED",
            "samples/../../PWNED.json",
            "samples/\x1b]0;PWNED\x07.json",
            "samples/\u202egpj.json",
            "samples/<script>PWNED</script>.json",
            "samples/a!b!c.json",
            "samples/" + "x" * 5_000 + ".json",
            "",
        )
    ):
        yield f"names-{number}.eval", zipped({name: _LOG})
    link = zipfile.ZipInfo("samples/1.json")
    link.external_attr = 0o120777 << 16
    yield "link.eval", _archive(lambda archive: archive.writestr(link, "/etc/passwd"))
    yield "twice.eval", _archive(_twice)
    yield "nested.eval", zipped({"samples/1.json": zipped({"samples/1.json": _LOG})})
    whole = zipped({"samples/1.json": _LOG, "samples/2.json": _LOG})
    yield "cut.eval", whole[: len(whole) // 2]
    yield (
        "encrypted.eval",
        whole.replace(b"PK\x03\x04\x14\x00\x00", b"PK\x03\x04\x14\x00\x01").replace(
            b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"
        ),
    )
    middle = bytearray(whole)
    middle[60:80] = b"\xff" * 20
    yield "broken.eval", bytes(middle)
    # The directory says that the member is small.
    yield "lying.eval", whole.replace(struct.pack("<I", len(_LOG)), struct.pack("<I", 7))
    size = (1 << 30) if large else (8 << 20)
    bomb = b'{"id":"' + b"0" * size + b'"}'
    yield "bomb.eval", zipped({"samples/1.json": bomb})
    yield "bombs.eval", zipped({f"samples/{number}.json": bomb[: size // 50] for number in range(50)})
    yield "crowd.eval", zipped({f"samples/{number}.json": b"" for number in range(250_000 if large else 500)})
    yield "no-end.eval", whole[:-22]
    yield "only-magic.eval", b"PK\x03\x04"


def _twice(archive: zipfile.ZipFile) -> None:
    archive.writestr(zipfile.ZipInfo("samples/1.json"), _LOG)
    archive.writestr(zipfile.ZipInfo("samples/1.json"), b"{}")


def _archive(write: Callable[[zipfile.ZipFile], object]) -> bytes:
    import warnings

    out = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(out, "w") as archive:
        write(archive)
    return out.getvalue()


def _cassettes(sound: str) -> Iterator[Case]:
    for number, tag in enumerate(
        (
            "!!python/object/apply:os.system ['touch PWNED']",
            "!!python/object/new:subprocess.Popen [[touch, PWNED]]",
            "!!python/name:os.system",
            "!!python/module:os",
            '!!binary "UFdORUQ="',
            "!<tag:PWNED.test,2000:x> {a: b}",
            "!!timestamp 2026-11-30T99:99:99",
            "2026-02-30",
            "!!float 1:60:60",
            "!!set {a, b}",
        )
    ):
        yield f"tag-{number}.yaml", f"{sound}extra: {tag}\n".encode()
        yield f"tag-inside-{number}.yaml", f"interactions:\n- request: {tag}\n  response: {tag}\nversion: 1\n".encode()
    laughs = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    yield "laughs.yaml", f"interactions:\n- a\na0: &a0 [x]\n{laughs}version: 1\n".encode()
    yield (
        "laughs-inside.yaml",
        f"a0: &a0 [x]\n{laughs}interactions: [*a11]\nversion: 1\n".encode().replace(
            b"a0: &a0", b"interactions: []\na0: &a0", 1
        ),
    )
    yield "self.yaml", b"interactions: &a\n- *a\nversion: 1\n"
    yield "merge.yaml", b"interactions:\n- &a {<<: *a, x: 1}\nversion: 1\n"
    yield (
        "keys.yaml",
        b"interactions:\n- {[a, b]: 1, 1: 2, null: 3, ~: 4, 2026-01-01: 5, 1.5: 6, true: 7}\nversion: 1\n",
    )
    yield "deep.yaml", b"interactions:\n- " + b"[" * 5_000 + b"]" * 5_000 + b"\nversion: 1\n"
    yield "deep-maps.yaml", b"interactions:\n- " + b"{a: " * 5_000 + b"}" * 5_000 + b"\nversion: 1\n"
    yield "tabs.yaml", b"interactions:\n\t- x\n\x00\x1b]0;PWNED\x07\n"
    yield "documents.yaml", sound.encode() + b"---\n" + sound.encode()


def _databases() -> Iterator[Case]:
    rows = [
        json.dumps({"role": "user", "content": "x \x1b]0;PWNED\x07"}),
        "not json",
        None,
        7,
        b"\xff\x00",
        nested(50_000),
    ]

    def store(database: sqlite3.Connection) -> None:
        database.execute("CREATE TABLE agent_messages (session_id, message_data, created_at)")
        database.executemany("INSERT INTO agent_messages VALUES ('s', ?, 1)", [(row,) for row in rows])

    def odd_names(database: sqlite3.Connection) -> None:
        for name in ('a"; DROP TABLE x; --', "\x1b]0;PWNED\x07", "\u202e", "~/", "' OR 1=1"):
            database.execute(f'CREATE TABLE "{name.replace(chr(34), chr(34) * 2)}" (session_id, message_data)')
            database.execute(f'INSERT INTO "{name.replace(chr(34), chr(34) * 2)}" VALUES (?, ?)', (name, rows[0]))

    def views(database: sqlite3.Connection) -> None:
        store(database)
        database.execute("CREATE VIEW v AS SELECT load_extension('PWNED') AS session_id, 1 AS message_data")
        database.execute("CREATE TRIGGER t AFTER INSERT ON agent_messages BEGIN SELECT load_extension('PWNED'); END")

    def generated(database: sqlite3.Connection) -> None:
        bomb = "hex(zeroblob(50000000))"
        database.execute(f"CREATE TABLE m (session_id, n, message_data AS ({bomb}))")
        database.executemany("INSERT INTO m (session_id, n) VALUES ('s', ?)", [(n,) for n in range(3)])

    def forged(database: sqlite3.Connection) -> None:
        store(database)
        database.execute("PRAGMA writable_schema=ON")
        database.execute(
            "UPDATE sqlite_master SET sql = 'CREATE TABLE agent_messages (session_id, message_data, x y z)('"
        )
        database.commit()

    def endless(database: sqlite3.Connection) -> None:
        # A view under a table's entry, which costs without end.
        database.execute("CREATE TABLE m (session_id, message_data)")
        loop = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c)"
        loop += " SELECT x AS session_id, x AS message_data FROM c"
        database.execute("PRAGMA writable_schema=ON")
        database.execute("UPDATE sqlite_master SET sql = ?", (f"CREATE VIEW m AS {loop}",))
        database.commit()

    made = {make.__name__: _database(make) for make in (store, odd_names, views, generated, forged, endless)}
    yield from ((f"{name}.db", data) for name, data in made.items())
    whole = made["store"]
    yield "cut.db", whole[: len(whole) // 2]
    yield "head-only.db", whole[:100]
    yield "page-size.db", whole[:16] + b"\x00\x03" + whole[18:]
    loops = bytearray(whole)
    loops[4096 - 100 : 4096] = b"\xff" * 100
    loops[100:140] = b"\x05" + bytes(39)
    yield "loops.db", bytes(loops)
    yield "wal.db", whole[:18] + b"\x02\x02" + whole[20:]


def _database(make: Callable[[sqlite3.Connection], None]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        database = sqlite3.connect(path)
        make(database)
        database.commit()
        database.close()
        return path.read_bytes()


def _streams(*, large: bool) -> Iterator[Case]:
    events = _LOG.splitlines()
    many = 300_000 if large else 5_000
    yield "no-blank.sse", b"".join(b"data: " + line + b"\n" for line in events)
    yield "carriage.sse", b"".join(b"data: " + line + b"\r\r" for line in events)
    yield (
        "fields.sse",
        b"".join(
            b"id: \x1b]0;PWNED\x07\nevent: \x00\nretry: 99999999999999999999\nPWNED: x\ndata: " + line + b"\n\n"
            for line in events
        ),
    )
    yield "empty-data.sse", b"data:\n\n" * many
    yield "one-event.sse", b"".join(b"data: {\n" for _ in range(many)) + b"\n"
    yield "comments.sse", b": keep-alive\n" * many
    yield "joined.ndjson", _LOG.replace(b"\n", b"")
    yield "many-joined.ndjson", b"{}" * many
    yield "borders.ndjson", b"}{" * many
    yield "brackets.json", b"[" * many
    yield "openings.json", b'{"a":' * many
    yield "strings.json", b'["' * many
    yield "commas.json", b"[" + b"," * many + b"]"
    yield "pretty.json", b"".join(json.dumps(json.loads(line), indent=1).encode() + b"\n" for line in events)
    yield "long-line.ndjson", _LOG + b'{"type":"' + b"a" * (many * 100) + b'"}\n' + _LOG
    yield "crlf.ndjson", _LOG.replace(b"\n", b"\r\n")
    yield "separators.ndjson", _LOG.replace(b"\n", "\u2028".encode())
    yield "nul-between.ndjson", _LOG.replace(b"\n", b"\x00\n\x00")
    yield "bom-inside.ndjson", _LOG.replace(b"\n", b"\n\xef\xbb\xbf")
    yield "latin.ndjson", _LOG.replace(b'"d"', b'"\xe9\xff\xfe"')
    yield "overlong.ndjson", _LOG.replace(b'"d"', b'"\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80"')
    yield (
        "har.har",
        b'{"log":{"version":"1.2","entries":[' + b'{"request":null},' * 500 + b'{"response":{"content":{"text":7}}}]}}',
    )
    yield "har-cut.har", b'{"log":{"version":"1.2","entries":[{"request":{"url":"http://PWNED.test/'
