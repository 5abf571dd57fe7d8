"""What a store would run, contact or import, and which keys it may use: everything that needs a person's consent.

A store may come from anywhere. Its ``memkit.yaml`` can name a provider, a model's folder and tools, its skills carry
commands as checks, and an evaluator of evolution is code. Each of these is an ``Allowance``. What they name, and what
such code could import or start, is read as well: the digest changes when any of it does.

A store names its keys in ``memkit.yaml``, and anybody can write the name of another store's keys there. So a name
grants nothing: a clone may use keys that were made in it, that a person imported there, or for which a person trusted
it. This is recorded in a file in the clone's state, a place that nobody else can name (``runtime/memory/log/clone``).
It moves with the store, and no copy has it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from memkit.errors import EnvironmentFault, UsageError
from memkit.runtime.memory.log.clone import own_state
from memkit.runtime.memory.record.lines import NothingOfItsOwn
from memkit.store.config import OUTBOX, Settings, load_settings, own_tools
from memkit.store.files import write_whole
from memkit.store.layout import MANIFEST, SCHEMA_FILES, file_bytes, keys_home

KEY_ID = re.compile(r"[a-z0-9]{16,64}")
FILE = "keys"
"""The file in the clone's own state: one key_id per line."""


def keys_file(root: Path) -> Path | None:
    """Return the file that lists the keys that this clone may use; None if it has no state of its own."""
    try:
        return own_state(root) / FILE
    except NothingOfItsOwn:
        return None


def may_use_keys(root: Path, key_id: str) -> bool:
    """Return whether the clone at ``root`` may use the keys named ``key_id``."""
    return key_id in _allowed_keys(keys_file(root))


def allow_keys(root: Path, key_id: str) -> None:
    """Allow the clone at ``root`` to use these keys; raise ``EnvironmentFault`` if that cannot be recorded."""
    try:
        file = own_state(root) / FILE
    except NothingOfItsOwn as error:
        raise EnvironmentFault(f"Cannot record that this clone may use its keys: {error}.") from None
    if key_id not in (allowed := _allowed_keys(file)):
        write_whole(file, "".join(f"{each}\n" for each in sorted({*allowed, key_id})).encode(), mode=0o600)


def forbid_keys(root: Path) -> bool:
    """Forbid the clone at ``root`` to use any keys, and return whether it could use any."""
    file = keys_file(root)
    if file is None or not _allowed_keys(file):
        return False
    try:
        file.unlink()
    except OSError as error:
        raise EnvironmentFault(f"{file} cannot be removed: {error.strerror or error}.") from error
    return True


def keys_asked_for(root: Path, key_id: object) -> str | None:
    """Return the name of keys on this machine that the clone at ``root`` would need permission for."""
    if not isinstance(key_id, str) or not KEY_ID.fullmatch(key_id) or may_use_keys(root, key_id):
        return None
    with suppress(UsageError):  # no such place
        home = keys_home()
        if not home.resolve().is_relative_to(root.resolve()) and (home / key_id).is_dir():
            return key_id
    return None


def _allowed_keys(file: Path | None) -> list[str]:
    with suppress(OSError, UnicodeDecodeError):
        return file.read_text(encoding="ascii").split() if file is not None else []
    return []


_OUTPUTS = "outputs"
"""Where memkit writes whole projects, which count only if something that runs names the folder."""
_WRITTEN = {"skills", "policies", "domains", "archive", ".github"}
_TEXTS = {".yaml", ".yml", ".json", ".jsonl", ".csv", ".hddl"}
"""Files that usually are in such folders, besides code that somebody put there."""
_OF_GIT = {".gitignore", ".gitattributes", ".gitmodules", ".gitkeep"}
_CODE = {
    ".bash", ".bat", ".cjs", ".class", ".dll", ".dylib", ".fish", ".jar", ".jl", ".js", ".lua", ".mjs", ".mk", ".php",
    ".pl", ".pm", ".ps1", ".py", ".pyc", ".pyd", ".pyz", ".r", ".rb", ".sh", ".so", ".ts", ".wasm", ".zsh",
}  # fmt: skip
_RECIPES = {"makefile", "gnumakefile", "justfile", "rakefile", "package.json"}
"""Files, in lower case, that programs take orders from without being given their names."""
_JUDGES = re.compile(rb"^(?:async )?def evaluate", re.MULTILINE)
_EVALUATOR = "evaluator.py"


class Allowance(NamedTuple):
    """One thing that a trusted store may do."""

    kind: str
    """``tool``, ``check``, ``evaluator``, ``hook``, ``key``, or one of those of ``CHOICES``, such as ``provider``."""
    what: str
    """In plain words, to follow "It may"."""

    def to_data(self) -> dict[str, str]:
        """Return it as JSON data."""
        return {"kind": self.kind, "what": self.what}


