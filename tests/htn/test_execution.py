"""Carrying plans out: the gate, the journal, observations, and plans made anew."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memkit.runtime.htn.core import (
    Action,
    Answer,
    Domain,
    Execution,
    Executor,
    HTNPlanner,
    Journal,
    Method,
    Operator,
    Problem,
    ProblemError,
)
from memkit.runtime.htn.execution.course import PlanJournalError
from memkit.runtime.htn.execution.executor import foresee, remaining_tasks
from memkit.runtime.htn.execution.interface import read_observation

TRIP = Domain.from_data(
    {
        "name": "trip",
        "types": {"place": "object"},
        "predicates": {"at": ["place"], "road": ["place", "place"], "told": ["place"]},
        "operators": [
            {
                "name": "drive",
                "parameters": "?from ?to - place",
                "preconditions": ["at ?from", "road ?from ?to"],
                "add": ["at ?to"],
                "remove": ["at ?from"],
                "tool": "drive",
            },
            {
                "name": "tell",
                "parameters": "?p - place",
                "preconditions": ["at ?p"],
                "add": ["told ?p"],
                "tool": "tell",
            },
        ],
        "methods": [
            {"name": "here", "task": "reach ?to - place", "preconditions": ["at ?to"], "subtasks": []},
            {
                "name": "direct",
                "task": "reach ?to - place",
                "preconditions": ["at ?from", "road ?from ?to"],
                "subtasks": ["drive ?from ?to"],
            },
            {
                "name": "over",
                "task": "reach ?to - place",
                "preconditions": ["at ?from", "road ?from ?by", "road ?by ?to"],
                "subtasks": ["drive ?from ?by", "drive ?by ?to"],
            },
            {"name": "visit", "task": "visit ?to - place", "subtasks": ["reach ?to", "tell ?to"]},
        ],
    }
)
ROADS = ["road home town", "road home hill", "road hill town", "road town sea", "road hill sea"]
PLACES = dict.fromkeys(["home", "town", "hill", "sea"], "place")


def problem(*tasks: str, state: Sequence[str] = ("at home",)) -> Problem:
    """Return a problem of the trip."""
    return Problem.from_data({"objects": PLACES, "state": [*ROADS, *state], "tasks": list(tasks)}, TRIP)


class Hands:
    """Does what it is told, notes it, and fails or answers as a test wants it."""

    def __init__(self, answers: Callable[[Action, int], Answer | None] = lambda action, count: None) -> None:
        self.done: list[str] = []
        self.tried: list[str] = []
        self._answers = answers

    def __call__(self, action: Action) -> Answer:
        """Carry a step out, in a manner of speaking."""
        self.tried.append(str(action.step))
        answer = self._answers(action, len(self.tried)) or Answer("done")
        if not answer.error:
            self.done.append(str(action.step))
        return answer


def carry_out(asked: Problem, hands: Hands, **more: Any) -> Execution:
    """Carry a problem out with a fresh planner."""
    return Executor(HTNPlanner(domain=TRIP), hands, **more).run(asked)


def fails(*steps: str) -> Hands:
    """Return hands that fail at these steps, always."""
    return Hands(lambda action, count: Answer("the road is closed", error=True) if str(action.step) in steps else None)


def test_every_step_is_done_in_order_and_the_state_follows() -> None:
    """A run whose steps all succeed ends in the state that the plan leads to, and says that it was predicted."""
    hands = Hands()

    run = carry_out(problem("visit town", "visit sea"), hands)

    assert hands.done == ["drive home town", "tell town", "drive town sea", "tell sea"]
    assert run.succeeded
    assert [fact for fact in run.to_data()["state"] if not fact.startswith("road")] == [
        "at sea",
        "told sea",
        "told town",
    ]
    assert not any(record.observed for record in run.steps)
    assert run.steps[0].to_data()["changes"] == {"add": ["at town"], "remove": ["at home"], "numbers": {}}


def test_a_failed_step_leads_to_another_plan_and_is_not_tried_again_unchanged() -> None:
    """The closed road is tried once; the way over the hill is found from the same state."""
    hands = fails("drive home town")

    run = carry_out(problem("visit town"), hands)

    assert hands.tried == ["drive home town", "drive home hill", "drive hill town", "tell town"]
    assert run.succeeded
    assert run.replans == 1


def test_what_was_done_is_not_done_again_for_a_later_failure() -> None:
    """The first task is finished; a failure in the second one takes up only the second."""
    hands = fails("drive town sea")

    run = carry_out(problem("visit town", "visit sea"), hands)

    assert hands.tried.count("tell town") == 1
    assert run.outcome == "failed"
    assert run.reasons[0].message == "drive town sea: the road is closed"


def test_a_step_may_be_tried_again_in_another_state() -> None:
    """A failure holds for the state it happened in, and no longer once something has changed."""
    hands = Hands(lambda action, count: Answer("jammed", error=True) if count == 1 else None)
    observed = iter([["told sea"], None, None])

    run = carry_out(problem("visit town"), hands, observe=lambda action, answer: next(observed))

    assert hands.tried == ["drive home town", "drive home town", "tell town"]
    assert run.succeeded


def test_replanning_has_a_bound() -> None:
    """Each failure changes the state, so that there is always another plan; the bound ends it."""
    hands = Hands(lambda action, count: Answer("again", error=True))
    facts = iter([["told sea"], ["told hill"], ["not told sea"], ["not told hill"]])

    run = carry_out(problem("visit town"), hands, observe=lambda action, answer: next(facts), max_replans=2)

    assert run.outcome == "failed"
    assert len(hands.tried) == 3
    assert [reason.code for reason in run.reasons] == ["step", "replans"]


def test_the_gate_is_asked_before_every_step_and_a_no_leads_elsewhere() -> None:
    """A denied step is not run, and another plan avoids it in every state."""
    hands = Hands()
    asked: list[str] = []

    def objection(action: Action) -> str | None:
        asked.append(str(action.step))
        return "no driving into town" if str(action.step) == "drive home town" else None

    run = carry_out(problem("visit town"), hands, objection=objection)

    assert asked == ["drive home town", "drive home hill", "drive hill town", "tell town"]
    assert hands.tried == asked[1:]
    assert [record.status for record in run.steps] == ["denied", "done", "done", "done"]


def test_a_run_that_only_a_denial_ends_is_denied() -> None:
    """Where there is no other way the run ends, and the first reason is the gate's own."""
    run = carry_out(problem("visit town"), Hands(), objection=lambda action: "nobody may drive")

    assert run.outcome == "denied"
    assert run.reasons[0].message.endswith("nobody may drive")


