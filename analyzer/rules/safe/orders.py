"""Texts that give the model orders: what results, descriptions and arguments must not do."""

from __future__ import annotations

import polars as pl

#: Literals of which every order has one; case is folded by hand: a pattern that folds it costs ten times as much. None
#: begins with four letters that texts are full of (`efor`, `ext,`): each of those would be looked at closely.
_GATES = (
    *(
        "gnore all",
        "gnore any",
        "gnore previous",
        "gnore prior",
        "gnore the above",
        "gnore your",
        "gnore every",
        "isregard",
    ),
    *(
        "GNORE",
        "ystem prompt",
        "ystem message",
        "YSTEM:",
        "[INST]",
        "<|im_start|>",
        "</system",
        "<system",
        "<IMPORTANT>",
    ),
    *(
        "ou must now",
        "ou must immediately",
        "ou are now",
        "o not tell",
        "o not mention",
        "o not inform",
        "o not reveal",
    ),
    *("on't tell", "on't mention", "ithout telling", "ithout informing", "ithout asking", ", call", "ext call"),
    *("re using", "re calling", "nstead of using", "rgent instruction", "ew instructions", "verride"),
    *(
        "xfiltrate",
        "ow export",
        "ow send",
        "ow call",
        "lease call",
        "ou should now",
        "mmediately call",
        "lways put",
        "lways call",
    ),
    *("lways send", "lways include"),
)
_WHOM = r"(?:the |any |to the |your )?(?:user|human|operator|customer|anyone)"
_WHAT = r"(?:instructions?|prompts?|rules|guidelines|messages|context|policy|policies)"
_DO = r"(?:call|invoke|run|execute|send|export|upload|post|forward|delete|transfer|email)"
_LEAK = r"(?:first|before|user'?s?|address|token|key|password|conversation|history)"
_ORDERS = (
    rf"\b(?:ignore|disregard|forget|override)\b[^.\n]{{0,30}}\b(?:previous|prior|above|earlier|all|any|your|every)\b"
    rf"[^.\n]{{0,30}}\b{_WHAT}\b"
    r"|<(?:important|system|/?instructions?|secret)>|\[/?inst\]|<\|im_start\|>"
    r"|(?:^|\n)\s*system\s*:|(?-i:[.!?] SYSTEM:)"
    rf"|\b(?:do not|don't|never)\s+(?:tell|mention|inform|reveal|show|notify|alert)\b[^.\n]{{0,40}}\b{_WHOM}\b"
    rf"|\bwithout\s+(?:telling|informing|asking|notifying)\s+{_WHOM}\b"
    r"|(?:\byou (?:must|should|have to|need to)|\bplease|\bnext,?|(?:^|[.!?:;,\n]\s*|\b(?:and|then) )now,?)"
    rf" (?:now |immediately |first |then )*{_DO}\b[^\n]{{3,}}"
    r"|\b(?:reveal|print|repeat|output|send)\b[^.\n]{0,30}\bsystem (?:prompt|message)\b"
    r"|\byou are now\b[^.\n]{0,60}\b(?:mode|assistant|agent|admin|unrestricted|developer)\b"
    r"|\b(?:new|urgent|updated) instructions?\b[^.\n]{0,20}:"
    r"|\b(?:before (?:using|calling) (?:any|other)|instead of (?:using|calling))\b[^.\n]{0,60}"
    r"\b(?:tools?|functions?|call|read|send)\b"
    r"|\bbefore (?:using|calling) this\b[^.\n]{0,60}\b(?:call|read|send)\b"
    rf"|\balways (?:call|put|send|include)\b[^.\n]{{0,60}}\b{_LEAK}\b"
)
GATE = "|".join(each.replace("[", r"\[").replace("]", r"\]").replace("|", r"\|") for each in _GATES)
ORDER = f"(?i:{_ORDERS})"


def order_in(text: pl.Expr) -> pl.Expr:
    """The order itself, at most 80 characters of it."""
    return text.str.extract(f"({ORDER})", 1).str.replace_all(r"\s+", " ").str.slice(0, 80)
