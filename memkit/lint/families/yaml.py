"""Faults of any YAML file in a store: how it is written, what does not fit its schema, what it may run."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from memkit.errors import StoreFault
from memkit.lint.interface import Checked, Collection, Finding, Rule, TextEdit
from memkit.runtime.memory.tiers.tools import MEMORY_TOOL_NAMES
from memkit.skills.skill import skill_findings
from memkit.store.allowances import CHOICES, Allowance, check_allowance, choice_allowance, tool_allowance
from memkit.store.config import FORMAT, flat, is_shipped
from memkit.store.schema import SchemaFinding, check, load_schema, unusable_parameters

if TYPE_CHECKING:
    from memkit.store.yaml import KeyPath

_SKILL = "skills/walk.yaml"
_HEAD = "name: walk\ndescription: Walks the dog when it wants to.\n"
_GOOD = _HEAD + "steps: [Find the lead]\n"


@dataclass(frozen=True)
class SchemaCodes:
    """The rules to report if a kind of file does not fit its schema."""

    invalid: str
    name: str
    unknown_key: str
    senseless: str = ""
    """For a value of the right shape that still cannot be used."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """For findings of certain kinds."""

    def code(self, finding: SchemaFinding) -> str:
        """Return the rule that a finding belongs to."""
        if finding.kind == "unknown_key":
            return self.unknown_key
        if finding.kind in self.kinds:
            return self.kinds[finding.kind]
        if finding.kind in ("condition", "domain"):
            return self.senseless
        return self.name if finding.path == ("name",) else self.invalid


def against_schema(found: Iterable[SchemaFinding], file: Checked, codes: SchemaCodes) -> Iterator[Finding]:
    """Yield the places where a file does not fit its schema, each under the rule of its kind."""
    for finding in found:
        line, column = finding.position(file.document)
        edit = _renamed(finding, file)
        yield Finding(codes.code(finding), finding.message, file.source.path, line, column, edit, anchor=line)


_SETTINGS = SchemaCodes("MKY013", "MKY013", "MKY014")


_OF_THE_LOOP = ("working_memory", "plan_task", "propose_subtasks", "skill_search", "skill_show")
"""The tools that agents have besides memory's, where there are skills and domains."""


def settings(file: Checked) -> Iterator[Finding]:
    """Yield what is invalid in memkit.yaml; raise ``StoreFault`` if a newer memkit wrote it."""
    data = file.document.data
    if isinstance(data, dict) and isinstance(data.get("format"), int) and data["format"] > FORMAT:
        raise StoreFault(f"{file.source.path} has format {data['format']}, newer than {FORMAT}. Upgrade memkit-agent.")
    found = check(data, load_schema("memkit"))
    found = found or unusable_parameters(data.get("tools") or ())
    yield from against_schema(found, file, _SETTINGS)
    taken = {*MEMORY_TOOL_NAMES, *_OF_THE_LOOP}
    for number, tool in enumerate(() if found else data.get("tools") or ()):
        if tool["name"] in taken:
            message = f"Two tools are named {tool['name']!r}, so no agent starts. Rename this one."
            yield file.found("MKY013", message, ("tools", number, "name"))
        taken.add(tool["name"])
        for place, fault in _refused(tool.get("parameters", {})):
            message = f"{fault} No server of a model takes a request with such a tool."
            yield file.found("MKY013", message, ("tools", number, "parameters", *place))


_SCHEMAS = ("items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_NO_REGEX = ("missing )", "unbalanced", "unterminated character", "nothing to repeat", "multiple repeat", "min repeat")
"""What no dialect of regular expressions allows; what Python alone does not know, such as ``\\p{L}``, may be right."""


def _refused(parameters: Mapping[str, Any]) -> Iterator[tuple[KeyPath, str]]:
    """Yield place and fault of each pattern that is no regular expression, and each reference to nothing."""
    for place, one in _schemas(parameters, ()):
        patterns = [((*place, "pattern"), one.get("pattern"))]
        patterns += [((*place, "patternProperties", key), key) for key in one.get("patternProperties") or {}]
        for where, pattern in patterns:
            if isinstance(pattern, str) and (fault := _regex_fault(pattern)):
                yield where, f"The pattern {pattern!r:.60} is no regular expression: {fault}."
        if isinstance(target := one.get("$ref"), str) and not _resolves(target, parameters):
            yield (*place, "$ref"), f"The reference {target!r:.60} leads nowhere in these parameters."