def test_an_effect_that_was_seen_not_to_come_about_is_a_failure() -> None:
    """The tool says it drove; somebody sees that it did not: the way is another one, from where we really are."""
    hands = Hands()
    seen = {"drive home town": ["at home", "not at town"]}

    run = carry_out(problem("visit town"), hands, observe=lambda action, answer: seen.get(str(action.step)))

    assert hands.done == ["drive home town", "drive home hill", "drive hill town", "tell town"]
    assert run.steps[0].status == "failed"
    assert run.steps[0].unexpected == ("not at town", "at home")
    assert run.succeeded


def test_an_unexpected_fact_leads_to_another_plan_only_where_the_plan_no_longer_serves() -> None:
    """We wake up at the sea: the way to town is gone. A fact that matters to nobody changes nothing."""
    hands = Hands()
    seen = {"tell town": ["told hill"], "drive home town": ["told sea"]}

    run = carry_out(problem("visit town"), hands, observe=lambda action, answer: seen.get(str(action.step)))

    assert run.succeeded
    assert run.replans == 0
    assert {"told hill", "told sea"} <= set(run.to_data()["state"])


def test_the_state_at_the_end_is_the_observed_one() -> None:
    """A whole state that was seen replaces everything that was believed."""
    whole = {"state": [*ROADS, "at town", "told town"]}
    run = carry_out(problem("visit town"), Hands(), observe=lambda action, answer: whole)

    assert sorted(run.to_data()["state"]) == sorted(whole["state"])


def test_functions_of_operators_carry_steps_out() -> None:
    """Without hands an operator's own function is called; one that raises has failed, one without is done."""
    called: list[str] = []

    def greet(name: str) -> None:
        called.append(name)

    planner = HTNPlanner(
        operators=[Operator("greet ?x", fn=greet), Operator("wave", fn=lambda: 1 / 0), Operator("nod")],
        methods=[Method("m", "meet ?x", [], ["greet ?x", "nod", "wave"]), Method("n", "meet ?x", [], ["nod", "nod"])],
    )

    run = Executor(planner).run(planner.problem("meet ada"))

    assert called == ["ada"]
    assert [(str(record.step), record.status) for record in run.steps][:3] == [
        ("greet ada", "done"),
        ("nod", "done"),
        ("wave", "failed"),
    ]
    assert "division by zero" in run.steps[2].reason


