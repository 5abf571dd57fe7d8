"""What a skill's own file shows: whether an agent finds it, does it safely, and can follow its versions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memkit.lint.checked import Checked
from memkit.lint.interface import Finding
from memkit.lint.life_cycle import file_life_cycle
from memkit.lint.wording import content_words, telling_words
from memkit.runtime.guard.shell_view import read_shell

VAGUE, NO_TRIGGER, REPEATED = "MKS201", "MKS202", "MKS203"
UNUSED_TOOL, UNCHECKED = "MKS301", "MKS302"

_TRIGGER = re.compile(
    r"\b(?:when|whenever|while|if|before|after|once|during|until|use (?:it |this )?(?:for|to|in)|for "
    r"(?:when|use|requests?)|"
    r"on request|asks?|asked|wants?|needs?)\b",
    re.IGNORECASE,
)
_SHELL_TOOL = re.compile(r"(?:^|_)(?:bash|shell|sh|zsh|terminal|console|command|exec|execute)(?:_|$)", re.IGNORECASE)
_COMMAND = re.compile(r"`[^`\n]+`|```|^\s*\$ |\b(?:run|execute|command|script|terminal|shell)\w*\b", re.IGNORECASE)
_DESTROYS = re.compile(
    r"(?:^|[.;:,]\s+|\b(?:then|and|to|must|should|or)\s+)(?:delete|erase|wipe|destroy|purge|drop|truncate|overwrite|"
    r"shred|"
    r"uninstall|format|force-push|terminate|decommission)\s+(?!duplicates?\b|blank|empty|white|trailing|the "
    r"(?:word|line|"
    r"sentence|paragraph|comment|prefix|suffix)s?\b|(?:stop|filler) ?words|unused "
    r"imports?|punctuation|nothing|no\b|it from "
    r"the "
    r"list)[^.\n]*?\b(?:files?|folders?|director(?:y|ies)|data(?:base|bases|sets?)?|tables?|rows?|columns?|records?|"
    r"buckets?|volumes?|disks?|partitions?|branch(?:es)?|repositor(?:y|ies)|accounts?|users?|clusters?|namespaces?|"
    r"instances?|servers?|environments?|backups?|indexes|indices|snapshots?|e?mails?|messages?|memor(?:y|ies)|"
    r"everything|caches?|logs?|resources?|deployments?|machines?|contents?)\b",
    re.IGNORECASE,
)
_DESTROYING_PROGRAMS = frozenset("rm rmdir unlink shred srm wipe truncate mkfs wipefs fdisk parted dropdb".split())  # noqa: SIM905
_DESTROYING_WORDS: Mapping[str, frozenset[str]] = {
    "git": frozenset({"--hard", "--force", "-f", "--mirror"}),
    "kubectl": frozenset({"delete"}),
    "oc": frozenset({"delete"}),
    "terraform": frozenset({"destroy"}),
    "tofu": frozenset({"destroy"}),
    "find": frozenset({"-delete"}),
    "docker": frozenset({"prune"}),
    "helm": frozenset({"uninstall", "delete"}),
}
_SQL = re.compile(
    r"\b(?:drop\s+(?:table|database|schema|index|view|column)|truncate\s+table|delete\s+from)\b", re.IGNORECASE
)
_CODE = re.compile(r"```\w*\n(.*?)```|`([^`\n]+)`", re.DOTALL)
_GUARDED = re.compile(
    r"\b(?:confirm\w*|approv\w+|ask\w*|permission|consent\w*|agree\w*|back(?:ed)?[ -]?up|backups?|dry[- ]run|--dry-run|"
    r"review\w*|undo\w*|restor\w+|snapshot\w*|test (?:environment|database|system)|staging|only "
    r"(?:after|if|when|files?|"
    r"folders?|what)|never|make sure|check (?:that|first|whether)|person|propos\w+|wait\w* for)\b",
    re.IGNORECASE,
)
_KIN = tuple(
    content_words(words)
    for words in (
        "bash shell sh terminal console command exec execute run install build test script commit git branch code",
        "file folder read write edit open save document code page text table csv list row move field change",
        "edit update write rewrite rename replace refactor change add escape code name move split use",
        "web search browser fetch page site url online source look find price open scrape criteria",
        "sql database db query table row column index schema count data copy",
        "python compute simulate plot calculate train data script draw load take follow replace measure drop",
        "message mail email slack chat channel send post notify reply draft inbox answer notice timeline",
        "http api request call get url respond respons status service home",
        "memory recall archival conversation remember look store save record fact keep note supersede correct",
        "issue ticket bug backlog task label story closed area",
        "calendar event meeting invite invitation time appointment",
        "insert append create add store save write import make supersede",
    )
)
"""Words that say the same work: a tool called edit_file is used by a step that renames."""


def skill_file_findings(file: Checked) -> Iterator[Finding]:
    """Yield what routing, procedure and life-cycle rules find in one skill, whatever shape it has."""
    data = file.document.data
    yield from _routing(file, data)
    yield from _unused_tools(file, data)
    yield from _unchecked_steps(file, data)
    yield from file_life_cycle(file, "MKS")


def texts_of(value: Any) -> list[str]:
    """Return a text or a list of texts as a list; what is no text is left out."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str)]


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where code stands in a text."""
    for match in _CODE.finditer(text):
        yield match.span(1) if match[1] is not None else match.span(2)


def is_shell_tool(tool: str) -> bool:
    """Return whether a tool runs commands, by its name."""
    return _SHELL_TOOL.search(tool) is not None


def _routing(file: Checked, data: Mapping[str, Any]) -> Iterator[Finding]:
    description, when = data.get("description"), texts_of(data.get("when_to_use"))
    if not isinstance(description, str) or not description.strip():
        return
    if len(telling_words(description)) < 2:
        message = (
            "The description does not say what the skill is about; an agent chooses by it. Name the object and the "
            "result."
        )
        yield file.found(VAGUE, message, ("description",))
    if not when and not data.get("examples") and not _TRIGGER.search(description):
        message = "Nothing says when to use the skill. Add when_to_use, or an example of a request."
        yield file.found(NO_TRIGGER, message, ("description",))
    for number, text in enumerate(when):
        if _repeats(text, description):
            path = ("when_to_use", number) if isinstance(data["when_to_use"], list) else ("when_to_use",)
            message = "This repeats the description. Name a situation in which somebody needs the skill."
            yield file.found(REPEATED, message, path)


def _repeats(text: str, description: str) -> bool:
    words, others = content_words(text), content_words(description)
    return bool(words) and len(words & others) / len(words) >= 0.8 and len(words) >= min(3, len(others))


def _unused_tools(file: Checked, data: Mapping[str, Any]) -> Iterator[Finding]:
    tools, steps = data.get("required_tools"), texts_of(data.get("steps"))
    if not isinstance(tools, list) or not steps:
        return
    examples = [item.get("approach") for item in _maps(data.get("examples"))]
    told = [*steps, *texts_of(data.get("safety_checks")), *texts_of(examples), *_commands(data.get("checks"))]
    for number, tool in enumerate(tools):
        if isinstance(tool, str) and "*" not in tool and not _is_used(tool, told):
            message = f"No step uses the tool {tool!r}. Name it where it is used, or require it no longer."
            yield file.found(UNUSED_TOOL, message, ("required_tools", number))


def _is_used(tool: str, told: Sequence[str]) -> bool:
    """Return whether a text names the tool, says what its name says, or, for a shell, has a command."""
    if any(tool.casefold() in text.casefold() for text in told):
        return True
    if is_shell_tool(tool) and any(_COMMAND.search(text) for text in told):
        return True
    parts = content_words(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", tool).replace("_", " ").replace("-", " "))
    meant = parts.union(*(kin for kin in _KIN if parts & kin))
    return any(meant & content_words(text) for text in told)


def _unchecked_steps(file: Checked, data: Mapping[str, Any]) -> Iterator[Finding]:
    steps = data.get("steps")
    if not isinstance(steps, list):
        return
    texts = texts_of(steps)
    if any(text.strip() for text in texts_of(data.get("safety_checks"))) or any(map(_GUARDED.search, texts)):
        return
    for number, step in enumerate(steps):
        part = _destroying(step) if isinstance(step, str) else None
        if part:
            message = "This destroys, and no safety check stands before it. Say what is made sure of, or who is asked."
            yield file.found(UNCHECKED, message, ("steps", number), part=part)


def _destroying(step: str) -> tuple[int, int] | None:
    for start, end in code_spans(step):
        if _code_destroys(step[start:end]):
            return start, end
    match = _DESTROYS.search(step)
    return match.span() if match else None


def _code_destroys(code: str) -> bool:
    if _SQL.search(code):
        return True
    for command in read_shell(code).commands:
        if command.name in _DESTROYING_PROGRAMS:
            return True
        if _DESTROYING_WORDS.get(command.name, frozenset()) & {word.text for word in command.words}:
            return True
    return False


def _maps(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _commands(checks: Any) -> list[str]:
    return [" ".join(texts_of(check.get("run"))) for check in _maps(checks)]
