"""Write the page of one day.

``python -m tests.written.one_day`` plays it with the vendors' own programs and rewrites ``docs/one-day.md``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pexpect

from tests.forked import program
from tests.serving.programs import Call, codex, opencode

from . import CHECKOUT

HEAD = """# One day, one store, three programs

Ada talks with `memkit chat`; Codex and opencode, programs from two vendors, reach the same store over
[MCP](mcp.md). Each finds what the others learn, the store's policies apply to all of them, and in the evening the
whole day is one change to review. A script replaces the two programs' models and nothing else; this page is written
from a run (`python -m tests.written.one_day`), and a test checks that a run still shows it. `…` stands for ids
and times.

The store has two policies of its own: `keep_what_is_there` denies `memory_forget` to everybody, and
`ask_before_sending` requires a person's yes before `outbox` runs. Both programs' servers, except the last one, are
started with `--client-taint clean`, the operator's word that nobody else writes into what they read.
"""
POLICIES = {
    "keep_what_is_there": ("deny", "memory_forget", "A person decides what goes."),
    "ask_before_sending": ("ask", "outbox", "A message cannot be taken back."),
}
POLICY = """name: {name}
description: {why}
rule: {why}
enforcement: hard
rationale: {why}
effect: {effect}
match: {{tool: {tool}}}
tests:
  - {{name: holds, call: {{tool: {tool}, args: {{}}}}, expect: {effect}}}
