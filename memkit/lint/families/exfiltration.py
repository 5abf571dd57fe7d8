# ruff: noqa: E501 (a pattern that is broken over lines is harder to check than a long one)
"""Exfiltration of private data: a source and a way out, in one step or over several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from memkit.lint.families.order_commands import FETCH, URL
from memkit.lint.families.readings import Text, is_order
from memkit.lint.families.skills import texts_of
from memkit.store.yaml import KeyPath

PRIVATE = re.compile(
    r"(?:~|\$home|/root|/home/\S{1,40}?)?/?\.ssh\b(?!/[\w.-]{1,40}\.pub\b)|\bid_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub\b)|\.aws/credentials|\.aws\b(?!\.)|\.netrc\b|\.npmrc\b|\.pypirc\b|\.git-credentials\b"
    r"|\.docker/config\.json|\.kube/config|\bkubeconfig\b|(?<![\w.])\.env\b(?! (?:example|sample|template)|\.(?:example|sample|template))|\.gnupg\b|/etc/(?:passwd|shadow)\b"
    r"|\bprintenv\b|(?:^|[|;&`(:]|\$\(|\brun\s)\s*env\s*(?:\||>|`|\)|$)|\ball (?:of )?(?:the |your )?environment variables\b|\benvironment variables\b|\bos\.environ\b(?!\[|\.get)|\bprocess\.env\b(?!\.|\[)"
    r"|\b(?:private|ssh|signing|gpg|encryption) keys?\b|\b(?:api|access|secret|auth|session|bearer|refresh) (?:keys|tokens)\b|\bcredentials?\b|\bpasswords\b|\bsecrets\b(?! manager)|\bcookies?\b|\bkeychain\b|\bkeyring\b|\bwallets?\b|\bseed phrases?\b"
    r"|\b(?:chat|conversation|message|browsing|shell|command) (?:history|histories|logs?|transcripts?)\b|\b\.(?:bash|zsh)_history\b|\bmemories\b|\b(?:core|archival|long-term|agent's|user's|stored|saved|your own) memory\b|\bmemory (?:records?|contents|archive|entries)\b|\bconversations?\b|\bsystem prompt\b"
    r"|\b(?:the |your |their |user'?s? )(?:inbox|mailbox|e-?mails|contacts|address book|calendar|photos|documents|home (?:directory|folder)|files|clipboard|location)\b|\bclipboard\b|\bcustomer (?:data|records|database|list)\b|\beverything (?:you know |known |stored )?about (?:the |your )?(?:user|owner)\b|\bpersonal data\b|\bprivate (?:data|files|repos\w*|notes|messages)\b|\bsource code\b|\buser(?:'s)? data\b|\barchive/"
    r"|\bscreen ?shots? of (?:the user|their|the screen|the desktop)|\b(?:sync|cp|scp|rsync|tar|zip)\b[^\n;|]{0,40}\s~/?(?=\s)|\bgh auth token\b|\bkubectl get secrets?\b|\bvault (?:read|kv get)\b|\bpass show\b|\bsecurity find-\w+-password\b|\bmetadata\.google\.internal\b|169\.254\.169\.254"
)

SENDS = re.compile(
    rf"\b(?:curl|wget|http)\b[^\n|;]{{0,200}}?(?:\s(?:-d|-f|-t|--data\S*|--form\S*|--upload-file|--post-(?:data|file)|--json|--body-file)\b|\s-x\s*['\"]?(?:post|put)|\s--request\s+(?:post|put)|@-|@[~/.$\w])[^\n|;]{{0,200}}"
    rf"|{FETCH}[^\n|;]{{0,160}}?https?://[^\s`'\"]*(?:\$\(|\$\{{?\w|<[\w -]+>|\{{[\w .-]+\}}|`)[^\n]{{0,80}}"
    r"|\b(?:nc|ncat|netcat|socat|telnet)\s+(?:-\w+\s+)*[\w.-]+\s+\d{2,5}\b|/dev/tcp/[\w.-]+/\d+"
    r"|\b(?:scp|rsync|sftp)\b[^\n;|]{0,120}?[\w.-]+@[\w.-]+:|\b(?:nslookup|dig|host|ping)\s[^\n;|]{0,80}?(?:\$\(|`|\$\{?\w)"
    r"|\b(?:requests|httpx|session|axios|aiohttp)\.(?:post|put)\s*\(|\burlopen\s*\([^\n]{0,120}data=|\bfetch\s*\([^\n]{0,200}?method[\"']?\s*:\s*[\"'](?:post|put)|\binvoke-(?:webrequest|restmethod)\b[^\n]{0,160}?-method\s+(?:post|put)|\bsendbeacon\b"
    r"|\bgh\s+gist\s+create\b[^\n;|]{0,120}|\baws\s+s3\s+(?:cp|sync|mv)\b[^\n;|]{0,160}--acl\s+public\S*|\bsubdomains? of\b"
    rf"|!\[[^\]\n]{{0,200}}\]\(https?://[^)\s]{{1,200}}(?:[?&][\w-]{{1,40}}=|/)(?:\)|\{{|\$|%7b|<|\[)|{URL}[?&][\w-]{{1,40}}=(?:<|\{{|\$|\[)"
)

SENDS_WITH = (
    "curl", "wget", "http", "ftp://", "nc", "netcat", "socat", "telnet", "/dev/tcp/", "@", "$", "`", ".post", ".put",
    "urlopen", "method", "sendbeacon", "gist", "acl", "subdomain",
)  # fmt: skip
"""Anything that ``SENDS`` finds contains one of these; most texts have none, and need not be searched."""
_NC = re.compile(r"\bnc(?:at)?\s")
"""``since`` and ``once`` contain the shortest of them."""

_SENDING = re.compile(
    r"\b(?:send|post|upload|transmit|forward|e-?mail|exfiltrate|leak|submit|beacon|push|copy|deliver|share|publish|report|mirror|sync"
    r"|attach|embed|put|append|include|encode|smuggle|pass)(?:s|ing)?\s+(?=[\w`'\"~$<.])"
)

_OUTSIDE = re.compile(
    rf"\b(?:to|at|via|into|onto|on|with|through|in|as|using)\b[^\n]{{0,40}}?(?:{URL}|\b(?:an?|the|our|this|that|my) (?:\w+ )?(?:external|remote|third[- ]party|outside|attacker\S*|collection|collector|drop|exfil\S*) (?:\w+ )?(?:server|endpoint|host|url|address|service|site|api|bucket|webhook)\b"
    r"|\bthe (?:url|link|address) (?:that )?you (?:open|visit|fetch|load|call)\b|\bwebhooks?\b|\bwebhook\.site\b|\bpastebin\b|\bpublic gist\b|\bngrok\b|\brequestbin\b|\btransfer\.sh\b|\bdiscord\b|\btelegram\b|\bpublic (?:bucket|repo\w*|paste|url)\b|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\bquery (?:string|parameter)s?\b|\bdns (?:quer\w+|lookups?|requests?)\b)"
)

_REACH = 200
"""The greatest distance between the verb and the address."""

_SENT = r"(?:send|post|upload|transmit|forward|e-?mail|exfiltrate|leak|submit|push|copy|share|publish|append|include|encode|embed|put|attach)"
_PRONOUN = re.compile(rf"{_SENT}\s+(?:them|it|all|everything|copies|a copy|the (?:contents?|results?|list|text))\b")

_AUTHENTICATES = re.compile(
    r"\b(?:auth\w*|bearer|header|log ?in|sign(?:ed)? in|with (?:the|your|an?) (?:\w+ )?(?:token|key|credentials?|password|cookie)|using (?:the|your|an?|stored)? ?(?:\w+ )?(?:token|key|credentials?|password)|from (?:the |an? )?environment variables?|credentials? (?:from|in|are|stored)|read (?:the )?(?:token|key|credentials))\b|\b(?:ssh|scp|sftp|rsync)\b[^\n]{0,40}\s-i\s"
)

_HARD = re.compile(
    r"\.ssh\b(?!/[\w.-]{1,40}\.pub\b)|\bid_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub\b)|\.aws\b|\.netrc|\.npmrc|\.pypirc|\.git-credentials|\.gnupg|/etc/(?:passwd|shadow)|\bprintenv\b|\benv\b\s*[|>`)]|\ball (?:of )?(?:the |your )?environment variables|\bos\.environ|\bprocess\.env"
    r"|(?<![\w.])\.env\b|\.docker/config|\.kube/config|(?:private|ssh|signing|gpg) keys?\b|\bcookies?\b|\bkeychain\b|\bkeyring\b|\bseed phrase|\bwallets?\b|_history\b|\b(?:chat|conversation|browsing|shell) (?:history|log)|\bsystem prompt\b|\bpasswords\b|\bcredentials\b|\bsecrets\b|\b(?:api|access|secret|auth|session|bearer|refresh) (?:keys|tokens)\b"
    r"|\s~/?(?=\s)|\bscreen ?shots? of|\bconversation so far\b|\bmemories\b|\bmemory\b|\bgh auth token\b|get secrets?\b|169\.254\.169\.254|\bhome (?:directory|folder)\b|\bclipboard\b|\barchive/|\bcontacts\b|\binbox\b|\bconversations?\b|\bprivate (?:data|files|notes|messages|repos\w*)\b|\bcustomer (?:data|records|database|list)\b|\bpersonal data\b|\beverything (?:you know |known |stored )?about (?:the |your )?(?:user|owner)\b"
)

_ASKS = re.compile(
    r"\b(?:confirm\w*|approv\w+|ask\w*|consent\w*|permission|agree\w*|review\w*|allow-?list\w*|draft\w*|sign-?off|before (?:anything|it) (?:is|leaves)|show\w* (?:it )?to)\b"
)

_TOOLS: dict[str, re.Pattern[str]] = {
    "private": re.compile(r"memory_search|conversation_search|e?mail.*(?:read|search|list)|(?:read|search|list|get|fetch).*(?:e?mail|inbox|message|calendar|contact|file|drive|doc|note|customer|record|secret|crm)|inbox|contacts|vault|keychain|crm|sql|database|db_|query_"),
    "untrusted": re.compile(r"web_?fetch|web_?search|fetch_?(?:url|page|web)|browse|browser|scrape|crawl|http_get|read_?(?:web|url|page)|open_?(?:url|page)|rss|visit"),
    "way out": re.compile(r"(?:send|post|publish|upload|share|submit|push|forward)_?\w*|http_?(?:post|request|put)|webhook|e?mail.*send|tweet|curl"),
}  # fmt: skip


def sending_steps(texts: Sequence[Text]) -> Iterator[tuple[Text, int, int, str]]:
    """Yield each way out by which a skill is told to take private data, with the data."""
    told = [text for text in texts if text.is_told]
    ways = [(text, list(_ways_out(text.reading))) for text in told]
    if not any(spans for _, spans in ways):
        return
    sources = [(text, match) for text in told for match in _first_private(text)]
    for text, spans in ways:
        for start, end in spans:
            taken = _taken(text, start, end, sources)
            if taken and is_order(text.reading, start, end):
                yield text, start, end, taken
                break


def _ways_out(reading: str) -> Iterator[tuple[int, int]]:
    """Yield the places where something is sent to an address, as a command or in words."""
    words = [word for word in SENDS_WITH if word in reading]
    if words and (words != ["nc"] or _NC.search(reading)):
        yield from (match.span() for match in SENDS.finditer(reading))
    for verb in _SENDING.finditer(reading):
        line = reading.find("\n", verb.end())
        place = _OUTSIDE.search(reading, verb.end(), min(verb.end() + _REACH, len(reading) if line < 0 else line))
        if place:
            yield verb.start(), place.end()


def open_trifecta(data: Any) -> tuple[KeyPath, str] | None:
    """Return where a skill combines private data, untrusted text and a way out through its tools, with nobody asked."""
    tools = data.get("required_tools") if isinstance(data, dict) else None
    if not isinstance(tools, list) or _ASKS.search(_prose(data)):
        return None
    found = {}
    for number, tool in enumerate(tools):
        for part, pattern in _TOOLS.items():
            if isinstance(tool, str) and part not in found and pattern.search(tool.lower()):
                found[part] = (number, tool)
                break
    if len(found) < len(_TOOLS):
        return None
    number, _ = found["way out"]
    told = ", ".join(f"{part} ({tool})" for part, (_, tool) in found.items())
    return ("required_tools", number), told


def _first_private(text: Text) -> Iterator[re.Match[str]]:
    for match in PRIVATE.finditer(text.reading):
        if _HARD.search(match[0]) and text.path[:1] != ("safety_checks",) and is_order(text.reading, *match.span()):
            yield match
            return


def _taken(text: Text, start: int, end: int, sources: Sequence[tuple[Text, re.Match[str]]]) -> str:
    """Return which private data a way out takes, or an empty text: a token for access is not taken out."""
    sentence_start = max(text.reading.rfind("\n\n", 0, start), start - 240, 0)
    near = text.reading[sentence_start : end + 80]
    for match in PRIVATE.finditer(near):
        around = near[max(0, match.start() - 40) : match.end() + 40]
        if _HARD.search(match[0]):
            if not _AUTHENTICATES.search(around):
                return match[0].strip()
        elif re.search(rf"\b{_SENT}\b[^.\n]{{0,60}}$", near[: match.start()]) or (
            _leads_outside(text.reading[start:end]) and _PRONOUN.match(text.reading, start)
        ):
            return match[0].strip()
    if not _leads_outside(text.reading[start:end]):
        return ""
    for other, match in sources:
        around = other.reading[max(0, match.start() - 40) : match.end() + 40]
        if other is not text and not _AUTHENTICATES.search(around) and re.search(_GATHERS, other.reading):
            return match[0].strip()
    return ""


_GATHERS = re.compile(
    r"\b(?:read|collect|gather|copy|cat|dump|list|export|extract|grab|harvest|find|locate|load|get|take|open|zip|tar|archive|base64|encode|search|retrieve|recall|fetch|compress|pack)\b"
)


def _leads_outside(way: str) -> bool:
    """Return whether a way out names an address other than the reader's own machine."""
    return not re.search(r"https?://(?:localhost|127\.|0\.0\.0\.0|\[::1\]|10\.|192\.168\.)", way) and bool(
        re.search(
            r"https?://|@[\w-]+\.|webhook|pastebin|gist|ngrok|requestbin|transfer\.sh|telegram|/dev/tcp|\bnc\b|scp|rsync|external|remote|third|outside|attacker|collect",
            way,
        )
    )


def _prose(data: Any) -> str:
    parts = [*texts_of(data.get("safety_checks")), *texts_of(data.get("steps"))]
    return " ".join(parts).lower()
