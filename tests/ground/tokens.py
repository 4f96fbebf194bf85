"""Credentials of every kind, drawn at test time: shaped as real ones, never issued, and none is written down here."""

from __future__ import annotations

import base64
import json
import random
import string
import zlib
from collections.abc import Callable
from functools import partial

ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "_-"
DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase


def draw(rng: random.Random, alphabet: str, size: int) -> str:
    """Draw characters, among them a letter and a digit; the ends are no punctuation."""
    while True:
        text = "".join(rng.choices(alphabet, k=size))
        if (
            any(c.isdigit() for c in text)
            and any(c.isalpha() for c in text)
            and text[-1].isalnum()
            and text[0].isalnum()
        ):
            return text


def crc(body: str) -> str:
    number, tail = zlib.crc32(body.encode()), ""
    for _ in range(6):
        number, rest = divmod(number, 62)
        tail = DIGITS[rest] + tail
    return tail


def b64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def signed(rng: random.Random, prefix: str) -> str:
    body = draw(rng, ALNUM, 30)
    return prefix + body + crc(body)


def jwt(rng: random.Random) -> str:
    header, payload = {"alg": "HS256", "typ": "JWT"}, {"sub": draw(rng, ALNUM, 9), "iat": rng.randrange(10**9)}
    return ".".join([b64(json.dumps(header).encode()), b64(json.dumps(payload).encode()), b64(rng.randbytes(32))])


def pem(rng: random.Random, *, end: bool = True, newline: str = "\n") -> str:
    name = rng.choice(["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "]) + "PRIVATE KEY"
    lines = [base64.b64encode(rng.randbytes(48)).decode() for _ in range(rng.randint(2, 20))]
    return newline.join([f"-----BEGIN {name}-----", *lines, *([f"-----END {name}-----"] if end else [])])


Make = Callable[[random.Random], tuple[str, str]]


def alone(make: Callable[[random.Random], str]) -> Make:
    def both(rng: random.Random) -> tuple[str, str]:
        secret = make(rng)
        return secret, secret

    return both


def within(text: str, make: Callable[[random.Random], str]) -> Make:
    def both(rng: random.Random) -> tuple[str, str]:
        secret = make(rng)
        return text.replace("@@", secret), secret

    return both


def drawn(prefix: str, alphabet: str, size: int, suffix: str = "") -> Callable[[random.Random], str]:
    return lambda rng: prefix + draw(rng, alphabet, size) + suffix


HEX, BASE32, BASE64 = "0123456789abcdef", string.ascii_uppercase + "234567", ALNUM + "/+"