class Demands(NamedTuple):
    """Everything that a store would run or contact."""

    allows: tuple[Allowance, ...]
    parts: Mapping[str, str]
    """Each relevant part, such as ``tool deploy`` or ``file tools/deploy.py``, with its digest."""
    evaluators: frozenset[str] = frozenset()
    """Files that may evaluate evolving programs, by path in the store."""
    checks: frozenset[tuple[str, ...]] = frozenset()
    """The commands of skills' checks."""
    key_id: str | None = None
    """The keys on this machine that the store names and that its clone may not use yet."""

    @property
    def digest(self) -> str:
        """Return a digest that identifies all of it."""
        return _digest(dict(self.parts))

    def with_keys_in_use(self) -> Demands:
        """Return what remains to be allowed once the clone may use its keys, which its own state records."""
        left = tuple(allowance for allowance in self.allows if allowance.kind != "key")
        parts = {name: digest for name, digest in self.parts.items() if name != f"key {self.key_id}"}
        return self._replace(allows=left, parts=parts, key_id=None)


class StoreChoice(NamedTuple):
    """A setting by which a store chooses what is contacted or loaded."""

    kind: str
    harmless: tuple[str, ...]
    """Values that contact nobody, or nobody else."""
    words: str


CHOICES: Mapping[str, StoreChoice] = {
    "provider": StoreChoice(
        "provider", ("reference",), "let the provider {} answer, and send it what is said and recalled"
    ),
    "model": StoreChoice("model", (), "ask that provider, or the one you name, for the model {}"),
    "base_url": StoreChoice(
        "address", (), "send what is said and recalled to {} instead of to the vendor, with the key that it names"
    ),
    "key_variable": StoreChoice("key_variable", (), "send the environment variable {} as the key"),
    "context.summary_model": StoreChoice("summary_model", ("off", "provider"), "let {} summarise conversations"),
    "retrieval.vectors": StoreChoice("embedding_model", ("off",), "load the embedding model in {}"),
    "backends.archive": StoreChoice("archive", ("files",), "keep long-term memory at {}, and trust what is there"),
    "backends.working": StoreChoice("working", ("files",), "keep sessions and working memory at {}"),
}


def demands_of(root: Path) -> Demands:
    """Return what the store at ``root`` would run or contact, as its files are now, whatever the environment says."""
    return _Reading(root.resolve(), load_settings(root, {})).demands()


def choice_allowance(key: str, value: str) -> Allowance:
    """Return the allowance that a setting of ``CHOICES`` requires."""
    from memkit.runtime.backends.interface import without_secrets

    shown = without_secrets(value) if key.startswith("backends.") and "://" in value else value
    return Allowance(CHOICES[key].kind, CHOICES[key].words.format(shown))


def tool_allowance(tool: Mapping[str, Any]) -> Allowance:
    """Return the allowance that a declared tool requires."""
    run = tool["run"]
    if isinstance(run, str):
        module, _, function = run.partition(":")
        return Allowance("tool", f"import {module} and call {function}, for the tool {tool['name']}")
    return Allowance("tool", f"run `{shlex.join(run)}`, for the tool {tool['name']}")


def check_allowance(skill: str, run: Sequence[str]) -> Allowance:
    """Return the allowance that a skill's check requires."""
    return Allowance("check", f"run `{shlex.join(run)}`, to check the skill {skill}")


