"""Write a skill as ``SKILL.md``, the form that many vendors' agents read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from memkit.runtime.host.terminal import harmless, one_line
from memkit.skills.skill import GeneratedSkill, Skill
from memkit.store.yaml import YamlError, load_yaml

_PUBLIC = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
CLAUDE_CODE = frozenset(
    {
        "when_to_use", "argument-hint", "arguments", "disable-model-invocation", "user-invocable", "model", "effort",
        "context", "agent", "paths", "shell", "disallowed-tools",
    }
)  # fmt: skip
"""Fields that Claude Code reads in addition to the public format."""
PROFILES: Mapping[str, frozenset[str]] = {"agentskills": _PUBLIC, "claude-code": _PUBLIC | CLAUDE_CODE}
"""Profile → the fields of its front matter."""
_FLAGS = frozenset({"disable-model-invocation", "user-invocable"})
_WORDS: Mapping[str, frozenset[str]] = {
    "context": frozenset({"fork"}),
    "effort": frozenset({"low", "medium", "high", "xhigh", "max"}),
    "shell": frozenset({"bash", "powershell"}),
}
"""Claude Code's fields with few possible values."""

MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def kebab_case(name: str) -> str:
    """Return a skill's name in the public format: words of letters and digits joined by single hyphens.

    >>> kebab_case("deploy_to__staging-")
    'deploy-to-staging'
    """
    return "-".join(part for part in re.split(r"[-_]+", name) if part)


def agent_skill(
    skill: Skill, profile: str = "agentskills", targets: Sequence[SheetTarget] = (), *, body: str | None = None
) -> str:
    """Return the text of ``SKILL.md``, with every value of its front matter a quoted scalar.

    ``when_to_use`` is folded into the description if the profile has no field for it; text beyond the limit
    is cut there with an ellipsis and complete in the body. With ``targets``, what the skill ``generates`` is described
    for each of them. A given ``body`` replaces the one that memkit would write.
    """
    written = "\n".join(skill_body(skill, targets)) if body is None else body.strip("\n")
    return "\n".join(["---", *_front_matter(skill, profile, targets), "---", "", written]).rstrip() + "\n"


def left_out(skill: Skill, profile: str) -> list[str]:
    """Return the parts of a skill that a ``SKILL.md`` of a profile lacks."""
    parts: dict[str, object] = {"changelog": skill.changelog, "checks": skill.checks}
    parts["superseded_by"] = skill.superseded_by and not skill.deprecated  # the line that says it is deprecated
    unknown = [f"front_matter.{key}" for key in skill.front_matter if key not in PROFILES[profile]]
    return [name for name, value in parts.items() if value] + unknown


def skill_body(skill: Skill, targets: Sequence[SheetTarget] = ()) -> Iterator[str]:
    """Yield the Markdown lines that describe the skill's procedure, and with ``targets`` what it generates."""
    yield from (f"# {title(skill)}", "", *(_plain(line) for line in paragraph(skill.description)), "")
    if skill.deprecated:
        reason = f": {_line(skill.deprecated)}" if isinstance(skill.deprecated, str) else "."
        instead = f" Use `{skill.superseded_by}` instead." if skill.superseded_by else ""
        yield from (f"**Deprecated**{reason}{instead}", "")
    yield from section("When to use", skill.when_to_use)
    yield from section("Required tools", [f"`{_line(tool)}`" for tool in skill.required_tools])
    yield from section("Safety checks", skill.safety_checks)
    yield from _steps(skill.steps)
    examples = [f"**{_line(example.input)}**\n{example.approach}" for example in skill.examples]
    yield from section("Examples", examples)
    if skill.generates and targets:
        yield from _generate(skill.generates, targets)


def _steps(steps: Sequence[str]) -> Iterator[str]:
    """Yield the steps: sections as sections, and the steps between them as numbered lists."""
    number = 1
    for is_section, group in groupby(steps, reads_as_section):
        some = list(group)
        if is_section:
            yield from (line for step in some for line in (*step.split("\n"), ""))
        else:
            yield from section("Steps", some, number=number)
            number += len(some)


