"""E-mail addresses and phone numbers: no secrets, but some stores want none of them."""

import re
from collections.abc import Iterator

from .personal import UUID, Span

EMAIL = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+[^\W\d_]{2,24}(?![\w-])",
)
INTERNATIONAL = re.compile(r"(?<![\w+.])\+\d{1,3}(?:[ ./-]?\(?\d{1,4}\)?){2,6}(?![\w-])")
GROUPED = re.compile(r"(?<![\w.+/-])(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])")
"""As in North America."""
TOLD = re.compile(
    r"(?i)\b(?:phone|mobile|cell(?:phone)?|tel(?:ephone)?|fax|whatsapp|call|handy|telefon|móvil|téléphone)\b"
    r"[^\d\n+]{0,25}(?P<number>\d(?:[ ./()-]{0,2}\d){5,14})(?!\w)"
)
DIGITS = range(7, 16)
"""How many digits a number has that can be called from abroad (ITU-T E.164)."""


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
    unmistakable = UUID.sub(lambda match: "x" * len(match[0]), text)
    for pattern, group in ((INTERNATIONAL, 0), (GROUPED, 0), (TOLD, "number")):
        for found in pattern.finditer(unmistakable):
            if sum(map(str.isdigit, found[group])) in DIGITS:
                yield "phone_number", found.start(group), found.end(group)