"""
STAND_IN = "(I am the reference model:"
"""How the line begins that the rules who answer in place of a model add, and that the page leaves out."""
CLEAN = ("--client-taint", "clean")
MASKED = re.compile(
    r"\b[0-9A-HJKMNP-TV-Z]{26}\b|\b[0-9a-f]{7,40}\b|\d{4}-\d\d-\d\d(?:[T ][\d:.]+Z?)?|\b[0-9a-z]{12,}\b(?=>)"
)


class Day:
    """One day in a folder; collects the page as it goes."""

    def __init__(self, folder: Path, head: str = HEAD) -> None:
        self.folder = folder
        self.store = folder / "notes"
        self.page = [head]

    def memkit(self, *words: str, shown: bool = True) -> str:
        """Run a command of Ada's in the store, put it on the page, and return what it printed."""
        command = [program(), *words]
        ran = subprocess.run(
            command,
            cwd=self.store,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if ran.returncode not in (0, 1):
            raise RuntimeError(f"{words}: {ran.stderr}")
        if shown:
            quoted = " ".join(f'"{word}"' if " " in word else word for word in words)
            told = [line for line in ran.stdout.splitlines() if not line.startswith(STAND_IN)]
            self.page.append(block("\n".join([f"$ memkit {quoted}", *told])))
        return ran.stdout

    def say(self, text: str) -> None:
        """Put a sentence on the page."""
        self.page.append(f"{text.rstrip()}\n")

    def program(self, name: str, calls: Sequence[Call], *options: str) -> list[str]:
        """Let a vendor's program make some calls and put on the page what its model was told."""
        if name == "Codex":
            answers = [one["content"][0]["text"] for one in codex(self.store, self.folder, calls, *options)]
        else:
            answers = opencode(self.store, self.folder, calls, *options)
        told = [f"{_spelled(call)}\n{answer.strip()}" for call, answer in zip(calls, answers, strict=True)]
        self.page.append(block("\n".join(told)))
        return answers

    def on_a_terminal(self, said: str, answer: str) -> None:
        """Say something in a chat on a terminal, where a policy's question is answered."""
        words = ["-m", "memkit", "chat", "--user", "ada", "-p", said]
        child = pexpect.spawn(
            sys.executable, words, cwd=str(self.store), env=environment(), encoding="utf-8", timeout=120
        )
        child.setwinsize(40, 140)
        child.expect(r"\[n\] ")
        asked = child.before + child.after
        child.sendline(answer)
        child.expect(pexpect.EOF)
        shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", asked + child.before).replace("\r", "")
        told = [line for line in shown.strip().splitlines() if not line.startswith(STAND_IN)]
        self.page.append(block("\n".join([f'$ memkit chat --user ada -p "{said}"', *told])))


def play(folder: Path) -> str:
    """Play the day in ``folder`` and return its page."""
    with at_home(folder):
        day = Day(folder)
        _morning(day)
        _forenoon(day)
        _afternoon(day)
        _evening(day)
    return MASKED.sub("…", "\n".join(day.page).replace(str(folder), "…"))


def _morning(day: Day) -> None:
    day.store.mkdir()
    day.memkit("init", ".", shown=False)
    for name, (effect, tool, why) in POLICIES.items():
        text = POLICY.format(name=name, effect=effect, tool=tool, why=why)
        (day.store / "policies" / f"{name}.yaml").write_text(text, encoding="utf-8")
        day.memkit("policy", "commit", name, shown=False)
    day.memkit("consent", "grant", "--user", "ada", shown=False)
    day.memkit("commit", shown=False)
    day.memkit("git", "setup", shown=False)
    subprocess.run(["git", "tag", "morning"], cwd=day.store, env=environment(), check=True)
    day.say("## Morning: Ada talks\n")
    day.memkit("chat", "--user", "ada", "-p", "I prefer espresso over latte.")
    day.memkit("chat", "--user", "ada", "-p", "Remember that my office is in Lisbon.")


def _forenoon(day: Day) -> None:
    day.say("## Forenoon: Codex finds it, and adds what it learned in a repository\n")
    calls = [
        {"tool": "memory_search", "args": {"query": "Where is the office?", "k": 1}},
        {"tool": "memory_add", "args": {"text": "The team deploys on Tuesdays"}},
    ]
    found, added = day.program("Codex", calls, *CLEAN)
    assert "Lisbon" in found and added.startswith("admitted ")


def _afternoon(day: Day) -> None:
    day.say("## Afternoon: opencode knows what Codex learned, and is refused by a policy\n")
    (found,) = day.program(
        "opencode", [{"tool": "memory_search", "args": {"query": "When does the team deploy?", "k": 1}}], *CLEAN
    )
    (kept,) = re.findall(r"\[([0-9A-Z]{26})\] type=", found)
    calls = [
        {"tool": "memory_forget", "args": {"id": kept, "reason": "the release train is over"}},
        {"tool": "memory_add", "args": {"text": "The staging server is called pike"}},
    ]
    refused, added = day.program("opencode", calls, *CLEAN)
    assert "A policy denies memory_forget" in refused and added.startswith("admitted ")
    day.say("Ada's own agent was told neither, and has both from the store:\n")
    day.memkit("chat", "--user", "ada", "-p", "What is the staging server called?")
    day.memkit("chat", "--user", "ada", "-p", "When does the team deploy?")
    day.say("It may send something only with a person's yes:\n")
    day.on_a_terminal("send the deploy moved to Wednesday to bob with outbox", "y")


def _evening(day: Day) -> None:
    day.say("## Evening: a program that reads strangers' text, and what waits\n")
    day.say("Started without the operator's word, the same program is believed less: its word waits.\n")
    calls = [{"tool": "memory_add", "args": {"text": "The deploy moved to Wednesday"}}]
    (added,) = day.program("opencode", calls)
    (waiting,) = re.findall(r"admitted ([0-9A-Z]{26})", added)
    day.memkit("memory", "approve", waiting, "--reason", "Bob says so too")
    day.say("## The day as one change\n")
    day.memkit("commit")
    day.memkit("review", "morning..HEAD")


def _spelled(call: Mapping[str, Any]) -> str:
    given = ", ".join(f"{key}={value!r}" for key, value in call["args"].items())
    return f"> {call['tool']}({given})"


def block(text: str) -> str:
    """Return a text as a block of the page."""
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return f"```text\n{lines}\n```\n"


def environment() -> dict[str, str]:
    """Return what every process of the day finds."""
    return {**os.environ, "PYTHONPATH": str(CHECKOUT), "NO_COLOR": "1", "COLUMNS": "120", "TERM": "xterm"}


@contextmanager
def at_home(folder: Path) -> Iterator[None]:
    """Live in a home of one's own, with a name for git, while the day lasts."""
    before, home = dict(os.environ), folder / "home"
    home.mkdir()
    os.environ.update(HOME=str(home), GIT_CONFIG_NOSYSTEM="1", MEMKIT_INSTALL="memkit-agent")
    for role in ("AUTHOR", "COMMITTER"):
        os.environ.update({f"GIT_{role}_NAME": "Ada", f"GIT_{role}_EMAIL": "ada@example.org"})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def write_one_day(out: Path) -> Path:
    """Play the day, write the page and return its path."""
    path = out / "one-day.md"
    with tempfile.TemporaryDirectory() as folder:
        path.write_text(play(Path(folder).resolve()), encoding="utf-8")
    return path


if __name__ == "__main__":
    write_one_day(CHECKOUT / "docs")
