"""Write the pages of the lint rules.

``python -m tests.written.rule_pages`` rewrites ``docs/rules/`` of the checkout.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from memkit.lint.interface import Rule
from memkit.lint.reports import rule_page
from memkit.lint.rules import RULES

from . import CHECKOUT


def index_page(rules: Iterable[Rule]) -> str:
    """Return the table of all rules as Markdown."""
    rows = [f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity} | {rule.what} |" for rule in rules]
    head = [
        "# Lint rules",
        "",
        "`memkit lint` checks a store with these rules; `memkit rule CODE` prints one of these pages.",
        "Suppress a finding on its line, or alone on the line above, with a reason:",
        "`# memkit: ignore[CODE] reason`; above a multi-line text it applies to all of its lines.",
        "",
        "| code | name | severity | finds |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"


def write_rule_pages(out: Path) -> list[Path]:
    """Write a page for every rule, and an index; return the paths."""
    out.mkdir(parents=True, exist_ok=True)
    pages = {f"{code}.md": rule_page(rule) for code, rule in RULES.items()} | {"README.md": index_page(RULES.values())}
    for name, text in pages.items():
        (out / name).write_text(text, encoding="utf-8")
    return [out / name for name in pages]


if __name__ == "__main__":
    write_rule_pages(CHECKOUT / "docs" / "rules")
