"""Credentials in texts: found by kind, never shown.

A column is sifted by `PREFIXED` and `LOOSE` in Polars, and only the hits go to `find`, which is exact: it checks what
stands before and after, checksums, and whether the value is a sample.

Use `str.contains(PREFIXED)`; `str.contains_any` took ten times as long in Polars 2.1. The alternation is fast because
few enough literals open it, and their first three letters are rare in prose: that is why some prefixes begin in the
middle of a word. Measure before adding one: a dozen more made it three times as slow. Twenty literals in a pattern of
their own are as cheap as one, forty are six times as dear: so the vendors come in groups.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from analyzer.secret_kinds import KINDS, MORE, PLACEHOLDER, VENDORS, Confidence, Kind, looks_random

_ORDER = {"certain": 0, "likely": 1, "hint": 2}


class Secret(NamedTuple):
    """One credential: `text[start:end]` is what must not be shown."""

    kind: str
    start: int
    end: int
    confidence: Confidence


#: An address, a date, a UUID, an expression, a relative path: long and mixed, but no credential.
_WRITTEN = re.compile(
    r"://|^[0-9]{4}-[0-9]{2}-[0-9]{2}|^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"
    r"|^[A-Za-z_]+[0-9]{0,2}(?:[.][A-Za-z_]+[0-9]{0,2})+$|^[a-z._-]+/(?:[a-z0-9._-]+/)*[a-z0-9._-]+$"
)
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
GATES: tuple[str, ...] = (
    *("password", "Password", "PASSWORD", "passwd", "PASSWD", "passphrase", "Passphrase", "PASSPHRASE"),
    *("api_key", "apikey", "apiKey", "ApiKey", "api-key", "Api-Key", "API-Key", "API_KEY", "APIKEY"),
    *("secret", "Secret", "SECRET", "private_key", "privateKey", "PRIVATE_KEY"),
    *("access_token", "accessToken", "auth_token", "authToken", "refresh_token", "refreshToken", "api_token"),
    *("bot_token", "session_token", "security_token", "_TOKEN"),
)
_NAMES = "|".join(GATES)
_VALUE = (
    r"""(?:_?[Kk]ey|_KEY)?[\\"']*[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}[\\"'`]*"""
    r"(?P<s>[A-Za-z0-9!#$%*+./:=?@^_|~-]{8,})"
)


def _for_polars(kind: Kind) -> str:
    heads = "|".join(re.escape(prefix).replace("\\ ", " ").replace("\\-", "-") for prefix in kind.prefixes)
    return f"(?:{heads})" + re.sub(r"\(\?P<[a-z]+>", "(?:", kind.body)


def _any(kinds: Iterable[Kind]) -> str:
    return "|".join(map(_for_polars, kinds))


#: The kinds with a literal prefix, as one alternation: a text without a match holds none of them.
PREFIXED: str = _any(KINDS)
#: The others, to be run one by one: assigned passwords and keys (each opens with one of `GATES`), more prefixes.
LOOSE: tuple[str, ...] = (f"(?:{_NAMES})" + _VALUE.replace("?P<s>", "?:"), _any(MORE), *map(_any, VENDORS))

_RULES = tuple(
    (prefix, kind, re.compile(kind.exact or kind.body), re.compile(kind.before))
    for kind in (*KINDS, *MORE, *(kind for group in VENDORS for kind in group))
    for prefix in kind.prefixes
)
_ASSIGN = (*GATES, "token", "Token")
_MAY_ASSIGN = ("pass", "Pass", "PASS", "key", "Key", "KEY", "ecret", "ECRET", "oken", "TOKEN")  # in each of them
#: One of these stands in every text in which something is found.
MARKS: tuple[str, ...] = (*dict.fromkeys(prefix for prefix, *_ in _RULES), *_MAY_ASSIGN)
_ASSIGNED = re.compile(_VALUE)
_NO_SECRET_TOKEN = re.compile(r"(?:page|next|cursor|continuation|sync|eos|pad|bos|stop|resume)[_-]?$", re.IGNORECASE)
_SECRET_NAME = re.compile(
    r"(?:^|.*[_.\s-])(?:passw(?:or)?ds?|pwd|passphrase|credentials?|secrets?(?:access)?(?:key)?|(?:api|private|secret|access|account|signing|encryption)[_-]?keys?"
    r"|token|authorization|cookie|set-cookie|bearer)",
)


