"""Without a person's word nothing of a store runs, is imported or chosen; everything else works."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from foreign_store import CHECKED, Ask, commit, git

from memkit.agent import Setting
from memkit.cli.main import run
from memkit.evolution.task import find_task
from memkit.runtime.testing import FakeServer
from memkit.use_cases.evolution import require_trusted_task
from memkit.use_cases.open_chat import open_chat
from memkit.workspace import open_workspace

REFUSED = [
    ("chat", "-p", "hello"),
    ("chat", "--heartbeat"),
    ("chat", "-p", "hello", "--provider", "scripted:answers.yaml"),
    ("chat", "-p", "hello", "--user", "ada", "--consent"),
    ("skill", "check"),
    ("skill", "check", "walk"),
    ("skill", "commit", "walk", "--bump", "minor"),
    ("skill", "run", "walk"),
    ("skill", "run", "walk", "--dry-run"),
    ("plan", "be_marked", "--domain", "marking", "--run"),
    ("evolve", "task", "--generations", "1"),
    ("evolve", "task/initial_program.py", "--evaluator", "task/evaluator.py", "--generations", "1"),
]
WORKS = [
    ("chat", "-p", "hello", "--provider", "reference"),
    ("skill", "list"),
    ("skill", "show", "walk"),
    ("skill", "commit", "walk", "--bump", "minor", "--skip-checks"),
    ("policy", "list"),
    ("policy", "test"),
    ("plan", "be_marked", "--domain", "marking"),
    ("plan", "be_marked", "--domain", "marking", "--dry-run"),
    ("memory", "add", "Ada drinks tea", "--user", "ada"),
    ("memory", "search", "tea", "--user", "ada"),
    ("memory", "consolidate", "--user", "ada"),
    ("lint",),
    ("review", "HEAD"),
    ("doctor",),
    ("config", "show"),
    ("fsck",),
    ("gen", "--target", "react", "--out", "{out}"),
]


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_what_would_run_is_refused_in_one_line(
    words: Sequence[str], foreign: Path, mark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 3, one line that names the way out, and nothing ran or changed."""
    (foreign / "skills/walk.yaml").open("a").write("# seen\n")
    head = git(foreign, "rev-parse", "HEAD")

    assert run([*words]) == 3

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "'memkit trust'" in said.err
    if words[0] == "chat":
        assert "--provider reference" in said.err
    assert not mark.exists()
    assert git(foreign, "rev-parse", "HEAD") == head


