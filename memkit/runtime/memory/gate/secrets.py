"""Finds credentials and personal numbers in text, and masks them.

It uses three rules, none of which needs a network: the published shape of a token, a value revealed by its context,
and numbers with a checksum. Their patterns are imported when a text could contain anything: most texts are plainly
harmless.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

SECRET, PERSONAL, CONTACT = "secret", "personal", "contact"
"""The groups of findings: a credential, a personal number, or contact details."""
HIDDEN = frozenset({SECRET, PERSONAL})
"""Findings that nobody else may read, neither in sessions nor in logs."""
SHORT = 500
"""In characters; the findings of a text up to this length are cached."""
LONG = 10_000
"""In characters; the masked form of a text from this length on is cached, because the search is slow."""
TELLING = """pass pwd pw wifi wi-fi seed recovery mnemonic backup curl key token secret bearer auth login cred pin
    cvv cvc code otp basic ssws passwort kennwort contraseña
    zugangscode geheimzahl السر clave chiave chave clé schl ключ पासवर्ड κωδικ пин пін combination safe 密钥 密鑰
    キー 暗証 비번 kode senha wachtwoord hasło пароль parola şifre 密码 密碼 口令 パスワード
    비밀번호 암호 المرور סיסמה""".split()  # noqa: SIM905
"""A text without any of these has no telling context."""
SPEAKING = (
    *"""identifiant zugangsdaten anmeldedaten credencia credenzial inloggegevens pgpass kata
    credential creds login signin auth account user pass pwd unlock decrypt connect heslo salasana adgangskode kata
    jelsz lozinka geslo slapta parool parola wachtwoord kennwort contrasenya admin: root: postgres: deploy: guest:
    backup: ftp: git: mysql maria redis valkey keydb vault htpasswd smb rpc sudo openssl zip 7z rar ldap sqlcmd mongo
    freerdp gpg snmp nmcli wpa chpasswd
    opens pw pswd pa55 p@ss p4ss p.a p-a p_a p*a kinit secret token bearer key code""".split(),  # noqa: SIM905
    *("log in", "sign in", "net use", "-u ", "-a ", "p a s s"),
)
"""A text without any of these does nothing with a password."""
_TELLING_OR_SPEAKING = tuple(
    word
    for word in dict.fromkeys((*TELLING, *SPEAKING))
    if word.isascii() and not any(other != word and other in word for other in (*TELLING, *SPEAKING))
)
"""The subset of both that an ASCII text may contain."""
LONGEST_PLAIN_WORD = 15
OWN_WORD = re.compile(
    r"01[A-Z][0-9A-HJKMNP-TV-Z]{23}"  # the id of a line, from this century on
    r"|call-[0-9]{1,2}-[0-9]{1,2}|[0-9]{8}T[0-9]{6}-[0-9a-f]{4}"  # the id of a call, and of a session
    r"|archival_memory_(?:insert|search)|core_memory_(?:append|replace)|conversation_search"
    r"|memory_retract|plan_task|propose_subtasks|evolve_expression"
)
"""Strings that memkit itself writes next to people's words: longer or with more digits than a word, but no secret."""
_QUOTES = str.maketrans("“”„‘’", '"""\'\'')
MOST_PLAIN_DIGITS = 4


class SecretFinding(NamedTuple):
    """Something in a text that may have to stay out of memory."""

    kind: str
    start: int
    end: int
    group: str = SECRET


def find_secrets(text: str, groups: frozenset[str] = HIDDEN) -> list[SecretFinding]:
    """Return the findings of ``groups`` in ``text``, left to right, without overlaps."""
    return list(_found_before(text, groups) if len(text) <= SHORT else _found(text, groups))


def _found(text: str, groups: frozenset[str]) -> tuple[SecretFinding, ...]:
    plain, place = _readable(text)
    found = sorted(_raw_findings(plain, groups), key=lambda finding: (finding.start, -finding.end))
    kept: list[SecretFinding] = []
    for finding in found:
        if not kept or finding.start >= kept[-1].end:
            kept.append(finding)
        elif finding.end > kept[-1].end:
            kept[-1] = SecretFinding(kept[-1].kind, kept[-1].start, finding.end, kept[-1].group)
    shown = ((item.kind, place(item.start), place(item.end - 1) + 1, item.group) for item in kept)
    return tuple(SecretFinding(*one) for one in shown)


