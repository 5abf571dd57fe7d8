"""The repository around a store: its properties, and the obstacles to rewriting it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from memkit.errors import EnvironmentFault
from memkit.privacy.scan import repositories_below
from memkit.store.git_process import Plumbing

_IN_PROGRESS = {
    "MERGE_HEAD": "A merge", "CHERRY_PICK_HEAD": "A cherry-pick", "REVERT_HEAD": "A revert", "sequencer": "A sequence",
    "rebase-merge": "A rebase", "rebase-apply": "A rebase", "BISECT_LOG": "A bisection",
}  # fmt: skip
_STASH = "refs/stash"
_REFLOG_LINE = re.compile(r"[0-9a-f]+ (?P<new>[0-9a-f]+) [^\t\n]*(?:\t(?P<message>.*))?")
_CREDENTIALS = re.compile(r"(?<=://)[^/@]+@")


@dataclass(frozen=True)
class IndexEntry:
    """One staged file."""

    mode: str
    id: str
    path: str
    flag: str
    """As ``git ls-files -v`` prints it: lower case is assumed unchanged, ``S`` is left out of the work tree."""


@dataclass(frozen=True)
class Repository:
    """A repository with its work tree."""

    top: Path
    """The root of the work tree."""
    folder: Path
    """``.git``"""

    @cached_property
    def git(self) -> Plumbing:
        """Return its plumbing, which asks once which programs its settings name."""
        return Plumbing(self.folder)

    def require_erasable(self) -> None:
        """Raise ``EnvironmentFault`` if rewriting the history would keep, lose or break anything."""
        for reason in (*self._reasons_of_place(), *self._reasons_of_state()):
            raise EnvironmentFault(f"{reason} Nothing was changed.")

    def refs(self) -> dict[str, str]:
        """Return every ref and the object it points at, without symbolic ones and the stash."""
        printed = self.git.run("for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)").decode(
            "utf-8", "surrogateescape"
        )
        rows = (line.split("\0") for line in printed.splitlines())
        return {name: id for name, id, symbolic in rows if not symbolic and name != _STASH}

    def symbolic_refs(self) -> dict[str, str]:
        """Return the refs that refer to another one, such as a remote's HEAD."""
        printed = self.git.run("for-each-ref", "--format=%(refname)%00%(symref)").decode("utf-8", "surrogateescape")
        rows = (line.split("\0") for line in printed.splitlines())
        return {name: target for name, target in rows if target}

    def head(self) -> tuple[str | None, str | None]:
        """Return the checked-out branch's ref (None when detached) and the commit (None before the first)."""
        branch = self.git.run("symbolic-ref", "-q", "HEAD", check=False).decode("utf-8", "surrogateescape").strip()
        commit = self.git.run("rev-parse", "-q", "--verify", "HEAD^{commit}", check=False).decode().strip()
        return branch or None, commit or None

    def stash(self) -> list[tuple[str, str]]:
        """Return commit and message of every stash entry, oldest first; all but the newest are in a reflog."""
        try:
            lines = (self.folder / "logs" / _STASH).read_text("utf-8", "surrogateescape").splitlines()
        except FileNotFoundError:
            newest = self.git.run("rev-parse", "-q", "--verify", _STASH, check=False).decode().strip()
            return [(newest, "")] if newest else []
        found = (_REFLOG_LINE.fullmatch(line) for line in lines)
        return [(match["new"], match["message"] or "") for match in found if match]

    def index(self) -> list[IndexEntry]:
        """Return the staged entries."""
        flags = {}
        for line in self._listed("ls-files", "-v", "-z"):
            flags[line[2:]] = line[0]
        entries = []
        for line in self._listed("ls-files", "-s", "-z"):
            head, _, path = line.partition("\t")
            mode, id, _stage = head.split()
            entries.append(IndexEntry(mode, id, path, flags.get(path, "H")))
        return entries

    def commits(self, roots: list[str]) -> list[str]:
        """Return every commit reachable from ``roots``, parents first."""
        given = "".join(f"{root}\n" for root in roots).encode()
        return self.git.run("rev-list", "--topo-order", "--reverse", "--stdin", given=given).decode().split()

    def commit_count(self) -> int:
        """Return how many commits the refs reach."""
        return int(self.git.run("rev-list", "--all", "--count").decode())

    def version(self) -> str:
        """Return git's version."""
        return self.git.run("--version").decode().strip().removeprefix("git version ")

    def remotes(self) -> dict[str, str]:
        """Return the remotes with their addresses, without credentials."""
        printed = self.git.run("config", "--local", "-z", "--get-regexp", r"^remote\..*\.url$", check=False)
        found = {}
        for entry in printed.decode("utf-8", "replace").split("\0"):
            key, _, url = entry.partition("\n")
            if key:
                found[key.removeprefix("remote.").removesuffix(".url")] = _CREDENTIALS.sub("", url)
        return found

    def elsewhere(self) -> list[str]:
        """Return the parts of the repository that are not its objects: other repositories, large files."""
        inside = [f"the repository {path.relative_to(self.top)}" for path in repositories_below(self.top)]
        if any((self.folder / "modules").glob("*")) and not inside:
            inside.append("the submodules in .git/modules")
        if any((self.folder / "lfs" / "objects").rglob("*")):
            inside.append("the large files in .git/lfs")
        return inside

    def algorithm(self) -> str:
        """Return the digest algorithm of the object ids."""
        return self.git.run("rev-parse", "--show-object-format").decode().strip()

    def _listed(self, *arguments: str) -> list[str]:
        # From the root of the work tree: elsewhere git lists only what is below.
        printed = self.git.run("-C", str(self.top), "--work-tree", str(self.top), *arguments)
        return list(filter(None, printed.decode("utf-8", "surrogateescape").split("\0")))

    def _setting(self, key: str) -> str:
        return self.git.run("config", "--local", "--get", key, check=False).decode("utf-8", "replace").strip()

    def _reasons_of_place(self) -> list[str]:
        found = []
        if any((self.folder / "worktrees").glob("*")):
            found.append(
                "There are linked worktrees, each with its own index and history that could keep the text. Remove "
                "them ('git worktree list', 'git worktree remove PATH', 'git worktree prune')."
            )
        if any((self.folder / "objects" / "info" / name).exists() for name in ("alternates", "http-alternates")):
            found.append(
                "The repository borrows objects from another one (alternates). Copy them first: "
                "'git repack -a -d' and delete .git/objects/info/alternates."
            )
        if (self.folder / "shallow").exists():
            found.append("The clone is shallow: the history it lacks cannot be cleaned. Run 'git fetch --unshallow'.")
        promised = self.git.run("config", "--local", "--get-regexp", r"^remote\..*\.promisor$", check=False)
        if promised or self._setting("extensions.partialClone") or any(self.folder.glob("objects/pack/*.promisor")):
            found.append("The clone is partial: objects it lacks cannot be cleaned. Use a full clone.")
        if self._setting("core.worktree"):
            found.append("core.worktree is set, so the repository's files are elsewhere. Unset it.")
        if self._setting("extensions.refStorage") not in ("", "files"):
            found.append("The refs are not stored as files (extensions.refStorage). Migrate them: 'git refs migrate'.")
        if (self.folder / "info" / "grafts").exists():
            found.append("Grafts alter the history (.git/info/grafts). Remove them.")
        return found

    def _reasons_of_state(self) -> list[str]:
        found = [f"{what} is in progress. Finish or abort it first." for name, what in _IN_PROGRESS.items()
                 if (self.folder / name).exists()]  # fmt: skip
        locks = [path.name for path in self.folder.glob("*.lock")]
        if locks:
            found.append(
                f"Another git process is running here, or left {locks[0]} behind. Wait for it, or delete the file."
            )
        elif not found and self._listed("ls-files", "-u", "-z"):
            found.append("Files are unmerged. Resolve the conflict and stage them first.")
        return found


def repository_of(store: Path) -> Repository | None:
    """Return the repository that contains a store, or None; raise ``EnvironmentFault`` for a linked worktree."""
    for folder in (store, *store.parents):
        dot_git = folder / ".git"
        if dot_git.is_dir() and not dot_git.is_symlink():
            return Repository(folder, dot_git)
        if dot_git.exists() or dot_git.is_symlink():
            raise EnvironmentFault(
                f"{dot_git} is not a folder: {folder} is a linked worktree or a submodule, whose history is "
                "elsewhere. Erase in the main repository. Nothing was changed."
            )
    return None
