"""Policies as permissions of Claude Code: deny before ask before allow, whatever is more specific.

A rule names a tool, and some tools take a pattern for what is most telling about a call. Nothing there knows what the
host knows, and nothing warns. Each policy has rules that come as near as those get, and rules that surely stop all that
it stops; which are written is the caller's choice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from memkit.policies.export.claude_patterns import NONE, commands, paths, tool_globs, values
from memkit.policies.export.interface import (
    STOPS,
    Export,
    ExportedPolicy,
    PolicyData,
    alternatives,
    effect_of,
    state_of,
    without_verdict,
)
from memkit.runtime.guard.interface import JSON
from memkit.runtime.guard.match import compile_condition
from memkit.terminal import one_line

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
"""A tool of Claude Code → the names by which policies may mean it. Every other tool is one of an MCP server."""

_ALIASES = frozenset(name for names in OWN_TOOLS.values() for name in names)
_PATH_TOOLS = {"Read": "Read", "Edit": "Edit", "Write": "Edit"}
"""Tools whose calls a path tells, and the rule that is about them: one on Write would never be asked."""
_PATH_KEYS = frozenset({"args.file_path", "args.path"})
_CONTENT = frozenset({"command", "file_path", "path", "notebook_path", "url"})
"""Parameters that no rule may name, because a pattern for them is written otherwise."""
_SHELL_LIMIT = (
    "A Bash rule sees the text of a command and not what it runs: a path before the program, sh -c, quotes, options in "
    "front of a subcommand and what is made at run time get past it."
)


@dataclass
class _Rules:
    """The rules of one policy, near and sure, and how they differ from it."""

    near: list[str] = field(default_factory=list)
    sure: list[str] = field(default_factory=list)
    """What stops everything that the policy stops."""
    misses: bool = False
    """Whether the near rules let something through."""
    catches: bool = False
    """Whether the near rules stop something more."""
    reasons: list[str] = field(default_factory=list)

    def add_exact(self, rules: Sequence[str]) -> None:
        """Add rules that say what the policy says."""
        self.near += rules
        self.sure += rules

    def add_near(self, near: Sequence[str], sure: str, *reasons: str) -> None:
        """Add rules that differ on both sides, or none, and the one that stops all."""
        self.near += near
        self.sure.append(sure)
        self.misses = True
        self.catches = self.catches or bool(near)
        self.reasons += reasons


def to_claude_code(policies: Sequence[PolicyData], *, tighten: bool = False) -> Export:
    """Return the policies as a settings file; with ``tighten``, what cannot be said stops more than it should."""
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
    for alternative in alternatives(policy["match"]):
        _add_rules(alternative, rules)
    exceptions = [item.get("text", "") for item in policy.get("exceptions", ()) if "match" in item]
    for text in exceptions:
        rules.reasons.append(f"The exception {one_line(text, 60)!r} never lifts it: rules know nothing of the host.")
    written = list(dict.fromkeys(rules.sure if tighten else rules.near))
    lists[effect].extend(written)
    differs = rules.misses or rules.catches
    narrower = bool(exceptions) or (differs if tighten else rules.catches)
    wider = rules.misses and not tighten
    state = state_of(wider=wider, narrower=narrower) if written else "missing"
    return ExportedPolicy(name, effect, state, tuple(dict.fromkeys(rules.reasons)))


def _add_rules(alternative: Mapping[str, JSON], rules: _Rules) -> None:
    """Add the rules of one alternative of a match."""
    tools = list(_tools(alternative.get("tool"), rules))
    facts = [key for key in alternative if key.startswith("context.")]
    clauses = {key: data for key, data in alternative.items() if key.startswith("args.")}
    if facts:
        reason = f"Rules know nothing of the host, and so not {', '.join(facts)}."
        for tool in tools:
            rules.add_near((), tool, reason)
        return
    if not clauses:
        rules.add_exact(tools)
        return
    for tool in tools:
        _add_for_tool(tool, clauses, rules)


def _add_for_tool(tool: str, clauses: Mapping[str, JSON], rules: _Rules) -> None:
    """Add the rules about what a tool is called with."""
    if len(clauses) > 1 or tool not in OWN_TOOLS:
        many = f"A rule has one pattern, and this asks for {', '.join(clauses)}."
        none = f"A rule on {tool} in a settings file takes no pattern, and so not {', '.join(clauses)}."
        rules.add_near((), tool, many if tool in OWN_TOOLS else none)
        return
    ((key, data),) = clauses.items()
    name = key.removeprefix("args.")
    if tool == "Bash" and key == "args.command":
        found, reason = commands(data), _SHELL_LIMIT
    elif tool in _PATH_TOOLS and key in _PATH_KEYS:
        found, reason = paths(data), "Claude Code resolves paths before it compares them, and takes a folder whole."
    elif tool in _PATH_TOOLS or name in _CONTENT or "." in name or "*" in name:  # a pattern on a file is its path
        found, reason = NONE, f"A rule on {tool} has no pattern for {key}."
    else:
        found, reason = values(data), ""
        if found.complete:
            rules.add_exact([f"{tool}({name}:{text})" for text in found.texts])
            return
    prefix = f"{_PATH_TOOLS.get(tool, tool)}({'' if reason else f'{name}:'}"
    partly = (
        () if found.complete else (f"{key}: {one_line(json.dumps(data, ensure_ascii=False), 80)} has no full pattern.",)
    )
    rules.add_near([f"{prefix}{text})" for text in found.texts], tool, *([reason] if reason else []), *partly)


def _tools(condition: JSON, rules: _Rules) -> Iterator[str]:
    """Yield the tools that a condition on a name is about, as rules name them."""
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
    """Return the rules that let a call run unasked; only whole tools, by their names, are let."""
    if without_verdict(policy) or effect_of(policy) != "allow" or policy.get("exceptions"):
        return []
    names = [
        name
        for alternative in alternatives(policy["match"])
        if alternative.keys() == {"tool"}
        for name in tool_globs(alternative["tool"]).texts
    ]
    own = {alias: tool for tool, aliases in OWN_TOOLS.items() for alias in aliases}
    return [own.get(name, name) for name in names if name in own or (name.startswith("mcp__") and "*" not in name)]


def _told_of_allow(account: ExportedPolicy, policy: PolicyData, weaker: bool) -> ExportedPolicy:
    """Return the account of an allow, which is written only where nothing that should be stopped slips through it."""
    if account.effect != "allow" or account.state == "nothing":
        return account
    if weaker:
        reason = "An allow would let run unasked what the rules miss of the policies above, so it is left out."
        return ExportedPolicy(account.name, account.effect, "missing", (reason,))
    complete = all(alternative.keys() == {"tool"} for alternative in alternatives(policy["match"]))
    if complete and _allowed(policy):
        return account
    reason = "Only whole tools by their names are allowed; where no rule speaks, Claude Code asks."
    return ExportedPolicy(account.name, account.effect, "narrower" if _allowed(policy) else "missing", (reason,))
