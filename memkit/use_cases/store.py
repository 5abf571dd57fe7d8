"""Create a store, set up its git, change a setting."""

from __future__ import annotations

import difflib
import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memkit import __version__
from memkit.domains.files import DOMAIN
from memkit.errors import EnvironmentFault, UsageError
from memkit.generate.runtime_wheel import OWN_DISTRIBUTION, Installation, installation
from memkit.policies.files import POLICY
from memkit.privacy.sealer import MISSING, has_cryptography
from memkit.resources import resource
from memkit.runtime.host.terminal import listed, one_line, shell_word
from memkit.runtime.memory.log.clone import require_private, whole_file
from memkit.skills.skill import SKILL
from memkit.store.adoption import (
    HOOKS,
    IGNORE,
    Addition,
    left_for_a_person,
    paths_to_keep,
    with_attributes,
    with_hook,
    with_ignored,
)
from memkit.store.config import DEFAULTS, flat, read_manifest
from memkit.store.files import write_whole
from memkit.store.git import Git, require_untracked
from memkit.store.git_process import ATTRIBUTES, own_programs
from memkit.store.layout import MANIFEST, require_writable_inside, schema_files
from memkit.store.manifest import change_manifest
from memkit.store.yaml import YamlError, load_yaml, resolve_plain
from memkit.use_cases.models import refuse_unknown_choice
from memkit.workspace import Workspace

# Create a store: starter files, a git repository and a first commit.

_STARTERS = ("skills", "policies", "domains")
_EMPTY = ("archive", "outputs")
INSTALL = "MEMKIT_INSTALL"
"""The variable that names how to install memkit elsewhere, if not from where it was installed here."""


@dataclass(frozen=True)
class NewStore:
    """What ``make_store`` did, or would do."""

    root: Path
    added: tuple[str, ...]
    """Paths relative to the root."""
    kept: tuple[str, ...]
    """Paths that existed already and were not touched."""
    changed: tuple[Addition, ...]
    """Files of the project that gained lines."""
    uncommitted: tuple[str, ...]
    """Those of them with a person's uncommitted changes, which are left to that person to commit."""
    notes: tuple[str, ...]
    """Remarks for the person."""
    commit: str | None = None


def make_store(
    folder: Path,
    *,
    name: str | None = None,
    adopt: bool = False,
    dry_run: bool = False,
    install: str | None = None,
) -> NewStore:
    """Create a store in ``folder`` and commit it; with ``adopt`` add to an existing project only what is missing.

    Everything is checked before anything is written, and a failed run leaves the folder as it was.

    Args:
        folder: The store's folder; created if missing.
        name: The store's name; by default the folder's.
        adopt: Whether the folder may already hold files, or be in another repository.
        dry_run: Whether only to return what would be done.
        install: How the workflow and the hook install memkit; by default from where it was installed here.

    Raises:
        UsageError: The folder is a store already, is not empty, or is inside another repository.
        EnvironmentFault: No git, no git identity, or the folder cannot be written.
    """
    root = folder.expanduser().absolute()
    if ".." in root.parts:  # "../new" is not in a parent of the part before the dots
        root = root.resolve()
    _refuse_unless_free(root, adopt=adopt)
    existing = next(path for path in (root, *root.parents) if path.is_dir())
    git = Git(existing)
    outer = git.top()
    if outer is not None and outer.resolve() != root.resolve() and not adopt:
        beside = outer.resolve().parent / (root.name or "memory")
        while beside.exists():  # a folder named like its repository would be offered the repository itself
            beside = beside.with_name(f"{beside.name}-memory")
        raise UsageError(
            f"{folder} is inside the git repository {outer}. Use --adopt to make the store part of it, or a folder "
            f"outside: memkit init {shell_word(os.path.relpath(beside))}"
        )
    place = "." if outer is None else os.path.relpath(root.resolve(), outer.resolve())
    root = root if place == "." else root.resolve()
    wanted = store_files(name or root.name or "memory", installation(install or os.environ.get(INSTALL)), place)
    plan = _planned(root, wanted, git if outer else None)
    if dry_run:
        return plan
    made: list[Path] = []
    done: list[Addition] = []
    added: tuple[str, ...] = ()
    with ExitStack() as held:
        try:
            made += _make_folder(root)
            held.enter_context(_alone_in(root))
            _refuse_unless_free(root, adopt=adopt)  # another process may have been faster, and its files are not ours
            added, git = plan.added, Git(root)
            git.require_identity()
            if outer is not None:
                git.require_quiet()
                require_untracked(git)
            require_private(root)
            _write_all(root, {path: wanted[path] for path in plan.added}, made)
            for change in plan.changed:
                done.append(change)
                write_whole(_at(root, change.path).resolve(), change.after)
            if outer is None:
                made.append(root / ".git")
                git.init()
            changed = [change.path for change in plan.changed if change.path not in plan.uncommitted]
            paths = [*plan.added, *changed]
            return replace(plan, commit=git.commit("Make the store", paths) if paths else None)
        except BaseException as error:
            for change in done:
                write_whole(_at(root, change.path).resolve(), change.before)
            _undo(root, added, made)
            if isinstance(error, OSError):
                raise EnvironmentFault(f"{folder} cannot be written: {error.strerror or error}.") from error
            raise


