"""Every rule, by code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from memkit.errors import UsageError
from memkit.lint.interface import Finding, Rule
from memkit.lint.rules_archive import ARCHIVE_RULES
from memkit.lint.rules_files import DOMAIN_RULES, POLICY_RULES
from memkit.lint.rules_security import SECURITY_RULES
from memkit.lint.rules_skills import SKILL_RULES
from memkit.lint.rules_yaml import YAML_RULES

_SKILLS = sorted((*SKILL_RULES, *SECURITY_RULES), key=lambda rule: rule.code)
RULES: Mapping[str, Rule] = {
    rule.code: rule for rule in (*_SKILLS, *POLICY_RULES, *ARCHIVE_RULES, *DOMAIN_RULES, *YAML_RULES)
}


def nearest(word: str, known: list[str]) -> str:
    """Return `` Did you mean '…'?`` for the nearest known word, or nothing."""
    import difflib  # a clean run asks for no suggestion

    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


def get_rule(code: str) -> Rule:
    """Return the rule ``code``, in any case of letters; raises ``UsageError`` with the nearest code."""
    rule = RULES.get(code.upper())
    if rule is None:
        near = nearest(code.upper(), list(RULES)) or " 'memkit rule' lists them."
        raise UsageError(f"There is no rule {code!r}.{near}")
    return rule


def faults(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings but for notes, which tell what is as it should be."""
    return [finding for finding in findings if RULES[finding.code].severity != "note"]


def chosen_codes(select: Iterable[str] = (), ignore: Iterable[str] = ()) -> frozenset[str]:
    """Return the codes that begin with one of ``select`` (all when empty) and with none of ``ignore``.

    Raises:
        UsageError: Nothing begins with what was given, or no rule is left.
    """
    chosen = (_beginning(select) if select else frozenset(RULES)) - _beginning(ignore)
    if not chosen:
        raise UsageError("No rule is left: --ignore takes away all that --select names.")
    return chosen


def _beginning(prefixes: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    for prefix in (part.strip().upper() for text in prefixes for part in text.split(",")):
        codes = {code for code in RULES if prefix and code.startswith(prefix)}
        if not codes:
            families = sorted({code[:3] for code in RULES})
            raise UsageError(f"No rule begins with {prefix!r}.{nearest(prefix, [*RULES, *families])}")
        found |= codes
    return frozenset(found)