def title(skill: Skill) -> str:
    """Return the skill's name as a heading.

    >>> title(Skill("write-a-record", "d", ("s",)))
    'Write a record'
    """
    return " ".join(re.split(r"[-_]+", skill.name)).strip().capitalize()


def section(heading: str, items: tuple[str, ...] | list[str], *, number: int | None = None) -> Iterator[str]:
    """Yield a heading and a list, numbered from ``number`` if given, or nothing for no items.

    The further lines of an item are indented under it.
    """
    if not items:
        return
    yield from (f"## {heading}", "")
    for place, item in enumerate(items):
        mark = "- " if number is None else f"{number + place}. "
        first, *rest = paragraph(item)
        yield mark + first
        yield from (" " * len(mark) + line if line else "" for line in rest)
    yield ""


def paragraph(text: str) -> list[str]:
    """Return the lines of a text, harmless to a terminal, with at most one blank line in a row."""
    lines = [line.rstrip() for line in harmless(text).strip().splitlines()] or [""]
    return [line for place, line in enumerate(lines) if line or place == 0 or lines[place - 1]]


def _plain(line: str) -> str:
    """Return a line of running text escaped so that Markdown reads no heading, list, fence or emphasis."""
    return f"\\{line}" if line.startswith(("#", "*", "`", "~", "\\", "-", "=", ">", "+", "<")) else line


def running_text(line: str) -> str:
    """Return the line of running text that ``_plain`` was given."""
    return line[1:] if line.startswith("\\") and _plain(line[1:]) == line else line


_FENCE = re.compile(r"(`{3,}|~{3,})")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_ITEM = re.compile(r"(?P<mark>(?:[-*+]|\d{1,9}[.)])[ \t]+)(?P<first>\S.*)")


@dataclass
class Section:
    """A heading and the text below it, up to the next one."""

    heading: str
    level: int
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return the text below the heading."""
        return "\n".join(self.lines).strip("\n")

    @property
    def step(self) -> str:
        """Return the step that it becomes, with its heading."""
        return f"{'#' * self.level} {self.heading}\n\n{self.text}".strip()


def sections_of(lines: list[str]) -> Iterator[Section]:
    """Yield the text before the first heading, and each section; headings in a fence do not count."""
    current, fence = Section("", 0), ""
    for line in lines:
        found = _FENCE.match(line)
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and line.strip() == found[1]:
            fence = ""
        heading = None if fence else _HEADING.fullmatch(line)
        if heading:
            yield current
            current = Section(heading[2], len(heading[1]))
        else:
            current.lines.append(line.rstrip())
    yield current


def list_items(text: str) -> list[str] | None:
    """Return the items of a text that is one list, each with the lines indented under it; None for any other text."""
    items: list[list[str]] = []
    indent = 0
    for line in text.split("\n"):
        found = _ITEM.fullmatch(line)
        if found:
            indent = len(found["mark"])
            items.append([found["first"]])
        elif items and (not line or line.startswith((" ", "\t"))):
            items[-1].append(_dedented(line, indent))
        else:
            return None
    return ["\n".join(item).strip() for item in items] or None


def _dedented(line: str, width: int) -> str:
    """Return a line without the indentation under its item, or as much of it as there is."""
    blank = len(line) - len(line.lstrip(" "))
    return line[min(width, blank) :]


PROCEDURE = frozenset({"steps", "instructions", "procedure", "process", "workflow"})
"""Headings of a list whose items are the steps."""
MADE_ANEW = frozenset({"generate", "run it"})
"""Headings of text generated from a skill's ``generates``."""
_LISTS = PROCEDURE | {"when to use", "required tools", "safety checks", "examples", "what it wires"}


