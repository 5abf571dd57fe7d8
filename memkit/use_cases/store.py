"""Make a store, set up its git, change a setting."""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memkit import __version__
from memkit.errors import EnvironmentFault, UsageError
from memkit.privacy.sealer import MISSING, has_cryptography
from memkit.resources import resource
from memkit.runtime.memory.log.files import MACHINE, require_private, whole_file
from memkit.store.config import DEFAULTS
from memkit.store.files import write_whole
from memkit.store.git import Git, require_untracked
from memkit.store.git_process import ATTRIBUTES, own_programs
from memkit.store.layout import MANIFEST, require_writable_inside, schema_files
from memkit.store.manifest import change_manifest
from memkit.store.scalars import resolve_plain
from memkit.terminal import one_line
from memkit.use_cases.models import refuse_unknown_choice
from memkit.workspace import Workspace

# Make a store: starter files, a git repository and a first commit.

_STARTERS = ("skills", "policies", "domains")
_EMPTY = ("archive", "outputs")
IGNORE = ".gitignore"
_MACHINE_LINE = f"/{MACHINE}/"
_ABOUT_MACHINE = re.compile(rf"!?/?(\*\*/)?{re.escape(MACHINE)}(/(\*\*?)?)?\s*")


@dataclass(frozen=True)
class NewStore:
    """What ``make_store`` did."""

    root: Path
    added: tuple[str, ...]
    """Paths relative to the root."""
    kept: tuple[str, ...]
    """Paths that were there already and were not touched."""
    commit: str | None
    ignored: str | None
    """The line that ``.gitignore`` gained, None where it ignored the machine's folder already."""


def make_store(folder: Path, *, name: str | None = None, adopt: bool = False) -> NewStore:
    """Make a store in ``folder`` and commit it; with ``adopt`` add to an existing project only what is absent.

    Everything is checked before anything is written, and a failed run leaves the folder as it was.

    Raises:
        UsageError: The folder is a store already, is not empty, or lies inside another repository.
        EnvironmentFault: No git, no git identity, or the folder cannot be written.
    """
    root = folder.expanduser().absolute()
    if ".." in root.parts:  # "../new" lies in no parent of what stands before the dots
        root = root.resolve()
    _refuse_unless_free(root, adopt=adopt)
    made = _missing_folders(root)
    added: list[str] = []
    own_repository, ignoring = False, None
    try:
        root.mkdir(parents=True, exist_ok=True)
        git = Git(root)
        outer = git.top()
        if outer is not None and outer.resolve() != root.resolve() and not adopt:
            raise UsageError(
                f"{folder} lies inside the git repository {outer}. "
                "Use --adopt to make the store a part of it, or another folder."
            )
        git.require_identity()
        require_private(root)
        wanted = starter_files(name or root.name or "memory")
        kept = tuple(path for path in wanted if os.path.lexists(root / path))
        added += [path for path in wanted if path not in kept]
        for path in added:
            require_writable_inside(root, root / path)
        if outer is not None:
            require_untracked(root)
        ignoring = Ignoring.of(root, git if outer else None) if IGNORE in kept else None
        _write_all(root, {path: wanted[path] for path in added})
        if ignoring:
            ignoring.write()
        if outer is None:
            own_repository = True
            git.init()
        commit = git.commit("Make the store", [*added, *(ignoring.committed if ignoring else ())]) if added else None
    except BaseException as error:
        if ignoring:
            ignoring.undo()
        _undo(root, added, made, new_git=own_repository)
        if isinstance(error, OSError):
            raise EnvironmentFault(f"{folder} cannot be written: {error.strerror or error}.") from error
        raise
    return NewStore(root, tuple(added), kept, commit, _MACHINE_LINE if ignoring else None)