def test_no_plan_is_told_and_nothing_is_begun(tmp_path: Path) -> None:
    """A run without a plan writes no journal entry."""
    with Journal(tmp_path / "journal.jsonl") as journal:
        run = carry_out(problem("visit sea", state=[]), Hands(), journal=journal)

    assert run.outcome == "no_plan"
    assert run.reasons
    assert (tmp_path / "journal.jsonl").read_text() == ""


def test_a_finished_run_is_not_repeated(tmp_path: Path) -> None:
    """The same journal again gives the same account and touches nothing."""
    hands = Hands()
    accounts = []
    for _ in range(2):
        with Journal(tmp_path / "journal.jsonl") as journal:
            accounts.append(carry_out(problem("visit town"), hands, journal=journal).to_data())

    assert hands.done == ["drive home town", "tell town"]
    assert accounts[0] == accounts[1]


@pytest.mark.parametrize(("said", "tried"), [("done", []), ("failed", ["drive home town"])])
def test_a_step_of_unknown_outcome_is_asked_about(said: str, tried: list[str], tmp_path: Path) -> None:
    """Cut off in the tool: nobody repeats the step unless somebody says that it did not happen."""
    path = cut_off(tmp_path)
    hands = Hands()

    with Journal(path) as journal:
        waiting = carry_out(problem("visit town"), hands, journal=journal)
    assert (waiting.outcome, hands.tried) == ("unknown", [])
    assert waiting.reasons[0].code == "unknown_outcome"

    with Journal(path) as journal:
        run = carry_out(problem("visit town"), hands, journal=journal, settle=lambda action: said)

    assert run.succeeded
    assert hands.tried == [*tried, "tell town"]


def test_an_idempotent_step_of_unknown_outcome_is_done_again_under_its_key(tmp_path: Path) -> None:
    """An operator that says so may be repeated; the tool can recognise the try by its key."""
    data = TRIP.to_data()
    data["operators"][0]["idempotent"] = True
    keys: list[str] = []

    def act(action: Action) -> Answer:
        keys.append(action.key)
        return Answer("done")

    path = cut_off(tmp_path)
    with Journal(path) as journal:
        planner = HTNPlanner(domain=Domain.from_data(data))
        run = Executor(planner, act, journal=journal).run(problem("visit town"))

    assert run.succeeded
    assert keys == ["run:1", "run:2"]
    assert [str(step) for step in run.completed] == ["drive home town", "tell town"]


def cut_off(folder: Path) -> Path:
    """Return the journal of a run that was cut off in its first tool."""

    def interrupted(action: Action) -> Answer:
        raise KeyboardInterrupt

    with Journal(folder / "journal.jsonl") as journal, pytest.raises(KeyboardInterrupt):
        Executor(HTNPlanner(domain=TRIP), interrupted, journal=journal).run(problem("visit town"))
    return folder / "journal.jsonl"


def test_a_run_that_had_failed_may_be_taken_up_again(tmp_path: Path) -> None:
    """Somebody repaired the road: going on tries what failed, and keeps what was done."""
    hands, path = fails("tell town"), tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        assert carry_out(problem("visit town"), hands, journal=journal).outcome == "failed"

    later = Hands()
    with Journal(path) as journal:
        run = carry_out(problem("visit town"), later, journal=journal)

    assert run.succeeded
    assert later.tried == ["tell town"]


def test_only_one_process_carries_a_run_out(tmp_path: Path) -> None:
    """The journal is locked while it is open."""
    with Journal(tmp_path / "journal.jsonl"), pytest.raises(PlanJournalError, match="Another process"):
        Journal(tmp_path / "journal.jsonl")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"event":"begin","format":1}\nnoise\n{"event":"end"}\n', ":2 is damaged"),
        (b'{"event":"begin","format":99}\n', "newer version"),
        (b'{"event":"done"}\n', "is not the journal"),
        (b"[1]\n", ":1 is damaged"),
        (b'{"event":"begin","format":1,"run":"r","problem":"another"}\n', "a different problem"),
    ],
)
def test_a_journal_that_cannot_be_trusted_is_refused(content: bytes, words: str, tmp_path: Path) -> None:
    """Nobody guesses which steps were done."""
    path = tmp_path / "journal.jsonl"
    path.write_bytes(content)
    hands = Hands()

    with pytest.raises(PlanJournalError, match=words), Journal(path) as journal:
        carry_out(problem("visit town"), hands, journal=journal)

    assert hands.tried == []