def _planned(root: Path, wanted: Mapping[str, bytes], git: Git | None) -> NewStore:
    """Return the plan before anything is done; ``git`` is the repository that the store becomes part of.

    Raises:
        UsageError: A file of the project, or another repository, is where the store needs a folder.
        StoreFault: A file is a link out of the project.
    """
    for path in wanted:
        _require_place(root, path)
    kept = [path for path in wanted if os.path.lexists(_at(root, path))]
    ignored = _ignored(root, [path for path in wanted if path not in kept], git)
    above = [path for path in ignored if path.startswith("../") or path == "outputs/.gitkeep"]
    added = [path for path in wanted if path not in {*kept, *above}]
    notes = [f"Left out, because git ignores it: {path}" for path in above]
    changes = []
    keep = paths_to_keep(path for path in ignored if path not in above)
    for path in kept if not keep or IGNORE in kept else (IGNORE, *kept):
        before = whole_file(_at(root, path).resolve()) if path in kept else wanted[path]
        ours = wanted[path].decode("utf-8", "replace")
        after = _with_ours(path, before, ours, keep)
        if after is None:
            notes.append(left_for_a_person(path, ours))
        elif after != before:
            changes.append(Addition(path, before, after))
    changed = {change.path for change in changes}
    notes += _foreign(root)
    uncommitted = [path for path in changed.intersection(kept) if git is None or git.status(path)]
    still = [path for path in kept if path not in changed]
    return NewStore(root, tuple(added), tuple(still), tuple(changes), tuple(sorted(uncommitted)), tuple(notes))


def _with_ours(path: str, before: bytes, ours: str, keep: Sequence[str]) -> bytes | None:
    """Return an existing file with the store's lines added; None if their place cannot be determined."""
    lines = [line for line in ours.splitlines() if line and not line.startswith("#")]
    match path.rpartition("/")[2]:
        case ".gitignore":
            return with_ignored(before, lines, keep)
        case ".gitattributes":
            return with_attributes(before, lines)
        case ".pre-commit-config.yaml":
            return with_hook(before, ours)
    return before


def _at(root: Path, path: str) -> Path:
    """Return the path of a store's file; what belongs to the whole repository is above the store."""
    return Path(os.path.normpath(root / path))


def _require_place(root: Path, path: str) -> None:
    place = _at(root, path)
    base = Path(os.path.commonpath([root, place]))
    require_writable_inside(base, place)
    for parent in place.parents:
        if base not in parent.parents or not os.path.lexists(parent):
            continue
        if os.path.lexists(parent / ".git"):
            raise UsageError(f"{parent} is another repository, but a store keeps files there. Nothing was changed.")
        if not parent.is_dir():
            raise UsageError(f"{parent} is a file, but a store needs a folder there. Nothing was changed.")


