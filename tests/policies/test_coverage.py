# ruff: noqa: E501 (one case a row reads better than wrapped rows)
"""What the shipped policies say to lists of calls: the shipped corpus, and whatever a person hands in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memkit.cli.main import run
from memkit.policies.files import load_policies
from memkit.resources import resource
from memkit.runtime.guard.core import Guard
from memkit.use_cases.policy_proofs import CoveredCall, cover_calls
from tests.written.policy_page import PAGE, page

RM = {"tool": "Bash", "args": {"command": "rm -rf /srv"}}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Make a store with the starters."""
    assert run(["init", str(tmp_path / "store")]) == 0
    return tmp_path / "store"


@pytest.fixture(scope="module")
def covered() -> list[CoveredCall]:
    """Return what the starters decide about the shipped corpus."""
    guard = Guard([policy.data for policy in load_policies(resource("policies"))])
    return list(cover_calls(guard))


def of(covered: list[CoveredCall], category: str) -> Iterator[CoveredCall]:
    """Yield the calls of one kind of category."""
    return (call for call in covered if call.category.startswith(category))


def test_the_starters_stop_what_destroys_and_let_ordinary_work_pass(covered: list[CoveredCall]) -> None:
    """Of 500 destructive calls at most 2 % pass, of 500 ordinary ones at most 1 % are stopped."""
    destructive, ordinary = list(of(covered, "destructive")), list(of(covered, "ordinary"))

    assert (len(destructive), len(ordinary)) == (500, 500)
    assert sum(call.decision in ("allow", "warn") for call in destructive) <= 10
    assert sum(call.decision in ("ask", "deny") for call in ordinary) <= 5


def test_disguises_are_seen_through(covered: list[CoveredCall]) -> None:
    """Of more than 250 equivalent spellings all are stopped but those that the docs name."""
    disguised, unseen = list(of(covered, "disguised")), list(of(covered, "not seen"))

    assert len(disguised) >= 250 and len(unseen) <= 5
    assert [call.line for call in disguised if call.decision in ("allow", "warn")] == []


def test_calls_that_were_written_without_the_policies_at_hand_are_told_apart() -> None:
    """Later sets of destructive, disguised and ordinary calls keep what was learnt from each of them."""
    guard = Guard([policy.data for policy in load_policies(resource("policies"))])
    second = list(cover_calls(guard, Path(__file__).parent / "second_set.jsonl"))

    assert len(second) >= 5000
    assert [call.line for call in second if not call.as_expected] == []


def test_every_line_is_decided_as_it_expects(covered: list[CoveredCall]) -> None:
    """The corpus says what the shipped policies do."""
    assert [call.line for call in covered if not call.as_expected] == []


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("Bash", {"command": "rm x"}), ("exec", {"cmd": "rm x"}), ("zsh", {"command": "rm x"}), ("run_shell_command", {"command": "rm x"}),
        ("mcp__shell__run", {"command": "rm x"}), ("bash", {"cmd": "rm x"}), ("mcp__desktop-commander__start_process", {"command": "rm x"}),
        ("runInTerminal", {"Command": "rm x"}), ("shell", {"command": ["bash", "-lc", "rm x"]}), ("local_shell", {"action": {"command": ["rm", "x"]}}),
        ("container.exec", {"cmd": ["rm", "x"]}), ("execute_command", {"command": "rm", "args": ["-rf", "/"]}), ("developer__shell", {"anything": "rm x"}),
        ("exec_in_pod", {"pod": "a", "command": ["rm", "x"]}), ("system.run", {"command": "rm x"}), ("write_stdin", {"chars": "rm x\n"}), ("CmdRunAction", {"command": "rm x"}),
    ],
)  # fmt: skip
def test_a_shell_is_one_by_what_it_does(tool: str, args: dict[str, object]) -> None:
    """Whatever an agent or server calls its shell tool and the argument, the starter reads the command."""
    guard = Guard([policy.data for policy in load_policies(resource("policies"))])

    assert guard.decide(tool, args, {}).decision == "ask"


