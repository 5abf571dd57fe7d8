"""memkit's use of git in a store; a store is untrusted input for git too, so all commands start in ``git_process``."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from threading import get_ident

from memkit.errors import EnvironmentFault, StoreFault
from memkit.runtime.memory.log.clone import MACHINE
from memkit.runtime.memory.log.shards import take
from memkit.store.git_process import EndedGit, GitLocation, GitProcess, GitSettings, KilledGit, require_alive
from memkit.store.layout import GitFolder, git_folder, head_branch, known_git_folder

DETACHED = "No branch is checked out, so the commit is lost when you switch. Keep it: git branch NAME."
_SECONDS = 60.0
_HOOK_SECONDS = 600.0
"""Hooks run whole test suites."""
_SIGNING = re.compile(r"commit\.gpgsign|user\.signingkey|gpg\..*", re.DOTALL)
_SIGNERS = {
    "gpg.format": "openpgp", "gpg.program": "gpg", "gpg.openpgp.program": "gpg", "gpg.x509.program": "gpgsm",
    "gpg.ssh.program": "ssh-keygen",
}  # fmt: skip
"""The signing programs if a person's configuration names no other."""
_LOCKED = re.compile(r"Unable to create '(?P<path>.+\.lock)': File exists")
_OWNED = re.compile(r"dubious ownership in repository at '(?P<path>.+)'")
_IN_PROGRESS = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}
"""Files in git's folder while an operation waits for a person."""


