"""The fork server of programs: a bare interpreter without secrets, files or network.

It is started with two inherited sockets, reads the grants, imports common modules, moves into its own root,
tests in a first child that confinement holds, reports the result, and serves.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import resource
import socket
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from . import candidate, jail, landlock, seccomp, system
from .codec import framed, receive, send
from .confinement import Confinement, ProcessBounds, address_space
from .forking import ForkServer
from .system import die_with_parent

PRELOADED = (
    "bisect", "cmath", "collections.abc", "copy", "functools", "heapq", "itertools", "json", "math", "operator",
    "random", "re", "string", "time", "typing",
)  # fmt: skip
"""The modules that most programs import; each is loaded before the first program, so that imports cost nothing."""
LINKED = ("zlib", "binascii", "_bz2", "_lzma")
"""Parts of the standard library that may need a system library, which no program can load."""
_SHORT = 10.0
_PROBES_FAILED = 96
_MOST_FILES = 1024
"""Open files of this process: enough for its programs, and few enough to be closed one by one."""
_Probe = tuple[str, Callable[[], object]]
"""Something that a confined process must not be able to do, and an attempt at it."""
_STREAM = 3
"""The one descriptor, besides the standard ones, that a program's process has."""


def main(listener: int, control: int) -> None:
    """Serve on the inherited sockets until the controlling one is closed."""
    os.environ.pop("HOME", None)  # container runtimes set it, and nothing here has a home
    ear, line = socket.socket(fileno=listener), socket.socket(fileno=control)
    config = receive(line, time.monotonic() + _SHORT, 1 << 20)
    preload()
    faults = import_granted(config["modules"])
    _bound_server()
    taken = address_space()
    layers: dict[str, Any] = {}
    folder = _Folder(config["folder"])
    _move_away(config, (ear, line), folder, layers)
    system.control(
        system.PR_SET_DUMPABLE, 0
    )  # if /proc is visible, a program must not look into this process through it
    confinement = _proven(_confinement(config, taken, layers), config["outside"], layers)
    told = {"layers": layers, "faults": faults, "ready": confinement is not None}
    send(line, framed(told), time.monotonic() + _SHORT)
    if confinement is not None:
        _serve(ear, line, confinement, config)
    folder.remove()


class _Folder:
    """The sandbox's folder, held by descriptors because its path leads nowhere from another root."""

    def __init__(self, path: str) -> None:
        """Open the folder at ``path``; none if that is empty, because others remove it."""
        above, self._name = os.path.split(path)
        if self._name:
            self._above, self._inside = (os.open(place, os.O_RDONLY | os.O_CLOEXEC) for place in (above, path))

    def let_go(self) -> None:
        """Leave the folder to the guard."""
        if self._name:
            os.close(self._above)
            os.close(self._inside)
            self._name = ""

    def remove(self) -> None:
        """Remove the folder, in case its owner was killed before it could."""
        if self._name:
            with contextlib.suppress(OSError):
                os.unlink("socket", dir_fd=self._inside)
                os.rmdir("root", dir_fd=self._inside)
                os.rmdir(self._name, dir_fd=self._above)


def _serve(ear: socket.socket, line: socket.socket, confinement: Confinement, config: Any) -> None:
    """Give each connection a confined process that reads a program and answers calls."""
    os.dup2(0, 2)  # errors up to now were worth reading; programs' output is not

    def body(connection: socket.socket) -> None:
        os.dup2(connection.detach(), _STREAM)
        os.closerange(_STREAM + 1, confinement.first_needed)
        confinement.take_on()
        os.write(_STREAM, framed("confined"))
        candidate.serve(_STREAM, config["output"])

    ForkServer(ear, line, body, most=config["programs"], groups=False, kept=confinement.descriptors).run()


def preload() -> None:
    """Import the modules that programs commonly use."""
    for name in PRELOADED:
        importlib.import_module(name)
    for name in LINKED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def import_granted(modules: list[tuple[str, str]]) -> list[str]:
    """Import modules from where they are installed; return the errors."""
    faults = []
    for name, folder in modules:
        sys.path.append(folder)
        try:
            importlib.import_module(name)
            if name == "numpy":
                importlib.import_module("numpy.random")
        except Exception as error:  # noqa: BLE001 - a module's own code
            faults.append(f"{name}: {type(error).__name__}: {error}")
        finally:
            sys.path.remove(folder)
    return faults


