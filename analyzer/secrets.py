"""Credentials in texts: found by kind, never shown.

One table says what each kind looks like. Its patterns keep to the syntax that Rust's regex engine shares with Python's
(no lookaround, no back references), so a column is sifted by `PREFIXED` and `LOOSE` in Polars, and only the hits go to
`find`, which is exact: it checks what stands before and after, checksums, and whether the value is a sample.

Use `str.contains(PREFIXED)`; `str.contains_any` took ten times as long in Polars 2.1. The alternation is fast because
few enough literals open it, and their first three letters are rare in prose: that is why some prefixes begin in the
middle of a word. Measure before adding one: a dozen more made it three times as slow.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

Confidence = Literal["certain", "likely", "hint"]
_ORDER = {"certain": 0, "likely": 1, "hint": 2}


class Secret(NamedTuple):
    """One credential: `text[start:end]` is what must not be shown."""

    kind: str
    start: int
    end: int
    confidence: Confidence


class Kind(NamedTuple):
    """How one kind of credential looks: a literal prefix, then `body`, whose group `s` is the secret proper."""

    name: str
    prefixes: tuple[str, ...]
    body: str
    check: Callable[[str], Confidence | None]
    before: str = ""  # must match the end of the text before the prefix; group `s` belongs to the secret
    exact: str = ""  # replaces `body` where Python can be stricter than Rust
    samples: tuple[str, ...] = ()  # pieces of values that the vendors' own documentation shows


# A letter, digit, _ or - before a token means that it is the middle of something else, unless it ends an escape.
_ALONE = r"(?:^|[^A-Za-z0-9_-]|\\[nrtbf]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})$"
_WORD, _URLSAFE = "[A-Za-z0-9]", "[A-Za-z0-9_-]"
_SEPARATOR = r"""[\\"' ]*(?:=>|[:=,>])[\\"' ]*"""
_PLACEHOLDER = re.compile(
    r"example|placeholder|redacted|change[-_]?me|dummy|your[-_ ]?(?:api|key|token|secret|pass|own|access|org|pro)"
    r"|x{5}|\*{3}|\.{3}|[<>\[\]{}…]|\$\(|%\(|123456|abcdef|98765|qwerty|(.)\1{6}",
    re.IGNORECASE,
)
_WEAK = frozenset(
    ("pass", "password", "passwd", "pwd", "secret", "user", "token", "test", "guest", "postgres", "root", "admin")
)
#: An address, a date, a UUID, an expression, a relative path: long and mixed, but no credential.
_WRITTEN = re.compile(
    r"://|^[0-9]{4}-[0-9]{2}-[0-9]{2}|^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$"
    r"|^[A-Za-z_]+[0-9]{0,2}(?:[.][A-Za-z_]+[0-9]{0,2})+$|^[a-z._-]+/(?:[a-z0-9._-]+/)*[a-z0-9._-]+$"
)
_TO_URLSAFE = str.maketrans("+/", "-_", "=")
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def checksum(body: str) -> str:
    """Return the six characters that GitHub and npm append to a token's body: its CRC-32 in base 62."""
    number, digits = zlib.crc32(body.encode()), ""
    while number:
        number, rest = divmod(number, 62)
        digits = _BASE62[rest] + digits
    return digits.rjust(6, "0")


def _entropy(value: str) -> float:
    """Return the Shannon entropy in bits per character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())


def _random(value: str) -> bool:
    """Say whether the characters look drawn rather than written."""
    head = value[:400]
    return _entropy(head) >= 3 and any(c.isdigit() for c in head) and any(c.isalpha() for c in head)


def _certain(value: str) -> Confidence | None:
    return "certain" if len(set(value)) >= 10 and _entropy(value[:400]) >= 3 else None


def _with_digits(value: str) -> Confidence | None:
    return "certain" if _random(value) else None


def _likely(value: str) -> Confidence | None:
    return "likely" if _random(value) else None


def _sized(*sizes: int) -> Callable[[str], Confidence | None]:
    return lambda value: "certain" if len(value) in sizes and len(set(value)) >= 8 else None


def _openai(value: str) -> Confidence | None:
    if "T3BlbkFJ" in value:  # the vendor's name in base 64, in the middle of every key
        return "certain"
    return "likely" if _random(value) and _entropy(value) >= 3.3 else None


def _github(value: str) -> Confidence | None:
    body = value[4:]
    return "certain" if len(body) == 36 and checksum(body[:-6]) == body[-6:] else None


def _npm(value: str) -> Confidence | None:
    if len(value) != 40:
        return None
    return "certain" if checksum(value[4:-6]) == value[-6:] else _likely(value)


def _decoded(part: str) -> str:
    """Return base 64 of either alphabet as text, or an empty one."""
    try:
        return base64.urlsafe_b64decode(part.translate(_TO_URLSAFE) + "=" * (-len(part) % 4)).decode()
    except (binascii.Error, ValueError):
        return ""


def _jwt(value: str) -> Confidence | None:
    header = value.partition(".")[0]
    try:
        head = json.loads(_decoded(header))
    except (ValueError, RecursionError):
        return None
    if not isinstance(head, dict) or "alg" not in head:
        return None
    return "likely"


def _authorization(value: str) -> Confidence | None:
    user, colon, password = _decoded(value).partition(":")
    if colon and (user + password).isprintable():  # Basic
        return None if _worthless(password) else "likely"
    return _likely(value)


def _worthless(password: str) -> bool:
    """Say whether a password is a variable, a sample or nothing."""
    return (
        len(password) < 4
        or password[0] in "$%*#@{<["
        or password.lower() in _WEAK
        or bool(_PLACEHOLDER.search(password))
    )


def _connection(value: str) -> Confidence | None:
    return None if _worthless(value) else "likely"


def _private_key(value: str) -> Confidence | None:
    line = re.search(r"[A-Za-z0-9+/=]{32,}", value)
    if line is None or len(set(line[0])) < 10:
        return None
    return "certain" if "-----END" in value else "likely"


_PEM = r"(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_PEM_TEXT = (
    r"""(?:(?:-?[A-Za-z0-9+/=\\:,."'() \t\r\n]++)*+-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"""
    r"""|(?:(?:\\[nr]|[\\ \t\r\n"',+])*+[A-Za-z0-9+/=]{32,}+)++)"""
)
_PASSWORD = "[!#-&(-.0-;=?A-~]"  # noqa: S105 - printable ASCII but quotes, / < > and @

KINDS: tuple[Kind, ...] = (
    Kind("anthropic-key", ("sk-ant-",), _URLSAFE + "{24,}", _certain, _ALONE),
    Kind(
        "openai-key", ("sk-",), rf"(?:(?:proj|svcacct|admin|None|or)-{_URLSAFE}{{20,}}|{_WORD}{{32,}})", _openai, _ALONE
    ),
    Kind("aws-access-key-id", ("AKIA", "ASIA"), "[A-Z2-7]{16}", _sized(20), samples=("EXAMPLE",)),
    Kind("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _WORD + "{36,}", _github),
    Kind("github-token", ("github_pat_",), _WORD + "{22}_" + _WORD + "{59}", _certain),
    Kind("gitlab-token", ("glpat-",), _URLSAFE + "{20,}", _certain),
    Kind("slack-token", ("xox",), "[abeoprs](?:[.]xox[bp])?-[A-Za-z0-9-]{16,}", _with_digits, _ALONE),
    Kind(
        "slack-webhook",
        ("s.slack.com/",),
        "(?:services|workflows|triggers)/[A-Za-z0-9/_-]{24,}",
        _certain,
        "(?P<s>hook)$",
    ),
    Kind("stripe-key", ("k_live_",), _WORD + "{16,}", _certain, "(?P<s>[rs])$"),
    Kind("google-api-key", ("AIza",), _URLSAFE + "{35,}", _sized(39), _ALONE),
    Kind("google-oauth-token", ("ya29.",), _URLSAFE + "{20,}", _certain, _ALONE),
    Kind("google-client-secret", ("GOCSPX-",), _URLSAFE + "{28,}", _sized(35)),
    Kind(
        "azure-storage-key",
        ("ntKey=", "dAccessKey="),
        "(?P<s>[A-Za-z0-9+/]{40,}={0,2})",
        _certain,
        "(?:Accou|Share)$",
        samples=("Eby8vdM02xNOcqFl",),  # the emulator's, the same for everybody
    ),
    Kind("sendgrid-key", ("SG.",), _URLSAFE + "{22}[.]" + _URLSAFE + "{43}", _sized(69), _ALONE),
    Kind("npm-token", ("npm_",), _WORD + "{36,}", _npm),
    Kind(
        "pypi-token",
        ("pypi-",),
        _URLSAFE + "{50,}",
        lambda value: "certain" if value.startswith("pypi-AgE") else _likely(value),
        _ALONE,
    ),
    Kind(
        "huggingface-token",
        ("hf_",),
        _WORD + "{34,}",
        lambda value: "certain" if len(value) == 37 and _entropy(value) >= 3.5 else None,
        _ALONE,
    ),
    Kind("telegram-bot-token", (":AA",), _URLSAFE + "{33}", _likely, r"(?:^|[^0-9])(?P<s>[0-9]{8,10})$"),
    Kind(
        "jwt",
        ("eyJ",),
        _URLSAFE + "{8,}[.]" + _URLSAFE + "*[.]",
        _jwt,
        _ALONE,
        # five parts are an encrypted one
        f"{_URLSAFE}{{8,}}+[.]{_URLSAFE}*+[.]{_URLSAFE}{{16,}}+(?:[.]{_URLSAFE}++){{0,2}}",
        ("eyJzdWIiOiIxMjM0NTY3ODkwI",),
    ),
    Kind("private-key", ("-----BEGIN ",), _PEM, _private_key, exact=_PEM + _PEM_TEXT),
    Kind(
        "connection-password",
        ("://",),
        rf"[A-Za-z0-9._~%+-]*:(?P<s>{_PASSWORD}+)@",
        _connection,
        r"[A-Za-z][A-Za-z0-9+.-]*$",
    ),
    Kind("bearer-token", ("earer ",), "(?P<s>[A-Za-z0-9._~+/-]{19,}[A-Za-z0-9_-]={0,2})", _likely, "[Bb]$"),
)

# More literals than the one alternation bears, or too common ones.
_MORE = (
    Kind("twilio-key", ("SK",), "(?:[0-7][0-9a-f]{31,}|[89a-f][0-9a-f]{31,})", _sized(34), _ALONE),
    Kind("gitlab-token", ("glrt-", "gldt-", "glcbt-", "glptt-"), _URLSAFE + "{20,}", _certain),
    Kind("slack-token", ("xapp-",), "[0-9]-[A-Za-z0-9-]{20,}", _with_digits, _ALONE),
    Kind(
        "aws-secret-key",
        ("tAccessKey", "secret_access_key", "SECRET_ACCESS_KEY"),
        _SEPARATOR + "(?P<s>[A-Za-z0-9/+]{40})",
        lambda value: "certain" if _entropy(value) >= 4 else None,
        samples=("EXAMPLE",),
    ),
    Kind(
        "authorization-header",
        ("uthorization",),
        _SEPARATOR + "(?:[Bb]asic|[Bb]earer|[Tt]oken) (?P<s>[A-Za-z0-9._~+/-]{7,}[A-Za-z0-9_-]={0,2})",
        _authorization,
        samples=("QWxhZGRpbjpvcGVu",),
    ),
)

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


#: The kinds with a literal prefix, as one alternation: a text without a match holds none of them.
PREFIXED: str = "|".join(map(_for_polars, KINDS))
#: The others, to be run one by one: assigned passwords and keys (each opens with one of `GATES`), more prefixes.
LOOSE: tuple[str, ...] = (f"(?:{_NAMES})" + _VALUE.replace("?P<s>", "?:"), "|".join(map(_for_polars, _MORE)))

_RULES = tuple(
    (prefix, kind, re.compile(kind.exact or kind.body), re.compile(kind.before))
    for kind in (*KINDS, *_MORE)
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
    return _PLACEHOLDER.search(value) is not None or any(sample in value for sample in kind.samples)


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
        if _PLACEHOLDER.search(value) or not _random(value) or value.lower().startswith(name.lower()):
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
