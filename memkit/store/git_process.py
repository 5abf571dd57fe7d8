"""The one way in which git is started, so that nothing in an untrusted repository runs; and git's plumbing.

Git starts programs named by a repository's settings, attributes and hooks, and fetches what a partial clone lacks. So

- the settings are listed first, which runs nothing, and each one that names a program is overridden in every call;
  they are listed again when a file that holds them has changed, for a server may run for months;
- what git would run by itself (hooks, monitors, signatures, pagers) is switched off in every call;
- no transport is allowed, replaced objects are read as they are, and the variables left by a calling git
  are removed;
- the repository is that of the working folder (``git_folder``), whatever it says about itself.

A person's own configuration (who commits, what is ignored) applies as with any other git.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING, NamedTuple

from memkit.errors import EnvironmentFault, MissingExtra, StoreFault
from memkit.runtime.host.terminal import one_line
from memkit.store.layout import MAX_BYTES, GitFolder, file_bytes

if TYPE_CHECKING:
    import subprocess


NO_HOOKS = {"core.hooksPath": os.devnull}
"""Omitted for a person's commits in a store that they trust."""

_SENTINEL = "memkit.told"
"""A setting without meaning: a git that lists it has received the others too."""
_OFF = {
    _SENTINEL: "yes",
    "core.fsmonitor": "false", "core.untrackedCache": "false", "core.alternateRefsCommand": "true",
    "core.pager": "cat", "core.editor": "false", "core.askPass": "false", "core.sshCommand": "false",
    "credential.helper": "", "protocol.allow": "never", "safe.bareRepository": "explicit",
    "commit.gpgSign": "false", "tag.gpgSign": "false", "log.showSignature": "false",
    "submodule.recurse": "false", "status.submoduleSummary": "false", "diff.submodule": "short",
    "diff.ignoreSubmodules": "all",
    "gc.auto": "0", "maintenance.auto": "false", "core.fsync": "committed,reference",
}  # fmt: skip
_OVERRULED = {
    r"filter\..*\.(clean|smudge|process)": "",
    r"filter\..*\.required": "false",
    r"merge\..*\.driver": "false",  # a driver that fails is a conflict; an empty one would quietly take one side
    r"diff\..*\.textconv": "cat",
    r"diff\..*\.cachetextconv": "false",  # git would cache opened text of a sealed line among its objects
    r"diff\.(.*\.)?(command|external)": "true",
    r"gpg\.(.*\.)?(program|defaultkeycommand)": "false",
    r"trailer\..*\.(command|cmd)": "true",
    r"hook\..*\.command": "true",
    r"remote\..*\.promisor": "false",
    r"submodule\..*\.ignore": "all",
}
_PROGRAMS = [(re.compile(pattern, re.IGNORECASE | re.DOTALL), value) for pattern, value in _OVERRULED.items()]
_SET = {
    "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat", "GIT_EDITOR": "false",
}  # fmt: skip
_LISTING_SECONDS = 20.0
"""Time limit, because a setting can include a pipe."""
_PATIENCE = 5.0
"""Seconds until a check whether git waits for a pipe; a large repository may take longer."""
_READ_ON_THE_WAY = frozenset({".gitignore", ".gitattributes", ".gitmodules"})
_INHERITED = re.compile(
    r"GIT_(AUTHOR|COMMITTER)_(NAME|EMAIL|DATE)|GIT_CONFIG_(NOSYSTEM|SYSTEM|GLOBAL)"
    r"|GIT_CEILING_DIRECTORIES|GIT_DISCOVERY_ACROSS_FILESYSTEM"
)
"""Variables that a person may set. Others come from a calling git, as in a hook: git would work on *its* repository."""


class EndedGit(NamedTuple):
    """The result of a finished git."""

    status: int
    output: bytes
    errors: bytes


class KilledGit(EnvironmentFault):
    """Report that git was killed, which leaves its locks, and no result."""


def require_alive(ended: EndedGit, command: str, place: Path) -> None:
    """Raise ``KilledGit`` if a signal ended git: its output until then is not a result."""
    if ended.status < 0:
        raise KilledGit(f"git {command} was killed by signal {-ended.status} in {place}. Try again.")


