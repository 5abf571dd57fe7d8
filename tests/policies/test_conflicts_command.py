"""``memkit policy conflicts`` as people and scripts use it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run

POLICY = """\
name: {name}
description: Says what may be done with one tool.
rule: Follow the limits.
enforcement: hard
effect: {effect}
match: {match}
"""


@pytest.fixture(autouse=True)
def in_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work inside a fresh store."""
    monkeypatch.chdir(store)
    return store


def write(store: Path, name: str, effect: str, match: str) -> None:
    """Put a policy into the store."""
    (store / "policies" / f"{name}.yaml").write_text(POLICY.format(name=name, effect=effect, match=match))


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run a policy command with ``--json`` and return its exit code and envelope."""
    capsys.readouterr()
    code = run(["policy", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_fresh_store_has_no_conflicts(capsys: pytest.CaptureFixture[str]) -> None:
    """The starters agree, and nothing stays open."""
    code, envelope = ask(capsys, "conflicts")

    assert (code, envelope["ok"], envelope["data"], envelope["diagnostics"]) == (0, True, {"findings": []}, [])
    assert envelope["schema"] == "memkit.policy.conflicts/1"


def test_a_finding_names_kind_policies_witness_and_proof(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The witness is a call that check decides as the proof says."""
    write(in_store, "refund_little", "allow", "{tool: refund, args.amount: {range: {max: 100}}}")
    write(in_store, "never_refund_mallory", "deny", "{tool: refund, args.to: mallory}")

    code, envelope = ask(capsys, "conflicts")

    assert (code, envelope["ok"], len(envelope["data"]["findings"])) == (1, False, 1)
    finding = envelope["data"]["findings"][0]
    assert set(finding) == {"kind", "policies", "witness", "proof"}
    assert (finding["kind"], finding["policies"]) == ("contradiction", ["refund_little", "never_refund_mallory"])
    assert set(finding["witness"]) == {"tool", "args", "context"}
    assert envelope["diagnostics"][0]["path"] == "policies/refund_little.yaml"
    pairs = [
        word for key, value in finding["witness"]["args"].items() for word in ("--arg", f"{key}:={json.dumps(value)}")
    ]
    code, checked = ask(capsys, "check", "--tool", finding["witness"]["tool"], *pairs)
    assert (code, checked["data"]["decision"]) == (1, "deny")
    assert [found["name"] for found in checked["data"]["policies"]] == ["never_refund_mallory", "refund_little"]


