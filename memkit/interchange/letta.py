"""Letta: an agent file (``.af``) of the present or the older shape, or the Markdown folder of its memory.

A block of core memory is taken line by line, except the persona, which says who the agent is. Nothing else in an agent
file is a fact about a user: conversations are listed and skipped, tools are code that is never run, and the variables
of their environment, which may be secrets, are not even read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from memkit.errors import UsageError
from memkit.interchange.containers import whole_document
from memkit.interchange.interface import ImportSource, Item, Passed, Wishes
from memkit.interchange.markdown import Bullet, memory, pages, read_lists

LEFT = {
    "messages": "Conversations are not facts.",
    "tools": "Tools are code: they are neither stored nor run.",
    "tool_exec_environment_variables": "They may contain secrets and were not read.",
    "files": "Files are not a user's memories.",
    "sources": "Sources are not a user's memories.",
    "mcp_servers": "Servers are not a user's memories.",
    "groups": "Groups are not a user's memories.",
    "skills": "Skills are not facts: write them with memkit skill new.",
}
NOT_OF_THE_USER = ("persona", "system", "skills", "tool_usage_rules")
"""Labels of blocks that say what the agent is or does."""


def read_letta(source: ImportSource, wishes: Wishes) -> Iterator[Item]:
    """Yield one memory per line of each block of core memory."""
    if source.path is not None and source.path.is_dir():
        yield from _folder(source, wishes)
        return
    document = whole_document(source)
    if not isinstance(document, dict) or not ({"agents", "blocks", "core_memory"} & document.keys()):
        raise UsageError(f"{source.name} is not an agent file: it has neither agents nor core_memory.")
    for place, block in enumerate(_blocks(document), 1):
        yield from _block(place, block, wishes)
    yield from _left(document)


def _blocks(document: Mapping[str, Any]) -> list[Any]:
    """Return every block once: of the file, of its agents, or of the one agent of the older shape."""
    agents = [agent for agent in _list(document, "agents") if isinstance(agent, dict)]
    names = ("blocks", "core_memory")
    return [block for holder in (document, *agents) for name in names for block in _list(holder, name)]


def _block(place: int, block: Any, wishes: Wishes) -> Iterator[Item]:
    label = block.get("label") if isinstance(block, dict) else None
    value = block.get("value") if isinstance(block, dict) else None
    if not isinstance(label, str) or not isinstance(value, str):
        yield Passed("block", "It has no label or no text.", line=place)
    elif label in NOT_OF_THE_USER:
        yield Passed(f"block {label[:60]}", "It says what the agent is, not who the user is.", line=place)
    else:
        own_id = block.get("id")
        name = own_id if isinstance(own_id, str) and own_id else label
        yield from _bullets_and_lines(value, label, f"letta:{name}", wishes)


def _bullets_and_lines(text: str, label: str, source_url: str, wishes: Wishes) -> Iterator[Item]:
    """Yield one memory per bullet, and one per line of running text."""
    lists = read_lists(text)
    said = text.splitlines()
    loose = [
        Bullet(number, line.strip(), paragraph.headings)
        for paragraph in lists.paragraphs
        for number, line in _lines_from(said, paragraph)
    ]
    for bullet in sorted([*lists.bullets, *loose], key=lambda bullet: bullet.line):
        yield memory(bullet, wishes, source_url=source_url, tags=[label])


def _lines_from(said: list[str], paragraph: Bullet) -> Iterator[tuple[int, str]]:
    rest = paragraph.text
    for number, line in enumerate(said[paragraph.line - 1 :], paragraph.line):
        if not line.strip() or not rest.startswith(line.strip()):
            return
        yield number, line
        rest = rest[len(line.strip()) :].lstrip()


def _left(document: Mapping[str, Any]) -> Iterator[Passed]:
    agents = [agent for agent in _list(document, "agents") if isinstance(agent, dict)]
    for name, why in LEFT.items():
        count = sum(_size(holder.get(name)) for holder in (document, *agents))
        if count:
            yield Passed(name, why, count=count)


def _folder(source: ImportSource, wishes: Wishes) -> Iterator[Item]:
    for page in pages(source):
        if isinstance(page, Passed):
            yield page
            continue
        place = PurePosixPath(page.name)
        if place.parts[0] == "skills":
            yield Passed(page.name, LEFT["skills"])
        elif place.parts[0] == "system" and place.stem in NOT_OF_THE_USER:
            yield Passed(page.name, "It says what the agent is, not who the user is.")
        else:
            yield from _bullets_and_lines(page.text, place.stem, f"letta:{page.name}", wishes)


def _list(holder: Mapping[str, Any], name: str) -> list[Any]:
    value = holder.get(name)
    return value if isinstance(value, list) else []


def _size(value: Any) -> int:
    return len(value) if isinstance(value, list | dict) else 0
