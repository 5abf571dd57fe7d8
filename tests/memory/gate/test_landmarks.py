"""Looking only where a word stands that a pattern begins with finds what looking everywhere does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from growth import grows_with_its_length
from hypothesis import example, given
from hypothesis import strategies as st

from memkit.runtime.memory.gate import personal
from memkit.runtime.memory.gate.credentials import CREDENTIAL_WORDS, SHAPES, in_context, is_harmless, shaped
from memkit.runtime.memory.gate.landmarks import LONG_WORD, Landmarks, LongWords, Words, folded
from memkit.runtime.memory.gate.secrets import HIDDEN, find_secrets
from memkit.runtime.memory.gate.surroundings import SPOKEN_WORDS, spoken

KNOWN = CREDENTIAL_WORDS + SPOKEN_WORDS
CORPORA = [path for path in sorted(Path(__file__).parent.glob("*.txt")) if path.name != "figures.txt"]
SAID = """
    my the your our is as was to for with and or client_secret password passwords Passwort pin PIN code
    door vault safe opens unlocks account login log in user sign key api API-Key token secret: bearer
    Basic curl -u --user --password mysql -p redis-cli -a gpg --passphrase echo | sudo -S use type seed
    phrase pgpass root: @host.example : = / , . ; " ' ` ( 密码 是 パスワード は пароль ключ κωδικός ΚΩΔΙΚΌΣ İs
    ſecret hunter2 x9Kq!7zz Tr0ub4dor&3 4711 12-34-56 0a:5432:db:me:S3cr3t!x ada/S3cr3t!x
    https://ada:S3cr3t!x@h sk-abcdefghijklmnopqrstuvwx ghp_abcdefghijklmnopqrstuvwxyz0123456789
    AKIAABCDEFGHIJKLMNOP 4111 1111-1111 078-05-1120 AB123456C GB82 WEST 1234 5698 7654 32 12345678Z ssn
    the access is_root -key my-secret
""".split()  # noqa: SIM905
TEXTS = st.lists(st.tuples(st.sampled_from(SAID), st.sampled_from([" ", " ", " ", "", "\n", "  ", "-", "_"]))).map(
    lambda parts: "".join(word + blank for word, blank in parts)
)


class Everywhere(Landmarks):
    """Every place of a text, whatever stands there."""

    def of(self, beginnings: Words) -> list[int]:
        """Return all places."""
        return list(range(len(self.text)))


class EveryLine(LongWords):
    """All of a text as one line that holds every keyword."""

    def __init__(self, text: str) -> None:
        self.text = text

    def with_one_of(self, keywords: Words) -> Iterator[tuple[int, int]]:
        """Yield the whole text."""
        yield 0, len(self.text)

    def place(self, index: int) -> int:
        """Return the place itself."""
        return index


def covered(text: str, spans: Iterable[tuple[str, int, int]]) -> set[int]:
    """Return the characters that would be hidden, which is what a finding is for."""
    return {place for _, start, end in spans for place in range(start, end)}


def by_both(text: str) -> tuple[list[set[int]], list[set[int]]]:
    """Return what is hidden by looking at landmarks and by looking everywhere, each part by itself."""
    found = []
    for marks, words in ((Landmarks(text, KNOWN), LongWords(text)), (Everywhere(text, KNOWN), EveryLine(text))):
        parts = (shaped(text, words), in_context(marks), spoken(marks, words, is_harmless))
        found.append([covered(text, part) for part in parts])
    return found[0], found[1]


@given(TEXTS)
@example("Tr0ub4dor&3 is my client secret")
@example("the login is ada/S3cr3t!x, and x9Kq!7zz/S3cr3t!x works for the account")
def test_nothing_is_missed_beside_landmarks(text: str) -> None:
    """Tokens, told values and spoken ones are hidden alike, whatever words stand how beside each other."""
    quick, slow = by_both(text)

    assert quick == slow


@pytest.mark.parametrize("path", CORPORA, ids=lambda path: path.name)
def test_the_corpora_say_the_same_at_landmarks(path: Path) -> None:
    """Each sentence that anybody ever wrote for these tests is read alike."""
    for line in path.read_text(encoding="utf-8").splitlines():
        quick, slow = by_both(line)
        assert quick == slow, line


@given(TEXTS)
def test_numbers_are_found_among_digits_alone(text: str) -> None:
    """What touches digits that stand near each other is all that a number of a person needs."""
    everywhere = {(found.start(), found.end()) for found in personal.SSN.finditer(text)}
    everywhere |= {found.span(1) for found in personal.SSN_IN_WORDS.finditer(text)}
    national = {
        (kind, *found.span())
        for kind, pattern, valid in personal.NATIONAL
        for found in pattern.finditer(text)
        if valid(found[0]) and not personal.is_named_otherwise(text[max(0, found.start() - 48) : found.start()])
    }

    assert {(start, end) for _, start, end in personal.social_security_numbers(text)} == everywhere
    assert set(personal.national_ids(text)) == national


RUN = re.compile(r"(?<![0-9A-Za-z_.+])\d(?:[ -]{0,3}\d)+(?![0-9A-Za-z_]|\.\d)")
"""What a row of digits is, said at once; it would keep a note of each digit."""


@given(st.lists(st.sampled_from(["1", "22", "4111", "-", " ", "    ", ".", "+", "a", "_"])).map("".join))
@example("1 22    4111a")
def test_rows_of_digits_are_what_one_expression_says(text: str) -> None:
    """Cut at wide gaps, without a fraction before and without digits that belong to a word behind."""
    runs = {run for start, end in personal._numbers(text, 4) for run in personal._runs(text, start, end)}

    assert {found.span() for found in RUN.finditer(text) if sum(map(str.isdigit, found[0])) >= 4} == {
        (start, end) for start, end in runs if sum(map(str.isdigit, text[start:end])) >= 4
    }


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.kind)
def test_a_token_is_a_long_word_or_holds_a_colon(shape: object) -> None:
    """No published shape is shorter than the words that are looked at, except with a colon in it."""
    pattern = shape.pattern.pattern  # type: ignore[attr-defined]
    least = re._parser.parse(pattern).getwidth()[0]  # type: ignore[attr-defined]

    assert least >= LONG_WORD or "://" in pattern


@given(st.text())
def test_folding_keeps_places(text: str) -> None:
    """Each character keeps its place, so that what is found in the folded text stands there in the text."""
    assert len(folded(text)) == len(text)


@pytest.mark.parametrize(
    "part", ["-pass", "login,", "safe", "'x", "a:11:", "password,", "жx", "7", "1 ", "lock-my ", "is my key "]
)
def test_words_that_begin_something_may_repeat_without_end(part: str) -> None:
    """A text that is all landmarks, with blanks or none, costs what it is long."""
    assert grows_with_its_length(lambda text: find_secrets(text, HIDDEN), part, 40_000)
