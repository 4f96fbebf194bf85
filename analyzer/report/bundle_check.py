"""A bundle held to a log: is it whole, and does the log still say what it says? What differs is named."""

from __future__ import annotations

import json
import zipfile
import zlib
from hashlib import sha256
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from analyzer.errors import InputError
from analyzer.report.bundle import MANIFEST, SCHEMA, contracts_of, named
from analyzer.report.version import version

if TYPE_CHECKING:
    from analyzer.auditing import Audit

_MOST_BYTES = 2 << 30
_MOST_TOLD = 20  # lines of one member
_ADVICE = "name a file that `analyzer show --bundle` wrote"
_BROKEN = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError, ValueError, KeyError, TypeError)


class Bundle:
    """A bundle as it was read; `manifest` is checked for its shape, and nothing is unpacked."""

    def __init__(self, file: str) -> None:
        """Raise InputError where the file is no bundle."""
        self.file = file
        try:
            with zipfile.ZipFile(file) as archive:
                if sum(each.file_size for each in archive.infolist()) > _MOST_BYTES:
                    raise InputError(
                        f"not a bundle: its members have more than {_MOST_BYTES} bytes", file=file, advice=_ADVICE
                    )
                self.members = {each.filename: archive.read(each) for each in archive.infolist()}
            self.manifest: dict[str, Any] = json.loads(self.members.pop(MANIFEST))
            if self.manifest["schema"] != SCHEMA:
                raise InputError(f"not a bundle that this version reads: it is not {SCHEMA}", file=file, advice=_ADVICE)
            chosen = self.manifest["chosen"]
            self.session, self.turn, self.call_id = (chosen[name] for name in ("session", "turn", "call"))
            self.redacted, self.keyed = bool(self.manifest["redacted"]), bool(self.manifest["keyed"])
            self.listed = {each["name"]: (each["sha256"], each["bytes"]) for each in self.manifest["members"]}
            # Bundles of before say nothing of contracts.
            contracts = self.manifest.get("contracts")
            self.contracts = None if contracts is None else {each["path"]: each["sha256"] for each in contracts}
            self.inputs = [(each["path"], each["sha256"], each["bytes"]) for each in self.manifest["inputs"]]
        except OSError as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"cannot read: {error.strerror or error}", file=file) from error
        except (*_BROKEN, RecursionError) as error:
            raise InputError(
                "not a bundle: not a zip file, or without the manifest of one", file=file, advice=_ADVICE
            ) from error

    def torn(self) -> list[str]:
        """Where its members are not those of its manifest."""
        found = [f"{name} is in the manifest and not in the bundle" for name in self.listed if name not in self.members]
        for name, data in self.members.items():
            if name not in self.listed:
                found.append(f"{name} is in the bundle and not in the manifest")
            elif (sha256(data).hexdigest(), len(data)) != self.listed[name]:
                found.append(f"{name} was changed after the bundle was made")
        return found

    def other_contracts(self, audit: Audit) -> tuple[list[str], list[str], list[str]]:
        """Names of contract files: those of the bundle that are not given, those given besides, those that changed."""
        if self.contracts is None:
            return [], [], []
        now = {each["path"]: each["sha256"] for each in contracts_of(audit)}
        same = self.contracts.keys() & now.keys()
        changed = sorted(name for name in same if now[name] != self.contracts[name])
        return sorted(self.contracts.keys() - now.keys()), sorted(now.keys() - self.contracts.keys()), changed

    def differing(self, audit: Audit, made: dict[str, bytes]) -> list[str]:
        """Where the log says something else: inputs by their digests, then members line by line."""
        found = self._inputs(audit)
        for name in sorted(self.members.keys() | made.keys()):
            if name not in made or name not in self.members:
                found.append(f"{name} is only {'in the bundle' if name in self.members else 'of the log'}")
            elif made[name] != self.members[name]:
                found += _lines(name, self.members[name], made[name])
        if found and self.manifest.get("version") != version():
            found.append(f"the bundle was made by version {self.manifest.get('version')}, this is {version()}")
        return found

    def _inputs(self, audit: Audit) -> list[str]:
        now = {each["sha256"]: each for each in audit.inputs}
        by_name = {named(each["path"]): each for each in audit.inputs}
        found = []
        for path, digest, size in self.inputs:
            if digest in now:
                continue
            held = by_name.get(path)
            if held is None:
                found.append(f"{path} (sha256 {digest}) is not among the logs given")
            else:
                found.append(
                    f"{path} was changed: {size} bytes, sha256 {digest}; now {held['bytes']}, {held['sha256']}"
                )
        return found


def _lines(name: str, before: bytes, now: bytes) -> list[str]:
    pairs = enumerate(zip_longest(before.splitlines(), now.splitlines()), 1)
    differing = [number for number, (one, other) in pairs if one != other]
    told = [f"{name}:{number} differs from the log" for number in differing[:_MOST_TOLD]]
    rest = len(differing) - _MOST_TOLD
    return [*told, *([f"{name}: and {rest} more lines"] if rest > 0 else [])]
