"""``memkit policy`` as people and scripts use it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from memkit.cli.main import run


@pytest.fixture(autouse=True)
def in_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work inside a fresh store."""
    monkeypatch.chdir(store)
    return store


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run a policy command with ``--json`` and return its exit code and envelope."""
    capsys.readouterr()
    code = run(["policy", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "code", "decision"),
    [
        (["--tool", "bash", "--arg", "command=rm -fr /srv"], 1, "ask"),
        (["--tool", "bash", "--arg", "command=ls"], 0, "allow"),
        (["--tool", "bash", "--arg", "command=rm -fr /srv", "--context", "env=test"], 0, "allow"),
        (["--tool", "bash", "--arg", "command=rm -fr /srv", "--arg", "env=test"], 1, "ask"),
        (["--tool", "deploy", "--arg", "environment=production"], 1, "deny"),
        (["--tool", "deploy", "--arg", "environment=production", "--context", "staging_verified:=true"], 0, "allow"),
        (["--tool", "bash", "--arg", 'command:=["rm", "x"]'], 1, "ask"),
        (["--tool", "send_mail", "--context", "trust=untrusted"], 1, "ask"),
    ],
)
def test_check_says_what_the_policies_decide(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, decision: str
) -> None:
    """A deny or an ask is a negative answer; everything else is exit 0."""
    exit_code, envelope = ask(capsys, "check", *arguments)

    assert (exit_code, envelope["data"]["decision"], envelope["ok"]) == (code, decision, code == 0)
    assert envelope["schema"] == "memkit.policy.check/1"


def test_check_names_every_policy_that_matched(capsys: pytest.CaptureFixture[str]) -> None:
    """Each finding has name, effect, enforcement, whether it decides, and its reason down to the clause."""
    _, envelope = ask(capsys, "check", "--tool", "bash", "--arg", "command=sudo rm x", "--context", "trust=untrusted")

    findings = envelope["data"]["policies"]
    assert [finding["name"] for finding in findings] == ["destructive_command_approval", "untrusted_recall_approval"]
    assert set(findings[0]) == {"name", "effect", "enforcement", "decides", "reason"}
    assert findings[0]["decides"] is True
    assert findings[0]["reason"].startswith("args.command: shell program rm in [rm,")


@pytest.mark.parametrize("pair", ["command", "=x", "x:={", ":=1", "x:=NaN", "x:=" + "1" * 5000, 'x:={"a": 1, "a": 2}'])
def test_an_argument_that_is_no_pair_is_bad_usage(pair: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The message shows both forms."""
    code, envelope = ask(capsys, "check", "--tool", "bash", "--arg", pair)

    assert (code, envelope["data"]) == (2, None)
    assert "K=V" in envelope["diagnostics"][0]["message"]


def test_a_tool_without_a_name_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """An unset variable in a script is no call that may run."""
    code, envelope = ask(capsys, "check", "--tool", "", "--arg", "command=rm x")

    assert (code, envelope["data"]) == (2, None)


def test_an_argument_given_twice_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """It is not clear which is meant."""
    code, _ = ask(capsys, "check", "--tool", "bash", "--arg", "a=1", "--arg", "a=2")

    assert code == 2


def test_list_and_show_tell_what_stands_in_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    """The list is complete, and show gives the file's data."""
    _, listed = ask(capsys, "list")
    _, shown = ask(capsys, "show", "staging_first_deployment")
    code, missing = ask(capsys, "show", "staging_first")

    assert [policy["name"] for policy in listed["data"]["policies"]][:1] == ["destructive_command_approval"]
    assert shown["data"]["effect"] == "deny"
    assert (code, "staging_first_deployment" in missing["diagnostics"][0]["message"]) == (1, True)