#: (kind, how to draw a text that holds one and the secret in it); every kind of the table at least once.
POSITIVE: list[tuple[str, Make]] = [
    ("openai-key", alone(lambda r: f"sk-proj-{draw(r, URLSAFE, 74)}T3BlbkFJ{draw(r, URLSAFE, 74)}")),
    ("openai-key", alone(lambda r: f"sk-{draw(r, ALNUM, 20)}T3BlbkFJ{draw(r, ALNUM, 20)}")),
    ("openai-key", alone(drawn("sk-svcacct-", URLSAFE, 60))),
    ("openai-key", alone(drawn("sk-proj-", ALNUM, 48))),
    ("anthropic-key", alone(drawn("sk-ant-api03-", URLSAFE, 93, "AA"))),
    ("aws-access-key-id", alone(drawn("AKIA", BASE32, 16))),
    ("aws-access-key-id", alone(drawn("ASIA", BASE32, 16))),
    ("aws-secret-key", within("aws_secret_access_key = @@", drawn("", BASE64, 40))),
    ("aws-secret-key", within('{"SecretAccessKey": "@@"}', drawn("", BASE64, 40))),
    ("aws-secret-key", within("export AWS_SECRET_ACCESS_KEY=@@", drawn("", BASE64, 40))),
    *[("github-token", alone(partial(signed, prefix=prefix))) for prefix in ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")],
    ("github-token", alone(lambda r: f"github_pat_{draw(r, ALNUM, 22)}_{draw(r, ALNUM, 59)}")),
    ("gitlab-token", alone(drawn("glpat-", URLSAFE, 20))),
    ("gitlab-token", alone(drawn("glrt-", URLSAFE, 20))),
    (
        "slack-token",
        alone(lambda r: f"xoxb-{r.randrange(10**11, 10**12)}-{r.randrange(10**12, 10**13)}-{draw(r, ALNUM, 24)}"),
    ),
    ("slack-token", alone(lambda r: f"xapp-1-A{draw(r, BASE32, 10)}-{r.randrange(10**12, 10**13)}-{draw(r, HEX, 64)}")),
    (
        "slack-webhook",
        within(
            "https://@@",
            lambda r: f"hooks.slack.com/services/T{draw(r, BASE32, 9)}/B{draw(r, BASE32, 9)}/{draw(r, ALNUM, 24)}",
        ),
    ),
    ("stripe-key", alone(drawn("sk_live_", ALNUM, 24))),
    ("stripe-key", alone(drawn("rk_live_", ALNUM, 99))),
    ("google-api-key", alone(drawn("AIza", URLSAFE, 35))),
    ("google-oauth-token", alone(drawn("ya29.", URLSAFE, 120))),
    ("google-client-secret", alone(drawn("GOCSPX-", URLSAFE, 28))),
    (
        "azure-storage-key",
        within("AccountName=a;AccountKey=@@;EndpointSuffix=x", lambda r: base64.b64encode(r.randbytes(64)).decode()),
    ),
    ("sendgrid-key", alone(lambda r: f"SG.{draw(r, URLSAFE, 22)}.{draw(r, URLSAFE, 43)}")),
    ("npm-token", alone(lambda r: signed(r, "npm_"))),
    ("npm-token", alone(drawn("npm_", ALNUM, 36))),
    ("pypi-token", alone(drawn("pypi-AgEIcHlwaS5vcmc", URLSAFE, 150))),
    ("huggingface-token", alone(drawn("hf_", ALNUM, 34))),
    ("twilio-key", alone(drawn("SK", HEX, 32))),
    ("telegram-bot-token", alone(lambda r: f"{r.randrange(10**8, 10**10)}:AA{draw(r, URLSAFE, 33)}")),
    ("jwt", alone(jwt)),
    ("private-key", alone(pem)),
    ("private-key", alone(lambda r: pem(r, newline="\\n"))),
    ("private-key", alone(lambda r: pem(r, end=False))),
    ("connection-password", within("postgres://app:@@@db.internal:5432/orders", drawn("", ALNUM + "$!&-", 14))),
    ("connection-password", within("mongodb+srv://app:@@@cluster0.mongodb.net", drawn("", ALNUM, 16))),
    ("connection-password", within("redis://:@@@cache:6379/0", drawn("", ALNUM, 16))),
    (
        "authorization-header",
        within("Authorization: Basic @@", lambda r: base64.b64encode(f"ci:{draw(r, ALNUM, 15)}".encode()).decode()),
    ),
    ("authorization-header", within('{\\"authorization\\": \\"Bearer @@\\"}', drawn("", ALNUM, 40))),
    ("bearer-token", within("curl -H 'X-Auth: Bearer @@'", drawn("", ALNUM, 32))),
    ("assigned-secret", within("DB_PASSWORD=@@", drawn("", ALNUM, 16))),
    ("assigned-secret", within('password: "@@"', drawn("", ALNUM + "!#", 16))),
    ("assigned-secret", within('{\\"api_key\\":\\"@@\\"}', drawn("", ALNUM, 32))),
    ("assigned-secret", within("client_secret = '@@'", drawn("", ALNUM, 32))),
    ("assigned-secret", within('"token": "@@"', drawn("", ALNUM, 32))),
    ("assigned-secret", within("mysqldump --password @@ shop", drawn("", ALNUM, 16))),
    ("assigned-secret", within("deploy --token '@@'", drawn("", ALNUM, 32))),
    ("connection-password", within("curl -u ci:@@ https://a.test", drawn("", ALNUM, 16))),
    ("address-signature", within("https://a.blob.test/f?sp=r&sig=@@", drawn("", ALNUM, 43, "%3D"))),
    ("address-signature", within("https://a.test/f?X-Amz-Expires=60&X-Amz-Signature=@@", drawn("", HEX, 64))),
    ("address-signature", within("https://cdn.test/f?Expires=1&Signature=@@", drawn("", ALNUM, 43, "~"))),
    ("cookie", within("Set-Cookie: @@;", lambda r: f"lang=en; sid={draw(r, ALNUM, 32)}")),
    ("onepassword-token", alone(drawn("ops_eyJ", ALNUM, 400))),
    ("age-key", alone(drawn("AGE-SECRET-KEY-1", string.ascii_uppercase + string.digits, 58))),
    ("atlassian-token", alone(drawn("ATATT3xFfGF0", URLSAFE, 172, "=0A1B2C3D"))),
    ("azure-client-secret", alone(lambda r: f"{draw(r, ALNUM, 3)}8Q~{draw(r, URLSAFE, 34)}")),
    ("databricks-token", alone(drawn("dapi", HEX, 32))),
    ("digitalocean-token", alone(drawn("dop_v1_", HEX, 64))),
    (
        "discord-webhook",
        within(
            "https://discord.com/api/webhooks/401753562471914651/@@",
            drawn("", URLSAFE, 68),
        ),
    ),
    ("docker-token", alone(drawn("dckr_pat_", URLSAFE, 27))),
    ("doppler-token", alone(drawn("dp.pt.", ALNUM, 43))),
    ("doppler-token", alone(drawn("dp.st.prd.", ALNUM, 43))),
    ("figma-token", alone(drawn("figd_", URLSAFE, 40))),
    ("firecrawl-key", alone(drawn("fc-", HEX, 32))),
    ("fly-token", alone(drawn("fm2_", ALNUM, 120, "=="))),
    ("gitlab-token", alone(drawn("glsoat-", URLSAFE, 20))),
    ("grafana-token", alone(lambda r: f"glsa_{draw(r, ALNUM, 32)}_{draw(r, HEX, 8)}")),
    ("grafana-token", alone(drawn("glc_eyJ", ALNUM, 80))),
    ("groq-key", alone(drawn("gsk_", ALNUM, 52))),
    ("heroku-key", alone(drawn("HRKU-", URLSAFE, 60))),
    (
        "langfuse-key",
        alone(lambda r: "sk-lf-" + "-".join(draw(r, HEX, size) for size in (8, 4, 4, 4, 12))),
    ),
    ("langsmith-key", alone(lambda r: f"lsv2_pt_{draw(r, HEX, 32)}_{draw(r, HEX, 10)}")),
    ("linear-key", alone(drawn("lin_api_", ALNUM, 40))),
    ("new-relic-key", alone(drawn("NRAK-", string.ascii_uppercase + string.digits, 27))),
    ("notion-token", alone(drawn("ntn_", ALNUM, 46))),
    ("nvidia-key", alone(drawn("nvapi-", URLSAFE, 64))),
    ("perplexity-key", alone(drawn("pplx-", ALNUM, 48))),
    ("pinecone-key", alone(lambda r: f"pcsk_{draw(r, ALNUM, 5)}_{draw(r, ALNUM, 63)}")),
    ("planetscale-token", alone(drawn("pscale_tkn_", URLSAFE, 43))),
    ("postman-key", alone(lambda r: f"PMAK-{draw(r, HEX, 24)}-{draw(r, HEX, 34)}")),
    ("replicate-token", alone(drawn("r8_", ALNUM, 37))),
    ("rubygems-key", alone(drawn("rubygems_", HEX, 48))),
    ("sentry-token", alone(drawn("sntrys_eyJ", ALNUM, 120))),
    ("shopify-token", alone(drawn("shpat_", HEX, 32))),
    ("square-token", alone(drawn("sq0atp-", URLSAFE, 22))),
    ("stripe-key", alone(drawn("whsec_", ALNUM, 32))),
    ("supabase-key", alone(drawn("sbp_", HEX, 40))),
    ("supabase-key", alone(drawn("sb_secret_", URLSAFE, 31))),
    ("tavily-key", alone(drawn("tvly-dev-", ALNUM, 32))),
    ("terraform-token", alone(lambda r: f"{draw(r, ALNUM, 14)}.atlasv1.{draw(r, URLSAFE, 67)}")),
    ("vault-token", alone(drawn("hvs.", URLSAFE, 90))),
    ("vercel-token", alone(lambda r: f"vercel_blob_rw_{draw(r, ALNUM, 16)}_{draw(r, ALNUM, 30)}")),
    ("xai-key", alone(drawn("xai-", ALNUM, 80))),
]
