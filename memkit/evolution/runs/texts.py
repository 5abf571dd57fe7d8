"""The texts of the judged programs, by id: one file a generation, which is written whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from memkit.errors import EnvironmentFault
from memkit.evolution.runs.errors import RunFault
from memkit.store.files import write_whole

FOLDER = "programs"


class Texts:
    """The texts of one run. A file for each program would cost a wait for the disk each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER

    def write(self, generation: int, texts: Mapping[str, str]) -> None:
        """Keep the texts that a generation made; repeating a generation writes the same again.

        Raises:
            RunFault: The disk does not take them.
        """
        lines = [json.dumps({"id": id, "text": text}) for id, text in texts.items()]
        try:
            write_whole(self._file(generation), "".join(f"{line}\n" for line in lines).encode(), mode=0o600)
        except EnvironmentFault as fault:
            raise RunFault(f"{fault} Make room and resume.", path=str(self._file(generation))) from None

    def all(self, *, last: int) -> dict[str, str]:
        """Return the texts of the generations up to ``last`` by the id of their program.

        Raises:
            RunFault: A file of them is damaged.
        """
        found: dict[str, str] = {}
        for path in map(self._file, range(1, last + 1)):
            if not path.exists():
                continue
            for number, line in enumerate(path.read_bytes().splitlines(), 1):
                try:
                    entry = json.loads(line)
                    found[entry["id"]] = entry["text"]
                except (ValueError, TypeError, KeyError):
                    raise RunFault(f"{path}:{number}: The line is damaged.", path=str(path), line=number) from None
        return found

    def _file(self, generation: int) -> Path:
        return self._folder / f"{generation:06}.jsonl"
