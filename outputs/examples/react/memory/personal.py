"""Personal numbers that carry their own proof: payment cards, bank accounts and national ids with a checksum."""

import re
from collections.abc import Callable, Iterator

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

UUID = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Fa-f])")
DIGIT_RUN = re.compile(r"(?<![0-9A-Za-z_.])\d(?:[ .-]{0,3}\d){12,30}(?![0-9A-Za-z_])")
IBAN_START = re.compile(r"(?<![0-9A-Za-z])[A-Za-z]{2}\d{2}(?=[ -]?[0-9A-Za-z]{4})")
SSN = re.compile(r"(?<![0-9A-Za-z-])(?!000|666|9)\d{3}([-. ])(?!00)\d{2}\1(?!0000)\d{4}(?![0-9A-Za-z-])")
SSN_IN_WORDS = re.compile(
    r"(?i)\b(?:ssn|social security(?: number| no\.?)?)\b[^\d\n]{0,20}((?!000|666|9)\d{3}[- ]?\d{2}[- ]?\d{4})(?!\d)"
)

Span = tuple[str, int, int]


def luhn(digits: str) -> bool:
    """Return whether ``digits`` end in the right check digit."""
    total = 0
    for position, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if position % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def card_brand(digits: str) -> str | None:
    """Return the network that issues card numbers of this beginning and length."""
    length, head2, head4 = len(digits), int(digits[:2]), int(digits[:4])
    if digits[0] == "4" and length in (13, 16, 19):
        return "visa"
    if length == 16 and (51 <= head2 <= 55 or 2221 <= head4 <= 2720):
        return "mastercard"
    if length == 15 and head2 in (34, 37):
        return "amex"
    if 16 <= length <= 19 and (head4 == 6011 or head2 in (35, 62, 65, 81) or 644 <= int(digits[:3]) <= 649):
        return "discover, jcb or unionpay"
    if length == 14 and (head2 in (36, 38, 39) or 300 <= int(digits[:3]) <= 305):
        return "diners"
    if 13 <= length <= 19 and head2 in (50, 56, 57, 58, 60, 63, 67, 68, 69) and length == 16:
        return "maestro"
    return None


def is_card(digits: str) -> bool:
    """Return whether ``digits`` are a payment card number."""
    return 13 <= len(digits) <= 19 and card_brand(digits) is not None and luhn(digits)


def is_iban(text: str) -> bool:
    """Return whether ``text`` (no blanks, capitals) is an account number with the right check digits."""
    if IBAN_LENGTHS.get(text[:2]) != len(text) or not text.isalnum():
        return False
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def cards(text: str) -> Iterator[Span]:
    """Yield payment card numbers, grouped by blanks or dashes or not, also next to other numbers."""
    for run in DIGIT_RUN.finditer(UUID.sub(lambda match: "x" * len(match[0]), text)):
        groups = list(re.finditer(r"\d+", run[0]))
        yield from _cards_in(groups, run.start())


def _cards_in(groups: list[re.Match[str]], offset: int) -> Iterator[Span]:
    first = 0
    while first < len(groups):
        digits, last = "", first
        while last < len(groups) and len(digits) < 19:
            digits += groups[last][0]
            last += 1
            if is_card(digits) and _is_grouped_as_cards_are([len(group[0]) for group in groups[first:last]]):
                yield "card_number", offset + groups[first].start(), offset + groups[last - 1].end()
                first = last - 1
                break
        first += 1


def _is_grouped_as_cards_are(sizes: list[int]) -> bool:
    """Return whether digits stand together as on a card or are typed in one go or one by one: no list of numbers."""
    if len(sizes) == 1 or set(sizes) == {1} or sizes in ([4, 6, 5], [4, 6, 4]):
        return True
    return set(sizes[:-1]) == {4} and sizes[-1] <= 4 if len(sizes) > 3 else min(sizes) >= 4


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
    return luhn(re.sub(r"\D", "", value)[-10:])


def _always(value: str) -> bool:
    return True


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
            if valid(found[0]):
                yield kind, found.start(), found.end()


def personal_numbers(text: str) -> Iterator[Span]:
    """Yield every personal number in ``text`` as kind, start and end."""
    if not any(char.isdigit() for char in text):
        return
    for finder in (cards, ibans, social_security_numbers, national_ids):
        yield from finder(text)