def find(text: str) -> list[Secret]:
    """Return the credentials in a text, in order; of two that overlap the surer kind is given the span of both."""
    hits: list[Secret] = []
    for prefix, kind, body, before in _RULES:
        if prefix in text:
            hits.extend(_of_kind(text, kind, prefix, body, before))
    for part in _MAY_ASSIGN:
        if part in text:
            hits.extend(hit for name in _ASSIGN if name in text for hit in _assigned(text, name))
            break
    if len(hits) < 2:
        return hits
    hits.sort(key=lambda hit: (hit.start, _ORDER[hit.confidence], -hit.end, hit.kind))
    out = hits[:1]
    for hit in hits[1:]:
        last = out[-1]
        if hit.start >= last.end:
            out.append(hit)
            continue
        best = min(last, hit, key=lambda one: _ORDER[one.confidence])
        out[-1] = best._replace(start=last.start, end=max(last.end, hit.end))
    return out


def _of_kind(text: str, kind: Kind, prefix: str, body: re.Pattern[str], before: re.Pattern[str]) -> Iterator[Secret]:
    at = text.find(prefix)
    while at >= 0:
        after = at + len(prefix)
        lead = before.search(text[max(0, at - 24) : at])
        match = body.match(text, after) if lead else None
        if lead and match:
            after = match.end()
            start, end = match.span("s") if "s" in body.groupindex else (at, after)
            if "s" in before.groupindex:
                start = at - len(lead["s"])
            value = text[start:end]
            following = text[end : end + 1]
            ended = value.endswith("-----") or not (following.isalnum() or following == "_")
            if ended and not _is_sample(value, kind):
                confidence = kind.check(value)
                if confidence:
                    yield Secret(kind.name, start, end, confidence)
        # Going on behind the match, good or not, keeps a text of nothing but prefixes linear.
        at = text.find(prefix, after)


def _is_sample(value: str, kind: Kind) -> bool:
    if kind.name in {"private-key", "jwt"}:  # these hold texts: looked at by their checks
        return any(sample in value for sample in kind.samples)
    return PLACEHOLDER.search(value) is not None or any(sample in value for sample in kind.samples)


def _assigned(text: str, name: str) -> Iterator[Secret]:
    after = 0
    while (at := text.find(name, after)) >= 0:
        after = at + len(name)
        match = _ASSIGNED.match(text, after)
        if match is None:
            continue
        after = match.end()
        value, bare = match["s"].rstrip(".:?!"), name.lower() == "token"
        if "://" in text[max(0, at - 32) : at]:  # in an address the host comes next
            value = value.partition("@")[0]
        if (
            len(value) < 8
            or text[after : after + 1] in {"(", "[", "<"}
            or value[0] in "$%*/.@~"
            or _WRITTEN.search(value)
        ):
            continue
        if PLACEHOLDER.search(value) or not looks_random(value) or value.lower().startswith(name.lower()):
            continue
        if bare and (len(value) < 16 or _NO_SECRET_TOKEN.search(text[max(0, at - 16) : at])):
            continue
        if _HEX.fullmatch(value) and (bare or name.lower().startswith("pass")):
            continue  # a digest
        yield Secret("assigned-secret", match.start("s"), match.start("s") + len(value), "hint")


def mask(text: str, key: bytes | None = None) -> str:
    """Replace each credential by its kind and length, and with a key by a keyed hash: equal ones then show as equal."""
    out, done = [], 0
    for secret in find(text):
        out += [text[done : secret.start], label(secret.kind, text[secret.start : secret.end], key)]
        done = secret.end
    return "".join([*out, text[done:]]) if out else text


def label(kind: str, value: str, key: bytes | None = None) -> str:
    """Return what is shown in place of a credential: `[kind, N chars]`, or `[kind, N chars, hmac xxxxxxxx]`."""
    if key is None:
        return f"[{kind}, {len(value)} chars]"
    digest = hmac.new(key, value.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
    return f"[{kind}, {len(value)} chars, hmac {digest[:8]}]"


def secret_name(name: str) -> bool:
    """Say whether a member of this name holds a credential, whatever it looks like: `password`, `accessToken`."""
    if len(name) > 100 or _NO_SECRET_TOKEN.search(name[: -len("token")]):
        return False
    return _SECRET_NAME.fullmatch(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()) is not None
