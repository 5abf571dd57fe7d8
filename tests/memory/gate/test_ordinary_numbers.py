"""Numbers that people and programs write every day are no secrets, and payment cards in their usual spellings are."""

import random
import string
from base64 import b32encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import UUID

import pytest
from growth import grows_with_its_length
from sampled import tried

from memkit.runtime.memory.gate.personal import luhn
from memkit.runtime.memory.gate.secrets import find_secrets, mask

Make = Callable[[random.Random], str]
START = datetime(2001, 1, 1, tzinfo=UTC)
NUMBERS = tried(400, 100)
"""Numbers of a kind in a sentence."""


def digits(chance: random.Random, size: int) -> str:
    """Return random digits of which the first is no zero."""
    return str(chance.randint(1, 9)) + "".join(chance.choices(string.digits, k=size - 1))


def moment(chance: random.Random) -> datetime:
    """Return a moment of this century."""
    return START + timedelta(seconds=chance.randrange(10**9), microseconds=chance.randrange(10**6))


def address(chance: random.Random) -> str:
    """Return a web address with long numbers in its path and its query."""
    return f"https://shop.example/{digits(chance, 15)}/item/{digits(chance, 16)}?ref={digits(chance, 16)}"


ORDINARY: dict[str, Make] = {
    "fraction": lambda chance: repr(chance.random()),
    "negative fraction": lambda chance: f"-{chance.random() * 9:.17f}",
    "fraction with a comma": lambda chance: repr(chance.random()).replace(".", ","),
    "large fraction": lambda chance: f"{digits(chance, 16)}.{digits(chance, 2)}",
    "scientific": lambda chance: f"{chance.random() * 10}e-{chance.randint(1, 30)}",
    "price": lambda chance: f"{chance.randrange(10**6):,}.{chance.randrange(100):02}",
    "prices": lambda chance: " ".join(f"{chance.random() * 100:.2f}" for _ in range(9)),
    "percentages": lambda chance: ", ".join(f"{chance.random():.15%}" for _ in range(3)),
    "coordinates": lambda chance: f"{chance.uniform(-90, 90)}, {chance.uniform(-180, 180)}",
    "short coordinates": lambda chance: f"{chance.uniform(-90, 90):.7f} {chance.uniform(-180, 180):.7f}",
    "version": lambda chance: ".".join(str(chance.randrange(2000)) for _ in range(4)),
    "build": lambda chance: f"v{chance.randrange(30)}.{chance.randrange(100)}.{digits(chance, 14)}",
    "internet address": lambda chance: ".".join(str(chance.randrange(256)) for _ in range(4)),
    "seconds": lambda chance: str(int(moment(chance).timestamp())),
    "milliseconds": lambda chance: str(int(moment(chance).timestamp() * 10**3)),
    "microseconds": lambda chance: str(int(moment(chance).timestamp() * 10**6)),
    "nanoseconds": lambda chance: str(int(moment(chance).timestamp() * 10**9)),
    "exact seconds": lambda chance: f"{moment(chance).timestamp():.9f}",
    "date and time": lambda chance: moment(chance).isoformat(),
    "compact date and time": lambda chance: moment(chance).strftime("%Y%m%d%H%M%S%f"),
    "file date": lambda chance: moment(chance).strftime("backup-%Y%m%d-%H%M"),
    "dates": lambda chance: " ".join(moment(chance).strftime("%Y-%m-%d") for _ in range(4)),
    "years": lambda chance: " ".join(str(chance.randint(1900, 2100)) for _ in range(8)),
    "uuid": lambda chance: str(UUID(int=chance.getrandbits(128), version=4)),
    "digest": lambda chance: sha256(chance.randbytes(8)).hexdigest(),
    "commit": lambda chance: sha256(chance.randbytes(8)).hexdigest()[:40],
    "sortable id": lambda chance: b32encode(chance.randbytes(16)).decode()[:26],
    "goods": lambda chance: f"SKU-{digits(chance, 16)}",
    "article": lambda chance: f"SKU {digits(chance, 8)}{chance.choice(string.ascii_uppercase)}",
    "bar code": lambda chance: digits(chance, 13),
    "order": lambda chance: f"order {digits(chance, 16)}",
    "order number": lambda chance: f"Her order number is {digits(chance, 15)}.",
    "tracking": lambda chance: f"tracking no. {digits(chance, 16)}",
    "ticket": lambda chance: f"#{digits(chance, 16)}",
    "named field": lambda chance: f'{{"order_id": {digits(chance, 16)}, "id": "{digits(chance, 15)}"}}',
    "address": address,
    "phone": lambda chance: f"+{digits(chance, 2)} {digits(chance, 4)} {digits(chance, 4)} {digits(chance, 4)}",
    "phone in one": lambda chance: f"+{digits(chance, 14)}",
    "numbers of four digits": lambda chance: " ".join(digits(chance, 4) for _ in range(9)),
    "numbers of four digits and commas": lambda chance: ", ".join(digits(chance, 4) for _ in range(9)),
    "numbers of eight digits": lambda chance: " ".join(digits(chance, 8) for _ in range(4)),
    "single digits": lambda chance: " ".join(chance.choices(string.digits, k=40)),
    "chat id": lambda chance: digits(chance, 18),
    "size": lambda chance: f"{chance.randrange(10**14, 10**16):,} bytes",
    "vector": lambda chance: str([chance.gauss(0, 1) for _ in range(8)]),
}


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ORDINARY)
@pytest.mark.parametrize("frame", ["{}", "Measured {} today, as planned."])
def test_ordinary_numbers_are_no_secrets(kind: str, frame: str) -> None:
    """Whatever its digits add up to, a number that something marks as another thing is left alone."""
    chance = random.Random(f"{kind}/{frame}")
    taken = [text for text in (frame.format(ORDINARY[kind](chance)) for _ in range(NUMBERS)) if find_secrets(text)]

    assert taken == []


