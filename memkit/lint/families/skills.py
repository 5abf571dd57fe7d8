# ruff: noqa: SIM905 (lists of words read better as text)
"""Whether a skill loads, is found by an agent, and can be followed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from memkit.lint.families.yaml import SchemaCodes, against_schema
from memkit.lint.interface import Checked, Finding, Rule
from memkit.runtime.guard.shell import read_shell
from memkit.skills.skill import skill_findings

PLACE = "skills/walk.yaml"
SKILL = """\
name: walk
description: Walks the dog round the block.
when_to_use: The dog stands at the door.
steps:
  - Find the lead.
  - Walk round the block.
"""

OTHER = """\
name: swim
description: Swims with the dog in the lake.
when_to_use: It is hot.
steps: [Find the towel.]
"""

_EMPTY = frozenset(
    """a an and any are as at be been by can could do does doing for from get gets give gives had has have having how i
    if in into is it its just may more most must no not of off on one only or other our out over own per shall
    she should so some such than that the their them then there these they this those to too up use used uses
    using very via want wants was we were what when where which while who will with within without would you
    your yours""".split()
)

_SAYS_NOTHING = frozenset(
    """able agent ai all allow allows anything assist assistance assistant assists better capability common different
    everything example feature features function functionality general handle handles handling help helper
    helpers helpful helping helps important information kind kinds lot make makes manage manages many misc
    miscellaneous multiple needed new nice perform performs place placeholder process processes provide provides
    purpose relevant related request requests say sentence several skill skills someone something stuff support
    supports task tasks tbd things thing todo tool tools type useful util utilities utility variety various way
    ways work working works xxx yaml yml""".split()
)


def content_words(text: str) -> set[str]:
    """Return the significant words of a text, without their endings."""
    return {_stem(word) for word in re.findall(r"[^\W_]+", text.casefold()) if word not in _EMPTY}


def telling_words(text: str) -> set[str]:
    """Return the words of a text that say what it is about, and not only that it helps."""
    words = {word for word in re.findall(r"[^\W_]+", text.casefold()) if word not in _EMPTY | _SAYS_NOTHING}
    return {_stem(word) for word in words if len(word) > 1 or not word.isascii()}


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


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

_DESTROYING_PROGRAMS = frozenset("rm rmdir unlink shred srm wipe truncate mkfs wipefs fdisk parted dropdb".split())

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
"""Words for the same work: a tool called edit_file is used by a step that renames."""

_CODES = SchemaCodes("MKS001", "MKS002", "MKS003")


def schema(file: Checked) -> Iterator[Finding]:
    """Yield the places where a skill does not have the required shape."""
    yield from against_schema(skill_findings(file.document, file.name), file, _CODES)


def texts_of(value: Any) -> list[str]:
    """Return a text or a list of texts as a list; other values are left out."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str)]


