"""Policies as permissions of Claude Code: deny before ask before allow, regardless of specificity.

A rule names a tool, and some tools take a pattern for a call's main argument. Rules cannot see the host's context,
and cannot warn. Each policy has rules that are as close as possible, and rules that surely stop everything that
it stops; the caller chooses which are written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from memkit.policies.export import STOPS, Export, ExportedPolicy, PolicyData, effect_of, state_of, without_verdict
from memkit.runtime.guard.checks import text_of
from memkit.runtime.guard.conditions import SYNONYMS
from memkit.runtime.guard.interface import JSON, as_list, exceptions_of
from memkit.runtime.guard.kinds import SAMPLE_NAMES
from memkit.runtime.guard.match import compile_condition
from memkit.runtime.host.terminal import one_line

_MOST = 400
"""The most patterns for one condition; a settings file is read by people too."""
_UNSAYABLE = re.compile(r"[()\n\r\\]|:\*\Z")
"""Brackets end a rule, and a colon before a final star is another way to write a blank."""
_PATH = re.compile(r"[A-Za-z0-9._/~ @+*-]+")


@dataclass(frozen=True)
class Patterns:
    """Patterns for one condition."""

    texts: tuple[str, ...] = ()
    complete: bool = True
    """Whether every part of the condition has patterns, as far as their text allows."""


NONE = Patterns((), False)


def commands(data: JSON) -> Patterns:
    """Return patterns for a condition on a command."""

    def read(name: str, operand: JSON) -> Patterns:
        if name == "surely":  # a pattern never guesses
            return commands(operand)
        return _kept(_shell(operand) if name == "shell" else _texts(name, operand))

    return _found(data, read)


def values(data: JSON) -> Patterns:
    """Return patterns for a condition on the text of a parameter."""
    return _found(data, lambda name, operand: _kept(_texts(name, operand), exactly=True))


def _found(data: JSON, read: Callable[[str, JSON], Patterns]) -> Patterns:
    """Return the patterns of a condition; ``read`` returns those of one operator."""
    if isinstance(data, list):
        return _union([_found(item, read) for item in data])
    if not isinstance(data, Mapping):
        return read("glob" if isinstance(data, str) else "equals", data)
    if len(data) != 1:
        return NONE
    ((name, operand),) = data.items()
    return _found(operand, read) if name == "any" else read(name, operand)


def paths(data: JSON) -> Patterns:
    """Return gitignore-style patterns for a condition on an absolute path."""
    found = values(data)
    written = [_path(text) for text in found.texts]
    texts = tuple(dict.fromkeys(text for each in written if each for text in each))
    return Patterns(texts, found.complete and all(written))


def tool_globs(data: JSON) -> Patterns:
    """Return globs for a condition on a tool's name, with ``*`` for every wildcard."""
    found = values(data)
    return found if all(re.fullmatch(r"[A-Za-z0-9_.*-]+", text) for text in found.texts) else NONE


def _union(parts: list[Patterns]) -> Patterns:
    texts = tuple(dict.fromkeys(text for part in parts for text in part.texts))
    return Patterns(texts, all(part.complete for part in parts))


def _kept(texts: Iterator[str | None], *, exactly: bool = False) -> Patterns:
    """Return the texts that a rule can contain; if it must be exact, no wildcard is made looser."""
    kept: list[str] = []
    complete = True
    for count, text in enumerate(texts):
        if text is None or count >= _MOST or _UNSAYABLE.search(text) or (exactly and re.search(r"[?\[]", text)):
            complete = False
            continue
        kept.append(re.sub(r"\*+", "*", re.sub(r"\[[^\]]*\]|\[|\?", "*", text)))
    return Patterns(tuple(dict.fromkeys(kept)), complete and bool(kept))