@dataclass(frozen=True)
class Ignoring:
    """The ``.gitignore`` of a project that is adopted, which lacks the machine's folder."""

    path: Path
    before: bytes
    committed: tuple[str, ...]
    """The file, where committing it commits nothing else that a person changed in it."""

    @classmethod
    def of(cls, root: Path, git: Git | None) -> Ignoring | None:
        """Return what is to be written, None where the machine's folder is ignored already.

        Raises:
            StoreFault: It is a link out of the project.
            OSError: It cannot be read, or is no file.
        """
        path = root / IGNORE
        require_writable_inside(root, path)
        before = whole_file(path.resolve())
        said = [line for line in before.decode("utf-8", "replace").splitlines() if _ABOUT_MACHINE.fullmatch(line)]
        if said and not said[-1].startswith("!"):
            return None
        return cls(path, before, (IGNORE,) if git and not git.status(IGNORE) else ())

    def write(self) -> None:
        """Add the line, with the line ends that the file has."""
        end = b"\r\n" if b"\r\n" in self.before else b"\n"
        gap = b"" if not self.before or self.before.endswith(b"\n") else end
        write_whole(self.path.resolve(), self.before + gap + _MACHINE_LINE.encode() + end)

    def undo(self) -> None:
        """Put back what was there."""
        write_whole(self.path.resolve(), self.before)


def starter_files(name: str) -> dict[str, bytes]:
    """Return the content of every file of a new store by its path relative to the root."""
    files = _rendered(name)
    for folder in _STARTERS:
        for path in sorted(resource(folder).glob("*.yaml")):
            files[f"{folder}/{path.name}"] = path.read_bytes()
    for path in sorted(resource("policies").glob("tests/*.csv")):
        files[f"policies/tests/{path.name}"] = path.read_bytes()
    for folder in _EMPTY:
        files[f"{folder}/.gitkeep"] = b""
    files |= schema_files()
    # Last, because it makes the folder a store: whoever is killed before that can run init again with --adopt.
    manifest = files.pop(MANIFEST)
    return files | {MANIFEST: manifest}


def _refuse_unless_free(root: Path, *, adopt: bool) -> None:
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root} is a file; a store is a folder.")
    if (root / MANIFEST).exists():
        raise UsageError(f"{root} is a store already (it has {MANIFEST}). Nothing was changed.")
    if root.is_dir() and not adopt and any(path.name != ".git" for path in root.iterdir()):
        raise UsageError(
            f"{root} is not empty. Use --adopt to add only what is absent, or another folder. Nothing was changed."
        )


def _rendered(name: str) -> dict[str, bytes]:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = resource("store")
    environment = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # YAML and Markdown: each value goes through its own quoting filter
    )
    environment.filters |= {"quoted": _quoted, "line": one_line}
    values = {"name": name, "persona": DEFAULTS["persona"], "version": __version__}
    files: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*.jinja")):
        relative = path.relative_to(folder).as_posix()
        files[relative.removesuffix(".jinja")] = environment.get_template(relative).render(values).encode()
    return files


