"""Personal numbers: payment cards, bank accounts, national ids, and, if a store refuses them, contact details.

A card network's prefix and a valid check digit are not enough: one in thirty sixteen-digit numbers has both. The
grouping of the digits and the surrounding words count as well.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import chain

from ..words.text import regex
from .landmarks import Landmarks, words

ROW = regex(r"\d[\d -]*")
"""Digits with spaces and dashes between them, in one step: a repeated group would record each for backtracking."""
WIDE = regex(r"[ -]{4,}|[ -]+\Z")
"""Separates two rows of digits, or ends the last."""
FRACTION = regex(r"(?<=[0-9A-Za-z_.+])\d+")
"""A fraction follows a point, a phone number a plus."""
GOES_ON = regex(r"[0-9A-Za-z_]|\.\d")
DIGIT_CHAIN = regex(r"\d[\d .+-]+")
"""Digits with the separators allowed within one number, a card's or a person's."""
DIGITS_ALONE = regex(r"\d+")
DOTTED = regex(r"(?<![0-9A-Za-z_.+-])(?:\d{4}\.\d{4}\.\d{4}\.\d{4}|\d{4}\.\d{6}\.\d{5})(?![0-9A-Za-z_]|\.\d)")
SIZES = range(13, 20)
"""The possible lengths of a card number (ISO/IEC 7812)."""

TELLING = regex(
    r"(?i)card|visa|amex|american express|maestro|discover|diners|jcb|union ?pay|credit|debit|kredit|cvv|cvc"
    r"|(?<![a-z])(?:cc|pan|pay|pays|paid|payments?|charged?)(?![a-z])"
    r"|tarjeta|carte|carta|cart[aã]o|karte|kaart|(?<![a-z])kort|карт|カード|卡|카드|بطاقة|כרטיס|บัตร"
)
"""Words near a number that identify it as a card's."""
TELLING_PARTS = words(
    "card visa amex american~express maestro discover diners jcb union pay credit debit kredit cvv cvc cc pan paid"
    " charge tarjeta carte carta cart karte kaart kort карт カード 卡 카드 بطاقة כרטיס บัตร"
)
"""The beginnings of these."""
BEFORE, AFTER = 48, 32
"""How many characters before and after a number count as near."""

NAMED = regex(
    r"(?i)(?<![a-z])(?:order|tracking|invoice|ticket|case|ref|reference|serial|parcel|shipment|package|transaction|part"
    r"|model|item|product|article|sku|isbn|ean|gtin|upc|barcode|imei|imsi|iccid|issue|build|commit|run|job|request|trace"
    r"|span|message|thread|channel|guild|tweet|post|snowflake|timestamp|epoch|time|seed|checksum|hash|version|lot|batch"
    r"|device|asset|event|session|ids?|uid|guid|phone|tel|fax|mobile)(?![a-z])"
    r"(?:[\s:=#\"'(,]|(?<![a-z])(?:number|no|nr|num|code|ids?|is|was|are)(?![a-z])\.?){0,8}$"
)
"""Words that identify the following number as something else."""
ATTACHED = regex(r"(?:[0-9A-Za-z]-|#|/|(?<!\d)\d{1,3},)$")
"""The context of a number that is the tail of a longer name, a part of a path, or a decimal fraction with a comma."""
ADDRESS = regex(r"(?i)(?:[a-z][a-z0-9+.-]*://|www\.)\S*$")
LONGEST_ADDRESS = 200
EXPIRY = regex(r"(?:0[1-9]|1[0-2])[2-4]\d")


_DOUBLED = str.maketrans("0123456789", "0246813579")


def luhn(digits: str) -> bool:
    """Return whether ``digits`` end in a valid check digit."""
    return sum(map(int, digits[::-2] + digits[-2::-2].translate(_DOUBLED))) % 10 == 0


def card_brand(digits: str) -> str | None:
    """Return the network that issues card numbers with this prefix and length."""
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
    if length == 16 and head2 in (50, 56, 57, 58, 60, 63, 67, 68, 69):
        return "maestro"
    return None


def is_card(digits: str) -> bool:
    """Return whether ``digits`` are a payment card number."""
    return len(digits) in SIZES and card_brand(digits) is not None and luhn(digits)


