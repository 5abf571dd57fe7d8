"""The file of one domain's learned methods: read, added to and removed from, so that git shows a small diff."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from memkit.domains.files import misplaced
from memkit.errors import NotFound, UsageError
from memkit.runtime.htn.language.data import method_from_data, method_to_data
from memkit.runtime.htn.language.domain import Domain, check_domain, is_goal
from memkit.runtime.htn.language.methods import Method, content_of
from memkit.runtime.htn.language.terms import HtnError, Term, is_variable
from memkit.runtime.memory.log.clone import state_folder
from memkit.runtime.memory.log.shards import locked
from memkit.store.files import write_whole
from memkit.store.layout import NAME, checked_name, require_inside
from memkit.store.schema import SchemaFinding, suggestion
from memkit.store.yaml import Document, load_yaml
from memkit.store.yaml_edit import edited

FOLDER = "domains/learned"
HEADER = """\
# Methods that a model proposed for tasks that no other method could do. memkit checked each by carrying it out, and
# uses them below the domain's own. 'memkit domain learned' lists them, 'memkit domain promote' and 'reject' judge them.
"""
_SECONDS = 10.0

Entry = dict[str, Any]


@dataclass(frozen=True)
class LearnedMethods:
    """The place of a domain's learned methods."""

    path: Path
    shown: str
    """The name of the file in messages."""
    domain: str
    gaps: Path
    """This machine's log of refused proposals; also the lock that keeps two processes from changing the file."""

    @staticmethod
    def of_domain(name: str, given: str, root: Path | None, learned: Path | None) -> LearnedMethods | None:
        """Return those of the domain that a person called ``given`` and that calls itself ``name``.

        None for a domain file outside a store, if no file of learned methods was given.
        """
        if learned is not None:
            return LearnedMethods.of_file(learned, name)
        path = Path(given)
        is_file = bool(path.suffix) or "/" in given or path.is_file()
        # Competition domains have names that no file of a store can have.
        if (
            root is None
            or not NAME.fullmatch(name)
            or (is_file and path.resolve().parent != (root / "domains").resolve())
        ):
            return None
        return LearnedMethods.of_store(root, name)

    @staticmethod
    def of_store(root: Path, domain: str) -> LearnedMethods:
        """Return the learned methods of a domain in the store at ``root``."""
        shown = f"{FOLDER}/{checked_name(domain, 'domain')}.yaml"
        require_inside(root, root / shown, shown)
        return LearnedMethods(root / shown, shown, domain, state_folder(root) / "gaps" / f"{domain}.jsonl")

    @staticmethod
    def of_file(path: Path, domain: str) -> LearnedMethods:
        """Return those in a separate file, with the log of refusals beside it."""
        return LearnedMethods(path, str(path), domain, path.with_name(f"{path.name}.gaps.jsonl"))

    def entries(self) -> list[Entry]:
        """Return the learned methods as stored in the file; raise ``UsageError`` if it is invalid."""
        return self._listed("methods")

    def rejected(self) -> list[Entry]:
        """Return the methods that a person rejected."""
        return self._listed("rejected")

    def methods(self, domain: Domain, left_out: Callable[[str], None]) -> list[Method]:
        """Return the learned methods that fit ``domain``; ``left_out`` receives each that does not, and why.

        A method that text from outside may have steered is not included before its promotion.
        """
        found: list[Method] = []
        for entry in self.entries():
            if (entry.get("provenance") or {}).get("taint"):
                continue  # whatever steered it, no person has looked at it yet
            try:
                method = read_method(entry)
                if is_goal((method.task,)):
                    raise HtnError(f"'{method.task}' is the test of a task's declared effects, not a task")
                check_domain(replace(domain, methods=(*domain.methods, *found, method)))
            except HtnError as error:
                left_out(f"{self.shown}: {entry.get('name')} is left out, because it is not valid here: {error}")
                continue
            found.append(method)
        return found

    def objection(self, task: Term, subtasks: Sequence[Term]) -> str | None:
        """Return why a person rejected a method that would do exactly this, or None."""
        for entry in self.rejected():
            if _matches(_terms(entry), [task, *subtasks]):
                reason = entry.get("reason", "no reason given")
                return f"a person rejected the method {entry['name']}, which is the same: {reason}"
        return None

    def find(self, name: str) -> Entry:
        """Return the entry called ``name``; raise ``NotFound``."""
        known = {str(entry["name"]): entry for entry in self.entries()}
        if name not in known:
            hint = suggestion(name, list(known)) or (f" Known: {', '.join(known)}." if known else " There is none.")
            raise NotFound(f"{self.shown} has no learned method {name!r}.{hint}")
        return known[name]

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Keep other processes from changing the file at the same time."""
        with locked(self.gaps, timeout=_SECONDS):
            yield

    def with_methods(self, learned: Sequence[tuple[Method, Mapping[str, Any]]]) -> tuple[str, list[str]]:
        """Return the file's text with further methods, and their names; existing methods are not added again."""
        known = set()
        for entry in self.entries():
            with suppress(HtnError):  # an invalid method is nobody's duplicate
                known.add(content_of(read_method(entry)))
        taken = {str(entry["name"]) for entry in (*self.entries(), *self.rejected())}
        added: list[Entry] = []
        for method, provenance in learned:
            if content_of(method) not in known:
                name = _free(method.name, taken)
                taken.add(name)
                added.append({**method_to_data(method), "name": name, "provenance": dict(provenance)})
        return self._text(lambda data: _append(data, "methods", added)), [entry["name"] for entry in added]

    def without(self, name: str, rejected: Mapping[str, Any] | None = None) -> str:
        """Return the file's text without a method, recorded as rejected if ``rejected`` is given."""
        self.find(name)

        def change(data: Any) -> None:
            data["methods"] = [entry for entry in data["methods"] if entry["name"] != name]
            if rejected is not None:
                _append(data, "rejected", [dict(rejected)])

        return self._text(change)

    def write(self, text: str) -> None:
        """Put ``text`` into the file."""
        write_whole(self.path, text.encode("utf-8"))

    def _text(self, change: Callable[[Any], None]) -> str:
        present = self.path.read_bytes().decode("utf-8") if self.path.exists() else ""
        return edited(present or f"{HEADER}domain: {self.domain}\nmethods: []\n", change)

    def _listed(self, key: str) -> list[Entry]:
        if not self.path.exists():
            return []
        document = load_yaml(self.path, name=self.shown)
        data = document.data
        if not isinstance(data, dict) or data.get("domain") != self.domain:
            of = data.get("domain") if isinstance(data, dict) else None
            raise UsageError(f"{self.shown}:1:1: These are learned methods of {of!r}, not of {self.domain!r}.")
        listed = data.get(key) or []
        if not isinstance(listed, list):
            raise misplaced(document, (key,), "This must be a list of methods.")
        for number, entry in enumerate(listed):
            fault = _fault(entry)
            if fault is not None:
                raise misplaced(document, (key, number), fault)
        return listed


