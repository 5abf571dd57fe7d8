"""One system in a separate process: carries out the runner's requests, one line of JSON each.

It runs in that system's environment, so it imports the standard library and the adapter. An audit hook observes
what the adapter writes outside its folder (except compiled code), which is reported with the answer.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TextIO

from closure.interface import CannotError, Memory

HARMLESS = ("/dev/", "/proc/", "/sys/")
MOST = 1 << 17
"""The most bytes of a request for a worker."""
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Watched:
    """The paths outside ``folder`` that this process opens for writing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.outside: list[str] = []
        sys.addaudithook(self._seen)

    def _seen(self, event: str, given: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = given
            if isinstance(path, int) or not (flags & WRITES if isinstance(flags, int) else set("wax+") & set(mode)):
                return
        elif event in ("os.mkdir", "os.rename", "os.link", "os.symlink", "sqlite3.connect"):
            path = given[0]
        else:
            return
        try:
            found = str(Path(os.fsdecode(path)).absolute())
        except (TypeError, ValueError):
            return
        # A name of an in-memory database is not a path.
        if event == "sqlite3.connect" and (":memory:" in found or "mode=memory" in found):
            return
        if not found.startswith((str(self.folder), *HARMLESS)) and found not in self.outside:
            self.outside.append(found)


def load(name: str) -> type[Memory]:
    """Return the adapter class that ``module:Class`` names."""
    module, _, wanted = name.partition(":")
    found: type[Memory] = getattr(importlib.import_module(module), wanted)
    return found


def has_no_way(adapter: type[Memory], call: str) -> bool:
    """Return whether the interface itself says that the system cannot; that requires no set-up."""
    own = getattr(Memory, call, None)
    is_inherited = callable(own) and own is getattr(adapter, call, None)
    return is_inherited and call not in ("remember_all", "prompt", "close")


def write_until_killed(adapter: type[Memory], folder: Path, user: str, tag: str, answers: TextIO) -> None:
    """Write numbered texts in a child of this process and report each acknowledged one, until killed.

    In a child, because the slow part of a start is the import, which is done already.
    """
    child = os.fork()
    if child == 0:
        # An unbuffered pipe to the runner: an acknowledgement is what was in it at the kill.
        try:
            memory = adapter(folder)
            number = 0
            os.write(answers.fileno(), (json.dumps({"child": os.getpid()}) + "\n").encode())
            while True:
                text = f"Shelf {tag}x{number} holds crate {tag}y{number}"
                memory.remember(user, text)
                os.write(answers.fileno(), (json.dumps({"acknowledged": text}) + "\n").encode())
                number += 1
        except BaseException as error:  # noqa: BLE001 - a child must not come back into the loop of its parent
            os.write(answers.fileno(), (json.dumps({"error": told(error)}) + "\n").encode())
        finally:
            os._exit(1)
    os.waitpid(child, 0)


def read_apart(adapter: type[Memory], folder: Path, user: str) -> list[str]:
    """Return what a newly opened memory holds for a user, read in a child, so that this process opens nothing."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            memory = adapter(folder)
            held = memory.export(user)
            memory.close()
            said = {"held": held, "modules": list(sys.modules)}
        except BaseException as error:  # noqa: BLE001 - as above
            said = {"error": told(error)}
        os.close(reading)
        with os.fdopen(writing, "w") as out:
            json.dump(said, out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    said = json.loads(text or '{"error": "it ended without a word"}')
    if "error" in said:
        raise RuntimeError(said["error"])
    load_too(said["modules"])
    return list(said["held"])


def load_too(modules: Iterable[str]) -> None:
    """Load what a child had to load of its system, so that the next one need not."""
    known = {name.partition(".")[0] for name in sys.modules}
    for name in modules:
        if name not in sys.modules and name.partition(".")[0] in known:
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def is_born(channel: int, watched: Watched) -> bool:
    """Fork a worker for each request on a socket, and return True in it; False when no more can come."""
    with socket.socket(fileno=channel) as asked:
        while True:
            message, streams, _, _ = socket.recv_fds(asked, MOST, 3)
            if not message:
                return False
            request = json.loads(message)
            load_too(request["modules"])
            # Present objects belong to every worker; none of them has to scan them for garbage.
            gc.freeze()
            if (child := os.fork()) == 0:
                break
            asked.send(str(child).encode())
            for stream in streams:
                os.close(stream)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    os.setsid()
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    watched.folder = Path(request["folder"])
    os.chdir(watched.folder)
    os.environ.clear()
    os.environ |= request["variables"]
    tempfile.tempdir = None
    if request["report"]:
        from tests.proof.enclosure import shut_off

        shut_off(request["report"])
    return True


def fill(folder: Path, leave: int) -> None:
    """Fill the disk of the folder except for ``leave`` bytes; with a negative number, make room again."""
    ballast = folder / "tmp" / "ballast"
    if leave < 0:
        ballast.unlink()
        return
    disk = os.statvfs(folder)
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, disk.f_bavail * disk.f_frsize - leave))


def told(error: BaseException) -> str:
    """Return an error in one line."""
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:400]


def answers_apart() -> TextIO:
    """Return where answers go; libraries' output must not end up among them."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return answers


def main(adapter_name: str, folder: str, channel: str = "") -> None:
    """Answer until the input ends; with a socket's number, fork workers that do so, as requested there."""
    answers = answers_apart()
    watched = Watched(Path(folder))
    adapter: type[Memory] | str
    try:
        adapter = load(adapter_name)
        adapter.load()
    except BaseException as error:  # noqa: BLE001 - whatever an import raises is this system's answer
        adapter = told(error)
    if channel and not is_born(int(channel), watched):
        return
    answer(adapter, watched, answers_apart() if channel else answers)


def answer(adapter: type[Memory] | str, watched: Watched, answers: TextIO) -> None:
    """Answer requests, one per line; a text instead of the adapter says why it does not load."""
    place, outside = watched.folder, watched.outside
    loaded = set(sys.modules)
    memory: Memory | None = None

    def say(**what: Any) -> None:
        answers.write(json.dumps(what) + "\n")

    if isinstance(adapter, str):
        say(error=adapter, outside=outside)
        return
    say(ready=os.getpid())
    for line in sys.stdin:
        asked = json.loads(line)
        call, given = asked["call"], asked["given"]
        try:
            if call == "write_until_killed":
                write_until_killed(adapter, place, answers=answers, **given)
                say(value=None, outside=outside)
                continue
            if call == "fill":
                fill(place, **given)
                say(value=None, outside=outside)
                continue
            if call == "read_apart":
                # Some memories may be opened by only one process.
                if memory is not None:
                    memory.close()
                    memory = None
                say(value=read_apart(adapter, place, **given), outside=outside)
                continue
            if memory is None and has_no_way(adapter, call):
                getattr(Memory(place), call)(**given)
            if memory is None:
                memory = adapter(place)
            what: Callable[..., Any] = getattr(memory, call)
            more = {"modules": sorted(set(sys.modules) - loaded)} if call == "close" else {}
            say(value=what(**given) if callable(what) else what, outside=outside, **more)
        except CannotError as error:
            say(cannot=str(error), outside=outside)
        except BaseException as error:  # noqa: BLE001 - a system may raise anything; it is told, not handled
            say(error=told(error), outside=outside)
            if isinstance(error, KeyboardInterrupt | SystemExit):
                return


if __name__ == "__main__":
    main(*sys.argv[1:])
