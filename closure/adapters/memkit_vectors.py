"""memkit with a small network for search by meaning, which its user chose and put together."""

from __future__ import annotations

import os

from closure.adapters.memkit_files import MemkitFiles

MODEL = "minilm 384 7edee52b329d9889"
"""Name, dimension and digest of its files: memkit refuses any other one."""


class MemkitVectors(MemkitFiles):
    """The store names the folder, and a floor that suits any network."""

    def _prepare(self) -> None:
        if "vector_model" in (self._place / "memkit.yaml").read_text("utf-8"):
            return  # a later start
        named = {"vectors": os.environ["CLOSURE_MODEL"], "vector_model": MODEL, "vector_floor": "auto"}
        for key, value in named.items():
            self.command("config", "set", f"retrieval.{key}", value)
