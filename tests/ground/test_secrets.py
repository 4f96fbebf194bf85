from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid

import polars as pl
import pytest

from analyzer import secret_kinds, secrets

from .tokens import ALNUM, BASE32, POSITIVE, URLSAFE, Make, b64, draw, jwt, pem, signed

EVERY = (*secret_kinds.KINDS, *secret_kinds.MORE, *(kind for group in secret_kinds.VENDORS for kind in group))
SURROUNDINGS = [
    "@@",
    "the value is @@.",
    '{"note": "@@"}',
    '{\\"line\\": \\"a\\n@@\\n\\"}',
    "\\n@@\\n",
    "naïve 数据 @@ 🙂",
    "a=@@ b",
    "https://x.test/?q=@@&b=1",
]


def test_a_key_between_its_marks_is_found_whatever_follows() -> None:
    key = pem(random.Random(1))
    found = secrets.find(f"It is {key}dry.")
    assert [one.kind for one in found] == ["private-key"]


@pytest.mark.parametrize(("kind", "make"), POSITIVE, ids=[f"{i}-{kind}" for i, (kind, _) in enumerate(POSITIVE)])
def test_every_kind_is_found_and_masked_whatever_stands_around(kind: str, make: Make) -> None:
    rng = random.Random(kind)
    for surrounding in SURROUNDINGS:
        text, secret = make(rng)
        text = surrounding.replace("@@", text)
        found = secrets.find(text)
        assert kind in [one.kind for one in found], text
        assert secret in [text[one.start : one.end] for one in found], text
        assert secret not in secrets.mask(text)
        assert f"[{kind}, {len(secret)} chars]" in secrets.mask(text)


@pytest.mark.parametrize(("kind", "make"), POSITIVE, ids=[f"{i}-{kind}" for i, (kind, _) in enumerate(POSITIVE)])
def test_no_layer_of_encoding_hides_one(kind: str, make: Make) -> None:
    text, secret = make(random.Random(kind))
    if json.dumps(secret)[1:-1] != secret:  # its own line ends become other characters
        return
    for layers in range(7):
        encoded = pl.Series([text])
        assert secret not in secrets.mask(text), layers
        looked_for = any(encoded.str.contains(pattern).item() for pattern in (secrets.PREFIXED, *secrets.LOOSE))
        assert looked_for or "oken" in text, layers
        text = json.dumps({"v": f'"{text}"', "w": text})


def test_no_kind_of_the_table_is_left_out() -> None:
    assert {kind.name for kind in EVERY} <= {kind for kind, _ in POSITIVE}


@pytest.mark.parametrize(("kind", "make"), POSITIVE, ids=[f"{i}-{kind}" for i, (kind, _) in enumerate(POSITIVE)])
def test_the_patterns_for_polars_miss_nothing_that_find_finds(kind: str, make: Make) -> None:
    text = pl.Series([make(random.Random(kind))[0]])
    hit = [pattern for pattern in (secrets.PREFIXED, *secrets.LOOSE) if text.str.contains(pattern).item()]
    assert hit or text.str.contains("token", literal=True).item()  # a bare `token` is only ever masked
    if hit == [secrets.LOOSE[0]]:
        assert text.str.contains("|".join(secrets.GATES)).item()


def wrong_checksum() -> str:
    token = signed(random.Random(1), "ghp_")
    return token[:-1] + ("a" if token[-1] != "a" else "b")


def sample_jwt() -> str:
    header = b64(json.dumps({"alg": "HS256", "typ": "JWT"}, separators=(",", ":")).encode())
    payload = b64(json.dumps({"sub": "1234567890", "name": "Somebody"}, separators=(",", ":")).encode())
    return f"{header}.{payload}.{draw(random.Random(1), URLSAFE, 43)}"


