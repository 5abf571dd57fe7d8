"""Let basic-memory write a note into a project's folder."""

import asyncio
import sys
from pathlib import Path

from basic_memory.markdown import EntityParser, MarkdownProcessor
from basic_memory.markdown.schemas import EntityFrontmatter, EntityMarkdown, Observation, Relation

FOLDER = Path(sys.argv[1])
note = EntityMarkdown(
    frontmatter=EntityFrontmatter(metadata={"title": "Ada", "type": "person", "permalink": "people/ada"}),
    content="# Ada",
    observations=[
        Observation(category="preference", content="Prefers espresso #drinks", tags=["drinks"], context="at work"),
        Observation(category="home", content="Lives in Oslo", tags=[]),
    ],
    relations=[Relation(type="works_with", target="Bob")],
)
processor = MarkdownProcessor(EntityParser(FOLDER))
asyncio.run(processor.write_file(FOLDER / "people" / "ada.md", note))
