"""Check YAML files: first as YAML, then as what their folder says they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from memkit.domains import domain_findings
from memkit.errors import StoreFault
from memkit.lint.interface import Edit, Finding, Source
from memkit.lint.sources import lies_inside
from memkit.lint.suppressions import apply_suppressions
from memkit.policies.files import policy_findings
from memkit.skills import skill_findings
from memkit.store.config import FORMAT
from memkit.store.schema import SchemaFinding, check, load_schema
from memkit.store.yaml import Document, YamlError, YamlFinding, load_yaml


@dataclass(frozen=True)
class Codes:
    """The rules that a kind of file answers its findings with."""

    invalid: str
    name: str
    unknown_key: str
    senseless: str = ""
    """For what has the right shape and still cannot be used."""


_SKILL = Codes("MKS001", "MKS002", "MKS003")
_POLICY = Codes("MKP001", "MKP002", "MKP004", "MKP005")
_DOMAIN = Codes("MKD001", "MKD002", "MKD003", "MKD004")
_SETTINGS = Codes("MKY013", "MKY013", "MKY014")


def check_yaml_file(source: Source, chosen: frozenset[str]) -> list[Finding]:
    """Return what the ``chosen`` rules find in a YAML file, suppressions applied."""
    if not lies_inside(source):
        message = "This is a symbolic link to something outside of the store."
        return [Finding("MKY009", message, source.path, 1)] if "MKY009" in chosen else []
    if source.kind == "other":
        message = "This file is not read. Name it *.yaml and put it directly into its folder."
        return [Finding("MKY010", message, source.path, 1)] if "MKY010" in chosen else []
    try:
        document = load_yaml(source.path)
    except YamlError as error:
        finding = Finding(error.code, error.problem, source.path, error.line or 1, error.column)
        return [finding] if finding.code in chosen else []
    found = [_from_yaml(finding, source, document) for finding in document.findings]
    found += _KINDS[source.kind](document, source)
    return apply_suppressions([finding for finding in found if finding.code in chosen], document, source, chosen)


def _from_yaml(finding: YamlFinding, source: Source, document: Document) -> Finding:
    edit = None
    if finding.code == "MKY005":
        edit = Edit(-1, 0, "")
    elif finding.quoting_is_safe:
        edit = Edit(finding.start, finding.end, f'"{document.text[finding.start : finding.end]}"')
    return Finding(finding.code, finding.message, source.path, finding.line, finding.column, edit)


def _check_skill(document: Document, source: Source) -> Iterator[Finding]:
    yield from _coded(skill_findings(document, source.path.stem), document, source, _SKILL)


def _check_policy(document: Document, source: Source) -> Iterator[Finding]:
    yield from _coded(policy_findings(document, source.path.stem), document, source, _POLICY)
    if isinstance(document.data, dict) and "match" not in document.data:
        message = "Without match this policy is advice to the model and stops nothing."
        yield Finding("MKP003", message, source.path, *document.key_position(("rule",)))


def _check_domain(document: Document, source: Source) -> Iterator[Finding]:
    yield from _coded(domain_findings(document, source.path.stem), document, source, _DOMAIN)


def _check_manifest(document: Document, source: Source) -> Iterator[Finding]:
    data = document.data
    if isinstance(data, dict) and isinstance(data.get("format"), int) and data["format"] > FORMAT:
        raise StoreFault(f"{source.path} has format {data['format']}, newer than {FORMAT}. Upgrade memkit-agent.")
    yield from _coded(check(data, load_schema("memkit")), document, source, _SETTINGS)


def _check_learned(_document: Document, _source: Source) -> Iterator[Finding]:
    """Find nothing: learned methods are judged together with their domain when they are promoted."""
    return iter(())


_KINDS: Mapping[str, Callable[[Document, Source], Iterator[Finding]]] = {
    "skill": _check_skill,
    "policy": _check_policy,
    "domain": _check_domain,
    "manifest": _check_manifest,
    "learned": _check_learned,
}


def _coded(found: Iterable[SchemaFinding], document: Document, source: Source, codes: Codes) -> Iterator[Finding]:
    for finding in found:
        yield Finding(_code(finding, codes), finding.message, source.path, *finding.position(document))


def _code(finding: SchemaFinding, codes: Codes) -> str:
    if finding.kind == "unknown_key":
        return codes.unknown_key
    if finding.kind in ("condition", "domain"):
        return codes.senseless
    return codes.name if finding.path == ("name",) else codes.invalid
