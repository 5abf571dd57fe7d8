"""Check YAML files: first as YAML, then as what their folder says they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from memkit.guard.policy import policy_faults
from memkit.htn.core import Domain
from memkit.htn.errors import HtnError
from memkit.lint.interface import Edit, Finding, Source
from memkit.lint.suppressions import apply_suppressions
from memkit.skills import skill_findings
from memkit.store.layout import NAME
from memkit.store.schema import SchemaFinding, check, load_schema
from memkit.store.yaml import Document, KeyPath, YamlError, YamlFinding, load_yaml


@dataclass(frozen=True)
class Codes:
    """The rules that a kind of file answers a schema's findings with."""

    invalid: str
    name: str
    unknown_key: str


def check_yaml_file(source: Source, chosen: frozenset[str]) -> list[Finding]:
    """Return what the ``chosen`` rules find in a YAML file, suppressions applied."""
    linked = list(_check_link(source))
    if linked:
        return [finding for finding in linked if finding.code in chosen]
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


def _check_link(source: Source) -> Iterator[Finding]:
    if not source.path.resolve().is_relative_to(source.root.resolve()):
        yield Finding("MKY009", "This is a symbolic link to something outside of the store.", source.path, 1)


def _from_yaml(finding: YamlFinding, source: Source, document: Document) -> Finding:
    edit = None
    if finding.code == "MKY005":
        edit = Edit(-1, 0, "")
    elif finding.quoting_is_safe:
        edit = Edit(finding.start, finding.end, f'"{document.text[finding.start : finding.end]}"')
    return Finding(finding.code, finding.message, source.path, finding.line, finding.column, edit)


def _check_skill(document: Document, source: Source) -> Iterator[Finding]:
    found = skill_findings(document, source.path.stem)
    yield from _from_schema(found, document, source, Codes("MKS001", "MKS002", "MKS003"))


def _check_policy(document: Document, source: Source) -> Iterator[Finding]:
    found = [*check(document.data, load_schema("policy")), *_name_findings(document, source, "policy")]
    yield from _from_schema(found, document, source, Codes("MKP001", "MKP002", "MKP004"))
    data = document.data
    if not isinstance(data, dict):
        return
    if "match" not in data:
        line, column = document.key_position(("rule",))
        yield Finding(
            "MKP003", "Without match this policy is advice to the model and stops nothing.", source.path, line, column
        )
    if not found:
        for fault in policy_faults(data):
            yield _placed("MKP005", _sentence(fault.message), fault.path, document, source)


def _check_domain(document: Document, source: Source) -> Iterator[Finding]:
    found = [*check(document.data, load_schema("domain")), *_name_findings(document, source, "domain")]
    yield from _from_schema(found, document, source, Codes("MKD001", "MKD002", "MKD003"))
    if not found:
        try:
            Domain.from_data(document.data)
        except HtnError as error:
            yield _placed("MKD004", _sentence(error.message), error.path, document, source)


def _check_manifest(document: Document, source: Source) -> Iterator[Finding]:
    found = check(document.data, load_schema("memkit"))
    yield from _from_schema(found, document, source, Codes("MKY013", "MKY013", "MKY014"))


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


def _name_findings(document: Document, source: Source, noun: str) -> list[SchemaFinding]:
    name = document.data.get("name") if isinstance(document.data, dict) else None
    if not isinstance(name, str) or name == source.path.stem or not NAME.fullmatch(name):
        return []
    message = f"The {noun} is named {name!r}, and its file {source.path.stem!r}. Give both one name."
    return [SchemaFinding("name", ("name",), message)]


def _from_schema(found: Iterable[SchemaFinding], document: Document, source: Source, codes: Codes) -> Iterator[Finding]:
    for finding in found:
        code = codes.unknown_key if finding.kind == "unknown_key" else codes.invalid
        if finding.path == ("name",) and finding.kind in ("name", "value", "type"):
            code = codes.name
        line, column = finding.position(document)
        yield Finding(code, finding.message, source.path, line, column)


def _placed(code: str, message: str, path: KeyPath, document: Document, source: Source) -> Finding:
    line, column = document.position(path)
    return Finding(code, message, source.path, line, column)


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "?", "!")) else f"{text}."
