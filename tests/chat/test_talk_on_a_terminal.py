"""A talk on a real pseudo-terminal: keys, completion, interrupts, signals, and terminals of every kind."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from pseudo_terminal import PseudoTerminal

from memkit.cli.chat.pages import open_page
from memkit.cli.main import run

SLOW = str(Path(__file__).with_name("slow_chat.py"))
ASK = """\
name: ask_before_sending
description: Ask before anything is sent.
rule: Ask before anything is sent.
enforcement: hard
rationale: A message cannot be taken back.
effect: ask
match: {tool: outbox}
"""


@pytest.fixture
def agreed(store: Path) -> Path:
    """Return a store whose user Ada agreed to be remembered."""
    assert run(["consent", "grant", "--user", "ada", "--store", str(store)]) == 0
    assert run(["commit", "--store", str(store)]) == 0
    return store


def chat(store: Path, *options: str, program: tuple[str, ...] = ("-m", "memkit"), **more: object) -> PseudoTerminal:
    """Open a chat of Ada's on a terminal."""
    command = [sys.executable, *program, "chat", "--store", str(store), "--user", "ada", "--session", "monday"]
    return PseudoTerminal([*command, *options], folder=store.parent, **more)  # type: ignore[arg-type]


def script(store: Path, *answers: object) -> tuple[str, str]:
    """Write a model's answers down and return the options that have them given."""
    path = store.parent / "script.yaml"
    path.write_text(json.dumps(answers), encoding="utf-8")
    return "--provider", f"scripted:{path}"


def exported(store: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what was kept of the session."""
    capsys.readouterr()
    assert run(["chat", "--store", str(store), "--user", "ada", "--session", "monday", "-p", "/export"]) == 0
    return capsys.readouterr().out


def is_committed(store: Path) -> bool:
    """Return whether git has all that the archive holds."""
    done = subprocess.run(["git", "status", "--porcelain"], cwd=store, capture_output=True, text=True, check=True)
    return done.stdout == ""


def test_lines_are_edited_completed_and_remembered(agreed: Path) -> None:
    """Commands and ids are completed, Alt-Enter and a backslash begin a line, what was said is there with the arrow."""
    with chat(agreed) as terminal:
        terminal.until_ready()
        terminal.type("My dog is called Rex.\x1b\rMy cat is called Tom.\r")
        terminal.until("(stored:", times=2)
        terminal.until_ready()
        terminal.type("/mem")
        terminal.until("List what is remembered of you")
        terminal.type("\t \t")
        terminal.until("My dog is called Rex", times=3)  # as it was typed, in the answer, and beside its id
        terminal.type("\x03")
        terminal.until_ready()
        assert "… Goodbye" in terminal.say("Hello,\\\rGoodbye!")
        terminal.type("\x04")
        assert terminal.left() == 0
    with chat(agreed) as terminal:
        terminal.until_ready()
        terminal.type("\x1b[A")
        terminal.until("> Hello, … Goodbye!")
        terminal.type("\x1b[A\x1b[A")
        terminal.until("> My dog is called Rex. … My cat")
        terminal.type("\x03/quit\r")
        assert terminal.left() == 0
    assert is_committed(agreed)


def test_ctrl_c_keeps_what_was_said_and_a_second_one_leaves(agreed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer is broken off where it is, the session goes on, and leaving with Ctrl-C is exit 130."""
    words = " ".join(f"word{number}" for number in range(200))
    with chat(agreed, *script(agreed, f"A beginning.\n\n{words}", "Again."), program=(SLOW,)) as terminal:
        terminal.until_ready()
        terminal.type("Tell me a story.\r")
        terminal.until("A beginning.")
        terminal.resize(12, 50)
        terminal.wait(1.0)
        terminal.type("\x03")
        shown = terminal.until("Press Ctrl-C again")
        assert "word0" in shown and "word199" not in shown and "(interrupted)" in shown
        terminal.until_ready()
        assert terminal.say("Once more?").count("A beginning.") == 1
        terminal.type("half a line\x03")
        terminal.until_ready()
        terminal.type("\x03")
        terminal.until("Press Ctrl-C again", times=2)
        terminal.until_ready()
        terminal.type("\x03")
        assert terminal.left() == 130

    kept = exported(agreed, capsys)
    assert "A beginning." in kept and "(interrupted)" in kept and "Again." in kept


def test_a_signal_leaves_the_session_whole(agreed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the middle of an answer too: what was said until then is kept, and what was written is in git."""
    insert = {"tool": "archival_memory_insert", "args": {"text": "Ada's dog is called Rex"}}
    with chat(agreed, *script(agreed, insert, "Noted. " + "so " * 200), program=(SLOW,)) as terminal:
        terminal.until_ready()
        terminal.type("My dog is called Rex.\r")
        terminal.until("archival_memory_insert")
        terminal.wait(1.0)
        os.kill(terminal.child.pid, signal.SIGTERM)
        assert terminal.left() == 130

    assert is_committed(agreed)
    kept = exported(agreed, capsys)
    assert "My dog is called Rex." in kept and "Noted. so" in kept


def test_the_terminal_is_left_as_it_was(agreed: Path) -> None:
    """After a signal at the prompt what is typed is seen again, line by line."""
    shell = f'{sys.executable} -m memkit chat --store {agreed} --user ada; echo "left with $?"; stty -a; read line'
    with PseudoTerminal(["bash", "-c", shell], folder=agreed.parent) as terminal:
        before = termios.tcgetattr(terminal.child.child_fd)[3]
        terminal.until_ready()
        children = subprocess.run(["pgrep", "-P", str(terminal.child.pid)], capture_output=True, text=True, check=True)
        os.kill(int(children.stdout), signal.SIGTERM)
        terminal.until("left with 130")
        assert termios.tcgetattr(terminal.child.child_fd)[3] == before
        assert " echo " in terminal.until("icanon")


def test_a_terminal_that_goes_away_ends_the_talk(agreed: Path) -> None:
    """When the window is closed nobody is left waiting, and what was agreed on is in git."""
    with chat(agreed) as terminal:
        terminal.until_ready()
        terminal.say("My dog is called Rex.")
        terminal.hang_up()
        assert terminal.left() in (130, 3)  # it hears of it by a signal, or by a write that fails
    assert is_committed(agreed)


def test_an_approval_can_hold_for_the_session(agreed: Path) -> None:
    """It is asked once, the sign of waiting makes room for it, and nothing typed before answers it."""
    (agreed / "policies" / "ask_before_sending.yaml").write_text(ASK, encoding="utf-8")
    with chat(agreed) as terminal:
        terminal.until_ready()
        terminal.type("send hello to bob\ry\r")
        terminal.until("Run it? y: yes, n: no, a: always in this session [n]")
        terminal.type("a\r")
        terminal.until("Done with outbox")
        terminal.until_ready()
        assert terminal.say("send hello to eve").count("Run it?") == 1
        terminal.type("/quit\r")
        assert terminal.left() == 0
    sent = [json.loads(line)["to"] for line in (agreed / "outbox.jsonl").read_text("utf-8").splitlines()]
    assert sent == ["bob", "eve"]


MARKDOWN = "# Head\n\nSome **bold** words.\n\n- one\n- two\n"


@pytest.mark.parametrize(("variables", "is_drawn"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_markdown_is_drawn_where_the_terminal_can(agreed: Path, variables: dict[str, str], is_drawn: bool) -> None:
    """Where no colours are wanted it is the text it is, once."""
    with chat(agreed, *script(agreed, MARKDOWN), "-p", "Go", environment=variables) as terminal:
        assert terminal.left() == 0
        shown = terminal.text

    assert shown.count("bold") == shown.count("two") == 1
    assert ("**bold**" in shown) is not is_drawn
    assert (" • one" in shown) is is_drawn


def test_what_somebody_said_is_shown_as_they_said_it(agreed: Path) -> None:
    """The reference model's answers are their words, in which stars and underscores stand for themselves."""
    with chat(agreed, "-p", "Remember that the module is called __init__ and takes *args") as terminal:
        assert terminal.left() == 0
        shown = terminal.text

    assert "Noted: “The module is called __init__ and takes *args”" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("variables", "page"),
    [
        ({"TERM": "xterm"}, "MarkdownPage"),
        ({"TERM": "dumb"}, "PlainPage"),
        ({"TERM": ""}, "PlainPage"),
        ({"NO_COLOR": "1"}, "PlainPage"),
        ({"TERM": "dumb", "FORCE_COLOR": "1"}, "MarkdownPage"),
    ],
)
def test_the_page_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], page: str) -> None:
    """What the environment says of the terminal and of colours decides; in a pipe only the answer is printed."""
    for name, value in ({"TERM": "xterm", "NO_COLOR": "", "FORCE_COLOR": ""} | variables).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert (open_page(is_talk=False) is None) is ("FORCE_COLOR" not in variables)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    assert type(open_page(is_talk=True)).__name__ == page


