"""A static embedding model from a folder on this machine; nothing is ever downloaded."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memkit.errors import EnvironmentFault, MissingExtra

if TYPE_CHECKING:
    from model2vec import StaticModel

OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
EXTRA = "Search by meaning needs pip install 'memkit-agent[embeddings]'; or set retrieval.vectors to off."


class LocalEmbedder:
    """Turns texts into vectors with a Model2Vec model (https://github.com/MinishLab/model2vec)."""

    def __init__(self, folder: Path) -> None:
        """Load the model in ``folder``.

        Raises:
            MissingExtra: The libraries are not installed.
            EnvironmentFault: There is no model that can be read.
        """
        if not (folder / "config.json").is_file():
            raise EnvironmentFault(
                f"There is no embedding model in {folder} (no config.json). Name the folder of a Model2Vec model in "
                "retrieval.vectors, or set it to off."
            )
        self._model = _load(folder)
        self.name = folder.resolve().name
        self.dimension = int(self._model.dim)

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector a text, all of length one; that of a text without a known word is all zeros."""
        vectors = self._model.encode(list(texts), normalize=True, use_multiprocessing=False)
        return [[float(number) for number in vector] for vector in vectors]


def _load(folder: Path) -> StaticModel:
    for name in OFFLINE:
        os.environ[name] = "1"
    try:
        from model2vec import StaticModel
    except ImportError:
        raise MissingExtra(EXTRA) from None
    try:
        return StaticModel.from_pretrained(folder)
    except Exception as error:  # whatever a foreign file makes the library raise: it cannot be read
        raise EnvironmentFault(f"The embedding model in {folder} cannot be read: {error}") from error
