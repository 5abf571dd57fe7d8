"""Write the pages of the lint rules.

``python -m tests.written.rule_pages`` rewrites ``docs/rules/`` of the checkout.
"""

from __future__ import annotations

from pathlib import Path

from memkit.lint.reports import index_page, rule_page
from memkit.lint.rules import RULES

from . import CHECKOUT


def write_rule_pages(out: Path) -> list[Path]:
    """Write a page for every rule, and an index; return the paths."""
    out.mkdir(parents=True, exist_ok=True)
    pages = {f"{code}.md": rule_page(rule) for code, rule in RULES.items()} | {"README.md": index_page(RULES.values())}
    for name, text in pages.items():
        (out / name).write_text(text, encoding="utf-8")
    return [out / name for name in pages]


if __name__ == "__main__":
    write_rule_pages(CHECKOUT / "docs" / "rules")