class Git:
    """One repository's git commands."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._process = GitProcess(root, self._locate)
        self._identified: GitSettings | None = None
        """The settings with which git knew who commits."""
        self._inherited: tuple[int, ...] = ()
        """Descriptors of the lock, which git holds as long as it runs."""

    def run(self, *arguments: str, check: bool = True) -> str:
        """Run ``git ARGUMENTS`` in the repository and return its output.

        Raises:
            MissingExtra: There is no git on the PATH.
            EnvironmentFault: Git failed; the message is git's own last line.
        """
        return self.feed(b"", *arguments, check=check).decode("utf-8", "surrogateescape")

    def feed(
        self, given: bytes, *arguments: str, index: Path | None = None, seconds: float = _SECONDS, check: bool = True,
        variables: Mapping[str, str] | None = None,
    ) -> bytes:  # fmt: skip
        """Run ``git ARGUMENTS`` with ``given`` on its standard input and return its output as bytes.

        Args:
            given: Git's input.
            arguments: The command; none of a user's own words may be an option.
            index: The index file to use instead of the repository's own.
            seconds: How long git may take.
            check: Whether a failure is an error; otherwise the output is empty.
            variables: Further variables of git's environment, such as ``signing``.
        """
        variables = {**(variables or {}), **({"GIT_INDEX_FILE": str(index)} if index else {})}
        return self._checked(arguments, self._ended(arguments, given, variables, seconds), check=check)

    def is_repository(self) -> bool:
        """Return whether the folder is in a git work tree."""
        return self.top() is not None

    def top(self) -> Path | None:
        """Return the root of the work tree that contains the folder, or None outside one."""
        printed = self.run("rev-parse", "--show-toplevel", check=False).strip()
        return Path(printed) if printed else None

    def require_top(self, so: str) -> Path:
        """Return the root of the work tree that contains the folder.

        Args:
            so: What cannot be without one.

        Raises:
            StoreFault: There is none.
            EnvironmentFault: Git refuses to read it, such as one of another user.
        """
        top = self.top()
        if top is None and git_folder(self.root) is not None:
            self.run("rev-parse", "--show-toplevel")
        if top is None:
            raise StoreFault(f"{self.root} is not in a git repository, so {so}. Run 'git init' there first.")
        return top

    def init(self) -> None:
        """Create a repository here, with the branch ``main``."""
        self.run("init", "--quiet", "--template=", "--initial-branch=main")

    def require_identity(self) -> None:
        """Raise ``EnvironmentFault`` unless git knows who commits; git's guess from the host name is no identity."""
        if (settings := self._process.settings()) is self._identified:
            return
        for identity in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            if not self.run("-c", "user.useConfigOnly=true", "var", identity, check=False):
                self.run("config", "--list")  # a damaged setting is another reason
                raise EnvironmentFault(
                    "Git does not know who you are, so nothing can be committed. Run: "
                    'git config --global user.name "Your Name" && git config --global user.email you@example.org'
                )
        self._identified = settings

    def in_progress(self) -> str | None:
        """Return git's operation in progress, such as ``merge``, or None if there is none."""
        asked = [word for mark in _IN_PROGRESS for word in ("--git-path", mark)]
        places = self.run("rev-parse", *asked).splitlines()
        for place, work in zip(places, _IN_PROGRESS.values(), strict=True):
            if os.path.lexists(self.root / place):
                return work
        return None

    def require_quiet(self) -> None:
        """Raise ``EnvironmentFault`` in the middle of a merge, a rebase or the like, which a commit would disturb."""
        work = self.in_progress()
        if work is not None:
            raise EnvironmentFault(f"A {work} is in progress in {self.root}. Finish or abort it first.")

    def status(self, *paths: str) -> str:
        """Return ``git status --porcelain`` for paths; a repository inside the store is not inspected.

        Git would inspect it with a second git, without the overriding settings used here.
        """
        return self.run("status", "--porcelain", "--ignore-submodules=all", "--", *paths)

    def commit(self, message: str, paths: Sequence[str], *, hooks: bool = False) -> str | None:
        """Commit exactly ``paths`` (relative to the root) and return the commit's id, or None if nothing changed.

        Other staged changes stay staged. Waiting callers are committed together: a caller whose changes were written
        before a commit of the same paths began has nothing left to do.

        Only for what people write, in a store that they trust, the ``hooks`` of the repository run.
        """
        asked = time.monotonic_ns()
        with self._writing() as folder:
            if folder is not None and not hooks and _began_last(folder, paths) > asked:
                return None
            if folder is None:
                self.require_top("nothing can be committed")
            self.require_identity()
            self._require_no_repository(paths)
            began = time.monotonic_ns()
            present = [path for path in paths if (self.root / path).exists()]
            if present:
                self.run("add", "--", *present)
            if not self.status(*paths):
                return None
            # A message can be longer than an argument may be.
            words = ["commit", "--quiet", "--only", *([] if hooks else ["--no-verify"]), "--file=-", "--", *paths]
            seconds = _HOOK_SECONDS if hooks else _SECONDS
            ended = self._ended(words, message.encode(), self.signing(), seconds, hooks=hooks)
            if ended.status > 0:
                self.require_quiet()  # git commits no part of what a merge brings
            self._checked(words, ended)
            if folder is not None:
                _note_commit(folder, paths, began)
            return self.run("rev-parse", "--verify", "HEAD").strip()

    def signing(self) -> dict[str, str]:
        """Return the variables that let git sign, if the person's own configuration asks for signed commits.

        The repository's configuration can name neither the program nor the key.
        """
        own = {key: value for key, value in self._process.settings().own.items() if _SIGNING.fullmatch(key)}
        if own.get("commit.gpgsign", "").lower() not in ("true", "yes", "on", "1"):
            return {}
        # A value may contain anything; git parses these as a shell would.
        settings = {**_SIGNERS, **own}
        quoted = (f"{_quoted(key)}={_quoted(value)}" for key, value in settings.items())
        return {"GIT_CONFIG_PARAMETERS": " ".join(quoted)}

    def named_hooks(self) -> str:
        """Return the scope and the value of ``core.hooksPath`` with a tab between; empty if it is not set."""
        words = ["config", "--show-scope", "--type=path", "--get", "core.hooksPath"]
        ended = self._ended(words, b"", {}, _SECONDS, hooks=True)
        return ended.output.decode("utf-8", "surrogateescape").removesuffix("\n") if ended.status == 0 else ""

    def _require_no_repository(self, paths: Sequence[str]) -> None:
        """Raise ``EnvironmentFault`` if another repository is inside what is to be committed.

        To detect its changes, git would start a second git in it, with settings that nobody has checked.
        """
        for path in paths:
            for parent, folders, files in os.walk(self.root / path):
                if ".git" in folders or ".git" in files:
                    raise EnvironmentFault(
                        f"{parent} is another repository inside {path}, and memkit does not commit submodules. Move "
                        "it out of the store."
                    )

    @contextmanager
    def _writing(self) -> Iterator[Path | None]:
        """Exclude other memkits, and remove the locks of their killed gits.

        Yields git's folder; None if there is none.
        """
        folder = git_folder(self.root)
        if folder is not None:
            folder.require_inside()  # again for each commit: a server may run for months
        with nullcontext(()) if folder is None else writing(folder) as self._inherited:
            try:
                yield None if folder is None else folder.own
            finally:
                self._inherited = ()

    def head_branch(self) -> str | None:
        """Return the checked-out branch, as ``git_folder.head_branch`` reads it."""
        return head_branch(self.root)

    def _locate(self) -> GitLocation:
        """Fix the working tree."""
        folder = git_folder(self.root)
        if folder is None:
            return GitLocation({}, ())
        folder.require_inside()
        return GitLocation({"GIT_WORK_TREE": str(folder.top)}, list(dict.fromkeys((folder.own, folder.shared))))

    def _ended(
        self,
        arguments: Sequence[str],
        given: bytes,
        variables: Mapping[str, str],
        seconds: float,
        *,
        hooks: bool = False,
    ) -> EndedGit:
        return self._process.finished(
            arguments, given, variables=variables, seconds=seconds, hooks=hooks, inherited=self._inherited
        )

    def _checked(self, arguments: Sequence[str], ended: EndedGit, *, check: bool = True) -> bytes:
        """Return git's output; a failure is an error with git's message, or gives no output."""
        require_alive(ended, arguments[0], self.root)
        if ended.status != 0 and check:
            said = ended.errors.decode("utf-8", "replace").strip() or f"exit {ended.status}"
            if locked := _LOCKED.search(said):
                raise EnvironmentFault(
                    f"{locked['path']} exists: another git process is running, or was killed. Try again when it has "
                    "finished; if none is running, delete the file."
                )
            if owned := _OWNED.search(said):
                raise EnvironmentFault(
                    f"Git does not read {owned['path']}, because another user owns it. If you trust it: "
                    f"git config --global --add safe.directory {shlex.quote(owned['path'])}"
                )
            if "outside of your sparse-checkout" in said:
                raise EnvironmentFault(sparse(self.root, arguments[arguments.index("--") + 1]))
            raise EnvironmentFault(f"git {arguments[0]} failed in {self.root}: {_reason(said)}")
        return ended.output if ended.status == 0 else b""


