"""The sandbox: a fork server of confined programs, for as long as it is open."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import weakref
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memkit.errors import UsageError
from memkit.runtime.host.terminal import one_line

from .bare.client import Address, SandboxedProgram
from .bare.codec import Ended, Late, Malformed, TooLarge, framed, receive, send
from .container import PLACE_INSIDE, RUNTIMES, Bundle, ContainerRuntime, find_runtime
from .interface import Grants, Layer, Report, SandboxLimits, SandboxUnavailable

BARE = Path(__file__).resolve().parent / "bare"
_START, _END, _WARDEN = 60.0, 5.0, 20.0
"""Seconds for the fork server to start, to end, and for a container's warden to remove the remains."""
_LONGEST_ADDRESS = 100
"""The most bytes of a socket's path in the kernel, with a margin."""
_NEEDED, _OPTIONAL = ("landlock", "seccomp", "limits"), ("namespaces", "root")
_NEEDED_CONTAINED, _OPTIONAL_CONTAINED = ("container", "seccomp", "limits"), ("landlock", "namespaces", "root")
_BOOT = "import sys; sys.path.append({folder!r}); from bare.nursery import main; main({listener}, {control})"
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", **dict.fromkeys(_ONE_THREAD, "1")}


class Sandbox(AbstractContextManager["Sandbox"]):
    """Confines programs by the kernel's means; many threads may use one sandbox.

    >>> with Sandbox() as sandbox, sandbox.open("def double(x): return 2 * x") as program:  # doctest: +SKIP
    ...     program.call("double", [21])
    42
    """

    def __init__(
        self, limits: SandboxLimits | None = None, grants: Grants | None = None, *, container: str | None = None
    ) -> None:
        """Start the fork server, and have it test that confinement holds.

        Args:
            limits: The limits of a program.
            grants: What it may use.
            container: The runtime of a container to put around all programs, such as ``runc``. The other confinement
                is then a second wall, and Landlock may be missing.

        Raises:
            SandboxUnavailable: If the kernel, or the runtime, lacks something required; the message says what is
                missing.
            UsageError: If something granted does not exist, or the runtime is unknown.
        """
        self.limits, self.grants = limits or SandboxLimits(), grants or Grants()
        modules = [_located(name) for name in self.grants.modules]
        readable = [_existing(path) for path in self.grants.read]
        if sys.platform != "linux":
            raise SandboxUnavailable(_lacking(f"Landlock and seccomp need Linux; this is {sys.platform}"))
        self._runtime = find_runtime(container) if container is not None else None
        self._folder = private_folder()
        config = self._config(modules, readable)
        self._control, control = socket.socketpair()
        try:
            self._server = _started(self._folder, control, self._runtime, config)
        except BaseException as error:
            self._control.close()
            shutil.rmtree(self._folder)
            if isinstance(error, BlockingIOError):
                raise SandboxUnavailable(_lacking("this user may not start another process")) from None
            raise
        self._finish = weakref.finalize(self, _closed, self._folder, self._control, self._server, os.getpid())
        try:
            self.report = self._greeted(config)
        except BaseException:
            self.close()
            raise

    def _config(self, modules: list[tuple[str, Path]], readable: list[Path]) -> dict[str, Any]:
        limits, scratch = self.limits, self.grants.scratch
        library, hidden = _library()
        return {
            "cpu": limits.cpu, "memory": limits.memory, "files": limits.files, "output": limits.output,
            "programs": limits.programs,
            "modules": [[name, str(folder)] for name, folder in modules],
            "readable": [str(path) for path in (*readable, *(part for module in modules for part in _parts(*module)))],
            "library": library,
            "hidden": hidden,
            "contained": self._runtime is not None,
            "folder": "" if self._runtime else str(self._folder),
            "outside": str(self._folder),
            "place": PLACE_INSIDE if self._runtime else str(self._folder / "root"),
            "scratch": f"/scratch/{scratch.name}" if scratch else "",
            "scratch_size": scratch.size if scratch else 0,
            "scratch_files": scratch.files if scratch else 0,
        }  # fmt: skip

    def _greeted(self, config: dict[str, Any]) -> Report:
        """Send the fork server its configuration and return the report."""
        deadline = time.monotonic() + _START
        try:
            send(self._control, framed(config), deadline)
            told = receive(self._control, deadline, 1 << 20)
        except (Ended, Late, TooLarge, Malformed):
            what = f"the container of {self._runtime}" if self._runtime else "the fork server"
            raise SandboxUnavailable(_lacking(f"{what} did not start{self._last_words()}")) from None
        layers = told["layers"]
        if self._runtime is not None:
            layers["container"] = [True, str(self._runtime)]
        report = _report(layers, contained=self._runtime is not None)
        if told["faults"]:
            raise UsageError(f"A granted module cannot be imported: {one_line('; '.join(told['faults']), 300)}")
        if not told["ready"]:
            raise SandboxUnavailable(_lacking("; ".join(report.missing)) + self._other_way(report))
        return report

    def _other_way(self, report: Report) -> str:
        """Return the alternative if Landlock is missing."""
        if self._runtime is not None or not any(missing.startswith("landlock: ") for missing in report.missing):
            return ""
        try:
            runtime = usable_runtime()
        except SandboxUnavailable:
            return ""
        return f" A container needs no Landlock, and {runtime} can start one here: --container {runtime.name}."

    def _last_words(self) -> str:
        _end(self._control, self._server, patience=0.0)
        words = self._server.stderr.read() if self._server.stderr is not None else b""
        return f": {one_line(words.decode('utf-8', 'replace')[-300:])}" if words else ""

    @property
    def address(self) -> Address:
        """Return where any process of this user on this machine can open programs."""
        limits = self.limits
        return Address(str(self._folder / "socket"), limits.wall, limits.output, limits.cpu)

    def open(self, program: str | Path, *, name: str = "program", seed: int = 0) -> SandboxedProgram:
        """Run the top level of ``program`` (source text, or a file) in a confined process of its own.

        ``seed`` seeds ``random`` and ``numpy.random`` there. An error that prevents the program's use is
        in ``failure`` of the returned object.

        Raises:
            UsageError: If the file cannot be read, or is not text.
        """
        source = source_of(program)
        file = str(program) if isinstance(program, Path) else f"{name}.py"
        return SandboxedProgram(self.address, source, name=name, file=file, seed=seed)

    def close(self) -> None:
        """End every program, and the fork server."""
        self._finish()

    def __exit__(self, *_exception: object) -> None:
        self.close()


