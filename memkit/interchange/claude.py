"""Claude Code: the folder of memory it keeps for a project, an index ``MEMORY.md`` with topic files, or one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memkit.interchange.folder import Page, pages
from memkit.interchange.interface import Item, Passed, Source, Wishes
from memkit.interchange.markdown import memory
from memkit.interchange.markdown_lists import read_lists

INSTRUCTIONS = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md")
POINTER = re.compile(r"\[[^\]]*\]\((?!\w+:)[^)\s]+\.md(?:#[^)]*)?\)")
"""A link to another file of the folder, which is how the index names its topics."""
INCLUDE = re.compile(r"@\S+")


class ClaudeReader:
    """Reads one memory a bullet, and one a paragraph of a topic that has no bullets."""

    def read(self, source: Source, wishes: Wishes) -> Iterator[Item]:
        """Yield the memories of every file, by name."""
        for page in pages(source):
            if isinstance(page, Passed):
                yield page
            elif page.name.rpartition("/")[2] in INSTRUCTIONS:
                why = "It holds instructions, which are no facts: draft a skill or a policy from it."
                yield Passed(page.name, why)
            else:
                yield from _memories(page, wishes)


def _memories(page: Page, wishes: Wishes) -> Iterator[Item]:
    lists = read_lists(page.text)
    is_index = page.name.rpartition("/")[2] == "MEMORY.md"
    tags = [page.fields[key] for key in ("name", "type") if page.fields.get(key)]
    for bullet in lists.bullets or ([] if is_index else lists.paragraphs):
        if INCLUDE.match(bullet.text):
            yield Passed(f"reference in {page.name}", "A reference is not followed.", line=bullet.line)
        elif is_index and POINTER.match(bullet.text):
            yield Passed(f"entry of {page.name}", "It names a topic, which is read by itself.", line=bullet.line)
        else:
            yield memory(bullet, wishes, source_url=f"claude:{page.name}", tags=tags)
    left = len(lists.paragraphs) if lists.bullets or is_index else 0
    if left:
        yield Passed(f"paragraph of {page.name}", "Beside bullets, running text is no memory.", count=left)
    if lists.code:
        yield Passed(f"block of code in {page.name}", "Code is no memory.", count=lists.code)