def _quoted(text: str) -> str:
    """Return ``text`` as a double-quoted YAML scalar; JSON's strings are YAML's, but for the delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f")


def _write_all(root: Path, files: Mapping[str, bytes]) -> None:
    """Write the files completely beside their places first, so that a full disk leaves nothing half-written."""
    with tempfile.TemporaryDirectory(prefix=".memkit-init-", dir=root) as scratch:
        for path, content in files.items():
            place = Path(scratch) / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        for path in files:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(scratch) / path).rename(root / path)


def _missing_folders(root: Path) -> list[Path]:
    return [folder for folder in (root, *root.parents) if not folder.exists()]


def _undo(root: Path, added: list[str], made: list[Path], *, new_git: bool) -> None:
    """Take back what this run created; what was there before is not touched."""
    for path in added:
        (root / path).unlink(missing_ok=True)
    inner = {folder for path in added for folder in (root / path).parents if root in folder.parents}
    for folder in sorted(inner, reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    if new_git:
        shutil.rmtree(root / ".git", ignore_errors=True)
    for folder in made:
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


# Tell git how to merge shards and how to show them, or take that back.

_TITLE = "# memkit git setup: how this clone merges and shows shards"


@dataclass(frozen=True)
class GitChange:
    """One thing that is written, or would be."""

    file: str
    action: str
    """set | unset | add | remove"""
    entry: str


def set_up_git(root: Path, *, remove: bool = False, dry_run: bool = False) -> list[GitChange]:
    """Write the merge and text drivers of this clone, or with ``remove`` take them back; return what was changed.

    Everything lies in the repository's own ``.git``: ``config`` names the programs, and ``info/attributes`` gives them
    the shards. Nothing that is committed changes, and clones without the drivers merge by the line.

    Raises:
        EnvironmentFault: The store lies in no repository, or its ``.git`` cannot be written.
    """
    git = Git(root)
    if not git.is_repository():
        raise EnvironmentFault(f"{root} lies in no git repository. Run 'git init' there first.")
    prefix = git.run("rev-parse", "--show-prefix").removesuffix("\n")
    config = _config(git, prefix, remove=remove, dry_run=dry_run)
    return config + _attributes(git, prefix, remove=remove, dry_run=dry_run)


def _config(git: Git, prefix: str, *, remove: bool, dry_run: bool) -> list[GitChange]:
    changes = []
    for key, value in own_programs(prefix or ".").items():
        present = git.run("config", "--local", "--get-all", key, check=False).splitlines()
        if remove and present:
            changes.append(GitChange(".git/config", "unset", key))
        elif not remove and present != [value]:
            changes.append(GitChange(".git/config", "set", f"{key} = {value}"))
        else:
            continue
        if not dry_run:
            git.run("config", "--local", *(["--unset-all", key] if remove else ["--replace-all", key, value]))
    return changes


def _attributes(git: Git, prefix: str, *, remove: bool, dry_run: bool) -> list[GitChange]:
    path = git.root / git.run("rev-parse", "--git-path", "info/attributes").removesuffix("\n")
    rule = f"{_pattern(prefix)} {ATTRIBUTES}"
    before = path.read_bytes() if path.is_file() else b""
    ours = f"{_TITLE}\n{rule}\n".encode()
    if remove == (ours not in before):
        return []
    if not dry_run:
        gap = b"\n" if before and not before.endswith(b"\n") else b""
        after = before.replace(ours, b"") if remove else before + gap + ours
        if after:
            write_whole(path, after)
        else:
            path.unlink()
    return [GitChange(".git/info/attributes", "remove" if remove else "add", rule)]


def _pattern(prefix: str) -> str:
    """Return the pattern of the shards of a store that lies at ``prefix`` in its repository, as git reads it."""
    pattern = re.sub(r"([\\*?\[\]])", r"\\\1", prefix) + "archive/**/*.jsonl"
    if not re.search(r'[\s"\\]', pattern) and pattern[0] not in "#!":
        return pattern
    quoted = pattern.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\n", "\\n")
    return f'"{quoted}"'


# Change one setting of a store in ``memkit.yaml``.


@dataclass(frozen=True)
class SettingChange:
    """What became of a setting."""

    before: Any
    after: Any
    commit: str | None
    missing: str = ""
    """What has to be installed here before the setting works."""


def change_setting(workspace: Workspace, key: str, text: str) -> SettingChange:
    """Set the dotted ``key`` to ``text``, read as YAML 1.2 reads a plain scalar, and commit the file.

    The file keeps its comments and its order; it is replaced only by one that passes the schema.

    Raises:
        UsageError: There is no such setting, or the value does not fit it.
    """
    settings = {item.key: item.value for item in workspace.settings if _changeable(item.key, item.value)}
    if key not in settings:
        near = difflib.get_close_matches(key, settings, n=1)
        advice = f"Did you mean {near[0]!r}?" if near else "'memkit config show' lists them."
        raise UsageError(f"{key!r} is no setting with one value. {advice}")
    try:
        before, after = settings[key], resolve_plain(text)
    except ValueError as error:
        raise UsageError(f"{key} cannot be {text!r:.60}: {error}") from None
    refuse_unknown_choice(workspace, key, after)
    commit = change_manifest(workspace.root, {key: after}, f"Set {key}")
    return SettingChange(
        before, after, commit, MISSING if (key, after) == ("privacy.seal", "user") and not has_cryptography() else ""
    )


def _changeable(key: str, value: Any) -> bool:
    """Return whether a person sets it with one value; the format is what memkit makes of the files."""
    return key != "format" and not isinstance(value, list | dict)
