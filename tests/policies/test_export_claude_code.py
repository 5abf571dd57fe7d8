"""Policies as permissions of Claude Code, judged by a matcher written from that tool's public rules."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from memkit.policies.export.claude_code import OWN_TOOLS, paths, to_claude_code
from memkit.policies.files import load_policies
from memkit.resources import resource
from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.interface import strength

Data = dict[str, Any]
WRAPPERS = r"(?:timeout\s+\S+|time|nice|nohup|stdbuf(?:\s+-\S+)*|command(?!\s+-v)|builtin|noglob)\s+"


def policy(name: str, match: object, **more: Any) -> Data:
    """Return a policy that is complete."""
    return {
        "name": name, "description": "d", "rule": "Do so.", "enforcement": "hard", "effect": "deny", "match": match,
    } | more  # fmt: skip


def decided(content: str, tool: str, args: Mapping[str, Any]) -> str:
    """Return what Claude Code does with a call: the first list with a rule that matches, in this order."""
    permissions = json.loads(content)["permissions"]
    for effect in ("deny", "ask", "allow"):
        if any(matches(rule, tool, args) for rule in permissions.get(effect, ())):
            return effect
    return "allow"


def matches(rule: str, tool: str, args: Mapping[str, Any]) -> bool:
    """Return whether a deny or ask rule is about a call."""
    name, _, pattern = rule.removesuffix(")").partition("(")
    if not pattern:
        return fnmatchcase(tool, name)
    assert not name.startswith("mcp__"), "a settings file skips an MCP rule with brackets"
    if name == "Bash" and (parameter := re.fullmatch(r"(run_in_background|timeout|description):(.*)", pattern)):
        return tool == name and parameter[1] in args and star(parameter[2], literal(args[parameter[1]]))
    if name == "Bash":
        return tool == name and any(command_matches(pattern, part) for part in parts(str(args.get("command", ""))))
    if name in ("Read", "Edit"):
        covered = {"Read": ("Read",), "Edit": ("Edit", "Write")}[name]
        path = args.get("file_path", args.get("path"))
        return tool in covered and isinstance(path, str) and ignored(pattern, path)
    parameter_name, _, value = pattern.partition(":")
    assert parameter_name not in ("command", "file_path", "path", "notebook_path", "url"), "such a rule is ignored"
    return tool == name and parameter_name in args and star(value, literal(args[parameter_name]))


def literal(value: object) -> str:
    """Return a parameter as it is compared."""
    return value if isinstance(value, str) else json.dumps(value)


def star(pattern: str, text: str) -> bool:
    """Return whether a text fits a pattern whose only wildcard is the star."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


def command_matches(pattern: str, command: str) -> bool:
    """Return whether a command fits; one last star behind a blank also stands for nothing at all."""
    pattern = pattern.removesuffix(":*") + " *" if pattern.endswith(":*") else pattern
    bare = pattern.endswith(" *") and pattern.count("*") == 1 and command == pattern[:-2]
    return bare or star(pattern, command)


def parts(command: str) -> list[str]:
    """Return the commands in a command line, without wrappers and leading assignments; quotes keep theirs together."""
    pieces = re.findall(r"""(?:"[^"]*"|'[^']*'|[^;&|\n"'])+""", command)
    stripped = [re.sub(rf"^(?:{WRAPPERS}|\w+=\S*\s+|xargs\s+(?!-))+", "", piece.strip()) for piece in pieces]
    return [command, *stripped]


def ignored(pattern: str, path: str) -> bool:
    """Return whether a path, or a folder above it, fits a pattern of gitignore that begins at the root."""
    assert pattern.startswith("//")
    regex = ""
    for part in re.split(r"(\*\*/|/\*\*$|\*)", pattern[1:]):
        regex += {"**/": "(?:[^/]+/)*", "/**": "/.+", "*": "[^/]*"}.get(part, re.escape(part))
    return re.fullmatch(f"{regex}(?:/.*)?", path) is not None


def names(tool: str) -> Sequence[str]:
    """Return the names by which memkit's policies may mean a tool of Claude Code."""
    return (tool, tool.split("__", 2)[2]) if tool.startswith("mcp__") else OWN_TOOLS[tool]


def ours(policies: Sequence[Data], tool: str, args: Data, context: Data) -> str:
    """Return the strongest decision of memkit on a call under any name of its tool; a warning lets it run."""
    guard = Guard(policies)
    found = max((guard.decide(name, args, context).decision for name in names(tool)), key=strength)
    return "allow" if found == "warn" else found


