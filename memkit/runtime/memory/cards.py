"""Tells payment cards from other long numbers: fractions, ids, order numbers, lists of four-digit numbers.

A network's beginning and a right check digit are not enough: one number in thirty of sixteen digits has both. So how
the digits stand together counts too, and what stands around them.
"""

import re
from collections.abc import Iterator

RUN = re.compile(r"(?<![0-9A-Za-z_.+])\d(?:[ -]{0,3}\d)+(?![0-9A-Za-z_]|\.\d)")
"""Digits with blanks and dashes between them; behind a point stands a fraction, behind a plus a phone number."""
DOTTED = re.compile(r"(?<![0-9A-Za-z_.+-])(?:\d{4}\.\d{4}\.\d{4}\.\d{4}|\d{4}\.\d{6}\.\d{5})(?![0-9A-Za-z_]|\.\d)")
SIZES = range(13, 20)
"""So many digits a card number may have (ISO/IEC 7812)."""

TELLING = re.compile(
    r"(?i)card|visa|amex|american express|maestro|discover|diners|jcb|union ?pay|credit|debit|kredit|cvv|cvc"
    r"|(?<![a-z])(?:cc|pan|pay|pays|paid|payments?|charged?)(?![a-z])"
    r"|tarjeta|carte|carta|cart[aã]o|karte|kaart|(?<![a-z])kort|карт|カード|卡|카드|بطاقة|כרטיס|บัตร"
)
"""Words that say that a number is a card's, near it."""
BEFORE, AFTER = 48, 32
"""So many characters before and after a number are near it."""

NAMED = re.compile(
    r"(?i)(?<![a-z])(?:order|tracking|invoice|ticket|case|ref|reference|serial|parcel|shipment|package|transaction|part"
    r"|model|item|product|article|sku|isbn|ean|gtin|upc|barcode|imei|imsi|iccid|issue|build|commit|run|job|request|trace"
    r"|span|message|thread|channel|guild|tweet|post|snowflake|timestamp|epoch|time|seed|checksum|hash|version|lot|batch"
    r"|device|asset|event|session|ids?|uid|guid|phone|tel|fax|mobile)(?![a-z])"
    r"(?:[\s:=#\"'(,]|(?<![a-z])(?:number|no|nr|num|code|ids?|is|was|are)(?![a-z])\.?){0,8}$"
)
"""What names the number that follows as something else."""
ATTACHED = re.compile(r"(?:[0-9A-Za-z]-|#|/|(?<!\d)\d{1,3},)$")
"""A number that is the tail of a longer name, a part of a path, or a fraction with a comma."""
ADDRESS = re.compile(r"(?i)(?:[a-z][a-z0-9+.-]*://|www\.)\S*$")
LONGEST_ADDRESS = 200
EXPIRY = re.compile(r"(?:0[1-9]|1[0-2])[2-4]\d")


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
    if length == 16 and head2 in (50, 56, 57, 58, 60, 63, 67, 68, 69):
        return "maestro"
    return None


def is_card(digits: str) -> bool:
    """Return whether ``digits`` are a payment card number."""
    return len(digits) in SIZES and card_brand(digits) is not None and luhn(digits)


def cards(text: str) -> Iterator[tuple[int, int]]:
    """Yield from where to where payment card numbers stand, grouped or not, also next to other numbers.

    >>> list(cards("card 4111 1111 1111 1111, weight 0.4539578763621486"))
    [(5, 24)]
    """
    for dotted in DOTTED.finditer(text):
        if is_card(dotted[0].replace(".", "")):
            yield dotted.span()
    for run in RUN.finditer(text):
        if run.end() - run.start() >= SIZES.start:
            yield from _cards_in(text, [group.span() for group in re.compile(r"\d+").finditer(text, *run.span())])


def _cards_in(text: str, groups: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    first = 0
    while first < len(groups):
        digits, last = "", first
        while last < len(groups) and len(digits) < SIZES.stop - 1:
            digits += text[slice(*groups[last])]
            last += 1
            if is_card(digits) and _is_meant(text, groups, first, last):
                yield groups[first][0], groups[last - 1][1]
                first = last - 1
                break
        first += 1


def _is_meant(text: str, groups: list[tuple[int, int]], first: int, last: int) -> bool:
    """Return whether the groups from ``first`` up to ``last`` stand as a card number does, and not as another."""
    start, end = groups[first][0], groups[last - 1][1]
    sizes = [stop - begin for begin, stop in groups[first:last]]
    near = text[max(0, start - BEFORE) : start] + "\n" + text[end : end + AFTER]
    if TELLING.search(near):
        return (len(sizes) <= 3 and min(sizes) >= 4) or _is_grouped(sizes)
    if len(sizes) == 1:
        before = text[max(0, start - LONGEST_ADDRESS) : start]
        return sizes[0] in (15, 16) and not is_named_otherwise(before) and not _is_part_of_more(before)
    return _is_grouped(sizes) and not _goes_on(text, groups, first, last)


def _is_grouped(sizes: list[int]) -> bool:
    """Return whether digits stand together as on a card, or one by one: no list of numbers."""
    if len(sizes) == 1 or set(sizes) == {1} or sizes in ([4, 6, 5], [4, 6, 4]):
        return True
    return len(sizes) > 3 and set(sizes[:-1]) == {4} and sizes[-1] <= 4


def is_named_otherwise(before: str) -> bool:
    """Return whether the text before a number names it as another thing: "order no. …"."""
    return bool(NAMED.search(before[-BEFORE:]))


def _is_part_of_more(before: str) -> bool:
    return bool(ATTACHED.search(before[-4:]) or ADDRESS.search(before[-LONGEST_ADDRESS:]))


def _goes_on(text: str, groups: list[tuple[int, int]], first: int, last: int) -> bool:
    """Return whether more groups of the same size stand beside: a list of numbers of which some look like a card."""
    size = groups[first][1] - groups[first][0]
    if first > 0 and groups[first - 1][1] - groups[first - 1][0] == size:
        return True
    following = text[slice(*groups[last])] if last < len(groups) else ""
    if len(following) != size or groups[last - 1][1] - groups[last - 1][0] != size:
        return False
    return not (EXPIRY.fullmatch(following) and last + 1 >= len(groups) - 1)
