"""Write a rule's page: what it finds, why that matters, a bad and a good example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from memkit.lint.interface import Rule
from memkit.terminal import harmless


def rule_page(rule: Rule) -> str:
    """Return the page as Markdown."""
    return "\n".join(_page(rule)).rstrip() + "\n"


def index_page(rules: Iterable[Rule]) -> str:
    """Return the table of all rules as Markdown."""
    rows = [f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity} | {rule.what} |" for rule in rules]
    head = [
        "# Lint rules",
        "",
        "`memkit lint` checks a store with these rules; `memkit rule CODE` prints one of these pages.",
        "A finding is switched off on its line, or alone on the line above, with a reason:",
        "`# memkit: ignore[CODE] reason`; above a text of several lines it speaks for all of them.",
        "",
        "| code | name | severity | finds |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *rows]) + "\n"


def _page(rule: Rule) -> Iterator[str]:
    yield from (f"# {rule.code}: {rule.name}", "", rule.what, "", f"Severity: {rule.severity}.", "")
    yield from ("## Why", "", rule.why, "")
    yield from ("## Bad", "", f"`{rule.example}`", "", *_block(rule, rule.bad))
    yield from ("## Good", "", *_block(rule, rule.good))
    for path, text in rule.extra.items():
        yield from (f"Both with `{path}`:", "", *_block(rule, text))
    if rule.fix or rule.unsafe_fix:
        yield from ("## Fix", "")
    if rule.fix:
        yield f"`memkit lint --fix` {rule.fix}."
    if rule.unsafe_fix:
        yield f"`memkit lint --fix --unsafe-fixes` {rule.unsafe_fix}; look at it with `--diff` first."


def _block(rule: Rule, text: str) -> Iterator[str]:
    language = "json" if rule.example.endswith(".jsonl") else "yaml"
    yield from (f"```{language}", *harmless(text).rstrip("\n").split("\n"), "```", "")
