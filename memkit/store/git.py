"""Git, through one hardened wrapper: a store is untrusted input for git too.

Git runs programs that a repository's own configuration names: file-system monitors, hooks, filters, text converters,
signing programs. So the configuration is read first (reading it runs nothing), what could run is switched off for every
call, no text of a user is ever an option, and paths stand after ``--``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from memkit.errors import EnvironmentFault, MissingExtra
from memkit.store.git_lock import writing
from memkit.store.git_programs import silenced

if TYPE_CHECKING:
    import subprocess

    from git.cmd import Git as GitProcess

_SWITCHED_OFF = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.untrackedCache": "false",
    "commit.gpgSign": "false",
    "tag.gpgSign": "false",
    "protocol.ext.allow": "never",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "core.fsync": "committed,reference",
}
_FORGOTTEN = [
    word
    for name in (
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_WORK_TREE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    )
    for word in ("-u", name)
]
"""What a hook's git passes on: with it, git on *this* repository would read that other one."""

DETACHED = "No branch is checked out, so the commit is on none and gets lost when you leave. Keep it: git branch NAME."
_SECONDS = 60.0
_LOCKED = re.compile(r"Unable to create '(?P<path>.+\.lock)': File exists")


class Git:
    """One repository's git commands."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._programs: dict[str, str] | None = None
        self._inherited: tuple[int, ...] = ()
        """Descriptors of the lock that git keeps as long as it lives."""

    def run(self, *arguments: str, check: bool = True) -> str:
        """Run ``git ARGUMENTS`` in the repository and return what it printed.

        Raises:
            MissingExtra: There is no git on the PATH.
            EnvironmentFault: Git failed; the message is git's own last line.
        """
        return self.feed(b"", *arguments, check=check).decode("utf-8", "surrogateescape")

    def feed(
        self, given: bytes, *arguments: str, index: Path | None = None, seconds: float = _SECONDS, check: bool = True
    ) -> bytes:
        """Run ``git ARGUMENTS`` with ``given`` on its standard input and return the bytes that it printed.

        Args:
            given: What git reads.
            arguments: The command; none of a user's own words may be an option.
            index: The index file to work on in place of the repository's own.
            seconds: How long git may take.
            check: Whether a failure is an error; otherwise it prints nothing.
        """
        variables = {"GIT_INDEX_FILE": str(index)} if index else {}
        return self._execute(
            arguments, _clean_environment(_SWITCHED_OFF | self._silenced()), check, given, variables, seconds
        )

    def is_repository(self) -> bool:
        """Return whether the folder lies in a git work tree."""
        return self.top() is not None

    def top(self) -> Path | None:
        """Return the root of the work tree that the folder lies in, or None outside of one."""
        printed = self._asked("rev-parse", "--show-toplevel").strip()
        return Path(printed) if printed else None

    def init(self) -> None:
        """Make a repository here, with the branch ``main``."""
        self._execute(
            ["init", "--quiet", "--template=", "--initial-branch=main"], _clean_environment(_SWITCHED_OFF), check=True
        )

    def require_identity(self) -> None:
        """Raise ``EnvironmentFault`` unless git knows who commits; git's guess from the host name is no identity."""
        for identity in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            if not self._asked("-c", "user.useConfigOnly=true", "var", identity):
                raise EnvironmentFault(
                    "Git does not know who you are, so nothing can be committed. Run: "
                    'git config --global user.name "Your Name" && git config --global user.email you@example.org'
                )

    def commit(self, message: str, paths: Sequence[str]) -> str | None:
        """Commit exactly ``paths`` (relative to the root) and return the commit's id, or None when nothing changed.

        What else is staged stays staged. Hooks of the repository do not run.
        """
        self.require_identity()
        with self._writing():
            present = [path for path in paths if (self.root / path).exists()]
            if present:
                self.run("add", "--", *present)
            if not self.run("status", "--porcelain", "--", *paths).strip():
                return None
            options = (
                "--quiet",
                "--only",
                "--no-verify",
                "--file=-",
            )  # a message can be longer than an argument may be
            self.feed(message.encode(), "commit", *options, "--", *paths)
            return self.run("rev-parse", "--verify", "HEAD").strip()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Keep other memkits out, and clear away what a git of theirs that was killed left locked."""
        folder = self._folder()
        with nullcontext(()) if folder is None else writing(folder, self.head_branch()) as self._inherited:
            try:
                yield
            finally:
                self._inherited = ()

    def head_branch(self) -> str | None:
        """Return the checked-out branch, read from ``.git/HEAD`` without git; None when detached or no repository."""
        folder = self._folder()
        try:
            head = "" if folder is None else (folder / "HEAD").read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return None
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else None

    def _folder(self) -> Path | None:
        """Return git's folder, that of a linked work tree included, without running git; None without a repository."""
        root = self.root.absolute()
        for folder in (root, *root.parents):
            dot_git = folder / ".git"
            if dot_git.is_file():
                with suppress(OSError, UnicodeDecodeError):
                    return folder / dot_git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
                return None
            if dot_git.exists():
                return dot_git
        return None

    def _silenced(self) -> dict[str, str]:
        """Return what keeps git from running the programs of the repository's own configuration, asked once."""
        if self._programs is None:
            self._programs = silenced(self._asked("config", "--list", "--name-only", "-z").split("\0"))
        return self._programs

    def _asked(self, *arguments: str) -> str:
        """Return what a command prints that runs no filter, or nothing when it fails."""
        return self._execute(arguments, _clean_environment(_SWITCHED_OFF), check=False).decode(
            "utf-8", "surrogateescape"
        )

    def _execute(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        check: bool,
        given: bytes = b"",
        variables: Mapping[str, str] = MappingProxyType({}),
        seconds: float = _SECONDS,
    ) -> bytes:
        words = ["env", *_FORGOTTEN, *(f"{name}={value}" for name, value in variables.items()), "git", *arguments]
        process = _git_process(self.root)
        status, output, errors = _finished(process, words, environment, given, seconds, self._inherited)
        if status != 0 and check:
            said = errors.decode("utf-8", "replace").strip() or f"exit {status}"
            if locked := _LOCKED.search(said):
                raise EnvironmentFault(
                    f"{locked['path']} is there: another git is at work, or was killed and left it. "
                    "Try again when it is done; delete the file where there is none."
                )
            raise EnvironmentFault(f"git {arguments[0]} failed in {self.root}: {said.splitlines()[-1]}")
        return output if status == 0 else b""


