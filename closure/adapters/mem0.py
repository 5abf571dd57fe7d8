"""Mem0's open-source library with its local Qdrant; ``infer=False``, because there is no model to infer with."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

from closure.adapters.hashed_words import DIMENSIONS, embed
from closure.interface import CannotError, Memory


class Words:
    """An embedder for Mem0 without a model."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return a vector of words."""
        return embed(text)

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        """Return the vectors of texts."""
        return [embed(text) for text in texts]


class Mem0(Memory):
    """``Memory.from_config`` as in its documentation, on disk."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        # It creates OpenAI clients at start; they are never called.
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0"), "OPENAI_API_KEY": "none"}
        from mem0 import Memory as Library

        vectors = {"collection_name": "ours", "embedding_model_dims": DIMENSIONS, "path": str(folder / "vectors"),
                   "on_disk": True}  # fmt: skip
        self._memory: Any = Library.from_config(
            {"vector_store": {"provider": "qdrant", "config": vectors}, "history_db_path": str(folder / "history.db")}
        )
        self._memory.embedding_model = Words()

    def remember(self, user: str, text: str, via: str = "user") -> str:
        """Add it unchanged."""
        return str(self._memory.add(text, user_id=user, infer=False)["results"][0]["id"])

    def _found(self, user: str, query: str, k: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._memory.search(query, filters={"user_id": user}, top_k=k)["results"]
        return found

    def recall(self, user: str, query: str, k: int = 5) -> list[str]:
        """Search with the user as filter, which it requires."""
        return [one["memory"] for one in self._found(user, query, k)]

    def scores(self, user: str, query: str) -> list[float]:
        """Return the scores of that search."""
        return [one["score"] for one in self._found(user, query, 5)]

    def get(self, user: str, name: str) -> str:
        """Read it by its id; the library takes no user here."""
        return str(self._memory.get(name)["memory"])

    def correct(self, user: str, name: str, text: str) -> str:
        """Update it in place."""
        self._memory.update(name, text=text)
        return name

    def forget(self, user: str, name: str) -> None:
        """Delete it."""
        self._memory.delete(name)

    def erase(self, user: str) -> None:
        """Delete everything of the user."""
        self._memory.delete_all(user_id=user)

    def export(self, user: str) -> list[str]:
        """Return everything of the user."""
        return [one["memory"] for one in self._memory.get_all(filters={"user_id": user}, top_k=10000)["results"]]

    def as_of(self, user: str, query: str, day: str) -> list[str]:
        """It has a reference date for ranking, but no view of another day."""
        raise CannotError("a search takes a reference date for its ranking, and shows no earlier state")

    def remember_until(self, user: str, text: str, day: str) -> str:
        """Add it with its expiration date."""
        added = self._memory.add(text, user_id=user, infer=False, expiration_date=day)
        return str(added["results"][0]["id"])

    def front_door(self, attack: str) -> dict[str, list[bool | None]]:
        """Run the suite's own adapter for it, with its embedding that needs no model."""
        from agmi.adapters.mem0_semantic import Mem0SemanticAdapter
        from agmi.embedders import get_embedder

        from closure.adapters.at_rest import front_door_outcomes

        return front_door_outcomes(Mem0SemanticAdapter(get_embedder("hash")), attack)

    def provenance(self, user: str, name: str) -> str:
        """Return its history, which has times but no author."""
        return str([(one["event"], one["created_at"]) for one in self._memory.history(name)])

    def close(self) -> None:
        """Close what it has open, and the vectors, which it leaves open."""
        self._memory.close()
        self._memory.vector_store.client.close()

    def at_rest(self, number: int) -> str:
        """Run the suite's edit on its own adapter."""
        from closure.adapters.at_rest import edit_verdict

        return edit_verdict("agmi.adapters.mem0_at_rest:Mem0AtRestAdapter", number)

    def reproduces(self, issue: str) -> str:
        """Reproduce mem0#6512: after ``delete_all`` the history still contains the text."""
        self.remember("ada", "Ada keeps quokkas")
        self.erase("ada")
        with sqlite3.connect(self.folder / "history.db") as history:
            rows = history.execute("SELECT event, old_memory, new_memory FROM history").fetchall()
        held = [row[0] for row in rows if "quokkas" in f"{row}"]
        return f"after delete_all its history holds the text in rows {held}" if held else ""
