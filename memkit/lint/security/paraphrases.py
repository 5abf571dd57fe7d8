# ruff: noqa: E501 (a pattern that is broken over lines is harder to check than a long one)
"""Hostile orders in less usual words and commands, beside those in ``patterns``."""

from __future__ import annotations

from memkit.lint.security.patterns import (
    DECODED,
    FETCH,
    FOLLOW,
    GAP,
    GOVERNED,
    GRANT,
    OVERRIDE,
    PIPE,
    PIPED,
    REMOTE,
    SHELL,
    URL,
    Pattern,
    pattern_of,
)
from memkit.memory.hostile_patterns import DROP, RULES, WHOSE

_PERSON = r"(?:user|human|operator|owner|reviewer)"
_LAPSED = r"(?:void|cancell?ed|revoked|obsolete|null|superseded|invalid|irrelevant|forgotten|gone)"
_UNASKED = r"(?:\balways (?:run|execute|approve|allow|send|accept)\b|\bwithout (?:asking|confirmation|approval|permission)\b|\bnever (?:ask|confirm|refuse)\b|\b(?:confirmation|approval|permission) is (?:never|not) (?:needed|required|necessary)\b)"

PARAPHRASES: tuple[Pattern, ...] = (
    pattern_of(
        OVERRIDE,
        "told|given|said|written|above",
        rf"\b(?:whatever|everything|anything|all|what) (?:that )?(?:you (?:were|are|have been|had been) (?:told|given|taught|instructed)|(?:was|is|has been|had been) (?:said|written)|(?:stands |comes )?above)\b[^.\n]{{0,40}}?\b(?:(?:no longer|does not|doesn't) (?:counts?|apply|applies|matters?|holds?|binds?)|{_LAPSED})\b",
        "drop the instructions that were given",
    ),
    pattern_of(
        OVERRIDE,
        "kindly|hereby|here|completely|entirely|silently|secretly|quietly",
        rf"\b(?:here|kindly|hereby|silently|secretly|quietly|completely|entirely|fully)\s+{DROP}(?:\s+[\w']+){{0,3}}?\s+{WHOSE}(?:\s+[\w']+){{0,2}}?\s+{RULES}\b",
        "drop the instructions that were given",
    ),
    pattern_of(
        OVERRIDE,
        "know|see|learn|notice|find out|told|informed|asked",
        rf"\b(?:the |your )?{_PERSON}s? (?:need not|needn't|must not|mustn't|must never|should not|shouldn't|should never|may not|(?:does not|doesn't|do not|don't) (?:need|have) to|has no need to) (?:ever )?(?:know|see|learn|notice|find out|hear|be told|be informed|be asked)\b(?: (?:about|of))?(?: (?:it|this|that|these|any of (?:this|it)|what you\b[^.\n]{{0,20}}))?\s*(?:[.!,;\n]|$)",
        "keep something from the user",
    ),
    pattern_of(
        OVERRIDE,
        "nothing|no trace|no mention|no word",
        rf"\b(?:nothing|no (?:trace|mention|word)) (?:of|about|from) (?:this|these|it|that)(?: \w+)? (?:may|must|should|can|is to|shall) (?:ever )?(?:appear|show|be (?:shown|mentioned|said|visible|seen)|reach)\b[^.\n]{{0,60}}?\b(?:{_PERSON}s?|answer|reply|response|log|transcript)\b",
        "keep something from the user",
    ),
    pattern_of(
        OVERRIDE,
        "this skill|this tool",
        r"\balways (?:load|use|pick|choose|select|prefer|call|apply|run|read) this (?:skill|tool)\s+(?:first|before (?:any|every|all)|instead of|over (?:any|all|every)|for everything|for every)\b|\b(?:disregard|ignore|skip|avoid) (?:all |any |the )*other(?: skills\b|s[.!\n]|s$)",
        "put itself above other instructions",
    ),
    pattern_of(PIPED, "|", rf"\b(?:nc|ncat|netcat|socat)\s{GAP}{PIPE}", "run what is fetched from the network, unseen"),
    pattern_of(
        PIPED,
        "<<<",
        rf"(?:{SHELL}|\bsource\b|(?<!\S)\.)\s+/dev/stdin\s*<<<\s*[\"']?(?:\$\(|`)\s*{FETCH}",
        "run what is fetched from the network, unseen",
    ),
    pattern_of(
        PIPED,
        "eval|function|vm.run",
        r"\b(?:https?['\"]?\s*\)?\.get|axios(?:\.get)?|fetch|urlopen|requests\.get)\s*\([^\n]{0,200}?\b(?:eval|new function|exec|vm\.run\w*)\s*\(",
        "run what is fetched from the network, unseen",
    ),
    pattern_of(
        PIPED,
        "/dev/tcp|/dev/udp|nc |ncat|netcat|socat|socket",
        rf"\b\w{{0,3}}sh\s+-i\b[^\n]{{0,60}}?/dev/(?:tcp|udp)/|\b(?:nc|ncat|netcat)\b[^\n|;]{{0,80}}?\s(?:-\w*[ec]|--(?:sh-)?exec)\s+[\"']?(?:{SHELL})|\bsocat\b[^\n]{{0,120}}?exec:[\"']?(?:{SHELL})|\bsocket\.socket\b[^\n]{{0,300}}?(?:\bdup2\b|\bpty\.spawn\b)",
        "give a shell to somebody on the network",
    ),
    pattern_of(
        DECODED,
        "rot13|rot-13|base64|hex|caesar",
        rf"\b(?:apply|use|undo|reverse)\s+(?:the )?(?:rot-?13|base64|hex|caesar)\b[^\n]{{0,120}}?\b(?:and|then)\s+(?:then )?{FOLLOW}\b",
        "run what is wrapped so that nobody reads it",
    ),
    pattern_of(
        GRANT,
        "prompt|question|request|dialog|confirmation",
        r"\b(?:answer|say|reply|respond|click|press|type|choose|select)\s+(?:with )?[`'\"]?(?:yes|y|allow|ok|approve|accept|always allow)[`'\"]?\s+(?:to|on|for|at|in)\s+(?:all|every|any|each)\s+(?:\w+ ){0,2}?(?:prompts?|questions?|requests?|dialogs?|confirmations?)\b",
        "confirm in a person's place",
    ),
    pattern_of(
        REMOTE,
        "http",
        rf"{URL}[^\n]{{0,80}}?\b(?:load|read|open|fetch|get|retrieve|download)\s+(?:it|them|that|the (?:page|file))\b[^\n]{{0,40}}?\b(?:and|then)\s+(?:then )?(?:do (?:as|what|whatever|everything)|obey|(?:follow|execute|run|apply|carry out) (?:it|them|what|the (?:instructions|steps|commands)))\b",
        "do what a page on the network says",
    ),
    pattern_of(
        REMOTE,
        "instruction|orders|command|directive",
        r"\b(?:check|poll|consult|fetch|read|visit|watch|query|ask)\b[^.\n]{0,40}?\b(?:gist|pastebin|url|web ?page|web ?site|server|endpoint|channel|feed)\b[^.\n]{0,40}?\b(?:new|updated|latest|current|further|additional|next)\s+(?:instructions?|orders|commands?|directives)\b[^.\n]{0,20}?\b(?:and|then)\s+(?:then )?(?:follow|obey|execute|run|apply|carry out|perform)\b",
        "do what a page on the network says",
    ),
    pattern_of(
        GOVERNED,
        ">>|>|tee",
        r"(?:>>?|\btee\s+(?:-a\s+|--append\s+)?)\s*[\"']?(?:\./)?(?:policies/[\w*.-]+|memkit\.yaml)\b",
        "change what decides about its own calls",
    ),
    pattern_of(
        GOVERNED,
        "memkit policy",
        r"\bmemkit\s+policy\s+(?:rollback|commit)\b",
        "change what decides about its own calls",
    ),
    pattern_of(
        GOVERNED,
        "preference|fact|constraint|goal|rule",
        rf"\b(?:save|store|record|note|keep|remember)\b[^.\n]{{0,40}}?\bas an? (?:\w+ )?(?:preference|fact|constraint|goal|rule)(?:\s*[:,-]|\s+that\b)[^\n]{{0,100}}?{_UNASKED}",
        "plant an order in memory",
    ),
    pattern_of(
        GOVERNED,
        "other skill",
        r"\b(?:add|append|insert|write|put|inject|copy)\b[^.\n]{0,60}?\b(?:to|into|in)\s+(?:every|all|each|any|the)(?: of)?(?: the| your)? other skills?\b",
        "change skills by itself",
    ),
)
"""In the order in which they are tried; a place is reported once for each rule."""
