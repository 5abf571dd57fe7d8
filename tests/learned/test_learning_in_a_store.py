"""A model's help from the command line: asked, checked, kept, reviewed, promoted or rejected, and not asked twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run
from memkit.runtime.testing import FakeServer
from memkit.store.yaml import load_yaml

DOMAIN = """\
name: parcels
types: {place: object, parcel: object}
predicates: {at: [place], has: [parcel], delivered: [parcel]}
operators:
  - {name: go, parameters: "?from ?to - place", preconditions: ["at ?from"], add: ["at ?to"], remove: ["at ?from"]}
  - {name: hand_over, parameters: "?p - parcel", preconditions: ["has ?p"], add: ["delivered ?p"], remove: ["has ?p"]}
tasks:
  deliver: {parameters: "?p - parcel ?to - place", effects: ["delivered ?p", "at ?to"]}
methods: []  # nobody wrote any yet
objects: {home: place, shop: place, cafe: place, book: parcel, pen: parcel}
state: [at home, has book, has pen]
"""
GOOD = {"subtasks": ["go home shop", "hand_over book"]}
TASK = ["plan", "deliver book shop", "--domain", "parcels"]
Ask = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def parcels(store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a store with a domain that has no methods."""
    (store / "domains/parcels.yaml").write_text(DOMAIN)
    git(store, "add", "domains/parcels.yaml")
    git(store, "commit", "-qm", "Add the domain")
    monkeypatch.chdir(store)
    return store


