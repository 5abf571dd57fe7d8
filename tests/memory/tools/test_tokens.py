"""Counting tokens without a network, and saying how."""

import hashlib
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from growth import grows_with_its_length
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.memory.tiers.budget import ENCODING_HASHES, ENCODING_URL, cached_encoding, counter, estimate

CHARACTERS_A_TOKEN = {
    "The quick brown fox jumps over the lazy dog and runs home. " * 10: (3, 5.5),
    "def main() -> None:\n    print('hi')\n" * 10: (1, 3.5),
    "17 4 2301 88 9 " * 20: (1, 2.5),
    "我喜欢喝咖啡。" * 20: (0.5, 1.2),
    "Она любит чай с лимоном. " * 20: (0.8, 3),
}
"""A range for the estimate: at the upper end vendors' encodings give about one token."""


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every connection fail the test."""

    def refuse(*args: object, **options: object) -> None:
        pytest.fail("a connection was tried")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("content", [None, b"", b"broken"])
def test_without_a_whole_encoding_file_the_estimate_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    """An absent or damaged cache file means the estimate: no connection, no crash, and the file is left alone."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    file = tmp_path / hashlib.sha1(ENCODING_URL.format("o200k_base").encode()).hexdigest()
    if content is not None:
        file.write_bytes(content)

    count = counter()

    assert (count.name, cached_encoding("o200k_base")) == ("estimate", None)
    assert count("hello") >= 1
    assert "under" in count.error_bound
    assert content is None or file.read_bytes() == content


@pytest.mark.usefixtures("no_network")
def test_a_whole_encoding_file_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the encoding in the cache the counter says so and counts with tiktoken."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    content = b"YQ== 0\n"
    (tmp_path / hashlib.sha1(ENCODING_URL.format("tiny").encode()).hexdigest()).write_bytes(content)
    monkeypatch.setitem(ENCODING_HASHES, "tiny", hashlib.sha256(content).hexdigest())
    tiktoken = pytest.importorskip("tiktoken")
    made = tiktoken.Encoding("tiny", pat_str=r"a", mergeable_ranks={b"a": 0}, special_tokens={})
    monkeypatch.setattr(tiktoken, "get_encoding", lambda name: made)

    count = counter("tiny")

    assert (count.name, count("aaa")) == ("tiktoken:tiny", 3)
    assert "exact" in count.error_bound


def test_importing_memory_does_not_import_tiktoken() -> None:
    """The library is loaded at the first count at the earliest."""
    code = "import sys, memkit.runtime.memory.main; sys.exit('tiktoken' in sys.modules or 'rank_bm25' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("text", "span"), CHARACTERS_A_TOKEN.items())
def test_the_estimate_follows_the_kind_of_text(text: str, span: tuple[float, float]) -> None:
    """Prose, code, numbers and other scripts each get their own number of characters a token."""
    assert span[0] <= len(text) / estimate(text) <= span[1]


@given(st.text(max_size=300))
def test_the_estimate_is_bounded_by_the_bytes(text: str) -> None:
    """No text has more tokens than bytes, and none but the empty one has no token."""
    assert estimate(text) <= len(text.encode())
    assert (estimate(text) == 0) == (text == "")


@given(st.text(max_size=100), st.text(max_size=100))
def test_more_text_is_not_fewer_tokens(one: str, other: str) -> None:
    """Text that is put on a line of its own adds to the estimate."""
    assert estimate(f"{one}\n{other}") >= max(estimate(one), estimate(other))


def test_large_texts_are_counted_by_their_length() -> None:
    """A million characters cost no more than four times a quarter of them."""
    assert grows_with_its_length(estimate, "The quick brown fox jumps over the lazy dog. ", 1_000_000)
