"""basic-memory through the functions behind its MCP tools: a project a user, a note a text, search by words."""

from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path
from typing import Any

from closure.interface import Memory

FOLDER = "facts"


class BasicMemory(Memory):
    """Its tools in one process, without the cloud, without vectors (their model would have to be fetched)."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        os.environ |= {
            "BASIC_MEMORY_HOME": str(folder / "main"), "BASIC_MEMORY_CONFIG_DIR": str(folder / "config"),
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false", "BASIC_MEMORY_LOG_LEVEL": "ERROR",
            "BASIC_MEMORY_AUTO_UPDATE": "false", "LOGFIRE_IGNORE_NO_CONFIG": "1",
        }  # fmt: skip
        from basic_memory.mcp import tools

        self._tools: Any = tools
        # One loop for all calls: the tools keep a database connection on it.
        self._loop = asyncio.new_event_loop()

    def _done(self, tool: str, **given: Any) -> Any:
        return self._loop.run_until_complete(getattr(self._tools, tool)(**given))

    def _project(self, user: str) -> str:
        place = self.folder / f"project-{user}"
        if not place.exists():
            self._done("create_memory_project", project_name=user, project_path=str(place))
        return user

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Write a note under a title of its own."""
        title = f"note {hashlib.sha256(text.encode()).hexdigest()[:12]}"
        said = self._done("write_note", title=title, content=text, directory=FOLDER, project=self._project(user),
                          output_format="json")  # fmt: skip
        return str(said.get("permalink") or f"{user}/{FOLDER}/{title.replace(' ', '-')}")

    def _found(self, user: str, query: str, k: int) -> list[dict[str, Any]]:
        said = self._done("search_notes", query=query, project=self._project(user), page_size=k, output_format="json")
        found: list[dict[str, Any]] = said["results"] if isinstance(said, dict) else []
        return found

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Search the user's project."""
        return [one["content"] for one in self._found(user, query, k)]

    def scores(self, user: str, query: str) -> list[float]:
        """Return the scores of that search."""
        return [one["score"] for one in self._found(user, query, 5)]

    def get(self, user: str, name: str) -> str:
        """Read a note in the user's project."""
        return str(self._done("read_note", identifier=name, project=self._project(user)))

    def correct(self, user: str, name: str, text: str) -> str:
        """Write the note again."""
        title = name.rsplit("/", 1)[-1].replace("-", " ")
        self._done("write_note", title=title, content=text, directory=FOLDER, project=self._project(user),
                   overwrite=True, output_format="json")  # fmt: skip
        return name

    def forget(self, user: str, name: str) -> None:
        """Delete the note."""
        self._done("delete_note", identifier=name, project=self._project(user), output_format="json")

    def erase(self, user: str) -> None:
        """Delete the folder of notes, then the project."""
        project = self._project(user)
        self._done("delete_note", identifier=FOLDER, is_directory=True, project=project, output_format="json")
        self._done("delete_project", project_name=user)

    def export(self, user: str) -> list[str]:
        """Read the files of the project, which are its export."""
        files = sorted((self.folder / f"project-{user}").rglob("*.md"))
        return [path.read_text().rsplit("---", 1)[-1].strip() for path in files]

    def close(self) -> None:
        """End the loop with what it has open."""
        from basic_memory import db

        self._loop.run_until_complete(db.shutdown_db())
