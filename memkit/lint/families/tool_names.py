"""Tools that a policy or a domain names and nothing has: a misspelt name never matches, and nobody says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memkit.lint.families.policies import POLICY, POLICY_PLACE
from memkit.lint.interface import Checked, Collection, Finding, Rule, TextEdit
from memkit.runtime.guard.interface import as_list
from memkit.store.yaml import KeyPath

MEMORY_TOOLS = frozenset(
    """archival_memory_insert archival_memory_search core_memory_append core_memory_replace conversation_search
    plan_task propose_subtasks evolve_expression""".split()  # noqa: SIM905
)
"""What every agent has."""

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
    # Who writes a test of a policy knows the tool that it calls.
    tried = {test["call"]["tool"] for file in policies for test in file.data.get("tests", ())}
    tried.update(tool for table in files.tables for tool in table.data["tools"])
    for file in policies:
        for path, name in _literal_tools(file.data.get("match"), ("match",)):
            near = "" if name in used else nearest(name, used)
            if name not in used and (near or name not in tried):
                yield named_nowhere(file, "MKP006", f"No tool is called {name!r}, so this never matches.", path, near)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that ``word`` is a slip of the keys away from, or nothing.

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
    """Return the finding about a name that no tool has, with the nearest one in its place as an edit."""
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
    """Yield the names that a condition on the tool spells out; what is negated or a pattern names none."""
    if isinstance(condition, str) and not any(char in condition for char in "*?["):
        yield path, condition
    elif isinstance(condition, list):
        for number, item in enumerate(condition):
            yield from _names(item, (*path, number))
    elif isinstance(condition, Mapping):
        for key in ("equals", "in", "glob", "any"):
            if key in condition:
                yield from _names(condition[key], (*path, key))


RULES = (
    Rule(
        "MKP006",
        "unknown-tool",
        "A policy is about a tool that exists nowhere.",
        "It never matches, and nobody says so: the most common reason why a rule stops nothing. Known are the tools of "
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
