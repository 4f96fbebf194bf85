"""The words in which validators refuse the shape of arguments, and a quick look for texts that hold any of them."""

from __future__ import annotations

import polars as pl

# Further down a text nobody refuses arguments.
LONGEST = 4_000
_NAME = r"""[`'"\[(]*([\w.$/-]+)"""
_TYPES = "(?:integer|number|string|boolean|object|array|null|list|int|float|dict|bool|map|sequence|u32|u64|i32|i64)"
_MISSING = r"[Mm]issing (?:\d+ )?(?:the )?(?:required )?(?:positional |keyword-only )?"
# By constraint the wordings of validators, each behind the words of which one must stand there for it to hold: nearly
# every text has none of them, and to look for words costs a hundredth of what a pattern does.
CONSTRAINTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "type": (
        ("xpected ", r"[Ee]xpected (?:a |an )?[\w|<>\[\]' ]{2,60}?,? (?:but )?(?:got|received|found)\b"),
        ("is not of type ", r"is not of type ['\"]"),
        ("type is expected as", r"type is expected as\b"),
        ("must be ", rf"must be (?:a |an |of type )?{_TYPES}\b"),
        ("nput should be ", r"[Ii]nput should be (?:a |an )?valid\b"),
        ("nvalid type: ", r"[Ii]nvalid type: [^\n]{1,80}?, expected "),
        ("cannot unmarshal ", r"cannot unmarshal \w+ into "),
        ("type=", "invalid_type", "type_error", r"\btype=\w+_(?:type|parsing)\b|\binvalid_type\b|\btype_error\b"),
    ),
    "required": (
        ('" is required', r"\"([\w.$-]+)\" is required\b"),
        (" is a required ", rf"{_NAME}[`'\"]* is a required (?:property|field|parameter|argument)"),
        ("must have required property ", rf"must have required property {_NAME}"),
        (" is missing", rf"[Rr]equired (?:parameter|property|field|argument) {_NAME}[`'\"]* is missing"),
        ("issing ", rf"{_MISSING}(?:field|argument|parameter|property|key|param)s?:? {_NAME}"),
        ("ield required", "type=missing", r"[Ff]ield required\b|\btype=missing\b"),
    ),
    "additionalProperties": (
        ("dditional properties are not allowed", rf"[Aa]dditional properties are not allowed(?: \({_NAME})?"),
        ("must NOT have additional properties", r"must NOT have additional properties"),
        (
            "nrecognised key",
            "nrecognized key",
            "unrecognized_keys",
            rf"[Uu]nrecogni[sz]ed key(?:\(s\)|s)?(?: in object)?:? ?{_NAME}|\bunrecognized_keys\b",
        ),
        (
            "xtra inputs are not permitted",
            "extra_forbidden",
            r"[Ee]xtra inputs are not permitted|\bextra_forbidden\b",
        ),
        ("nknown field", rf"[Uu]nknown field:? {_NAME}"),
        ('" is not allowed', r"\"([\w.$-]+)\" is not allowed\b"),
        ("unexpected ", rf"unexpected (?:keyword argument|property|member|parameter|argument|field):? {_NAME}"),
    ),
    "enum": (
        ("is not one of [", r"is not one of \["),
        ("must be equal to one of the allowed values", r"must be equal to one of the allowed values"),
        (
            "invalid_enum_value",
            "nvalid enum value",
            "nvalid option: ",
            "nknown variant ",
            r"\binvalid_enum_value\b|[Ii]nvalid enum value|[Ii]nvalid option: expected one of|[Uu]nknown variant ",
        ),
        ("nput should be ", r"[Ii]nput should be ['\"]"),
    ),
    "pattern": (
        ("does not match ", r"does not match ['\"^]"),
        ("must match pattern ", r"must match pattern "),
        ("tring should match pattern", r"[Ss]tring should match pattern"),
        ("must match format ", r"must match format "),
    ),
    "range": (
        (
            "is greater than ",
            "is less than ",
            r"is (?:greater|less) than (?:or equal to )?the (?:maximum|minimum) of -?\d",
        ),
        ("must be ", r"must be (?:<=|>=|<|>) -?\d"),
        ("nput should be ", r"[Ii]nput should be (?:greater|less) than"),
        ("too_", "Too ", r"\btoo_(?:big|small)\b|Too (?:big|small): expected"),
        (
            "Number must ",
            "String must ",
            "Array must ",
            r"(?:Number|String|Array) must (?:contain|be) (?:at (?:least|most)|less than|greater than)",
        ),
        ("must NOT have ", r"must NOT have (?:more|fewer) than \d+ (?:characters|items|properties)"),
        ("should have at ", r"should have at (?:most|least) \d+ (?:characters|items)"),
        ("is too ", r"is too (?:long|short)\b"),
        ('" must be ', r"\"([\w.$-]+)\" must be (?:less|greater) than\b"),
        # Without the code these words may be about business.
        ("-32602", r"-32602\b.{0,80}\bmust be (?:at (?:least|most)|(?:greater|less) than|between) -?\d"),
    ),
}
# Validators that list what they refuse (see issues.py) say one of these.
_LISTED = (" validation error", '"path"')
_STEMS = sorted({word for wordings in CONSTRAINTS.values() for *words, _ in wordings for word in words} | {*_LISTED})


def worded(text: pl.Expr) -> pl.Expr:
    """Whether a text may be a refusal. Of any other `refusal` says None, but it takes a thousand times as long."""
    return text.str.slice(0, LONGEST).str.contains_any(_STEMS)
