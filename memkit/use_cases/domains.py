"""Planning domains: list, show, draft, check, prove, draw, roll back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from memkit.domains.files import (
    DOMAIN,
    FOLDER,
    PROBLEMS,
    SUFFIX,
    domain_file,
    domain_files,
    find_domain,
    is_file_name,
    load_domain,
    problem_files,
)
from memkit.domains.learned import LearnedMethods
from memkit.domains.proofs import BUDGET, DomainProof, prove_domain
from memkit.drawing.graph import task_network
from memkit.drawing.interface import Drawing, Form, draw
from memkit.errors import NegativeAnswer, StoreFault, UsageError
from memkit.lint.files import source_at, sources_of_store, store_above
from memkit.lint.interface import LintReport, RuleSelection, SourceFile
from memkit.lint.run import lint
from memkit.runtime.htn.core import Budget, Domain
from memkit.store.file_history import present_version, present_versions
from memkit.store.files import write_whole
from memkit.store.layout import MANIFEST, checked_name
from memkit.store.yaml import Document, load_yaml
from memkit.store.yaml_edit import Part
from memkit.use_cases.files import Committed, commit_file, draft_file, draft_text


@dataclass(frozen=True)
class ListedDomain:
    """A domain, with counts of its problems and learned methods."""

    name: str
    path: str
    domain: Domain
    problems: int
    """The number recorded for ``memkit domain test``."""
    learned: int
    """The number of learned methods not yet promoted."""
    version: str | None = None
    deprecated: bool | str = False


def list_domains(root: Path) -> list[ListedDomain]:
    """Return the domains of the store at ``root``, by name; raise ``UsageError`` for the first broken file."""
    found = [listed(root, path) for path in domain_files(root)]
    versions = present_versions(root, DOMAIN, [each.name for each in found if not each.version])
    return [replace(each, version=each.version or versions.get(each.name)) for each in found]


def listed(root: Path, path: Path) -> ListedDomain:
    """Return the list entry for the domain at ``path``."""
    shown = f"{FOLDER}/{path.name}"
    domain = load_domain(path, name=shown, stem=path.stem)
    learned = LearnedMethods.of_store(root, path.stem).entries()
    about = {} if path.suffix.lower() == SUFFIX else load_yaml(path, name=shown).data
    problems, version, deprecated = len(problem_files(root, path.stem)), about.get("version"), about.get("deprecated")
    return ListedDomain(path.stem, shown, domain, problems, len(learned), version, deprecated or False)


def show_domain(named: str, root: Path | None = None) -> ListedDomain:
    """Return a domain: a file, one of the store at ``root``, or a starter; raises as ``find_domain``."""
    path = domain_file(named, root)
    if root is not None and not is_file_name(named) and path.is_relative_to(root):
        found = listed(root, path)
        return found if found.version else replace(found, version=present_version(root, DOMAIN, found.name))
    return ListedDomain(path.stem, str(path), find_domain(named, root), 0, 0)


def draft_domain(root: Path, name: str) -> tuple[Path, Path]:
    """Write ``domains/<name>.yaml`` and its first problem, and return both paths; never overwrites, commits nothing.

    Raises:
        UsageError: The name is invalid, or one of the files exists.
    """
    if os.path.lexists(root / FOLDER / f"{checked_name(name, 'domain')}.hddl"):
        raise UsageError(f"{FOLDER}/{name}.hddl already exists. Edit it, or choose another name.")
    problem = f"{PROBLEMS}/{name}/first.yaml"
    return draft_file(root, DOMAIN, name, beside={problem: draft_text("problem", name)}), root / problem


def commit_domain(root: Path, name: str, *, bump: Part | None = None, note: str | None = None) -> Committed:
    """Commit the changes to the domain ``name`` and its problems, if the problems pass; raises as ``commit_file``."""
    problems = [path.relative_to(root).as_posix() for path in problem_files(root, checked_name(name, "domain"))]
    accept = partial(accept_domain, root)
    return commit_file(root, DOMAIN, name, bump=bump, note=note, beside=problems, accept=accept)


def accept_domain(root: Path, document: Document) -> None:
    """Return if every problem recorded for the domain in ``document``, which is valid, comes out as expected.

    Raises:
        NegativeAnswer: One does not; the message says which and why.
    """
    domain = Domain.from_data(document.data)
    for problem in prove_domain(root, domain.name, domain, document.path, BUDGET).problems:
        if not problem.passed:
            raise NegativeAnswer(f"{domain.name} fails {problem.path}, so it was not committed: {problem.faults[0]}")


# Check planning domains: their files, the problems recorded for them, and what was learned for them.

KINDS = ("domain", "hddl", "problem", "learned")
_FAMILIES = ("MKD", "MKY")

_OTHER_NAME = "MKD002"
"""In a store, and only there, domains must be named as their files, because other files refer to them."""


def check_domain(named: str | None = None, *, root: Path | None = None) -> LintReport:
    """Return what lint finds in a domain and what belongs to it, or in all domains of the store at ``root``.

    A file outside a store is checked alone.

    Raises:
        NotFound: There is no such domain.
        UsageError: There is no such file.
        StoreFault: Nothing is named, and there is no store or no domain in it.
    """
    if named is None and root is None:
        raise StoreFault("There is no store here. Name a file, or a store with --store DIR.")
    sources = list(_sources(named, root))
    base = root if root is not None and not (named and is_file_name(named)) else Path.cwd()
    stands_alone = not any((source.root / MANIFEST).is_file() for source in sources)
    chosen = RuleSelection(_FAMILIES, (_OTHER_NAME,) if stands_alone else ())
    report = lint(sources, chosen, base, cached=not stands_alone)
    wanted = {source.path for source in sources}
    return replace(report, findings=tuple(finding for finding in report.findings if finding.path in wanted))


def _sources(named: str | None, root: Path | None) -> Sequence[SourceFile]:
    if named is not None and is_file_name(named):
        return [_of_file(Path(named))]
    path = None if named is None else domain_file(named, root)
    if path is not None and (root is None or not path.is_relative_to(root)):
        return [_of_file(path)]
    assert root is not None
    everything = [source for source in sources_of_store(root) if source.kind in KINDS]
    return everything if path is None else list(_belonging(everything, path))


def _belonging(sources: Sequence[SourceFile], path: Path) -> Iterator[SourceFile]:
    for source in sources:
        name = source.path.parent.name if source.kind == "problem" else source.path.stem
        if source.path == path or (source.kind in ("problem", "learned") and name == path.stem):
            yield source


def _of_file(path: Path) -> SourceFile:
    if not path.is_file():
        raise UsageError(f"{path} does not exist, or is not a file.")
    path = path.absolute()
    try:
        root = store_above(path)
        source = source_at(path, root)
        if source is not None and source.kind in KINDS:
            return source
    except StoreFault:
        pass
    return SourceFile(path, "hddl" if path.suffix.lower() == ".hddl" else "domain", path.parent)


def draw_domain(named: str, files: Mapping[Form, Path], *, root: Path | None = None) -> dict[Form, Drawing]:
    """Write the task network of a domain to each of the files except "-", and return the drawings.

    For a domain of the store the learned methods that fit it are drawn as well.

    Raises:
        NotFound: There is no such domain.
        UsageError: The domain's file is broken.
        EnvironmentFault: A file cannot be written.
    """
    domain = find_domain(named, root)
    learned = []
    if root is not None and not is_file_name(named) and domain_file(named, root).is_relative_to(root):
        learned = LearnedMethods.of_store(root, named).methods(domain, lambda reason: None)
    graph = task_network(domain, learned)
    drawings = {form: draw(graph, form) for form in files}
    for form, path in files.items():
        if str(path) != "-":
            write_whole(path, drawings[form].text.encode("utf-8"))
    return drawings


def prove_domains(
    root: Path, names: Sequence[str] = (), *, seconds: float | None = BUDGET.seconds
) -> list[DomainProof]:
    """Return the results of the problems of each domain, or of the named ones.

    Args:
        root: The store.
        names: Domains of the store; empty for all of them.
        seconds: Time limit of the search for each problem.

    Raises:
        NotFound: There is no such domain in the store.
        UsageError: A domain is broken; a broken problem counts as a failed test.
    """
    paths = [domain_file(name, root, starters=False) for name in names] or domain_files(root)
    budget = replace(BUDGET, seconds=seconds)
    return [_proof(root, path, budget) for path in dict.fromkeys(paths)]


def _proof(root: Path, path: Path, budget: Budget) -> DomainProof:
    shown = f"{FOLDER}/{path.name}"
    return prove_domain(root, path.stem, load_domain(path, name=shown, stem=path.stem), shown, budget)
