# ruff: noqa: E501 - tables read best when they are dense
"""Policy files: read strictly, compiled whole or not at all, and faults named to the column."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from memkit.cli.main import run
from memkit.errors import NotFound, UsageError
from memkit.policies.files import get_policy, load_guard, load_policies, load_policy, policy_findings
from memkit.policies.proving import load_table
from memkit.resources import resource
from memkit.runtime.guard.proof import prove
from memkit.store.yaml import load_yaml

STARTERS = ("destructive_command_approval", "persons_word", "staging_first_deployment", "untrusted_recall_approval")
GOOD = "name: probe\ndescription: d\nrule: r\nenforcement: hard\neffect: deny\nmatch:\n  tool: send\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with one good policy."""
    (tmp_path / "probe.yaml").write_text(GOOD)
    return tmp_path


def test_a_folder_of_policies_becomes_a_guard(folder: Path) -> None:
    """The set loads and decides."""
    assert load_guard(folder).decide("send", {}, {}).decision == "deny"
    assert load_guard(folder).decide("read", {}, {}).decision == "allow"


def test_no_folder_is_no_policy(tmp_path: Path) -> None:
    """A store without policies lets every call pass."""
    assert load_guard(tmp_path / "policies").decide("send", {}, {}).decision == "allow"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (GOOD.replace("deny", "denny"), "bad.yaml:5:9"),
        (GOOD + "rationall: x\n", "bad.yaml:8:1"),
        (GOOD + "  args.x: {regex: '(a)\\1'}\n", "bad.yaml:8:19"),
        (
            GOOD + "  arg.x: a\n",
            "bad.yaml:8:3: Unknown key 'arg.x'; known are tool, tool_kind, args.<name>, context.<name>",
        ),
        (
            GOOD + "exceptions:\n  - {text: t, match: {args.x: a}}\n",
            "bad.yaml:9:23: An exception reads only context.<name>",
        ),
        (GOOD + "effect: ask\n", "bad.yaml:8:1"),
        ("a: [", "bad.yaml:1"),
        ("", "bad.yaml:1:1"),
        ("- a", "bad.yaml:1:1"),
        (GOOD, "bad.yaml:1:7"),
    ],
)
def test_one_broken_file_denies_everything_and_is_named(folder: Path, text: str, place: str) -> None:
    """A set with a fault is not used in part; the reason has file, line and column."""
    (folder / "bad.yaml").write_text(text.replace("probe", "bad") if text != GOOD else text)

    verdict = load_guard(folder).decide("read", {}, {})

    assert verdict.decision == "deny"
    assert place in verdict.policies[0].reason


@pytest.mark.parametrize("content", [b"\xff\xfe", b"name: \x00", b"x" * 1_100_000])
def test_a_file_that_is_no_text_denies_everything(folder: Path, content: bytes) -> None:
    """Bytes that are not UTF-8, control characters and huge files end in a denial and not in an error."""
    (folder / "bad.yaml").write_bytes(content)

    assert load_guard(folder).decide("read", {}, {}).decision == "deny"