def _reason(said: str) -> str:
    """Return git's reason, without the advice in its message: its first complaint, and what it ended with."""
    lines = [line for line in said.splitlines() if not line.startswith(("hint:", "warning:"))] or said.splitlines()
    faults = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return "; ".join(dict.fromkeys((faults[0], faults[-1]))) if faults else " ".join(lines)


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


BUSY_FILE = "memkit-writing"
"""In git's folder; it has content while memkit's git writes."""
PATIENCE = 30.0
"""Seconds to wait for another memkit."""
COURTESY = 2.0
"""Seconds to wait for any other git."""
SLOWEST = 30.0
"""Seconds in which memkit's git has taken its locks. Later locks are somebody else's."""
_STEP = 0.02
_OPEN = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


@contextmanager
def writing(repository: GitFolder) -> Iterator[tuple[int, ...]]:
    """Keep every other memkit from writing to a repository for the duration of the block.

    Yields:
        The descriptors that git has to inherit, so that the lock lasts until it has ended.

    Raises:
        EnvironmentFault: Another memkit did not finish.
    """
    folder, me = repository.own, get_ident()
    held = _HELD.get(me)
    if held is not None and _is_at(held, folder / BUSY_FILE):
        yield (held,)  # within an erasure by this process
        return
    try:
        descriptor = _taken(folder)
    except OSError:
        yield ()  # a read-only folder; git reports it
        return
    try:
        status = os.fstat(descriptor)
        if status.st_size:
            _clear_away(repository, status.st_mtime)
        _wait_for_others(folder / "index.lock")
        _note_time(descriptor)
        _HELD[me] = descriptor
        try:
            yield (descriptor,)
        except KilledGit:
            _clear_away(repository, os.fstat(descriptor).st_mtime)
            raise
        finally:
            if held is None:
                del _HELD[me]
            else:
                _HELD[me] = held
            os.ftruncate(descriptor, 0)  # also after a failure: a git that exits by itself removes its locks
    finally:
        os.close(descriptor)


_HELD: dict[int, int] = {}
"""By thread, the file whose lock it holds."""


def _taken(folder: Path) -> int:
    """Return the open lock file, once locked, of the folder as it is now.

    An erasure replaces the folder, and a process that waited for the old lock waits again.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        descriptor = os.open(folder / BUSY_FILE, _OPEN, 0o600)
        try:
            if not take(descriptor, max(0.0, deadline - time.monotonic())):
                raise EnvironmentFault(
                    f"Another memkit has been committing in {folder.parent} for {PATIENCE:.0f} seconds."
                )
            if _is_at(descriptor, folder / BUSY_FILE):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Return whether an open file is still the one at a path."""
    with suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


_LAST = "memkit-committed"
"""In git's folder; records when memkit's last commit began and of what: times since this machine started."""


def _note_commit(folder: Path, paths: Sequence[str], began: int) -> None:
    with suppress(OSError):  # without it the next waiting process makes its own commit
        (folder / _LAST).write_text("\0".join((str(began), *paths)))


