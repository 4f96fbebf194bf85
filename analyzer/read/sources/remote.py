"""Logs in object stores: `s3://bucket/folder` and whatever else fsspec knows, as inputs like files.

Only what the caller names is opened; nothing that a log holds is. The extra `remote` brings fsspec
and its driver for S3, which the tests use; other stores need their own.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from typing import IO, Any

_SCHEMES = ("s3://", "s3a://", "gs://", "gcs://", "az://", "abfs://", "abfss://", "memory://")


def is_remote(path: str) -> bool:
    """Whether a path is an address in an object store."""
    return path.startswith(_SCHEMES)


def walk(path: str) -> Iterator[tuple[str, bool]]:
    """The object that an address names, or all below it in name order; the flag says which. Raises OSError."""
    store, root = _store(path)
    scheme = path.partition("://")[0]
    if store.isfile(root):
        yield path, True
        return
    names = sorted(store.find(root))
    if not names:
        raise FileNotFoundError(2, "no such object, and none below it")
    for name in names:
        if not any(part.startswith(".") for part in name.removeprefix(root).split("/")):
            yield f"{scheme}://{name.lstrip('/')}", False


def opened(path: str) -> IO[bytes]:
    """The bytes of an object, spooled into a private temporary file. Raises OSError."""
    store, root = _store(path)
    spool = tempfile.TemporaryFile()  # noqa: SIM115
    try:
        with store.open(root, "rb") as stream:
            shutil.copyfileobj(stream, spool, 1 << 20)
    except BaseException:
        spool.close()
        raise
    spool.seek(0)
    return spool


def state(path: str) -> tuple[str, int, float]:
    """What tells one version of an object from the next, its size, and when it was written. Raises OSError."""
    store, root = _store(path)
    info = store.info(root)
    size = int(info.get("size") or 0)
    modified = store.modified(root).timestamp() if hasattr(store, "modified") else 0.0
    mark = info.get("VersionId") or info.get("ETag") or info.get("etag") or info.get("md5Hash") or modified
    return f"{size}:{mark}", size, modified


def _store(path: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError as error:
        raise OSError(f"{path.partition('://')[0]}:// needs fsspec: install session-trace-analyzer[remote]") from error
    try:
        store, root = fsspec.core.url_to_fs(path)
    except (ImportError, ValueError) as error:
        raise OSError(str(error)) from error
    store.invalidate_cache()  # a listing of last night is not tonight's
    return store, root
