"""Whether a policy loads, stops what it is meant to stop, and carries its proof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from memkit.errors import UsageError
from memkit.lint.families.yaml import SchemaCodes, against_schema
from memkit.lint.interface import Checked, Collection, Finding, Rule
from memkit.policies.files import policy_findings
from memkit.policies.proving import load_table
from memkit.runtime.guard.core import names_former_trust
from memkit.runtime.guard.interface import as_list, exceptions_of

POLICY = (
    "name: no_deletes\ndescription: Keeps files.\nrule: Do not delete files without asking.\nenforcement: hard\n"
    "effect: ask\nmatch:\n  tool: bash\n  args.command: {shell: {program: rm}}\n"
    "tests:\n  - {name: asks, call: {tool: bash, args: {command: rm x}}, expect: ask}\n"
)
POLICY_PLACE = "policies/no_deletes.yaml"


_CODES = SchemaCodes("MKP001", "MKP002", "MKP004", "MKP005")


def in_file(file: Checked) -> Iterator[Finding]:
    """Yield what one policy shows; what needs its match only where that compiles."""
    found = list(against_schema(policy_findings(file.document, file.name), file, _CODES))
    yield from found
    data = file.document.data
    if not isinstance(data, dict):
        return
    if "match" not in data:
        message = "Without match this policy is advice to the model and stops nothing."
        yield file.found("MKP003", message, ("rule",), at_key=True)
    elif not found:
        yield from _about_the_match(file, data)


def test_table(file: Checked) -> Iterator[Finding]:
    """Note what a table of tests is about, or yield why it cannot be read."""
    try:
        rows = load_table(file.source.path)
    except UsageError as error:
        message = str(error).split(": ", 1)[-1]
        capital = message[:1].upper() + message[1:]
        sentence = capital if capital.endswith((".", "?")) else f"{capital}."
        yield Finding("MKP011", sentence, file.source.path, error.line or 1)
        return
    policies = sorted({row.policy for row in rows if row.policy})
    file.data = {"policies": policies, "tools": sorted({row.case.call.tool for row in rows})}


def untested_policies(files: Collection) -> Iterator[Finding]:
    """Yield each policy that neither carries a test nor is named by a row of a table."""
    tried = {name for table in files.tables for name in table.data["policies"]}
    for file in files.policies.values():
        if "match" in file.data and not file.data.get("tests") and file.name not in tried:
            message = (
                "The policy has no tests, so nobody knows what it stops. Write a call that it must catch, and one that "
                "must pass."
            )
            yield file.found("MKP007", message, ("match",), at_key=True)


def _about_the_match(file: Checked, data: Mapping[str, Any]) -> Iterator[Finding]:
    if data.get("effect") == "allow":
        message = "The strongest effect wins, so allow lifts no other policy. Write an exception there instead."
        yield file.found("MKP008", message, ("effect",))
    for number, exception in enumerate(exceptions_of(data)):
        if "match" not in exception:
            message = (
                "Without match this exception never applies. Say in match what the host program sets, such as "
                "context.env."
            )
            place = ("exceptions", number, *(["text"] if isinstance(data["exceptions"][number], dict) else []))
            yield file.found("MKP009", message, place)
    yield from _former_trust(file, data)
    if data.get("effect") in ("deny", "ask") and data.get("active", True):
        yield from _stops_everything(file, data["match"])


def _former_trust(file: Checked, data: Mapping[str, Any]) -> Iterator[Finding]:
    places = [("match",), *(("exceptions", number, "match") for number in range(len(data.get("exceptions", ()))))]
    for place in places:
        match: Any = data
        for key in place:
            match = {} if isinstance(match, str) else match
            match = match[key] if not isinstance(match, dict) or key in match else {}
        for number, one in enumerate(as_list(match)):
            if names_former_trust(one.get("context.trust")):
                path = (*place, *([number] if isinstance(match, list) else []), "context.trust")
                message = "No turn has this trust any more: it is trusted or untrusted. memkit migrate rewrites it."
                yield file.found("MKP012", message, path)


def _stops_everything(file: Checked, match: Any) -> Iterator[Finding]:
    for number, alternative in enumerate(as_list(match)):
        if list(alternative) == ["tool"] and _any_tool(alternative["tool"]):
            path = ("match", number, "tool") if isinstance(match, list) else ("match", "tool")
            yield file.found(
                "MKP010", "This stops every call of every tool. Name the tools, or say more in match.", path
            )


def _any_tool(condition: Any) -> bool:
    if isinstance(condition, list):
        return any(_any_tool(item) for item in condition)
    if isinstance(condition, dict):
        return any(_any_tool(condition.get(key)) for key in ("glob", "any"))
    return isinstance(condition, str) and condition.strip("*") == "" and condition != ""


_rule = partial(Rule, example=POLICY_PLACE, check=in_file)
_warning = partial(_rule, severity="warning")
RULES = (
    _rule(
        "MKP001",
        "invalid-policy",
        "A policy lacks a key, or a value in it does not fit.",
        "A policy set with such a file does not load, and a set that does not load denies every call.",
        POLICY.replace("effect: ask", "effect: prompt"),
        POLICY,
        spoils=True,
    ),
    _rule(
        "MKP002",
        "policy-name",
        "A policy's name differs from its file's, or is not a name.",
        "A verdict names the policy that decided, and people look for it by its file.",
        POLICY.replace("name: no_deletes", "name: keep_files"),
        POLICY,
    ),
    _warning(
        "MKP003",
        "policy-without-match",
        "A policy has no match, so it is advice to the model and stops nothing.",
        "Its rule is only put into the prompt. Whoever reads `enforcement: hard` believes that it binds. Say with "
        "`match` which calls it is about, or suppress this finding with the reason why advice is enough.",
        "name: no_deletes\ndescription: Keeps files.\nrule: Do not delete files without asking.\nenforcement: hard\n"
        "effect: ask\n",
        POLICY,
    ),
    _rule(
        "MKP004",
        "unknown-policy-key",
        "A policy has a key that memkit does not know.",
        "A misspelt key is a clause that is not there: an exception that never applies, a condition that never holds.",
        POLICY + "rational: Prevents data loss.\n",
        POLICY + "rationale: Prevents data loss.\n",
        spoils=True,
    ),
    _rule(
        "MKP005",
        "policy-does-not-compile",
        "A condition of a policy cannot be used as it is written.",
        "A construct that the engine does not support, such as a back-reference in a regular expression, "
        "keeps the whole set from loading, and then every call is denied.",
        POLICY.replace("{shell: {program: rm}}", "{regex: '(rm) .*\\1'}"),
        POLICY,
        spoils=True,
    ),
    Rule(
        "MKP007",
        "untested-policy",
        "A policy has no tests.",
        "Nobody knows what it stops, and the next edit can switch it off without a word. `memkit policy test` runs "
        "the tests.",
        POLICY.partition("tests:")[0],
        POLICY,
        POLICY_PLACE,
        severity="warning",
        together=untested_policies,
    ),
    _warning(
        "MKP008",
        "idle-allow",
        "A policy allows, which lifts no other policy.",
        "The strongest effect wins, and what no policy matches is allowed anyway. What is meant is an exception of "
        "the policy that denies.",
        POLICY.replace("effect: ask", "effect: allow").replace("expect: ask", "expect: allow"),
        POLICY,
    ),
    _warning(
        "MKP009",
        "exception-in-words",
        "An exception has no match, so it never applies.",
        "Exceptions read what the host program sets, and no model or user text; words alone lift nothing.",
        POLICY + "exceptions: [{text: Not in tests.}]\n",
        POLICY + "exceptions: [{text: Not in tests., match: {context.env: test}}]\n",
    ),
    _warning(
        "MKP010",
        "stops-everything",
        "A policy stops every call of every tool.",
        "An agent under it can do nothing, memory included. If that is meant, suppress the finding with the reason.",
        POLICY.replace("  tool: bash\n  args.command: {shell: {program: rm}}\n", '  tool: "*"\n'),
        POLICY,
    ),
    _rule(
        "MKP012",
        "former-trust",
        "A policy waits for a trust that no turn has any more.",
        "`context.trust` is `untrusted` where text from outside stands in the prompt, else `trusted`. A policy with a "
        "former value asks in every turn until somebody rewrites it: `memkit migrate` does.",
        POLICY.replace("  tool: bash\n", "  tool: bash\n  context.trust: {in: [candidate, quarantined]}\n"),
        POLICY.replace("  tool: bash\n", "  tool: bash\n  context.trust: untrusted\n").replace(
            "command: rm x}}", "command: rm x}, context: {trust: untrusted}}"
        ),
    ),
    Rule(
        "MKP011",
        "invalid-test-table",
        "A table of policy tests cannot be read.",
        "None of its rows is tried, and `memkit policy test` fails.",
        "policy: no_deletes\ncolumns: [name, args.command, expect]\nrows:\n  - [stops rm, rm x]\n",
        "policy: no_deletes\ncall: {tool: bash}\ncolumns: [name, args.command, expect]\nrows:\n  - [stops rm, rm "
        "x, ask]\n",
        "policies/tests/no_deletes.yaml",
        extra={POLICY_PLACE: POLICY},
        check=test_table,
    ),
)