def reads_as_section(step: str) -> bool:
    """Return whether a step is a section with a heading that an import would turn into the same step."""
    if not step.startswith("#") or harmless(step) != step:
        return False
    _, *found = sections_of([*step.split("\n"), "", "## Steps"])
    heading = found[0].heading.lower() if len(found) == 2 else ""
    is_list = heading in _LISTS and list_items(found[0].text) is not None
    return len(found) == 2 and found[0].step == step and not is_list and heading not in MADE_ANEW


def sheet_problems(text: str, directory: str, profile: str = "agentskills") -> list[str]:
    """Return the faults of a ``SKILL.md`` in ``directory`` according to a profile; empty for a valid one."""
    parts = text.split("---\n", 2)
    if len(parts) != 3 or parts[0]:
        return ["The file does not start with front matter between two lines of '---'."]
    try:
        fields = load_yaml(parts[1], name="SKILL.md").data
    except YamlError as error:
        return [error.problem]
    if not isinstance(fields, dict):
        return ["The front matter is not a map."]
    return [*_field_problems(fields, profile), *_value_problems(fields, directory)]


def _field_problems(fields: Mapping[str, object], profile: str) -> Iterator[str]:
    unknown = sorted(fields.keys() - PROFILES[profile])
    if unknown:
        yield f"The profile {profile} does not know the fields {', '.join(unknown)}."
    for key, value in fields.items():
        if key == "metadata":
            if not (isinstance(value, dict) and all(isinstance(item, str) for item in value.values())):
                yield "The field metadata must be a map of strings."
        elif key in _FLAGS:
            if not isinstance(value, bool):
                yield f"The field {key} must be true or false."
        elif not isinstance(value, str):
            yield f"The field {key} must be a string."
        elif key in _WORDS and value not in _WORDS[key]:
            yield f"The field {key} must be {' or '.join(sorted(_WORDS[key]))}, not {value!r}."


def _value_problems(fields: Mapping[str, object], directory: str) -> Iterator[str]:
    name, shown = str(fields.get("name", "")), str(fields.get("description", ""))
    if not _NAME.fullmatch(name) or len(name) > 64:
        yield f"The name {name!r} must be 1 to 64 lower-case letters, digits and single inner hyphens."
    if name != directory:
        yield f"The name {name!r} differs from the directory's, {directory!r}."
    length = len(shown) + len(str(fields.get("when_to_use", "")))
    if not shown.strip() or length > MAX_DESCRIPTION:
        yield f"Description and when_to_use must have 1 to {MAX_DESCRIPTION} characters, but have {length}."
    if len(str(fields.get("compatibility", ""))) > MAX_COMPATIBILITY:
        yield f"The field compatibility must have at most {MAX_COMPATIBILITY} characters."


def _front_matter(skill: Skill, profile: str, targets: Sequence[SheetTarget]) -> Iterator[str]:
    name, when, description = kebab_case(skill.name), sentences(skill.when_to_use), short_description(skill)
    yield f"name: {_quoted(name)}"
    if profile == "claude-code":
        yield f"description: {_quoted(description)}"
        if when and len(description) < MAX_DESCRIPTION - 20:
            yield f"when_to_use: {_quoted(_cut(when, MAX_DESCRIPTION - len(description)))}"
    else:
        yield f"description: {_quoted(folded_description(skill))}"
    for key, value in skill.front_matter.items():
        if key in PROFILES[profile] - {"metadata", "compatibility"}:
            yield f"{key}: {_scalar(value)}"
    if compatibility := compatibility_text(skill):
        yield f"compatibility: {_quoted(_cut(compatibility, MAX_COMPATIBILITY))}"
    metadata = _metadata(skill, skill.generates if targets else None)
    if metadata:
        yield "metadata:"
        yield from (f"  {_quoted(key)}: {_quoted(value)}" for key, value in metadata.items())