def _ignored(root: Path, paths: Sequence[str], git: Git | None) -> list[str]:
    """Return which of ``paths``, and of the files that memory will add, git currently ignores.

    Raises:
        UsageError: It ignores the folder itself.
    """
    if not root.is_dir():
        return []
    asked = [*paths, "archive/2026-01/writer.jsonl"]
    words = ["check-ignore", "--no-index", "-z", "--stdin"]
    with tempfile.TemporaryDirectory() as scratch:
        if git is None:
            Git(Path(scratch)).init()
            words = ["--git-dir", f"{scratch}/.git", "--work-tree", str(root), *words]
        elif (top := git.top() or root) != root and Git(top).run(
            "check-ignore", "--no-index", "--", str(root), check=False
        ):
            raise UsageError(
                f"Git ignores {root}, so no file of a store would be tracked. 'git check-ignore -v {root}' says why."
            )
        found = Git(root).feed("".join(f"{path}\0" for path in asked).encode(), *words, check=False)
    return [path for path in found.decode("utf-8", "surrogateescape").split("\0") if path]


def _foreign(root: Path) -> Iterator[str]:
    """Yield messages about files that are where the store's belong but are not the store's: their kind fails."""
    for kind in (SKILL, POLICY, DOMAIN):
        strange = []
        for path in sorted((root / kind.folder).glob("*.yaml")):
            try:
                document = load_yaml(path, name=path.name)
                strange += [path.name] if kind.findings(document, path.stem) else []
            except YamlError:
                strange.append(path.name)
        if strange:
            yield (
                f"{kind.folder}/ contains files that are not a {kind.noun}: {', '.join(strange[:5])}. memkit reads "
                "that folder as its own; 'memkit lint' says what is wrong. Another folder, such as agent/, can be the "
                "store instead."
            )


def store_files(name: str, installed: Installation, place: str = ".") -> dict[str, bytes]:
    """Return the content of every file of a new store by its path relative to the root.

    Args:
        name: The store's name.
        installed: How its workflow and its hook install memkit.
        place: The store's path in its repository.
    """
    prefix = "" if place == "." else place
    slug = re.sub(r"[^A-Za-z0-9]+", "-", prefix).strip("-")
    id = f"memkit-{slug}" if prefix else "memkit"
    beside = ".github/memkit"
    requirement = f"./{beside}/{installed.requirement}" if installed.files else installed.requirement
    files = _rendered(
        {
            "name": name, "persona": DEFAULTS["persona"], "id": id, "prefix": prefix,
            "pattern": re.escape(f"{prefix}/") if prefix else "", "requirement": requirement, "note": installed.note,
            "is_named": installed.is_named,
        }
    )  # fmt: skip
    files |= {f"{beside}/{file}": content for file, content in installed.files.items()}
    files |= _starters()
    if prefix:
        up = "../" * (prefix.count("/") + 1)
        files = {(up if path.startswith(".github/") or path == HOOKS else "") + path: files[path] for path in files}
        files[f"{up}.github/workflows/{id}.yml"] = files.pop(f"{up}.github/workflows/memkit.yml")
    # Last, because it makes the folder a store: after a kill, init can run again with --adopt.
    manifest = files.pop(MANIFEST)
    return files | {MANIFEST: manifest}


def starter_files(name: str) -> dict[str, bytes]:
    """Return the content of every file of a new store that would install memkit from an index."""
    return store_files(name, Installation(f"{OWN_DISTRIBUTION}=={__version__}"))


def _starters() -> dict[str, bytes]:
    files = {
        f"{folder}/{path.name}": path.read_bytes()
        for folder in _STARTERS
        for path in sorted(resource(folder).glob("*.yaml"))
    }
    files |= {f"policies/tests/{path.name}": path.read_bytes() for path in resource("policies").glob("tests/*.csv")}
    return files | {f"{folder}/.gitkeep": b"" for folder in _EMPTY} | schema_files()


