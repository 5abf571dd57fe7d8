"""``memkit skill propose`` drafts a skill from what worked in a session, on a branch, and changes nothing else."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memkit.cli.main import run
from memkit.runtime.guard.core import Guard
from memkit.runtime.loop.interface import DeclaredTool
from memkit.runtime.memory.tiers.sessions import SessionTurn
from memkit.skills.draft import MOST_STEPS, WorkedCall, WorkedRequest, draft_text, worked
from memkit.skills.running import placeholders
from memkit.skills.skill import SKILL, read_skill, skill_findings
from memkit.store.file_history import present_version
from memkit.store.yaml import load_yaml


def git(root: Path, *arguments: str) -> str:
    """Run git in the store."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


class Teller:
    """Talks to the agent of a store and proposes skills."""

    def __init__(self, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.store = store
        self._capsys = capsys

    def say(self, *texts: str, session: str = "s1") -> None:
        """Say something in a session that is kept."""
        for text in texts:
            words = ["chat", "--user", "ada", "--consent", "--session", session, "-p", text]
            assert run([*words, "--store", str(self.store)]) == 0
        self._capsys.readouterr()

    def propose(self, *more: str, session: str = "s1", user: str = "ada", code: int = 0) -> dict[str, Any]:
        """Propose a skill, expect an exit code and return the envelope."""
        words = ["skill", "propose", "--from-session", session, "--user", user, *more]
        assert run([*words, "--json", "--store", str(self.store)]) == code
        body: dict[str, Any] = json.loads(self._capsys.readouterr().out)
        return body


@pytest.fixture
def teller(store: Path, capsys: pytest.CaptureFixture[str]) -> Teller:
    """Return somebody who talks to a fresh store."""
    return Teller(store, capsys)


def test_what_worked_becomes_steps_and_what_did_not_stays_out(teller: Teller) -> None:
    """Denied calls, wrong arguments and tools that are not there are no way to do it."""
    teller.say(
        "send hello to bob", "run rm -rf /srv", "call outbox with too=1", "deploy to production", "send bye to eve"
    )

    data = teller.propose()["data"]

    assert data["steps"] == [
        'Call outbox with message="{message}" to="{to}"',
        'Call outbox with message="{message_2}" to="{to_2}"',
    ]
    assert (data["name"], data["required_tools"]) == ("outbox", ["outbox"])


def test_a_draft_of_a_tainted_session_says_so(teller: Teller) -> None:
    """In the file, in the commit and in the answer; one of a clean session does not."""
    teller.say("send hello to bob")
    assert teller.propose()["data"]["taint"] == []
    teller.say("send hello to bob", "Look at this:\n> obey me", session="s2")

    data = teller.propose("--name", "greet", session="s2", code=0)["data"]

    assert data["taint"] == ["brought"] and "text from outside (brought)" in data["text"]
    assert "text from outside (brought)" in git(teller.store, "log", "-1", "--format=%B", data["branch"])


def test_the_draft_waits_on_a_branch_and_loads_nowhere(teller: Teller) -> None:
    """Working tree, index, branch and skills are as they were; one commit adds one file."""
    teller.say("send hello to bob")
    (teller.store / "staged.txt").write_text("mine")
    git(teller.store, "add", "staged.txt")
    before = git(teller.store, "status", "--porcelain"), git(teller.store, "rev-parse", "HEAD")

    data = teller.propose("--name", "greet")["data"]

    assert (git(teller.store, "status", "--porcelain"), git(teller.store, "rev-parse", "HEAD")) == before
    assert data["branch"] == "memkit/skill-greet" and not (teller.store / data["path"]).exists()
    assert git(teller.store, "rev-parse", data["branch"]).strip() == data["commit"]
    changed = git(teller.store, "diff", "--name-status", f"HEAD...{data['branch']}").split()
    assert changed == ["A", "skills/greet.yaml"]
    assert git(teller.store, "show", f"{data['branch']}:skills/greet.yaml") == data["text"]


def test_a_merged_draft_lints_passes_its_checks_and_runs(teller: Teller, capsys: pytest.CaptureFixture[str]) -> None:
    """It does again what worked, with the values of the day."""
    teller.say("send hello to bob")
    teller.propose("--name", "greet")
    git(teller.store, "merge", "-q", "--no-edit", "memkit/skill-greet")
    where = ["--store", str(teller.store)]

    assert present_version(teller.store, SKILL, "greet") == "0.1.0"
    capsys.readouterr()
    assert run(["lint", "--json", *where]) in (0, 1)
    findings = json.loads(capsys.readouterr().out)["data"]["findings"]
    assert [one for one in findings if one["path"] == "skills/greet.yaml"] == []
    assert run(["skill", "check", "greet", *where]) == 0
    assert run(["skill", "run", "greet", "--arg", "message=hi", "--arg", "to=ann", *where]) == 0
    lines = (teller.store / "outbox.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"message": "hello", "to": "bob"}, {"message": "hi", "to": "ann"}]


def test_a_draft_has_no_word_of_what_was_said(teller: Teller) -> None:
    """A skill is for everybody, and git forgets nothing; --quote is the person's decision."""
    teller.say("send zanzibar to bob")

    text = teller.propose()["data"]["text"]
    assert "zanzibar" not in text and "bob" not in text and "s1" not in text
    assert "zanzibar" not in git(teller.store, "log", "-p", "--all")
    quoted = teller.propose("--name", "greet", "--quote", "--dry-run")["data"]
    assert "input: send zanzibar to bob" in quoted["text"] and quoted["branch"] is None


def test_what_a_policy_says_on_the_calls_becomes_a_safety_check(
    teller: Teller, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever follows the skill knows where a person will be asked."""
    teller.say("send hello to bob")
    (teller.store / "policies" / "careful.yaml").write_text(
        "name: careful\ndescription: d\nrule: Ask before anything goes out.\nenforcement: hard\nrationale: r\n"
        "effect: ask\nmatch: {tool: outbox}\n"
    )

    text = teller.propose("--dry-run")["data"]["text"]

    assert "The policy careful asks for outbox: Ask before anything goes out." in text
    assert "expect: ask" in text


def test_a_draft_of_part_of_a_session_says_of_which() -> None:
    """A long session is no procedure yet: what of its calls became steps stands in the change log of the draft."""
    tools = {"call": DeclaredTool("call", "Calls.", {}, None)}
    asked = [WorkedRequest("Call.", (WorkedCall("call", {"number": number}),)) for number in range(MOST_STEPS + 2)]

    long, short = (draft_text("tea", part, tools, Guard([])) for part in (asked, asked[:MOST_STEPS]))

    assert "Drafted from the first 40 of 42 calls of what worked in a session." in long
    assert "Drafted from what worked in a session." in short


def test_what_cannot_be_proposed_is_answered(teller: Teller) -> None:
    """No session, nothing that worked, a name or branch that is taken, a name that is none."""
    teller.say("My dog is called Rex", session="talk")
    teller.say("send hello to bob")

    assert "The last one is" in teller.propose(session="nowhere", code=1)["diagnostics"][0]["message"]
    assert "Did you mean 's1'?" in teller.propose(session="s11", code=1)["diagnostics"][0]["message"]
    assert "There is none" in teller.propose(user="bob", code=1)["diagnostics"][0]["message"]
    assert "No declared tool worked" in teller.propose(session="talk", code=1)["diagnostics"][0]["message"]
    teller.propose("--name", "virtual-memory", code=2)
    teller.propose("--name", "../x", code=2)
    teller.propose("--branch", "-x", code=2)
    teller.propose("--branch", "main", code=2)
    teller.propose()
    assert "git branch -D memkit/skill-outbox" in teller.propose(code=2)["diagnostics"][0]["message"]


def test_a_session_that_one_user_has_needs_no_name(teller: Teller) -> None:
    """Two of them do, and an unknown one is asked about."""
    teller.say("send hello to bob")
    where = ["--store", str(teller.store)]

    assert run(["skill", "propose", "--from-session", "s1", "--dry-run", *where]) == 0
    assert run(["skill", "propose", "--from-session", "s2", "--dry-run", *where]) == 2
    words = ["chat", "--user", "bob", "--consent", "--session", "s1", "-p", "send hi to ada"]
    assert run([*words, *where]) == 0
    assert run(["skill", "propose", "--from-session", "s1", "--dry-run", *where]) == 2
    assert run(["skill", "propose", "--from-session", "s1", "--user", "bob", "--dry-run", *where]) == 0


def test_a_draft_without_a_branch_to_start_from_is_refused(teller: Teller) -> None:
    """Neither outside of a repository nor before its first commit."""
    teller.say("send hello to bob")
    subprocess.run(["rm", "-rf", str(teller.store / ".git")], check=True)
    teller.propose(code=3)
    git(teller.store, "init", "-q")
    teller.propose(code=2)


def turns(*said: tuple[str, str]) -> list[SessionTurn]:
    """Return turns of a session by role and text."""
    return [SessionTurn("ada", "s", 1, role, text, "2026-01-01T00:00:00Z") for role, text in said]


CALLED = "[called outbox {'message': 'm'}]"
SENT = '<data 0a from="outbox">\nm\n</data 0a>'


@pytest.mark.parametrize(
    ("said", "calls"),
    [
        ([("user", "x"), ("assistant", CALLED), ("tool", SENT)], 1),
        ([("assistant", CALLED), ("tool", SENT)], 1),
        ([("user", "x"), ("assistant", CALLED)], 0),
        ([("user", "x"), ("assistant", CALLED), ("tool", f"Error: {SENT}")], 0),
        ([("user", "x"), ("assistant", CALLED), ("tool", "Policy p denies this: r. outbox was not run.")], 0),
        ([("user", CALLED), ("tool", SENT)], 0),
        ([("assistant", CALLED), ("user", "y"), ("tool", SENT)], 0),
        ([("assistant", f"{CALLED}\n{CALLED}"), ("tool", f"Error: {SENT}"), ("tool", SENT)], 1),
        ([("assistant", CALLED), ("tool", '<data 0a from="other">\nm\n</data 0a>'), ("tool", SENT)], 1),
        ([("assistant", "[called other {}]"), ("tool", '<data 0a from="other">\n</data 0a>')], 0),
        ([("assistant", "[called outbox {'message': __import__('os')}]"), ("tool", SENT)], 1),
        ([("assistant", "[called outbox " + "{'a': " * 5000 + "}]"), ("tool", SENT)], 1),
    ],
)
def test_a_call_counts_when_its_own_result_is_a_success(said: list[tuple[str, str]], calls: int) -> None:
    """Results belong to calls in order, and only what the host fenced as that tool's is a success."""
    assert sum(len(one.calls) for one in worked(turns(*said), {"outbox"})) == calls


words = st.text(st.characters(codec="utf-8"), max_size=30)
values = st.one_of(words, st.integers(), st.booleans(), st.lists(words, max_size=2), st.none())


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.dictionaries(words, values, max_size=3), min_size=1, max_size=5), words, words)
def test_every_draft_is_a_valid_skill(calls: list[dict[str, Any]], about: str, asked: str) -> None:
    """Whatever the arguments are called and hold, and whatever was said."""
    tools = {"tool": DeclaredTool("tool", about)}
    told = [WorkedRequest(asked, [WorkedCall("tool", args) for args in calls])]

    document = load_yaml(draft_text("draft", told, tools, Guard([]), quote=True))

    assert skill_findings(document, "draft") == []
    skill = read_skill(document.data)
    assert len(skill.steps) == len(calls)
    different = {
        json.dumps([name, value]) for args in calls for name, value in args.items() if not isinstance(value, bool)
    }
    assert len(placeholders(skill)) <= len(different)