def _bound_server() -> None:
    """Have the kernel end this process and its programs before others when memory runs out, and limit open files."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:  # noqa: PTH123
        file.write("1000")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    fewer = _MOST_FILES if most == resource.RLIM_INFINITY else min(most, _MOST_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (fewer, fewer))


def _move_away(config: Any, sockets: tuple[socket.socket, ...], folder: _Folder, layers: dict[str, Any]) -> None:
    """Continue in separate namespaces with a separate root, as far as the kernel allows this user."""
    layers["namespaces"] = _tried(_rehearsed)
    if layers["namespaces"][0]:
        layers["namespaces"] = _tried(lambda: _separate(sockets, folder))
    layers["root"] = _tried(lambda: _move_in(config)) if layers["namespaces"][0] else [False, "needs namespaces"]


def _tried(step: Any) -> list[Any]:
    try:
        return [True, step()]
    except OSError as error:
        return [False, str(error)]


def _rehearsed() -> str:
    """Try namespaces in a child: after a partial failure, this process could start only one more process.

    Raises:
        OSError: If the kernel does not allow this user to create them.
    """
    child = os.fork()
    if child == 0:
        code = errno.EPERM
        try:
            jail.separate()
            code = 0
        except OSError as error:
            code = error.errno or code
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, os.strerror(code))
    return "possible"


def _separate(sockets: tuple[socket.socket, ...], folder: _Folder) -> str:
    """Continue as the first process of new namespaces; the present process stays as its guard and ends with it."""
    what = jail.separate()
    child = os.fork()
    if child:
        _guard(child, sockets, folder)
    folder.let_go()
    die_with_parent(0)  # seen from a new process namespace, the guard has no number
    return what


def _guard(child: int, sockets: tuple[socket.socket, ...], folder: _Folder) -> NoReturn:
    """Wait for the server's end, which ends this process, so that its own parent notices."""
    for one in sockets:
        one.close()
    _, status = os.waitpid(child, 0)
    folder.remove()
    os._exit(0 if status == 0 else 1)


def _move_in(config: Any) -> str:
    """Leave everything behind except the interpreter and the grants."""
    readable = [*config["readable"], *config["library"]]
    jail.move_in(config["place"], readable, config["hidden"], config["scratch"])
    return "an empty root with the interpreter's library and what was granted, read-only"


def _confinement(config: Any, taken: int, layers: dict[str, Any]) -> Confinement | None:
    """Prepare the confinement of each program's process; None if the kernel lacks it."""
    abi, target = landlock.version(), seccomp.machine()
    layers["landlock"] = [abi > 0, f"version {abi}" if abi else "not offered by this kernel, or switched off"]
    if target is None:
        layers["seccomp"] = [False, f"system calls of {os.uname().machine} are not known here"]
    if config["scratch"] and not layers["root"][0]:
        layers["scratch"] = [False, "a bounded folder needs mount namespaces"]
        return None
    if target is None or not (abi or config["contained"]):
        return None
    bounds = ProcessBounds(
        *(config[name] for name in ("cpu", "memory", "files", "scratch", "scratch_size", "scratch_files"))
    )
    code = seccomp.Filter(target, scratch=bool(config["scratch"]))
    layers["seccomp"] = [True, f"{len(target.numbers)} system calls known, {code.size} steps"]
    if layers["root"][0]:
        readable, listed = [*config["readable"], *config["library"]], []
    else:
        readable, listed = [*config["readable"], *_parts(config["library"], config["hidden"])], config["library"]
    return Confinement(bounds, taken, code, readable if abi else None, listed)


def _parts(folders: list[str], hidden: list[str]) -> list[str]:
    """Return the direct contents of ``folders``, without hidden ones."""
    found = (os.path.join(folder, name) for folder in folders for name in os.listdir(folder))  # noqa: PTH118, PTH208
    return [path for path in found if path not in hidden]


def _proven(confinement: Confinement | None, outside: str, layers: dict[str, Any]) -> Confinement | None:
    """Return ``confinement`` if a process in it can no longer do what it forbids, else None.

    Without Landlock the container hides files, and the folder ``outside`` it must not exist.
    """
    if confinement is None:
        return None
    probes = (_LISTING if layers["landlock"][0] else _seeing(outside), *_PROBES)
    try:
        child = os.fork()
    except OSError as error:
        layers["proof"] = [False, f"no process could be started to try it: {error.strerror}"]
        return None
    if child == 0:
        code = _PROBES_FAILED
        try:
            confinement.take_on()
            code = _held(probes)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    left = os.waitstatus_to_exitcode(status)
    if left == 0:
        layers["limits"] = [True, "processor time, memory, open files, size of files"]
        return confinement
    why = "it could not be applied" if left == _PROBES_FAILED or left < 0 else probes[left - 1][0]
    layers["proof"] = [False, f"a confined process was tried, and {why}"]
    return None


def _held(probes: Iterable[_Probe]) -> int:
    """Try what confinement forbids; return the number of the first attempt that worked, 0 if none did."""
    for number, (_what, attempt) in enumerate(probes, start=1):
        try:
            attempt()
        except OSError:
            continue
        return number
    return 0


def _seeing(outside: str) -> _Probe:
    return "it could see files of the machine", lambda: os.stat(outside)  # noqa: PTH116


_LISTING: _Probe = ("it could list the root folder", lambda: os.listdir("/"))  # noqa: PTH208
_PROBES: tuple[_Probe, ...] = (
    ("it could write a file", lambda: os.open("/tmp/memkit-probe", os.O_CREAT | os.O_WRONLY)),
    ("it could make a socket", lambda: socket.socket(socket.AF_UNIX)),
    ("it could start a process", lambda: os.fork() or os._exit(0)),
    ("it could send a signal", lambda: os.kill(os.getppid(), 0)),
)