def source_of(program: str | Path) -> str:
    """Return the text of a program that is given as text or as a file.

    Raises:
        UsageError: If the file cannot be read, or its content is not text.
    """
    try:
        source = program.read_bytes().decode("utf-8-sig") if isinstance(program, Path) else program
        source.encode("utf-8")
    except OSError as error:
        raise UsageError(f"The program {program} cannot be read: {error.strerror}.", path=str(program)) from None
    except UnicodeError:
        name = str(program) if isinstance(program, Path) else "given"
        raise UsageError(f"The program {name} is not UTF-8 text.") from None
    return source


def usable_runtime() -> ContainerRuntime:
    """Return the first container runtime that starts a sandbox here.

    Raises:
        SandboxUnavailable: If none does; the message says why not.
    """
    reasons = []
    for candidate in RUNTIMES:
        try:
            runtime = find_runtime(candidate)
            Sandbox(container=candidate).close()
        except SandboxUnavailable as error:
            reasons.append(str(error))
        else:
            return runtime
    raise SandboxUnavailable(" ".join(reasons))


def available() -> Report:
    """Return the means of confinement on this machine; those that need it were tested in a separate process."""
    try:
        with Sandbox() as sandbox:
            return sandbox.report
    except SandboxUnavailable as error:
        return Report((Layer("sandbox", False, str(error), needed=True),))


def _lacking(what: str) -> str:
    return f"Programs cannot be confined on this machine: {what}."


def _report(told: dict[str, list[Any]], *, contained: bool) -> Report:
    """Return the layers that the fork server reported, and the required ones even if it did not."""
    untried = [False, "not tried"]
    walls, optional = (_NEEDED_CONTAINED, _OPTIONAL_CONTAINED) if contained else (_NEEDED, _OPTIONAL)
    needed = [*walls, *(name for name in ("scratch", "proof") if name in told)]
    names = [*needed, *(name for name in optional if name in told)]
    found = {name: told.get(name, untried) for name in names}
    return Report(tuple(Layer(name, holds, detail, name in needed) for name, (holds, detail) in found.items()))


