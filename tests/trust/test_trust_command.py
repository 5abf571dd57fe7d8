"""``memkit trust``: what it shows, whom it asks, and what it keeps."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from foreign_store import Ask, commit, git

from memkit.cli.main import run
from memkit.runtime.host.terminal import AGENTS

CHAT = ("chat", "-p", "hello")


def message(body: dict[str, object]) -> str:
    """Return the one message of a failed command."""
    (finding,) = body["diagnostics"]  # type: ignore[misc]
    return str(finding["message"])


def test_a_fresh_store_has_nothing_to_allow_and_is_trusted(store: Path, ask: Ask) -> None:
    """What memkit ships needs nobody's word."""
    shown = ask("trust", "--show", "--store", str(store))["data"]

    assert shown["trusted"] is True
    assert shown["allows"] == []
    assert shown["digest"]


def test_what_a_store_would_do_is_shown_with_its_kind(foreign: Path, ask: Ask) -> None:
    """Not trusted is a negative answer, and each thing is named."""
    shown = ask("trust", "--show", code=1)["data"]

    assert shown.keys() == {"digest", "trusted", "allows"}
    assert shown["trusted"] is False
    assert [each["kind"] for each in shown["allows"]] == ["provider", "tool", "tool", "check", "evaluator"]
    told = " ".join(each["what"] for each in shown["allows"])
    for named in ("scripted:answers.yaml", "sh tools/mark.sh", "tools.note", "walk", "task/evaluator.py"):
        assert named in told


def test_trust_is_given_shown_and_taken_back(foreign: Path, ask: Ask, mark: Path) -> None:
    """A person says it once; revoked, everything is as before."""
    given = ask("trust", "--yes")["data"]

    assert given["trusted"] is True
    assert ask("trust", "--show")["data"] == given
    assert ask(*CHAT)["data"]["message"] == "done"
    assert mark.read_text() == "tool\nmodule\n"

    assert ask("trust", "--revoke")["data"]["trusted"] is False
    ask("trust", "--show", code=1)
    ask(*CHAT, code=3)
    assert mark.read_text() == "tool\nmodule\n"


def test_without_a_terminal_trust_asks_for_yes(foreign: Path, ask: Ask) -> None:
    """Nobody is there to be asked, so nothing is trusted."""
    assert "--yes" in message(ask("trust", code=2))
    ask("trust", "--show", code=1)


def test_a_digest_is_trusted_if_it_is_this_one(foreign: Path, ask: Ask) -> None:
    """CI names what it has looked at; another digest is a negative answer."""
    digest = ask("trust", "--show", code=1)["data"]["digest"]

    assert digest in message(ask("trust", "--digest", "0" * 64, code=1))
    ask("trust", "--show", code=1)
    assert ask("trust", "--digest", digest)["data"]["trusted"] is True
    ask("trust", "--show")


