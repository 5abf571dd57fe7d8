"""One system in a process of its own: carries out what the runner asks, a line of JSON each.

It runs in that system's environment, so it imports the standard library and the adapter. What the adapter writes
outside of its folder is seen by an audit hook (writes of compiled code are not) and told with the answer.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from closure.interface import CannotError, Memory

HARMLESS = ("/dev/", "/proc/", "/sys/")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def watch_writes(folder: Path) -> list[str]:
    """Return a list that grows by each path outside of ``folder`` that this process opens for writing."""
    outside: list[str] = []
    inside = str(folder.resolve())

    def seen(event: str, given: tuple[Any, ...]) -> None:
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
        # A name of a database in memory is no path of anything.
        if event == "sqlite3.connect" and (":memory:" in found or "mode=memory" in found):
            return
        if not found.startswith((inside, *HARMLESS)) and found not in outside:
            outside.append(found)

    sys.addaudithook(seen)
    return outside


def load(name: str) -> type[Memory]:
    """Return the adapter class that ``module:Class`` names."""
    module, _, wanted = name.partition(":")
    found: type[Memory] = getattr(importlib.import_module(module), wanted)
    return found


def has_no_way(adapter: type[Memory], call: str) -> bool:
    """Return whether the interface itself says that the system cannot; nothing has to be set up to hear that."""
    own = getattr(Memory, call, None)
    is_inherited = callable(own) and own is getattr(adapter, call, None)
    return is_inherited and call not in ("remember_all", "prompt", "close")


def write_until_killed(adapter: type[Memory], folder: Path, user: str, tag: str, answers: TextIO) -> None:
    """Write numbered texts in a child of this process and tell each one that was acknowledged, until somebody kills it.

    A child, because what takes long in a start is the import, and that is done.
    """
    adapter.load()
    child = os.fork()
    if child == 0:
        # A pipe to the runner, unbuffered: an acknowledgement is what was in it when the kill came.
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
    # What a child had to load of its system, the next one need not.
    known = {name.partition(".")[0] for name in sys.modules}
    for name in said["modules"]:
        if name not in sys.modules and name.partition(".")[0] in known:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    return list(said["held"])


def fill(folder: Path, leave: int) -> None:
    """Fill the disk that the folder lies on, but for ``leave`` bytes; with a negative number, make room again."""
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


def main(adapter_name: str, folder: str) -> None:
    """Answer until the input ends."""
    # What libraries print must not end up among the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    place = Path(folder)
    outside = watch_writes(place)
    memory: Memory | None = None

    def say(**what: Any) -> None:
        answers.write(json.dumps(what) + "\n")

    try:
        adapter = load(adapter_name)
    except BaseException as error:  # noqa: BLE001 - whatever an import raises is this system's answer
        say(error=told(error), outside=outside)
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
                say(value=read_apart(adapter, place, **given), outside=outside)
                continue
            if memory is None and has_no_way(adapter, call):
                getattr(Memory(place), call)(**given)
            if memory is None:
                memory = adapter(place)
            what: Callable[..., Any] = getattr(memory, call)
            say(value=what(**given) if callable(what) else what, outside=outside)
        except CannotError as error:
            say(cannot=str(error), outside=outside)
        except BaseException as error:  # noqa: BLE001 - a system may raise anything; it is told, not handled
            say(error=told(error), outside=outside)
            if isinstance(error, KeyboardInterrupt | SystemExit):
                return


if __name__ == "__main__":
    main(*sys.argv[1:])
