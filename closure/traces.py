"""Search for a word on the disk: in files and their names, in compressed or encoded data, in git's objects."""

from __future__ import annotations

import base64
import gzip
import os
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path


def traces(folder: Path, word: str) -> list[str]:
    """Return where ``word`` is found below ``folder``, one line per place.

    ``word`` is a word that occurs nowhere else, of letters and digits.
    """
    wanted = spellings(word)
    found = []
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if word.casefold() in path.name.casefold():
            found.append(f"{name}: its name")
        if not path.is_file() or path.is_symlink():
            continue
        data = path.read_bytes()
        for how, piece in _readings(path, data):
            low = piece.lower()
            if any(spelling in (low if folded else piece) for spelling, folded in wanted):
                found.append(f"{name}{how}")
                break
    for repository in sorted(folder.rglob(".git")):
        if repository.is_dir():
            found += _in_objects(repository, wanted, folder)
    return found


def spellings(word: str) -> list[tuple[bytes, bool]]:
    """Return the encodings of a word, and whether case matters: plain, UTF-16, hex, base64 at each offset."""
    plain = word.casefold().encode()
    shapes = [(plain, True), (plain.decode().encode("utf-16-le"), True), (plain.hex().encode(), True)]
    for text in (word.encode(), plain):
        for offset in range(3):
            # The ends of an encoded piece depend on its neighbours.
            coded = base64.b64encode(b"\0" * offset + text)
            first, last = -(-offset * 8 // 6), len(coded) - 4
            shapes.append((coded[first:last], False))
    return shapes


def _readings(path: Path, data: bytes) -> Iterator[tuple[str, bytes]]:
    yield "", data
    if data[:2] == b"\x1f\x8b":
        try:
            yield " (gzip)", gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            return
    elif data[:1] == b"\x78":
        try:
            yield " (zlib)", zlib.decompressobj().decompress(data)
        except zlib.error:
            return


def _in_objects(repository: Path, wanted: list[tuple[bytes, bool]], folder: Path) -> list[str]:
    """Return git's objects that contain the word, including unreachable ones."""
    git = ["git", f"--git-dir={repository}", "cat-file", "--batch-all-objects", "--unordered"]
    clean = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1"}
    listed = subprocess.run([*git, "--batch-check=%(objectname) %(objecttype)"], capture_output=True, text=True,
                            check=False, env=clean).stdout.split("\n")  # fmt: skip
    everything = subprocess.run([*git, "--batch"], capture_output=True, check=False, env=clean).stdout
    low = everything.lower()
    if not any(spelling in (low if folded else everything) for spelling, folded in wanted):
        return []
    place = repository.relative_to(folder)
    return [f"{place}: an object of git, of {len(listed) - 1}"]
