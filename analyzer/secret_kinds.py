"""What each kind of credential looks like: one table, and the checks of what only looks like one.

The patterns keep to the syntax that Rust's regex engine shares with Python's (no lookaround, no back references): they
are run over whole columns by Polars, and again, exactly, over what these touch (`analyzer.secrets`).
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Literal, NamedTuple

Confidence = Literal["certain", "likely", "hint"]


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
_LEAD = r"(?:^|[^A-Za-z0-9_-]|\\[nrtbf]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2})"
_ALONE = _LEAD + "$"
_WORD, _URLSAFE = "[A-Za-z0-9]", "[A-Za-z0-9_-]"
_SEPARATOR = r"""[\\"' ]*(?:=>|[:=,>])[\\"' ]*"""
PLACEHOLDER = re.compile(
    r"example|placeholder|redacted|change[-_]?me|dummy|your[-_ ]?(?:api|key|token|secret|pass|own|access|org|pro)"
    r"|x{5}|\*{3}|\.{3}|[<>\[\]{}…]|\$\(|%\(|123456|abcdef|98765|qwerty|(.)\1{6}",
    re.IGNORECASE,
)
_WEAK = frozenset(
    ("pass", "password", "passwd", "pwd", "secret", "user", "token", "test", "guest", "postgres", "root", "admin")
)
_TO_URLSAFE = str.maketrans("+/", "-_", "=")
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


def looks_random(value: str) -> bool:
    """Say whether the characters look drawn rather than written."""
    head = value[:400]
    return _entropy(head) >= 3 and any(c.isdigit() for c in head) and any(c.isalpha() for c in head)


def _certain(value: str) -> Confidence | None:
    return "certain" if len(set(value)) >= 10 and _entropy(value[:400]) >= 3 else None


def _with_digits(value: str) -> Confidence | None:
    return "certain" if looks_random(value) else None


def _drawn(value: str) -> Confidence | None:
    head = value[:400]
    mixed = any(c.isdigit() for c in head) or not (head.islower() or head.isupper())
    return "certain" if mixed and len(set(head)) >= 8 and _entropy(head) >= 3 else None


def _likely(value: str) -> Confidence | None:
    return "likely" if looks_random(value) else None


def _sized(*sizes: int) -> Callable[[str], Confidence | None]:
    return lambda value: "certain" if len(value) in sizes and len(set(value)) >= 8 else None


def _openai(value: str) -> Confidence | None:
    if "T3BlbkFJ" in value:  # the vendor's name in base 64, in the middle of every key
        return "certain"
    return "likely" if looks_random(value) and _entropy(value) >= 3.3 else None


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
        or bool(PLACEHOLDER.search(password))
    )


def _connection(value: str) -> Confidence | None:
    return None if _worthless(value) else "likely"


def _argument(value: str) -> Confidence | None:
    """Return how sure it is that what follows `--password` is one: a variable, an option or a path is none."""
    return "hint" if value[0] not in "$%*/.@~-" and "://" not in value and looks_random(value) else None


def _signature(value: str) -> Confidence | None:
    return "hint" if len(set(value)) >= 10 and _entropy(value[:400]) >= 3 else None


def _cookies(value: str) -> Confidence | None:
    held = [pair.partition("=")[2] for pair in value.split(";")]
    return "hint" if any(len(each) >= 16 and looks_random(each) for each in held) else None


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

_QUERY = "(?:[?&;]|u0026|%26)"
_COOKIE = r"""[A-Za-z0-9_.-]{1,60}=[^\s"'\\;]+"""
_USER = "[A-Za-z0-9._@+-]{1,60}"

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
        ("://", ":\\/\\/", ":\\\\/\\\\/"),  # as some writers of JSON escape it, twice where JSON is in a text
        rf"[A-Za-z0-9._~%+-]*:(?P<s>{_PASSWORD}+)@",
        _connection,
        r"[A-Za-z][A-Za-z0-9+.-]*$",
    ),
    Kind("bearer-token", ("earer ",), "(?P<s>[A-Za-z0-9._~+/-]{19,}[A-Za-z0-9_-]={0,2})", _likely, "[Bb]$"),
)

# More literals than the one alternation bears, or too common ones.
MORE = (
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
    # Who has the address has what it leads to, while it holds.
    Kind("address-signature", ("sig=",), "(?P<s>[A-Za-z0-9%+/_-]{42,}={0,2})", _signature, _QUERY + "$"),
    Kind(
        "address-signature",
        ("Signature=",),
        "(?P<s>[A-Za-z0-9%+/_~-]{40,}={0,2})",
        _signature,
        f"(?:{_QUERY}|X-(?:Amz|Goog)-)$",
    ),
    Kind("cookie", ("ookie: ",), f"(?P<s>{_COOKIE}(?:; ?{_COOKIE})*)", _cookies, "[Cc]$"),
    Kind(
        "assigned-secret",
        ("--password ", "--passwd ", "--token ", "--api-key ", "--secret "),
        r"""[\\"'`]*(?P<s>[A-Za-z0-9!#$%*+./:=?@^_|~-]{8,})""",
        _argument,
    ),
    Kind("connection-password", (" -u ", "--user "), rf"""[\\"']*{_USER}:(?P<s>{_PASSWORD}{{4,}})""", _argument),
)

