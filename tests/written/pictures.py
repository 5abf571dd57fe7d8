"""Take the pictures of a newcomer's way that ``docs/page.md`` shows.

``python -m tests.written.pictures`` writes ``docs/pictures`` of the checkout anew, by the test that goes this way in a
real browser. A picture keeps 256 colours, so that it stays small.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from . import CHECKOUT

PICTURES = CHECKOUT / "docs" / "pictures"
SMALL = 60_000
"""The bytes that a picture has at most."""
TEST = "tests/serving/test_page_in_browser.py::test_a_newcomer_finds_corrects_and_bars_a_wrong_belief"
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def parts_of(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the kind and the data of each part of a picture."""
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def _rows(png: bytes) -> tuple[int, list[bytearray]]:
    """Return the width, and the rows of red, green and blue."""
    parts = list(parts_of(png))
    width, _, depth, colours = struct.unpack(">IIBB", parts[0][1][:10])
    step = {2: 3, 6: 4}[colours]
    assert depth == 8, "browsers write eight bits a colour"
    raw = zlib.decompress(b"".join(data for kind, data in parts if kind == b"IDAT"))
    rows, above = [], bytearray(width * step)
    for start in range(0, len(raw), width * step + 1):
        row = bytearray(raw[start + 1 : start + 1 + width * step])
        for at in range(len(row)) if raw[start] else ():
            left, up = row[at - step] if at >= step else 0, above[at]
            row[at] = (row[at] + _guess(raw[start], left, up, above[at - step] if at >= step else 0)) & 255
        rows.append(row)
        above = row
    if step == 4:
        rows = [bytearray(value for at, value in enumerate(row) if at % 4 != 3) for row in rows]
    return width, rows


def _guess(kind: int, left: int, up: int, corner: int) -> int:
    if kind < 4:
        return (0, left, up, (left + up) // 2)[kind]
    near = left + up - corner
    return min((left, up, corner), key=lambda value: abs(near - value))


def made_small(png: bytes) -> bytes:
    """Return a picture with at most 256 colours: the most frequent, the others as the nearest of them."""
    width, rows = _rows(png)
    pixels = [[bytes(row[at : at + 3]) for at in range(0, len(row), 3)] for row in rows]
    colours = Counter(pixel for row in pixels for pixel in row)
    kept = [colour for colour, _ in colours.most_common(256)]
    place = {colour: number for number, colour in enumerate(kept)}
    for colour in colours:
        if colour not in place:
            place[colour] = min(
                range(len(kept)), key=lambda at: sum((a - b) ** 2 for a, b in zip(kept[at], colour, strict=True))
            )
    raw = b"".join(b"\0" + bytes(place[pixel] for pixel in row) for row in pixels)
    head = struct.pack(">IIBBBBB", width, len(rows), 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", b"".join(kept)), (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )


def write_pictures() -> None:
    """Go the way in a browser, and keep what was seen."""
    PICTURES.mkdir(exist_ok=True)
    for old in PICTURES.glob("*.png"):
        old.unlink()
    environment = {**os.environ, "MEMKIT_PICTURES": str(PICTURES), "PYTHONPATH": str(CHECKOUT)}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", TEST]
    subprocess.run(words, check=True, cwd=CHECKOUT, env=environment)
    for path in sorted(PICTURES.glob("*.png")):
        Path(path).write_bytes(made_small(path.read_bytes()))


if __name__ == "__main__":
    write_pictures()