def _began_last(folder: Path, paths: Sequence[str]) -> int:
    """Return when the last commit of these paths began; 0 if unknown, or before the machine's last start."""
    with suppress(OSError, ValueError):
        began, *of = (folder / _LAST).read_text().split("\0")
        return int(began) if of == list(paths) and int(began) <= time.monotonic_ns() else 0
    return 0


def _note_time(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, b"writing\n", 0)


def _clear_away(repository: GitFolder, begun: float) -> None:
    """Remove the locks that a killed git of memkit's had taken since it began."""
    folder, branch = repository.own, repository.branch
    names = [folder / "index.lock", folder / "HEAD.lock", *sorted(folder.glob("next-index-*.lock"))]
    if branch is not None:
        names.append(repository.shared / "refs" / "heads" / f"{branch}.lock")
    for path in names:
        try:
            taken = path.lstat().st_mtime
        except OSError:
            continue
        if begun <= taken <= begun + SLOWEST:
            path.unlink(missing_ok=True)


def _wait_for_others(lock: Path) -> None:
    deadline = time.monotonic() + COURTESY
    while lock.exists() and time.monotonic() < deadline:
        time.sleep(_STEP)


# What git should not track, and what a commit would run.

HOW_TO_CLEAN = (
    f"Untrack it: git rm -r -q --cached {MACHINE} && git commit -m 'Untrack {MACHINE}'. Older commits keep it until "
    f"the history is rewritten: git filter-repo --invert-paths --path {MACHINE}"
)
_IN_INDEX = MACHINE[1:].encode() + b"/"
"""A path below it as bytes in an index, which may omit the prefix shared with the previous path."""


def is_tracked(git: Git) -> bool:
    """Return whether git's index contains anything of the machine's folder; git is asked if that is possible."""
    folder = known_git_folder(git.root)
    try:
        if folder is None or _IN_INDEX not in (folder.own / "index").read_bytes():
            return False
    except OSError:
        return False
    return bool(git.run("ls-files", "-z", "--", MACHINE, check=False))


def require_untracked(git: Git) -> None:
    """Raise ``StoreFault`` if git tracks the machine's folder: a commit would continue as if nothing were wrong."""
    if is_tracked(git):
        raise StoreFault(f"Git tracks {git.root / MACHINE}: sessions and audit log, in clear text. {HOW_TO_CLEAN}")


def require_not_ignored(git: Git) -> None:
    """Raise ``EnvironmentFault`` if git ignores a shard of the archive, which it would then commit without a word."""
    words = ("ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--", "archive/*.jsonl")
    if found := git.run(*words, check=False).split("\0")[:-1]:
        raise EnvironmentFault(
            f"Git ignores {git.root / found[0]}, so it commits no memory. 'git check-ignore -v {found[0]}' in "
            f"{git.root} says why."
        )


def sparse(root: Path, path: str) -> str:
    """Return that a clone's sparse checkout leaves out a path of the store, and how to include it."""
    folder = path.partition("/")[0]
    return (
        f"This clone is a sparse checkout without {folder}/, so what is there is neither read nor committed. To "
        f"include it: git -C {shlex.quote(str(root))} sparse-checkout add {folder}"
    )


def require_not_sparse(git: Git) -> None:
    """Raise ``EnvironmentFault`` if a sparse checkout leaves out the archive."""
    listed = git.run("ls-files", "-t", "-z", "--", "archive", check=False).split("\0")
    if any(entry.startswith("S ") for entry in listed):
        raise EnvironmentFault(sparse(git.root, "archive"))


OF_A_COMMIT = (
    "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-index-change", "reference-transaction",
)  # fmt: skip


def hooks_of(git: Git) -> dict[str, Path]:
    """Return the programs that memkit's commits would run, by hook name."""
    folder = _folder(git)
    found = {name: folder / name for name in OF_A_COMMIT} if folder is not None else {}
    return {name: path for name, path in found.items() if path.is_file() and os.access(path, os.X_OK)}


def files_beside(hooks: dict[str, Path]) -> Iterator[Path]:
    """Yield the other files in the folder of hooks, which these could start; git's samples do not count."""
    for folder in {path.parent for path in hooks.values()}:
        for parent, _, names in os.walk(folder):
            yield from (Path(parent, name) for name in sorted(names) if not name.endswith(".sample"))


def _folder(git: Git) -> Path | None:
    """Return the folder of the repository's hooks; None if a person's own configuration names another one."""
    place = known_git_folder(git.root)
    if place is None:
        return None
    scope, _, named = git.named_hooks().partition("\t")
    if not scope:
        return place.shared / "hooks"
    # A relative path starts where git runs hooks: at the root of the work tree.
    return place.top / named if scope in ("local", "worktree") else None