def _refuse_unless_free(root: Path, *, adopt: bool) -> None:
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root} is a file; a store is a folder.")
    if (root / MANIFEST).exists():
        raise UsageError(f"{root} is already a store (it has {MANIFEST}). Nothing was changed.")
    for place in (root, *root.parents):
        if (place / "HEAD").is_file() and (place / "objects").is_dir() and (place / "refs").is_dir():
            raise UsageError(f"{place} is git's own folder, without the project's files. Clone it, and adopt that.")
    if root.is_dir() and not adopt and any(path.name != ".git" for path in root.iterdir()):
        raise UsageError(
            f"{root} is not empty. Use --adopt to add only what is absent, or another folder. Nothing was changed."
        )


def _rendered(values: Mapping[str, Any]) -> dict[str, bytes]:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = resource("store")
    environment = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # YAML and Markdown: each value goes through its own quoting filter
    )
    environment.filters |= {"quoted": _quoted, "line": one_line}
    files: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*.jinja")):
        relative = path.relative_to(folder).as_posix()
        files[relative.removesuffix(".jinja")] = environment.get_template(relative).render(values).encode()
    return files


def _quoted(text: str) -> str:
    """Return ``text`` as a double-quoted YAML scalar; JSON's strings are YAML's, except for the delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f")


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Lock a folder without leaving a file in it; raise ``EnvironmentFault`` if another process holds the lock."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EnvironmentFault(
                f"Another memkit is creating a store in {folder}. Try again when it is done."
            ) from None
        yield
    finally:
        os.close(descriptor)


def _make_folder(folder: Path) -> list[Path]:
    """Create a folder and its parents, and return the created ones, topmost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()][::-1]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _write_all(root: Path, files: Mapping[str, bytes], made: list[Path]) -> None:
    """Write the files completely beside their places first, so that a full disk leaves nothing half-written."""
    with tempfile.TemporaryDirectory(prefix=".memkit-init-", dir=root) as scratch:
        for number, content in enumerate(files.values()):
            Path(scratch, str(number)).write_bytes(content)
        for number, path in enumerate(files):
            made += _make_folder(_at(root, path).parent)
            Path(scratch, str(number)).rename(_at(root, path))


def _undo(root: Path, added: Sequence[str], made: Sequence[Path]) -> None:
    """Undo what this run created; existing files are not touched."""
    for path in added:
        _at(root, path).unlink(missing_ok=True)
    for folder in reversed(made):
        if folder.name == ".git":
            shutil.rmtree(folder, ignore_errors=True)
        elif folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


# Configure how git merges and shows shards, or undo that.

_TITLE = "# memkit git setup: how this clone merges and shows shards"
_OURS = re.compile(re.escape(_TITLE.encode()) + rb"\n(?:[^\n]* merge=memkit[^\n]*\n)*")


@dataclass(frozen=True)
class GitChange:
    """One change that is made, or would be."""

    file: str
    action: str
    """set | unset | add | remove"""
    entry: str


def set_up_git(root: Path, *, remove: bool = False, dry_run: bool = False) -> list[GitChange]:
    """Write the merge and text drivers of this clone, or remove them with ``remove``; return the changes.

    Everything is in the repository's own ``.git``: ``config`` names the programs, and ``info/attributes`` assigns them
    the shards. Nothing that is committed changes, and clones without the drivers merge line by line.

    Raises:
        EnvironmentFault: The store is not in a repository, or its ``.git`` cannot be written.
    """
    git = Git(root)
    git.require_top("nothing can be set up in it")
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
    rules = [f"{_pattern(prefix, 'archive/**/*.jsonl')} {ATTRIBUTES}"]
    rules += [f"{_pattern(prefix, f'{folder}/*.yaml')} merge=memkit" for folder in _STARTERS]
    before = path.read_bytes() if path.is_file() else b""
    others = _OURS.sub(b"", before)
    if remove:
        after = others
    else:
        gap = b"\n" if others and not others.endswith(b"\n") else b""
        after = before if all(f"\n{rule}\n".encode() in before for rule in rules) else b""
        after = after or others + gap + "\n".join([_TITLE, *rules, ""]).encode()
    if after == before:
        return []
    if not dry_run:
        if after:
            write_whole(path, after)
        else:
            path.unlink()
    return [GitChange(".git/info/attributes", "remove" if remove else "add", "; ".join(rules))]