def _texts(name: str, operand: JSON) -> Iterator[str | None]:
    operands = as_list(operand)
    if name == "glob":
        yield from operands
    elif name in ("equals", "in"):
        # A literal star cannot be distinguished from a wildcard.
        yield from (None if re.search(r"[*?\[]", text_of(item) or "") else text_of(item) for item in operands)
    elif name == "prefix":
        yield from (None if re.search(r"[*?\[]", text) else f"{text}*" for text in operands)
    else:
        yield None


def _shell(operand: Mapping[str, JSON]) -> Iterator[str | None]:
    """Yield the command lines nearest to a shell condition: its words in the usual order."""
    if "program" not in operand:
        yield None
        return
    programs = as_list(operand["program"])
    wanted = [_choices(operand[key]) for key in ("verb", "args", "flags") if key in operand]
    for program, *words in product(programs, *(choice for choices in wanted for choice in choices)):
        yield _line(program, words)


def _line(program: str, words: list[str]) -> str:
    """Return a command line with its first plain argument next to the program and the others anywhere after it.

    >>> _line("rm", []), _line("git", ["push", "--force"]), _line("kubectl", ["apply", "*prod*"])
    ('rm *', 'git push* --force*', 'kubectl apply *prod*')
    """
    plain = [word for word in words if re.fullmatch(r"\w[^*?\[]*", word)]
    others = [word for word in words if word not in plain and word != "*"]
    text = " ".join([program, *plain[:1]])
    for word in (*plain[1:], *others):
        text += f" {word}" if word.startswith("*") else f"* {word}"
    if text.endswith("*"):
        return text
    return f"{text}*" if others else f"{text} *"


def _choices(data: JSON) -> list[list[str]]:
    if not isinstance(data, Mapping):
        return [_spellings(as_list(data))]
    every = [_spellings([word]) for word in as_list(data.get("all_of", []))]
    return every + ([_spellings(as_list(data["any_of"]))] if "any_of" in data else [])


def _spellings(words: list[str]) -> list[str]:
    """Return words with equivalent spellings of flags."""
    also = (same for word in words for group in SYNONYMS if word in group for same in sorted(group, reverse=True))
    return list(dict.fromkeys((*words, *also)))


def _path(text: str) -> list[str] | None:
    """Return the patterns for a path in which ``*`` can stand for several folders.

    >>> _path("/etc/*"), _path("*.env"), _path("/srv/a*b")
    (['//etc/**'], ['//**/*.env'], ['//srv/a*b', '//srv/a*/**/*b'])
    """
    if not _PATH.fullmatch(text) or not text.startswith(("/", "*")) or text.count("*") > 3:
        return None
    if text.startswith("*/"):
        head, rest = "//**/", text[2:]
    elif text.startswith("*"):
        head, rest = "//**/*", text[1:]
    else:
        head, rest = "/", text
    tail = ""
    if rest.endswith("/*"):
        rest, tail = rest[:-1], "**"
    elif rest.endswith("*"):
        rest, tail = rest[:-1], "*"  # the contents of a matching folder match with it
    parts = rest.split("*")
    ways = product(("*", "*/**/*"), repeat=len(parts) - 1)
    return [
        head + parts[0] + "".join(star + part for star, part in zip(way, parts[1:], strict=True)) + tail for way in ways
    ]


OWN_TOOLS: Mapping[str, tuple[str, ...]] = {
    "Bash": ("Bash", "bash", "shell", "sh", "terminal"),
    "Read": ("Read", "read_file"),
    "Edit": ("Edit", "edit_file"),
    "Write": ("Write", "write_file"),
    "WebFetch": ("WebFetch", "web_fetch"),
    "WebSearch": ("WebSearch", "web_search"),
    "Glob": ("Glob",),
    "Grep": ("Grep",),
    "NotebookEdit": ("NotebookEdit",),
    "Agent": ("Agent",),
    "Skill": ("Skill",),
    "PowerShell": ("PowerShell", "powershell"),
}
"""A tool of Claude Code → the names by which policies may refer to it. Every other tool is one of an MCP server."""