_found_before = lru_cache(maxsize=256)(_found)
"""One write checks the same text for its document, its record and the lines of both."""


def mask(text: str, groups: frozenset[str] = HIDDEN) -> str:
    """Return ``text`` with every finding of ``groups`` replaced by ``[masked:kind]``.

    >>> mask("the card is 4111 1111 1111 1111")
    'the card is [masked:card_number]'
    """
    if is_plain(text):
        return text
    return _masked_before(text, groups) if len(text) > LONG else _masked(text, groups)


def _masked(text: str, groups: frozenset[str]) -> str:
    # Text left beside a mask may only now look like another secret, so the search repeats until it finds nothing.
    while found := find_secrets(text, groups):
        for finding in reversed(found):
            text = f"{text[: finding.start]}[masked:{finding.kind}]{text[finding.end :]}"
    return text


_masked_before = lru_cache(maxsize=4)(_masked)
"""A tool's long argument is written to the journal, the session, the account of the turn and its episode."""


def masked_tree(value: Any) -> Any:
    """Return ``value`` with the secrets in its texts masked.

    >>> masked_tree({"role": "user", "content": ["hello"]})
    {'role': 'user', 'content': ['hello']}
    """
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {key: masked_tree(item) for key, item in value.items()}
    return [masked_tree(item) for item in value] if isinstance(value, list | tuple) else value


def kinds(texts: Iterable[str], groups: frozenset[str] = HIDDEN) -> list[SecretFinding]:
    """Return one finding for each kind of ``groups`` in any of ``texts``, in order of occurrence."""
    first: dict[str, SecretFinding] = {}
    for text in texts:
        for finding in () if is_plain(text) else find_secrets(text, groups):
            first.setdefault(finding.kind, finding)
    return list(first.values())


def is_plain(text: str) -> bool:
    """Return whether a text of a few pages is harmless: short words, few digits, and no telling word."""
    if len(text) > LONG:
        return False
    return _is_plain_before(text) if len(text) <= SHORT else _is_plain(text)


def _is_plain(text: str) -> bool:
    text = text if text.isascii() else text.translate(_QUOTES)
    if not text.isascii():
        return False
    pieces = [piece.strip("?!.,:;'()`[]{}\"").replace("'", "") for piece in text.split()]
    odd = [piece for piece in pieces if len(piece) > LONGEST_PLAIN_WORD or not (piece.isalnum() or not piece)]
    if not all(map(OWN_WORD.fullmatch, odd)):
        return False
    if text.isalpha() and text.islower():  # "user" is a telling word but reveals nothing
        return True
    lowered = text.lower()
    if any(map(lowered.__contains__, _TELLING_OR_SPEAKING)):  # an id may spell one by chance, which is treated alike
        return False
    ids = sum(char.isdigit() for piece in odd if len(piece) > LONGEST_PLAIN_WORD for char in piece)
    return sum(map(str.isdigit, text)) - ids <= MOST_PLAIN_DIGITS


_is_plain_before = lru_cache(maxsize=256)(_is_plain)
"""A text is checked before it is refused, masked and reported; names recur from one offer to the next."""


def _readable(text: str) -> tuple[str, Callable[[int], int]]:
    """Return ``text`` normalised, with one form of letters, digits and dashes, and a map to original positions."""
    if text.isascii():
        return text, int
    moved: list[tuple[int, int]] = [(0, 0)]  # pairs of a start and the offset to the original position from there on
    pieces: list[str] = []
    end = 0  # end of the copied part
    for odd in _NOT_ASCII.finditer(text):
        shown = _SHOWN[ord(odd[0])] if len(odd[0]) == 1 else odd[0].translate(_SHOWN)
        if shown == odd[0]:
            continue
        pieces += [text[end : odd.start()], shown]
        end = odd.end()
        if len(shown) != len(odd[0]) or any(len(_SHOWN[ord(char)]) != 1 for char in odd[0]):
            size = odd.start() - moved[-1][1]
            for place, char in enumerate(odd[0], odd.start()):
                for _ in _SHOWN[ord(char)]:
                    moved.append((size, place - size))
                    size += 1
            moved.append((size, end - size))
    pieces.append(text[end:])
    starts = [start for start, _ in moved]
    plain = "".join(pieces)
    plain = "".join(_in_one_script(plain))
    return plain, lambda index: index + moved[bisect_right(starts, index) - 1][1]