def _metadata(skill: Skill, generates: GeneratedSkill | None) -> dict[str, str]:
    name = kebab_case(skill.name)
    own = {"version": skill.version, "memkit-name": skill.name if name != skill.name else None}
    own |= {"memkit-generates": generates.skill, "memkit-try": generates.trial} if generates else {}
    other = skill.front_matter.get("metadata")
    kept = {_line(key): _line(value) for key, value in other.items()} if isinstance(other, dict) else {}
    return kept | {key: value for key, value in own.items() if value}


def short_description(skill: Skill) -> str:
    """Return the description as in the front matter."""
    return _cut(_line(skill.description), MAX_DESCRIPTION)


def folded_description(skill: Skill) -> str:
    """Return the description with the text about when to use the skill."""
    when = sentences(skill.when_to_use)
    return _cut(f"{short_description(skill)} Use when: {when}" if when else short_description(skill), MAX_DESCRIPTION)


def compatibility_text(skill: Skill) -> str:
    """Return the skill's requirements in words: its file's text about them, and its tools."""
    said = skill.front_matter.get("compatibility", "")
    tools = ", ".join(_line(tool) for tool in skill.required_tools)
    return f"{_line(str(said))}{f' Needs the tools {tools}.' if tools else ''}".strip()


def _scalar(value: Any) -> str:
    """Return a value on one line: the format knows only texts, other tools also true, false and numbers."""
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    return _quoted(_line(" ".join(value) if isinstance(value, list) else str(value)))


def sentences(items: tuple[str, ...]) -> str:
    """Return texts as sentences, one after another."""
    return " ".join(text if text.endswith((".", "!", "?")) else f"{text}." for text in map(_line, items))


def _line(text: str) -> str:
    """Return a text on one line; invisible characters become escapes and never count as blanks."""
    return one_line(harmless(text))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _quoted(text: str) -> str:
    """Return a YAML double-quoted scalar; unprintable characters are already escaped, so JSON's form is valid YAML."""
    return json.dumps(text, ensure_ascii=False)


@dataclass(frozen=True)
class SheetTarget:
    """A sheet's entry about one target."""

    name: str
    about: str
    variables: tuple[str, ...]
    """The environment variables that the generated project reads."""


def _generate(generates: GeneratedSkill, targets: Sequence[SheetTarget]) -> Iterator[str]:
    yield from section("What it wires", generates.wires)
    yield from ("## Generate", "")
    yield from ("Python 3.11 or newer and git. The distribution is called `memkit-agent`, the command `memkit`:", "")
    yield from _shell(["python3 -m venv .venv && . .venv/bin/activate", "pip install memkit-agent"])
    yield from (
        "The package named `memkit` on the public index is something else. Where no index has `memkit-agent`, install "
        "its wheel or a checkout of its sources: `pip install ./memkit_agent-*.whl` or `pip install PATH`.",
        "",
    )
    yield from ("In a store (`memkit init my-agent && cd my-agent` makes one), run the line of your target:", "")
    yield from ("| target | command |", "|---|---|")
    for target in targets:
        command = f"memkit gen {generates.skill} --target {target.name} --out outputs/{target.name}"
        yield f"| {target.name} | `{command}` |"
    yield ""
    yield from (f"- {target.name}: {one_line(target.about)}" for target in targets)
    yield from (
        "",
        "Leave the skill's name out to get both skills in one project. `memkit targets` lists what each needs.",
    )
    yield from ("", "## Run it", "", "In the generated folder, in an environment of its own:", "")
    yield from _shell(["pip install -r requirements.txt", "pytest", *([generates.trial] if generates.trial else [])])
    yield from ("The tests need no key and no network. The last command talks to a model and reads:", "")
    yield from (f"- {target.name}: {', '.join(f'`{name}`' for name in target.variables)}" for target in targets)
    yield from ("", "The project's `.env.example` says what they mean, and its `README.md` where everything is.", "")


def _shell(lines: Sequence[str]) -> Iterator[str]:
    yield from ("```sh", *lines, "```", "")