def test_a_link_out_of_the_store_denies_everything(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A policy that somebody outside can change, without a trace in history, is no policy; a link inside is one."""
    store = folder / "store"
    (store / "policies").mkdir(parents=True)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "probe.yaml"
    elsewhere.write_text(GOOD)
    (store / "kept.yaml").write_text(GOOD)
    (store / "policies/probe.yaml").symlink_to(elsewhere)

    verdict = load_guard(store / "policies").decide("read", {}, {})
    (store / "policies/probe.yaml").unlink()
    (store / "policies/probe.yaml").symlink_to(store / "kept.yaml")

    assert (verdict.decision, "link out of the store" in verdict.policies[0].reason) == ("deny", True)
    assert load_guard(store / "policies").decide("read", {}, {}).decision == "allow"


def test_a_file_where_the_folder_should_be_denies_everything(tmp_path: Path) -> None:
    """A folder that cannot be read is not an empty one."""
    (tmp_path / "policies").write_text("")

    assert load_guard(tmp_path / "policies").decide("read", {}, {}).decision == "deny"


def test_policies_that_a_sparse_checkout_leaves_out_deny_everything(store: Path) -> None:
    """They are part of the store all the same, the whole folder or one of its files."""

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=store, check=True, capture_output=True)

    def verdict() -> tuple[str, str]:
        found = load_guard(store / "policies").decide("read", {}, {})
        return found.decision, found.policies[0].reason if found.policies else ""

    git("status")  # looks at the files of the copy
    git("sparse-checkout", "set", "skills")
    assert not (store / "policies").exists()
    assert verdict()[0] == "deny"
    git("sparse-checkout", "set", "--no-cone", "/*", "!/policies/persons_word.yaml")
    assert "policies/persons_word.yaml is left out" in verdict()[1]
    git("sparse-checkout", "set", "--no-cone", "/*", "!/policies/tests/")
    assert verdict() == ("allow", "")
    git("sparse-checkout", "disable")
    (store / "policies/persons_word.yaml").unlink()
    assert verdict() == ("allow", "")


def test_an_unknown_name_is_not_found_with_a_suggestion(folder: Path) -> None:
    """A misspelt name says which was meant."""
    with pytest.raises(NotFound, match="probe"):
        get_policy(load_policies(folder), "prob")


def test_a_name_that_is_not_the_files_is_refused(tmp_path: Path) -> None:
    """People look for a policy by its file."""
    (tmp_path / "other.yaml").write_text(GOOD)

    with pytest.raises(UsageError, match=r"other\.yaml:1:7.*the same name"):
        load_policy(tmp_path / "other.yaml")


def test_the_sample_of_the_language_is_accepted() -> None:
    """Every operator and field is known to the schema and to the guard."""
    text = GOOD + (
        "  args.a: {any: [{equals: 1}, {in: [a, 2, true]}, {glob: ['a*']}, {prefix: a}, {range: {min: 1, below: 2}}, {regex: a+}]}\n"
        "  args.b.c: {all: [{not: {shell: {program: rm, flags: {any_of: [-r], all_of: [-f]}, args: ['/etc/*']}}}]}\n"
        "  args.d: {sql: {statement: [drop], table: users}}\n  context.e: [a, 'b*']\n"
        "exceptions: [{text: t, match: [{context.env: test}, {context.run: {in: [ci]}}]}]\n"
        "tests: [{name: n, call: {tool: send, args: {a: 1}, context: {}}, expect: deny}]\n"
        "rationale: x\ntags: [t]\nactive: true\ndeprecated: old\nsuperseded_by: other\nversion: '1.0.0'\n"
        "changelog: [{version: '1.0.0', date: '2026-01-02', changes: x}]\n"
    )

    assert policy_findings(load_yaml(text), "probe") == []


@pytest.mark.parametrize("name", STARTERS)
def test_the_starters_prove_themselves(name: str) -> None:
    """Each starter passes its own tests, and they and its table reach every clause, exception and effect."""
    rows = load_table(resource("policies") / f"tests/{name}.csv")
    proof = prove(load_policy(resource("policies") / f"{name}.yaml").data, [row.case.call for row in rows])

    assert [result.name for result in proof.results if not result.passed] == []
    assert [reach.place for reach in proof.unreached] == []


def test_the_starters_load_together() -> None:
    """The starters are one set."""
    assert [policy.name for policy in load_policies(resource("policies"))] == list(STARTERS)
    assert load_guard(resource("policies")).fault is None


def test_a_new_policy_is_valid_and_proves_itself(tmp_path: Path) -> None:
    """What ``policy new`` writes is a policy whose tests pass and reach everything."""
    (tmp_path / "mine.yaml").write_text((resource("drafts") / "policy.yaml").read_text().replace("NAME", "mine"))

    proof = prove(load_policy(tmp_path / "mine.yaml").data)

    assert (proof.passed, proof.unreached) == (True, ())


def test_coverage_names_what_no_test_reaches() -> None:
    """A clause, an exception and an effect that no test reaches are named by their place."""
    text = GOOD.replace("tool: send", "tool: send\n  args.x: {any: [{prefix: a}, {prefix: b}]}") + (
        "exceptions: [{text: t, match: {context.env: test}}]\n"
        "tests: [{name: n, call: {tool: send, args: {x: b}}, expect: ask}]\n"
    )

    proof = prove(load_yaml(text).data)

    assert not proof.passed
    assert [reach.place for reach in proof.unreached] == ["match.args.x.any[0].prefix", "exceptions[0]"]


def test_a_switched_off_policy_is_still_proven() -> None:
    """Its tests say what it would do."""
    text = GOOD + "active: false\ntests: [{name: n, call: {tool: send}, expect: deny}]\n"

    assert prove(load_yaml(text).data).passed


def test_a_generated_project_is_told_from_a_store_without_policies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its policies are compiled into its agent, so nobody hears that a call is allowed, and none is made of it."""
    compiled = tmp_path / "agent" / "compiled" / "policies.json"
    compiled.parent.mkdir(parents=True)
    compiled.write_text("[]")
    (tmp_path / "memkit.yaml").write_text("name: made\nformat: 2\n")
    store, project = ["--store", str(tmp_path)], tmp_path / "out"

    codes = [
        run([*store, "policy", "check", "--tool", "shell", "--arg", "cmd=ls"]),
        run([*store, "policy", "list"]),
        run([*store, "gen", "--target", "langgraph", "--out", str(project)]),
        run([*store, "memory", "list", "--user", "ada"]),
    ]

    assert codes == [1, 2, 2, 0]
    assert "deny" in capsys.readouterr().out
    run([*store, "doctor", "--json"])
    found = {check["name"]: check for check in json.loads(capsys.readouterr().out)["data"]["checks"]}
    assert found["policies"]["ok"] and "agent/compiled/policies.json" in found["policies"]["detail"]
    assert not project.exists()
    (tmp_path / "policies").mkdir()
    assert load_guard(tmp_path / "policies").fault is None