def _pattern(prefix: str, files: str) -> str:
    """Return the pattern for files of a store at ``prefix`` in its repository, in git's syntax."""
    pattern = re.sub(r"([\\*?\[\]])", r"\\\1", prefix) + files
    if not re.search(r'[\s"\\]', pattern) and pattern[0] not in "#!":
        return pattern
    quoted = pattern.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t").replace("\n", "\\n")
    return f'"{quoted}"'


# Change one setting of a store in ``memkit.yaml``.


@dataclass(frozen=True)
class SettingChange:
    """The result of changing a setting."""

    before: Any
    after: Any
    commit: str | None
    missing: str = ""
    """What has to be installed here before the setting works."""
    left: tuple[str, ...] = ()
    """Settings that only have an effect beside this one, and are still there."""


def _of_many_parts(workspace: Workspace, key: str) -> str:
    """Return advice about a setting that exists but is not a single value: a list, a mapping, or a section."""
    if key == "format":
        return "memkit sets the format: 'memkit migrate' converts a store to the current one."
    inner = [
        item.key for item in workspace.settings if item.key.startswith(f"{key}.") and _changeable(item.key, item.value)
    ]
    if inner:
        return f"{key!r} is a section. Set one of its settings: {listed(inner, most=6)}."
    return f"{key!r} has several parts and cannot be set on the command line. Write it in {MANIFEST}: {_example(key)}"


def _example(key: str) -> str:
    from memkit.store.manifest import meaning_of

    known = meaning_of(key)
    return f"{known.meaning} It takes {known.takes}." if known else "'memkit config show' says what it is."


def change_setting(workspace: Workspace, key: str, text: str) -> SettingChange:
    """Set the dotted ``key`` to ``text``, parsed as a YAML 1.2 plain scalar, and commit the file.

    The file keeps its comments and its order; it is replaced only if the result passes the schema.

    Raises:
        UsageError: There is no such setting, or the value does not fit it.
    """
    settings = {item.key: item.value for item in workspace.settings if _changeable(item.key, item.value)}
    if key not in settings:
        if any(item.key == key or item.key.startswith(f"{key}.") for item in workspace.settings):
            raise UsageError(_of_many_parts(workspace, key))
        near = difflib.get_close_matches(key, settings, n=1)
        advice = f"Did you mean {near[0]!r}?" if near else "'memkit config show' lists them."
        raise UsageError(f"{key!r} is not a setting with one value. {advice}")
    try:
        before, after = settings[key], resolve_plain(text)
    except ValueError as error:
        raise UsageError(f"{key} cannot be {text!r:.60}: {error}") from None
    refuse_unknown_choice(workspace, key, after)
    commit = change_manifest(workspace.root, {key: after}, f"Set {key}")
    return SettingChange(
        before, after, commit, MISSING if (key, after) == ("privacy.seal", "user") and not has_cryptography() else ""
    )


def unset_setting(workspace: Workspace, key: str) -> SettingChange:
    """Remove the dotted ``key`` from ``memkit.yaml``, so that its default holds, and commit the file.

    If the file does not have it, nothing is done. Comments and every other line stay.

    Raises:
        UsageError: There is no such setting, or a store requires it: its format.
    """
    known = workspace.settings.values
    if key not in known or key == "format":
        near = difflib.get_close_matches(key, known, n=1)
        advice = f"Did you mean {near[0]!r}?" if near and key not in known else "'memkit config show' lists them."
        raise UsageError(f"{key!r} is not a setting that can be unset. {advice}")
    said, default = flat(read_manifest(workspace.root)), flat(DEFAULTS).get(key)
    if key not in said:
        return SettingChange(default, default, None)
    left = tuple(name for name in ("model", "base_url", "key_variable") if key == "provider" and name in said)
    commit = change_manifest(workspace.root, {}, f"Unset {key}", unset=[key])
    return SettingChange(said[key], default, commit, left=left)


def _changeable(key: str, value: Any) -> bool:
    """Return whether a person sets it with one value; the format is memkit's own."""
    return key != "format" and not isinstance(value, list | dict)
