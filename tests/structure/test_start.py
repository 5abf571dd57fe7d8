"""What a search at the command line imports, because it is a process of its own and importing is most of its time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from memkit.cli.main import run

ROOM = "memkit.runtime.memory."
NEEDLESS = {
    "dataclasses", "difflib", "hashlib", "subprocess", "tempfile", "yaml", "ruamel", "git", "jinja2",
    "memkit.store.git", "memkit.store.yaml",
    *(ROOM + name for name in ("archive.change", "gate.gate", "gate.credentials", "gate.personal", "record.events")),
    *(ROOM + name for name in ("index.intake", "words.wording")),
}  # fmt: skip


def test_a_search_imports_nothing_that_it_does_not_need(store: Path) -> None:
    """Neither the write gate nor git, YAML or what takes lines in is loaded by a search of an index in place."""
    assert run(["memory", "add", "Ada likes tea", "--user", "ada", "--store", str(store)]) == 0
    search = ["memory", "search", "What does Ada like?", "--user", "ada", "--store", str(store)]
    program = f"import sys; from memkit.cli.main import run; run({search!r}); print(*sys.modules, sep='\\n')"
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)

    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert "memkit.runtime.memory.index.search" in done.stdout.splitlines()
    assert not NEEDLESS & set(done.stdout.splitlines())


def test_a_turn_without_a_terminal_loads_nothing_that_draws_on_one(store: Path) -> None:
    """Line editing and Markdown cost a third of a second, which only a person at a terminal gets something for."""
    turn = ["chat", "-p", "Hello!", "--user", "ada", "--store", str(store)]
    program = f"import sys; from memkit.cli.main import run; run({turn!r}); print(*sys.modules, sep='\\n')"

    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    assert "memkit.cli.chat.command" in done.stdout.splitlines()
    assert not {"prompt_toolkit", "rich", "markdown_it", "readline"} & set(done.stdout.splitlines())


def test_planning_does_not_load_what_carries_plans_out() -> None:
    """The agent, its memory and its policies are there for ``--run``, and a plan alone is a short process."""
    order = ["plan", "deliver book shop", "--domain", "errands"]
    program = f"import sys; from memkit.cli.main import run; run({order!r}); print(*sys.modules, sep='\\n')"

    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)

    loaded = done.stdout.splitlines()
    assert "1. go home shop" in loaded and "memkit.runtime.htn.planner" in loaded
    assert not {"memkit.agent", "memkit.workspace", "memkit.runtime.guard.core", "sqlite3", "git"} & set(loaded)


def test_a_tab_at_a_session_opens_no_archive(store: Path) -> None:
    """The names of sessions lie in files of their own; neither the index, nor SQLite, nor a prompt is loaded."""
    assert run(["chat", "--session", "trip", "--consent", "-p", "Hello", "--user", "ada", "--store", str(store)]) == 0
    typed = {"MEMKIT_LINE": "memkit sessions show t", "MEMKIT_WORD": "t", "_MEMKIT_COMPLETE": "bash_complete"}
    program = (
        f"import os, sys; os.environ.update({typed | {'MEMKIT_USER': 'ada'}!r}); from memkit.__main__ import main\n"
        "try: main()\nexcept SystemExit: print(*sys.modules, sep='\\n')"
    )

    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL, cwd=store)  # reads YAML

    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=store)

    loaded = done.stdout.splitlines()
    assert loaded[0] == "plain\ttrip" and "memkit.store.sessions" in loaded
    assert not {"sqlite3", "yaml", "git", ROOM + "archive.reader", ROOM + "tiers.context"} & set(loaded)