def test_test_runs_the_inline_tests(capsys: pytest.CaptureFixture[str]) -> None:
    """The starters pass, and their coverage is whole."""
    code, envelope = ask(capsys, "test", "--require-coverage")

    assert (code, envelope["data"]["failed"], envelope["diagnostics"]) == (0, 0, [])
    assert envelope["data"]["passed"] > 40
    assert envelope["data"]["policies"][0]["coverage"]["clause"]["missing"] == []


def test_a_failing_test_is_a_negative_answer_with_its_line(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The diagnostic says what was expected, what was decided, why, and where."""
    path = in_store / "policies" / "staging_first_deployment.yaml"
    path.write_text(
        path.read_text().replace(
            "args: {environment: staging}}, expect: allow", "args: {environment: staging}}, expect: deny"
        )
    )

    code, envelope = ask(capsys, "test", "staging_first_deployment")

    found = envelope["diagnostics"][0]
    assert (code, found["severity"], found["path"]) == (1, "error", "policies/staging_first_deployment.yaml")
    assert "expected deny, decided allow" in found["message"]
    assert "expect: deny" in path.read_text().splitlines()[found["line"] - 1]


def test_no_test_to_run_is_no_success(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to check is exit 3."""
    for path in (in_store / "policies").glob("*.yaml"):
        path.unlink()

    assert ask(capsys, "test")[0] == 3


def test_new_writes_a_soft_draft_and_never_overwrites(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A new policy stops nothing and is in no commit before a person says so; a name that is taken is refused."""
    code, envelope = ask(capsys, "new", "mine")
    status = subprocess.run(["git", "status", "-s"], capture_output=True, text=True, check=True, cwd=in_store).stdout

    assert (code, Path(envelope["data"]["path"]).is_file(), status) == (0, True, "?? policies/mine.yaml\n")
    assert ask(capsys, "check", "--tool", "bash", "--arg", "command=example-program")[1]["data"]["decision"] == "warn"
    assert [ask(capsys, "new", name)[0] for name in ("mine", "../mine", "Mine")] == [2, 2, 2]
    assert ask(capsys, "test", "mine", "--require-coverage")[0] == 0


def test_a_broken_policy_denies_and_is_named(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Check denies with the place of the fault; list is invalid input."""
    (in_store / "policies" / "broken.yaml").write_text("name: broken\nmatch: [\n")

    code, envelope = ask(capsys, "check", "--tool", "bash", "--arg", "command=ls")

    assert (code, envelope["data"]["decision"]) == (1, "deny")
    assert "policies/broken.yaml:3" in envelope["data"]["policies"][0]["reason"]
    assert ask(capsys, "list")[0] == 2


def test_text_output_is_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters of a call reach the terminal as escapes."""
    run(["policy", "check", "--tool", "deploy", "--arg", "x=prod-\x1b[31m"])

    assert "\x1b" not in capsys.readouterr().out


WEAK = """\
name: weak
description: d
rule: r
enforcement: hard
effect: ask
match: {tool: [send, mail], args.to: {any: [a, b]}}
tests: [{name: asks, call: {tool: send, args: {to: a}}, expect: ask}]
"""


def test_rows_of_tables_are_run_and_reported(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row that fails is a negative answer with file and line."""
    (in_store / "policies/tests/mine.csv").write_text("tool,args.command,expect\nbash,ls,allow\nbash,rm x,allow\n")

    code, envelope = ask(capsys, "test")

    table = next(table for table in envelope["data"]["tables"] if table["path"] == "policies/tests/mine.csv")
    assert (code, envelope["data"]["failed"], [test["ok"] for test in table["tests"]]) == (1, 1, [True, False])
    found = envelope["diagnostics"][0]
    assert (found["path"], found["line"]) == ("policies/tests/mine.csv", 3)
    assert "expected allow, decided ask" in found["message"]


def test_coverage_is_counted_by_kind(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text and JSON say how many clauses, exceptions and effects the tests reach, and which they do not."""
    (in_store / "policies/weak.yaml").write_text(WEAK)

    _, envelope = ask(capsys, "test", "weak")
    run(["policy", "test", "weak"])

    assert envelope["data"]["coverage"]["clause"] == {"total": 3, "reached": 2}
    assert envelope["data"]["policies"][0]["coverage"]["clause"]["missing"][0]["path"] == "match.args.to.any[1]"
    assert "reached: 2 of 3 clauses, 1 of 1 effects" in capsys.readouterr().out


def test_mutation_names_what_no_test_notices(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Survivors are a negative answer, each with its place; without any the answer is good."""
    (in_store / "policies/weak.yaml").write_text(WEAK)

    code, envelope = ask(capsys, "test", "weak", "--mutate")
    good, clean = ask(capsys, "test", "untrusted_recall_approval", "--mutate")

    mutation = envelope["data"]["mutation"]
    survivors = {(found["kind"], found["place"], found["line"], found["column"]) for found in mutation["survivors"]}
    assert code == 1
    assert ("narrowed", "match.tool[1]", 6, 22) in survivors
    assert mutation["mutants"] == mutation["killed"] + len(mutation["survivors"])
    assert (good, clean["data"]["mutation"]["survivors"]) == (0, [])


def test_junit_holds_every_test_and_every_survivor(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is XML whose cases and failures are those of the run, control characters and all."""
    text = WEAK.replace("name: asks", 'name: "asks <&\\e\\" it"').replace("expect: ask", "expect: deny")
    (in_store / "policies/weak.yaml").write_text(text)

    code, envelope = ask(capsys, "test", "weak", "--junit", "out.xml", "--mutate")

    root = ElementTree.parse(in_store / "out.xml").getroot()
    cases, failures = root.findall(".//testcase"), root.findall(".//failure")
    survivors = envelope["data"]["mutation"]["survivors"]
    assert (code, len(failures)) == (1, 1 + len(survivors))
    assert "asks <&" in str(cases[0].get("name"))
    assert "expected deny, decided ask" in str(failures[0].get("message"))
    assert sum(int(str(suite.get("failures"))) for suite in root) == len(failures)
    assert ask(capsys, "test", "--junit", "no/such/folder/out.xml")[0] == 2


def test_check_explains_down_to_the_clause(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Reason, data and text name file, line, column and place of what decided, and why no exception helped."""
    call = ["--tool", "bash", "--arg", "command=rm x"]

    _, envelope = ask(capsys, "check", *call)
    run(["policy", "check", *call])

    text = capsys.readouterr().out
    name = "policies/destructive_command_approval.yaml"
    lines = (in_store / name).read_text().splitlines()
    line = next(number for number, text_of_line in enumerate(lines, 1) if "- shell: {program: [rm," in text_of_line)
    place = f"{name}:{line}:18 match[0].args.command.any[0].shell"
    ground = next(ground for ground in envelope["data"]["grounds"] if ground["place"].endswith(".shell"))
    assert place in envelope["data"]["policies"][0]["reason"] and f"yes {place}" in text
    assert (ground["holds"], ground["line"], ground["column"]) == (True, line, 18)
    assert (
        "exceptions[0]: Operations in explicitly labelled test environments (context.env is not in [test, ci])" in text
    )


def test_check_explains_what_could_not_be_evaluated(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Arguments nested too deeply are denied as in a chat, and are no bug."""
    (in_store / "policies" / "no_keys.yaml").write_text(
        "name: no_keys\ndescription: Keep keys in.\nrule: Send no keys.\nenforcement: hard\neffect: ask\n"
        "match: {tool: x, args.path: {regex: secret}}\n"
    )

    code, answer = ask(capsys, "check", "--tool", "x", "--arg", f"path:={'[' * 400}{']' * 400}")

    assert (code, answer["data"]["decision"]) == (1, "deny")
    assert answer["data"]["grounds"][0]["text"] == "evaluating it failed: RecursionError"
