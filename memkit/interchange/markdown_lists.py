"""Lists in Markdown: what each bullet says, under which headings, and what stands around them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

BULLET = re.compile(r"(?P<indent>[ \t]*)(?:[-*+]|\d{1,9}[.)])[ \t]+(?P<text>\S.*)")
BOX = re.compile(r"\[(?P<mark>[ xX])\][ \t]+(?=\S)")
HEADING = re.compile(r" {0,3}(?P<level>#{1,6})[ \t]+(?P<text>.*?)[ \t]*#*[ \t]*")
FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}|~{3,})")
RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}")


@dataclass
class Bullet:
    """One entry of a list."""

    line: int
    text: str
    headings: tuple[str, ...]
    done: bool | None = None
    """Whether its box is ticked; None without a box."""
    indent: int = 0


@dataclass
class Lists:
    """What a text in Markdown holds."""

    bullets: list[Bullet] = field(default_factory=list)
    paragraphs: list[Bullet] = field(default_factory=list)
    """Running text, as if each paragraph were a bullet."""
    code: int = 0
    """Blocks of code, which are passed over."""


def read_lists(text: str) -> Lists:
    r"""Return the bullets and paragraphs of ``text``.

    A bullet that ends with a colon introduces those below it and is put before each: it is no statement of its own.

    >>> [bullet.text for bullet in read_lists("- Drinks:\n  - likes tea\n- plays chess").bullets]
    ['Drinks: likes tea', 'plays chess']
    """
    lists = Lists()
    headings: list[tuple[int, str]] = []
    current: Bullet | None = None
    for number, line in _prose(text, lists):
        if not line.strip() or RULE.fullmatch(line):
            current = None
        elif match := HEADING.fullmatch(line):
            level = len(match["level"])
            headings = [*(held for held in headings if held[0] < level), (level, match["text"])]
            current = None
        elif match := BULLET.fullmatch(line):
            current = _bullet(number, match, headings)
            lists.bullets.append(current)
        elif current is not None:
            current.text += f" {line.strip()}"
        else:
            current = Bullet(number, line.strip(), _names(headings))
            lists.paragraphs.append(current)
    lists.bullets = list(_introduced(lists.bullets))
    return lists


def _prose(text: str, lists: Lists) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines outside of code and comments, each of these as one blank line."""
    closing, in_comment = "", False
    for number, line in enumerate(text.splitlines(), 1):
        if in_comment or (not closing and line.lstrip().startswith("<!--")):
            _, ends, line = line.partition("-->")  # what stands behind a comment is said to the reader
            in_comment = not ends
            if not line.strip():
                continue
        fence = FENCE.match(line)
        if closing:
            if fence and fence["fence"].startswith(closing) and not line.strip(" \t`~"):
                closing = ""
        elif fence:
            closing = fence["fence"]
            lists.code += 1
            yield number, ""
        else:
            yield number, line


def _bullet(number: int, match: re.Match[str], headings: list[tuple[int, str]]) -> Bullet:
    box = BOX.match(match["text"])
    text = match["text"][box.end() :] if box else match["text"]
    done = box["mark"] in "xX" if box else None
    return Bullet(number, text.strip(), _names(headings), done, len(match["indent"].expandtabs(4)))


def _names(headings: list[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(text for _, text in headings if text)


def _introduced(bullets: list[Bullet]) -> Iterator[Bullet]:
    """Yield the bullets that say something, each after what introduces it."""
    above: list[tuple[int, str]] = []
    for place, bullet in enumerate(bullets):
        above = [held for held in above if held[0] < bullet.indent]
        follower = bullets[place + 1] if place + 1 < len(bullets) else None
        if bullet.text.endswith(":") and follower and follower.indent > bullet.indent:
            above.append((bullet.indent, bullet.text))
            continue
        bullet.text = " ".join([*(text for _, text in above), bullet.text])
        yield bullet
