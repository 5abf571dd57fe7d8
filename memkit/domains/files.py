"""Planning domains: YAML or HDDL files, read strictly and checked, with the place of every error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memkit.errors import NotFound, UsageError
from memkit.resources import resource
from memkit.store.layout import NAME, Kind, checked_name, entries_of, parsed, require_inside

if TYPE_CHECKING:
    from memkit.runtime.htn.language.domain import Domain, Problem
    from memkit.runtime.htn.language.methods import Method
    from memkit.runtime.htn.language.terms import Head, HtnError
    from memkit.store.schema import SchemaFinding
    from memkit.store.yaml import Document, KeyPath

FOLDER = "domains"
PROBLEMS = f"{FOLDER}/problems"
"""The folders of each domain's problems, named after it."""
SUFFIX = ".hddl"
"""The suffix of HDDL; its reader is imported only if there is such a file."""
SUFFIXES = (".yaml", SUFFIX)
EXPECT = "expect"
"""The key of a problem file that only ``memkit domain test`` reads."""


def load_domain(path: Path, *, name: str | None = None, stem: str | None = None) -> Domain:
    """Return the domain in a file; raise ``UsageError`` with line and column for the first error.

    ``name`` is what errors call the file, ``stem`` the name that the domain must have (any if omitted). A file
    with the suffix ``.hddl`` is HDDL, any other YAML.
    """
    if path.suffix.lower() == SUFFIX:
        from memkit.hddl.interface import read_domain

        return read_domain(path, name=name)
    from memkit.store.yaml import load_yaml

    return document_domain(load_yaml(path, name=name), stem)


def document_domain(document: Document, stem: str | None = None) -> Domain:
    """Return the domain in a document; raise ``UsageError`` as ``load_domain`` does."""
    from memkit.runtime.htn.language.domain import Domain
    from memkit.runtime.htn.language.terms import HtnError

    _refuse(document, _misfits(document, stem))
    try:
        return Domain.from_data(document.data)
    except HtnError as error:
        _refuse(document, [_fault(error)])
        raise


Learned = Callable[[str, "Domain"], Sequence["Method"]]
"""Returns the confirmed learned methods of a domain, by its name."""


class StoreDomain:
    """A store's domain as its agent sees it: the tasks at once, the rest when the first plan is requested."""

    def __init__(self, root: Path, path: Path, learned: Learned) -> None:
        self._root = root
        self._path = path
        self._learned = learned
        self.tasks: Sequence[str] = ()
        """The tasks that have methods, as terms."""

    @cached_property
    def domain(self) -> Domain:
        """Return the domain that people wrote; raise ``UsageError`` as ``load_domain`` does."""
        return load_domain(self._path, name=f"{FOLDER}/{self._path.name}", stem=self._path.stem)

    @cached_property
    def learned(self) -> Sequence[Method]:
        """Return the confirmed methods that a model proposed, if there are any."""
        if not (self._root / FOLDER / "learned" / f"{self._path.stem}.yaml").exists():
            return ()
        return self._learned(self._path.stem, self.domain)


def store_domains(root: Path, learned: Learned) -> dict[str, StoreDomain]:
    """Return the domains of the store at ``root`` by name; ``learned`` reads their learned methods if there are any.

    Raises:
        UsageError: A file does not have the shape of a domain; the message says where. Semantic errors are reported
            when the domain is requested.
    """
    files = {checked_name(path.stem, "domain"): path for path in domain_files(root)}
    domains = {name: StoreDomain(root, path, learned) for name, path in files.items()}
    tasks = parsed(root, FOLDER, files, lambda name: list(map(_term, _heads(files[name]))))
    for name, known in domains.items():
        known.tasks = sorted({*tasks[name], *(_term(method.head) for method in known.learned)})
    return domains


def check_domains(root: Path) -> None:
    """Load every domain of the store at ``root``, except from files unchanged since they last loaded.

    Raises:
        UsageError: A file is wrong; the message says where.
    """
    files = {checked_name(path.stem, "domain"): path for path in domain_files(root)}
    load = {name: StoreDomain(root, path, lambda name, domain: ()) for name, path in files.items()}
    parsed(root, f"{FOLDER}-loaded", files, lambda name: bool(load[name].domain))