def git(root: Path, *arguments: str) -> str:
    """Run git in a store and return what it printed."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Return a function that runs a command with --json and gives its exit code and envelope."""

    def asked(*arguments: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = run([*arguments, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return asked


def script(*answers: Any) -> str:
    """Write a script of proposals and return the provider that plays it."""
    said = [
        {"tool": "propose_subtasks", "args": each} if isinstance(each, dict) else {"text": each} for each in answers
    ]
    Path("answers.yaml").write_text(json.dumps(said))
    return "scripted:answers.yaml"


def test_nobody_is_asked_without_a_provider(parcels: Path, ask: Ask) -> None:
    """A gap is a gap: no plan, and why."""
    code, answer = ask(*TASK)

    assert (code, answer["data"]["outcome"], answer["data"]["proposals"]["asked"]) == (1, "no_plan", 0)
    assert not (parcels / "domains/learned").exists()


def test_an_accepted_proposal_is_kept_as_one_commit_with_where_it_comes_from(parcels: Path, ask: Ask) -> None:
    """The method is lifted, marked, and says who proposed it for what, when and in which state."""
    code, answer = ask(*TASK, "--provider", script(GOOD))

    assert (code, answer["data"]["learned"]) == (0, ["learned_deliver_1"])
    assert answer["data"]["proposals"] == {"asked": 1, "accepted": 1, "rejected": 0}
    assert answer["data"]["tree"][0]["learned"] is True
    assert git(parcels, "log", "-1", "--format=%s", "--", "domains/learned/parcels.yaml") == (
        "Learn learned_deliver_1 in the domain parcels\n"
    )
    assert git(parcels, "status", "--porcelain", "domains") == ""
    entry = load_yaml(parcels / "domains/learned/parcels.yaml").data["methods"][0]
    assert entry["subtasks"] == ["go ?v3 ?v2", "hand_over ?v1"]
    assert entry["learned"] is True
    source = entry["provenance"]
    assert (source["task"], source["provider"], source["goal"]) == (
        "deliver book shop", "scripted:answers.yaml", "verified"
    )  # fmt: skip
    assert source["problem"]["tasks"] == ["deliver book shop"]
    assert all(source[key].startswith("sha256:") for key in ("state", "proposal"))
    assert source["at"].endswith("Z") and source["memkit"]


def test_what_was_learned_serves_other_objects_in_another_process_and_nobody_is_asked(parcels: Path, ask: Ask) -> None:
    """The second time costs no question; --promoted-only leaves learned methods out; the tree marks them."""
    ask(*TASK, "--provider", script(GOOD))

    code, answer = ask("plan", "deliver pen cafe", "--domain", "parcels", "--provider", script())

    assert (code, answer["data"]["proposals"]["asked"]) == (0, 0)
    assert answer["data"]["tree"][0] | {"goal": "verified", "method": "learned_deliver_1"} == answer["data"]["tree"][0]
    assert ask("plan", "deliver pen cafe", "--domain", "parcels", "--promoted-only")[0] == 1


def test_a_manual_store_leaves_the_file_for_memkit_commit(parcels: Path, ask: Ask) -> None:
    """With git.commit: manual nothing is committed until the person says so."""
    assert run(["config", "git.commit", "manual"]) == 0 or run(["config", "set", "git.commit", "manual"]) == 0

    ask(*TASK, "--provider", script(GOOD))

    assert "domains/learned" in git(parcels, "status", "--porcelain")
    assert ask("commit")[0] == 0
    assert "domains/learned" not in git(parcels, "status", "--porcelain")


def test_repair_is_bounded_and_each_round_hears_the_exact_reason(parcels: Path, ask: Ask) -> None:
    """Three tries, each with what was wrong with the others; then no plan, and nothing was learned."""
    wrong = ({"subtasks": ["fly shop"]}, "I think you should go there.", {"subtasks": ["go home shop"]}, GOOD)

    code, answer = ask(*TASK, "--provider", script(*wrong))

    assert (code, answer["data"]["proposals"]) == (1, {"asked": 3, "accepted": 0, "rejected": 3})
    said = " ".join(reason["message"] for reason in answer["data"]["reasons"])
    assert "no operator or method is named fly" in said
    assert "it is text, not a list of subtasks" in said
    assert "'delivered book' should hold afterwards but does not" in said
    assert not (parcels / "domains/learned").exists()


def test_a_gap_that_stayed_open_is_not_put_to_the_same_model_again(parcels: Path, ask: Ask) -> None:
    """Also in another process; another state, another model and another domain are other gaps."""
    provider = script(*[{"subtasks": ["fly shop"]}, {"subtasks": ["fly home"]}, {"subtasks": ["fly away"]}])
    ask(*TASK, "--provider", provider)
    provider = script(GOOD)

    code, again = ask(*TASK, "--provider", provider)

    assert (code, again["data"]["proposals"]["asked"]) == (1, 0)
    assert "already asked 3 times in this state: no operator" in again["data"]["reasons"][-1]["message"]
    Path("state.yaml").write_text("objects: {home: place, shop: place, book: parcel}\nstate: [at home, has book]\n")
    elsewhere = ask(*TASK, "--state", "state.yaml", "--provider", script({"subtasks": ["fly shop"]}))[1]
    assert elsewhere["data"]["proposals"]["asked"] > 0
    script(GOOD)
    Path("answers.yaml").rename("other.yaml")
    assert ask(*TASK, "--provider", "scripted:other.yaml")[0] == 0


def test_another_model_of_the_settings_is_asked(
    parcels: Path, model_server: Callable[..., FakeServer], ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only one that is named on the command line."""
    Path("memkit.yaml").write_text("name: test\nprovider: openai\nmodel: small\n")
    model_server("chat", [json.dumps({"subtasks": [f"fly {place}"]}) for place in ("shop", "home", "away")])
    ask(*TASK, "--provider", "openai")
    monkeypatch.setenv("MEMKIT_MODEL", "large")
    model_server("chat", [json.dumps(GOOD)])

    assert ask(*TASK, "--provider", "openai")[0] == 0


def test_tries_go_on_where_an_earlier_process_stopped(parcels: Path, ask: Ask) -> None:
    """One refused proposal leaves two tries, and its reason is part of the next question."""
    ask(*TASK, "--provider", script({"subtasks": ["fly shop"]}))

    code, answer = ask(*TASK, "--provider", script({"subtasks": ["fly shop"]}, {"subtasks": ["run shop"]}, GOOD))

    assert (code, answer["data"]["proposals"]["asked"]) == (1, 2)
    assert any("already proposed and refused" in reason["message"] for reason in answer["data"]["reasons"])


@pytest.mark.parametrize(("provider", "protocol"), [("anthropic", "anthropic"), ("openai", "chat")])
def test_a_vendor_is_asked_by_schema_and_told_why(
    provider: str, protocol: str, parcels: Path, model_server: Callable[..., FakeServer], ask: Ask
) -> None:
    """The question names task, state, operators and the failure; the answer is a call, or JSON in a fence."""
    fenced = "Sure!\n```json\n" + json.dumps(GOOD) + "\n```"
    server = model_server(protocol, [{"tool": "propose_subtasks", "args": {"subtasks": ["go home"]}}, fenced])

    code, answer = ask(*TASK, "--provider", provider, "--model", "m-1")

    assert (code, answer["data"]["learned"], server.refused) == (0, ["learned_deliver_1"], [])
    first, second = (json.loads(each.last.text) for each in server.asked)
    assert (first["task"], first["goal"]) == ("deliver book shop", ["delivered book", "at shop"])
    assert first["why"] == ["deliver book shop: no operator or method is named deliver"]
    assert "at home" in first["state"] and first["objects"]["cafe"] == "place"
    assert [each["name"] for each in first["operators"]] == ["go", "hand_over"]
    assert "takes 2 arguments, not 1" in second["refused"][0]["reason"]
    source = load_yaml(parcels / "domains/learned/parcels.yaml").data["methods"][0]["provenance"]
    assert (source["provider"], source["model"]) == (provider, "m-1")


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_model_that_cannot_be_asked_is_exit_three_in_one_line(
    provider: str, parcels: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No key, and an address where nobody listens."""
    assert run([*TASK, "--provider", provider]) == 3
    monkeypatch.setenv(f"{provider.upper()}_API_KEY", "key")
    monkeypatch.setenv(f"{provider.upper()}_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert run([*TASK, "--provider", provider]) == 3

    lines = capsys.readouterr().err.splitlines()
    assert "is not set" in lines[0] and "cannot be reached" in lines[1] and len(lines) == 2


def test_outside_a_store_a_file_is_named_for_what_is_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without one it is said that nothing is kept; with one, the next run uses it."""
    monkeypatch.chdir(tmp_path)
    Path("parcels.yaml").write_text(DOMAIN)
    task = ["plan", "deliver book shop", "--domain", "parcels.yaml"]

    assert run([*task, "--provider", script(GOOD)]) == 0
    assert "is not saved" in capsys.readouterr().err
    assert ask(*task, "--provider", script(GOOD), "--learned", "mine.yaml")[1]["data"]["learned"] == [
        "learned_deliver_1"
    ]
    assert ask(*task, "--learned", "mine.yaml")[0] == 0


def test_a_learned_file_that_makes_no_sense_is_named_and_a_method_that_does_not_fit_is_left_out(
    parcels: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another domain's file is an error with its place; a method of a vanished operator is a note."""
    ask(*TASK, "--provider", script(GOOD))
    (parcels / "domains/parcels.yaml").write_text(DOMAIN.replace("predicates: {", "predicates: {extra: [], ").replace(
        '"?from ?to - place"', '"?from ?to ?by - place"'))  # fmt: skip
    capsys.readouterr()
    assert run(TASK) == 1
    assert "learned_deliver_1 is left out, because it is not valid here" in capsys.readouterr().err
    (parcels / "domains/learned/parcels.yaml").write_text("domain: other\nmethods: []\n")
    assert run(TASK) == 2
    assert "domains/learned/parcels.yaml:1:1:" in capsys.readouterr().err


def test_a_promoted_method_moves_into_the_domain_and_its_problem_stays_as_a_test(parcels: Path, ask: Ask) -> None:
    """One commit holds all three files; comments stay; nothing is marked as learned any more."""
    ask(*TASK, "--provider", script(GOOD))

    looked = ask("domain", "promote", "parcels", "learned_deliver_1", "--dry-run")[1]["data"]
    code, answer = ask("domain", "promote", "parcels", "learned_deliver_1", "--as", "carry")

    assert (looked["commit"], looked["problems"][0]["after"]) == (None, "found")
    assert (code, answer["data"]["problems"][0]["before"]) == (0, "no_plan")
    assert git(parcels, "status", "--porcelain", "domains") == ""
    assert git(parcels, "show", "--stat", "--format=%s", "HEAD").splitlines()[0] == (
        "Promote learned_deliver_1 as carry in the domain parcels"
    )
    assert "nobody wrote any yet" in (parcels / "domains/parcels.yaml").read_text()
    assert (parcels / "domains/problems/parcels/carry.yaml").is_file()
    tree = ask("plan", "deliver pen cafe", "--domain", "parcels", "--promoted-only")[1]["data"]["tree"]
    assert (tree[0]["method"], "learned" in tree[0]) == ("carry", False)
    assert run(["lint"]) == 0
    assert ask("domain", "learned")[1]["data"]["domains"][0]["methods"] == []


def test_a_method_that_its_own_problem_speaks_against_is_not_promoted(parcels: Path, ask: Ask) -> None:
    """Somebody edited it since: the answer says what each problem says, and nothing changes."""
    ask(*TASK, "--provider", script(GOOD))
    shelf = parcels / "domains/learned/parcels.yaml"
    shelf.write_text(shelf.read_text().replace('      - "hand_over ?v1"\n', ""))
    before = git(parcels, "rev-parse", "HEAD")

    code, answer = ask("domain", "promote", "parcels", "learned_deliver_1")

    assert (code, answer["data"]["problems"][0]["after"]) == (1, "found")
    assert "its plan does not achieve 'delivered book'" in answer["diagnostics"][0]["message"]
    assert git(parcels, "rev-parse", "HEAD") == before
    assert git(parcels, "status", "--porcelain", "domains/parcels.yaml") == ""


def test_a_method_that_would_spoil_another_recorded_problem_is_not_promoted(parcels: Path, ask: Ask) -> None:
    """It serves its own problem and would answer another one with a plan that does not do the task."""
    ask(*TASK, "--provider", script(GOOD))
    shelf = parcels / "domains/learned/parcels.yaml"
    narrowed = shelf.read_text().replace('"go ?v3 ?v2"', '"go home shop"').replace('"at ?v3"', '"at home"')
    shelf.write_text(narrowed)
    recorded = parcels / "domains/problems/parcels"
    recorded.mkdir(parents=True)
    (recorded / "pen.yaml").write_text(
        "objects: {home: place, shop: place, cafe: place, pen: parcel}\n"
        "state: [at home, has pen]\ntasks: [deliver pen cafe]\n"
    )
    before = git(parcels, "rev-parse", "HEAD")

    code, answer = ask("domain", "promote", "parcels", "learned_deliver_1")

    faults = {each["name"]: each["fault"] for each in answer["data"]["problems"]}
    assert (code, faults["learned_deliver_1"]) == (1, None)
    assert faults["domains/problems/parcels/pen.yaml"] == "its plan does not achieve 'at cafe'"
    assert git(parcels, "rev-parse", "HEAD") == before
    assert shelf.read_text() == narrowed


def test_a_shelf_cannot_make_the_test_of_declared_effects_pass(parcels: Path, ask: Ask) -> None:
    """A method for that test, written into the file by hand, is left out, and a method without effects is no help."""
    shelf = parcels / "domains/learned/parcels.yaml"
    shelf.parent.mkdir(exist_ok=True)
    test = '{name: test, task: {name: "deliver is done", args: ["?p", "?to"]}, subtasks: []}'
    nothing = '{name: nothing, task: "deliver ?p - parcel ?to - place", subtasks: []}'
    shelf.write_text(f"domain: parcels\nmethods:\n  - {nothing}\n  - {test}\n")

    code, answer = ask(*TASK)

    assert (code, answer["data"]["outcome"]) == (1, "no_plan")
    assert "'delivered book' should hold afterwards" in answer["data"]["reasons"][0]["message"]
    assert "not a task" in ask("domain", "learned")[1]["data"]["domains"][0]["left_out"][0]


def test_a_domain_in_hddl_takes_no_promotions_and_the_answer_says_what_to_do(parcels: Path, ask: Ask) -> None:
    """Methods are learned for it all the same; the message names the command that turns it into YAML."""
    (parcels / "domains/tiny.hddl").write_text(
        "(define (domain tiny) (:requirements :typing :hierarchy) (:types place) (:predicates (at ?p - place))\n"
        " (:task visit :parameters (?p - place))\n"
        " (:action go :parameters (?a ?b - place) :precondition (at ?a) :effect (and (not (at ?a)) (at ?b))))\n"
    )
    (parcels / "p.hddl").write_text(
        "(define (problem p) (:domain tiny) (:objects home shop - place)\n"
        " (:htn :ordered-subtasks (and (visit shop))) (:init (at home)))\n"
    )
    asked = ["plan", "--domain", "domains/tiny.hddl", "--problem", "p.hddl"]
    assert ask(*asked, "--provider", script({"subtasks": ["go home shop"]}))[0] == 0

    code, answer = ask("domain", "promote", "tiny", "learned_visit_1", "--unverified")
    command = answer["diagnostics"][0]["message"].partition("first: memkit ")[2]

    assert (code, command) == (2, "domain convert domains/tiny.hddl domains/tiny.yaml")
    assert ask(*command.split())[0] == 0
    (parcels / "domains/tiny.hddl").unlink()
    assert ask("domain", "promote", "tiny", "learned_visit_1", "--unverified")[0] == 0


def test_a_recorded_problem_that_makes_no_sense_is_named(parcels: Path, ask: Ask) -> None:
    """A promotion is not judged by half of the problems."""
    ask(*TASK, "--provider", script(GOOD))
    recorded = parcels / "domains/problems/parcels"
    recorded.mkdir(parents=True)
    (recorded / "moon.yaml").write_text("objects: {home: place}\nstate: [at home]\ntasks: [deliver x home]\n")

    code, answer = ask("domain", "promote", "parcels", "learned_deliver_1")

    assert code == 2
    assert answer["diagnostics"][0]["message"].startswith("domains/problems/parcels/moon.yaml:3:")


@pytest.mark.parametrize("language", ["yaml", "hddl"])
def test_a_promotion_keeps_what_problems_in_either_language_say(parcels: Path, ask: Ask, language: str) -> None:
    """A problem that must have no plan, or cannot be read, stands in the way, and the answer names it."""
    ask(*TASK, "--provider", script(GOOD))
    recorded = parcels / "domains/problems/parcels"
    recorded.mkdir(parents=True)
    barred = "state: [at home, has pen]\ntasks: [deliver pen cafe]\nexpect: {outcome: no_plan}\n"
    (recorded / f"barred.{language}").write_text(barred if language == "yaml" else "(define (problem barred)")
    before = git(parcels, "rev-parse", "HEAD")

    code, answer = ask("domain", "promote", "parcels", "learned_deliver_1")

    told = {"yaml": (1, "barred.yaml: expected no plan, but found one"), "hddl": (2, "barred.hddl:1:1: ")}[language]
    assert code == told[0]
    assert told[1] in answer["diagnostics"][0]["message"]
    assert git(parcels, "rev-parse", "HEAD") == before


def test_learned_methods_of_a_domain_that_is_not_there_are_not_found(parcels: Path, ask: Ask) -> None:
    """A misspelt name is a negative answer with the nearest name, and no empty list."""
    code, answer = ask("domain", "learned", "parcel")

    assert (code, answer["ok"]) == (1, False)
    assert answer["diagnostics"][0]["message"] == "There is no domain 'parcel'. Did you mean 'parcels'?"
    assert ask("domain", "learned", "parcels")[0] == 0


def test_a_method_is_not_rejected_without_a_reason(parcels: Path, ask: Ask) -> None:
    """Whoever proposes it again would be told nothing."""
    ask(*TASK, "--provider", script(GOOD))

    assert ask("domain", "reject", "parcels", "learned_deliver_1", "--reason", " ")[0] == 2
    assert len(ask("domain", "learned", "parcels")[1]["data"]["domains"][0]["methods"]) == 1


def test_a_rejected_method_is_not_proposed_again(parcels: Path, ask: Ask) -> None:
    """It leaves the shelf with the reason, and the same proposal, also for other objects, is refused with it."""
    ask(*TASK, "--provider", script(GOOD))

    assert ask("domain", "reject", "parcels", "learned_deliver_1", "--reason", "Never on foot.")[0] == 0
    code, answer = ask(
        "plan", "deliver pen cafe", "--domain", "parcels", "--provider",
        script({"subtasks": ["go home cafe", "hand_over pen"]}),
    )  # fmt: skip

    assert code == 1
    assert any("Never on foot." in reason["message"] for reason in answer["data"]["reasons"])
    assert ask("domain", "learned", "parcels")[1]["data"]["domains"][0]["rejected"][0]["reason"] == "Never on foot."


def test_a_rejection_that_a_person_wrote_needs_no_reason(parcels: Path, ask: Ask) -> None:
    """A person may list a method as rejected by hand; what says the same is refused all the same."""
    shelf = parcels / "domains" / "learned" / "parcels.yaml"
    shelf.parent.mkdir(exist_ok=True)
    entry = '{name: on_foot, task: "deliver ?p ?to", subtasks: ["go home ?to", "hand_over ?p"]}'
    shelf.write_text(f"domain: parcels\nmethods: []\nrejected:\n  - {entry}\n", encoding="utf-8")

    code, answer = ask(*TASK, "--provider", script(GOOD))

    assert code == 1
    assert any("on_foot, which is the same: no reason given" in each["message"] for each in answer["data"]["reasons"])


def test_a_task_that_declares_nothing_is_marked_and_promoted_only_on_request(parcels: Path, ask: Ask) -> None:
    """Its plan is used, its tree and its provenance say that nobody verified the goal."""
    (parcels / "domains/parcels.yaml").write_text(DOMAIN.replace(', effects: ["delivered ?p", "at ?to"]', ""))

    answer = ask(*TASK, "--provider", script({"subtasks": ["go home shop"]}))[1]["data"]

    assert answer["tree"][0]["goal"] == "not verified"
    source = load_yaml(parcels / "domains/learned/parcels.yaml").data["methods"][0]["provenance"]
    assert source["goal"] == "not verified"
    code, said = ask("domain", "promote", "parcels", "learned_deliver_1")
    assert (code, "--unverified" in said["diagnostics"][0]["message"]) == (1, True)
    assert ask("domain", "promote", "parcels", "learned_deliver_1", "--unverified")[0] == 0


def test_a_review_shows_each_learned_method_and_its_promotion(parcels: Path, ask: Ask) -> None:
    """What a model proposed is looked at twice, also where the file is new."""
    ask(*TASK, "--provider", script(GOOD))
    data = ask("diff", "HEAD~1..HEAD")[1]["data"]
    text = json.dumps(data, ensure_ascii=False)
    assert "method added: “learned_deliver_1”, proposed by a model" in text
    assert "broken" not in text

    ask("domain", "promote", "parcels", "learned_deliver_1", "--as", "carry")

    text = json.dumps(ask("diff", "HEAD~1..HEAD")[1]["data"], ensure_ascii=False)
    assert "method added: “carry”" in text and "method removed: “learned_deliver_1”" in text


def test_the_agent_uses_what_was_learned_and_keeps_nothing_of_its_own(parcels: Path, ask: Ask) -> None:
    """A task that only a learned method knows is planned in a conversation; nothing is written by one."""
    (parcels / "domains/errands.yaml").unlink()  # which knows the task as well
    ask(*TASK, "--provider", script(GOOD))
    before = git(parcels, "rev-parse", "HEAD")

    said = ask("chat", "-p", "deliver pen cafe", "--no-memory")[1]["data"]["message"]

    assert "1. go home cafe" in said
    assert git(parcels, "rev-parse", "HEAD") == before


def test_a_run_asks_and_learns_as_a_plan_does(parcels: Path, ask: Ask) -> None:
    """--dry-run with a provider fills the gap, and what was learned is kept."""
    code, _ = ask(*TASK, "--dry-run", "--manual", "done", "--provider", script(GOOD))

    assert load_yaml(parcels / "domains/learned/parcels.yaml").data["methods"][0]["name"] == "learned_deliver_1"
    assert code in (0, 1)


def test_a_model_that_is_not_asked_is_named_with_the_reason(parcels: Path, ask: Ask) -> None:
    """Where a method applies and fails further down nobody is asked, and the reasons say so."""
    method = (
        "methods: [{name: walk, task: 'deliver ?p - parcel ?to - place', subtasks: ['go home ?to', 'hand_over ?p']}]"
    )
    (parcels / "domains/parcels.yaml").write_text(
        DOMAIN.replace("methods: []  # nobody wrote any yet", method).replace("has book, ", "")
    )

    code, answer = ask(*TASK, "--provider", script(GOOD))

    assert (code, answer["data"]["proposals"]["asked"]) == (1, 0)
    assert "'has book' does not hold" in answer["data"]["reasons"][0]["message"]
    assert answer["data"]["reasons"][-1]["message"].startswith("no model was asked: a method applied")


def test_processes_that_learn_at_once_lose_nothing_and_learn_it_once(parcels: Path) -> None:
    """Six processes with two different lessons: two methods, and a file that loads."""
    other = {"subtasks": ["hand_over pen"]}
    text = DOMAIN.replace(', "at ?to"]}', "]}")
    (parcels / "domains/parcels.yaml").write_text(text)
    for name, answer in (("a", GOOD), ("b", other)):
        (parcels / f"{name}.yaml").write_text(json.dumps([{"tool": "propose_subtasks", "args": answer}]))
    commands = [
        [sys.executable, "-m", "memkit", "plan", task, "--domain", "parcels", "--provider", f"scripted:{name}.yaml"]
        for name, task in (("a", "deliver book shop"), ("b", "deliver pen home")) * 3
    ]

    running = [subprocess.Popen(command, cwd=parcels, stdout=subprocess.DEVNULL) for command in commands]

    assert [process.wait(timeout=900) for process in running] == [0] * 6
    entries = load_yaml(parcels / "domains/learned/parcels.yaml").data["methods"]
    assert len({json.dumps(entry["subtasks"]) for entry in entries}) == len(entries) <= 2
    assert len({entry["name"] for entry in entries}) == len(entries) >= 1


def test_the_reference_model_needs_no_key_and_finds_the_fewest_steps(parcels: Path, ask: Ask) -> None:
    """It tries; where nothing is declared as goal it proposes nothing."""
    code, answer = ask(*TASK, "--provider", "reference")

    assert code == 0
    assert [step["name"] for step in answer["data"]["plan"]] in (["go", "hand_over"], ["hand_over", "go"])
    assert ask("plan", "juggle book", "--domain", "parcels", "--provider", "reference")[0] == 1


def test_a_plan_by_a_learned_method_verifies_unless_only_promoted_ones_count(parcels: Path, ask: Ask) -> None:
    """The verifier knows the same methods as the planner."""
    Path("problem.yaml").write_text(
        "objects: {home: place, shop: place, book: parcel}\nstate: [at home, has book]\ntasks: [deliver book shop]\n"
    )
    check = ["plan", "verify", "--domain", "parcels", "--problem", "problem.yaml", "--plan", "plan.txt"]
    Path("plan.txt").write_text("go home shop\nhand_over book\n")
    assert ask(*check)[0] == 1

    ask(*TASK, "--provider", script(GOOD))

    assert ask(*check)[0] == 0
    assert ask(*check, "--promoted-only")[0] == 1


def test_a_domain_whose_name_no_file_of_a_store_has_is_planned_all_the_same(parcels: Path, ask: Ask) -> None:
    """It has no place for learned methods, which is no reason not to plan."""
    (parcels / "domains/odd.yaml").write_text(DOMAIN.replace("methods: []  # nobody wrote any yet", "methods: []"))
    text = (parcels / "domains/odd.yaml").read_text().replace("name: parcels", "name: odd-one")
    (parcels / "domains/odd.yaml").unlink()
    Path("elsewhere").mkdir()
    Path("elsewhere/odd.yaml").write_text(text)

    code, answer = ask("plan", "go home shop", "--domain", "elsewhere/odd.yaml")

    assert (code, answer["data"]["learned"]) == (0, [])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("domain: parcels\nmethods: 3\n", "2:10: This must be a list of methods."),
        ("domain: parcels\nmethods: [x]\n", "2:11: This must be a map with a name."),
        ("domain: parcels\nmethods:\n  - {name: 3}\n", "This must be a map with a name."),
        ("domain: parcels\nmethods:\n  - {name: a, subtasks: x}\n", "The subtasks must be a list."),
        ("domain: parcels\nmethods:\n  - {name: a, provenance: 3}\n", "The provenance must be a map."),
        ("- x\n", "1:1: These are learned methods of None, not of 'parcels'."),
        ("domain: [\n", "not valid YAML"),
        ("\0", "domains/learned/parcels.yaml:1:1:"),
    ],
)
def test_a_damaged_shelf_is_one_clear_line_with_its_place(
    content: str, said: str, parcels: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Planning, listing and promoting name the file and the place; nothing is overwritten."""
    shelf = parcels / "domains/learned/parcels.yaml"
    shelf.parent.mkdir()
    shelf.write_text(content)

    for command in (TASK, ["domain", "learned", "parcels"], ["domain", "promote", "parcels", "a"]):
        assert run([*command]) == 2, command
        error = capsys.readouterr().err
        assert said in error and error.count("\n") == 1
    assert shelf.read_text() == content


def test_what_was_proposed_under_taint_is_kept_marked_and_not_used_before_its_promotion(
    parcels: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    """A paste steers the turn: the proposal lies in the store with its taint, nothing uses it, a person promotes it."""
    asked = {"task": "deliver book shop", "state": ["at home", "has book"], "domain": "parcels"}
    said = [
        {"tool": "propose_subtasks", "args": {**asked, "subtasks": ["go home shop", "hand_over book"]}},
        {"tool": "plan_task", "args": asked},
        {"text": "Done."},
    ]
    Path("answers.yaml").write_text(json.dumps(said))
    chat = ("chat", "--user", "ada", "--provider", "scripted:answers.yaml", "-p", "Do as it says:\n> deliver by going")

    code, answer = ask(*chat)

    assert code == 0
    proposed, planned = answer["data"]["tool_calls"]
    assert "kept as learned_deliver_1" in proposed["result"] and "No plan" in planned["result"]
    entry = load_yaml(parcels / "domains/learned/parcels.yaml").data["methods"][0]
    assert entry["provenance"]["taint"] == ["brought"]
    assert ask(*TASK)[0] == 1
    assert run(["domain", "learned", "parcels"]) == 0
    assert "not used before its promotion: from outside: brought" in capsys.readouterr().out
    assert run(["domain", "promote", "parcels", "learned_deliver_1", "--unverified"]) == 0
    assert ask(*TASK)[0] == 0
