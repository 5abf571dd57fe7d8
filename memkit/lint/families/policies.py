"""Whether a policy loads, stops what it is meant to stop, names existing tools, and carries its proof."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import Any

from memkit.errors import UsageError
from memkit.lint.families.yaml import SchemaCodes, against_schema
from memkit.lint.interface import Checked, Collection, Finding, Rule, TextEdit
from memkit.policies.files import policy_findings
from memkit.policies.proving import load_table
from memkit.runtime.guard.checks import text_of
from memkit.runtime.guard.core import names_former_trust
from memkit.runtime.guard.interface import as_list, exceptions_of
from memkit.store.yaml import KeyPath, ambiguity

MEMORY_TOOLS = frozenset(
    """archival_memory_insert archival_memory_search core_memory_append core_memory_replace conversation_search
    plan_task propose_subtasks evolve_expression""".split()  # noqa: SIM905
)
"""Tools that every agent has."""

WELL_KNOWN = frozenset(
    """apply apply_patch ask_user ask_user_question bash bash_output browser browser_click browser_navigate calendar
    call_api click cmd code_interpreter computer console create_draft create_event create_file create_issue
    create_pull_request create_ticket curl database db_query delete delete_file deploy download download_file edit
    edit_file email exec execute execute_code execute_command execute_sql fetch fetch_url file_read file_write get_file
    git git_commit git_push glob grep http http_get http_post http_request image_generation kill_process kubectl list
    list_directory list_files ls mail memory move_file multi_edit notebook_edit notify open_url patch pay payment
    post_message powershell psql publish push python python_repl query read read_email read_file read_mail read_url
    release remove repl request restart rollback rollout run run_code run_command run_python run_shell run_sql run_tests
    save_file scp search search_files search_web send send_email send_mail send_message send_sms sh shell slack
    slack_post sms sql sql_execute sql_query ssh str_replace_editor str_replace_based_edit_tool sudo task terminal
    terraform todo_write tool transfer transfer_money tweet update_file upload upload_file view_file web_browser
    web_fetch web_search webfetch websearch wget write write_file zsh
    Bash BashOutput Edit Glob Grep KillShell LS MultiEdit NotebookEdit Read SlashCommand Task TodoWrite WebFetch
    WebSearch Write""".split()  # noqa: SIM905
)
"""Names that hosts commonly give their tools; a policy may be about a tool that only the host knows."""


def tool_names(files: Collection) -> Iterator[Finding]:
    """Yield each name that no tool has, with the nearest one."""
    skills, policies, domains = (each.values() for each in (files.skills, files.policies, files.domains))
    used = {*files.tools, *MEMORY_TOOLS, *WELL_KNOWN}
    used.update(tool for file in skills for tool in file.data.get("required_tools", ()) if isinstance(tool, str))
    used.update(str(each["tool"]) for file in domains for each in file.data.get("operators", ()) if "tool" in each)
    # The author of a policy's test knows the tool that it calls.
    tried = {test["call"]["tool"] for file in policies for test in file.data.get("tests", ())}
    tried.update(tool for table in files.tables for tool in table.data["tools"])
    for file in policies:
        for path, name in _literal_tools(file.data.get("match"), ("match",)):
            near = "" if name in used else nearest(name, used)
            if name not in used and (near or name not in tried):
                yield named_nowhere(file, "MKP006", f"No tool is called {name!r}, so this never matches.", path, near)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that ``word`` is probably a misspelling of, or an empty text.

    >>> nearest("bsah", ["bash", "python"])
    'bash'
    """
    allowed = 2 if len(word) >= 8 else 1
    near = [(distance(word, other), other) for other in known if abs(len(other) - len(word)) <= allowed]
    best = min(near, default=(allowed + 1, ""))
    return best[1] if 0 < best[0] <= allowed and len(word) > 2 else ""


def distance(one: str, other: str) -> int:
    """Return how many letters must be added, dropped, changed or swapped with their neighbour (Damerau, 1964)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        older, before, row = before, row, [i]
        for j, there in enumerate(other, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != there))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == there:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def named_nowhere(file: Checked, code: str, message: str, path: KeyPath, near: str) -> Finding:
    """Return the finding about a name that no tool has, with the nearest one as an edit."""
    edit = None
    if near:
        start, end = file.document.spans[path]
        written = file.document.text[start:end]
        quote = written[0] if written[0] in "'\"" else ""
        edit = TextEdit(start, end, f"{quote}{near}{quote}", is_safe=False)
    return file.found(code, f"{message}{f' Did you mean {near!r}?' if near else ''}", path, edit=edit)


def _literal_tools(match: Any, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    for number, alternative in enumerate(as_list(match)):
        if isinstance(alternative, Mapping) and "tool" in alternative:
            inner = (*path, number, "tool") if isinstance(match, list) else (*path, "tool")
            yield from _names(alternative["tool"], inner)


def _names(condition: Any, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Yield the names that a condition on the tool spells out; negations and patterns name none."""
    if isinstance(condition, str) and not any(char in condition for char in "*?["):
        yield path, condition
    elif isinstance(condition, list):
        for number, item in enumerate(condition):
            yield from _names(item, (*path, number))
    elif isinstance(condition, Mapping):
        for key in ("equals", "in", "glob", "any"):
            if key in condition:
                yield from _names(condition[key], (*path, key))


