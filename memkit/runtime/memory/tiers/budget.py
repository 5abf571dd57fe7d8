"""Keeps a prompt within its token budget: exact counts if an encoding is cached, else estimates; truncation; summaries.

A truncated text is marked and leaves no block of data open. Paged-out messages leave a summary: a model's words, or
extracted sentences, limited in tokens.
"""

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from ..gate.secrets import mask
from ..words.text import SENTENCE_END, first_sentence, regex

ENCODING_HASHES = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""SHA-256 of the published encoding files."""

ENCODING_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
PIECE = 20_000
"""Characters counted at once; an encoder's time grows faster than the length of very long texts."""


class TokenCounter:
    """Counts the tokens of a text; states its method and its possible error.

    >>> words = TokenCounter("words", "exact", lambda text: len(text.split()))
    >>> words("Ada prefers espresso"), MainContext(max_tokens=100, count=words).counter
    (3, TokenCounter(words: exact))
    """

    def __init__(self, name: str, error_bound: str, count: Callable[[str], int]) -> None:
        self.name = name
        """``tiktoken:<encoding>`` or ``estimate``"""
        self.error_bound = error_bound
        self._count = count

    def __call__(self, text: str) -> int:
        """Return the number of tokens in ``text``."""
        return self._count(text)

    def __repr__(self) -> str:
        return f"TokenCounter({self.name}: {self.error_bound})"


ESTIMATE_BOUND = (
    "at most 5 % under on prose, code, Markdown and logs, 25 % on one short line; usually 25-60 % over. "
    "Calibrated against cl100k and o200k only."
)


def counter(model_encoding: str = "o200k_base") -> TokenCounter:
    """Return a counter for ``model_encoding`` if its file is cached locally, else an estimate; never uses the network.

    >>> count = counter("an encoding that is not here")
    >>> count.name, 4 <= count("Ada prefers espresso over latte.") <= 16
    ('estimate', True)
    """
    if cached_encoding(model_encoding) is None or find_spec("tiktoken") is None:
        return TokenCounter("estimate", ESTIMATE_BOUND, estimate)
    return TokenCounter(f"tiktoken:{model_encoding}", "exact for models of this encoding", _Encoder(model_encoding))


def cached_encoding(name: str) -> Path | None:
    """Return the encoding's file in tiktoken's local cache if intact; tiktoken would download a broken one again."""
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
    usual = Path("/tmp/data-gym-cache")
    if not any(name in os.environ for name in ("TMPDIR", "TEMP", "TMP")) and usual.parent.is_dir():
        return usual
    import tempfile  # with its dependencies it takes longer to load than to count a prompt

    return Path(tempfile.gettempdir()) / usual.name


class _Encoder:
    """Loads the encoding on the first count, because that costs a third of a second."""

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
"""The weight of a character of two, three or four bytes, by its first byte."""
UNCOUNTED = b" " + bytes(range(0x80, 0x100))
LONG_RUN = regex(r"[!#-~]{28,}")
SPACES = regex(r" {2,}")
WORD = regex(r"[^\W\d_]+")
LONG_WORD = regex(r"[^\W\d_]{9,}")


def estimate(text: str) -> int:
    """Return a token count that is rarely too small: a weighted count of the kinds of bytes in ``text``.

    >>> estimate("Alice prefers espresso over latte.") >= 6
    True
    """
    if not text:
        return 0
    content = text.encode(errors="replace")
    lower, capitals, digits = (_how_many(content, kind) for kind in (LOWER, CAPITALS, DIGITS))
    lines = content.count(b"\n")
    others = len(content) - _how_many(content, UNCOUNTED) - lower - capitals - digits - lines
    ascii_weight = 0.114 * lower + 0.265 * capitals + 0.90 * digits + 4 * lines + 0.73 * others
    total = ascii_weight + sum(weight * _how_many(content, leads) for weight, leads in LEADS.items())
    total += 0.72 * len(WORD.findall(text))
    total += 0.054 * sum(len(word) - 8 for word in LONG_WORD.findall(text))
    total += 0.76 * sum(map(len, LONG_RUN.findall(text))) + 0.73 * len(SPACES.findall(text))
    return max(1, min(len(content), int(total * 1.05) + 1))


def _how_many(content: bytes, kind: bytes) -> int:
    return len(content) - len(content.translate(None, kind))


SHORTENED = "[… shortened; conversation_search finds all of it …]"
CHARACTERS_A_TOKEN = 40
"""Upper limit for text worth showing; bounds the search for the cut."""
OPENING = regex(r"^(?:Error: )?<((?:memory-)?data) ([0-9a-z]+)[^\n>]*>$", re.MULTILINE)
"""The first line of a block of data, from this room or a tool's result."""


