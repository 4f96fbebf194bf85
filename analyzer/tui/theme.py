"""How things look: two themes without a red-green pair, and the signs in two alphabets."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from textual.theme import Theme


class Glyphs(NamedTuple):
    """The signs of the workspace; each carries its meaning without colour."""

    error: str
    warning: str
    info: str
    cursor: str
    mark: str
    open: str
    closed: str
    more: str
    json: str  # a string that holds JSON
    bars: str  # from nothing to full
    model: str
    tool: str
    wait: str
    idle: str
    since: str
    line: str
    branch: str
    last: str
    arrow: str
    valid: str
    border: str


UNICODE = Glyphs(
    "✖",
    "▲",
    "●",
    "▌",
    "★",
    "▾",
    "▸",
    "…",
    "⟨json⟩",
    " ▁▂▃▄▅▆▇█",
    "▓",
    "▒",
    "░",
    "·",
    "├",
    "─",
    "├ ",
    "└ ",
    "▸",
    "✔",
    "round",
)
ASCII = Glyphs(
    "X",
    "!",
    "o",
    ">",
    "*",
    "-",
    "+",
    "...",
    "<json>",
    " .:-=+*#@",
    "#",
    "=",
    "-",
    ".",
    "|",
    "-",
    "|-",
    "`-",
    ">",
    "ok",
    "ascii",
)

SEVERITIES = ("error", "warning", "info")


def glyph(glyphs: Glyphs, severity: str) -> str:
    """The sign of a severity."""
    return {"error": glyphs.error, "warning": glyphs.warning}.get(severity, glyphs.info)


def themes() -> list[Theme]:
    """The two themes: blue and orange on near black, and on near white; every text at 7:1 or more."""
    from textual.theme import Theme

    return [
        Theme(
            name="audit-dark",
            dark=True,
            primary="#7cb7ff",
            secondary="#9db4cc",
            accent="#ffb454",
            foreground="#f2f4f8",
            background="#0b0e14",
            surface="#0b0e14",
            panel="#1b2230",
            success="#7cb7ff",
            warning="#ffd479",
            error="#ff9f40",
            variables=_variables("#22324d", "#a9b4c4", "#9fd0ff", "#ffe3a8", "#ffc078"),
        ),
        Theme(
            name="audit-light",
            dark=False,
            primary="#003f8a",
            secondary="#34475c",
            accent="#8a3b00",
            foreground="#10141a",
            background="#ffffff",
            surface="#ffffff",
            panel="#e9eef5",
            success="#003f8a",
            warning="#6b4700",
            error="#8a3b00",
            variables=_variables("#cfe0f7", "#46515f", "#003f8a", "#5b3f00", "#7a2f00"),
        ),
    ]


def fallback(name: str, *, dark: bool) -> dict[str, str]:
    """Our own variables for a theme that is not ours; the ANSI themes follow the user's sixteen colours."""
    if name.startswith("ansi"):
        return _variables("ansi_blue", "ansi_default", "ansi_default", "ansi_default", "ansi_default")
    own = themes()[0 if dark else 1]
    return own.variables


def _variables(chosen: str, dim: str, key: str, string: str, number: str) -> dict[str, str]:
    return {"audit-chosen": chosen, "audit-dim": dim, "audit-key": key, "audit-string": string, "audit-number": number}
