"""Plain lists in Markdown: one memory a bullet, the headings above it as tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memkit.errors import UsageError
from memkit.interchange.found import foreign
from memkit.interchange.interface import Item, Passed, Source, Wishes
from memkit.interchange.markdown_lists import Bullet, read_lists
from memkit.runtime.memory.record.fields import MAX_NAME
from memkit.runtime.memory.words.text import fingerprint

LARGEST_TEXT = 16 * 1024 * 1024


class MarkdownReader:
    """Reads bullets; what stands around them is no memory."""

    def read(self, source: Source, wishes: Wishes) -> Iterator[Item]:
        """Yield one memory a bullet."""
        with source.opened() as file:
            lists = read_lists(decoded(source.name, file.read(LARGEST_TEXT + 1)))
        name = source.path.name if source.path else "stdin"
        for bullet in lists.bullets:
            yield memory(bullet, wishes, source_url=f"markdown:{name}")
        if lists.paragraphs:
            first = lists.paragraphs[0].line
            yield Passed("paragraph", "Only bullets are memories.", line=first, count=len(lists.paragraphs))
        if lists.code:
            yield Passed("block of code", "Code is no memory.", count=lists.code)


def memory(bullet: Bullet, wishes: Wishes, *, source_url: str, tags: Sequence[str] = ()) -> Item:
    """Return what a bullet says as a memory; its text's digest tells it from the others of its file."""
    boxes = {True: ["done"], False: ["to-do"], None: []}[bullet.done]
    labels = [label[:MAX_NAME] for label in dict.fromkeys([*tags, *bullet.headings, *boxes]) if label]
    data = {"text": bullet.text, "tags": labels, "source_url": f"{source_url}#{fingerprint(bullet.text)[:16]}"}
    return foreign(bullet.line, data, wishes)


def decoded(name: str, data: bytes) -> str:
    """Return the text of a file; raises ``UsageError`` for one that is none."""
    if len(data) > LARGEST_TEXT:
        raise UsageError(f"{name} is larger than {LARGEST_TEXT >> 20} MB. Split it.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{name} is not a text in UTF-8.") from None
    if "\0" in text:
        raise UsageError(f"{name} is not a text: it holds bytes of zero.")
    return text
