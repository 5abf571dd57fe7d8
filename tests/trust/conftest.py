"""A store that somebody else made, with one of everything that could run or be asked, and a mark that shows it did."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from foreign_store import CHECKED, DOMAIN, EVALUATOR, TOOLS, Ask, commit, git

from memkit.cli.main import run


@pytest.fixture(autouse=True)
def modules_of_this_test_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the modules of a store with the test: the next one has others of the same name."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "tools"]:
        del sys.modules[name]


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Return the file that is there as soon as anything of the foreign store ran."""
    return tmp_path / "ran"


@pytest.fixture
def made_elsewhere(store: Path, mark: Path) -> Path:
    """Return the store as its maker has it."""
    (store / "memkit.yaml").open("a").write(TOOLS)
    (store / "answers.yaml").write_text("- {tool: mark, args: {}}\n- {tool: note, args: {}}\n- {text: done}\n")
    (store / "tools").mkdir()
    (store / "tools/mark.sh").write_text(f". tools/words.sh\necho \"$WORD\" >> '{mark}'\n")
    (store / "tools/words.sh").write_text("WORD=tool\n")
    (store / "tools/note.py").write_text(
        f"import tools.paper\ndef note():\n    open({str(mark)!r}, 'a').write(tools.paper.WORD)\n    return 'noted'\n"
    )
    (store / "tools/paper.py").write_text("WORD = 'module\\n'\n")
    (store / "skills/walk.yaml").write_text(CHECKED)
    (store / "domains/marking.yaml").write_text(DOMAIN)
    (store / "task").mkdir()
    (store / "task/initial_program.py").write_text("def f(x):\n    return x\n")
    (store / "task/evaluator.py").write_text(EVALUATOR.format(mark=str(mark)))
    commit(store, "Make it my own")
    return store


@pytest.fixture
def foreign(made_elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a fresh clone of that store, in which the test stands."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(made_elsewhere), str(clone))
    monkeypatch.chdir(clone)
    return clone


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Return a function that runs memkit with an expected exit code and returns the envelope."""

    def asked(*words: str, code: int = 0) -> dict[str, Any]:
        capsys.readouterr()
        got = run([*words, "--json"])
        printed = capsys.readouterr()
        assert got == code, printed.out + printed.err
        body: dict[str, Any] = json.loads(printed.out)
        return body

    return asked
