# ruff: noqa: SIM905 (lists of words read better as text)
"""Finds secrets that only their surroundings give away: "password is …", "api key: …", "… is my password".

Randomness alone is never enough, so UUIDs, digests, sortable ids, addresses, dates and file names pass.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator

from .masking import TELLING
from .personal import UUID, Span
from .wording import FUNCTION_WORDS

STRONG = (
    r"(?:pg|db|my|user|root|admin)?pass ?words?|passwd|pwd|pass ?phrase|pass ?code|apikey"
    r"|(?:api|app|account|admin|server|auth|signing|encryption|private|master|license)[ _-]?key"
    r"|(?:access|auth|authentication|authorization|refresh|bearer|deploy|bot|session|security|api)[ _-]?token"
    r"|(?:access|secret|private)[ _-]?key|(?:client|app|shared|webhook)?[ _-]?secret(?:[ _-]?access[ _-]?key)?|bearer"
    r"|passwort|kennwort|mot de passe|contraseña|clave secreta|senha|wachtwoord|hasło|пароль|parola|şifre|密码"
    r"|密碼|口令|パスワード|비밀번호|암호|كلمة المرور|סיסמה"
)
PIN = (
    r"pin(?: code| number)?|cvv2?|cvc|t?otp|one[- ]time code"
    r"|(?:security|door|alarm|verification|2fa|mfa|sms|login|authentication) code"
)
WEAK = r"token|key|credentials?|auth|login|creds?"
CURT = r"pass|pw|wi-?fi"
"""Words that give a value away only if it is plainly none of a word."""
JOIN = (
    r"['\"’`]?(?:\s+(?:for|to|of|on|at|in)\s+(?:(?!\bis\b|\bwas\b)[^\s:=,.;]+\s+){0,5}?(?:[^\s:=,;]+?)?)?"
    r"\s*(?:=>|->|→|:=|[:=：]|>(?=\S)|\b(?:is|was|are|equals|(?:should|must|will) be|ist|lautet|es|est|è|é)\b"
    r"|是|为|は|는|은)"
    r"\s*(?:(?:now|still|set to|just|this)\s*:?\s+)?"
)
VALUE = r"(?:\"(?P<dq>[^\"\n]{3,200})\"|'(?P<sq>[^'\n]{3,200})'|`(?P<bq>[^`\n]{3,200})`|(?P<bare>[^\s\"'`,;<>]{3,500}))"
EDGE = r"(?<![A-Za-z])"
CONTEXT = re.compile(
    rf"(?i){EDGE}(?:(?P<strong>{STRONG})|(?P<pin>{PIN})|(?P<weak>{WEAK})|(?P<curt>{CURT}))(?![A-Za-z]){JOIN}{VALUE}"
)
BEARER = re.compile(r"(?i)\b(?:bearer|basic|token|ssws)\s+(?P<bare>[A-Za-z0-9+/._~-]{16,}={0,2})(?![A-Za-z0-9])")
FLAG = re.compile(r"(?i)(?<!\S)--?(?:password|passwd|pass|token|secret|api-?key)[ =](?P<bare>[^\s\"'`]{4,})")
USER = re.compile(
    r"\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =](?P<quote>['\"]?)[^\s:'\"]{1,64}:(?P<bare>[^\s'\"]{4,})(?P=quote)(?!\S)"
)
ADJACENT = re.compile(rf"(?i){EDGE}(?P<strong>{STRONG})(?:['’]s)?(?:\s+(?:to|of))?\s+{VALUE}")
"""The secret follows at once: "password hunter2", "changed the password to hunter2"."""
TURNED_ROUND = re.compile(
    r"(?i)(?<![^\s\"'`(<])(?P<bare>[^\s\"'`,;<>]{6,200})[\"'`]?,?\s+(?:is|as)\s+(?:my|the|our|his|her|their|your|a)\s+"
    rf"(?:[\w-]+\s+){{0,2}}?(?P<strong>{STRONG})(?![A-Za-z])"
)
CARD_CODE = re.compile(r"(?i)(?<![A-Za-z])(?:cvv2?|cvc)\s+(?P<bare>\d{3,4})(?!\w)")
PHRASE = re.compile(
    r"(?i)\b(?:seed|recovery|mnemonic|backup)(?: |-)(?:phrase|words?)\b\W{0,3}(?:is|are)?\W{0,3}"
    r"(?P<bare>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23})\b"
)
"""Twelve to twenty-four words that open a wallet (BIP 39)."""

PASSPHRASE = re.compile(
    r"(?i)\bpass ?(?:phrase|word)(?:\s*[:=]|\s+is)\s*[\"'“”‘’]?"
    r"(?P<bare>[a-z]{3,12}(?: [a-z]{3,12}){3,11})(?=\W*(?:$|[.!?\n\"”’]))"
)
"""Words in a row that none joins to another: "correct horse battery staple"."""

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
JOINING = FUNCTION_WORDS | ORDINARY | {"characters", "letters", "words", "digits", "days", "times"}
"""Words that make a sentence of what follows a telling word."""
ORDINARY_ENDING = re.compile(r"(?:ed|ing|ly|able|ible|tion|ness|ment)$")
TECHNICAL = re.compile(
    r"(?i)(?:sha|md|utf|base|rfc|http|oauth|tls|ssl|aes|rsa|pbkdf|argon|bcrypt|scrypt|ipv|x|win|windows|s|ec|ed|iso|wpa)"
    r"[_-]?v?\d+(?:[-_.][a-z0-9]+)*s?"
)
"""Names of techniques, which have digits like passwords."""
KEY_LIKE = re.compile(rf"{UUID.pattern}|[0-9a-f]{{32,64}}")
"""Harmless by itself, and a key where the word before says so."""
UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts without blanks, in which the rest of the sentence stands where elsewhere a word would."""
OWNED = re.compile(r"(?i)\b(?:my|our|his|her|their)\b[\w\s-]{0,30}$")
OWNER = 40
"""So many characters before a telling word the owner stands."""
ENDS = re.compile(r"[.!?,;\n]|\s*\Z")
GOES_ON = re.compile(r"(?i)\s*(?:and|but)\s")