def cards(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of payment card numbers, grouped or not, even next to other numbers.

    >>> list(cards("card 4111 1111 1111 1111, weight 0.4539578763621486"))
    [(5, 24)]
    """
    near: _Telling | None = None
    for start, end in _numbers(text, SIZES.start):
        for dotted in DOTTED.finditer(text, start, end):
            if is_card(dotted[0].replace(".", "")):
                yield dotted.span()
        for run in _runs(text, start, end):
            if sum(map(len, DIGITS_ALONE.findall(text, *run))) >= SIZES.start:
                near = near or _Telling(text)
                yield from _cards_in(text, run, near)


def _runs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of digits with up to three blanks or dashes between, unless they are part of something else."""
    for row in ROW.finditer(text, start, end):
        begin = row.start()
        for wide in (*WIDE.finditer(text, *row.span()), None):
            stop = wide.start() if wide else row.end()
            if fraction := FRACTION.match(text, begin, stop):
                begin = fraction.end()
                while begin < stop and not text[begin].isdigit():
                    begin += 1
            last = stop
            if GOES_ON.match(text, stop):
                while last > begin and text[last - 1].isdigit():
                    last -= 1
                while last > begin and not text[last - 1].isdigit():
                    last -= 1
            if begin < last:
                yield begin, last
            begin = wide.end() if wide else stop


def _numbers(text: str, least: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of nearby digits with at least this many characters, and the characters touching them."""
    for digits in DIGIT_CHAIN.finditer(text):
        if digits.end() - digits.start() >= least:
            yield max(0, digits.start() - 3), digits.end() + 4


def _cards_in(text: str, run: tuple[int, int], near: _Telling) -> Iterator[tuple[int, int]]:
    """Yield the card numbers in one run of digits.

    The cheapest checks come first, because a text may be one run of a million digits: the prefix, the grouping,
    the check digit, and only then the surrounding words.
    """
    parts = DIGITS_ALONE.findall(text, *run)
    sizes = list(map(len, parts))
    beginnings = [n for n in _beginnings(sizes, near.anywhere) if parts[n][0] in _FIRST_DIGITS]
    groups = [group.span() for group in DIGITS_ALONE.finditer(text, *run)] if beginnings else []
    taken = 0
    for first in beginnings:
        digits, last = "", first
        begins = first >= taken
        while begins and last < len(groups) and len(digits) < SIZES.stop - 1:
            digits += text[slice(*groups[last])]
            last += 1
            if len(digits) not in SIZES or not _may_stand(sizes, first, last, near.anywhere):
                continue
            if is_card(digits) and _is_meant(text, groups[first:last], _goes_on(text, groups, first, last), near):
                yield groups[first][0], groups[last - 1][1]
                taken = last
                break


_FIRST_DIGITS = frozenset("234568")
"""The first digits of all networks' numbers."""


def _beginnings(sizes: list[int], told: bool) -> list[int]:
    """Return the groups that a card number can begin with: those of one digit or of four, and longer ones."""
    changes = range(len(sizes)) if told else [0, *(n for n in range(1, len(sizes)) if sizes[n - 1] != sizes[n])]
    whole = () if told else (n for n, size in enumerate(sizes) if size >= SIZES.start)
    return sorted({*(n for n in changes if sizes[n] not in (2, 3)), *whole})


def _may_stand(sizes: list[int], first: int, last: int, told: bool) -> bool:
    """Return whether the grouping of digits looks like a card number, without a word about one."""
    own = sizes[first:last]
    if told and len(own) <= 3 and min(own) >= 4:
        return True
    return _is_grouped(own) and (told or len(own) == 1 or first == 0 or sizes[first - 1] != own[0])


class _Telling:
    """The places where a text mentions cards, found once for all of its numbers."""

    def __init__(self, text: str) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for found in Landmarks(text, TELLING_PARTS, in_words=True).matches(TELLING, TELLING_PARTS):
            self._starts.append(found.start())
            self._ends.append(found.end())

    @property
    def anywhere(self) -> bool:
        """Return whether any word mentions one."""
        return bool(self._starts)

    def of(self, start: int, end: int) -> bool:
        """Return whether such a word is near the span from ``start`` to ``end``."""
        before = bisect_right(self._ends, start) - 1
        after = bisect_left(self._starts, end)
        return (before >= 0 and self._starts[before] >= start - BEFORE) or (
            after < len(self._ends) and self._ends[after] <= end + AFTER
        )


def _is_meant(text: str, groups: list[tuple[int, int]], goes_on: bool, near: _Telling) -> bool:
    """Return whether the groups of digits are presented as a card number rather than another one."""
    start, end = groups[0][0], groups[-1][1]
    sizes = [stop - begin for begin, stop in groups]
    if near.of(start, end):
        return (len(sizes) <= 3 and min(sizes) >= 4) or _is_grouped(sizes)
    if len(sizes) == 1:
        before = text[max(0, start - LONGEST_ADDRESS) : start]
        is_part_of_more = ATTACHED.search(before[-4:]) or ADDRESS.search(before)
        return sizes[0] in (15, 16) and not is_named_otherwise(before) and not is_part_of_more
    return _is_grouped(sizes) and not goes_on


def _is_grouped(sizes: list[int]) -> bool:
    """Return whether digits are grouped as on a card, or one by one, rather than as a list of numbers."""
    if len(sizes) == 1 or set(sizes) == {1} or sizes in ([4, 6, 5], [4, 6, 4]):
        return True
    return len(sizes) > 3 and set(sizes[:-1]) == {4} and sizes[-1] <= 4


def is_named_otherwise(before: str) -> bool:
    """Return whether the text before a number identifies it as something else: "order no. …"."""
    return bool(NAMED.search(before[-BEFORE:]))


def _goes_on(text: str, groups: list[tuple[int, int]], first: int, last: int) -> bool:
    """Return whether more groups of the same size are adjacent: a list of numbers, some of which resemble a card."""
    size = groups[first][1] - groups[first][0]
    if first > 0 and groups[first - 1][1] - groups[first - 1][0] == size:
        return True
    following = text[slice(*groups[last])] if last < len(groups) else ""
    if len(following) != size or groups[last - 1][1] - groups[last - 1][0] != size:
        return False
    return not (EXPIRY.fullmatch(following) and last + 1 >= len(groups) - 1)


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
"""The length of an account number in each country of the IBAN registry."""

DIGIT = regex(r"\d")
UUID = regex(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Fa-f])")
UUID_MIDDLE = regex(r"-(?=[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-)")
"""The part of a UUID that is found fastest."""
IBAN_START = regex(r"\d(?<=[A-Za-z]{2}\d)(?<![0-9A-Za-z][A-Za-z]{2}\d)\d(?=[ -]?[0-9A-Za-z]{4})")
"""The digits after a country code; searching for digits is faster than searching for any letter."""
SSN = regex(r"(?<![0-9A-Za-z-])(?<!\d\.)(?!000|666|9)\d{3}([-. ])(?!00)\d{2}\1(?!0000)\d{4}(?![0-9A-Za-z-]|\.\d)")
SSN_WORD = regex(r"(?i)ssn|social security")
SSN_IN_WORDS = regex(
    r"(?i)\b(?:ssn|social security(?: number| no\.?)?)\b[^\d\n]{0,20}((?!000|666|9)\d{3}[- ]?\d{2}[- ]?\d{4})(?!\d)"
)

Span = tuple[str, int, int]


def is_iban(text: str) -> bool:
    """Return whether ``text`` (no spaces, capitals) is an account number with valid check digits."""
    if IBAN_LENGTHS.get(text[:2]) != len(text) or not text.isalnum():
        return False
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def card_numbers(text: str) -> Iterator[Span]:
    """Yield payment card numbers."""
    for start, end in cards(text):
        yield "card_number", start, end


def ibans(text: str) -> Iterator[Span]:
    """Yield bank account numbers, with or without spaces or dashes between their groups."""
    for start in IBAN_START.finditer(text):
        begin = start.start() - 2
        length = IBAN_LENGTHS.get(text[begin : begin + 2].upper())
        body = re.compile(rf"(?:[0-9A-Za-z][ -]?){{{length - 1}}}[0-9A-Za-z](?![0-9A-Za-z])") if length else None
        found = body.match(text, begin) if body else None
        if found and is_iban(re.sub(r"[ -]", "", found[0]).upper()):
            yield "iban", found.start(), found.end()


def social_security_numbers(text: str) -> Iterator[Span]:
    """Yield social security numbers of the United States; those without dashes only if the words say so."""
    for start, end in _numbers(text, 9):
        for found in SSN.finditer(text, start, end):
            yield "social_security_number", found.start(), found.end()
        for word in SSN_WORD.finditer(text, max(0, start - 60), end):
            if told := SSN_IN_WORDS.match(text, word.start()):
                yield "social_security_number", told.start(1), told.end(1)


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


def _is_moment(value: str) -> bool:
    """Return whether a day and four digits read as a date and time: 20261121-1715."""
    return len(value) == 13 and value[8] == "-" and int(value[9:11]) < 24 and int(value[11:]) < 60


NATIONAL: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("british_insurance_number",
     regex(r"\b(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D]\b"),
     lambda value: True),
    ("spanish_dni", regex(r"\b[XYZ0-9]\d{7}[A-Z]\b"), _is_dni),
    ("brazilian_cpf", regex(r"\b\d{3}\.\d{3}\.\d{3}-\d{2}\b"), _is_cpf),
    ("chinese_resident_id",
     regex(r"(?<!\d)[1-8]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?!\d)"),
     _is_resident_id),
    ("swiss_ahv", regex(r"\b756\.\d{4}\.\d{4}\.\d{2}\b"), _is_ahv),
    ("swedish_personnummer",
     regex(r"\b(?:19|20)?\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[-+]\d{4}\b"),
     _is_personnummer),
)  # fmt: skip
"""National ids recognisable by shape, each with its own check."""


