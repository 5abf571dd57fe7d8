"""All rules, by code, and their findings in one file and in all files of a store.

A new rule goes into the file of its family, with its text, its example and its check; its page is generated from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from memkit.errors import UsageError
from memkit.lint.accepted import suppressions
from memkit.lint.families import (
    archive,
    domains,
    hostile,
    life_cycle,
    neighbours,
    packages,
    policies,
    skills,
    yaml,
)
from memkit.lint.files import kind_of
from memkit.lint.interface import Checked, Collection, Finding, Rule, SourceFile
from memkit.store.schema import suggestion
from memkit.store.yaml import YamlError

_FAMILIES = (skills, hostile, packages, neighbours, policies, life_cycle, archive, domains, yaml)
RULES: Mapping[str, Rule] = {
    rule.code: rule
    for rule in sorted(
        (rule for family in _FAMILIES for rule in family.RULES),
        key=lambda rule: ("SPADY".find(rule.code[2]), rule.code),
    )
}
_CHECKS: dict[str, list[Callable[[Checked], Iterable[Finding]]]] = {}
for _rule in RULES.values():
    for _kind in _rule.kinds or (kind_of(_rule.example),):
        if _rule.check and _rule.check not in _CHECKS.setdefault(_kind, []):
            _CHECKS[_kind].append(_rule.check)
_TOGETHER = tuple(dict.fromkeys(rule.together for rule in RULES.values() if rule.together))


def get_rule(code: str) -> Rule:
    """Return the rule ``code``, ignoring case; raise ``UsageError`` with the nearest code."""
    rule = RULES.get(code.upper())
    if rule is None:
        near = suggestion(code.upper(), list(RULES)) or " 'memkit rule' lists them."
        raise UsageError(f"There is no rule {code!r}.{near}")
    return rule


def faults(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings except notes, which report what is as intended."""
    return [finding for finding in findings if RULES[finding.code].severity != "note"]


def check_beginnings(prefixes: Iterable[str]) -> None:
    """Raise ``UsageError`` with the nearest code or family if no rule begins with one of ``prefixes``."""
    for prefix in prefixes:
        if not prefix or not any(code.startswith(prefix) for code in RULES):
            families = sorted({code[:3] for code in RULES})
            raise UsageError(f"No rule starts with {prefix!r}.{suggestion(prefix, [*RULES, *families])}")


def check_file(source: SourceFile, content: bytes) -> Checked:
    """Return the file with what every rule finds in it alone; suppressions are not applied yet."""
    file = Checked(source, content)
    is_yaml = source.kind != "hddl" and source.path.suffix != ".csv"
    try:
        if is_yaml:
            file.findings += yaml.as_written(file)
    except YamlError as error:
        file.findings.append(Finding(error.code, error.problem, source.path, error.line or 1, error.column))
        return file
    for check in _CHECKS[source.kind]:
        file.findings += check(file)
    if is_yaml:
        if source.kind != "table" and not any(RULES[finding.code].spoils for finding in file.findings):
            file.data = file.document.data
        file.comments = tuple(suppressions(file.document))
    return file


def check_together(files: Collection) -> Iterator[Finding]:
    """Yield what the rules find that examine more than one file of a store."""
    for check in _TOGETHER:
        yield from check(files)
