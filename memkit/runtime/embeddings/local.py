"""A model from a local folder in the layout of sentence-transformers or Model2Vec; nothing is downloaded."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .interface import EmbeddingError, MissingLibrary

if TYPE_CHECKING:
    import numpy

OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "ORT_DISABLE_TELEMETRY")
"""Set before the libraries are loaded: official builds of onnxruntime otherwise report to their maker."""
NETWORKS = ("onnx/model.onnx", "model.onnx", "onnx/model_quantized.onnx", "onnx/model_qint8_avx512_vnni.onnx")
"""Where a folder may contain its ONNX network; the first one present is used."""
TABLES = ("model.safetensors", "0_StaticEmbedding/model.safetensors")
"""Where a folder may contain a table of token vectors instead."""
BESIDE = (
    "config.json", "tokenizer.json", "modules.json", "sentence_bert_config.json", "1_Pooling/config.json",
    "0_StaticEmbedding/tokenizer.json",
)  # fmt: skip
"""Further files that affect the vectors."""
AT_ONCE = 32
LONGEST = 512
"""The token limit of a network whose folder does not state one."""
HALF = 1 << 20
Encode = Callable[[Sequence[str]], "numpy.ndarray[Any, Any]"]


class LocalEmbedder:
    """Turns texts into vectors of length one; a text without a known word gets all zeros."""

    def __init__(self, folder: Path) -> None:
        """Load the model in ``folder``.

        Raises:
            MissingLibrary: A library needed to read it is not installed.
            EmbeddingError: There is no readable model.
        """
        weights = weights_in(folder)
        for name in OFFLINE:
            os.environ[name] = "1"
        try:
            self._encode = _network(folder, weights) if weights.suffix == ".onnx" else _table(folder)
            self.dimension = int(self._encode(["a"]).shape[1])
        except ImportError:
            raise MissingLibrary from None
        except Exception as error:  # whatever a library raises for a foreign file means that it cannot be read
            raise EmbeddingError(f"The embedding model in {folder} cannot be read: {_first_line(error)}") from error
        self.name = folder.resolve().name
        self.digest = _digest(folder, weights)

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector per text."""
        return [
            vector for start in range(0, len(texts), AT_ONCE) for vector in self._some(texts[start : start + AT_ONCE])
        ]

    def _some(self, texts: Sequence[str]) -> list[list[float]]:
        import numpy

        vectors = self._encode(texts).astype(numpy.float32)
        sizes = numpy.linalg.norm(vectors, axis=1, keepdims=True)
        found: list[list[float]] = (vectors / numpy.where(sizes > 0, sizes, 1.0)).tolist()
        return found


def weights_in(folder: Path) -> Path:
    """Return the model's main file in ``folder``: its network, else its table; raise ``EmbeddingError``."""
    found = next((folder / name for name in NETWORKS + TABLES if (folder / name).is_file()), None)
    if found is None:
        raise EmbeddingError(
            f"There is no embedding model in {folder} (neither {NETWORKS[0]} nor {TABLES[0]}). Set retrieval.vectors "
            "to a folder laid out as by sentence-transformers (ONNX) or Model2Vec, or to off."
        )
    return found


def _table(folder: Path) -> Encode:
    """Return the means of the tokens' vectors (https://github.com/MinishLab/model2vec)."""
    from model2vec import StaticModel

    model = StaticModel.from_pretrained(folder)
    return lambda texts: model.encode(list(texts), use_multiprocessing=False)


def _network(folder: Path, weights: Path) -> Encode:
    """Return an encoder using an ONNX network, with its token vectors pooled as the folder specifies."""
    import numpy
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(int(_read(folder, "sentence_bert_config.json").get("max_seq_length") or LONGEST))
    tokenizer.enable_padding(pad_id=int(_read(folder, "config.json").get("pad_token_id") or 0))
    session = InferenceSession(str(weights), providers=["CPUExecutionProvider"])
    inputs = {one.name for one in session.get_inputs()}
    outputs = [one.name for one in session.get_outputs()]
    whole = next((name for name in outputs if name == "sentence_embedding"), None)
    pooling = _read(folder, "1_Pooling/config.json")

    def encode(texts: Sequence[str]) -> numpy.ndarray[Any, Any]:
        read = tokenizer.encode_batch(list(texts))
        mask = numpy.array([one.attention_mask for one in read], dtype=numpy.int64)
        given = {
            "input_ids": numpy.array([one.ids for one in read], dtype=numpy.int64),
            "attention_mask": mask,
            "token_type_ids": numpy.array([one.type_ids for one in read], dtype=numpy.int64),
        }
        (answer,) = session.run([whole or outputs[0]], {name: given[name] for name in given if name in inputs})
        tokens = numpy.asarray(answer)
        counted = mask[:, :, None].astype(tokens.dtype)
        pooled: numpy.ndarray[Any, Any]
        if tokens.ndim == 2:
            pooled = tokens
        elif pooling.get("pooling_mode_cls_token"):
            pooled = tokens[:, 0]
        elif pooling.get("pooling_mode_max_tokens"):
            pooled = numpy.where(counted > 0, tokens, -numpy.inf).max(axis=1)
        else:
            pooled = (tokens * counted).sum(axis=1) / numpy.maximum(counted.sum(axis=1), 1)
        return pooled

    return encode


def _read(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if not isinstance(content, dict):
        raise EmbeddingError(f"{name} is not an object.")
    return content


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def _digest(folder: Path, weights: Path) -> str:
    """Return a digest of everything that affects the vectors."""
    total = hashlib.sha256()
    for path in (weights, weights.with_name(f"{weights.name}_data"), *(folder / name for name in BESIDE)):
        if path.is_file():
            total.update(f"\0{path.relative_to(folder)}\0".encode())
            with path.open("rb") as file:
                while part := file.read(HALF):
                    total.update(part)
    return total.hexdigest()[:16]