@pytest.mark.parametrize(
    ("kind", "tools", "others"),
    [
        ("code", ["PythonREPL", "IPythonRunCellAction", "python_repl", "PythonTool"], ["pythonista", "cell_action", "list_python_tools"]),
        ("database", ["execute_statement", "pg_execute", "executeStatement"], ["page_execute", "explain_statement"]),
        ("destructive", ["format_disk", "formatVolume"], ["format_text", "format_date"]),
        ("shell", ["exec_in_pod", "mcp__kubernetes__exec_in_pod", "system.run"], ["list_pods", "system_running"]),
    ],
)  # fmt: skip
def test_a_tool_of_a_kind_is_known_by_its_name(kind: str, tools: list[str], others: list[str]) -> None:
    """Names of agents and servers, in each spelling; one that only sounds like it is another tool."""
    policy = {
        "name": "p",
        "description": "d",
        "rule": "r",
        "enforcement": "hard",
        "effect": "deny",
        "match": {"tool_kind": kind},
    }
    guard = Guard([policy])

    assert {tool: guard.decide(tool, {}, {}).decision for tool in tools} == dict.fromkeys(tools, "deny")
    assert {tool: guard.decide(tool, {}, {}).decision for tool in others} == dict.fromkeys(others, "allow")


OPAQUE = [
    '{rm,-rf,"/srv"}', "{rm,-rf,srv}", "{rm,-rf,srv}  # x", "r[m] -rf", "*m -rf", "r\\\nm -rf /srv", "~/r?", "(rm)", "x=1 rm", "ls\nrm -rf /srv", "eval(x)", "eval('rm')",
    'eval "$x"', "cat <<E\n$(rm x)\nE", "bash <<E\nrm -rf /srv\nE", "bash <<E\n$x\nE", "f('rm')", "x = f('rm -rf /srv')", "rm('/srv')", "reboot; x = f('a')", "$x -rf", "`x`",
]  # fmt: skip


@pytest.mark.parametrize(
    "tool", ["bash", "sh", "zsh", "shell", "terminal", "write_stdin", "mcp__x__interact_with_process"]
)
def test_what_a_shell_may_make_of_a_text_counts_under_every_name_of_the_argument(tool: str) -> None:
    """That another language could read it, too, is no reason to let it pass: a prompt may be a shell's."""
    guard = Guard([policy.data for policy in load_policies(resource("policies"))])
    keys = ("command", "input", "chars", "code", "stdin", "keys", "text", "source")
    passed = [(key, text) for key in keys for text in OPAQUE if guard.decide(tool, {key: text}, {}).decision != "ask"]

    assert passed == []
    assert {guard.decide(tool, {key: "ls; pwd"}, {}).decision for key in keys} == {"allow"}


@pytest.mark.parametrize(
    ("tool", "args"),
    [("mcp__nutshell__find", {"q": "rm x"}), ("read_file", {"command": "rm x"}), ("think", {"text": "it's"}), ("note", {"command": "rm x"}),
     ("Bash", {"command": "ls", "description": "don't rm x"}), ("memory_search", {"query": "who's rm"})],
)  # fmt: skip
def test_other_tools_are_none(tool: str, args: dict[str, object]) -> None:
    """A name that only contains the letters, and an argument that is no command, are read by nobody as one."""
    guard = Guard([policy.data for policy in load_policies(resource("policies"))])

    assert guard.decide(tool, args, {}).decision == "allow"


def lines(path: Path, *calls: object) -> Path:
    """Write a corpus."""
    path.write_text("".join(f"{call if isinstance(call, str) else json.dumps(call)}\n" for call in calls))
    return path


