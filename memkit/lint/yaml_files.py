"""Check YAML files one by one: first as YAML, then as what their folder says they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from memkit.errors import StoreFault, UsageError
from memkit.lint.checked import Checked
from memkit.lint.interface import Edit, Finding, Source
from memkit.lint.policy_rules import policy_file_findings
from memkit.lint.security.check import Danger, hidden_dangers, secret_dangers, skill_dangers
from memkit.lint.skill_rules import skill_file_findings
from memkit.lint.suppressions import suppressions
from memkit.lint.trust_rules import manifest_demands, skill_demands
from memkit.policies.files import policy_findings
from memkit.policies.tables import load_table
from memkit.skills.skill import skill_findings
from memkit.store.config import FORMAT
from memkit.store.schema import SchemaFinding, check, load_schema
from memkit.store.yaml import YamlError, YamlFinding


@dataclass(frozen=True)
class Codes:
    """The rules that a kind of file answers its findings with."""

    invalid: str
    name: str
    unknown_key: str
    senseless: str = ""
    """For what has the right shape and still cannot be used."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """For findings of certain kinds."""


_SKILL = Codes("MKS001", "MKS002", "MKS003")
_POLICY = Codes("MKP001", "MKP002", "MKP004", "MKP005")
_DOMAIN = Codes(
    "MKD001", "MKD002", "MKD003", "MKD004", {"unbound_variable": "MKD006", "type_clash": "MKD007"}
)  # fmt: skip
_SETTINGS = Codes("MKY013", "MKY013", "MKY014")
_SECRET, _HIDDEN, _TABLE = "MKY015", "MKY016", "MKP011"


def check_file(source: Source, content: bytes) -> Checked:
    """Return the file with what every rule finds in it alone; suppressions are not applied yet."""
    file = Checked(source, content)
    if source.kind == "hddl":
        from memkit.lint.domain_rules import hddl_rules

        file.findings += hddl_rules(file, _DOMAIN.senseless)
        return file
    if source.kind == "table":
        _check_table(file)
        if source.path.suffix == ".csv":
            return file
    try:
        document = file.document
    except YamlError as error:
        file.findings.append(Finding(error.code, error.problem, source.path, error.line or 1, error.column))
        return file
    file.findings += [_from_yaml(finding, file) for finding in document.findings]
    file.findings += _KINDS[source.kind](file)
    if source.kind != "table" and not any(finding.code in _UNUSABLE for finding in file.findings):
        file.data = document.data
    file.comments = tuple(suppressions(document))
    return file


def _from_yaml(finding: YamlFinding, file: Checked) -> Finding:
    edit = None
    if finding.code == "MKY005":
        edit = Edit(-1, 0, "")
    elif finding.end > finding.start:
        quoted = f'"{file.document.text[finding.start : finding.end]}"'
        edit = Edit(finding.start, finding.end, quoted, finding.quoting_is_safe)
    path, anchor = file.source.path, finding.line
    end = file.document.place(finding.end) if finding.end else (0, 0)
    return Finding(finding.code, finding.message, path, finding.line, finding.column, edit, end, anchor)


def _check_skill(file: Checked) -> Iterator[Finding]:
    findings = list(skill_findings(file.document, file.name))
    yield from _coded(findings, file, _SKILL)
    yield from _placed(skill_dangers(file.document), file)
    if isinstance(file.document.data, dict):
        yield from skill_file_findings(file)
        if not findings:
            yield from skill_demands(file, file.document.data)


def _check_policy(file: Checked) -> Iterator[Finding]:
    found = list(_coded(policy_findings(file.document, file.name), file, _POLICY))
    yield from found
    yield from _placed(_everywhere(file), file)
    if isinstance(file.document.data, dict):
        yield from policy_file_findings(file, compiles=not found)


def _check_domain(file: Checked) -> Iterator[Finding]:
    from memkit.domains.files import domain_findings  # many stores have no domain, and this brings the planner

    found = list(_coded(domain_findings(file.document, file.name), file, _DOMAIN))
    yield from found
    yield from _placed(_everywhere(file), file)
    if not any(finding.code != _DOMAIN.name for finding in found):
        from memkit.lint.domain_rules import domain_rules

        yield from domain_rules(file)


def _check_manifest(file: Checked) -> Iterator[Finding]:
    data = file.document.data
    if isinstance(data, dict) and isinstance(data.get("format"), int) and data["format"] > FORMAT:
        raise StoreFault(f"{file.source.path} has format {data['format']}, newer than {FORMAT}. Upgrade memkit-agent.")
    findings = check(data, load_schema("memkit"))
    yield from _coded(findings, file, _SETTINGS)
    yield from _placed(_everywhere(file), file)
    if not findings:
        yield from manifest_demands(file, data)


def _check_table(file: Checked) -> None:
    """Note what a table of tests is about, or why it cannot be read; what is no YAML is said as of every file."""
    try:
        rows = load_table(file.source.path)
    except YamlError:
        return
    except UsageError as error:
        message = str(error).split(": ", 1)[-1]
        capital = message[:1].upper() + message[1:]
        sentence = capital if capital.endswith((".", "?")) else f"{capital}."
        file.findings.append(Finding(_TABLE, sentence, file.source.path, error.line or 1))
        return
    policies = sorted({row.policy for row in rows if row.policy})
    file.data = {"policies": policies, "tools": sorted({row.case.call.tool for row in rows})}


def _check_learned(file: Checked) -> Iterator[Finding]:
    from memkit.lint.lesson_rules import learned_rules

    yield from learned_rules(file)
    yield from _placed(_everywhere(file), file)


def _check_problem(file: Checked) -> Iterator[Finding]:
    from memkit.lint.lesson_rules import problem_rules

    yield from problem_rules(file)
    yield from _placed(_everywhere(file), file)


def _check_hidden(file: Checked) -> Iterator[Finding]:
    """Find only what hides: a table was read before."""
    yield from _placed(_everywhere(file), file)


_KINDS: Mapping[str, Callable[[Checked], Iterator[Finding]]] = {
    "skill": _check_skill,
    "policy": _check_policy,
    "domain": _check_domain,
    "manifest": _check_manifest,
    "learned": _check_learned,
    "problem": _check_problem,
    "table": _check_hidden,
}
_UNUSABLE = frozenset(
    code
    for codes in (_SKILL, _POLICY, _DOMAIN, _SETTINGS)
    for code in (codes.invalid, codes.senseless, codes.unknown_key, *codes.kinds.values())
) | {"MKD016", "MKD019"}


def _everywhere(file: Checked) -> list[Danger]:
    """Return what no file of a store may hold, skill or not."""
    return [*hidden_dangers(file.document, _HIDDEN), *secret_dangers(file.document, _SECRET)]


def _placed(dangers: Iterable[Danger], file: Checked) -> Iterator[Finding]:
    for danger in dangers:
        yield file.between(danger.code, danger.message, danger.start, danger.end, danger.path)


def _coded(found: Iterable[SchemaFinding], file: Checked, codes: Codes) -> Iterator[Finding]:
    for finding in found:
        line, column = finding.position(file.document)
        edit = _renamed(finding, file, codes)
        yield Finding(_code(finding, codes), finding.message, file.source.path, line, column, edit, anchor=line)


def _renamed(finding: SchemaFinding, file: Checked, codes: Codes) -> Edit | None:
    """Return the edit that gives a misspelt key its name, or a file's content the file's name."""
    document = file.document
    if finding.kind == "unknown_key" and finding.meant:
        line, column = document.key_position(finding.path)
        start = document.offset((line, column))
        written = str(finding.path[-1])
        if document.text.startswith(written, start):
            return Edit(start, start + len(written), finding.meant, is_safe=False)
    if finding.kind == "name" and finding.path in document.spans:
        return Edit(*document.spans[finding.path], file.name, is_safe=False)
    return None


def _code(finding: SchemaFinding, codes: Codes) -> str:
    if finding.kind == "unknown_key":
        return codes.unknown_key
    if finding.kind in codes.kinds:
        return codes.kinds[finding.kind]
    if finding.kind in ("condition", "domain"):
        return codes.senseless
    return codes.name if finding.path == ("name",) else codes.invalid
