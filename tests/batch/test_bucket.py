"""Logs in an object store: a real server that speaks S3 is started on this machine."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer import audit
from analyzer.errors import InputError
from tests.batch.nights import log, run, story, told

SERVERS = "moto.server"
pytestmark = pytest.mark.s3


@pytest.fixture(scope="module")
def bucket() -> Iterator[Any]:
    """Give a file system of a server with one bucket, or skip where the machine cannot start one."""
    moto = pytest.importorskip(SERVERS, reason="no S3 server here: moto is not installed")
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    server = moto.ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    patch = pytest.MonkeyPatch()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "FSSPEC_S3_ENDPOINT_URL": f"http://{host}:{port}",
    }.items():
        patch.setenv(name, value)
    store = fsspec.filesystem("s3", endpoint_url=f"http://{host}:{port}", key="testing", secret="testing")
    store.mkdir("logs")
    try:
        yield store
    finally:
        patch.undo()
        server.stop()


def test_a_bucket_is_a_folder(bucket: Any, tmp_path: Path) -> None:
    local = log(tmp_path / "day", "a.ndjson", story("s1", {"id": 7}))
    bucket.pipe("logs/day/a.ndjson", local.read_bytes())
    bucket.pipe("logs/day/b.ndjson.gz", gzip.compress(b"".join(_lines(story("s2", {"id": "x"})))))
    done = audit(["s3://logs/day"])
    assert [each["path"] for each in done.inputs] == ["s3://logs/day/a.ndjson", "s3://logs/day/b.ndjson.gz"]
    assert done.summary["sessions"] == 2
    assert done.findings["rule"].to_list().count("ARG001") == 1
    evidence = done.evidence()
    assert evidence.fetch(0, 0, 20) == local.read_bytes()[:20]
    evidence.close()


def test_a_batch_reads_what_is_new_in_a_bucket(bucket: Any, tmp_path: Path) -> None:
    bucket.pipe("logs/night/a.ndjson", b"".join(_lines(story("s1", {"id": 7}))))
    bucket.pipe("logs/night/b.ndjson", b"".join(_lines(story("s2", {"id": "x"}))))
    first = run(tmp_path / "store", "s3://logs/night", size=1)
    assert first.trend.run["audited"] == 2
    bucket.pipe("logs/night/b.ndjson", b"".join(_lines(story("s2", {"id": 9}))))
    second = run(tmp_path / "store", "s3://logs/night", size=1)
    assert second.trend.run["audited"] == 1
    assert told(second.audit.findings) == told(audit(["s3://logs/night"]).findings)


def test_a_bucket_that_is_not_there(bucket: Any) -> None:
    del bucket
    done = audit(["s3://nowhere/logs"], lenient=True)
    assert isinstance(done.problems[0], InputError)
    assert "s3://nowhere/logs" in str(done.problems[0])
    with pytest.raises(InputError, match="s3://nowhere/logs"):
        audit(["s3://nowhere/logs"])


def _lines(events: list[dict[str, Any]]) -> Iterator[bytes]:
    import json

    return (json.dumps(event).encode() + b"\n" for event in events)
