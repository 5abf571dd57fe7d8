"""Which model the vectors of a store are of: written once into ``memkit.yaml``, and held to from then on."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from memkit.errors import EnvironmentFault, StoreFault
from memkit.runtime.memory.index.search import Embedder
from memkit.store.manifest import change_manifest

KEY = "retrieval.vector_model"


def agree_on_model(root: Path, agreed: str, embedder: Embedder) -> None:
    """Hold ``embedder`` to the model that the store agreed on; a store that has none yet agrees on this one.

    Raises:
        StoreFault: The store's vectors are of another model; the message names both and the two ways out.
    """
    model = model_of(embedder)
    if not agreed:
        # Where the store cannot be written the question can still be answered, and the next one agrees.
        with suppress(EnvironmentFault):
            set_model(root, embedder)
    elif agreed != model:
        raise StoreFault(
            f"This store's vectors are of the model {agreed!r} and retrieval.vectors names {model!r}. Name the folder "
            "of the former there, or take the new one for good: memkit index rebuild --vectors."
        )


def set_model(root: Path, embedder: Embedder) -> None:
    """Write into the store that its vectors are of this model from now on."""
    change_manifest(root, KEY, model_of(embedder), f"Search by the vectors of {embedder.name}")


def model_of(embedder: Embedder) -> str:
    """Return a model's name and dimension as the store writes them down."""
    return f"{embedder.name} {embedder.dimension}"
