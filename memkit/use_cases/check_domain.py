"""Check planning domains: their files, the problems recorded for them, and what was learned for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from memkit.domains import domain_file, is_file_name
from memkit.errors import StoreFault, UsageError
from memkit.lint.files import source_at, sources_of_store, store_above
from memkit.lint.interface import LintReport, RuleSelection, SourceFile
from memkit.lint.run import lint
from memkit.store.layout import MANIFEST

KINDS = ("domain", "hddl", "problem", "learned")
_FAMILIES = ("MKD", "MKY")

_OTHER_NAME = "MKD002"
"""Names of domains are those of their files in a store, where other files speak of them, and nowhere else."""


def check_domain(named: str | None = None, *, root: Path | None = None) -> LintReport:
    """Return what lint finds in a domain and in what belongs to it, or in all domains of the store at ``root``.

    A file need not lie in a store; there only the file itself is looked at.

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
        raise UsageError(f"{path} does not exist, or is no file.")
    path = path.absolute()
    try:
        root = store_above(path)
        source = source_at(path, root)
        if source is not None and source.kind in KINDS:
            return source
    except StoreFault:
        pass
    return SourceFile(path, "hddl" if path.suffix.lower() == ".hddl" else "domain", path.parent)
