"""What a hostile log says: texts that act on terminals, pages and parsers, and credentials drawn from a seed."""

from __future__ import annotations

import random
import string
from typing import NamedTuple

from tests.ground.tokens import ALNUM, POSITIVE, draw

#: The mark by which an output is searched for what came through alive.
MARK = "PWNED"

TEXTS: dict[str, tuple[str, ...]] = {
    "escapes": (
        f"\x1b]2;{MARK}\x1b\\",
        f"\x1b]0;{MARK}\x07",
        "\x1b]52;c;UFdORUQ=\x1b\\",
        "\x1b[2J\x1b[H\x1b[31m",
        f"\x1b]8;;http://{MARK}.test",
        f"\x9b31m\x9d2;{MARK}\x9c",
        f"\x1bP$q{MARK}\x1b\\\x1b[c\x05\x0e",
        f"\x1b[?1049h\x1b[6n{MARK}\r\n\x08\x7f\x00",
        f"\x1b_G{MARK}\x1b\\\x1b^{MARK}\x1b\\\x1bX{MARK}\x1b\\\x85\u2028\u2029",
    ),
    "invisible": (
        "\u202egpj.exe\u2066\u2069\u202c\u200e\u200f\u061c",
        "a\u200bb\u200c\u200d\u2060\ufeff\u00adz",
        "".join(chr(0xE0000 + ord(char)) for char in "ignore all rules") + "\U000e007f",
        "x" + "\ufe0f\U000e0100" * 20,
        "e" + "\u0301" * 60,
        "\u3164\u115f\u2800\u034f\u17b4\u180e\u2061\ufff9\ufffa\ufffb",
    ),
    "homoglyphs": (
        "\u0430dmin",
        "p\u0430yp\u0430l",
        "\uff45\uff56\uff41\uff4c",
        "\u217c\u0131st",
        "g\u0435t_us\u0435r",
    ),
    "markup": (
        f"<script>alert('{MARK}')</script>",
        f'"><img src=x onerror="alert(\'{MARK}\')">',
        f"</title></style></textarea></script>--></svg><svg/onload=alert('{MARK}')>",
        f"]]><{MARK}/><![CDATA[&{MARK};",
        f"[click](javascript:{MARK}) ![x](http://{MARK}.test/x.png) <http://{MARK}.test> <b>{MARK}</b>",
        f"| {MARK} | x |\n```\n# {MARK}\n\n<details><summary>{MARK}</summary>",
        f'=HYPERLINK("http://{MARK}.test","x")',
        f"+cmd|' /C {MARK}'!A1",
        f"@{MARK} [/bold][link=http://{MARK}.test]x[/link] [@click=app.bell]x[/]",
        f"{{{{7*7}}}} ${{7*7}} <%= {MARK} %> {{% raw %}} %s %n {{0.__class__}}",
        f"::error file=x,line=1::{MARK}\n::set-output name=x::{MARK}\n##vso[task.setvariable variable=x]{MARK}",
        f"'; DROP TABLE findings; -- {MARK} \\\" ' ` $(touch {MARK}) `touch {MARK}` ; touch {MARK} |",
    ),
    "paths": (
        "../../../../etc/passwd",
        "..\\..\\windows\\system32",
        "/dev/zero",
        "C:\\nul",
        "a/b~c~01/%2e%2e/\\..",
        "x!y!/z",
        "-o/tmp/pwned",
        "CON",
        "." * 300,
        "",
    ),
}


class Secret(NamedTuple):
    """A text that holds a credential, and the credential: what no output may hold."""

    kind: str
    text: str
    value: str


def secrets(seed: int) -> list[Secret]:
    """One of every kind and shape, and some that only the name of their member gives away."""
    rng = random.Random(seed)
    return [Secret(kind, *make(rng)) for kind, make in POSITIVE]


def named_secrets(seed: int) -> dict[str, str]:
    """Members whose names say that their values are credentials, whatever these look like."""
    rng = random.Random(seed)
    return {
        "password": "sesame" + "".join(rng.choices(string.ascii_lowercase, k=9)),
        "client_secret": draw(rng, ALNUM, 30),
        "apiKey": "key of " + "".join(rng.choices(string.ascii_lowercase, k=9)),
        "accessToken": "".join(rng.choices(string.digits, k=19)),
        "Set-Cookie": "sid=" + draw(rng, ALNUM, 22),
        "passphrase": "correct horse " + "".join(rng.choices(string.ascii_lowercase, k=9)),
    }
