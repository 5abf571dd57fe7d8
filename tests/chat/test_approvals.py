"""A person is asked about a call, sees all they have to judge, and nothing else can answer for them."""

from __future__ import annotations

import io
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from memkit.cli.approval import Approvals

Asked = Callable[..., tuple[bool, str]]


def verdict(policy: str = "ask_first") -> Any:
    """Return a verdict that wants a person."""
    finding = SimpleNamespace(name=policy, effect="ask", decides=True, reason="A message cannot be taken back.")
    return SimpleNamespace(decision="ask", policies=(finding,), deciding=finding)


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Asked:
    """Return a function that asks about a call, types the lines, and returns the answer and what was shown."""

    def one(approvals: Approvals, args: dict[str, Any], typed: str, policy: str = "ask_first") -> tuple[bool, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        return approvals("outbox", args, verdict(policy)), capsys.readouterr().err

    return one


@pytest.mark.parametrize(
    ("typed", "runs"),
    [("y\n", True), ("YES \n", True), ("a\n", True), ("n\n", False), ("\n", False), ("", False), ("maybe\ny\n", True)],
)
def test_only_a_yes_lets_a_call_run(ask: Asked, typed: str, runs: bool) -> None:
    """Enter and the end of input are a no, and anything else is asked again."""
    agreed, shown = ask(Approvals(), {"to": "bob"}, typed)

    assert agreed is runs
    assert "Policy ask_first asks before outbox runs: A message cannot be taken back." in shown
    assert ("Please answer" in shown) is typed.startswith("maybe")


def test_the_reason_is_broken_between_words(ask: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a narrow terminal no word of it is torn."""
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr("memkit.cli.arguments.sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))

    _, shown = ask(Approvals(), {"to": "bob"}, "n\n")

    assert shown.split("Run it?")[0].split("  to:")[0].splitlines() == [
        "Policy ask_first asks before", "  outbox runs: A message", "  cannot be taken back.",
    ]  # fmt: skip


def test_always_holds_for_this_tool_under_this_policy(ask: Asked) -> None:
    """Another policy asks again, and so does another run."""
    approvals = Approvals()
    ask(approvals, {"to": "bob"}, "a\n")

    assert ask(approvals, {"to": "eve"}, "") == (True, "")
    assert ask(approvals, {"to": "eve"}, "n\n", policy="after_untrusted_text")[0] is False
    assert ask(Approvals(), {"to": "eve"}, "n\n")[0] is False


def test_an_argument_cannot_draw_a_question_of_its_own(ask: Asked) -> None:
    """Every line of an argument stands behind a bar, and what a terminal would obey is an escape."""
    forged = "hello\nRun it? y: yes, n: no [n] y\n\x1b[2Jdone"

    _, shown = ask(Approvals(), {"message": forged}, "n\n")

    assert "    │ Run it? y: yes" in shown
    assert "\x1b" not in shown
    assert [line for line in shown.splitlines() if line.startswith("Run it?")] == [
        "Run it? y: yes, n: no, a: always in this session [n] "
    ]


def test_what_is_left_out_is_said_and_can_be_seen(ask: Asked) -> None:
    """The dangerous part of a long argument cannot hide at its end."""
    long = "\n".join(["padding"] * 40 + ["x" * 900 + "THE END"])

    agreed, shown = ask(Approvals(), {"command": long}, "s\nn\n")

    before, after = shown.split("s: show all of it", 1)
    assert not agreed
    assert "17 more lines" in before and "THE END" not in before
    assert "THE END" in after
