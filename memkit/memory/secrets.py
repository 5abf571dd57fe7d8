# ruff: noqa: SIM905 (lists of words read better as text)
"""Finds credentials and personal numbers in text, and hides them.

Three rules, none of which needs a network: the published shape of a token, a value that a telling context gives away
("password is …", "api key: …"), and numbers with a checksum. Randomness alone is never enough, so UUIDs, digests,
sortable ids, addresses, dates and file names pass.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .contacts import contacts
from .masking import TELLING
from .personal import UUID, personal_numbers
from .secret_shapes import SHAPES

STRONG = (
    r"pass ?words?|passwd|pwd|pass ?phrase|pass ?code|apikey"
    r"|(?:api|app|account|signing|encryption|private|master|license)[ _-]?key"
    r"|(?:access|auth|authentication|authorization|refresh|bearer|deploy|bot|session|security|api)[ _-]?token"
    r"|(?:access|secret|private)[ _-]?key|(?:client|app|shared|webhook)?[ _-]?secret(?:[ _-]?access[ _-]?key)?|bearer"
    r"|passwort|kennwort|mot de passe|contraseña|clave secreta|senha|wachtwoord|hasło|пароль|parola|şifre|密码"
    r"|密碼|口令|パスワード|비밀번호|암호|كلمة المرور|סיסמה"
)
PIN = r"pin(?: code| number)?|cvv2?|cvc|security code|door code|alarm code|one[- ]time code|verification code|otp"
WEAK = r"token|key|credentials?|auth|login|creds?"
JOIN = (
    r"['\"’`]?(?:\s+(?:for|to|of|on|at|in)\s+(?:(?!\bis\b|\bwas\b)[^\s:=,.;]+\s+){0,5}?(?:[^\s:=,;]+?)?)?"
    r"\s*(?:=>|->|→|:=|[:=：]|\b(?:is|was|are|equals|ist|es|est|è|é)\b|是|为|は|는|은)"
    r"\s*(?:(?:now|still|set to|just|this)\s*:?\s+)?"
)
VALUE = r"(?:\"(?P<dq>[^\"\n]{3,200})\"|'(?P<sq>[^'\n]{3,200})'|`(?P<bq>[^`\n]{3,200})`|(?P<bare>[^\s\"'`,;<>]{3,500}))"
EDGE = r"(?<![A-Za-z])"
CONTEXT = re.compile(rf"(?i){EDGE}(?:(?P<strong>{STRONG})|(?P<pin>{PIN})|(?P<weak>{WEAK}))(?![A-Za-z]){JOIN}{VALUE}")
BEARER = re.compile(r"(?i)\b(?:bearer|basic|token)\s+(?P<bare>[A-Za-z0-9+/._~-]{16,}={0,2})(?![A-Za-z0-9])")
FLAG = re.compile(r"(?i)(?<!\S)--?(?:password|passwd|pass|token|secret|api-?key)[ =](?P<bare>[^\s\"'`]{4,})")

BY_KEYWORD = tuple((keyword, shape) for shape in SHAPES for keyword in shape.keywords)

HEX_DIGEST = re.compile(r"(?:sha\d+[:-])?[0-9a-fA-F]{7,128}")
SORTABLE_ID = re.compile(r"[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{26}")
ADDRESS = re.compile(
    r"(?i)[a-z][a-z0-9+.-]*://\S+|(?:[\w-]+\.)+(?:com|org|net|io|dev|ai|co|de|uk|eu|fr)(?:/\S*)?|\S+@\S+\.\w+|[~.]{0,2}/\S*"
)
DATE = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]?\S*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d\d(?::\d\d)?")
FILE_NAME = re.compile(
    r"(?i)\S+\.(?:whl|py|md|txt|json|ya?ml|toml|pdf|png|jpe?g|zip|gz|tar|csv|log|env|pem|key|kdbx?|cfg|ini)"
)
VERSIONED = re.compile(r"(?i)[a-z][a-z0-9]*(?:[-_.][a-z0-9.]+)*[-_.]v?\d+(?:\.\d+)*[a-z]?")
PLACEHOLDER = re.compile(
    r"<[^>]*>|\$\{?[A-Z_][A-Z0-9_]*\}?|%[A-Z_]+%|\{.*\}|\[masked:.*|\*+|[x•.…_-]+"
    r"|(?i:(?:.*[\W_])?(?:your|example|placeholder|redacted|changeme|dummy|hidden|environ|getenv|env)(?:[\W_].*)?)"
)
ORDINARY = frozenset(
    """safe strong weak long short secret required optional missing wrong incorrect correct invalid valid empty
    blank unknown important different difficult easy simple random unique public private personal shared same
    there here this that these those what which everything nothing something anything none null true false
    always never only also still secure insecure fine okay good better best bad hard great case-sensitive
    needed impossible possible available unavailable necessary mandatory temporary permanent master forgotten
    written hidden broken stolen known given taken shown gone lost kept set reset about after before under
    above below inside outside between behind stronger weaker longer shorter compromised passwordless
    alphanumeric numeric his hers theirs mine yours ours not too very""".split()
)
ORDINARY_ENDING = re.compile(r"(?:ed|ing|ly|able|ible|tion|ness|ment)$")


SECRET, PERSONAL, CONTACT = "secret", "personal", "contact"
"""What a finding is: a credential, a number about a person, or a way to reach one."""
HIDDEN = frozenset({SECRET, PERSONAL})
"""What nobody else may read: neither in sessions nor in accounts of what happened."""


@dataclass(frozen=True)
class Finding:
    """Something in a text that may have to stay out of memory."""

    kind: str
    start: int
    end: int
    group: str = SECRET


def find_secrets(text: str, groups: frozenset[str] = HIDDEN) -> list[Finding]:
    """Return what of ``groups`` is in ``text``, left to right, without overlaps."""
    plain, places = _readable(text)
    found = sorted(_raw_findings(plain, groups), key=lambda finding: (finding.start, -finding.end))
    kept: list[Finding] = []
    for finding in found:
        if not kept or finding.start >= kept[-1].end:
            kept.append(finding)
        elif finding.end > kept[-1].end:
            kept[-1] = Finding(kept[-1].kind, kept[-1].start, finding.end, kept[-1].group)
    if places is None:
        return kept
    return [Finding(item.kind, places[item.start], places[item.end - 1] + 1, item.group) for item in kept]


def mask(text: str, groups: frozenset[str] = HIDDEN) -> str:
    """Return ``text`` with everything of ``groups`` in it replaced by ``[masked:kind]``.

    >>> mask("the card is 4111 1111 1111 1111")
    'the card is [masked:card_number]'
    """
    # What is left beside a mask may look like another secret only now, so look again until nothing is found.
    while found := find_secrets(text, groups):
        for finding in reversed(found):
            text = f"{text[: finding.start]}[masked:{finding.kind}]{text[finding.end :]}"
    return text


def kinds(texts: Iterable[str], groups: frozenset[str] = HIDDEN) -> list[Finding]:
    """Return one finding for each kind of ``groups`` in any of ``texts``, in the order they were met."""
    first: dict[str, Finding] = {}
    for text in texts:
        for finding in find_secrets(text, groups):
            first.setdefault(finding.kind, finding)
    return list(first.values())


def _readable(text: str) -> tuple[str, list[int] | None]:
    """Return ``text`` as it reads, and where each character stood: no invisible characters, no full-width letters."""
    if text.isascii():
        return text, None
    letters: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        shown = "" if unicodedata.category(char) == "Cf" else unicodedata.normalize("NFKC", char)
        letters.append(shown)
        places.extend([place] * len(shown))
    return "".join(letters), places


def _raw_findings(text: str, groups: frozenset[str]) -> Iterator[Finding]:
    if SECRET in groups:
        yield from _credentials(text)
    if PERSONAL in groups:
        yield from (Finding(*span, PERSONAL) for span in personal_numbers(text))
    if CONTACT in groups:
        yield from (Finding(*span, CONTACT) for span in contacts(text))


def _credentials(text: str) -> Iterator[Finding]:
    lowered = text.lower()
    for shape in dict.fromkeys(shape for keyword, shape in BY_KEYWORD if keyword in lowered):
        for match in shape.pattern.finditer(text):
            yield Finding(shape.kind, match.start(), match.end())
    if any(word in lowered for word in TELLING):
        yield from _in_context(text)


def _in_context(text: str) -> Iterator[Finding]:
    start = 0
    while match := CONTEXT.search(text, start):
        group = next(name for name in ("dq", "sq", "bq", "bare") if match[name])
        value = match[group].rstrip(".!?:)") if group == "bare" else match[group]
        kind = "pin" if match["pin"] else "token" if match["weak"] else "password"
        if re.search(r"(?i)key|token|secret|bearer", match["strong"] or ""):
            kind = "key"
        if _gives_away(match, value, group):
            yield Finding(kind, match.start(group), match.start(group) + len(value))
            start = match.end(group)
        else:
            # The words between may themselves be telling: "the key is password=…".
            start = match.start() + 1
    for pattern in (BEARER, FLAG):
        for match in pattern.finditer(text):
            value = match["bare"].rstrip(".!?:)")
            if not is_harmless(value) and (pattern is FLAG or looks_random(value, 16)):
                yield Finding(
                    "password" if pattern is FLAG else "token", match.start("bare"), match.start("bare") + len(value)
                )


def _gives_away(match: re.Match[str], value: str, group: str) -> bool:
    if PLACEHOLDER.fullmatch(value):
        return False
    if match["pin"]:
        return value.isdigit() and 3 <= len(value) <= 8
    if match["weak"]:
        return not is_harmless(value) and looks_random(value, 16)
    if ADDRESS.fullmatch(value) or DATE.fullmatch(value) or FILE_NAME.fullmatch(value):
        return False
    if _is_mixed(value) and len(value) >= 4:
        return True
    return _is_odd_word(match, value, group)


def _is_mixed(value: str) -> bool:
    """Return whether ``value`` mixes kinds of characters as no word does."""
    inner = value.strip("'\"()")
    kinds_inside = (
        any(char.isalpha() for char in inner),
        any(char.isdigit() for char in inner),
        bool(re.search(r"[^\w\s'’.,/-]|_", inner)),
        bool(re.search(r"[a-z][A-Z]", inner)),
    )
    return sum(kinds_inside) >= 2 or (inner.isdigit() and len(inner) >= 4)


def _is_odd_word(match: re.Match[str], value: str, group: str) -> bool:
    """Return whether a plain word stands where only the secret itself can stand."""
    if len(value) < 4 or value.lower() in ORDINARY or ORDINARY_ENDING.search(value.lower()):
        return False
    if group != "bare":
        return True
    rest = match.string[match.start(group) + len(value) :].lstrip(".!?")
    ends_sentence = (
        not rest.strip() or rest.startswith("\n") or match.string[match.start(group) + len(value)] in ".!?,;"
    )
    return ends_sentence and "pass" in match["strong"].lower()


def is_harmless(value: str) -> bool:
    """Return whether ``value`` is a UUID, digest, sortable id, address, date, file name or version."""
    shapes = (UUID, HEX_DIGEST, SORTABLE_ID, ADDRESS, DATE, FILE_NAME, VERSIONED)
    return any(shape.fullmatch(value) for shape in shapes) or bool(PLACEHOLDER.fullmatch(value))


def looks_random(value: str, least: int) -> bool:
    """Return whether ``value`` is long, has letters and digits, and spreads over many characters."""
    if len(value) < least or not (any(c.isdigit() for c in value) and any(c.isalpha() for c in value)):
        return False
    return entropy(value) > 3.0


def entropy(value: str) -> float:
    """Return the bits of surprise per character of ``value``."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())