def _schemas(schema: Any, place: KeyPath) -> Iterator[tuple[KeyPath, Mapping[str, Any]]]:
    if not isinstance(schema, Mapping):
        return
    yield place, schema
    for key in (*_SCHEMAS, *_LISTS, *_MAPS):
        inner = schema.get(key)
        if isinstance(inner, Mapping) and key not in _MAPS:
            yield from _schemas(inner, (*place, key))
        elif isinstance(inner, Mapping | list) and key not in _SCHEMAS:
            for name, one in inner.items() if isinstance(inner, Mapping) else enumerate(inner):
                yield from _schemas(one, (*place, key, name))


def _regex_fault(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        is_empty_class = "[]" in pattern or "[^]" in pattern  # which JavaScript allows
        return error.msg if error.msg.startswith(_NO_REGEX) and not is_empty_class else ""
    return ""


def _resolves(target: str, schema: Any) -> bool:
    if not target.startswith("#/"):
        return target == "#" or any("$id" in one or "$anchor" in one for _, one in _schemas(schema, ()))
    for part in unquote(target[2:]).split("/"):
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, list) and part.isdecimal() and int(part) < len(schema):
            schema = schema[int(part)]
        elif isinstance(schema, Mapping) and part in schema:
            schema = schema[part]
        else:
            return False
    return True


def as_written(file: Checked) -> Iterator[Finding]:
    """Yield the YAML reader's remarks on a file that loads."""
    for finding in file.document.findings:
        edit = None
        if finding.code == "MKY005":
            edit = TextEdit(-1, 0, "")
        elif finding.end > finding.start:
            quoted = f'"{file.document.text[finding.start : finding.end]}"'
            edit = TextEdit(finding.start, finding.end, quoted, finding.quoting_is_safe)
        path, anchor = file.source.path, finding.line
        end = file.document.place(finding.end) if finding.end else (0, 0)
        yield Finding(finding.code, finding.message, path, finding.line, finding.column, edit, end, anchor)


def _renamed(finding: SchemaFinding, file: Checked) -> TextEdit | None:
    """Return the edit that corrects a misspelt key, or gives a file's content the file's name."""
    document = file.document
    if finding.kind == "unknown_key" and finding.meant:
        line, column = document.key_position(finding.path)
        start = document.offset((line, column))
        written = str(finding.path[-1])
        if document.text.startswith(written, start):
            return TextEdit(start, start + len(written), finding.meant, is_safe=False)
    if finding.kind == "name" and finding.path in document.spans:
        return TextEdit(*document.spans[finding.path], file.name, is_safe=False)
    return None


def name_clashes(files: Collection) -> Iterator[Finding]:
    """Yield files whose names are equal if case or the spelling of accents is ignored."""
    seen: dict[tuple[str, str], Checked] = {}
    for file in sorted(files.files, key=lambda file: file.source.path):
        folder = file.source.path.parent
        key = (str(folder), unicodedata.normalize("NFC", file.source.path.name).casefold())
        first = seen.setdefault(key, file)
        if first is not file:
            message = f"This and {first.source.path.name!r} are one file on a case-insensitive file system. Rename one."
            yield Finding("MKY017", message, file.source.path, 1)


_rule = partial(Rule, example=_SKILL)


# What a file would let a trusted store run or contact, named where a change of it is reviewed.


def manifest_demands(file: Checked) -> Iterator[Finding]:
    """Yield the demands of a valid memkit.yaml: a provider, a model, tools."""
    data = file.document.data
    if check(data, load_schema("memkit")):
        return
    values = flat(data)
    for key, choice in CHOICES.items():
        value = values.get(key)
        if isinstance(value, str) and value not in choice.harmless:
            yield _found(file, choice_allowance(key, value), tuple(key.split(".")))
    for number, tool in enumerate(data.get("tools") or ()):
        if not is_shipped(tool["run"]):
            yield _found(file, tool_allowance(tool), ("tools", number, "run"))