_ALIASES = frozenset(name for names in OWN_TOOLS.values() for name in names)
_PATH_TOOLS = {"Read": "Read", "Edit": "Edit", "Write": "Edit"}
"""Tools whose calls are identified by a path, and the rule for them: one for Write would never be used."""
_PATH_KEYS = frozenset({"args.file_path", "args.path"})
_CONTENT = frozenset({"command", "file_path", "path", "notebook_path", "url"})
"""Parameters that no rule may name, because their patterns are written differently."""
_SHELL_LIMIT = (
    "A Bash rule sees the text of a command, not what it runs: a path before the program, sh -c, quotes, options "
    "before a subcommand and anything computed at run time get past it."
)


@dataclass
class _Rules:
    """The rules of one policy, near and sure, and how they differ from it."""

    near: list[str] = field(default_factory=list)
    sure: list[str] = field(default_factory=list)
    """Rules that stop everything that the policy stops."""
    misses: bool = False
    """Whether the near rules let something through."""
    catches: bool = False
    """Whether the near rules stop something more."""
    reasons: list[str] = field(default_factory=list)

    def add_exact(self, rules: Sequence[str]) -> None:
        self.near += rules
        self.sure += rules

    def add_near(self, near: Sequence[str], sure: str, *reasons: str) -> None:
        """Add rules that differ on both sides, or none, and the one that stops everything."""
        self.near += near
        self.sure.append(sure)
        self.misses = True
        self.catches = self.catches or bool(near)
        self.reasons += reasons


def to_claude_code(policies: Sequence[PolicyData], *, tighten: bool = False) -> Export:
    """Return the policies as a settings file; with ``tighten``, inexpressible conditions stop more than they should."""
    lists: dict[str, list[str]] = {"deny": [], "ask": []}
    accounts = [_export(policy, lists, tighten) for policy in policies]
    weaker = any(account.lets_through for account in accounts)
    allowed = [rule for policy in policies for rule in ([] if weaker else _allowed(policy))]
    permissions = {name: list(dict.fromkeys(rules)) for name, rules in {**lists, "allow": allowed}.items()}
    content = json.dumps({"permissions": permissions}, indent=2, ensure_ascii=False) + "\n"
    told = (_told_of_allow(account, policy, weaker) for account, policy in zip(accounts, policies, strict=True))
    return Export(content, tuple(told))


def _export(policy: PolicyData, lists: Mapping[str, list[str]], tighten: bool) -> ExportedPolicy:
    name, effect = policy["name"], effect_of(policy)
    decides_nothing = without_verdict(policy)
    if decides_nothing:
        return decides_nothing
    if effect == "warn":
        return ExportedPolicy(name, effect, "missing", ("Claude Code runs a call or asks; it cannot warn.",))
    if effect not in STOPS:
        return ExportedPolicy(name, effect, "exact")
    rules = _Rules()
    for alternative in as_list(policy["match"]):
        _add_rules(alternative, rules)
    exceptions = [item.get("text", "") for item in exceptions_of(policy) if "match" in item]
    for text in exceptions:
        rules.reasons.append(f"The exception {one_line(text, 60)!r} never lifts it: rules know nothing about the host.")
    written = list(dict.fromkeys(rules.sure if tighten else rules.near))
    lists[effect].extend(written)
    differs = rules.misses or rules.catches
    narrower = bool(exceptions) or (differs if tighten else rules.catches)
    wider = rules.misses and not tighten
    state = state_of(wider=wider, narrower=narrower) if written else "missing"
    return ExportedPolicy(name, effect, state, tuple(dict.fromkeys(rules.reasons)))


def _add_rules(alternative: Mapping[str, JSON], rules: _Rules) -> None:
    if "tool_kind" in alternative:
        named = [name for kind in as_list(alternative["tool_kind"]) for name in SAMPLE_NAMES[kind]]
        alternative = {**alternative, "tool": alternative.get("tool", named)}
        rules.misses = True
        rules.reasons.append("tool_kind: only Bash, and the most common names of servers' tools.")
    tools = list(_tools(alternative.get("tool"), rules))
    facts = [key for key in alternative if key.startswith("context.")]
    clauses = {key: data for key, data in alternative.items() if key.startswith("args.")}
    if facts:
        reason = f"Rules know nothing about the host, so not {', '.join(facts)}."
        for tool in tools:
            rules.add_near((), tool, reason)
        return
    if not clauses:
        rules.add_exact(tools)
        return
    for tool in tools:
        _add_for_tool(tool, clauses, rules)


