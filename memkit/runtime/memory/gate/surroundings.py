# ruff: noqa: E501 (one way to say it a row reads better than wrapped rows)
"""Credentials recognised by their use: a login that is told, a pair of name and password, an argument of a command.

The value itself must not be a word: letters mixed with digits or signs. So ordinary sentences about logins pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain

from ..words.text import regex
from .credentials import EDGE, KEY_LIKE, PLACEHOLDER, STRONG, STRONG_WORDS, TECHNICAL
from .landmarks import Landmarks, LongWords, words
from .personal import Span

_VALUE = r"[\"'`“]?(?P<bare>[^\s\"'`“”,;<>]{5,200})"
_NAME = r"[\"'`]?[A-Za-z][\w.@+-]{0,40}[\"'`]?"
_PASSWORD = (
    r"hasło(?:\s+to)?|heslo(?:\s+je)?|salasana(?:n[ai])?(?:\s+on)?|lösenord(?:et)?(?:\s+är)?|adgangskode(?:n)?(?:\s+er)?|passord(?:et)?(?:\s+er)?"
    r"|парол[аь](?:\s+е)?|κωδικός(?:\s+είναι)?|συνθηματικό|m[ậa]t kh[ẩa]u(?:\s+l[àa])?|kata sandi(?:\s+adalah)?|şifre(?:m|si)?|parol[aă](?:\s+este)?|jelsz(?:[óo]|av)\w{0,4}(?:\s+az)?|geslo(?:\s+je)?|lozinka(?:\s+je)?|slaptažodis|parool|lykilorð|पासवर्ड|รหัสผ่าน|contrasenya|pasahitza|clave|wlan-schlüssel|비번|الرقم السري|wachtwoord|kennwort|passwort"
)
_WORD = rf"{STRONG}|pw|pswd|p[a@4][s5$]{{2}}w[o0]rd|p(?:[ ._*-]?[a@4])(?:[ ._*-][s5$]){{2}}[ ._*-]w[ ._*-][o0][ ._*-]r[ ._*-]d"
_ANNOUNCING = STRONG_WORDS + words("pw pswd p@ p4 pa5 pa$ p~ p. p_ p* p- pa~ pa. pa_ pa* pa-")
_ELSEWHERE = words(
    "hasło heslo salasana lösenord adgangskode passord парол κωδικός συνθηματικό mật mat kata şifre parol jelsz geslo lozinka"
    " slaptažodis parool lykilorð पासवर्ड รหัสผ่าน contrasenya pasahitza clave wlan-schlüssel 비번 الرقم wachtwoord kennwort passwort"
)
_SPOKEN = (
    # A pair of name and password, after a word that announces one.
    (regex(rf"(?i)\b(?:credentials?|creds|identifiants?|zugangsdaten|anmeldedaten|credenciales|credenziali|credenciais|inloggegevens|log ?in|sign ?in|auth|account|user(?:name)?)\b(?:\s+(?:is|sont|sind|lauten|son|sono|são|zijn|are|was|with|as|for|to|on|data|details|info|in))*(?:\s+(?:the\s+)?[\w-]+){{0,3}}?\s*[:=]?\s*{_NAME}\s*(?:/|:|\s/\s|\s:\s|\s-\s|\s\|\s)\s*{_VALUE}"), words("credential creds identifiant zugangsdaten anmeldedaten credenciales credenziali credenciais inloggegevens log sign auth account user")),
    (regex(rf"(?i)\b(?:credentials?|creds|log ?in|sign ?in)\b(?:(?:\s+(?:for|to|of|on)(?:\s+[^\s:=]+){{1,4}}?)?\s*[:=]\s*|\s+(?:with|as|using|by)\s+){_NAME},?\s+(?:(?:and|with|using|plus|/|password|pass)\s+)?{_VALUE}"), words("credential creds log sign")),
    # Something is set, changed or opened.
    (regex(rf"(?i)\b(?:credentials?|creds|log ?in|passcode|pass(?:word|phrase)|pwd)\b(?:\s+(?:for|of|on|in)\s+\S+(?:\s+\S+){{0,3}}?)?\s+(?:(?:was|is|are|were|has been|have been|got)\s+)?(?:(?:changed|set|reset|updated|rotated|switched)\s+)?(?:to|became|becomes|changed to|now)\s+{_VALUE}"), words("credential creds log pass pwd")),
    (regex(rf"(?i)\b(?:unlock|unlocks|decrypt|open|log ?in|sign ?in|authenticate|get in|connect)\b[^\n.;]{{0,60}}?\b(?:with|using|by)\s+{_VALUE}(?=[^\n]{{0,40}}\b(?:pass|log ?in|key|code|door|vault|server|account|as)\b)"), words("unlock decrypt open log sign authenticate get~in connect")),
    # An announcement, with the value immediately after it, some words later, or before it.
    (regex(rf"(?i){EDGE}(?:{_WORD}|(?:door|gate|alarm|entry|access|safe|backup|recovery|activation|pairing) code)(?![A-Za-z_])[^\n.;:=?]{{0,50}}?(?:\s(?:is|was|be|are|to|it['’]?s)\b|[:=→?(]|,\s+(?:(?:just|simply|only)\b)?)\s*(?:(?:now|still|just|currently|actually|always|simply)\s+)?{_VALUE}"), _ANNOUNCING + words("door gate alarm entry access safe backup recovery activation pairing")),
    (regex(rf"(?i){EDGE}(?:{_WORD}|pass)(?![A-Za-z_])(?:\s*[:=]\s*|\s+){_VALUE}"), _ANNOUNCING + words("pass")),
    (regex(rf"(?i)\b(?:type|enter|use|try|give|say|keep|put|send|paste|hide|guard)\b\s+(?:in\s+)?{_VALUE}\s[^\n.;]{{0,50}}?{EDGE}(?:{_WORD}|log ?in|vault)(?![A-Za-z])"), words("type enter use try give say keep put send paste hide guard")),
    (regex(rf"(?i)\b(?:account|user(?:name)?|log ?in)\b\s*(?:is\s+|[:=]\s*)?{_NAME}\s*(?:,|and|with|;)?\s*(?:and\s+|with\s+)?(?:the\s+)?(?:secret|pass\w*|pwd|pw|and|with)\s*[:=]?\s*(?:is\s+)?{_VALUE}"), words("account user log")),
    (regex(rf"(?i)\bunlocks?\b[^\n.;]{{0,40}}?\bwith\s+{_VALUE}|\b(?:vault|safe|door|gate|laptop|phone|drive|disk|archive|box|account|wallet)\s+(?:opens|unlocks|decrypts)\s+(?:with|by|using)\s+{_VALUE.replace('bare', 'other')}"), words("unlock vault safe door gate laptop phone drive disk archive box account wallet")),
    (regex(rf"(?i)\b(?:log(?:s|ged|ging)?|sign(?:s|ed|ing)?)[ -]?(?:in(?:to)?|on)\b[^\n.;]{{0,40}}?\b(?:with|as|using|by)\s+{_NAME}\s*(?:and|/|,|with|plus)\s*{_VALUE}"), words("log sign")),
    (regex(rf"(?i)\b(?:it['’]?s|use|try|is)\s+{_VALUE}\s*\((?:the\s+|my\s+|our\s+)?[^)\n]{{0,30}}?{EDGE}(?:{_WORD})(?![A-Za-z])"), words("it use try is")),
    (regex(rf"(?i)\b(?:with|as|using)\s+{_NAME}\s+and\s+{_VALUE}\s+as\s+(?:the\s+|a\s+|its\s+)?(?:{_WORD}|pass)(?![A-Za-z])"), words("with as using")),
    (regex(rf"(?i)(?:{_WORD})(?![A-Za-z_])[^\n.;:=?]{{0,50}}?\?\s+(?:it['’]?s|that['’]?s|still)\s+(?:still\s+)?{_VALUE}"), _ANNOUNCING),
    (regex(rf"(?i)\b(?:2fa|mfa|backup|recovery|one[- ]time|scratch)\s+codes?\s*(?:are|is|[:=])\s*{_VALUE}"), words("2fa mfa backup recovery one~time one-time scratch")),
    (regex(rf"(?i)\b(?:file|archive|zip|pdf|document|spreadsheet|folder|partition|backup)\s+(?:opens|unlocks|decrypts)\s+with\s+{_VALUE}"), words("file archive zip pdf document spreadsheet folder partition backup")),
    (regex(rf"(?i)(?:set-)?cookie:\s*[\w.-]{{1,40}}=(?=[^\s;]{{16}}){_VALUE}"), words("cookie set-cookie")),
    # Other languages, with the object in between.
    (regex(rf"(?i)(?:code d['’]acc[èe]s|zugangscode|código de acces[os]o?|codice d['’i ]\s?accesso|toegangscode)\s*(?:est|ist|lautet|es|è|é|is|[:=])\s*{_VALUE}"), words("code~d zugangscode código codice toegangscode")),
    (regex(rf"(?i)(?:{_PASSWORD}|{STRONG})(?:\s+[^\s.;:=]{{1,24}}){{0,4}}?\s*(?:[:=：]|\s-\s|\s(?:is|ist|lautet|est|es|è|é|είναι|هي|है|är|er|on|je|jest|to|este|là|adalah|c['’]est|היא|הוא)\s)\s*{_VALUE}"), STRONG_WORDS + _ELSEWHERE),
    (regex(rf"(?i)(?<!\w)парол[ья]\w*\s+(?:от|для|к|на)\s+\w+\s+{_VALUE}"), words("парол")),
    (regex(rf"(?i)(?<!\w)kata sandi\s+(?:saya|anda|kami|kita)\s+{_VALUE}|(?<!\w)parola(?:m|mız|nız|sı)\s+{_VALUE.replace('bare', 'other')}"), words("kata parola")),
    (regex(rf"(?i)(?<!\w)(?:{_PASSWORD})\s*[:=：]?\s*{_VALUE}"), _ELSEWHERE),
)  # fmt: skip
"""Each pattern with its beginnings."""
_LOGIN = regex(rf"(?i)(?<!\S){_NAME}\s?[/:|]\s?{_VALUE}\s+(?:is|are|was|works|for)\b[^\n.;]{{0,20}}?\b(?:log ?in|credentials?|creds|account|sign ?in)\b")  # fmt: skip
_OF_LOGIN = words("log sign cred account")
_IS_OF_LOGIN = regex(r"(?i)\s(?:is|are|was|works|for)\b[^\n.;]{0,20}?\Z")
"""Joins a pair to the login that it belongs to."""
_UNBROKEN = (
    # A line of a password file; a pair before a host, without a scheme.
    regex(rf":(?<=[\w.*-]:)\d{{2,5}}:[\w*-]+:[\w*-]+:{_VALUE}"),
    regex(r"(?i)(?<![\w/:@.])(?:root|admin|administrator|postgres|mysql|user|guest|app|service|deploy|ubuntu|ec2-user|pi|oracle|sa|test|ftp|backup|jenkins|git):(?P<bare>[^\s:@/]{4,64})@[A-Za-z][\w.-]*"),
)  # fmt: skip
"""Patterns that match no spaces."""
_HOST = regex(r"(?<![\w/:.])[\w.*-]+\Z")
LONGEST_HOST = 255
"""The maximum length of a host name before a port (RFC 1035)."""
_COMMANDS = (
    ("sshpass", r"\bsshpass\s+(?:-\w\s+)*?-p\s*{v}"),
    ("mysql maria", r"\b(?:mysql|mariadb|mysqldump|mysqladmin|mariadb-dump|mysqlimport)\b[^\n|;&]{{0,200}}?\s-p{v}"),
    ("redis valkey keydb", r"\b(?:redis|valkey|keydb)-cli\b[^\n|;&]{{0,200}}?\s(?:-a|--pass)[ =]{v}"),
    ("docker podman nerdctl helm az oc skopeo buildah npm gh cf argocd bw", r"\b(?:docker|podman|nerdctl|helm|az|oc|skopeo|buildah|npm|gh|cf|argocd|bw)\s+(?:registry\s+)?login\b[^\n|;&]{{0,200}}?\s(?:-p|--password)[ =]?{v}"),
    ("vault", r"\bvault\s+login\s+(?:-\S+\s+)*(?:token=)?{v}"),
    ("htpasswd", r"\bhtpasswd\s+(?:-\w+\s+)+\S+\s+\S+\s+{v}"),
    ("smb rpcclient net wmic winexe", r"\b(?:smbclient|rpcclient|net|smbmap|wmic|winexe)\b[^\n|;&]{{0,160}}?\s-U\s*[\"']?[\w.\\-]+%{v}"),
    ("net", r"\bnet\s+use\b[^\n|;&]{{0,120}}?\\\\\S+\s+(?:/\w+:\S+\s+)*{v}"),
    ("echo", r"\becho\s+{v}[\"']?\s*\|\s*sudo\s+(?:-\w+\s+)*-\w*S"),
    ("echo", r"\becho\s+[\"']?[\w.-]+:{v}[\"']?\s*\|\s*(?:sudo\s+)?chpasswd"),
    ("openssl", r"\bopenssl\b[^\n|;&]{{0,200}}?\s(?:-k\s+|-pass(?:in|out)?\s+pass:){v}"),
    ("zip unzip", r"\b(?:zip|unzip)\b[^\n|;&]{{0,160}}?\s-P\s*{v}"),
    ("7z rar unrar", r"\b(?:7za?|7zz|rar|unrar)\b[^\n|;&]{{0,160}}?\s-(?:h?p){v}"),
    ("ldap", r"\bldap\w+\b[^\n|;&]{{0,200}}?\s-w\s*{v}"),
    ("sqlcmd bcp osql isql", r"\b(?:sqlcmd|bcp|osql|isql)\b[^\n|;&]{{0,200}}?\s-P\s*{v}"),
    ("mongo", r"\bmongo(?:sh|dump|restore|export|import)?\b[^\n|;&]{{0,200}}?\s-p\s*{v}"),
    ("xfreerdp rdesktop", r"\b(?:xfreerdp|rdesktop)\b[^\n|;&]{{0,200}}?\s(?:/p:|-p\s*){v}"),
    ("-u -a --user --auth --proxy-user", r"(?<!\S)(?:-u|-a|--user|--auth|--proxy-user)[ =][\"']?[\w.@\\-]{{1,64}}:{v}"),
    ("kinit", r"\bkinit\b[^\n|;&]{{0,80}}?<<<\s*{v}"),
    ("gpg", r"\bgpg2?\b[^\n|;&]{{0,200}}?--passphrase[ =]{v}"),
    ("snmp", r"\bsnmp\w+\b[^\n|;&]{{0,200}}?\s-[AX]\s*{v}"),
    ("nmcli wpa_passphrase", r"\b(?:nmcli\b[^\n|;&]{{0,160}}?\bpassword|wpa_passphrase\s+\S+)\s+{v}"),
)  # fmt: skip
"""The beginnings of such a command, and the command with the value ``{v}``."""
_PATTERNS = tuple((regex("(?i)" + body.format(v=_VALUE)), words(beginnings)) for beginnings, body in _COMMANDS)
_TAKING = frozenset(pattern for pattern, _ in _PATTERNS)
"""Commands whose argument is a password even if it reads like a version or a name."""
SPOKEN_WORDS = tuple({*_OF_LOGIN, *chain.from_iterable(beginnings for _, beginnings in (*_SPOKEN, *_PATTERNS))})
"""The beginnings of everything recognised by its use."""
_NO_VALUE = re.compile(
    r"\w+=\w+[)\]}]*|_\w+|[\w.-]+\(.*|\$[A-Z{(].*|<.*|\{.*|[\w-]+/[\w./-]+|(?-i:[A-Z][A-Z0-9_]{0,5}|[A-Z0-9]+(?:-[A-Z0-9]+)+|[A-Z]+(?:_[A-Z0-9]+)+)|\d[\d.,:/%-]*\w{0,2}|v\d[\w.+-]*|\d+(?:st|nd|rd|th)|[\w-]+\.\w{2,4}|\d[\d.,:/%-]*[a-z]+|(?:user|host|server|node|db|app|test|dev|prod|stag(?:e|ing)|vm|box|env|bot|account|client|tenant|repo|slot|key)[-_]?\d+|(?:step|page|line|version|port|room|level|phase|part|section|chapter|item|option|day|week|year|q)[-_ ]?\d+.*"
    r"|(?:oauth|saml|ldap|ssh|tls|sha|md|utf|http|ipv|win|python|node|java|php|s|ec|k|x|h|p|i|mp|web|log|gpt|claude|llama)-?\d{1,4}(?:[.-]\w+)*|[a-z]\d{1,2}[a-z]",
    re.IGNORECASE,
)


_OF_KEY = re.compile(
    r"(?:api|access|auth\w*|secret|private|bearer|session|signing)[ _-]?(?:key|token)|secret", re.IGNORECASE
)
_MIXED_CASE = re.compile(
    r"(?=.{8})(?=.*[a-z][A-Z].*[a-z][A-Z])(?=.*(?:[A-Z]{2}[a-z]|(?<![a-z])[a-z]{1,2}[A-Z]|[A-Z][a-z][A-Z]))[A-Za-z]+"
)
"""Letters with the changing case of no name."""


def spoken(marks: Landmarks, long_words: LongWords, is_harmless: Callable[[str], bool]) -> Iterator[Span]:
    """Yield the secrets revealed by their use in the text, as kind, start and end."""
    for pattern, beginnings in (*_SPOKEN, *_PATTERNS):
        for match in marks.matches(pattern, beginnings):
            yield from _given_away(match, pattern in _TAKING, is_harmless)
    for match in _logins(marks):
        yield from _given_away(match, False, is_harmless)
    for pattern in _UNBROKEN:
        for match in pattern.finditer(long_words.text):
            place = match.start()
            if match[0][0] == ":" and not _HOST.search(long_words.text, max(0, place - LONGEST_HOST), place):
                continue
            for kind, start, end in _given_away(match, False, is_harmless):
                yield kind, long_words.place(start), long_words.place(end - 1) + 1


def _logins(marks: Landmarks) -> Iterator[re.Match[str]]:
    for place in marks.of(_OF_LOGIN):
        joined = _IS_OF_LOGIN.search(marks.text, max(0, place - 28), place)
        if joined:
            yield from marks.matches_before(_LOGIN, joined.start(), 4)


def _given_away(match: re.Match[str], is_taken: bool, is_harmless: Callable[[str], bool]) -> Iterator[Span]:
    group = "bare" if match["bare"] else "other"
    value = match[group].rstrip(".!?:)")
    harmless = PLACEHOLDER.fullmatch(value) if is_taken else is_harmless(value)
    known = _is_no_word(value) and not harmless and not TECHNICAL.fullmatch(value)
    if known or (KEY_LIKE.fullmatch(value) and _OF_KEY.search(match.group())):
        yield "password", match.start(group), match.start(group) + len(value)


def _is_no_word(value: str) -> bool:
    """Return whether a value mixes letters with digits or signs as no word does."""
    if len(value) < 5 or _NO_VALUE.fullmatch(value):
        return False
    letters = any(char.isalpha() for char in value)
    return letters and (
        any(char.isdigit() for char in value)
        or bool(re.search(r"\w[!@#$%^&*+=?~|]+\w|[a-z][A-Z].*[!@#$%^&*?]", value))
        or bool(_MIXED_CASE.fullmatch(value))
    )