def _fault(entry: Any) -> str | None:
    """Return what keeps an entry from being shown and read, or None."""
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return "This must be a map with a name."
    for key in ("preconditions", "subtasks"):
        if not isinstance(entry.get(key) or [], list):
            return f"The {key} must be a list."
    return None if isinstance(entry.get("provenance") or {}, dict) else "The provenance must be a map."


def read_method(entry: Mapping[str, Any]) -> Method:
    """Return the method of an entry, always marked as learned; raise ``HtnError`` if it is invalid."""
    return method_from_data({**{key: value for key, value in entry.items() if key != "provenance"}, "learned": True})


def learned_findings(document: Document, stem: str) -> list[SchemaFinding]:
    """Return the faults that keep a document from being the learned methods of the domain named by its file's stem."""
    data = document.data
    if not isinstance(data, dict) or data.get("domain") != stem:
        message = f"The file is named {stem!r}, but does not say 'domain: {stem}'."
        return [SchemaFinding("learned", ("domain",), message)]
    found: list[SchemaFinding] = []
    for number, entry in enumerate(data.get("methods") or ()):
        try:
            read_method(entry if isinstance(entry, dict) else {})
        except HtnError as error:
            found.append(SchemaFinding("learned", ("methods", number, *error.path), error.message))
    return found


def _append(data: Any, key: str, entries: Sequence[Entry]) -> None:
    data[key] = [*(data.get(key) or []), *map(plain, entries)]


def plain(value: Any) -> Any:
    """Return data with every text of more than a word in double quotes, as people write domains."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return DoubleQuotedScalarString(value) if isinstance(value, str) and not value.isidentifier() else value


def _free(name: str, taken: set[str]) -> str:
    """Return a learned method's name, which ends in a number, with the next free number."""
    stem, _, number = name.rpartition("_")
    return next(free for at in count(int(number)) if (free := f"{stem}_{at}") not in taken)


def _terms(entry: Mapping[str, Any]) -> list[Term]:
    try:
        method = read_method({key: entry[key] for key in ("name", "task", "subtasks")})
    except (HtnError, KeyError):
        return []
    return [(method.head.name, *method.head.args), *method.steps]


def _matches(pattern: Sequence[Term], terms: Sequence[Term]) -> bool:
    """Return whether terms match a pattern, with one object for each variable."""
    values: dict[Any, Any] = {}
    if [len(term) for term in pattern] != [len(term) for term in terms]:
        return False
    pairs = [pair for one, other in zip(pattern, terms, strict=True) for pair in zip(one, other, strict=True)]
    return all((values.setdefault(part, value) if is_variable(part) else part) == value for part, value in pairs)