def fair_share(sizes: Sequence[int], room: int) -> int:
    """Return the largest size to which all of ``sizes`` can be cut so that together they fit in ``room``."""
    left = max(0, room)
    for place, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - place)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)


def shortened(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """Return ``text``, or as much of its beginning as fits in ``tokens`` together with a visible mark.

    A truncated block of data is closed, so that nothing after it can be mistaken for part of it.
    """
    if count(text) <= tokens:
        return text
    low, high = 0, min(len(text), CHARACTERS_A_TOKEN * max(0, tokens))
    while low < high:
        middle = (low + high + 1) // 2
        if count(_cut(text, middle)) <= tokens:
            low = middle
        else:
            high = middle - 1
    whole = _cut(text, low)
    return whole if count(whole) <= tokens else ""


def _cut(text: str, place: int) -> str:
    return text[:place] + SHORTENED + left_open(text[:place])


def left_open(text: str) -> str:
    r"""Return the line that closes the block of data in which ``text`` ends; empty if it ends outside of one.

    >>> left_open("<memory-data 0a>\n| The dog is called R")
    '\n</memory-data 0a>'
    """
    opening = OPENING.search(text)
    while opening is not None:
        closing = f"\n</{opening[1]} {opening[2]}>"
        end = text.find(closing, opening.end())
        if end < 0:
            return closing
        opening = OPENING.search(text, end + len(closing))
    return ""


Summarise: TypeAlias = Callable[[Sequence[Mapping[str, Any]], str], str | None]
"""Summarises messages, given the summary of the messages before them; returns None if it cannot.

It receives what users and agents said, secrets masked; tool results may hold anyone's words and are not passed on.
"""

EARLIER = "(older turns: use conversation_search)"
FEWEST = 2
"""Fewer messages than these are not worth a model request."""
HUGE = 4
"""A summary that is this many times too long is discarded; a shorter one is truncated."""


def extend_summary(
    summary: str, messages: Sequence[Mapping[str, Any]], tokens: int, count: Callable[[str], int]
) -> str:
    """Return ``summary`` with a line for each of ``messages``, dropping its oldest lines beyond ``tokens``."""
    lines = [line for line in summary.split("\n") if line and line != EARLIER]
    fresh = lines + [line for line in map(summary_line, messages) if line]
    kept = _newest(fresh, tokens, count)
    while kept or fresh:
        dropped = len(kept) < len(fresh) or EARLIER in summary
        text = "\n".join([EARLIER, *kept] if dropped else kept)
        if count(text) <= tokens:
            return text
        if not kept:
            break
        kept = kept[1:]
    return ""


def retold(
    summarise: Summarise,
    messages: Sequence[Mapping[str, Any]],
    before: str,
    extracted: str,
    tokens: int,
    count: Callable[[str], int],
) -> str:
    """Return a model's summary of ``messages``, following the summary ``before``, in at most ``tokens``.

    The answer is only text: if it is empty, far too long, gives orders or is missing, ``extracted`` is used.
    """
    said = [
        {"role": message["role"], "content": mask(str(message["content"]))}
        for message in messages
        if message.get("role") in ("user", "assistant") and message.get("content")
    ]
    if len(said) < FEWEST:
        return extracted
    try:
        told = summarise(said, mask(before))
    except Exception:  # noqa: BLE001 - whatever a model or its network does, a conversation goes on without it
        return extracted
    from ..gate.hostile import suspicions  # no other token counting needs it

    text = told.strip() if isinstance(told, str) else ""
    if not text or len(text) > HUGE * 40 * max(1, tokens) or count(text) > HUGE * tokens or suspicions(text):
        return extracted
    return _beginning(mask(text), tokens, count) or extracted


def _beginning(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """Return as many whole sentences of ``text`` as fit."""
    kept = text
    while kept and count(kept) > tokens:
        ends = [match.start() for match in SENTENCE_END.finditer(kept)]
        kept = kept[: ends[-1]] if ends and ends[-1] else ""
    return kept


def _newest(lines: Sequence[str], tokens: int, count: Callable[[str], int]) -> list[str]:
    """Return as many of the newest ``lines`` as may fit, counted one by one."""
    used, first = 0, len(lines)
    while first > 0 and used <= tokens:
        first -= 1
        used += count(lines[first])
    return list(lines[first:])


def summary_line(message: Mapping[str, Any]) -> str:
    """Return the summary line of one message: the speaker and the first sentence, or the tools used."""
    role, content = str(message.get("role", "")), str(message.get("content") or "")
    if role == "tool":
        # A tool's result is not summarised: it may hold anyone's words.
        return ""
    calls = [str(call.get("name", "")) for call in message.get("tool_calls") or ()]
    said = first_sentence(content)
    used = f"[used {', '.join(calls)}]" if calls else ""
    return f"{role}: {' '.join(part for part in (said, used) if part)}" if said or used else ""