def test_coverage_counts_by_category_and_line(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The envelope has counts, categories and a row for each call with the policies that decided."""
    corpus = lines(tmp_path / "c.jsonl", RM | {"category": "files"}, "", {"tool": "bash", "args": {"command": "ls"}})

    code = run(["--store", str(store), "policy", "coverage", "--corpus", str(corpus), "--json"])

    data = json.loads(capsys.readouterr().out)["data"]
    assert code == 0
    assert data["counts"] == {"deny": 0, "ask": 1, "warn": 0, "allow": 1}
    assert data["categories"]["files"] == {"deny": 0, "ask": 1, "warn": 0, "allow": 0}
    assert data["calls"] == [
        {"line": 1, "decision": "ask", "policies": ["destructive_command_approval"]},
        {"line": 3, "decision": "allow", "policies": []},
    ]


def test_a_call_that_is_decided_otherwise_is_a_negative_answer(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line is named with both decisions."""
    corpus = lines(tmp_path / "c.jsonl", RM | {"expect": "deny"})

    assert run(["--store", str(store), "policy", "coverage", "--corpus", str(corpus)]) == 1
    assert "line 1: expected deny, decided ask" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [("no json", 2, "c.jsonl:1: This is not JSON"), ("[1]", 2, "c.jsonl:1: A call must be a JSON object"), ('{"args": {}}', 2, "with tool"),
     ('{"tool": "a", "args": "ls"}', 2, "args must be a map"), ('{"tool": "a", "expect": "maybe"}', 2, "expect must be one of"), ("", 3, "has no calls"),
     ("[" * 100_000, 2, "c.jsonl:1:")],
)  # fmt: skip
def test_what_is_no_corpus_is_said_in_one_line(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: int, told: str
) -> None:
    """File and line of the fault are named; an empty list is no success."""
    corpus = lines(tmp_path / "c.jsonl", text)

    assert run(["--store", str(store), "policy", "coverage", "--corpus", str(corpus)]) == code
    err = capsys.readouterr().err.strip()
    assert told in err and "\n" not in err


