"""Counts tokens: exactly where an encoding lies on this machine, otherwise by an estimate that states its error."""

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

ENCODING_HASHES = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""SHA-256 of the published encoding files."""

ENCODING_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
PIECE = 20_000
"""Characters counted at once; very long texts cost an encoder more than their length."""


class TokenCounter:
    """Counts the tokens of a text; says by which rule and how far it may be off."""

    def __init__(self, name: str, error_bound: str, count: Callable[[str], int]) -> None:
        self.name = name
        """``tiktoken:<encoding>`` or ``estimate``"""
        self.error_bound = error_bound
        self._count = count

    def __call__(self, text: str) -> int:
        """Return how many tokens ``text`` has."""
        return self._count(text)

    def __repr__(self) -> str:
        return f"TokenCounter({self.name}: {self.error_bound})"


ESTIMATE_BOUND = (
    "at most 5 % under on prose, code, Markdown and logs, 25 % on one short line; usually 25-60 % over. "
    "Calibrated against cl100k and o200k only."
)


def counter(model_encoding: str = "o200k_base") -> TokenCounter:
    """Return a counter by ``model_encoding`` where its file is cached here, else the estimate; never the network."""
    if cached_encoding(model_encoding) is None or find_spec("tiktoken") is None:
        return TokenCounter("estimate", ESTIMATE_BOUND, estimate)
    return TokenCounter(f"tiktoken:{model_encoding}", "exact for models of this encoding", _Encoder(model_encoding))


def cached_encoding(name: str) -> Path | None:
    """Return the encoding's file in tiktoken's local cache if it is whole; tiktoken would fetch a broken one again."""
    wanted = ENCODING_HASHES.get(name)
    path = _cache_directory() / hashlib.sha1(ENCODING_URL.format(name).encode(), usedforsecurity=False).hexdigest()
    try:
        content = path.read_bytes() if wanted else b""
    except OSError:
        return None
    return path if hashlib.sha256(content).hexdigest() == wanted else None


def _cache_directory() -> Path:
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return Path(os.environ[variable])
    return Path(tempfile.gettempdir()) / "data-gym-cache"


class _Encoder:
    """Loads the encoding at the first count, because that costs a third of a second."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._encode: Callable[[str], list[int]] | None = None

    def __call__(self, text: str) -> int:
        if self._encode is None:
            import tiktoken

            self._encode = tiktoken.get_encoding(self._name).encode_ordinary
        return sum(len(self._encode(text[start : start + PIECE])) for start in range(0, len(text), PIECE))


LOWER, CAPITALS, DIGITS = (bytes(range(*span)) for span in ((97, 123), (65, 91), (48, 58)))
LEADS = {1.0: bytes(range(0xC0, 0xE0)), 1.11: bytes(range(0xE0, 0xF0)), 2.7: bytes(range(0xF0, 0xF8))}
"""What a character of two, three or four bytes weighs, by the byte it begins with."""
UNCOUNTED = b" " + bytes(range(0x80, 0x100))
LONG_RUN = re.compile(r"[!-~]{28,}")
SPACES = re.compile(r" {2,}")
WORD = re.compile(r"[^\W\d_]+")
LONG_WORD = re.compile(r"[^\W\d_]{9,}")


def estimate(text: str) -> int:
    """Return a token count that is rarely too small: a weighted count of the kinds of bytes in ``text``.

    >>> estimate("Alice prefers espresso over latte.") >= 6
    True
    """
    if not text:
        return 0
    content = text.encode(errors="replace")
    total = _weight_of_bytes(content)
    total += 0.72 * len(WORD.findall(text))
    total += 0.054 * sum(len(word) - 8 for word in LONG_WORD.findall(text))
    total += 0.76 * sum(map(len, LONG_RUN.findall(text))) + 0.73 * len(SPACES.findall(text))
    return max(1, min(len(content), int(total * 1.05) + 1))


def _weight_of_bytes(content: bytes) -> float:
    lower, capitals, digits = (_how_many(content, kind) for kind in (LOWER, CAPITALS, DIGITS))
    lines = content.count(b"\n")
    others = len(content) - _how_many(content, UNCOUNTED) - lower - capitals - digits - lines
    ascii_weight = 0.114 * lower + 0.265 * capitals + 0.90 * digits + 4 * lines + 0.73 * others
    return ascii_weight + sum(weight * _how_many(content, leads) for weight, leads in LEADS.items())


def _how_many(content: bytes, kind: bytes) -> int:
    return len(content) - len(content.translate(None, kind))