def code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the positions of code in a text."""
    for match in _CODE.finditer(text):
        yield match.span(1) if match[1] is not None else match.span(2)


def is_shell_tool(tool: str) -> bool:
    """Return whether a tool runs commands, judging by its name."""
    return _SHELL_TOOL.search(tool) is not None


def routing(file: Checked) -> Iterator[Finding]:
    """Yield what prevents an agent from choosing the skill when it is needed."""
    data = _map(file.document.data)
    description, when = data.get("description"), texts_of(data.get("when_to_use"))
    if not isinstance(description, str) or not description.strip():
        return
    if len(telling_words(description)) < 2:
        message = (
            "The description does not say what the skill is about, but agents choose by it. Name the object and the "
            "result."
        )
        yield file.found("MKS201", message, ("description",))
    if not when and not data.get("examples") and not _TRIGGER.search(description):
        message = "Nothing says when to use the skill. Add when_to_use, or an example of a request."
        yield file.found("MKS202", message, ("description",))
    for number, text in enumerate(when):
        if _repeats(text, description):
            path = ("when_to_use", number) if isinstance(data["when_to_use"], list) else ("when_to_use",)
            message = "This repeats the description. Name a situation in which somebody needs the skill."
            yield file.found("MKS203", message, path)


def _repeats(text: str, description: str) -> bool:
    words, others = content_words(text), content_words(description)
    return bool(words) and len(words & others) / len(words) >= 0.8 and len(words) >= min(3, len(others))


def unused_tools(file: Checked) -> Iterator[Finding]:
    """Yield each required tool that no text of the skill uses."""
    data = _map(file.document.data)
    tools, steps = data.get("required_tools"), texts_of(data.get("steps"))
    if not isinstance(tools, list) or not steps:
        return
    examples = [item.get("approach") for item in _maps(data.get("examples"))]
    told = [*steps, *texts_of(data.get("safety_checks")), *texts_of(examples), *_commands(data.get("checks"))]
    for number, tool in enumerate(tools):
        if isinstance(tool, str) and "*" not in tool and not _is_used(tool, told):
            message = f"No step uses the tool {tool!r}. Name it where it is used, or stop requiring it."
            yield file.found("MKS301", message, ("required_tools", number))


def _is_used(tool: str, told: Sequence[str]) -> bool:
    """Return whether a text names the tool, says what its name says, or, for a shell, contains a command."""
    if any(tool.casefold() in text.casefold() for text in told):
        return True
    if is_shell_tool(tool) and any(_COMMAND.search(text) for text in told):
        return True
    parts = content_words(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", tool).replace("_", " ").replace("-", " "))
    meant = parts.union(*(kin for kin in _KIN if parts & kin))
    return any(meant & content_words(text) for text in told)


def unchecked_steps(file: Checked) -> Iterator[Finding]:
    """Yield each step that destroys something, unless somebody is asked or something is checked first."""
    data = _map(file.document.data)
    steps = data.get("steps")
    if not isinstance(steps, list):
        return
    texts = texts_of(steps)
    if any(text.strip() for text in texts_of(data.get("safety_checks"))) or any(map(_GUARDED.search, texts)):
        return
    for number, step in enumerate(steps):
        part = _destroying(step) if isinstance(step, str) else None
        if part:
            message = "This is destructive, but no safety check precedes it. Say what to check first, or whom to ask."
            yield file.found("MKS302", message, ("steps", number), part=part)


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


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _maps(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _commands(checks: Any) -> list[str]:
    return [" ".join(texts_of(check.get("run"))) for check in _maps(checks)]


_schema = partial(Rule, example=PLACE, check=schema)
_warning = partial(Rule, example=PLACE, severity="warning")
RULES = (
    _schema(
        "MKS001",
        "invalid-skill",
        "A skill lacks a required key, or has an invalid value.",
        "A skill that does not load cannot be found, shown or run, and prevents the whole set from reloading.",
        SKILL.replace("steps:\n  - Find the lead.\n  - Walk round the block.", "steps: Find the lead."),
        SKILL,
        spoils=True,
    ),
    _schema(
        "MKS002",
        "skill-name",
        "A skill's name differs from its file's, or is not a valid name.",
        "People look for a skill by its file and agents by its name. Names are lower-case letters, digits, `-` and "
        "`_`, at most 64, so that they are safe as file names everywhere.",
        SKILL.replace("name: walk", "name: stroll"),
        SKILL,
        unsafe_fix="gives the skill the name of its file",
    ),
    _schema(
        "MKS003",
        "unknown-skill-key",
        "A skill has a key unknown to memkit.",
        "A misspelt key has no effect: `safety_check` checks nothing.",
        SKILL + "safety_check: [Look at the traffic.]\n",
        SKILL + "safety_checks: [Look at the traffic.]\n",
        unsafe_fix="gives the key the name that it is nearest to",
        spoils=True,
    ),
    _warning(
        "MKS201",
        "vague-description",
        "A description does not say what the skill is about.",
        'An agent with many skills sees only their descriptions. "Helps with various tasks" is never chosen, or '
        "always.",
        SKILL.replace("Walks the dog round the block.", "Helps you with various tasks."),
        SKILL,
        check=routing,
    ),
    _warning(
        "MKS202",
        "no-trigger",
        "Nothing says when to use a skill: no when_to_use, no example, no such words in the description.",
        "What a skill does is only half of what routing needs. The other half is the situation in which it is needed.",
        SKILL.replace("when_to_use: The dog stands at the door.\n", ""),
        SKILL,
        check=routing,
    ),
    _warning(
        "MKS203",
        "repeated-description",
        "when_to_use repeats the description.",
        "Both are in the prompt. A repetition costs tokens and adds no situation in which the skill is needed.",
        SKILL.replace("The dog stands at the door.", "Walk the dog round the block."),
        SKILL,
        check=routing,
    ),
    _warning(
        "MKS301",
        "unused-tool",
        "No step of a skill uses a tool that the skill requires.",
        "A skill is not run if a required tool is missing. A tool that no step uses prevents that for no reason, or "
        "a step was forgotten. A step uses a tool if it names it, or says what its name says.",
        SKILL + "required_tools: [weather_forecast]\n",
        SKILL.replace("Find the lead.", "Read the weather forecast.") + "required_tools: [weather_forecast]\n",
        check=unused_tools,
    ),
    _warning(
        "MKS302",
        "unchecked-destruction",
        "A step destroys something, and the skill has no safety check.",
        "An agent follows steps to the letter. What has to be checked first, or who has to be asked, must be written "
        "there as well.",
        SKILL.replace("Find the lead.", "Run `rm -rf ~/walks`."),
        SKILL.replace("Find the lead.", "Run `rm -rf ~/walks`.")
        + "safety_checks: [Ask before the old walks are deleted.]\n",
        check=unchecked_steps,
    ),
)