def test_a_corpus_that_is_not_there_is_said_without_a_line(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing of it was read, so no line is named."""
    assert run(["--store", str(store), "policy", "coverage", "--corpus", str(tmp_path / "none.jsonl")]) == 2
    err = capsys.readouterr().err.strip()
    assert "The corpus cannot be read: " in err and "\n" not in err


def test_a_corpus_is_decided_line_by_line(tmp_path: Path) -> None:
    """The first call is decided before the rest of the file is read, however long that is."""
    corpus = lines(tmp_path / "c.jsonl", RM, "broken")
    calls = cover_calls(Guard([policy.data for policy in load_policies(resource("policies"))]), corpus)

    assert next(calls).decision == "ask"


ALLOW = "name: one\ndescription: d\nrule: r\nenforcement: hard\neffect: allow\nmatch: {tool: t, args.p: {prefix: a}}\n"
DENY = ALLOW.replace("one", "two").replace("allow", "deny").replace("prefix: a", "prefix: b")


def conflicts(store: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, object], list[str]]:
    """Return code, data and messages of ``policy conflicts``."""
    code = run(["--store", str(store), "policy", "conflicts", "--json", *words])
    told = json.loads(capsys.readouterr().out)
    return code, told["data"], [found["code"] for found in told["diagnostics"]]


def test_a_list_may_contradict_where_no_text_does(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One element is allowed by one policy, another is denied by the other."""
    (store / "policies/one.yaml").write_text(ALLOW)
    (store / "policies/two.yaml").write_text(DENY)

    code, data, _ = conflicts(store, capsys)

    assert code == 1 and isinstance(data, dict)
    assert [(one["kind"], one["witness"]["args"]) for one in data["findings"]] == [("contradiction", {"p": ["a", "b"]})]  # type: ignore[attr-defined]


@pytest.mark.parametrize("where", ["file", "baseline"])
def test_a_finding_is_accepted_with_its_reason(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str
) -> None:
    """In the policy's file, or in a baseline; what accepts nothing is a warning."""
    entry = "{kind: contradiction, policies: [%s], reason: Lists are never sent.}"
    own = f"accepted: [{entry % 'two'}, {{kind: dead, reason: Old.}}]\n" if where == "file" else ""
    (store / "policies/one.yaml").write_text(ALLOW + own)
    (store / "policies/two.yaml").write_text(DENY)
    (tmp_path / "base.yaml").write_text(
        f"- {entry % 'one, two'}\n- {{kind: dead, policies: [gone], reason: Old.}}\n" if where == "baseline" else "[]\n"
    )

    code, data, told = conflicts(store, capsys, *(["--baseline", str(tmp_path / "base.yaml")] * (where == "baseline")))

    assert code == 0 and isinstance(data, dict) and data["findings"] == []
    assert data["accepted"][0]["reason"] == "Lists are never sent."
    assert told == ["policy-accepted"]


def test_a_gap_is_accepted_for_its_tool(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A gap is about no policy, so a baseline names the tool; another tool's gap stays a finding."""
    settings = store / "memkit.yaml"
    said = "".join(
        f"  - {{name: {name}, description: Does it now., parameters: {{type: object}}, run: [x], dangerous: true}}\n"
        for name in ("rocket", "siren")
    )
    before = settings.read_text()
    settings.write_text(
        before.replace("tools:\n", f"tools:\n{said}") if "tools:\n" in before else f"{before}tools:\n{said}"
    )
    (tmp_path / "base.yaml").write_text("- {kind: gap, tool: rocket, reason: It has no fuel.}\n")

    code, data, told = conflicts(store, capsys, "--baseline", str(tmp_path / "base.yaml"))

    assert code == 1 and isinstance(data, dict)
    found, accepted = data["findings"], data["accepted"]
    assert isinstance(found, list) and [one["witness"]["tool"] for one in found] == ["siren"]
    assert isinstance(accepted, list) and [(one["kind"], one["reason"]) for one in accepted] == [
        ("gap", "It has no fuel.")
    ]
    assert told == ["policy-gap"]
    (tmp_path / "base.yaml").write_text("- {kind: gap, policies: [], reason: All of them.}\n")
    assert run(["--store", str(store), "policy", "conflicts", "--baseline", str(tmp_path / "base.yaml")]) == 2


def test_an_accepted_finding_needs_a_reason(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without one neither the policy nor the baseline is read."""
    (tmp_path / "base.yaml").write_text("- {kind: contradiction, policies: [one]}\n")

    assert run(["--store", str(store), "policy", "conflicts", "--baseline", str(tmp_path / "base.yaml")]) == 2
    assert "base.yaml:1: An accepted finding needs kind" in capsys.readouterr().err
    assert run(["--store", str(store), "policy", "conflicts", "--baseline", str(tmp_path / "none.yaml")]) == 2


def test_a_sentence_is_an_exception_for_people(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The set loads, the sentence lifts nothing, and lint says so."""
    path = store / "policies/destructive_command_approval.yaml"
    path.write_text(
        path.read_text().replace("exceptions:\n", 'exceptions:\n  - "during the weekly match: maintenance"\n')
    )

    check = ["--store", str(store), "policy", "check", "--tool"]
    assert run([*check, "bash", "--arg", "command=ls"]) == 0
    assert run([*check, "Bash", "--arg", "command=rm x", "--context", "during=maintenance"]) == 1
    capsys.readouterr()
    run(["--store", str(store), "lint", "--output-format", "concise"])
    assert "MKP009" in capsys.readouterr().out


def test_the_page_says_what_the_starters_do() -> None:
    """Its table is that of a run: ``python -m tests.written.policy_page`` writes it."""
    text = PAGE.read_text("utf-8")

    assert text == page(text)


def test_a_corpus_of_a_hundred_thousand_calls_is_decided(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is counted, the few that are decided otherwise than expected are named, and the list of them is cut short."""
    row = json.dumps({"tool": "read_file", "args": {"path": "a"}, "category": "reading", "expect": "allow"}) + "\n"
    wrong = json.dumps(RM | {"category": "files", "expect": "allow"}) + "\n"
    corpus = tmp_path / "c.jsonl"
    corpus.write_text((row * 999 + wrong) * 100)

    assert run(["--store", str(store), "policy", "coverage", "--corpus", str(corpus)]) == 1
    out = capsys.readouterr().out

    assert "all            0    100      0  99900" in out
    assert (
        "line 1000: expected allow, decided ask" in out
        and "… and 80 more that were not decided as expected; --json lists them all" in out
    )


def test_a_flag_without_its_dashes_is_said_so(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Such a flag matches no command: lint names file, line and what to write, and until then every call is denied."""
    (store / "policies/one.yaml").write_text(
        "name: one\ndescription: d\nrule: r\nenforcement: hard\neffect: deny\n"
        "match: {tool: bash, args.command: {shell: {program: rm, flags: [r, f]}}}\n"
    )

    run(["--store", str(store), "lint", "--output-format", "concise"])
    told = capsys.readouterr().out

    assert "policies/one.yaml:6:64: MKP005 A flag starts with a dash; 'r' belongs in args." in told
    assert run(["--store", str(store), "policy", "check", "--tool", "bash", "--arg", "command=ls"]) == 1
    assert "a flag starts with a dash; 'r' belongs in args" in capsys.readouterr().out.lower()