def _heads(path: Path) -> list[Head]:
    """Return the heads of the methods in a file of a store's domain; nothing else in the YAML is read."""
    name = f"{FOLDER}/{path.name}"
    if path.suffix.lower() == SUFFIX:
        return [method.head for method in load_domain(path, name=name).methods]
    from memkit.runtime.htn.language.terms import HtnError, located, parse_head
    from memkit.store.yaml import load_yaml

    document = load_yaml(path, name=name)
    found: list[Head] = []
    _refuse(document, _misfits(document, path.stem))
    try:
        for number, method in enumerate(document.data.get("methods") or []):
            with located("methods", number, "task"):
                found.append(parse_head(method["task"]))
    except HtnError as error:
        _refuse(document, [_fault(error)])
    return found


def domains_with(root: Path, task: str) -> list[str]:
    """Return the domains of the store at ``root`` that have such a task, by its name and number of arguments."""
    words = task.split()
    known = store_domains(root, lambda name, domain: ())
    return [name for name, one in known.items() if any(_is_called(words, term.split()) for term in one.tasks)]


def tasks_near(root: Path, task: str) -> list[str]:
    """Return the similar tasks of the store's domains, by name, nearest first.

    Tasks with this name but other arguments come first; if none is similar all are returned.
    """
    import difflib

    known = store_domains(root, lambda name, domain: ())
    terms = {term: f"{term} ({name})" for name, one in known.items() for term in one.tasks}
    named = {term.partition(" ")[0]: "" for term in terms}
    near = difflib.get_close_matches(task.partition(" ")[0], named, n=3)
    meant = [told for name in near for term, told in terms.items() if term.partition(" ")[0] == name]
    return meant or list(terms.values())


def _is_called(words: Sequence[str], term: Sequence[str]) -> bool:
    return len(words) == len(term) and words[:1] == term[:1]


def _term(head: Head) -> str:
    return " ".join([head.name, *map(str, head.args)])


def domain_files(root: Path) -> list[Path]:
    """Return the files of the store's domains, by name."""
    paths = _files_in(root / FOLDER)
    for path in paths:
        require_inside(root, path, f"{FOLDER}/{path.name}")
    return paths


def find_domain(named: str, root: Path | None = None) -> Domain:
    """Return the domain in the file ``named``, else of that name in the store at ``root``, else among the starters."""
    path = domain_file(named, root)
    if is_file_name(named):
        return load_domain(path)
    return load_domain(path, name=f"{FOLDER}/{path.name}", stem=named)


def domain_file(named: str, root: Path | None = None, *, starters: bool = True) -> Path:
    """Return the file of a domain given as for ``find_domain``; raise ``NotFound`` with the nearest name."""
    if is_file_name(named):
        return Path(named)
    checked_name(named, "domain")
    folders = [] if root is None else [root / FOLDER]
    folders += [resource(FOLDER)] if starters or root is None else []
    known = {path.stem: path for folder in reversed(folders) for path in _files_in(folder)}
    if named in known:
        if root is not None and known[named].is_relative_to(root):
            require_inside(root, known[named], f"{FOLDER}/{known[named].name}")
        return known[named]
    from memkit.store.schema import suggestion

    listed = f" Known: {', '.join(sorted(known))}." if known else " 'memkit domain new' starts one."
    raise NotFound(f"There is no domain {named!r}.{suggestion(named, sorted(known)) or listed}")


def is_file_name(named: str) -> bool:
    """Return whether a given name of a domain means a file."""
    return bool(Path(named).suffix) or "/" in named or Path(named).is_file()


def problem_files(root: Path, domain: str) -> list[Path]:
    """Return the files of the problems recorded for a domain of the store at ``root``, by name."""
    return _files_in(root / PROBLEMS / domain)


def _files_in(folder: Path) -> list[Path]:
    return [path for path in entries_of(folder) if path.suffix in SUFFIXES and not path.name.startswith(".")]