_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_ALIKE = str.maketrans(
    "аеорсухіјѕԁһӏԛԝвкмнтАВЕКМНОРСТУХІЈЅαορνικυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijsdhlqwbkmhtABEKMHOPCTYXIJSaopvikuxABEZHIKMNOPTYX",
)
_LATIN = re.compile(r"[A-Za-z]")
_MIXED = re.compile(r"[\u0370-\u052f](?:(?<=[^\W\u0370-\u052f].)|(?=[^\W\u0370-\u052f]))")
"""A letter of another script next to one that belongs to none of those scripts."""
_REST_OF_WORD = re.compile(r"\w*")
_UP_TO_WORD = re.compile(r"(?s:.*)\W")


def _in_one_script(text: str) -> Iterator[str]:
    """Yield ``text`` in pieces, replacing look-alike letters of another script in words of Latin letters."""
    end = 0  # end of the yielded part
    for mixed in _MIXED.finditer(text):
        if (start := mixed.start()) < end:
            continue
        start = _start_of_word(text, end, start)
        yield text[end:start]
        end = _REST_OF_WORD.match(text, start).end()  # type: ignore[union-attr]
        word = text[start:end]
        yield word.translate(_ALIKE) if _LATIN.search(word) else word
    yield text[end:]


def _start_of_word(text: str, least: int, place: int) -> int:
    """Return the start of the word that contains a letter, but no less than ``least``."""
    size = 32
    while True:
        begin = max(least, place - size)
        if before := _UP_TO_WORD.match(text, begin, place):
            return before.end()
        if begin == least:
            return least
        size *= 4


class _Shown(dict[int, str]):
    """The plain form of a letter, a digit of any script, or a dash; nothing for invisible characters."""

    def __missing__(self, code: int) -> str:
        if len(self) >= KEPT_LETTERS:
            self.clear()
        char = chr(code)
        if unicodedata.category(char) == "Cf":
            shown = ""
        elif char.isdecimal():
            shown = str(unicodedata.decimal(char))
        else:
            plain = unicodedata.normalize("NFKC", char)
            is_dash = unicodedata.category(plain[0]) == "Pd" or plain == "\N{MINUS SIGN}"
            shown = "-" if is_dash else plain
        self[code] = shown
        return shown


KEPT_LETTERS = 20_000
_SHOWN = _Shown()


def _raw_findings(text: str, groups: frozenset[str]) -> Iterator[SecretFinding]:
    from .credentials import CREDENTIAL_WORDS, in_context, is_harmless, shaped
    from .landmarks import Landmarks, LongWords, folded
    from .personal import contacts, personal_numbers

    if SECRET in groups:
        small, long_words = folded(text), LongWords(text)
        yield from (SecretFinding(*span) for span in shaped(text, long_words))
        tells = any(map(small.__contains__, TELLING))
        speaks = not text.isascii() or any(map(small.__contains__, SPEAKING))
        if tells or speaks:
            from .surroundings import SPOKEN_WORDS, spoken

            marks = Landmarks(text, CREDENTIAL_WORDS + SPOKEN_WORDS)
            yield from (SecretFinding(*span) for span in in_context(marks) if tells)
            yield from (SecretFinding(*span) for span in spoken(marks, long_words, is_harmless) if speaks)
    if PERSONAL in groups:
        yield from (SecretFinding(*span, PERSONAL) for span in personal_numbers(text))
    if CONTACT in groups:
        yield from (SecretFinding(*span, CONTACT) for span in contacts(text))