def in_context(text: str) -> Iterator[Span]:
    """Yield the secrets that the words around them give away, as kind, start and end."""
    lowered = text.lower()
    if not any(word in lowered for word in TELLING):
        return
    yield from _joined(text)
    yield from _beside(text)
    yield from _as_arguments(text)


def _joined(text: str) -> Iterator[Span]:
    start = 0
    while match := CONTEXT.search(text, start):
        group = next(name for name in ("dq", "sq", "bq", "bare") if match[name])
        value = match[group].rstrip(".!?:)") if group == "bare" else match[group]
        kind = "pin" if match["pin"] else "token" if match["weak"] else "password"
        if re.search(r"(?i)key|token|secret|bearer", match["strong"] or ""):
            kind = "key"
        if _gives_away(match, value, group):
            yield kind, match.start(group), match.start(group) + len(value)
            start = match.end(group)
        else:
            # The words between may themselves be telling: "the key is password=…".
            start = match.start() + 1


def _beside(text: str) -> Iterator[Span]:
    """Yield what stands before or behind a telling word with no verb between, where it cannot be a word itself."""
    for pattern in (ADJACENT, TURNED_ROUND):
        for match in pattern.finditer(text):
            group = next(name for name in match.groupdict() if name != "strong" and match[name])
            value = match[group].rstrip(".!?:)") if group == "bare" else match[group]
            if _stands_out(value, match["strong"]):
                kind = "password" if "pass" in match["strong"].lower() else "key"
                yield kind, match.start(group), match.start(group) + len(value)
    for match in PASSPHRASE.finditer(text):
        first, *others = match["bare"].lower().split()
        if first not in FUNCTION_WORDS and not ORDINARY_ENDING.search(first) and not JOINING & set(others):
            yield "password", match.start("bare"), match.end("bare")
    for kind, pattern in (("recovery_phrase", PHRASE), ("pin", CARD_CODE)):
        for match in pattern.finditer(text):
            yield kind, match.start("bare"), match.end("bare")


def _stands_out(value: str, word: str) -> bool:
    if PLACEHOLDER.fullmatch(value) or TECHNICAL.fullmatch(value):
        return False
    if "pass" not in word.lower():
        return bool(KEY_LIKE.fullmatch(value)) or (not is_harmless(value) and looks_random(value, 16))
    mixed = any(char.isdigit() for char in value) and any(char.isalpha() for char in value)
    return mixed and len(value) >= 6 and not is_harmless(value)


def _as_arguments(text: str) -> Iterator[Span]:
    """Yield what commands and headers carry: a bearer token, ``--password …``, ``-u name:…``."""
    for pattern, kind in ((BEARER, "token"), (FLAG, "password"), (USER, "password")):
        for match in pattern.finditer(text):
            value = match["bare"].rstrip(".!?:)")
            if not is_harmless(value) and (kind == "password" or looks_random(value, 16)):
                yield kind, match.start("bare"), match.start("bare") + len(value)


def _gives_away(match: re.Match[str], value: str, group: str) -> bool:
    if PLACEHOLDER.fullmatch(value):
        return False
    if match["pin"]:
        return value.isdigit() and 3 <= len(value) <= 8
    if match["weak"]:
        is_key = "token" in match["weak"].lower() and bool(KEY_LIKE.fullmatch(value))
        return is_key or (not is_harmless(value) and looks_random(value, 16))
    if match["curt"]:
        return _stands_out(value, "pass")
    if group == "bare" and UNSPACED.search(value) and not re.search(r"[A-Za-z0-9]", value):
        return False
    if ADDRESS.fullmatch(value) or DATE.fullmatch(value) or FILE_NAME.fullmatch(value):
        return False
    if _is_mixed(value) and len(value) >= 4:
        return True
    return _is_odd_word(match, value, group)


def _is_mixed(value: str) -> bool:
    """Return whether ``value`` mixes kinds of characters as no word does."""
    inner = value.strip("'\"()")
    letters_and_more = (
        any(char.isalpha() for char in inner),
        any(char.isdigit() for char in inner),
        bool(re.search(r"[^\w\s'’.,/-]|_", inner)),
        bool(re.search(r"[a-z][A-Z]", inner)),
    )
    return sum(letters_and_more) >= 2 or (inner.isdigit() and len(inner) >= 4)


def _is_odd_word(match: re.Match[str], value: str, group: str) -> bool:
    """Return whether a plain word stands where only the secret itself can stand."""
    if len(value) < 4 or value.lower() in ORDINARY or ORDINARY_ENDING.search(value.lower()):
        return False
    if group != "bare":
        return True
    text, start, end = match.string, match.start(), match.start(group) + len(value)
    ends_sentence = ENDS.match(text, end)
    # Only what is near is looked at: a text may tell a thousand times of passwords.
    begins_another = OWNED.search(text, max(0, start - OWNER), start) and GOES_ON.match(text, end)
    return "pass" in match["strong"].lower() and bool(ends_sentence or begins_another)


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