def test_a_journal_of_the_same_tasks_in_another_order_is_refused(tmp_path: Path) -> None:
    """What may be done in any order is another problem than what must be done as listed."""
    path, listed = tmp_path / "journal.jsonl", problem("visit town", "visit town")
    with Journal(path) as journal:
        carry_out(listed, Hands(), journal=journal)

    with pytest.raises(PlanJournalError, match="a different problem"), Journal(path) as journal:
        carry_out(replace(listed, ordering=()), Hands(), journal=journal)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda lines: lines.pop(1), ":2 .*is not the step that comes next"),
        (lambda lines: lines.pop(3), ":4 .*is not the step that comes next"),
        (lambda lines: lines.pop(2), ":3 "),
        (lambda lines: lines.insert(4, lines[3]), ":5 .*no step had begun"),
        (lambda lines: lines[2].pop("key"), ":3 .*KeyError"),
        (lambda lines: lines[1].update(steps=[["fly"]]), ":2 .*the domain has no step fly"),
        (lambda lines: lines[1].update(steps=7), ":2 .*TypeError"),
        (lambda lines: lines.append({"event": "end", "outcome": "failed", "reasons": [{"why": 1}]}), ":6 .*TypeError"),
    ],
)
def test_a_journal_with_entries_taken_out_or_changed_repeats_nothing(
    spoil: Callable[[list[dict[str, Any]]], Any], words: str, tmp_path: Path
) -> None:
    """Each line is held against those before it; what no run could have written is refused with its place."""
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        carry_out(problem("visit town"), Hands(), journal=journal)
    lines = [json.loads(line) for line in path.read_text().splitlines()][:5]
    spoil(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    hands = Hands()

    with pytest.raises(PlanJournalError, match=words), Journal(path) as journal:
        carry_out(problem("visit town"), hands, journal=journal, settle=lambda action: "done")

    assert hands.tried == []


def test_a_journal_cut_at_any_byte_repeats_no_step_that_was_done(tmp_path: Path) -> None:
    """Whatever part of the last line reached the disk, going on does no step twice and all of them in the end."""
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        carry_out(problem("visit town", "visit sea"), Hands(), journal=journal)
    whole = path.read_bytes()
    wanted = ["drive home town", "tell town", "drive town sea", "tell sea"]
    for cut in range(0, len(whole), 23):
        path.write_bytes(whole[:cut])
        before = list(map(json.loads, whole[:cut].split(b"\n")[:-1]))
        done = sum(entry["event"] == "done" for entry in before)
        open_step = before[-1]["event"] == "started" if before else False
        hands = Hands()

        with Journal(path) as journal:
            run = carry_out(problem("visit town", "visit sea"), hands, journal=journal, settle=lambda action: "done")

        assert run.succeeded
        assert hands.done == wanted[done + open_step :]


def test_secrets_in_answers_are_masked_in_the_journal(tmp_path: Path) -> None:
    """What a tool said passes the mask before it is written, in results and in reasons."""
    hands = Hands(lambda action, count: Answer("key s3cret", error=count > 1))
    path = tmp_path / "journal.jsonl"

    with Journal(path, mask=lambda text: text.replace("s3cret", "***")) as journal:
        carry_out(problem("visit town"), hands, journal=journal)

    assert "***" in path.read_text()
    assert "s3cret" not in path.read_text()


def test_a_plan_is_foreseen_without_doing_anything() -> None:
    """Each step is shown with what it would change."""
    asked = problem("visit town")
    plan = HTNPlanner(domain=TRIP).solve_problem(asked).plan

    shown = [(str(action.step), changes.added) for action, changes in foresee(TRIP, asked, plan or [])]

    assert shown == [("drive home town", (("at", "town"),)), ("tell town", (("told", "town"),))]


@pytest.mark.parametrize(
    "value",
    [
        "at shop",
        {"facts": [], "state": []},
        {"seen": []},
        7,
        ["at ?x"],
        ["at"],
        ["flies moon"],
        {"state": ["not at home"]},
        ["at home", "not at home"],
    ],
)
def test_an_observation_that_makes_no_sense_is_refused(value: Any) -> None:
    """What a tool reports is read strictly."""
    with pytest.raises(ProblemError):
        read_observation(value, TRIP)


def test_what_is_left_goes_outwards_from_the_least() -> None:
    """First what is behind the last step, then the method around it anew, and at last everything unfinished."""
    tree = HTNPlanner(domain=TRIP).solve_problem(problem("visit town", "visit sea")).tree

    assert [[" ".join(task) for task in tasks] for tasks, _ in remaining_tasks(tree, 1)] == [
        ["tell town", "visit sea"],
        ["visit town", "visit sea"],
    ]
    assert [[" ".join(task) for task in tasks] for tasks, _ in remaining_tasks(tree, 2)] == [["visit sea"]]
    assert list(remaining_tasks(tree, 4)) == [((), None)]


CLEANING = Domain.from_data(
    {
        "name": "cleaning",
        "operators": [{"name": name, "add": [f"did_{name}"]} for name in ("enter", "dust", "mop", "air", "leave")],
        "methods": [
            {
                "name": "any_order",
                "task": "clean",
                "subtasks": [
                    *({"id": name, "task": name} for name in ("enter", "dust", "mop", "leave")),
                    {"id": "fresh", "task": "freshen"},
                ],
                "ordering": ["enter < dust", "enter < mop", "dust < leave", "mop < leave", "fresh < leave"],
            },
            {"name": "window", "task": "freshen", "subtasks": ["air"]},
        ],
    }
)


def not_before(first: str, *later: str) -> Hands:
    """Return hands that fail at some steps until another one is done."""

    def answer(action: Action, count: int) -> Answer | None:
        return Answer("too early", error=True) if action.step.name in later and first not in hands.done else None

    hands = Hands(answer)  # which the answer refers to
    return hands


def test_an_open_order_stays_open_when_a_step_fails(tmp_path: Path) -> None:
    """What may come before the failed step, and what must not, is still known, after a kill as well."""
    asked = Problem.from_data({"tasks": ["clean", {"id": "a", "task": "dust"}], "ordering": []}, CLEANING)
    hands, path = not_before("air", "mop"), tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        run = Executor(HTNPlanner(domain=CLEANING), hands, journal=journal).run(asked)
    assert (run.outcome, hands.done) == ("done", ["enter", "dust", "air", "mop", "leave", "dust"])

    whole = path.read_bytes().splitlines(keepends=True)
    failed = next(at for at, line in enumerate(whole) if b'"event": "failed"' in line)
    path.write_bytes(b"".join(whole[: failed + 1]))
    again = not_before("air", "mop")
    with Journal(path) as journal:
        run = Executor(HTNPlanner(domain=CLEANING), again, journal=journal).run(asked)
    assert (run.outcome, again.done) == ("done", ["air", "mop", "leave", "dust"])


def test_tasks_in_any_order_are_done_in_another_one_when_the_first_fails() -> None:
    """The second task makes the first possible, and no order was asked for."""
    asked = Problem.from_data({"tasks": ["enter", {"id": "a", "task": "freshen"}], "ordering": []}, CLEANING)
    hands = not_before("air", "enter")

    run = Executor(HTNPlanner(domain=CLEANING), hands).run(asked)
    strict = Executor(HTNPlanner(domain=CLEANING), not_before("air", "enter")).run(replace(asked, ordering=None))

    assert (run.outcome, hands.done) == ("done", ["air", "enter"])
    assert strict.outcome == "failed"


TANK = Domain.from_data(
    {
        "name": "tank",
        "functions": {"fuel": [], "trips": []},
        "predicates": {"dirty": [], "wiped": []},
        "operators": [
            {
                "name": "drive",
                "preconditions": [">= (fuel) 5"],
                "effects": ["decrease (fuel) 5", "increase (trips) 1", {"when": ["not wiped"], "add": ["dirty"]}],
            },
            {"name": "fill", "effects": ["assign (fuel) 10"]},
            {"name": "wipe", "add": ["wiped"]},
        ],
        "methods": [
            {"name": "enough", "task": "trip", "preconditions": [">= (fuel) 5"], "subtasks": ["drive"]},
            {"name": "empty", "task": "trip", "preconditions": ["< (fuel) 5"], "subtasks": ["fill", "drive"]},
            {
                "name": "day",
                "task": "day",
                "subtasks": [{"id": "a", "task": "trip"}, {"id": "b", "task": "wipe"}],
                "ordering": ["b < a"],
            },
        ],
    }
)


def test_numbers_are_predicted_observed_and_planned_from() -> None:
    """The drive took more than it should: the next trip fills the tank first."""
    hands, seen = Hands(), iter([["= (fuel) 2"], None, None])
    planner = HTNPlanner(domain=TANK)
    asked = planner.problem(["trip", "trip"], ["= (fuel) 10", "= (trips) 0"])

    run = Executor(planner, hands, observe=lambda action, answer: next(seen)).run(asked)

    assert hands.done == ["drive", "fill", "drive"]
    assert (run.outcome, run.replans) == ("done", 1)
    assert run.steps[0].unexpected == ("= (fuel) 2",)


def test_a_number_that_has_not_moved_tells_that_nothing_happened() -> None:
    """The counter stands where it stood, so the drive has failed."""
    planner = HTNPlanner(domain=TANK)
    asked = planner.problem("trip", ["= (fuel) 10", "= (trips) 0"])

    run = Executor(planner, Hands(), observe=lambda action, answer: ["= (fuel) 10", "= (trips) 0"]).run(asked)

    assert [record.status for record in run.steps] == ["failed", "failed"]
    assert run.outcome == "failed"


def test_another_value_of_a_number_is_another_state() -> None:
    """A step that failed may be tried again once a number has changed, and not before."""
    answers = iter([Answer("stuck", error=True), None, None])
    hands, seen = Hands(lambda action, count: next(answers)), iter([["= (trips) 7"], None])
    planner = HTNPlanner(domain=TANK)
    asked = planner.problem("trip", ["= (fuel) 10", "= (trips) 0"])

    changed = Executor(planner, hands, observe=lambda action, answer: next(seen)).run(asked)
    unchanged = Executor(planner, Hands(lambda action, count: Answer("stuck", error=True))).run(asked)

    assert [record.status for record in changed.steps] == ["failed", "done"]
    assert changed.numbers == {("fuel",): 5, ("trips",): 8}
    assert [record.status for record in unchanged.steps] == ["failed"]


def test_partial_orders_conditional_effects_and_goals_are_carried_out(tmp_path: Path) -> None:
    """The order that the search chose is followed, effects depend on the state, and the journal keeps it all."""
    planner = HTNPlanner(domain=TANK)
    asked = Problem.from_data(
        {"state": ["= (fuel) 10", "= (trips) 0"], "tasks": ["day"], "goal": ["wiped", "= (trips) 1"]}, TANK
    )
    accounts = []
    for _ in range(2):
        with Journal(tmp_path / "journal.jsonl") as journal:
            accounts.append(Executor(planner, Hands(), journal=journal).run(asked).to_data())

    assert [step["name"] for step in accounts[0]["steps"]] == ["wipe", "drive"]
    assert accounts[0]["state"] == ["= (fuel) 5", "= (trips) 1", "wiped"]
    assert accounts[0] == accounts[1]


def test_an_observation_that_makes_no_sense_stops_the_run_and_it_goes_on_later(tmp_path: Path) -> None:
    """The step was done and stays done; with better eyes the rest follows."""
    hands, path = Hands(), tmp_path / "journal.jsonl"
    with Journal(path) as journal, pytest.raises(ProblemError):
        carry_out(problem("visit town"), hands, journal=journal, observe=lambda action, answer: ["flies moon"])

    with Journal(path) as journal:
        run = carry_out(problem("visit town"), hands, journal=journal)

    assert run.succeeded
    assert hands.done == ["drive home town", "tell town"]


def test_a_deep_recursion_is_planned_anew_at_few_levels() -> None:
    """A thousand methods are begun, and a failure at the end does not plan a thousand times."""
    count = 1000
    planner = HTNPlanner(
        operators=[Operator("put ?x", [], ["there ?x"])],
        methods=[
            Method("last", "all ?x", ["last ?x"], ["put ?x"]),
            Method("next", "all ?x", ["next ?x ?y"], ["put ?x", "all ?y"]),
        ],
    )
    state = [*(f"next i{number} i{number + 1}" for number in range(count)), f"last i{count}"]
    tree = planner.solve("all i0", state).tree

    assert len(list(remaining_tasks(tree, count))) < 12
