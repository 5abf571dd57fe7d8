"""Say what a lint rule checks, and write the pages that say it."""

from __future__ import annotations

from pathlib import Path

from memkit.lint.interface import Rule
from memkit.lint.pages import index_page, rule_page
from memkit.lint.rules import RULES, get_rule


def explain_rule(code: str) -> tuple[Rule, str]:
    """Return the rule ``code`` and its page; raises ``UsageError`` with the nearest code."""
    rule = get_rule(code)
    return rule, rule_page(rule)


def write_rule_pages(out: Path) -> list[Path]:
    """Write a page for every rule, and an index; return the paths."""
    out.mkdir(parents=True, exist_ok=True)
    pages = {f"{code}.md": rule_page(rule) for code, rule in RULES.items()} | {"README.md": index_page(RULES.values())}
    for name, text in pages.items():
        (out / name).write_text(text, encoding="utf-8")
    return [out / name for name in pages]
