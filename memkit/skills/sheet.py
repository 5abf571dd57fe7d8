"""Write a skill as ``SKILL.md``, the form that agents of many vendors read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from memkit.skills.skill import Skill
from memkit.store.yaml import YamlError, load_yaml
from memkit.terminal import harmless, one_line

PROFILES: Mapping[str, frozenset[str]] = {
    "agentskills": frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"}),
    "claude-code": frozenset(
        {"name", "description", "when_to_use", "license", "compatibility", "metadata", "allowed-tools"}
    ),
}
"""Profile → the fields that it knows in the front matter."""

MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def kebab_case(name: str) -> str:
    """Return a skill's name as the public format wants it: words of letters and digits joined by single hyphens.

    >>> kebab_case("deploy_to__staging-")
    'deploy-to-staging'
    """
    return "-".join(part for part in re.split(r"[-_]+", name) if part)


def agent_skill(skill: Skill, profile: str = "agentskills") -> str:
    """Return the text of ``SKILL.md``, every value of its front matter a quoted scalar.

    ``when_to_use`` is folded into the description where the profile has no field for it; what does not fit the limit
    is cut there with an ellipsis and stands whole in the body.
    """
    return "\n".join(["---", *_front_matter(skill, profile), "---", "", *skill_body(skill)]).rstrip() + "\n"


def skill_body(skill: Skill) -> Iterator[str]:
    """Yield the Markdown lines that tell a reader how the skill is done."""
    yield from (f"# {title(skill)}", "", *paragraph(skill.description), "")
    if skill.deprecated:
        reason = f": {one_line(skill.deprecated)}" if isinstance(skill.deprecated, str) else "."
        instead = f" Use `{skill.superseded_by}` instead." if skill.superseded_by else ""
        yield from (f"**Deprecated**{reason}{instead}", "")
    yield from section("When to use", skill.when_to_use)
    yield from section("Required tools", [f"`{one_line(tool)}`" for tool in skill.required_tools])
    yield from section("Safety checks", skill.safety_checks)
    yield from section("Steps", skill.steps, numbered=True)
    examples = [f"**{one_line(example.input)}**\n{example.approach}" for example in skill.examples]
    yield from section("Examples", examples)


def title(skill: Skill) -> str:
    """Return the skill's name as a heading.

    >>> title(Skill("write-a-record", "d", ("s",)))
    'Write a record'
    """
    return " ".join(re.split(r"[-_]+", skill.name)).strip().capitalize()


def section(heading: str, items: tuple[str, ...] | list[str], *, numbered: bool = False) -> Iterator[str]:
    """Yield a heading and a list, or nothing for no items. What follows an item's first line is indented under it."""
    if not items:
        return
    yield from (f"## {heading}", "")
    for number, item in enumerate(items, start=1):
        mark = f"{number}. " if numbered else "- "
        first, *rest = paragraph(item)
        yield mark + first
        yield from (" " * len(mark) + line for line in rest)
    yield ""


def paragraph(text: str) -> list[str]:
    """Return the lines of a text, harmless to a terminal and without blank lines, which would end a list."""
    return [line.rstrip() for line in harmless(text).splitlines() if line.strip()] or [""]


def sheet_problems(text: str, directory: str, profile: str = "agentskills") -> list[str]:
    """Return what keeps a ``SKILL.md`` in ``directory`` from being valid in a profile; nothing for a valid one."""
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
        strings = isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
        if not (strings if key == "metadata" else isinstance(value, str)):
            yield f"The field {key} must be {'a map of strings' if key == 'metadata' else 'a string'}."


def _value_problems(fields: Mapping[str, object], directory: str) -> Iterator[str]:
    name, shown = str(fields.get("name", "")), str(fields.get("description", ""))
    if not _NAME.fullmatch(name) or len(name) > 64:
        yield f"The name {name!r} must be 1 to 64 lower-case letters, digits and single inner hyphens."
    if name != directory:
        yield f"The name {name!r} differs from the directory's, {directory!r}."
    length = len(shown) + len(str(fields.get("when_to_use", "")))
    if not shown.strip() or length > MAX_DESCRIPTION:
        yield f"Description and when_to_use must have 1 to {MAX_DESCRIPTION} characters, and have {length}."
    if len(str(fields.get("compatibility", ""))) > MAX_COMPATIBILITY:
        yield f"The field compatibility must have at most {MAX_COMPATIBILITY} characters."


def _front_matter(skill: Skill, profile: str) -> Iterator[str]:
    name, when = kebab_case(skill.name), _sentences(skill.when_to_use)
    description = _cut(one_line(skill.description), MAX_DESCRIPTION)
    yield f"name: {_quoted(name)}"
    if profile == "claude-code":
        yield f"description: {_quoted(description)}"
        if when and len(description) < MAX_DESCRIPTION - 20:
            yield f"when_to_use: {_quoted(_cut(when, MAX_DESCRIPTION - len(description)))}"
    else:
        folded = f"{description} Use when: {when}" if when else description
        yield f"description: {_quoted(_cut(folded, MAX_DESCRIPTION))}"
    if skill.required_tools:
        tools = ", ".join(one_line(tool) for tool in skill.required_tools)
        yield f"compatibility: {_quoted(_cut(f'Needs the tools {tools}.', MAX_COMPATIBILITY))}"
    metadata = {"version": skill.version, "memkit-name": skill.name if name != skill.name else None}
    if any(metadata.values()):
        yield "metadata:"
        yield from (f"  {key}: {_quoted(value)}" for key, value in metadata.items() if value)


def _sentences(items: tuple[str, ...]) -> str:
    return " ".join(text if text.endswith((".", "!", "?")) else f"{text}." for text in map(one_line, items))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _quoted(text: str) -> str:
    """Return a YAML double-quoted scalar; what is not printable was escaped before, so JSON's form is YAML's."""
    return json.dumps(text, ensure_ascii=False)