def _finished(
    process: GitProcess,
    words: Sequence[str],
    environment: Mapping[str, str],
    given: bytes,
    seconds: float,
    inherited: Sequence[int] = (),
) -> tuple[int, bytes, bytes]:
    """Run git to its end and return its status, output and messages.

    GitPython's own time limit is a thread that outlives an interrupt, so the waiting is done here. Git is told to stop
    before an interrupt or a time-out goes on: it then removes its lock files.
    """
    import subprocess  # with GitPython, which needs it as well: a search needs neither

    # The handle ends git when it is dropped.
    handle = process.execute(
        list(words), istream=subprocess.PIPE, as_process=True, env=dict(environment), pass_fds=inherited
    )
    child = handle.proc
    assert child is not None
    try:
        output, errors = child.communicate(given, timeout=seconds)
    except subprocess.TimeoutExpired:
        _stop(child)
        command = words[words.index("git") + 1]
        raise EnvironmentFault(f"git {command} did not end within {seconds:.0f} seconds.") from None
    except BaseException:
        _stop(child)
        raise
    return child.returncode, output, errors


def _stop(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    child.wait()


def _git_process(root: Path) -> GitProcess:
    """Return GitPython's process runner; imported here because it costs more than a whole search."""
    os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
    import shutil

    if shutil.which("git") is None:
        raise MissingExtra("There is no git on the PATH, and a store is a git repository. Install git.")
    from git.cmd import Git as GitProcess

    return GitProcess(str(root))


def _clean_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that switch off what could run a program or wait for a person."""
    cleaned = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        cleaned |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return cleaned