class _Reading:
    """Reads one store once."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self._root = root
        self._settings = settings
        self._allows: list[Allowance] = []
        self._parts: dict[str, str] = {}
        self._words: set[str] = set()
        """The words of all commands of tools and checks."""
        self._named: set[str] = set()
        """The files that are started, by path in the store."""
        self._checks: set[tuple[str, ...]] = set()

    def demands(self) -> Demands:
        self._read_choices()
        self._read_tools()
        self._read_checks()
        key_id = self._read_keys()
        self._read_hooks()
        listed = _listed(self._root)
        left_out = {".memkit"} if any(_OUTPUTS in word for word in self._words) else {".memkit", _OUTPUTS}
        own = {
            path
            for path, tracked in listed.items()
            if path.partition("/")[0] not in left_out and _counts(self._root, path, tracked)
        }
        evaluators = frozenset(path for path in own if self._judges(path))
        for path in sorted(evaluators):
            self._allows.append(Allowance("evaluator", f"run {path} to score evolved programs"))
        runs = any(allowance.kind in ("tool", "check", "evaluator", "hook") for allowance in self._allows)
        for path in sorted((own if runs else set()) | self._named):
            self._parts[f"file {path}"] = _content_digest(self._root / path)
        return Demands(tuple(self._allows), self._parts, evaluators, frozenset(self._checks), key_id)

    def _read_choices(self) -> None:
        for key, choice in CHOICES.items():
            value = self._settings[key]
            if not value or value in choice.harmless or not self._settings.is_chosen(key):
                continue
            self._part(f"setting {key}", str(value))
            self._allows.append(choice_allowance(key, str(value)))
            self._name([str(value).partition(":")[2]])  # for example the file of a script

    def _read_tools(self) -> None:
        for number, tool in enumerate(own_tools(self._root, self._settings["tools"]), 1):
            self._part(f"tool {tool['name']}", [number, dict(tool)])
            self._allows.append(tool_allowance(tool))
            self._name([tool["run"]] if isinstance(tool["run"], str) else tool["run"])

    def _read_checks(self) -> None:
        for path in sorted((self._root / "skills").glob("*.yaml")):
            for number, (name, run) in enumerate(_checks_in(path), 1):
                self._part(f"check of {path.stem}: {name}", [number, name, *run])
                self._checks.add(tuple(run))
                self._allows.append(check_allowance(path.stem, run))
                self._name(run)

    def _read_keys(self) -> str | None:
        key_id = keys_asked_for(self._root, self._settings["privacy.key_id"])
        if key_id is not None:
            self._part(f"key {key_id}", key_id)
            self._allows.append(Allowance("key", f"open and destroy what is sealed with your keys {key_id}"))
        return key_id

    def _read_hooks(self) -> None:
        from memkit.store.git import Git, files_beside, hooks_of

        hooks = hooks_of(Git(self._root))
        for name in hooks:
            self._allows.append(
                Allowance("hook", f"run git's hook {name} when skills, policies and domains are committed")
            )
        for path in files_beside(hooks):
            self._part(f"hook {os.path.relpath(path, self._root)}", [os.access(path, os.X_OK), _content_digest(path)])

    def _part(self, name: str, content: Any) -> None:
        """Record a relevant part; two with the same name both count."""
        self._parts[name] = _digest([self._parts.get(name), content])

    def _name(self, run: Sequence[str]) -> None:
        """Record the first file that a command names, which is the program or its source; the rest are its arguments.

        Files tracked by git count anyway, as does anything that looks like code; ``tee`` only writes to its argument.
        """
        self._words.update(run)
        for word in run if run[0] != OUTBOX[0] else ():
            place = Path(os.path.normpath(self._root / word))
            is_here = place.is_relative_to(self._root) or not Path(word).is_absolute()
            with suppress(OSError, ValueError):
                if is_here and place.is_file():
                    self._named.add(os.path.relpath(place, self._root))
                    return

    def _judges(self, path: str) -> bool:
        if not path.endswith(".py"):
            return False
        if PurePosixPath(path).name == _EVALUATOR:
            return True
        try:
            return _JUDGES.search(file_bytes(self._root / path)) is not None
        except (OSError, ValueError):
            return False


def _checks_in(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield name and command of each check in a skill's file; a file that fails to load runs nothing."""
    from memkit.store.yaml import YamlError, load_yaml

    try:
        text = file_bytes(path)
        # A key may be written with escapes, as "check\x73".
        data = load_yaml(text, name=path.name).data if b"checks" in text or b"\\" in text else None
    except (OSError, ValueError, YamlError):
        return
    checks = data.get("checks") if isinstance(data, dict) else None
    for check in checks if isinstance(checks, list) else ():
        if isinstance(check, dict) and isinstance(run := check.get("run"), list) and run:
            yield str(check.get("name")), [str(word) for word in run]


def _counts(root: Path, path: str, tracked: bool) -> bool:
    """Return whether code of the store could import, start or obey the file.

    Of the files tracked by git, which a pull can change, all count except texts for people and memkit's own output.
    Of the others, which are this machine's own, only those that look like code: tools leave their files where they run.
    """
    place = PurePosixPath(path)
    if path == MANIFEST or path in SCHEMA_FILES.values() or place.suffix == ".md" or place.name in _OF_GIT:
        return False
    if place.parts[0] in _WRITTEN and place.suffix in _TEXTS:
        return False
    return tracked or ("__pycache__" not in place.parts and _looks_like_code(root / path))


def _looks_like_code(path: Path) -> bool:
    if path.suffix.lower() in _CODE or path.name.lower() in _RECIPES or path.is_symlink():
        return True
    with suppress(OSError):
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return os.fstat(file.fileno()).st_mode & 0o111 != 0 or file.read(2) == b"#!"
    return True


def _listed(root: Path) -> dict[str, bool]:
    """Return the files of the store, each with whether git tracks it; what git ignores is this machine's own."""
    from memkit.store.git import Git

    git = Git(root)
    listed: dict[str, bool] = {}
    if git.is_repository():
        printed = git.run("ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard")
        for entry in filter(None, printed.split("\0")):
            path, tracked = entry[2:].rstrip("/"), not entry.startswith("?")
            inner = _walked(root, root / path) if (root / path).is_dir() and not (root / path).is_symlink() else [path]
            listed |= dict.fromkeys(inner, tracked)
    if MANIFEST not in listed:  # no repository, or one that ignores the whole store
        listed = dict.fromkeys(_walked(root, root), True)
    return listed


def _walked(root: Path, folder: Path) -> Iterator[str]:
    for name, folders, names in os.walk(folder):
        place = Path(name)
        folders[:] = [name for name in folders if name not in (".git", ".memkit", "__pycache__")]
        links = [name for name in folders if (place / name).is_symlink()]
        yield from ((place / name).relative_to(root).as_posix() for name in (*names, *links))


def _content_digest(path: Path) -> str:
    try:
        if path.is_symlink():
            return _digest(["link", str(path.readlink())])
        if path.exists() and not path.is_file():
            return "special"  # reading a pipe would never end
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return "gone"
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be read, and trust depends on it: {error.strerror}.") from error


def _digest(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
