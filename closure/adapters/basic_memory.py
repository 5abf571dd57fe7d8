"""basic-memory through the functions behind its MCP tools: one project per user, one note per text, word search."""

from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path
from threading import Thread
from typing import Any

from closure.interface import Memory

FOLDER = "facts"


class BasicMemory(Memory):
    """Its tools in one process, without the cloud, without vectors (their model would have to be downloaded)."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        os.environ |= {
            "BASIC_MEMORY_HOME": str(folder / "main"), "BASIC_MEMORY_CONFIG_DIR": str(folder / "config"),
            "BASIC_MEMORY_SEMANTIC_SEARCH_ENABLED": "false", "BASIC_MEMORY_LOG_LEVEL": "ERROR",
            "BASIC_MEMORY_AUTO_UPDATE": "false", "LOGFIRE_IGNORE_NO_CONFIG": "1",
        }  # fmt: skip
        from basic_memory.mcp import tools

        self._tools: Any = tools
        # One loop that never stands still, as a server's: after a call is answered the tools write files on it.
        self._loop = asyncio.new_event_loop()
        Thread(target=self._loop.run_forever, daemon=True).start()

    def _done(self, tool: str, **given: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(getattr(self._tools, tool)(**given), self._loop).result()

    def _project(self, user: str) -> str:
        """Return a user's project; the very first is the default, which cannot be deleted, so it belongs to nobody."""
        if not (default := self.folder / "default").exists():
            self._done("create_memory_project", project_name="default", project_path=str(default))
        place = self.folder / f"project-{user}"
        if not place.exists():
            self._done("create_memory_project", project_name=user, project_path=str(place))
        return user

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Write a note under its own title."""
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
        """Delete the project with its notes."""
        self._done("delete_project", project_name=self._project(user), delete_notes=True)

    def export(self, user: str) -> list[str]:
        """List the notes and read each: files follow what was answered, so a look at them may come too early."""
        project, notes, page = self._project(user), list[str](), 0
        while True:
            page += 1
            listed = self._done("list_directory", dir_name=FOLDER, page=page, page_size=200, project=project,
                                output_format="json")  # fmt: skip
            for node in listed["nodes"]:
                read = self._done("read_note", identifier=node["permalink"], project=project, output_format="json")
                notes.append(str(read["content"]).strip())
            if not listed["has_more"]:
                return notes

    def close(self) -> None:
        """Close what it has open."""
        from basic_memory import db

        asyncio.run_coroutine_threadsafe(db.shutdown_db(), self._loop).result()