def card_of(chance: random.Random, start: str, size: int) -> str:
    """Return a number with this beginning and the right check digit."""
    body = start + "".join(chance.choices(string.digits, k=size - len(start) - 1))
    return next(body + digit for digit in string.digits if luhn(body + digit))


def in_fours(number: str, between: str) -> str:
    """Return a number in groups of four."""
    return between.join(number[start : start + 4] for start in range(0, len(number), 4))


SPELLINGS: dict[str, Callable[[str], str]] = {
    "bare": lambda number: number,
    "blanks": lambda number: in_fours(number, " "),
    "dashes": lambda number: in_fours(number, "-"),
    "points": lambda number: in_fours(number, "."),
    "no-break blanks": lambda number: in_fours(number, "\N{NO-BREAK SPACE}"),
    "one by one": lambda number: " ".join(number),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(
    "frame",
    [
        "{}", "{}.", "({})", "She gave me {}, which I noted.", "card: {}", "card={}", "My Visa ends soon: {} 12/27 123",
        "Pay order 17 with {} please", '{{"number": "{}"}}', "card on file for order 12: {}", "Ada,{},12/27", "{}\n737",
        "https://shop.example/pay?card={}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("start", ["4", "51", "2221", "6011"])
def test_cards_in_their_usual_spellings_are_secrets(start: str, frame: str, spelling: str) -> None:
    """A card number of sixteen digits is hidden whole, in whatever sentence and grouping."""
    chance = random.Random(start)
    for _ in range(20):
        number = SPELLINGS[spelling](card_of(chance, start, 16))

        assert number not in mask(frame.format(number))
        assert "[masked:card_number]" in mask(frame.format(number))


@pytest.mark.parametrize(("start", "size"), [("4", 13), ("4", 19), ("36", 14), ("34", 15), ("6011", 19), ("50", 16)])
def test_cards_of_rare_lengths_are_secrets_beside_a_word_that_says_so(start: str, size: int) -> None:
    """A card of any length is found where the words around it speak of a card."""
    chance = random.Random(size)
    for frame in ("my card is {}", "credit card number {}", "{} is her Visa", "paid with {}"):
        number = card_of(chance, start, size)

        assert mask(frame.format(number)) == frame.format("[masked:card_number]")


def test_an_expiry_date_makes_no_list_of_a_card() -> None:
    """Four more digits that are a month and a year leave a card what it is."""
    assert mask("4111 1111 1111 1111 1227 737") == "[masked:card_number] 1227 737"
    assert mask("4111 1111 1111 1111 5555 4444") == "4111 1111 1111 1111 5555 4444"


def test_a_long_list_of_numbers_is_read_quickly() -> None:
    """Digits in any grouping take time in proportion to their length."""
    parts = ["4 ", "4111 ", "4111-", "4.", "0,4"]

    assert [part for part in parts if not grows_with_its_length(find_secrets, part, 24_000)] == []