def private_folder() -> Path:
    """Create a folder that only this user can enter, with a path short enough for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="memkit-"))
    if len(os.fsencode(folder)) > _LONGEST_ADDRESS - 10:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="memkit-", dir="/tmp"))
    (folder / "root").mkdir()
    return folder


def _started(
    folder: Path, control: socket.socket, runtime: ContainerRuntime | None, config: dict[str, Any]
) -> subprocess.Popen[bytes]:
    """Start the fork server with nothing of this process but two sockets."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with listener, control:
        listener.bind(str(folder / "socket"))
        listener.listen(128)
        sockets = (listener.fileno(), control.fileno())
        if runtime is not None:
            return Bundle(folder, BARE, _interpreter(), _ENVIRONMENT, config).start(runtime, _BOOT, sockets)
        boot = _BOOT.format(folder=str(BARE.parent), listener=sockets[0], control=sockets[1])
        return subprocess.Popen(
            [*_interpreter(), "-c", boot],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=_ENVIRONMENT,
            cwd="/",
            pass_fds=sockets,
            start_new_session=True,
        )


def _interpreter() -> list[str]:
    """Return the command of an interpreter without this one's environment and packages."""
    # Not -I: it ignores PYTHONHASHSEED too, and then the order of a set differs from one run to the next.
    return [sys._base_executable, "-s", "-S", "-P"]  # type: ignore[attr-defined]


def _closed(folder: Path, control: socket.socket, server: subprocess.Popen[bytes], owner: int) -> None:
    """End the fork server; in a fork of its owner only close the connection."""
    if os.getpid() != owner:
        control.close()
        return
    _end(control, server, _END)
    if server.stderr is not None:
        server.stderr.close()
    shutil.rmtree(folder, ignore_errors=True)


def _end(control: socket.socket, server: subprocess.Popen[bytes], patience: float) -> None:
    """End the fork server, by force after ``patience`` seconds; a container's warden does that itself."""
    control.close()
    if server.stdin is not None:
        server.stdin.close()
        patience = _WARDEN
    try:
        server.wait(patience)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _library() -> tuple[list[str], list[str]]:
    """Return the folders of the standard library, and the folders below them that are not part of it."""
    paths = sysconfig.get_paths(vars={"base": sys.base_prefix, "platbase": sys.base_exec_prefix})
    library = sorted({os.path.realpath(paths["stdlib"]), os.path.realpath(paths["platstdlib"])})
    others = {os.path.realpath(paths["purelib"]), os.path.realpath(paths["platlib"])}
    others |= {f"{folder}/{name}" for folder in library for name in ("site-packages", "dist-packages")}
    return library, sorted(path for path in others if any(path.startswith(folder + "/") for folder in library))


def _located(name: str) -> tuple[str, Path]:
    """Return a granted module and the folder that it is imported from.

    Raises:
        UsageError: If it is not installed, or part of the standard library.
    """
    if name in sys.stdlib_module_names:
        raise UsageError(f"The module {name!r} is part of the standard library, which every program may read.")
    spec = find_spec(name)
    if spec is None or not spec.origin or spec.origin in ("built-in", "frozen"):
        raise UsageError(
            f"The task grants the module {name!r}, which is not installed. Install it, or do not grant it."
        )
    origin = Path(os.path.realpath(spec.origin))
    return name, origin.parent.parent if spec.submodule_search_locations else origin.parent


def _parts(name: str, folder: Path) -> list[Path]:
    """Return the files and folders of a module, with the libraries that its wheel brought."""
    found = [folder / name, folder / f"{name}.libs", *folder.glob(f"{name}*.so"), folder / f"{name}.py"]
    return [path for path in found if path.exists()]


def _existing(path: Path) -> Path:
    """Return the real path of something granted; raise ``UsageError`` if it does not exist."""
    try:
        return path.resolve(strict=True)
    except OSError:
        raise UsageError(f"The task grants {path}, which does not exist.") from None