def test_a_variable_trusts_one_digest_for_one_run(
    foreign: Path, ask: Ask, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MEMKIT_TRUST keeps nothing, and another digest is no trust."""
    digest = ask("trust", "--show", code=1)["data"]["digest"]

    monkeypatch.setenv("MEMKIT_TRUST", "f" * 64)
    ask(*CHAT, code=3)
    assert not mark.exists()

    monkeypatch.setenv("MEMKIT_TRUST", digest)
    assert ask("trust", "--show")["data"]["trusted"] is True
    ask(*CHAT)
    monkeypatch.delenv("MEMKIT_TRUST")
    ask("trust", "--show", code=1)


@pytest.mark.parametrize("variable", AGENTS)
def test_an_agent_with_a_shell_trusts_nothing(
    variable: str, foreign: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can look, and a host that speaks for a person says so."""
    digest = ask("trust", "--show", code=1)["data"]["digest"]
    monkeypatch.setenv(variable, "1")

    for words in (["trust", "--yes"], ["trust"], ["trust", "--digest", digest], ["sessions", "adopt", "--yes"]):
        body = ask(*words, code=1)
        assert body["diagnostics"][0]["code"] == "persons_only"
        assert body["data"] is None
    ask("trust", "--show", code=1)

    monkeypatch.setenv("MEMKIT_PERSON", "0")
    ask("trust", "--yes", code=1)
    monkeypatch.setenv("MEMKIT_PERSON", "1")
    ask("trust", "--yes")
    monkeypatch.delenv("MEMKIT_PERSON")
    ask("trust", "--show")


def test_the_word_lies_outside_of_the_store_for_this_user_alone(foreign: Path, ask: Ask) -> None:
    """Nothing of it is in the working tree, and nobody else reads it."""
    ask("trust", "--yes")

    (kept,) = (Path.home() / ".config/memkit/keys/trust").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert git(foreign, "status", "--porcelain") == ""


def test_a_store_that_lies_around_the_kept_words_cannot_vouch_for_itself(
    foreign: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a store is somebody's home, it could bring the word along."""
    ask("trust", "--yes")
    brought = foreign / ".config/memkit/keys/trust"
    brought.parent.mkdir(parents=True)
    (Path.home() / ".config/memkit/keys/trust").rename(brought)
    (foreign / ".gitignore").open("a").write(".config\n.gitignore\n")
    monkeypatch.setenv("HOME", str(foreign))

    ask("trust", "--show", code=1)
    assert "MEMKIT_TRUST=" in message(ask("trust", "--yes", code=3))


def test_where_nothing_can_be_kept_one_line_says_so(
    foreign: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A home that cannot be written leaves the variable, which works."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))

    said = message(ask("trust", "--yes", code=3))
    assert "\n" not in said
    digest = said.rpartition("MEMKIT_TRUST=")[2]
    monkeypatch.setenv("MEMKIT_TRUST", digest)
    ask(*CHAT)


def test_a_damaged_word_is_none(foreign: Path, ask: Ask) -> None:
    """What cannot be read is not believed, and the next word replaces it."""
    ask("trust", "--yes")
    (kept,) = (Path.home() / ".config/memkit/keys/trust").iterdir()
    for content in ("", "[]", '{"digest": 1}', "{" * 100_000, '{"digest": "x", "parts": [], "folder": []}'):
        kept.write_text(content)
        ask("trust", "--show", code=1)
    ask("trust", "--yes")
    ask("trust", "--show")


def test_a_store_that_moved_stays_trusted_and_a_copy_is_not(
    foreign: Path, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder is known by what it is; two stores with one digest are two stores."""
    ask("trust", "--yes")
    git(tmp_path, "clone", "-q", str(foreign), str(tmp_path / "copy"))
    monkeypatch.chdir(tmp_path / "copy")
    assert ask("trust", "--show", code=1)["data"]["digest"]

    foreign.rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved")
    ask("trust", "--show")
    ask("trust", "--revoke")
    ask("trust", "--show", code=1)


def test_a_setting_changed_with_memkit_keeps_the_trust(foreign: Path, ask: Ask, mark: Path) -> None:
    """What a person sets is what a person wants; what is edited by hand is asked about."""
    ask("trust", "--yes")
    (foreign / "other.yaml").write_text("- {text: other}\n")
    ask("trust", "--yes")
    ask("config", "set", "provider", "scripted:other.yaml")

    assert ask(*CHAT)["data"]["message"] == "other"
    manifest = foreign / "memkit.yaml"
    manifest.write_text(manifest.read_text().replace("scripted:other.yaml", "scripted:answers.yaml"))
    assert "provider" in message(ask(*CHAT, code=3))
    assert not mark.exists()


def test_a_setting_changed_with_memkit_does_not_trust_what_was_not(foreign: Path, ask: Ask) -> None:
    """Setting a provider says nothing about the tools of the store."""
    ask("config", "set", "provider", "anthropic")

    ask("trust", "--show", code=1)


def test_the_maker_of_a_store_is_never_asked(
    store: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A store made here, with a provider that its maker sets, just works."""
    monkeypatch.chdir(store)
    (tmp_path / "answers.yaml").write_text("- {text: made here}\n")
    ask("config", "set", "provider", f"scripted:{tmp_path / 'answers.yaml'}")

    assert ask(*CHAT)["data"]["message"] == "made here"


def test_a_setting_changed_by_an_agent_is_asked_about(store: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a person's hand keeps a store trusted."""
    monkeypatch.chdir(store)
    monkeypatch.setenv("MEMKIT_AGENT", "helper")
    ask("config", "set", "provider", "anthropic")
    monkeypatch.delenv("MEMKIT_AGENT")

    ask("trust", "--show", code=1)


def test_a_change_beside_a_setting_is_not_kept_with_it(foreign: Path, ask: Ask) -> None:
    """A tool that changed before the setting was set stays to be asked about."""
    ask("trust", "--yes")
    (foreign / "tools/mark.sh").write_text("echo other\n")
    ask("config", "set", "provider", "reference")

    ask("trust", "--show", code=1)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("tools/mark.sh", "echo other\n"),
        ("tools/words.sh", "WORD=other\n"),
        ("tools/note.py", "def note(): return 1\n"),
        ("tools/paper.py", "WORD = 2\n"),
        ("tools/__init__.py", ""),
        ("paper.py", "WORD = 3\n"),
        ("Makefile", "all:\n"),
        ("answers.yaml", "- {text: other}\n"),
        ("task/evaluator.py", "def evaluate(path): return 2.0\n"),
        ("task/helper.py", "X = 1\n"),
        ("other/evaluator.py", "def evaluate(path): return 2.0\n"),
        ("skills/helper.py", "X = 1\n"),
        ("archive/helper.py", "X = 1\n"),
        (".github/helper.py", "X = 1\n"),
        (".gitlike/helper.py", "X = 1\n"),
    ],
)
def test_whatever_could_run_voids_the_trust(path: str, content: str, foreign: Path, ask: Ask, mark: Path) -> None:
    """Committed or not, what tools, checks and evaluators name, import or start is asked about when it changes."""
    ask("trust", "--yes")
    (foreign / path).parent.mkdir(exist_ok=True)
    (foreign / path).write_text(content)

    assert path in message(ask(*CHAT, code=3))
    ask("skill", "check", code=3)
    commit(foreign)
    ask(*CHAT, code=3)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("README.md", "More.\n"),
        ("skills/run.yaml", "name: run\ndescription: Runs with the dog when asked.\nsteps: [Run]\n"),
        ("outputs/x/agent.py", "X = 1\n"),
        ("tools/__pycache__/note.cpython-311.pyc", "local"),
        ("seen.jsonl", "{}\n"),
        ("left-by-a-tool", "once\n"),
        ("ignored/tool.py", "X = 1\n"),
    ],
)
def test_what_cannot_run_keeps_the_trust(path: str, content: str, foreign: Path, ask: Ask) -> None:
    """Texts, memory, what memkit writes, what tools leave, and what git ignores are no code of the store."""
    (foreign / ".gitignore").open("a").write("ignored\n")
    ask("trust", "--yes")
    (foreign / path).parent.mkdir(parents=True, exist_ok=True)
    (foreign / path).write_text(content)
    ask("memory", "add", "Ada drinks tea", "--user", "ada")
    ask("memory", "search", "tea", "--user", "ada")

    ask("trust", "--show")


def test_what_lies_in_outputs_counts_where_something_runs_it(foreign: Path, ask: Ask) -> None:
    """Memkit writes projects there, so it counts only where a tool or check names it."""
    (foreign / "outputs/x").mkdir()
    manifest = foreign / "memkit.yaml"
    tool = '  - {name: x, description: X., run: [sh, -c, "cd outputs/x && python agent.py"]}\nprovider'
    manifest.write_text(manifest.read_text().replace("provider", tool, 1))
    ask("trust", "--yes")
    (foreign / "outputs/x/helper.py").write_text("X = 1\n")

    ask("trust", "--show", code=1)


def test_tracked_byte_code_counts(foreign: Path, ask: Ask) -> None:
    """A pull can bring byte code that Python would run in place of a source that nobody changed."""
    ask("trust", "--yes")
    (foreign / "tools/__pycache__").mkdir()
    (foreign / "tools/__pycache__/note.cpython-311.pyc").write_bytes(b"evil")
    git(foreign, "add", "-f", "tools/__pycache__")

    ask("trust", "--show", code=1)


def test_a_pull_a_switch_and_a_rebase_void_the_trust(foreign: Path, made_elsewhere: Path, ask: Ask, mark: Path) -> None:
    """Whatever way a change comes, it is asked about; the way back is a change like any other."""
    ask("trust", "--yes")
    git(foreign, "branch", "before")
    (made_elsewhere / "tools/mark.sh").write_text(f"echo pulled >> '{mark}'\n")
    commit(made_elsewhere)
    git(foreign, "pull", "-q", "--rebase")
    ask(*CHAT, code=3)

    git(foreign, "checkout", "-q", "before")
    ask("trust", "--show")
    git(foreign, "checkout", "-q", "main")
    ask("trust", "--yes")
    git(foreign, "checkout", "-q", "before")
    ask(*CHAT, code=3)
    git(foreign, "rebase", "-q", "main")
    ask("trust", "--show")
    assert not mark.exists()


def test_revoking_where_nothing_was_said_is_no_fault(foreign: Path, ask: Ask) -> None:
    """Nothing is there to take back, and that is what is said."""
    assert ask("trust", "--revoke")["data"]["trusted"] is False


@pytest.mark.parametrize(
    "words", [("--show", "--yes"), ("--revoke", "--show"), ("--digest", "x", "--show"), ("--revoke", "--yes")]
)
def test_one_thing_at_a_time(words: tuple[str, ...], foreign: Path, ask: Ask) -> None:
    """Options that contradict each other are bad usage."""
    ask("trust", *words, code=2)


def test_trust_needs_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Outside of a store there is nothing to trust."""
    assert run(["trust", "--store", str(tmp_path)]) == 3