TEXTS = st.sampled_from(
    ["git push", "git push origin", "rm -rf /srv", "ls", "npm run x", "sudo rm x", "cd a && rm b", "sh -c 'rm a'"]
)
PATHS = st.sampled_from(["/etc/passwd", "/srv/app/.env", "/home/ada/notes.txt", "/srv/key", "/srv/a/b/key", "/etc"])
COMMANDS = st.one_of(
    st.sampled_from(["git push", "rm *", "*srv*", "g?t *", "*"]),
    st.sampled_from(
        [
            {"equals": "ls"},
            {"prefix": "git "},
            {"regex": "rm"},
            {"sql": {"statement": "drop"}},
            {"not": {"equals": "ls"}},
        ]
    ),
    st.sampled_from(
        [{"shell": {"program": ["rm", "shred"]}}, {"shell": {"program": "git", "args": ["push"], "flags": ["--force"]}}]
    ),
)
CLAUSES = st.fixed_dictionaries(
    {},
    optional={
        "args.command": COMMANDS | st.fixed_dictionaries({"any": st.lists(COMMANDS, min_size=1, max_size=2)}),
        "args.file_path": st.sampled_from(
            ["/etc/*", "*.env", "/srv/*key", {"prefix": "/home/"}, {"in": ["/etc/passwd"]}, "no*te"]
        ),
        "args.run_in_background": st.booleans(),
        "context.env": st.sampled_from(["prod", {"in": ["prod"]}]),
    },
)
TOOLS = st.sampled_from(
    ["bash", "Bash", ["bash", "shell"], "send_mail", "send_*", "*mail*", "read_file", ["edit_file", "write_file"],
     "mcp__post__*", {"regex": "^send"}, "?ash", {"in": ["bash", "deploy"]}, {"not": "bash"}]
)  # fmt: skip
MATCH = st.builds(lambda tool, clauses: {"tool": tool, **clauses}, TOOLS, CLAUSES) | CLAUSES.filter(bool)
POLICIES = st.lists(
    st.fixed_dictionaries(
        {
            "match": MATCH | st.lists(MATCH, min_size=1, max_size=2),
            "effect": st.sampled_from(["deny", "ask", "warn", "allow"]),
            "enforcement": st.sampled_from(["hard", "hard", "soft"]),
            "exceptions": st.lists(st.just({"match": {"context.env": "test"}}), max_size=1),
        }
    ),
    min_size=1,
    max_size=3,
).map(lambda found: [policy(f"p{number}", **data) for number, data in enumerate(found)])
CALLS = st.one_of(
    st.tuples(
        st.just("Bash"), st.fixed_dictionaries({"command": TEXTS}, optional={"run_in_background": st.booleans()})
    ),
    st.tuples(st.sampled_from(["Read", "Edit", "Write"]), st.fixed_dictionaries({"file_path": PATHS})),
    st.tuples(
        st.sampled_from(["mcp__post__send_mail", "mcp__x__deploy", "mcp__x__list"]),
        st.just({"to": "ada", "command": "rm a"}),
    ),
)
CONTEXT = st.fixed_dictionaries({}, optional={"env": st.sampled_from(["prod", "test"])})


@settings(max_examples=600, deadline=None)
@given(POLICIES, CALLS, CONTEXT, st.booleans())
def test_claude_code_decides_as_the_account_says(
    policies: list[Data], call: tuple[str, Data], context: Data, tighten: bool
) -> None:
    """Exact means equal; narrower is never weaker; what is let through was said; tightened, nothing is let through."""
    export = to_claude_code(policies, tighten=tighten)
    here, there = ours(policies, *call, context), decided(export.content, *call)
    stops = [account for account in export.policies if account.effect in ("deny", "ask")]
    states = {account.state for account in stops if account.state != "nothing"}

    if states <= {"exact"}:
        assert there == here
    if not export.weaker:
        assert strength(there) >= strength(here)
    if tighten:
        assert export.weaker == ()
    if states <= {"exact", "wider", "missing"}:
        assert strength(there) <= strength(here)


@pytest.mark.parametrize(
    ("match", "rules"),
    [
        ({"tool": "bash"}, ["Bash"]),
        ({"tool": "Bash"}, ["Bash"]),
        ({"tool": ["deploy", "send_*"]}, ["mcp__*__deploy", "mcp__*__send_*"]),
        ({"tool": "mcp__github__delete_repo"}, ["mcp__github__delete_repo"]),
        ({"tool": "bash", "args.command": {"shell": {"program": ["rm", "mkfs*"]}}}, ["Bash(rm *)", "Bash(mkfs*)"]),
        (
            {"tool": "bash", "args.command": {"shell": {"program": "git", "args": ["push"], "flags": ["--force"]}}},
            ["Bash(git push* --force*)", "Bash(git push* -f*)"],
        ),
        ({"tool": "bash", "args.command": {"prefix": "npm publish"}}, ["Bash(npm publish*)"]),
        ({"tool": "bash", "args.run_in_background": True}, ["Bash(run_in_background:true)"]),
        ({"tool": "read_file", "args.path": ["/etc/*", "*.env"]}, ["Read(//etc/**)", "Read(//**/*.env)"]),
        ({"tool": "write_file", "args.file_path": "/srv/key"}, ["Edit(//srv/key)"]),
        ({"tool": "bash", "args.command": {"sql": {"statement": "drop"}}}, []),
    ],
)  # fmt: skip
def test_a_policy_becomes_the_rules_that_a_person_would_write(match: Data, rules: list[str]) -> None:
    """The effect names the list, the tool the rule, and the condition what stands in its brackets."""
    for effect in ("deny", "ask"):
        export = to_claude_code([policy("p", match, effect=effect)])

        assert json.loads(export.content)["permissions"][effect] == rules