def skill_demands(file: Checked) -> Iterator[Finding]:
    """Yield the check commands of a valid skill."""
    data = file.document.data
    if not isinstance(data, dict) or not data.get("checks") or any(skill_findings(file.document, file.name)):
        return
    for number, given in enumerate(data["checks"]):
        if given.get("run"):
            yield _found(file, check_allowance(file.name, given["run"]), ("checks", number, "run"))


def demands(file: Checked) -> Iterator[Finding]:
    """Yield what a valid file would let a trusted store run or contact."""
    yield from manifest_demands(file) if file.source.kind == "manifest" else skill_demands(file)


def _found(file: Checked, allowance: Allowance, path: KeyPath) -> Finding:
    message = f"Once a person trusts this store, it may {allowance.what}. 'memkit trust --show' lists everything."
    return file.found("MKY018", message, path)


RULES = (
    _rule(
        "MKY001",
        "not-yaml",
        "The file is not YAML as memkit reads it.",
        "A file that does not load is treated as missing: the skill is absent, and a policy set with such a file "
        "denies every call. The message names the line and column where reading stopped.",
        _HEAD + "steps: [Find the lead\n",
        _GOOD,
    ),
    _rule(
        "MKY002",
        "duplicate-key",
        "A key occurs twice in one map.",
        "Most YAML readers silently keep the last of two equal keys. A second `enforcement: soft` far below the "
        "first would thus disarm a hard policy, and nobody would notice in review.",
        _HEAD + "description: Walks two dogs.\nsteps: [Find the lead]\n",
        _GOOD,
    ),
    _rule(
        "MKY003",
        "ambiguous-scalar",
        "A value without quotes means different things to different YAML readers.",
        "YAML 1.1 reads `no` as false, `0755` as 493 and `12:30` as 750; YAML 1.2 reads a string, 755 and a string. "
        "memkit reads 1.2; an editor, a script or a reviewer may not. Quotes remove the ambiguity. So do they in a "
        "policy for `1.10`, which is the number 1.1 and would not match the text 1.10.",
        _HEAD + "steps: [no]\n",
        _HEAD + 'steps: ["no"]\n',
        severity="warning",
        fix="puts quotes around the value where it is read as a string",
        unsafe_fix="puts quotes around numbers as well, which makes them text",
    ),
    _rule(
        "MKY004",
        "unsupported-yaml",
        "The file uses an anchor, an alias, a merge key, a tag or a directive.",
        "These make the text that a reviewer reads differ from what loads, and nested aliases can expand a small "
        "file to gigabytes. memkit's files are plain maps, lists and scalars.",
        _HEAD.replace("Walks", "&text Walks") + "steps: [*text]\n",
        _GOOD,
    ),
    _rule(
        "MKY005",
        "byte-order-mark",
        "The file starts with a byte order mark.",
        "UTF-8 needs none, and tools that do not expect it read it as part of the first key.",
        "\ufeff" + _GOOD,
        _GOOD,
        severity="warning",
        fix="removes the mark",
    ),
    _rule(
        "MKY006",
        "too-large",
        "The file is larger than 1 MB, or nested deeper than 64 levels.",
        "Skills, policies and domains are meant for people to read. Such a file is generated or hostile, and reading "
        "it would cost more than everything else in the store.",
        _HEAD + "steps: " + "[" * 66 + "]" * 66 + "\n",
        _GOOD,
    ),
    _rule(
        "MKY007",
        "not-utf-8",
        "The file is not UTF-8.",
        "Text in another encoding shows up as other characters on the next machine, or not at all.",
        "A file saved as Latin-1, in which é is the single byte 0xE9.",
        _GOOD,
    ),
    _rule(
        "MKY008",
        "several-documents",
        "The file contains more than one YAML document.",
        "Readers that expect one document take the first and drop the rest, or fail.",
        _GOOD + "---\nname: run\n",
        _GOOD,
    ),
    _rule(
        "MKY019",
        "unsettled-merge",
        "A merge left both sides in the file, between conflict markers.",
        "Nobody has decided yet which of them holds, so nothing in the file does: a policy set with such a file "
        "denies everything. `memkit git setup` lets git merge what does not contradict, and name the clauses that do.",
        _HEAD + "<<<<<<< HEAD\nsteps: [Find the lead]\n=======\nsteps: [Find the dog]\n>>>>>>> other\n",
        _GOOD,
    ),
    _rule(
        "MKY009",
        "link-out-of-store",
        "The file is a symbolic link to something outside the store.",
        "Its content is not in the repository: it cannot be reviewed, and it differs from machine to machine.",
        "skills/walk.yaml -> /home/ada/walk.yaml",
        _GOOD,
    ),
    Rule(
        "MKY010",
        "ignored-file",
        "The file is in a folder of skills, policies or domains, but is not one of them.",
        "Only `*.yaml` directly in the folder is read. A `.yml` file, or one in a subfolder, looks as if it counted, "
        "but does not.",
        "A policy saved as policies/no_deletes.yml.",
        "The same file as policies/no_deletes.yaml.",
        "policies/no_deletes.yml",
        severity="warning",
    ),
    Rule(
        "MKY013",
        "invalid-setting",
        "A value in memkit.yaml is invalid.",
        "No command runs on a store whose settings do not load, and no agent starts with two tools of one name.",
        "name: test\ncontext: {max_tokens: many}\n",
        "name: test\ncontext: {max_tokens: 8000}\n",
        "memkit.yaml",
        check=settings,
        spoils=True,
    ),
    Rule(
        "MKY014",
        "unknown-setting",
        "memkit.yaml has a key unknown to memkit.",
        "A misspelt setting leaves the built-in default in force: the intended budget or privacy is not set.",
        "name: test\ncontext: {max_token: 8000}\n",
        "name: test\ncontext: {max_tokens: 8000}\n",
        "memkit.yaml",
        check=settings,
        spoils=True,
    ),
    _rule(
        "MKY017",
        "clashing-names",
        "The names of two files are equal if case is ignored.",
        "On macOS and Windows the second of `walk.yaml` and `Walk.yaml` replaces the first, and git shows changes "
        "that nobody made.",
        "Two files, skills/walk.yaml and skills/Walk.yaml.",
        "The file skills/walk.yaml alone.",
        together=name_clashes,
    ),
    _rule(
        "MKY011",
        "suppression-without-reason",
        "A suppression gives no reason, or names no known rule.",
        "Every reader wonders again about a finding that was switched off without explanation. Such a comment has no "
        "effect. The form is `# memkit: ignore[CODE] reason`, on the line of the finding or alone on the line above.",
        _HEAD + "steps: [Find the lead]  # memkit: ignore[MKY003]\n",
        _HEAD + "steps: [no]  # memkit: ignore[MKY003] the dog's name is No\n",
    ),
    _rule(
        "MKY012",
        "unused-suppression",
        "A suppression has nothing to suppress.",
        "The finding that it was for is gone. Left in place, it would hide the next finding there.",
        _HEAD + "steps: [Find it]  # memkit: ignore[MKY003] the dog's name is No\n",
        _GOOD,
        severity="warning",
        fix="removes the comment",
    ),
    Rule(
        "MKY018",
        "needs-trust",
        "The file names what is run or contacted once a person trusts the store.",
        "Nothing in a store starts a process, imports a module or chooses a provider before `memkit trust`. What it "
        "would be is listed here, where a change of it is reviewed. A note does not fail a run of lint.",
        "name: test\ntools: [{name: lamp_switch, description: Switches a lamp., run: [lamp]}]\n",
        "name: test\ntools: [{name: outbox, description: Keeps a message., run: [tee, -a, outbox.jsonl]}]\n",
        "memkit.yaml",
        severity="note",
        check=demands,
        kinds=("manifest", "skill"),
    ),
)