RNG = random.Random(5)
NEGATIVE = {
    "documented AWS sample": "AKIA" + "IOSFODNN7" + "EXAMPLE",
    "documented AWS secret": "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
    "documented Azure emulator key": "AccountKey=Eby8vdM02xNOcqFl" + draw(RNG, ALNUM, 70) + "==",
    "documented JWT": sample_jwt(),
    "documented Basic": "Authorization: Basic " + base64.b64encode(b"Aladdin:open sesame").decode(),
    "failing checksum": wrong_checksum(),
    "a longer GitHub-like word": signed(RNG, "ghp_") + "abc",
    "three parts without alg": f"{b64(b'{_typ_: 1}')}.{b64(RNG.randbytes(20))}.{b64(RNG.randbytes(32))}",
    "git sha": "commit " + hashlib.sha1(b"x", usedforsecurity=False).hexdigest(),
    "sha256": "sha256:" + hashlib.sha256(b"x").hexdigest(),
    "password digest": "password=" + hashlib.sha256(b"x").hexdigest(),
    "bcrypt": "password: $2b$12$" + draw(RNG, ALNUM, 53),
    "subresource integrity": "sha512-" + base64.b64encode(RNG.randbytes(64)).decode(),
    "public key": "-----BEGIN PUBLIC KEY-----\n"
    + base64.b64encode(RNG.randbytes(48)).decode()
    + "\n-----END PUBLIC KEY-----",
    "certificate": "-----BEGIN CERTIFICATE-----\n"
    + base64.b64encode(RNG.randbytes(48)).decode()
    + "\n-----END CERTIFICATE-----",
    "ssh public key": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + draw(RNG, ALNUM, 43) + " ci@host",
    "a private key that is only named": "expected -----BEGIN PRIVATE KEY----- at the start of the file, then its lines",
    "an empty private key": "-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----",
    "uuid": str(uuid.UUID(int=RNG.getrandbits(128))),
    "uuid as a key": "api_key=" + str(uuid.UUID(int=RNG.getrandbits(128))),
    "image": "data:image/png;base64," + base64.b64encode(RNG.randbytes(60_000)).decode(),
    "encrypted content": '"encrypted_content": "gAAAAA'
    + base64.urlsafe_b64encode(RNG.randbytes(60_000)).decode()
    + '"',
    "word in kebab case": "task-force-of-the-ministry and risk-adjusted-return-on-capital-2024-report-final",
    "sk in kebab case": "sk-proj-name-of-the-folder-that-was-made-here",
    "placeholder x": "sk-proj-" + "x" * 48,
    "placeholder stars": "glpat-" + "*" * 20,
    "placeholder words": "password=your-password-here1 api_key: <your-api-key-1> token=[REDACTED12345]",
    "placeholder variable": "password=${DB_PASSWORD_2} Authorization: Bearer $TOKEN_1 api_key={{API_KEY_V2}}",
    "placeholder bearer": "Authorization: Bearer YOUR_ACCESS_TOKEN_12",
    "counted up": "sk-" + "1234567890abcdef" * 3,
    "sample connection": "postgres://user:password@localhost/db mysql://root:$PASS@h redis://:<pw>@h amqp://guest:guest@h",
    "URL with port": "http://localhost:8080/@scope/name and git@host:2222/x https://a.test:443/u@v",
    "code": "password = get_password2(request) token = tokenizer.encode_v2(x) secret=settings.app2.secret_key2",
    "typed field": "password: string; api_key: Optional[str] = None; token: 12345678",
    "page token": '"next_page_token": "CAUQAA' + draw(RNG, ALNUM, 20) + '"',
    "date": '"token":"2026-11-07T00:34:00Z"',
    "path": "secret: projects/app1/secrets/db1/versions/3",
    "prose": "Bearer of bad news; basic information; authorization: required; the secret: nobody knows; API key: none",
    "AWS-like constant": "AKIAABCDEFGHIJKLMNOPQRSTUV",
    "words with a vendor's prefix": "dapi_client fc-barcelona-news xai-"
    + "explainable" * 8
    + " nvapi-"
    + "driver-" * 12,
    "placeholders of vendors": "gsk_" + "x" * 52 + " dop_v1_" + "0" * 64 + " tvly-YOUR_API_KEY hvs.<token>",
    "options without a credential": "--password $DB_PASSWORD_2 --token --verbose2 --secret /run/x1 -u 10:10 -u root",
    "cookies of taste": "Set-Cookie: lang=en; theme=dark-2; Path=/",
    "a figure's signature": "f(x) sig=0.05 Signature=" + "x" * 60 + " &sig=none",
    "masked already": "token [github-token, 40 chars] password=[assigned-secret, 12 chars, hmac 1234abcd]",
}