def test_a_window_may_change_its_size_at_any_time(agreed: Path) -> None:
    """Narrow, wide and tiny, while something is typed and while an answer comes: every text is there once."""
    with chat(agreed, *script(agreed, "First paragraph.\n\nSecond.\n\nThird."), program=(SLOW,)) as terminal:
        terminal.until_ready()
        terminal.type("What do you")
        terminal.resize(5, 20)
        terminal.type(" say to this")
        terminal.until("this")
        terminal.resize(40, 120)
        terminal.type(" window?\r")
        terminal.until("First paragraph.")
        terminal.resize(8, 30)
        shown = terminal.until("Third.")
        terminal.until_ready()
        assert [shown.count(text) for text in ("First paragraph.", "Second.", "Third.")] == [1, 1, 1]
        terminal.type("\x04")
        assert terminal.left() == 0


def test_output_that_goes_elsewhere_holds_the_answers_alone(agreed: Path) -> None:
    """With standard output in a file the questions and prompts are on standard error, where the person is."""
    out = agreed.parent / "out.txt"
    shell = f"{sys.executable} -m memkit chat --store {agreed} --user ada > {out}"
    with PseudoTerminal(["bash", "-c", shell], folder=agreed.parent) as terminal:
        terminal.until_ready()
        terminal.type("My dog is called Rex.\r")
        terminal.until("archival_memory_insert")
        terminal.until_ready()
        terminal.type("\x04")
        assert terminal.left() == 0

    assert out.read_text("utf-8").startswith("Noted: “My dog is called Rex”.\n(")


def test_without_input_a_talk_is_refused(
    agreed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--no-input`` on a terminal never waits for anybody."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)

    assert run(["chat", "--no-input", "--user", "ada", "--store", str(agreed)]) == 2

    assert "add -p TEXT" in capsys.readouterr().err
