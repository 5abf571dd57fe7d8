"""The interface of embedding models, and the errors of this room, each with its exit code.

EmbeddingError (exit_code 3)
├── MissingLibrary (3)   a library for reading models or finding neighbours is not installed
└── OtherModel (3)       vectors are of another model than the current one
"""

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """A model that turns texts into vectors of one length: from a folder, or a hosted service behind this protocol.

    A model whose files can change under the same name also has a ``digest`` of them.
    """

    @property
    def name(self) -> str:
        """Return the model's name."""

    @property
    def dimension(self) -> int:
        """Return the length of its vectors."""

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector per text."""


class EmbeddingError(Exception):
    """Report in one line what is wrong with a model, and what to do."""

    exit_code = 3
    code = "environment"


class MissingLibrary(EmbeddingError):
    """Report which libraries are not installed."""

    code = "missing"

    def __init__(self) -> None:
        super().__init__(
            "Search by meaning needs libraries: pip install model2vec onnxruntime tokenizers numpy (the extra "
            "memkit-agent[embeddings]); or set retrieval.vectors to off."
        )


class OtherModel(EmbeddingError):
    """Report that vectors are of another model than the current one."""

    code = "store"


def identity(embedder: Embedder) -> str:
    """Return a text that is equal for two models only if their vectors are compatible: name, dimension, file digest."""
    digest = getattr(embedder, "digest", "")
    return f"{embedder.name} {embedder.dimension}{f' {digest}' if digest else ''}"


def hold_to(agreed: str, embedder: Embedder) -> None:
    """Check ``embedder`` against the model that a store settled on; any will do if there is none yet.

    Raises:
        OtherModel: The store's vectors are of another model; the message names both and the two ways out.
    """
    if agreed and agreed != identity(embedder):
        raise OtherModel(
            f"This store's vectors come from the model {agreed!r}, but retrieval.vectors names "
            f"{identity(embedder)!r}. Name the folder of the former, or switch to the new one: memkit index rebuild "
            "--vectors."
        )