class GitLocation(NamedTuple):
    """Where a repository is."""

    variables: Mapping[str, str]
    """What tells git so, whatever the repository's settings say."""
    folders: Sequence[Path]
    """Git's own folders, which hold those settings."""


class GitSettings(NamedTuple):
    """What git's configuration holds for a repository."""

    overruled: dict[str, str]
    """The settings that prevent the programs that it names from running."""
    own: dict[str, str]
    """What the person's and the machine's own files say, and those that they include."""


_LISTED: dict[tuple[object, ...], GitSettings] = {}
"""By all that they depend on, but for what a person's own files include. Without it, every other git would list."""
_MOST_LISTED = 64


class GitProcess:
    """Starts the git commands of one repository.

    Args:
        folder: The folder in which git is started.
        locate: Returns the repository's location; called before the first command and when its settings have changed,
            raises if none may be touched.
    """

    def __init__(self, folder: Path, locate: Callable[[], GitLocation]) -> None:
        self.folder = folder
        self._locate = locate
        self._location = GitLocation({}, ())

    def finished(
        self,
        arguments: Sequence[str],
        given: bytes = b"",
        *,
        variables: Mapping[str, str] | None = None,
        seconds: float | None = None,
        hooks: bool = False,
        inherited: Sequence[int] = (),
    ) -> EndedGit:
        """Run ``git ARGUMENTS`` to its end.

        Args:
            arguments: The command; none of a user's own words may be an option.
            given: Git's input.
            variables: Further variables of the environment.
            seconds: How long git may take.
            hooks: Whether the hooks of the repository run.
            inherited: Descriptors that git keeps open as long as it runs.

        Raises:
            MissingExtra: There is no git on the PATH.
            StoreFault: The repository is not trusted.
            EnvironmentFault: Git took too long.
        """
        settings = _OFF | ({} if hooks else NO_HOOKS) | self.settings().overruled
        return self._finished(arguments, given, settings, variables or {}, seconds, inherited)

    @contextmanager
    def running(self, *arguments: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Yield the standard input and output of a git that answers requests during the block.

        Raises:
            EnvironmentFault: It ended by itself, with an error.
        """
        child = self._started(arguments)
        assert child.stdin is not None and child.stdout is not None and child.stderr is not None
        Thread(target=_drain, args=(child.stderr,), daemon=True).start()
        try:
            yield child.stdin, child.stdout
            child.stdin.close()
            if not child.stdout.read(1) and child.wait() != 0:
                raise BrokenPipeError
        except BrokenPipeError:
            raise EnvironmentFault(
                f"git {arguments[0]} in {self.folder} ended before its output was complete."
            ) from None
        finally:
            child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout):
                with suppress(BrokenPipeError):
                    stream.close()

    def version(self) -> EndedGit:
        """Run ``git --version``, which uses no repository's settings."""
        return self._finished(["--version"], b"", _OFF | NO_HOOKS, {}, _LISTING_SECONDS, ())

    def settings(self) -> GitSettings:
        """Return what git's configuration holds, listed again unless all that it is read from is as it was."""
        if not self._location.folders or self._state() not in _LISTED:
            self._location = self._locate()
        state = self._state()
        if (known := _LISTED.get(state)) is not None:
            return known
        listed = self._list()
        if state and state == self._state():
            while len(_LISTED) >= _MOST_LISTED:
                _LISTED.pop(next(iter(_LISTED)), None)
            _LISTED[state] = listed
        return listed

    def _state(self) -> tuple[object, ...]:
        """Return all that the settings depend on; empty if the repository's files name others, or cannot be read."""
        try:
            own = [
                _content(folder / name) for folder in self._location.folders for name in ("config", "config.worktree")
            ]
            personal = [_content(path) for path in _personal_files()]
        except OSError:
            return ()
        if any(b"include" in text.lower() for text in own):
            return ()
        inherited = (item for item in os.environ.items() if item[0] in _DECISIVE or _INHERITED.fullmatch(item[0]))
        return (self.folder, *self._location.variables.items(), *sorted(inherited), *own, *personal)

    def _list(self) -> GitSettings:
        words = ["config", "--list", "--show-scope", "-z"]
        listed = self._finished(words, b"", _OFF | NO_HOOKS, {}, _LISTING_SECONDS, ())
        if listed.status != 0 and (ended := self.version()).status != 0:  # not the fault of the repository's file
            said = ended.errors.decode("utf-8", "replace").strip()
            raise EnvironmentFault(f"Git does not run here: {one_line(said)}")
        parts = listed.output.decode("utf-8", "surrogateescape").split("\0")
        entries = [(scope, *entry.partition("\n")[::2]) for scope, entry in zip(parts[::2], parts[1::2], strict=False)]
        keys = {key for _, key, _ in entries}
        if listed.status == 0 and _SENTINEL not in keys:
            raise EnvironmentFault(
                "This git is older than 2.31 and ignores settings from its caller, so it would run programs that "
                "a repository names. Install a newer git."
            )
        return GitSettings(
            overruled(keys), {key: value for scope, key, value in entries if scope in ("system", "global")}
        )

    def _finished(
        self,
        arguments: Sequence[str],
        given: bytes,
        settings: Mapping[str, str],
        variables: Mapping[str, str],
        seconds: float | None,
        inherited: Sequence[int],
    ) -> EndedGit:
        """Run git and wait for it; on an interrupt or a time-out it is first told to stop and removes its locks.

        Importing GitPython costs more than a dozen such calls, and its own time limit is a thread that outlives an
        interrupt.
        """
        git = require_git()
        import subprocess  # a search needs none

        kept = {name: value for name, value in os.environ.items() if not _is_left_behind(name)}
        try:
            child = subprocess.Popen(
                [git, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                cwd=self.folder, env={**kept, **self._environment(settings), **variables}, pass_fds=inherited,
            )  # fmt: skip
        except OSError as error:
            raise EnvironmentFault(f"git cannot be started in {self.folder}: {error.strerror or error}.") from None
        try:
            try:
                output, errors = child.communicate(given, timeout=min(seconds or _PATIENCE, _PATIENCE))
            except subprocess.TimeoutExpired:
                self._require_no_pipe(arguments)
                output, errors = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            _stop(child)
            raise EnvironmentFault(f"git {arguments[0]} did not end within {seconds:.0f} seconds.") from None
        except BaseException:
            _stop(child)
            raise
        return EndedGit(child.returncode, output, errors)

    def _require_no_pipe(self, arguments: Sequence[str]) -> None:
        """Raise ``StoreFault`` if git waits for a pipe in the working tree, which would never end."""
        named = dict(pairwise(arguments)).get("--work-tree")
        for parent, _, files in os.walk(named or self._location.variables.get("GIT_WORK_TREE") or self.folder):
            for path in (Path(parent, name) for name in _READ_ON_THE_WAY.intersection(files)):
                if path.is_fifo():
                    raise StoreFault(f"{path} is not a file, so git would block on it. Replace it with a file.")

    def _started(self, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
        """Start a git that answers repeated requests."""
        git = require_git()
        import subprocess

        os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
        os.environ["GIT_PYTHON_GIT_EXECUTABLE"] = git  # started by GitPython's import
        environment = self._environment(_OFF | NO_HOOKS | self.settings().overruled)
        try:
            from git.cmd import Git
        except ImportError as error:  # the import runs git, which a broken ~/.gitconfig breaks too
            said = str(getattr(error.__cause__, "stderr", error)).strip().removeprefix("stderr: ").strip("'")
            raise EnvironmentFault(f"Git does not run here: {one_line(said)}") from error
        forgotten = [word for name in os.environ.keys() - environment if _is_left_behind(name) for word in ("-u", name)]
        handle = Git(str(self.folder)).execute(
            ["env", *forgotten, git, *arguments], istream=subprocess.PIPE, as_process=True, env=environment
        )
        child: subprocess.Popen[bytes] | None
        child, handle.proc = handle.proc, None  # dropping the handle would end git
        assert child is not None
        return child

    def _environment(self, settings: Mapping[str, str]) -> dict[str, str]:
        return {**_SET, **self._location.variables, **_configuration(settings)}


def require_git() -> str:
    """Return git's absolute path: with an empty entry in PATH, a store's own file would be started.

    Raises:
        MissingExtra: There is no git on the PATH.
    """
    for place in filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep)):
        git = os.path.join(place, "git")  # noqa: PTH118 - shutil, which knows how, loads every kind of archive
        if os.access(git, os.X_OK) and not os.path.isdir(git):  # noqa: PTH112
            return git
    raise MissingExtra("There is no git on the PATH, and a store is a git repository. Install git.")


def git_version() -> str:
    """Return git's version, such as ``git version 2.39.5``; no repository is involved, so none can interfere.

    Raises:
        MissingExtra: There is no git on the PATH.
        EnvironmentFault: It does not report one.
    """
    ended = GitProcess(Path(os.sep), lambda: GitLocation({}, ())).version()
    if ended.status != 0:
        raise EnvironmentFault(f"git --version failed: {ended.errors.decode('utf-8', 'replace').strip()}")
    return ended.output.decode("utf-8", "replace").strip()


_DECISIVE = frozenset({"PATH", "HOME", "XDG_CONFIG_HOME"})


def _personal_files() -> list[Path]:
    """Return where git looks for a person's own settings, unless told otherwise."""
    home = os.environ.get("HOME", "")
    configured = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")  # noqa: PTH118 - may be empty
    named = os.environ.get("GIT_CONFIG_GLOBAL")
    return [Path(named)] if named else [Path(home, ".gitconfig"), Path(configured, "git", "config")]


def _content(path: Path) -> bytes:
    """Return a file's content, empty if there is none; raise ``OSError`` if git might read something else."""
    try:
        text = file_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    if len(text) > MAX_BYTES:
        raise OSError(0, "too large")
    return text


def overruled(keys: Iterable[str]) -> dict[str, str]:
    """Return the settings that prevent programs named under these keys from running, except memkit's own."""
    return {key: value for key in keys for pattern, value in _PROGRAMS if pattern.fullmatch(key)} | own_programs()


def _configuration(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that pass settings to git and override those of any file."""
    made = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        made |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return made


def _is_left_behind(name: str) -> bool:
    return name.startswith("GIT_") and not _INHERITED.fullmatch(name)


def _drain(complaints: IO[bytes]) -> None:
    """Read and discard: a full pipe would stop git."""
    with complaints:
        while complaints.read(1 << 16):
            pass


def _stop(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    child.wait()


ATTRIBUTES = "merge=memkit diff=memkit"


def own_programs(store: str = ".") -> dict[str, str]:
    """Return the settings that make git merge shards line by line and show them as sentences.

    ``store`` is the store's path in its working tree: its keys open what is sealed.

    Git runs them in the top folder of a working tree, which is no place to import from: ``-P``. If memkit can no longer
    run, a merge falls back on git's own, with its markers, and a diff on the raw text: neither may silently take one
    side or end a ``git log``. The text is never cached, because git would keep opened text of a sealed
    line among its objects.
    """
    memkit = f"{shlex.quote(sys.executable)} -P -m memkit git"
    return {
        "merge.memkit.name": "memkit: every line of both sides, once",
        "merge.memkit.driver": (
            f"{memkit} merge-driver %O %A %B %P; s=$?; "
            "test $s -le 1 || { git merge-file -L ours -L base -L theirs %A %O %B; s=$?; }; exit $s"
        ),
        "diff.memkit.textconv": (
            f'f() {{ {memkit} textconv --store {shlex.quote(store)} "$1" 2>/dev/null || cat "$1"; }}; f'
        ),
    }


class GitObject(NamedTuple):
    """One object in git's database."""

    id: str
    kind: str
    """blob | tree | commit | tag"""
    data: bytes


class Plumbing:
    """Commands that read and write the objects, refs and index below ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = GitProcess(folder, self._locate)

    def run(self, *arguments: str, given: bytes = b"", check: bool = True, index: Path | None = None) -> bytes:
        """Run ``git ARGUMENTS`` and return its output; raise ``EnvironmentFault`` with git's last line."""
        done = self.finished(*arguments, given=given, index=index)
        require_alive(done, arguments[0], self.folder)
        if done.status != 0 and check:
            reason = done.errors.decode("utf-8", "replace").strip().splitlines() or [f"exit {done.status}"]
            raise EnvironmentFault(f"git {arguments[0]} failed in {self.folder}: {reason[-1]}")
        return done.output if done.status == 0 else b""

    def finished(self, *arguments: str, given: bytes = b"", index: Path | None = None) -> EndedGit:
        """Run ``git ARGUMENTS`` and return its result, for a command whose exit code is its answer."""
        return self._process.finished(arguments, given, variables={"GIT_INDEX_FILE": str(index)} if index else {})

    def all_objects(self) -> Iterator[GitObject]:
        """Yield every existing object: loose, packed, unreachable."""
        with self._process.running("cat-file", "--batch-all-objects", "--unordered", "--buffer", "--batch") as (
            _,
            output,
        ):
            while header := output.readline():
                yield _object(header, output)

    @contextmanager
    def reader(self) -> Iterator[ObjectReader]:
        """Yield a reader of single objects by their id."""
        with self._process.running("cat-file", "--batch") as (wanted, output):
            yield ObjectReader(wanted, output)

    def _locate(self) -> GitLocation:
        """Make this folder the repository, without anybody's configuration."""
        GitFolder(self.folder, self.folder, self.folder).require_inside()
        variables = {"GIT_DIR": str(self.folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        return GitLocation(variables, [self.folder])


class ObjectReader:
    """Reads objects one by one through a running git."""

    def __init__(self, wanted: IO[bytes], output: IO[bytes]) -> None:
        self._wanted = wanted
        self._output = output

    def read(self, id: str) -> GitObject | None:
        """Return an object, or None if it does not exist."""
        self._wanted.write(id.encode() + b"\n")
        self._wanted.flush()
        header = self._output.readline()
        if not header:
            raise EnvironmentFault(f"git cat-file ended while reading {id}.")
        return None if header.endswith(b" missing\n") else _object(header, self._output)


@contextmanager
def scratch_repository() -> Iterator[Plumbing]:
    """Yield an empty temporary repository, without anybody's configuration, for the duration of a block."""
    import tempfile  # few commands need it

    require_git()
    with tempfile.TemporaryDirectory(prefix="memkit-git-") as folder:
        git = Plumbing(Path(folder))
        git.run("init", "--quiet", "--bare", "--template=", "--object-format=sha1")
        yield git


def tree_entries(data: bytes, id_size: int) -> Iterator[tuple[bytes, bytes, str]]:
    """Yield mode, name and id of the entries of a tree."""
    place = 0
    while place < len(data):
        space = data.index(b" ", place)
        end = data.index(b"\0", space)
        yield data[place:space], data[space + 1 : end], data[end + 1 : end + 1 + id_size].hex()
        place = end + 1 + id_size


def joined(ids: Iterable[str]) -> bytes:
    """Return ids as git reads them, one per line."""
    return "".join(f"{id}\n" for id in ids).encode()


def _object(header: bytes, output: IO[bytes]) -> GitObject:
    try:
        id, kind, size = header.decode().split()
        data = output.read(int(size))
        if header.endswith(b"\n") and len(data) == int(size) and output.read(1) == b"\n":
            return GitObject(id, kind, data)
    except ValueError:
        pass  # a dying git cannot take all of its input
    said = one_line(header.decode("utf-8", "replace"), 80)
    if said.endswith(" missing"):  # nothing of it, or an empty file
        raise EnvironmentFault(f"The object {said.split()[0]} is missing from the repository. Run 'git fsck'.")
    raise EnvironmentFault(f"git cat-file ended in the middle of its output: {said!r}.")