def national_ids(text: str) -> Iterator[Span]:
    """Yield national ids of several countries whose shape and checksum leave little doubt."""
    numbers = list(_numbers(text, 6))
    for kind, pattern, valid in NATIONAL:
        for found in chain.from_iterable(pattern.finditer(text, start, end) for start, end in numbers):
            if valid(found[0]) and not is_named_otherwise(text[max(0, found.start() - BEFORE) : found.start()]):
                yield kind, found.start(), found.end()


def _without_uuids(text: str) -> str:
    """Return ``text`` with each character of a UUID replaced by ``x``, because its digits are not a number."""
    pieces, end = [], 0
    for middle in UUID_MIDDLE.finditer(text):
        found = UUID.match(text, middle.start() - 8) if middle.start() - 8 >= end else None
        if found:
            pieces += [text[end : found.start()], "x" * len(found[0])]
            end = found.end()
    return "".join((*pieces, text[end:]))


def personal_numbers(text: str) -> Iterator[Span]:
    """Yield every personal number in ``text`` as kind, start and end."""
    if not DIGIT.search(text):
        return
    text = _without_uuids(text)
    for finder in (card_numbers, ibans, social_security_numbers, national_ids):
        yield from finder(text)


EMAIL = regex(
    r"(?<![\w.+-])[\w.+-]{1,64}@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+[^\W\d_]{2,24}(?![\w-])",
)
INTERNATIONAL = regex(r"(?<![\w+.])\+\d{1,3}(?:[ ./-]?\(?\d{1,4}\)?){2,6}(?![\w-])")
GROUPED = regex(r"(?<![\w.+/-])(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])")
"""The North American form."""
TOLD = regex(
    r"(?i)\b(?:phone|mobile|cell(?:phone)?|tel(?:ephone)?|fax|whatsapp|call|handy|telefon|móvil|téléphone)\b"
    r"[^\d\n+]{0,25}(?P<number>\d(?:[ ./()-]{0,2}\d){5,14})(?!\w)"
)
DIGITS = range(7, 16)
"""The possible digit counts of an international phone number (ITU-T E.164)."""


def contacts(text: str) -> Iterator[Span]:
    """Yield e-mail addresses and phone numbers in ``text`` as kind, start and end.

    >>> [kind for kind, *_ in contacts("Write to ada@example.org or call +49 30 901820.")]
    ['email_address', 'phone_number']
    """
    if "@" in text:
        for found in EMAIL.finditer(text):
            yield "email_address", found.start(), found.end()
    if sum(map(str.isdigit, text)) < DIGITS.start:
        return
    unmistakable = _without_uuids(text)
    for pattern, group in ((INTERNATIONAL, 0), (GROUPED, 0), (TOLD, "number")):
        for found in pattern.finditer(unmistakable):
            if sum(map(str.isdigit, found[group])) in DIGITS:
                yield "phone_number", found.start(group), found.end(group)