@pytest.mark.parametrize("name", NEGATIVE)
def test_what_only_looks_like_a_credential(name: str) -> None:
    assert secrets.find(NEGATIVE[name]) == []
    assert secrets.mask(NEGATIVE[name]) is NEGATIVE[name]


def test_random_encoded_bytes_are_no_credentials() -> None:
    rng = random.Random(9)
    for alphabet in (URLSAFE, ALNUM + "+/", BASE32, "0123456789abcdef"):
        assert secrets.find("".join(rng.choices(alphabet, k=300_000))) == []


def test_confidence_says_how_sure_it_is() -> None:
    rng = random.Random(3)
    assert secrets.find(signed(rng, "ghp_"))[0].confidence == "certain"
    assert secrets.find(jwt(rng))[0].confidence == "likely"
    assert secrets.find("password=" + draw(rng, ALNUM, 16))[0].confidence == "hint"
    assert secrets.find(pem(rng, end=False))[0].confidence == "likely"


def test_overlaps_become_one_of_the_surer_kind_that_covers_both() -> None:
    token = signed(random.Random(3), "ghp_")
    for text in (
        f"password={token}",
        f"Authorization: Bearer {token}",
        f"https://x-access-token:{token}@github.com/a/b",
    ):
        [found] = secrets.find(text)
        assert (found.kind, text[found.start : found.end]) == ("github-token", token)
    [found] = secrets.find(f"password=ab1.{token}.Zz9")
    assert (found.kind, found.end - found.start) == ("github-token", len(token) + 8)


def test_a_keyed_hash_tells_equal_secrets_and_only_with_a_key() -> None:
    rng = random.Random(3)
    one, two = signed(rng, "ghp_"), signed(rng, "gho_")
    first, second, third = secrets.mask(f"{one} {two} {one}", b"key").split("] [")
    assert first.lstrip("[") == third.rstrip("]") != second
    assert "hmac" not in secrets.mask(one)
    assert secrets.mask(one, b"key") != secrets.mask(one, b"other")
    assert secrets.mask(secrets.mask(f"{one} {two}", b"key")) == secrets.mask(f"{one} {two}", b"key")


HOSTILE = [
    *(prefix * (120_000 // len(prefix)) for kind in EVERY for prefix in kind.prefixes),
    "sk-proj-" + "a" * 120_000,
    "\neyJ" * 30_000,
    ("eyJ" + "a" * 20 + ".") * 5_000,
    "-----BEGIN PRIVATE KEY-----" * 5_000,
    "-----BEGIN PRIVATE KEY-----" + "-a" * 60_000,
    "://a:" * 30_000,
    "://" + "a" * 60_000 + ":" + "b" * 60_000,
    "password" * 15_000,
    ("password" + "\\" * 2_000) * 60,
    "password=" + "a1" * 60_000,
    "password=\"'\\ " * 10_000,
    "Authorization: Bearer " * 6_000,
    "1" * 120_000 + ":AA",
    "hooks.slack.com/services/" * 5_000,
    "".join(random.Random(1).choices(string.printable, k=120_000)),
]


def test_hostile_texts_are_passed_over() -> None:
    # Quadratic work on these would take minutes: the run as a whole is the alarm.
    for text in HOSTILE:
        assert len(secrets.mask(text)) <= len(text)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(
            (n, True)
            for n in (
                "password",
                "db_password",
                "user.passwd",
                "apiKey",
                "API-KEY",
                "X-Api-Key",
                "accessToken",
                "token",
            )
        ),
        *(
            (n, True)
            for n in ("client_secret", "secretAccessKey", "privateKey", "Authorization", "Set-Cookie", "credentials")
        ),
        *(
            (n, False)
            for n in (
                "max_tokens",
                "tokens",
                "token_count",
                "nextPageToken",
                "key",
                "monkey",
                "secretary",
                "",
                "x" * 9999,
            )
        ),
    ],
)
def test_names_of_members_that_hold_secrets(name: str, *, expected: bool) -> None:
    assert secrets.secret_name(name) is expected