def _add_for_tool(tool: str, clauses: Mapping[str, JSON], rules: _Rules) -> None:
    if len(clauses) > 1 or tool not in OWN_TOOLS:
        many = f"A rule has one pattern, but this needs {', '.join(clauses)}."
        none = f"A rule on {tool} in a settings file takes no pattern, so not {', '.join(clauses)}."
        rules.add_near((), tool, many if tool in OWN_TOOLS else none)
        return
    ((key, data),) = clauses.items()
    name = key.removeprefix("args.")
    if tool == "Bash" and key == "args.command":
        found, reason = commands(data), _SHELL_LIMIT
    elif tool in _PATH_TOOLS and key in _PATH_KEYS:
        found, reason = paths(data), "Claude Code resolves paths before comparing them, and matches whole folders."
    elif tool in _PATH_TOOLS or name in _CONTENT or "." in name or "*" in name:  # a pattern on a file is its path
        found, reason = NONE, f"A rule on {tool} has no pattern for {key}."
    else:
        found, reason = values(data), ""
        if found.complete:
            rules.add_exact([f"{tool}({name}:{text})" for text in found.texts])
            return
    prefix = f"{_PATH_TOOLS.get(tool, tool)}({'' if reason else f'{name}:'}"
    partly = (
        ()
        if found.complete
        else (f"{key}: {one_line(json.dumps(data, ensure_ascii=False), 80)} has no exact pattern.",)
    )
    rules.add_near([f"{prefix}{text})" for text in found.texts], tool, *([reason] if reason else []), *partly)


def _tools(condition: JSON, rules: _Rules) -> Iterator[str]:
    if condition is None:
        yield "*"
        return
    check = compile_condition(condition, ("tool",))
    for own, names in OWN_TOOLS.items():
        if any(check.on(name).state is not False for name in names):
            yield own
    found = tool_globs(condition)
    if not found.complete:
        rules.add_near((), "*", f"tool: {one_line(json.dumps(condition), 60)} has no pattern of names.")
    for glob in found.texts:
        if glob not in _ALIASES:
            yield glob if glob.startswith("mcp__") or glob == "*" else f"mcp__*__{glob}"


def _allowed(policy: PolicyData) -> list[str]:
    """Return the rules that let a call run unasked; only whole tools, by their names, are allowed."""
    if without_verdict(policy) or effect_of(policy) != "allow" or policy.get("exceptions"):
        return []
    names = [
        name
        for alternative in as_list(policy["match"])
        if alternative.keys() == {"tool"}
        for name in tool_globs(alternative["tool"]).texts
    ]
    own = {alias: tool for tool, aliases in OWN_TOOLS.items() for alias in aliases}
    return [own.get(name, name) for name in names if name in own or (name.startswith("mcp__") and "*" not in name)]


def _told_of_allow(account: ExportedPolicy, policy: PolicyData, weaker: bool) -> ExportedPolicy:
    """Return the account of an allow, which is written only if nothing that should be stopped slips through it."""
    if account.effect != "allow" or account.state == "nothing":
        return account
    if weaker:
        reason = "An allow would let calls run that the rules above miss, so it is left out."
        return ExportedPolicy(account.name, account.effect, "missing", (reason,))
    complete = all(alternative.keys() == {"tool"} for alternative in as_list(policy["match"]))
    if complete and _allowed(policy):
        return account
    reason = "Only whole tools can be allowed by name; where no rule applies, Claude Code asks."
    return ExportedPolicy(account.name, account.effect, "narrower" if _allowed(policy) else "missing", (reason,))
