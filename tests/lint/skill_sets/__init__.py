"""Sets of ordinary and of hostile skills, to measure the security rules on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import yaml

_FIELDS = {"?": "when_to_use", "-": "steps", "!": "safety_checks", "@": "required_tools"}


@dataclass
class Written:
    """A skill of a set."""

    name: str
    text: str
    code: str = ""
    """The rule that must find it."""
    data: dict[str, object] = field(default_factory=dict)


def ordinary_skills() -> list[Written]:
    """Return the ordinary skills."""
    return list(_read("ordinary.txt"))


def hostile_skills() -> list[Written]:
    """Return the hostile skills, each with the rule that must find it."""
    return list(_read("hostile.txt"))


def orders() -> list[tuple[str, str]]:
    """Return steps that no skill may have, each with the rule that must find it."""
    lines = [line.partition("|") for line in _lines("orders.txt")]
    return [(code, _spelt_out(text)) for code, _, text in lines]


def reports() -> list[str]:
    """Return ordinary steps that speak of attacks, or look like one."""
    return list(_lines("reports.txt"))


def _lines(name: str) -> Iterator[str]:
    for line in (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            yield line


def _read(name: str) -> Iterator[Written]:
    lines = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    content = "\n".join(line for line in lines if not line.startswith("#"))
    for block in re.split(r"\n{2,}(?=[a-z0-9-]+: )", content.strip("\n")):
        yield _skill(block)


def _skill(block: str) -> Written:
    first, *rest = block.split("\n")
    name, _, description = first.partition(": ")
    data: dict[str, object] = {"name": name, "description": _spelt_out(description)}
    code = ""
    for line in _joined(rest):
        sign, _, value = line.partition(" ")
        if sign == "=":
            code = value
        elif sign == ">":
            example, _, approach = value.partition(" => ")
            data.setdefault("examples", []).append({"input": example, "approach": approach})  # type: ignore[attr-defined]
        elif sign == "@":
            data["required_tools"] = value.split(", ")
        else:
            data.setdefault(_FIELDS[sign], []).append(_text(value))  # type: ignore[attr-defined]
    data.setdefault("steps", ["Do it."])
    text = yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=110)
    return Written(name, text, code, data)


def _joined(lines: list[str]) -> Iterator[str]:
    """Yield entries; lines that are indented belong to the entry before them."""
    entry = ""
    for line in lines:
        if line.startswith("  "):
            entry += "\n" + line[2:]
        else:
            if entry:
                yield entry
            entry = line
    if entry:
        yield entry


def _text(value: str) -> str:
    if value.startswith("|\n"):
        value = value[2:]
    elif value.startswith('"') and value.endswith('"'):
        value = value[1:-1].replace('\\"', '"')
    return _spelt_out(value)


def _spelt_out(text: str) -> str:
    text = re.sub(r"\{U\+([0-9A-F]{4,5})\}", lambda match: chr(int(match[1], 16)), text)
    text = re.sub(r"\{(\d+) blanks\}", lambda match: " " * int(match[1]), text)
    text = re.sub(r"\{(\d+) lines\}", lambda match: "\n" * int(match[1]), text)
    return text.replace("{+}", "")
