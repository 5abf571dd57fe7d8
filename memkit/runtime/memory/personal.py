"""Personal numbers that carry their own proof: payment cards, bank accounts and national ids with a checksum."""

import re
from collections.abc import Callable, Iterator

from .cards import BEFORE, cards, is_named_otherwise, luhn

IBAN_LENGTHS = {
    country: int(length)
    for country, length in re.findall(
        r"([A-Z]{2})(\d\d)",
        "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27"
        "GB22GE22GI23GL18GR27GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19"
        "MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23"
        "TN24TR26UA29VA22VG24XK20YE30",
    )
}
"""How long an account number is in each country of the IBAN registry."""

DIGIT = re.compile(r"\d")
UUID = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Fa-f])")
IBAN_START = re.compile(r"(?<![0-9A-Za-z])[A-Za-z]{2}\d{2}(?=[ -]?[0-9A-Za-z]{4})")
SSN = re.compile(r"(?<![0-9A-Za-z-])(?<!\d\.)(?!000|666|9)\d{3}([-. ])(?!00)\d{2}\1(?!0000)\d{4}(?![0-9A-Za-z-]|\.\d)")
SSN_IN_WORDS = re.compile(
    r"(?i)\b(?:ssn|social security(?: number| no\.?)?)\b[^\d\n]{0,20}((?!000|666|9)\d{3}[- ]?\d{2}[- ]?\d{4})(?!\d)"
)

Span = tuple[str, int, int]


def is_iban(text: str) -> bool:
    """Return whether ``text`` (no blanks, capitals) is an account number with the right check digits."""
    if IBAN_LENGTHS.get(text[:2]) != len(text) or not text.isalnum():
        return False
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def card_numbers(text: str) -> Iterator[Span]:
    """Yield payment card numbers."""
    for start, end in cards(text):
        yield "card_number", start, end


def ibans(text: str) -> Iterator[Span]:
    """Yield bank account numbers, with blanks or dashes between their groups or not."""
    for start in IBAN_START.finditer(text):
        length = IBAN_LENGTHS.get(start[0][:2].upper())
        body = re.compile(rf"(?:[0-9A-Za-z][ -]?){{{length - 1}}}[0-9A-Za-z](?![0-9A-Za-z])") if length else None
        found = body.match(text, start.start()) if body else None
        if found and is_iban(re.sub(r"[ -]", "", found[0]).upper()):
            yield "iban", found.start(), found.end()


def social_security_numbers(text: str) -> Iterator[Span]:
    """Yield social security numbers of the United States; without dashes only where the words say so."""
    for found in SSN.finditer(text):
        yield "social_security_number", found.start(), found.end()
    for found in SSN_IN_WORDS.finditer(text):
        yield "social_security_number", found.start(1), found.end(1)


def _weighted(digits: str, weights: tuple[int, ...]) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False))


def _is_dni(value: str) -> bool:
    number = value[:-1].upper().translate({ord("X"): "0", ord("Y"): "1", ord("Z"): "2"})
    return value[-1].upper() == "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23]


def _is_cpf(value: str) -> bool:
    digits = re.sub(r"\D", "", value)
    first = _weighted(digits, tuple(range(10, 1, -1))) * 10 % 11 % 10
    second = _weighted(digits, tuple(range(11, 1, -1))) * 10 % 11 % 10
    return len(set(digits)) > 1 and digits[9:] == f"{first}{second}"


def _is_resident_id(value: str) -> bool:
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return value[-1].upper() == "10X98765432"[_weighted(value, weights) % 11]


def _is_ahv(value: str) -> bool:
    digits = re.sub(r"\D", "", value)
    return (10 - _weighted(digits[:12], (1, 3) * 6) % 10) % 10 == int(digits[12])


def _is_personnummer(value: str) -> bool:
    return luhn(re.sub(r"\D", "", value)[-10:]) and not _is_moment(value)


def _always(value: str) -> bool:
    return True


def _is_moment(value: str) -> bool:
    """Return whether a day and four digits read as a day and a time of it: 20261121-1715."""
    return len(value) == 13 and value[8] == "-" and int(value[9:11]) < 24 and int(value[11:]) < 60


NATIONAL: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    (
        "british_insurance_number",
        re.compile(r"\b(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D]\b"),
        _always,
    ),
    ("spanish_dni", re.compile(r"\b[XYZ0-9]\d{7}[A-Z]\b"), _is_dni),
    ("brazilian_cpf", re.compile(r"\b\d{3}\.\d{3}\.\d{3}-\d{2}\b"), _is_cpf),
    (
        "chinese_resident_id",
        re.compile(r"(?<!\d)[1-8]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?!\d)"),
        _is_resident_id,
    ),
    ("swiss_ahv", re.compile(r"\b756\.\d{4}\.\d{4}\.\d{2}\b"), _is_ahv),
    (
        "swedish_personnummer",
        re.compile(r"\b(?:19|20)?\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[-+]\d{4}\b"),
        _is_personnummer,
    ),
)
"""National ids that stand out by shape, each with its own check."""


def national_ids(text: str) -> Iterator[Span]:
    """Yield national ids of several countries whose shape and checksum leave little doubt."""
    for kind, pattern, valid in NATIONAL:
        for found in pattern.finditer(text):
            if valid(found[0]) and not is_named_otherwise(text[max(0, found.start() - BEFORE) : found.start()]):
                yield kind, found.start(), found.end()


def personal_numbers(text: str) -> Iterator[Span]:
    """Yield every personal number in ``text`` as kind, start and end."""
    if not DIGIT.search(text):
        return
    text = UUID.sub(lambda match: "x" * len(match[0]), text)
    for finder in (card_numbers, ibans, social_security_numbers, national_ids):
        yield from finder(text)