def test_people_read_a_command_line_that_shows_it(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line below a proof can be run as it stands."""
    write(in_store, "ask_before_reading", "ask", "{tool: read_file, args.path: /etc/*, context.who: ['a b', c]}")
    write(in_store, "never_read_etc", "deny", "{tool: read_file, args.path: {prefix: /etc}}")

    assert run(["policy", "conflicts"]) == 1
    lines = capsys.readouterr().out.splitlines()

    assert lines[0] == "shadowed: ask_before_reading, never_read_etc"
    assert lines[-1] == "6 policies: 1 conflict."
    words = shlex.split(lines[2])
    assert words[:3] == ["memkit", "policy", "check"]
    code, envelope = ask(capsys, *words[2:])
    assert (code, {found["name"] for found in envelope["data"]["policies"]}) == (
        1,
        {"ask_before_reading", "never_read_etc"},
    )


def test_a_dangerous_tool_without_a_policy_is_a_gap(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A call of it is shown as its schema wants it; one that a starter covers is no gap."""
    manifest = in_store / "memkit.yaml"
    schema = "{{type: object, properties: {{n: {{type: integer}}}}, required: [n]}}"
    tool = f"  - {{{{name: {{0}}, description: D, run: [echo], dangerous: {{1}}, parameters: {schema}}}}}\n"
    text = manifest.read_text()
    head, _, rest = text.partition("tools:\n")
    assert rest, "the fresh store declares tools"
    rows = tool.format("open_valve", "true") + tool.format("bash", "true") + tool.format("look", "false")
    manifest.write_text(f"{head}tools:\n{rows}{rest}")

    code, envelope = ask(capsys, "conflicts")

    findings = envelope["data"]["findings"]
    assert (code, [(found["kind"], found["policies"]) for found in findings]) == (1, [("gap", [])])
    assert findings[0]["witness"] == {"tool": "open_valve", "args": {"n": 1}, "context": {}}
    assert envelope["diagnostics"][0]["path"] == "memkit.yaml"


@pytest.mark.parametrize(
    "schema", ["{required: 5}", "{required: [n], properties: [n]}", "{required: [n], properties: {n: x}}"]
)
def test_a_schema_that_is_none_hides_no_gap(in_store: Path, capsys: pytest.CaptureFixture[str], schema: str) -> None:
    """What cannot be made of it is left out of the call that is shown."""
    manifest = in_store / "memkit.yaml"
    head, _, rest = manifest.read_text().partition("tools:\n")
    row = f"  - {{name: open_valve, description: D, run: [echo], dangerous: true, parameters: {schema}}}\n"
    manifest.write_text(f"{head}tools:\n{row}{rest}")

    code, envelope = ask(capsys, "conflicts")

    assert (code, envelope["data"]["findings"][0]["witness"]["tool"]) == (1, "open_valve")


def test_a_question_that_stays_open_is_a_note_and_no_finding(
    in_store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said, and alone it is no reason to fail."""
    programs = ", ".join(
        f"{{any: [{', '.join(f'{{shell: {{program: p{i}x{j}}}}}' for j in range(9))}]}}" for i in range(9)
    )
    write(in_store, "hard_to_tell", "deny", f"{{tool: bash, args.command: {{all: [{programs}]}}}}")

    code, envelope = ask(capsys, "conflicts")

    assert (code, envelope["data"]) == (0, {"findings": []})
    assert {(note["code"], note["severity"]) for note in envelope["diagnostics"]} == {("policy-unknown", "note")}


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("name: broken\nmatch: [\n", "policies/broken.yaml:3"),
        ("name: other\n", "policies/broken.yaml:1"),
        ("\xff", "broken.yaml"),
    ],
)
def test_a_broken_policy_is_named(in_store: Path, capsys: pytest.CaptureFixture[str], content: str, where: str) -> None:
    """Nothing is concluded from a set that does not load."""
    (in_store / "policies" / "broken.yaml").write_bytes(content.encode("latin-1"))

    code, envelope = ask(capsys, "conflicts")

    assert (code, envelope["data"]) == (2, None)
    assert where in envelope["diagnostics"][0]["message"]


def test_no_policies_have_no_conflicts(in_store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty folder is no error."""
    for path in (in_store / "policies").glob("*.yaml"):
        path.unlink()

    assert ask(capsys, "conflicts")[0] == 0
    assert run(["policy", "conflicts"]) == 0
    assert capsys.readouterr().out == "0 policies: no conflicts.\n"


STARTER = "policies/destructive_command_approval.yaml"


@pytest.mark.parametrize(
    ("old", "new", "binding"),
    [
        ('"--force", "--force-with-lease", "--force-if-includes", "--mirror"', '"--mirror"', True),
        ("- shell: {program: find, args: [\"-delete\"]}\n", "", True),
        ("effect: ask", "effect: deny", False),
        ("tool_kind: [shell, code]", "tool: [bash, shell]", True),
    ],
)  # fmt: skip
def test_a_change_of_the_shipped_policy_is_looked_through(
    tmp_path: Path, old: str, new: str, binding: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kinds of tools and long lists leave no question open: what is weaker has a call that shows it."""
    store = tmp_path / "starters"
    assert run(["init", str(store)]) == 0
    text = (store / STARTER).read_text()
    indent = "              " if new == "" else ""
    assert old in text
    (store / STARTER).write_text(text.replace(indent + old, new, 1))
    capsys.readouterr()

    assert run(["policy", "diff", "--json", "--store", str(store)]) == int(binding)
    told = json.loads(capsys.readouterr().out)

    assert [one["message"] for one in told["diagnostics"]] == []
    assert told["data"]["changes"] and told["data"]["changes"][0]["weakens_hard"] is binding


def test_a_verdict_names_the_kind_of_tool_and_not_its_expression(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A person reads which clause matched in one short line."""
    store = tmp_path / "starters"
    assert run(["init", str(store)]) == 0
    capsys.readouterr()

    assert run(["policy", "check", "--tool", "Bash", "--arg", "command=rm x", "--store", str(store)]) == 1

    printed = capsys.readouterr().out
    assert "match[0].tool_kind: tool: Bash of the kind [shell, code]" in printed
    assert max(map(len, printed.splitlines())) < 220