@pytest.mark.parametrize(
    ("command", "stopped"),
    [
        ("rm -rf /srv", True), ("cd /srv && rm x", True), ("timeout 5 rm x", True), ("A=1 rm x", True), ("rm", True),
        ("rmdir x", False), ("ls", False), ("/bin/rm x", False), ("sh -c 'rm x'", False),
    ],
)  # fmt: skip
def test_what_gets_past_a_bash_rule_is_said(command: str, stopped: bool) -> None:
    """The usual way to write a command is stopped; memkit stops the others too, and the account says so."""
    no_rm = policy("no_rm", {"tool": "bash", "args.command": {"shell": {"program": "rm"}}})
    export = to_claude_code([no_rm])

    assert (decided(export.content, "Bash", {"command": command}) == "deny") is stopped
    if not stopped and "rm x" in command:
        assert ours([no_rm], "Bash", {"command": command}, {}) == "deny"
    assert export.policies[0].lets_through
    assert "sh -c" in export.policies[0].reasons[0]


def test_warnings_context_and_exceptions_are_named() -> None:
    """What the other side has no word for is told apart: a warning stops nothing, the rest weakens or tightens."""
    export = to_claude_code(
        [
            policy("warns", {"tool": "bash"}, effect="warn"),
            policy("soft", {"tool": "bash"}, enforcement="soft"),
            policy("by_trust", {"tool": "bash", "context.trust": "candidate"}),
            policy(
                "lifted", {"tool": "bash"}, effect="ask", exceptions=[{"text": "tests", "match": {"context.env": "x"}}]
            ),
        ]
    )

    told = {one.name: (one.state, one.lets_through) for one in export.policies}
    assert told == {
        "warns": ("missing", False), "soft": ("missing", False), "by_trust": ("missing", True),
        "lifted": ("narrower", False),
    }  # fmt: skip
    assert "context.trust" in export.policies[2].reasons[0] and "'tests'" in export.policies[3].reasons[0]


def test_an_allow_is_written_only_where_nothing_slips_through_it() -> None:
    """An allow runs a call unasked, so one loss of another policy keeps all of them out."""
    allow = policy("let", {"tool": ["read_file", "mcp__git__log", "send_*"]}, effect="allow")
    exact = policy("stop", {"tool": "bash"})
    lossy = policy("rm", {"tool": "bash", "args.command": {"shell": {"program": "rm"}}})

    assert json.loads(to_claude_code([allow, exact]).content)["permissions"]["allow"] == ["Read", "mcp__git__log"]
    export = to_claude_code([allow, lossy])
    assert json.loads(export.content)["permissions"]["allow"] == []
    assert export.policies[0].state == "missing" and not export.policies[0].lets_through


SEGMENT = st.sampled_from(["a", "b", "key", ".env", "x.env", "etc"])
PATH = st.lists(SEGMENT, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))
GLOB = st.lists(st.sampled_from(["/", "*", "a", "key", ".env", "etc"]), min_size=1, max_size=6).map("".join)


@settings(max_examples=500, suppress_health_check=[HealthCheck.filter_too_much])  # few globs become complete patterns
@given(GLOB, PATH)
def test_a_path_pattern_covers_what_the_glob_does(glob: str, path: str) -> None:
    """No path that the glob matches is missed; what is matched besides lies in a folder that the glob matches."""
    found = paths(glob)
    assume(found.complete and "//" not in glob and not glob.endswith("/"))

    covered = any(ignored(pattern, path) for pattern in found.texts)
    above = [path, *(path[: match.start()] for match in re.finditer("/", path) if match.start())]

    assert covered == any(fnmatchcase(each, glob) for each in above)


def test_the_starters_have_rules_and_a_full_account() -> None:
    """Every starter is in the account; tightened, none is weaker."""
    starters = [found.data for found in load_policies(resource("policies"))]

    near, tight = to_claude_code(starters), to_claude_code(starters, tighten=True)

    assert "Bash(rm *)" in json.loads(near.content)["permissions"]["ask"]
    assert [one.name for one in near.policies] == [data["name"] for data in starters]
    assert all(one.reasons for one in near.weaker) and near.weaker
    assert tight.weaker == ()