@pytest.mark.parametrize("words", WORKS, ids=" ".join)
def test_everything_else_works(
    words: Sequence[str], foreign: Path, mark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A store is read, linted, reviewed, planned in and added to without anybody's word."""
    (foreign / "skills/walk.yaml").open("a").write("# seen\n")

    code = run([word.format(out=tmp_path / "out") for word in words])

    assert code == 0, capsys.readouterr().err
    assert not mark.exists()


def test_the_reference_model_talks_without_the_tools_of_the_store(foreign: Path, ask: Ask, mark: Path) -> None:
    """What memkit ships stays; what the store brought is named as left out."""
    said = ask("chat", "-p", "Call mark", "--provider", "reference")["data"]

    assert said["tool_calls"] == []
    assert not mark.exists()
    with open_workspace(foreign) as workspace:
        agent = open_chat(workspace, Setting(), provider="reference")
        offered = {spec.name for spec in agent.toolbox.specs()}
    assert "outbox" in offered
    assert not {"mark", "note"} & offered


def test_the_reference_model_may_be_asked_for_by_a_variable(
    foreign: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flag and a variable are a person's; memkit.yaml is the store's."""
    monkeypatch.setenv("MEMKIT_PROVIDER", "reference")

    ask("chat", "-p", "hello")


def test_a_provider_by_flag_needs_no_trust_where_the_store_has_no_tools(
    store: Path, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the person names is asked, whatever the store says."""
    monkeypatch.chdir(store)
    (tmp_path / "mine.yaml").write_text("- {text: mine}\n")
    manifest = store / "memkit.yaml"
    manifest.write_text(manifest.read_text() + "provider: anthropic\nmodel: dear\n")

    assert [each["kind"] for each in ask("trust", "--show", code=1)["data"]["allows"]] == ["provider", "model"]

    mine = f"scripted:{tmp_path / 'mine.yaml'}"
    assert ask("chat", "-p", "hello", "--provider", mine)["data"]["message"] == "mine"
    monkeypatch.setenv("MEMKIT_PROVIDER", mine)
    assert ask("chat", "-p", "hello")["data"]["message"] == "mine"


def test_the_model_of_a_store_is_asked_for_only_where_trusted(
    store: Path, model_server: Callable[..., FakeServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a provider that serves many vendors' models, its name decides where the words go."""
    server = model_server("chat", ["a", "b"])
    manifest = store / "memkit.yaml"
    manifest.write_text(manifest.read_text() + "model: elsewhere/model\n")
    chat = ["chat", "-p", "hello", "--provider", "openai", "--store", str(store)]

    assert run(chat) == 0
    assert run(["trust", "--yes", "--store", str(store)]) == 0
    assert run(chat) == 0
    asked = [conversation.model for conversation in server.asked]
    assert asked[0] != "elsewhere/model"
    assert asked[-1] == "elsewhere/model"


def test_the_files_of_a_store_start_at_the_store(
    foreign: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What was trusted is what is read, wherever the command runs."""
    ask("trust", "--yes")
    (tmp_path / "here").mkdir()
    (tmp_path / "here/answers.yaml").write_text("- {text: other}\n")
    monkeypatch.chdir(tmp_path / "here")

    assert ask("chat", "-p", "hello", "--store", str(foreign))["data"]["message"] == "done"


def test_a_model_to_sum_up_is_chosen_only_where_trusted(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would be sent the conversation."""
    monkeypatch.chdir(store)
    manifest = store / "memkit.yaml"
    manifest.write_text(manifest.read_text() + "context: {summary_model: 'openai:gpt-x'}\n")

    assert run(["chat", "-p", "hello"]) == 0
    assert "context.summary_model" in capsys.readouterr().err
    assert run(["trust", "--yes"]) == 0


def test_a_model_of_vectors_is_left_aside_and_words_are_searched(
    store: Path, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A path that the store names is not opened; whoever wants the model's vectors is refused."""
    monkeypatch.chdir(store)
    ask("memory", "add", "Ada drinks tea", "--user", "ada")
    manifest = store / "memkit.yaml"
    manifest.write_text(manifest.read_text() + f"retrieval: {{vectors: '{tmp_path / 'pipe'}'}}\n")
    shown = ask("trust", "--show", code=1)["data"]["allows"]

    assert [each["kind"] for each in shown] == ["embedding_model"]
    assert run(["memory", "search", "tea", "--user", "ada"]) == 0
    said = capsys.readouterr()
    assert "Ada drinks tea" in said.out
    assert said.err.count("retrieval.vectors") == 1
    ask("index", "rebuild", "--vectors", code=3)
    ask("memory", "add", "Ada has a cat", "--user", "ada")


def test_a_server_of_sessions_is_left_aside_and_memory_in_files_is_read(
    store: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody asks it, and what would be asked is shown and can be trusted; conversations wait for that."""
    monkeypatch.chdir(store)
    ask("memory", "add", "Ada drinks tea", "--user", "ada")
    manifest = store / "memkit.yaml"
    manifest.write_text(manifest.read_text() + "backends: {archive: files, working: redis://127.0.0.1:1/0}\n")

    (found,) = ask("memory", "search", "tea", "--user", "ada")["data"]["results"]
    assert found["text"] == "Ada drinks tea"
    ask("memory", "add", "Ada has a cat", "--user", "ada")
    ask("chat", "-p", "hello", code=3)
    assert [each["kind"] for each in ask("trust", "--show", code=1)["data"]["allows"]] == ["working"]
    assert ask("trust", "--yes")["data"]["trusted"] is True


def test_a_model_that_judges_contradictions_is_left_aside(
    foreign: Path, ask: Ask, mark: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Memory is added by rules alone."""
    manifest = foreign / "memkit.yaml"
    manifest.write_text(manifest.read_text() + "write: {contradiction_model: provider}\n")

    assert run(["memory", "add", "Ada lives in Graz", "--user", "ada"]) == 0
    assert "provider scripted:answers.yaml" in capsys.readouterr().err


def test_the_outbox_is_no_outbox_where_it_leads_out(
    store: Path, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The starter's tool appends to a file of the store; as a link it would append to anything."""
    monkeypatch.chdir(store)
    (store / "outbox.jsonl").symlink_to(tmp_path / ".bashrc")

    assert [each["kind"] for each in ask("trust", "--show", code=1)["data"]["allows"]] == ["tool"]
    ask("chat", "-p", "hello", code=3)


def test_a_tool_that_changes_during_a_talk_does_not_run(foreign: Path, ask: Ask, mark: Path) -> None:
    """The check is made again before every call of a tool of the store."""
    ask("trust", "--yes")
    with open_workspace(foreign) as workspace:
        agent = open_chat(workspace, Setting())
        (foreign / "tools/words.sh").write_text("WORD=pulled\n")
        reply = agent.step("go on")

    assert all(call["error"] for call in reply.data["tool_calls"])
    assert "tools/words.sh" in reply.data["tool_calls"][0]["result"]
    assert not mark.exists()


def test_a_run_of_a_plan_is_not_gone_on_with(foreign: Path, ask: Ask, mark: Path) -> None:
    """A run that began while the store was trusted stops with the trust."""
    ask("trust", "--yes")
    run_id = ask("plan", "be_marked", "--domain", "marking", "--run")["data"]["execution"]["run"]
    assert mark.read_text() == "tool\n"
    ask("trust", "--revoke")

    ask("plan", "--resume", run_id, code=3)


def test_evaluators_are_found_wherever_the_command_runs(
    foreign: Path, ask: Ask, mark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An evaluator lies in a store by its place, and also where a link of the store leads out."""
    monkeypatch.chdir(tmp_path)
    ask("evolve", str(foreign / "task"), code=3)

    shutil.copytree(foreign / "task", tmp_path / "mine")
    (foreign / "task/evaluator.py").unlink()
    (foreign / "task/evaluator.py").symlink_to(tmp_path / "mine/evaluator.py")
    ask("evolve", str(foreign / "task"), code=3)

    (tmp_path / "linked").symlink_to(foreign / "task")
    ask("evolve", str(tmp_path / "linked"), code=3)
    assert not mark.exists()
    require_trusted_task(find_task(tmp_path / "mine"), unsafe=True)


def test_an_evaluator_that_was_not_told_of_does_not_run(foreign: Path, ask: Ask, mark: Path) -> None:
    """A file that gets its function from elsewhere was in nobody's question."""
    (foreign / "task/judge.py").write_text("from evaluator import *\n")
    commit(foreign)
    ask("trust", "--yes")

    body = ask("evolve", "task/initial_program.py", "--evaluator", "task/judge.py", "--generations", "1", code=3)
    assert "evaluator.py" in body["diagnostics"][0]["message"]
    assert not mark.exists()


def test_programs_run_unconfined_only_where_trusted(foreign: Path, ask: Ask, tmp_path: Path, mark: Path) -> None:
    """--unsafe runs the program with one's rights, so it is asked about as an evaluator is."""
    (tmp_path / "judge.py").write_text("def evaluate(path): return 1.0\n")

    words = ("evolve", "task/initial_program.py", "--evaluator", str(tmp_path / "judge.py"), "--generations", "1")
    ask(*words, "--unsafe", code=3)


def test_a_trusted_task_evolves(foreign: Path, ask: Ask, mark: Path) -> None:
    """With a person's word the evaluator judges."""
    ask("trust", "--yes")

    assert ask("evolve", "task", "--generations", "1", "--population", "2")["data"]["best"]["score"] == 1.0
    assert mark.read_text() == "evaluator"


def test_a_rollback_brings_no_command_that_was_not_asked_about(foreign: Path, ask: Ask, mark: Path) -> None:
    """A check of an earlier version is another one than that which was trusted."""
    (foreign / "skills/walk.yaml").write_text(CHECKED.replace("tools/mark.sh", "tools/words.sh"))
    ask("trust", "--yes")
    ask("skill", "commit", "walk", "--bump", "minor")

    ask("skill", "rollback", "walk", "1.0.0", code=3)
    assert "words.sh" in (foreign / "skills/walk.yaml").read_text()
    assert not mark.exists()


def test_checks_run_in_a_trusted_store(foreign: Path, ask: Ask, mark: Path) -> None:
    """With a person's word commands check a skill again."""
    ask("trust", "--yes")

    ask("skill", "check")
    assert mark.read_text() == "tool\n"


def test_a_check_hidden_by_escapes_is_seen(foreign: Path, ask: Ask, mark: Path) -> None:
    """A key may be spelled so that no search for its letters finds it."""
    ask("trust", "--yes")
    (foreign / "skills/run.yaml").write_text(
        "name: run\ndescription: Runs with the dog when asked.\nsteps: [Run]\n"
        f'"check\\x73": [{{name: marks, run: [touch, "{mark}"]}}]\n'
    )

    ask("skill", "check", "run", code=3)
    assert not mark.exists()


@pytest.mark.parametrize("first", ["tool", "check"])
def test_what_has_the_name_of_another_thing_counts_as_well(first: str, store: Path, ask: Ask, mark: Path) -> None:
    """Of two tools or checks of one name neither can change behind the other."""
    manifest, skill = store / "memkit.yaml", store / "skills/walk.yaml"
    run_words = ["date", "date"]

    def written() -> str:
        tools = [f"  - {{name: mark, description: M., run: [sh, -c, {word}]}}\n" for word in run_words]
        checks = ", ".join(f"{{name: c, run: [sh, -c, {word}]}}" for word in run_words)
        manifest.write_text(start + ("".join(tools) if first == "tool" else ""))
        skill.write_text(CHECKED.partition("checks:")[0] + (f"checks: [{checks}]\n" if first == "check" else ""))
        shown: str = ask("trust", "--show", "--store", str(store), code=1)["data"]["digest"]
        return shown

    start = manifest.read_text()
    before = written()
    run_words[0] = "id"
    changed = written()
    run_words.reverse()

    assert len({before, changed, written()}) == 3


@pytest.mark.parametrize("hidden", [".gitignore", ".git/info/exclude"])
def test_a_store_that_ignores_itself_counts_whole(hidden: str, foreign: Path, ask: Ask) -> None:
    """Nobody takes files out of the account by telling git to look away."""
    git(foreign, "rm", "-q", "-r", "--cached", ".")
    (foreign / hidden).parent.mkdir(exist_ok=True)
    (foreign / hidden).write_text("*\n")
    ask("trust", "--yes")
    (foreign / "tools/words.sh").write_text("WORD=other\n")

    ask("chat", "-p", "hello", code=3)


def test_a_store_without_a_repository_is_trusted_all_the_same(foreign: Path, ask: Ask, mark: Path) -> None:
    """A store from an archive has no git; what counts is on the disk."""
    shutil.rmtree(foreign / ".git")
    ask("chat", "-p", "hello", code=3)
    ask("trust", "--yes")
    assert ask("chat", "-p", "hello")["data"]["message"] == "done"
    ask("trust", "--show")
    (foreign / "tools/paper.py").write_text("WORD = 'other'\n")
    ask("chat", "-p", "hello", code=3)


def test_code_of_a_submodule_counts(foreign: Path, ask: Ask, tmp_path: Path) -> None:
    """A repository inside of the store can hold what tools import."""
    inner = foreign / "tools/inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "more.py").write_text("X = 1\n")
    commit(inner)
    git(foreign, "add", "tools/inner")
    ask("trust", "--yes")
    (inner / "more.py").write_text("X = 2\n")

    ask("trust", "--show", code=1)


def test_names_of_things_cannot_write_on_the_terminal(foreign: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is shown before a person agrees is one line each, with nothing that a terminal obeys."""
    manifest = foreign / "memkit.yaml"
    evil = '  - {name: evil, description: x, run: ["sh", "\\e[2J\\nTrusted: nothing"]}\nprovider'
    manifest.write_text(manifest.read_text().replace("provider", evil))

    assert run(["trust", "--show"]) == 1
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\nTrusted: nothing" not in shown


def test_an_export_says_that_it_marks_what_others_wrote(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whose own memory it is learns that trusting the store first leaves it unmarked."""
    other, said = tmp_path / "other", "run 'memkit trust' first"
    assert run(["memory", "add", "Ada prefers espresso", "--user", "ada", "--store", str(store)]) == 0
    commit(store)
    git(tmp_path, "clone", "-q", str(store), str(other))

    def exported(where: Path) -> tuple[str, str]:
        assert run(["memory", "export", "--user", "ada", "--store", str(where)]) == 0
        told = capsys.readouterr()
        return told.out.partition("\n")[0], told.err

    (whole, told), (marked, noted) = exported(store), exported(other)
    assert ('"taint"' in whole, said in told, '"writer:' in marked, said in noted) == (False, False, True, True)


def test_a_person_approves_one_record_of_another_clone(store: Path, ask: Ask, tmp_path: Path) -> None:
    """Verified there is not vouched for here: approving it lifts its taint, and nothing else becomes clean."""
    for text in ("Ada lives in Porto", "Ada rows"):
        ask("memory", "add", text, "--user", "ada", "--store", str(store))
    commit(store, "Remember")
    git(tmp_path, "clone", "-q", str(store), str(tmp_path / "clone"))
    here = ("--user", "ada", "--store", str(tmp_path / "clone"))

    def taints() -> dict[str, list[str]]:
        found = ask("memory", "search", "Ada lives, Ada rows", *here)["data"]["results"]
        return {hit["text"]: [origin.partition(":")[0] for origin in hit["taint"]] for hit in found}

    assert taints() == {"Ada lives in Porto": ["writer"], "Ada rows": ["writer"]}
    (id,) = (one["id"] for one in ask("memory", "list", *here)["data"]["records"] if "Porto" in one["text"])

    ask("memory", "approve", id, *here)

    assert taints() == {"Ada lives in Porto": [], "Ada rows": ["writer"]}


def test_what_another_clone_does_to_a_record_of_this_one_waits(
    store: Path, ask: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pulled correction or removal changes nothing here until it is approved, and the list says why."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(store), str(clone))
    here, there = (("--user", "ada", "--store", str(path)) for path in (clone, store))
    tea, cello = (ask("memory", "add", text, *here)["data"]["id"] for text in ("Ada drinks tea", "Ada plays the cello"))
    commit(clone, "Remember")
    git(store, "pull", "-q", "--no-edit", str(clone), "HEAD")
    rum = ask("memory", "supersede", tea, "Ada drinks rum", *there)["data"]["id"]
    ask("memory", "forget", cello, *there)
    ask("memory", "add", "The bakery closes at six", *there)
    commit(store, "Change")
    git(clone, "pull", "-q", "--no-edit", "origin", "HEAD")

    def recalled() -> set[str]:
        return {hit["text"] for hit in ask("memory", "search", "drinks, plays", *here)["data"]["results"]}

    assert recalled() == {"Ada drinks tea", "Ada plays the cello"}
    assert [entry.get("held") for entry in ask("memory", "get", cello, *here)["data"]["history"]] == [None, True]
    assert [line["held"] for line in ask("memory", "blame", cello, *here)["data"]["lines"]] == [False, True]
    assert ask("memory", "stats", *here)["data"]["tainted"] == 1  # the bakery's
    waiting = ask("memory", "list", "--open", *here)["data"]["waiting"]
    assert sorted(one["kind"] for one in waiting) == ["forget", "record"]
    assert run(["memory", "list", "--open", *here]) == 0
    assert capsys.readouterr().out.count("Another clone wrote it, and nobody here trusted this store") == len(waiting)

    assert run(["memory", "get", cello, *here]) == 0
    assert "forget  by person, without effect" in capsys.readouterr().out
    (wish,) = (one["id"] for one in waiting if one["kind"] == "forget")
    ask("memory", "approve", wish, *here)
    assert recalled() == {"Ada drinks tea"}
    notes = ask("memory", "reject", rum, *here).get("diagnostics", [])
    assert "revived" not in [note["code"] for note in notes]  # tea was never gone
    assert recalled() == {"Ada drinks tea"}
    assert ask("memory", "list", "--open", *here)["data"] == {"open": []}
