"""Memories as Markdown: lists of facts, files of a folder, and the memory files of Claude Code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memkit.errors import UsageError
from memkit.interchange.interface import ImportSource, Item, Passed, Wishes, foreign
from memkit.runtime.memory.record.record import MAX_NAME
from memkit.runtime.memory.words.text import fingerprint

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
    """The contents of a Markdown text."""

    bullets: list[Bullet] = field(default_factory=list)
    paragraphs: list[Bullet] = field(default_factory=list)
    """Running text, as if each paragraph were a bullet."""
    code: int = 0
    """Number of code blocks, which are skipped."""


def read_lists(text: str) -> Lists:
    r"""Return the bullets and paragraphs of ``text``.

    A bullet that ends with a colon introduces those below it and is put before each: it is not a statement of its own.

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
    """Yield the numbered lines outside code and comments, each of these as one blank line."""
    closing, in_comment = "", False
    for number, line in enumerate(text.splitlines(), 1):
        if in_comment or (not closing and line.lstrip().startswith("<!--")):
            _, ends, line = line.partition("-->")  # text after a comment is visible to the reader
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
    """Yield the bullets with content, each after its introductions."""
    above: list[tuple[int, str]] = []
    for place, bullet in enumerate(bullets):
        above = [held for held in above if held[0] < bullet.indent]
        follower = bullets[place + 1] if place + 1 < len(bullets) else None
        if bullet.text.endswith(":") and follower and follower.indent > bullet.indent:
            above.append((bullet.indent, bullet.text))
            continue
        bullet.text = " ".join([*(text for _, text in above), bullet.text])
        yield bullet


LARGEST_TEXT = 16 * 1024 * 1024


def read_markdown(source: ImportSource, wishes: Wishes) -> Iterator[Item]:
    """Yield one memory per bullet; the text around them is not a memory."""
    with source.opened() as file:
        lists = read_lists(decoded(source.name, file.read(LARGEST_TEXT + 1)))
    name = source.path.name if source.path else "stdin"
    for bullet in lists.bullets:
        yield memory(bullet, wishes, source_url=f"markdown:{name}")
    if lists.paragraphs:
        first = lists.paragraphs[0].line
        yield Passed("paragraph", "Only bullets are memories.", line=first, count=len(lists.paragraphs))
    if lists.code:
        yield Passed("block of code", "Code is not a memory.", count=lists.code)


def memory(bullet: Bullet, wishes: Wishes, *, source_url: str, tags: Sequence[str] = ()) -> Item:
    """Return a bullet as a memory; the digest of its text distinguishes it from the others in its file."""
    boxes = {True: ["done"], False: ["to-do"], None: []}[bullet.done]
    labels = [label[:MAX_NAME] for label in dict.fromkeys([*tags, *bullet.headings, *boxes]) if label]
    data = {"text": bullet.text, "tags": labels, "source_url": f"{source_url}#{fingerprint(bullet.text)[:16]}"}
    return foreign(bullet.line, data, wishes)


def decoded(name: str, data: bytes) -> str:
    """Return the text of a file; raise ``UsageError`` if it is not text."""
    if len(data) > LARGEST_TEXT:
        raise UsageError(f"{name} is larger than {LARGEST_TEXT >> 20} MB. Split it.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{name} is not UTF-8 text.") from None
    if "\0" in text:
        raise UsageError(f"{name} is not text: it contains zero bytes.")
    return text


MOST_FILES = 10_000


@dataclass(frozen=True)
class FolderPage:
    """A text with the fields before it."""

    name: str
    """Its path in the folder."""
    fields: dict[str, str]
    text: str


def pages(source: ImportSource) -> Iterator[FolderPage | Passed]:
    """Yield the Markdown files of a folder by name, or the one file; links are listed and not followed."""
    if source.path is None or not source.path.is_dir():
        with source.opened() as file:
            text = decoded(source.name, file.read(LARGEST_TEXT + 1))
        yield _page(source.path.name if source.path else "stdin", text)
        return
    seen = 0
    for folder, folders, files in os.walk(source.path, followlinks=False):
        folders.sort()
        for name in sorted(files):
            path = Path(folder) / name
            place = path.relative_to(source.path).as_posix()
            seen += 1
            if seen > MOST_FILES:
                raise UsageError(f"{source.name} contains more than {MOST_FILES:,} files. Is it the right folder?")
            if path.is_symlink() or not path.is_file():
                yield Passed(place, "Links are not followed.")
            elif path.suffix == ".md":
                yield _page(place, _text(path))
        for linked in [name for name in folders if (Path(folder) / name).is_symlink()]:
            yield Passed(linked, "Links are not followed.")


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return decoded(str(path), file.read(LARGEST_TEXT + 1))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error


def _page(name: str, text: str) -> FolderPage:
    """Return a text without its front matter, whose lines become blank ones so that line numbers stay correct."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        return FolderPage(name, {}, text)
    end = next((place for place, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    pairs = (line.partition(":") for line in lines[1:end])
    fields = {key.strip(): value.strip().strip("'\"") for key, colon, value in pairs if colon}
    return FolderPage(name, fields, "\n".join([""] * (end + 1) + lines[end + 1 :]) if end else text)


INSTRUCTIONS = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md")
POINTER = re.compile(r"\[[^\]]*\]\((?!\w+:)[^)\s]+\.md(?:#[^)]*)?\)")
"""A link to another file of the folder, by which the index names its topics."""
INCLUDE = re.compile(r"@\S+")


def read_claude(source: ImportSource, wishes: Wishes) -> Iterator[Item]:
    """Yield one memory per bullet, and one per paragraph of a topic without bullets, of every file by name."""
    for page in pages(source):
        if isinstance(page, Passed):
            yield page
        elif page.name.rpartition("/")[2] in INSTRUCTIONS:
            why = "It contains instructions, not facts: draft a skill or a policy from it."
            yield Passed(page.name, why)
        else:
            yield from _memories(page, wishes)


def _memories(page: FolderPage, wishes: Wishes) -> Iterator[Item]:
    lists = read_lists(page.text)
    is_index = page.name.rpartition("/")[2] == "MEMORY.md"
    tags = [page.fields[key] for key in ("name", "type") if page.fields.get(key)]
    for bullet in lists.bullets or ([] if is_index else lists.paragraphs):
        if INCLUDE.match(bullet.text):
            yield Passed(f"reference in {page.name}", "References are not followed.", line=bullet.line)
        elif is_index and POINTER.match(bullet.text):
            yield Passed(f"entry of {page.name}", "It names a topic, which is read separately.", line=bullet.line)
        else:
            yield memory(bullet, wishes, source_url=f"claude:{page.name}", tags=tags)
    left = len(lists.paragraphs) if lists.bullets or is_index else 0
    if left:
        yield Passed(f"paragraph of {page.name}", "In a file with bullets, other text is not a memory.", count=left)
    if lists.code:
        yield Passed(f"block of code in {page.name}", "Code is not a memory.", count=lists.code)
