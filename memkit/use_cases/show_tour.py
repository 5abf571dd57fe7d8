"""Walk through memkit on a fresh store: the commands that a person would type, each in its own process."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memkit.generate.rendering import unpack

_IDENTITY = {"GIT_AUTHOR_NAME": "memkit demo", "GIT_COMMITTER_NAME": "memkit demo"}
_ADDRESS = {"GIT_AUTHOR_EMAIL": "demo@memkit.invalid", "GIT_COMMITTER_EMAIL": "demo@memkit.invalid"}
_TESTS_NEED = ("pytest", "langgraph", "langchain", "langchain_openai")
_TOLD = ("-k", "TestConsent or TestMemory or TestPolicies or TestPlanning")
_SMALL = {"MEMKIT_CONTEXT_MAX_TOKENS": "3000"}
"""A main context small enough to overflow during the tour."""


@dataclass(frozen=True)
class Scene:
    """One completed step of the tour."""

    title: str
    command: str
    output: str
    ok: bool
    """Whether the command ended with the exit code that the tour expects."""


def show_tour(folder: Path) -> Iterator[Scene]:
    """Play the tour in ``folder`` (created if missing) and yield each scene when it is done."""
    store = folder / "store"
    stage = _Stage(folder, store)
    made = stage.memkit("A store is plain text in a git repository", "init", "store")
    yield made
    if not made.ok:
        return  # such as on a machine without git: no other scene works without a store
    yield stage.chat(
        "Tell it who you are, and agree that it may remember",
        "My name is Ada and I prefer espresso over latte.",
        "--consent",
    )
    yield _overflow(stage)
    yield stage.chat(
        "A new process and a new session: recall cites the record", "Do I prefer latte or espresso?", session="tuesday"
    )
    yield stage.chat(
        "Correct it; the old wording stays in the history", "Actually, I prefer tea over espresso.", session="tuesday"
    )
    yield stage.chat(
        "A policy stands between the model and the world", "Please run `rm -rf /srv/data`.", session="tuesday"
    )
    yield stage.chat("A task of a planning domain becomes a plan", "deliver book shop", session="tuesday")
    yield stage.memkit("What it knows can be read by anybody", "memory", "list", "--user", "ada")
    yield stage.memkit("Everything that people write is checked", "lint")
    yield stage.shell("Memory is committed and reviewed like code", "git", "log", "--oneline", "--stat", cwd=store)
    yield stage.memkit("Render the same agent for LangGraph", "gen", "--target", "langgraph")
    yield _project_tests(stage, store / "outputs" / "langgraph")


@dataclass(frozen=True)
class _Stage:
    folder: Path
    store: Path

    def memkit(self, title: str, *arguments: str, extra: Mapping[str, str] | None = None, said: str = "") -> Scene:
        cwd = self.folder if arguments[0] == "init" else self.store
        words = [sys.executable, "-m", "memkit", *arguments]
        return self._play(title, _spelled("memkit", arguments), words, cwd, extra or {}, said)

    def chat(self, title: str, text: str, *options: str, session: str = "monday") -> Scene:
        arguments = ["chat", "--user", "ada", "--session", session, *options, "-p", text]
        return self.memkit(title, *arguments, extra=_SMALL)

    def shell(self, title: str, *words: str, cwd: Path, extra: Mapping[str, str] | None = None) -> Scene:
        return self._play(title, _spelled(words[0], words[1:]), words, cwd, extra or {}, "")

    def _play(
        self, title: str, shown: str, words: Sequence[str], cwd: Path, extra: Mapping[str, str], said: str
    ) -> Scene:
        environment = _environment() | dict(extra)
        done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False, input=said)
        printed = (done.stdout + done.stderr).replace(str(self.folder), "…").rstrip()
        return Scene(title, shown, printed, done.returncode == 0)


def _overflow(stage: _Stage) -> Scene:
    """Talk until the main context overflows, in one process with a turn per line, and show what was paged out."""
    arguments = ["chat", "--user", "ada", "--session", "monday", "--jsonl"]
    scene = stage.memkit(
        "Talk on until the main context is full: the oldest turns are paged out, and stay findable",
        *arguments,
        extra=_SMALL,
        said="\n".join(_TOPICS),
    )
    turns = [json.loads(line)["data"] for line in scene.output.splitlines() if line.startswith("{")]
    lines = [
        f"turn {number}: paged out {operation['messages']} messages; the prompt holds "
        f"{turn['context_usage']['used']} of {turn['context_usage']['budget']} tokens"
        for number, turn in enumerate(turns, start=1)
        for operation in turn["memory_operations"]
        if operation["op"] == "page_out"
    ]
    shown = "\n".join(lines) or f"Nothing was paged out.\n{scene.output}"
    return Scene(scene.title, f"{scene.command} < {len(_TOPICS)}-turns.txt", shown, scene.ok and bool(lines))


_TOPICS = tuple(
    f"The {subject} of the {place} was long and winding, and my colleagues heard every part of it in great detail."
    for place in ("harbour", "museum", "library", "garden")
    for subject in ("history", "tour", "renovation", "opening")
)


def _project_tests(stage: _Stage, project: Path) -> Scene:
    """Run the tests of what the tour has shown; the project's other tests would take as long again."""
    title = (
        "The project owns its code, and its own tests pass against the real SDK, with no key (pytest runs all of them)"
    )
    missing = [name for name in _TESTS_NEED if importlib.util.find_spec(name) is None]
    command = _spelled("python -m pytest -q", _TOLD)
    if missing:
        absent = f"Not run here: {', '.join(missing)} not installed."
        advice = f"{absent} In the project: pip install -r requirements.txt && pytest"
        return Scene(title, command, advice, True)
    runtime = stage.folder / "runtime"
    unpack(next((project / "vendor").glob("*.whl")).read_bytes(), runtime)  # instead of installing it
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *_TOLD]
    scene = stage.shell(title, *words, cwd=project, extra={"PYTHONPATH": str(runtime)})
    return Scene(title, command, "\n".join(scene.output.splitlines()[-3:]), scene.ok)


def _environment() -> dict[str, str]:
    """Return the caller's environment without what would change the tour: settings, keys, git's variables, plug-ins."""
    inherited = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("MEMKIT_", "GIT_", "OPENAI_", "ANTHROPIC_"))
    }
    return inherited | _IDENTITY | _ADDRESS | {"NO_COLOR": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def _spelled(program: str, arguments: Sequence[str]) -> str:
    import shlex

    return " ".join([program, *(shlex.quote(word) for word in arguments)])