POLICY = (
    "name: no_deletes\ndescription: Keeps files.\nrule: Do not delete files without asking.\nenforcement: hard\n"
    "effect: ask\nmatch:\n  tool: bash\n  args.command: {shell: {program: rm}}\n"
    "tests:\n  - {name: asks, call: {tool: bash, args: {command: rm x}}, expect: ask}\n"
)
POLICY_PLACE = "policies/no_deletes.yaml"


_CODES = SchemaCodes("MKP001", "MKP002", "MKP004", "MKP005")


def in_file(file: Checked) -> Iterator[Finding]:
    """Yield the findings of one policy; those that need its match only if that compiles."""
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
    """Record what a table of tests is about, or yield why it cannot be read."""
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
                "The policy has no tests, so what it stops is unknown. Add a call that it must catch, and one that "
                "must pass."
            )
            yield file.found("MKP007", message, ("match",), at_key=True)


def _about_the_match(file: Checked, data: Mapping[str, Any]) -> Iterator[Finding]:
    if data.get("effect") == "allow":
        message = "The strongest effect wins, so allow overrides no other policy. Write an exception there instead."
        yield file.found("MKP008", message, ("effect",))
    for number, exception in enumerate(exceptions_of(data)):
        if "match" not in exception:
            message = (
                "Without match this exception never applies. In match, name what the host program sets, such as "
                "context.env."
            )
            said: KeyPath = ("exceptions", number, *(["text"] if isinstance(data["exceptions"][number], dict) else []))
            yield file.found("MKP009", message, said)
    for number, exception in enumerate(exceptions_of(data)):
        yield from _about_the_values(file, exception.get("match"), ("exceptions", number, "match"))
    yield from _about_the_values(file, data["match"], ("match",))
    for place, value in _values_in(data["match"], ("match",)):
        if place[-1] == "regex" and outgrows_its_room(value):
            message = (
                "This expression can need more states than are cached. It stays exact and linear in the text, but up "
                "to a hundred times slower. Lower the counts in braces."
            )
            yield file.found("MKP013", message, place)
    if data.get("effect") in ("deny", "ask") and data.get("active", True):
        yield from _stops_everything(file, data["match"])


