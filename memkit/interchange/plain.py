"""Plain text and tables, and the notes of basic-memory: memory that was never a program's."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from memkit.errors import UsageError
from memkit.interchange.interface import ImportSource, Item, Passed, Unfit, Wishes, foreign
from memkit.interchange.markdown import LARGEST_TEXT, FolderPage, Lists, decoded, pages, read_lists
from memkit.runtime.memory.record.lines import Reason
from memkit.runtime.memory.words.text import fingerprint

TEXT_COLUMNS = ("text", "memory", "content", "fact", "note")
KNOWN = ("user_id", "agent_id", "session_id", "created_at", "valid_until", "tags", "type", "confidence")
BULLETS = re.compile(r"^(?:[-*+•]|\d{1,3}[.)])\s+")
OBSERVATION = re.compile(r"^\[(?P<category>[^\]\[]{1,60})\]\s+(?P<text>.+?)(?:\s+\((?P<context>[^()]*)\))?$")
RELATION = re.compile(r"^(?P<relation>[\w -]{1,60}?)\s*\[\[(?P<target>[^\]]+)\]\]")
TAG = re.compile(r"(?:^|\s)#([\w/-]+)")
TAGS_AT_END = re.compile(r"(?:\s+#[\w/-]+)+\s*$")
"""Other tags are words of the sentence: "uses #python for work"."""


def read_text(source: ImportSource, wishes: Wishes) -> Iterator[Item]:
    """Yield one memory per line with content."""
    with source.opened() as file:
        text = decoded(source.name, file.read(LARGEST_TEXT + 1))
    name = source.path.name if source.path else "stdin"
    for number, line in enumerate(text.splitlines(), 1):
        said = BULLETS.sub("", line.strip())
        if any(map(str.isalnum, said)):
            yield foreign(number, {"text": said, "source_url": f"text:{name}#{fingerprint(said)[:16]}"}, wishes)


def read_csv(source: ImportSource, wishes: Wishes) -> Iterator[Item]:
    """Yield one memory per row; ``--map text=COLUMN`` names the column of the text.

    Raises:
        UsageError: No column is known as the text.
    """
    with source.opened() as file:
        text = decoded(source.name, file.read(LARGEST_TEXT + 1))
    dialect: type[csv.Dialect] | str = "excel"
    with suppress(csv.Error):
        dialect = csv.Sniffer().sniff(text[:8192], delimiters=",;\t|")
    rows = csv.DictReader(io.StringIO(text), dialect=dialect, strict=False)
    columns = [name for name in rows.fieldnames or () if name]
    lowered = {name.strip().lower(): name for name in columns}
    column = wishes.names.get("text") or next((lowered[one] for one in TEXT_COLUMNS if one in lowered), None)
    if column not in columns:
        raise UsageError(
            f"{source.name} has no known text column (columns: {', '.join(columns) or 'none'}). Give --map text=COLUMN."
        )
    names = {ours: wishes.names.get(ours) or lowered.get(ours) for ours in KNOWN}
    name = source.path.name if source.path else "stdin"
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield Unfit(rows.line_num, (Reason("schema", f"The row cannot be read: {error}."),))
        else:
            yield _row(rows.line_num, row, column, names, wishes, name)


def _row(
    number: int, row: dict[str | None, Any], column: str, names: dict[str, str | None], wishes: Wishes, name: str
) -> Item:
    if None in row:  # its cells may belong to other columns, and one column may be the user
        why = "The row has more cells than the header. Quote a text that contains the separator."
        return Unfit(number, (Reason("schema", why),))
    text = (row.get(column) or "").strip()
    data: dict[str, object] = {"text": text, "source_url": f"csv:{name}#{fingerprint(text)[:16]}"}
    for ours, theirs in names.items():
        value = (row.get(theirs) or "").strip() if theirs else ""
        if value and ours == "tags":
            data[ours] = [one.strip() for one in re.split(r"[;,|]", value) if one.strip()]
        elif value and ours == "confidence":
            try:
                data[ours] = float(value)
            except ValueError:
                return Unfit(number, (Reason("schema", f"confidence {value!r:.40} is not a number from 0 to 1."),))
        elif value:
            data[ours] = value
    used = {column, *names.values()}
    rest = {key: value for key, value in row.items() if key and key not in used and value}
    return foreign(number, data | ({"csv": rest} if rest else {}), wishes)  # type: ignore[arg-type]


def read_basic_memory(source: ImportSource, wishes: Wishes) -> Iterator[Item]:
    """Yield the observations of every note, each with its subject, and its relations as sentences."""
    for page in pages(source):
        if isinstance(page, Passed):
            yield page
        else:
            yield from _note(page, read_lists(page.text), wishes)


def _note(page: FolderPage, lists: Lists, wishes: Wishes) -> Iterator[Item]:
    title = page.fields.get("title") or page.name.rpartition("/")[2].removesuffix(".md")
    left = 0
    for bullet in lists.bullets:
        relation, observation = RELATION.match(bullet.text), OBSERVATION.match(bullet.text)
        if relation:
            text = f"{title} {relation['relation'].strip().replace('_', ' ')} {relation['target']}"
            tags = ["relation"]
        elif observation:
            tags = [observation["category"], *TAG.findall(observation["text"])]
            text = f"{title}: {TAGS_AT_END.sub('', observation['text'])}"
            text += f" ({observation['context']})" if observation["context"] else ""
        else:
            left += 1
            continue
        address = f"basic-memory:{page.fields.get('permalink') or page.name}#{fingerprint(text)[:16]}"
        yield foreign(bullet.line, {"text": text, "tags": tags, "source_url": address}, wishes)
    if left or lists.paragraphs:
        why = "Only observations ('- [category] …') and relations ('- knows [[Bob]]') are memories."
        yield Passed(f"text of {page.name}", why, count=left + len(lists.paragraphs))


def shows_notes(text: str) -> bool:
    """Return whether a Markdown file is a note of basic-memory: its front matter contains a permalink."""
    head = text.split("\n---", 1)[0]
    return text.startswith("---") and "permalink:" in head