def load_problem(path: Path, domain: Domain, *, name: str | None = None) -> Problem:
    """Return the objects, facts and tasks in a file; raise ``UsageError`` with line and column of an error."""
    problem, wider = problem_in_domain(path, domain, name=name)
    if wider is not domain:
        message = f"{path} has initial tasks with variables, which only 'memkit plan --problem' binds. Name objects."
        raise UsageError(message, path=str(path))
    return problem


def problem_in_domain(path: Path, domain: Domain, *, name: str | None = None) -> tuple[Problem, Domain]:
    """Return the problem in a file, and the domain to solve it in; raise ``UsageError`` as ``load_problem`` does.

    The domain has one method more if the initial tasks of an HDDL problem have variables of their own.
    """
    if path.suffix.lower() == SUFFIX:
        from memkit.hddl.interface import read_problem

        return read_problem(path, domain, name=name)
    from memkit.store.yaml import load_yaml

    return document_problem(load_yaml(path, name=name), domain), domain


def is_problem(path: Path) -> bool:
    """Return whether a file holds a problem, whether or not it is valid; raise ``UsageError`` as reading does."""
    if path.suffix.lower() == SUFFIX:
        from memkit.hddl.interface import holds_problem

        return holds_problem(path)
    from memkit.store.yaml import load_yaml

    data = load_yaml(path).data
    return isinstance(data, dict) and "tasks" in data and not {"operators", "methods"} & data.keys()


def document_problem(document: Document, domain: Domain) -> Problem:
    """Return the problem in a document; raise ``UsageError`` as ``load_problem`` does."""
    from memkit.runtime.htn.language.domain import Problem
    from memkit.runtime.htn.language.terms import HtnError
    from memkit.store.schema import SchemaFinding, check, load_schema

    _refuse(document, check(document.data, load_schema("problem")))
    try:
        asked = {key: value for key, value in document.data.items() if key != EXPECT}
        return Problem.from_data(asked, domain)
    except HtnError as error:
        _refuse(document, [SchemaFinding("problem", error.path, error.message)])
        raise


def domain_findings(document: Document, stem: str | None = None) -> list[SchemaFinding]:
    """Return the faults that keep a document from being a domain: its shape first, then the first semantic error."""
    from memkit.runtime.htn.language.domain import Domain
    from memkit.runtime.htn.language.terms import HtnError

    findings = _misfits(document, stem)
    if all(finding.kind == "name" for finding in findings):
        try:
            Domain.from_data(document.data)
        except HtnError as error:
            findings.append(_fault(error))
    return findings


DOMAIN = Kind("domain", FOLDER, domain_findings)


def _misfits(document: Document, stem: str | None) -> list[SchemaFinding]:
    """Return the faults of a document that do not concern its meaning."""
    from memkit.store.schema import SchemaFinding, check, load_schema

    findings = check(document.data, load_schema("domain"))
    if findings:
        return findings
    name = document.data["name"]
    if stem is not None and name != stem and NAME.fullmatch(name):
        message = f"The domain is named {name!r}, but its file {stem!r}. Give both the same name."
        findings.append(SchemaFinding("name", ("name",), message))
    return findings


def _fault(error: HtnError) -> SchemaFinding:
    from memkit.runtime.htn.language.terms import TypeClash, UnboundError
    from memkit.store.schema import SchemaFinding

    kinds: Mapping[type[HtnError], str] = {UnboundError: "unbound_variable", TypeClash: "type_clash"}
    return SchemaFinding(kinds.get(type(error), "domain"), error.path, error.message)


def _refuse(document: Document, findings: Iterable[SchemaFinding]) -> None:
    for finding in findings:
        raise _wrong(document, finding.position(document), finding.message)


def misplaced(document: Document, path: KeyPath, message: str) -> UsageError:
    """Return the error about the value at a path of a document."""
    return _wrong(document, document.position(path), message)


def _wrong(document: Document, place: tuple[int, int], message: str) -> UsageError:
    line, column = place
    return UsageError(f"{document.path}:{line}:{column}: {message}", path=document.path, line=line)
