"""What a shell may complete beside commands and options."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes of rules, and their slugs where one has been begun, each with what the rule says."""
    from analyzer.rules.catalogue import RULES

    del ctx, param
    begun = incomplete.lower()
    codes = [(rule.code, rule) for rule in RULES if rule.code.lower().startswith(begun)]
    slugs = [(rule.slug, rule) for rule in RULES if begun and rule.slug.startswith(begun)]
    return [CompletionItem(name, help=rule.title) for name, rule in codes + slugs]