def _values_in(condition: Any, place: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """Yield a condition and every value inside it, with their places."""
    yield place, condition
    parts: Iterable[tuple[str | int, Any]] = ()
    if isinstance(condition, Mapping):
        parts = condition.items()
    elif isinstance(condition, list):
        parts = enumerate(condition)
    for key, value in parts:
        yield from _values_in(value, (*place, key))


def _about_the_values(file: Checked, match: Any, start: KeyPath) -> Iterator[Finding]:
    """Yield each former trust, and each number that is compared as another text than the one in the file."""
    for place, value in _values_in(match, start):
        if place[-1] == "context.trust" and names_former_trust(value):
            message = "No turn has this trust any more, only trusted or untrusted. memkit migrate rewrites it."
            yield file.found("MKP012", message, place)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and "range" not in place:
            begin, end = file.document.spans[place]
            written, compared = file.document.text[begin:end], text_of(value)
            if written != compared and ambiguity(written) is None:
                message = f"{written!r} is a number here, and matches the text {compared!r} alone. Put it in quotes."
                yield file.found("MKY003", message, place)


@lru_cache(maxsize=4096)
def outgrows_its_room(pattern: str) -> bool:
    """Return whether a regular expression explodes in size, which takes a count in braces."""
    from memkit.runtime.guard.dfa import Dfa
    from memkit.runtime.guard.regex import compile_regex

    return "{" in pattern and Dfa(compile_regex(pattern)).outgrows_its_room()


def _stops_everything(file: Checked, match: Any) -> Iterator[Finding]:
    for number, alternative in enumerate(as_list(match)):
        if list(alternative) == ["tool"] and _any_tool(alternative["tool"]):
            path = ("match", number, "tool") if isinstance(match, list) else ("match", "tool")
            yield file.found("MKP010", "This stops every call of every tool. Name the tools, or narrow match.", path)


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
        "A policy lacks a required key, or has an invalid value.",
        "A policy set with such a file does not load, and a set that does not load denies every call.",
        POLICY.replace("effect: ask", "effect: prompt"),
        POLICY,
        spoils=True,
    ),
    _rule(
        "MKP002",
        "policy-name",
        "A policy's name differs from its file's, or is not a valid name.",
        "A verdict names the policy that decided, and people look for it by its file.",
        POLICY.replace("name: no_deletes", "name: keep_files"),
        POLICY,
    ),
    _warning(
        "MKP003",
        "policy-without-match",
        "A policy has no match, so it is advice to the model and stops nothing.",
        "Its rule is only put into the prompt. Readers of `enforcement: hard` assume that it binds. State with "
        "`match` which calls it is about, or suppress this finding with the reason why advice is enough.",
        "name: no_deletes\ndescription: Keeps files.\nrule: Do not delete files without asking.\nenforcement: hard\n"
        "effect: ask\n",
        POLICY,
    ),
    _rule(
        "MKP004",
        "unknown-policy-key",
        "A policy has a key unknown to memkit.",
        "A misspelt key is a missing clause: an exception that never applies, a condition that never holds.",
        POLICY + "rational: Prevents data loss.\n",
        POLICY + "rationale: Prevents data loss.\n",
        spoils=True,
    ),
    _rule(
        "MKP005",
        "policy-does-not-compile",
        "A condition of a policy cannot be used as written.",
        "A construct that the engine does not support, such as a back-reference in a regular expression, prevents "
        "the whole set from loading, and then every call is denied.",
        POLICY.replace("{shell: {program: rm}}", "{regex: '(rm) .*\\1'}"),
        POLICY,
        spoils=True,
    ),
    Rule(
        "MKP007",
        "untested-policy",
        "A policy has no tests.",
        "It is unknown what it stops, and the next edit can disable it unnoticed. `memkit policy test` runs the tests.",
        POLICY.partition("tests:")[0],
        POLICY,
        POLICY_PLACE,
        severity="warning",
        together=untested_policies,
    ),
    _warning(
        "MKP008",
        "idle-allow",
        "A policy allows, which overrides no other policy.",
        "The strongest effect wins, and what no policy matches is allowed anyway. What is needed is an exception in "
        "the policy that denies.",
        POLICY.replace("effect: ask", "effect: allow").replace("expect: ask", "expect: allow"),
        POLICY,
    ),
    _warning(
        "MKP009",
        "exception-in-words",
        "An exception has no match, so it never applies.",
        "Exceptions read what the host program sets, and no text from the model or the user; words alone have no "
        "effect.",
        POLICY + "exceptions: [{text: Not in tests.}]\n",
        POLICY + "exceptions: [{text: Not in tests., match: {context.env: test}}]\n",
    ),
    _warning(
        "MKP010",
        "stops-everything",
        "A policy stops every call of every tool.",
        "An agent under it can do nothing, not even use memory. If that is intended, suppress the finding with the "
        "reason.",
        POLICY.replace("  tool: bash\n  args.command: {shell: {program: rm}}\n", '  tool: "*"\n'),
        POLICY,
    ),
    _rule(
        "MKP012",
        "former-trust",
        "A policy tests for a trust value that no turn has any more.",
        "`context.trust` is `untrusted` if text from outside is in the prompt, else `trusted`. A policy with a "
        "former value asks in every turn until it is rewritten, which `memkit migrate` does.",
        POLICY.replace("  tool: bash\n", "  tool: bash\n  context.trust: {in: [candidate, quarantined]}\n"),
        POLICY.replace("  tool: bash\n", "  tool: bash\n  context.trust: untrusted\n").replace(
            "command: rm x}}", "command: rm x}, context: {trust: untrusted}}"
        ),
    ),
    _warning(
        "MKP013",
        "outgrowing-pattern",
        "A regular expression can need more states than memkit caches for it.",
        "Such an expression counts characters after a letter that may occur anywhere, so that each of those letters "
        "has to be remembered. Decisions stay correct and linear in the text, but lose the table that makes them "
        "fast.",
        POLICY.replace("{shell: {program: rm}}", "{regex: 'rm(x|y)*x(x|y){20}'}").replace(
            "command: rm x", f"command: rmx{'y' * 20}"
        ),
        POLICY.replace("{shell: {program: rm}}", "{regex: '^rm( |$)'}"),
    ),
    Rule(
        "MKP011",
        "invalid-test-table",
        "A table of policy tests cannot be read.",
        "None of its rows is tested, and `memkit policy test` fails.",
        "policy: no_deletes\ncolumns: [name, args.command, expect]\nrows:\n  - [stops rm, rm x]\n",
        "policy: no_deletes\ncall: {tool: bash}\ncolumns: [name, args.command, expect]\nrows:\n  - [stops rm, rm "
        "x, ask]\n",
        "policies/tests/no_deletes.yaml",
        extra={POLICY_PLACE: POLICY},
        check=test_table,
    ),
    Rule(
        "MKP006",
        "unknown-tool",
        "A policy is about a tool that does not exist.",
        "It never matches, silently: the most common reason why a rule stops nothing. Known are the tools of "
        "memkit.yaml, of skills and domains, those that tests of policies call, memory's own, and names that hosts "
        "commonly use.",
        POLICY.replace("tool: bash\n", "tool: bsah\n"),
        POLICY,
        POLICY_PLACE,
        severity="warning",
        unsafe_fix="writes the name that is nearest",
        together=tool_names,
    ),
)
