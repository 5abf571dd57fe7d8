"""Memories that misbehave, for the runner to tell."""

from __future__ import annotations

import fcntl
import importlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from closure.adapters.plain import GrepFiles

ROOT = Path(__file__).resolve().parents[2]


class Hanging(GrepFiles):
    """Never comes back from a search."""

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Wait for longer than anybody does."""
        time.sleep(600)
        return []


class Crashing(GrepFiles):
    """Ends in the middle of a search."""

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """End without a word."""
        os._exit(7)


class KeepsInProcess(GrepFiles):
    """Gives what is the same in one process alone: its hash of a word, how often it was asked, what it has loaded."""

    asked = 0

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Load a module, the first time."""
        had = "tests.written" in sys.modules
        importlib.import_module("tests.written")
        KeepsInProcess.asked += 1
        return [str(hash("Ada")), f"asked {self.asked}", f"loaded {had}"]


class ForOne(GrepFiles):
    """Lets one process at a time have it open, and tells in every answer what was asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._lock = (folder / "lock").open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def get(self, user: str, name: str) -> str:
        """Say that there is no such line, where there is none."""
        return name if name in self._lines(user) else f"Nothing is called {name}"

    def close(self) -> None:
        """Let the next one in."""
        self._lock.close()


class LeavesServer(GrepFiles):
    """Starts another process, which goes on when it ends; the text that it keeps is its number."""

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Start it."""
        return str(subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)


class NotSetUp(GrepFiles):
    """Cannot be opened at all."""

    def __init__(self, folder: Path) -> None:
        raise RuntimeError("it has no disk")


class WantingKey(GrepFiles):
    """Wants a key before it keeps anything."""

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Look for a key that the runner never hands on."""
        return os.environ["OPENAI_API_KEY"]


class Chatty(GrepFiles):
    """Prints among its answers, asks another machine and writes where it should not."""

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Do all three, then keep the text."""
        sys.stdout.write('{"value": "mine"}\n')
        sys.stdout.flush()
        with socket.socket() as asking:
            asking.settimeout(1)
            asking.connect_ex(("192.0.2.7", 443))
        Path("/tmp", f"outside-{os.getpid()}").write_text(text)
        Path("/tmp", f"outside-{os.getpid()}").unlink()
        return super().remember(user, text, via)


class LosesOnKill(GrepFiles):
    """Says that it kept a text, and writes ten of them down together."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._late: list[str] = []

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Hold it until there are ten."""
        self._late.append(text)
        if len(self._late) == 10:
            for held in self._late:
                super().remember(user, held)
            self._late = []
        return text


class Leftover(GrepFiles):
    """Deletes a user's file and keeps a copy, encoded."""

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Keep the text, and once more in base64 behind some bytes."""
        import base64

        with (self.folder / "cache.bin").open("ab") as file:
            file.write(base64.b64encode(b"x" + text.encode()))
        return super().remember(user, text, via)


class Unsynced(GrepFiles):
    """Writes at once and never asks the disk to keep it."""

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Append a line."""
        with self._file(user).open("a") as file:
            file.write(text + "\n")
        return text


class Renamed(GrepFiles):
    """Writes a new file beside the old one, makes that last, and renames it, but never makes the name last."""

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Write all lines anew."""
        path = self._file(user)
        fresh = path.with_suffix(".new")
        with fresh.open("w") as file:
            file.writelines(f"{line}\n" for line in [*self._lines(user), text])
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        return text


class Safe(Renamed):
    """The same, and makes the name last as well."""

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Sync the directory too."""
        super().remember(user, text, via)
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)
        return text


class ByTheClock(GrepFiles):
    """Takes the line with the latest date for the true one."""

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Put the date before the text."""
        super().remember(user, f"{time.time():.0f} {text}")
        return text

    def correct(self, user: str, name: str, text: str) -> str:
        """Add the new line; which one is true is told by the date."""
        self.remember(user, f"{text} instead of {name}")
        return text

    def _told(self, user: str) -> list[str]:
        dated = sorted(self._lines(user), key=lambda line: int(line.partition(" ")[0]))
        texts = [line.partition(" ")[2] for line in dated]
        gone = {old: place for place, text in enumerate(texts) for old in [text.partition(" instead of ")[2]] if old}
        return [text.partition(" instead of ")[0] for place, text in enumerate(texts) if gone.get(text, -1) < place]

    def export(self, user: str) -> list[str]:
        """Return what no later line took the place of."""
        return self._told(user)

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Return the same."""
        return self._told(user)[-k:]
