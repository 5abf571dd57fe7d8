"""The pictures in the docs are those that the docs show, and small."""

from __future__ import annotations

import re
import struct
import zlib

from hypothesis import given
from hypothesis import strategies as st

from tests.written import CHECKOUT
from tests.written.pictures import PICTURES, SIGNATURE, SMALL, made_small, parts_of

colours = st.binary(min_size=3, max_size=3)


def test_each_picture_is_shown_and_small() -> None:
    """None is left over, none is missing, and each has a text for who cannot see it."""
    shown = re.findall(r"!\[(.{30,})\]\(pictures/(.+)\)", (CHECKOUT / "docs" / "page.md").read_text("utf-8"))

    assert sorted(name for _, name in shown) == sorted(path.name for path in PICTURES.glob("*.png"))
    assert all(path.stat().st_size <= SMALL for path in PICTURES.glob("*.png"))
    assert all(path.read_bytes().startswith(SIGNATURE) for path in PICTURES.glob("*.png"))


@given(st.lists(st.lists(colours, min_size=4, max_size=4), min_size=1, max_size=5), st.integers(0, 4))
def test_few_colours_stay_as_they_are(pixels: list[list[bytes]], filtering: int) -> None:
    """Whatever a browser filtered its rows by."""
    raw, above = b"", bytes(12)
    for row in (b"".join(row) for row in pixels):
        raw += bytes([filtering]) + bytes(
            (value - guess(filtering, row[at - 3] if at > 2 else 0, above[at], above[at - 3] if at > 2 else 0)) & 255
            for at, value in enumerate(row)
        )
        above = row
    head = struct.pack(">IIBBBBB", 4, len(pixels), 8, 2, 0, 0, 0)
    png = SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + b"\0" * 4
        for kind, data in ((b"IHDR", head), (b"IDAT", zlib.compress(raw)), (b"IEND", b""))
    )

    parts = dict(parts_of(made_small(png)))

    palette, rows = parts[b"PLTE"], zlib.decompress(parts[b"IDAT"])
    seen = [[palette[3 * rows[5 * y + 1 + x] :][:3] for x in range(4)] for y in range(len(pixels))]
    assert seen == pixels


def guess(kind: int, left: int, up: int, corner: int) -> int:
    """Return what the standard predicts a byte to be."""
    if kind == 4:
        near = left + up - corner
        a, b, c = abs(near - left), abs(near - up), abs(near - corner)
        return left if a <= b and a <= c else up if b <= c else corner
    return {0: 0, 1: left, 2: up, 3: (left + up) // 2}[kind]