# Keys and tokens of single vendors, told by a prefix of their own. What has none, or one of two or three common
# characters, is known by the name of its member only.
_HEX32, _HEX64 = "[0-9a-f]{32}", "[0-9a-f]{64}"


def _vendor(name: str, prefixes: tuple[str, ...], body: str, before: str = _ALONE) -> Kind:
    return Kind(name, prefixes, body, _drawn, before)


VENDORS: tuple[tuple[Kind, ...], ...] = (
    (
        _vendor("atlassian-token", ("ATATT3", "ATCTT3"), _URLSAFE + "{60,}(?:=[0-9A-F]{8})?"),
        _vendor("databricks-token", ("dapi",), _HEX32 + "(?:-[0-9])?"),
        _vendor("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), _HEX64),
        _vendor("docker-token", ("dckr_",), "(?:pat|oat)_" + _URLSAFE + "{27,}"),
        _vendor(
            "doppler-token", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa."), f"(?:[a-z0-9_-]{{2,35}}[.])?{_WORD}{{40,44}}"
        ),
        _vendor("fly-token", ("fm2_", "fm1r_", "fm1a_"), "[A-Za-z0-9+/]{60,}={0,2}"),
        _vendor("grafana-token", ("glsa_",), f"{_WORD}{{32}}_[A-Fa-f0-9]{{8}}"),
        _vendor("grafana-token", ("glc_eyJ",), "[A-Za-z0-9+/]{40,}={0,2}"),
        _vendor("groq-key", ("gsk_",), _WORD + "{40,}"),
        _vendor("langsmith-key", ("lsv2_",), "(?:pt|sk)_" + _HEX32 + "_[0-9a-f]{10}"),
        _vendor("linear-key", ("lin_api_", "lin_oauth_"), _WORD + "{32,}"),
        _vendor("notion-token", ("ntn_",), _WORD + "{40,}"),
        _vendor("nvidia-key", ("nvapi-",), _URLSAFE + "{60,}"),
    ),
    (
        _vendor("age-key", ("AGE-SECRET-KEY-1",), "[0-9A-Z]{58}"),
        _vendor("firecrawl-key", ("fc-",), _HEX32),
        _vendor("figma-token", ("figd_",), _URLSAFE + "{38,}"),
        _vendor("gitlab-token", ("glsoat-", "glagent-", "glft-", "glimt-", "glffct-"), _URLSAFE + "{20,}"),
        _vendor("langfuse-key", ("sk-lf-",), "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
        _vendor("new-relic-key", ("NRAK-",), "[A-Z0-9]{27}"),
        _vendor("perplexity-key", ("pplx-",), _WORD + "{40,}"),
        _vendor("pinecone-key", ("pcsk_",), "[A-Za-z0-9_]{50,}"),
        _vendor("postman-key", ("PMAK-",), "[0-9a-f]{24}-[0-9a-f]{34}"),
        _vendor("rubygems-key", ("rubygems_",), "[0-9a-f]{48}"),
        _vendor("tavily-key", ("tvly-",), "[A-Za-z0-9-]{28,}"),
        _vendor("vault-token", ("hvs.", "hvb.", "hvr."), _URLSAFE + "{24,}"),
        _vendor("xai-key", ("xai-",), _WORD + "{60,}"),
    ),
    (
        _vendor(
            "azure-client-secret",
            ("8Q~",),
            "[A-Za-z0-9_~.-]{30,33}[A-Za-z0-9_~-]",
            _LEAD + "(?P<s>[A-Za-z0-9_~.-]{3})$",
        ),
        _vendor("discord-webhook", ("/api/webhooks/",), "[0-9]{17,20}/(?P<s>" + _URLSAFE + "{60,})", "com$"),
        _vendor("heroku-key", ("HRKU-",), _URLSAFE + "{36,}"),
        _vendor("onepassword-token", ("ops_eyJ",), _URLSAFE + "{100,}"),
        _vendor("planetscale-token", ("pscale_",), "(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{31,}[A-Za-z0-9_-]"),
        _vendor("replicate-token", ("r8_",), _WORD + "{37,}"),
        _vendor("sentry-token", ("sntry",), "[su]_[A-Za-z0-9+/=_]{60,}"),
        _vendor("shopify-token", ("shpat_", "shpca_", "shppa_", "shpss_"), "[0-9a-fA-F]{32}"),
        _vendor("square-token", ("sq0",), "(?:atp|csp)-" + _URLSAFE + "{22,}"),
        _vendor("stripe-key", ("whsec_",), "[A-Za-z0-9+/]{32,}={0,2}"),
        _vendor("supabase-key", ("sbp_",), "(?:v0_)?[0-9a-f]{40}"),
        _vendor("supabase-key", ("sb_secret_",), _URLSAFE + "{30,}"),
        _vendor("terraform-token", (".atlasv1.",), _URLSAFE + "{60,}", _LEAD + "(?P<s>[A-Za-z0-9]{14})$"),
        _vendor("vercel-token", ("vercel_blob_rw_",), f"{_WORD}{{16}}_{_WORD}{{20,}}"),
    ),
)
