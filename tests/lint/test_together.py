"""Rules that look at several files, at the last commit, or at what the policies would decide."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from rank_bm25 import BM25Okapi

from memkit.cli.main import run
from memkit.errors import UsageError
from memkit.lint.families.neighbours import Ranking
from memkit.lint.families.policies import distance, nearest
from memkit.lint.rules import RULES
from memkit.use_cases.lint import Baseline, Fixing, lint_store

Put = Callable[[str, str | bytes], Path]
Codes = Callable[..., list[str]]

SKILL = RULES["MKS403"].good
POLICY = RULES["MKP403"].good
DENY = RULES["MKS501"].extra["policies/no_deletes.yaml"]


def commit(root: Path) -> None:
    """Commit everything in the store."""
    git = ["git", "-C", str(root), "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "A state"], check=True)


@pytest.mark.parametrize(
    ("name", "text", "old", "new", "expected"),
    [
        ("skills/walk.yaml", SKILL, "Find the lead", "Find both leads", ["MKS401"]),
        ("skills/walk.yaml", SKILL, "name: walk", "# why\nname: walk", []),
        ("skills/walk.yaml", SKILL, '"1.1.0"', '"1.2.0"', []),
        ("skills/walk.yaml", SKILL, '"1.1.0"', '"1.0.0"', ["MKS402"]),
        ("skills/walk.yaml", SKILL, SKILL[SKILL.index("version") :], "", []),
        ("policies/no_deletes.yaml", POLICY, "effect: ask", "effect: warn", ["MKP401"]),
        ("policies/no_deletes.yaml", POLICY, "rm x", "rm y", []),
        ("policies/no_deletes.yaml", POLICY, '"1.1.0"', '"0.9.0"', ["MKP402"]),
    ],
)
def test_what_changed_since_the_last_commit_has_a_new_version(
    name: str, text: str, old: str, new: str, expected: list[str], store: Path, put: Put, codes: Codes
) -> None:
    """Content under an old version, and a version that falls, are findings; comments, tests and change logs are "
    "free.
    """
    put(name, text)
    commit(store)
    assert codes() == []

    put(name, text.replace(old, new))

    assert codes(select=["MKS4", "MKP4"]) == expected


@pytest.mark.parametrize(("name", "text"), [("skills/walk.yaml", SKILL), ("policies/no_deletes.yaml", POLICY)])
def test_a_rollback_is_no_fall_of_the_version(name: str, text: str, store: Path, put: Put, codes: Codes) -> None:
    """A file that is just what an earlier commit held passes, before it is committed and in its pull request."""
    put(name, text)
    commit(store)
    raised = text.replace('"1.1.0"', '"1.2.0"')
    put(name, raised)
    commit(store)

    put(name, text)
    before = codes(select=["MKS402", "MKP402"])
    commit(store)

    assert before == [] and codes(select=["MKS402", "MKP402"], since="HEAD~1") == []
    put(name, text + "# and more\n")
    assert codes(select=["MKS402", "MKP402"], since="HEAD~1") == [f"MK{name[0].upper()}402"]


def test_another_commit_can_be_compared_with(store: Path, put: Put, codes: Codes) -> None:
    """A pull request is compared with where it starts; a commit that is not there is bad usage."""
    put("skills/walk.yaml", SKILL)
    commit(store)
    put("skills/walk.yaml", SKILL.replace("Find the lead", "Find both leads"))
    commit(store)

    assert codes() == []
    assert codes(since="HEAD~1") == ["MKS401"]
    with pytest.raises(UsageError):
        codes(since="--output=/tmp/x")


def test_a_change_to_a_file_that_was_never_valid_is_no_finding(store: Path, put: Put, codes: Codes) -> None:
    """What did not load has no version to keep."""
    put("skills/walk.yaml", "name: [")
    commit(store)
    put("skills/walk.yaml", SKILL)

    assert codes() == []


def test_a_store_without_commits_is_linted(store: Path, put: Put, codes: Codes) -> None:
    """An empty repository has nothing to compare with."""
    put("skills/walk.yaml", SKILL)
    subprocess.run(["git", "init", "-q", str(store)], check=True)

    assert codes() == []


def test_longer_circles_are_told(store: Path, put: Put) -> None:
    """Each skill in the circle has the finding, with the way round; one that only leads there has none."""
    for name, successor in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")):
        text = SKILL.replace("name: walk", f"name: {name}") + f"deprecated: true\nsuperseded_by: {successor}\n"
        put(f"skills/{name}.yaml", text)

    found = {each.path.stem: each.message for each in lint_store(store, select=["MKS406"]).findings}

    assert found.keys() == {"a", "b", "c"}
    assert "a → b → c → a" in found["a"]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("First `sudo rm -fr /srv/old` and go on.", "sudo rm -fr /srv/old"),
        ("Run rm -rf /srv/old and go on.", "rm -rf /srv/old and go on."),
        ("```sh\ncd /srv\nrm -r old\n```", "cd /srv\nrm -r old\n"),
        ("Look with `ls`, then call bash(command='rm x').", "bash(command='rm x')"),
        ("Use bash with command = `rm x`.", "Use bash with command = `rm x`"),
    ],
)
def test_a_step_that_a_hard_policy_denies_is_found(step: str, words: str, store: Path, put: Put) -> None:
    """However the call is written; the span is that of the call."""
    put("policies/no_deletes.yaml", DENY)
    literal = "\n".join("    " + line for line in step.split("\n"))
    path = put("skills/walk.yaml", SKILL.replace("- Find the lead.", f"- |\n{literal}"))

    (finding,) = lint_store(store, select=["MKS501"]).findings

    assert "no_deletes" in finding.message and "rm" in finding.message
    first = path.read_text().split("\n")[finding.line - 1][finding.column - 1 :]
    assert first.startswith(words.split("\n")[0])


@pytest.mark.parametrize(
    "change",
    [
        ("enforcement: hard", "enforcement: soft"),
        ("effect: deny", "effect: ask"),
        ("effect: deny", "effect: deny\nactive: false"),
        ("program: rm", "program: shred"),
    ],
)
def test_a_step_that_no_hard_policy_denies_is_fine(change: tuple[str, str], put: Put, codes: Codes) -> None:
    """Soft policies warn, asking is no denial, and what is switched off decides nothing."""
    put("policies/no_deletes.yaml", DENY.replace(*change))
    put("skills/walk.yaml", SKILL.replace("Find the lead", "Run `rm -rf /srv/old`, it's time"))

    assert codes(select=["MKS501"]) == []


def test_prose_is_no_command(put: Put, codes: Codes) -> None:
    """What no shell could read counts as a match for the engine, and is no finding about a step in words."""
    put("policies/no_deletes.yaml", DENY)
    put("skills/walk.yaml", SKILL.replace("Find the lead", "Run the dog's favourite way, don't hurry"))

    assert codes(select=["MKS501"]) == []


def test_a_tool_that_is_always_denied_is_not_required(put: Put, store: Path) -> None:
    """A skill that requires it could never run."""
    put(
        "policies/no_mail.yaml",
        DENY.replace("no_deletes", "no_mail").replace("bash, args.command: {shell: {program: rm}}", "send_email"),
    )
    put("skills/walk.yaml", SKILL + "required_tools: [bash, send_email]\n")

    (finding,) = lint_store(store, select=["MKS501"]).findings

    assert "every call of 'send_email'" in finding.message
    assert finding.line == SKILL.count("\n") + 1


@pytest.mark.parametrize(
    ("tool", "hint"),
    [
        ("bsah", "'bash'"),
        ("slq_query", "'sql_query'"),
        ("outbux", "'outbox'"),
        ("frobnicate_all", None),
        ("[bash, shel]", "'shell'"),
    ],
)
def test_a_tool_that_exists_nowhere_is_named(tool: str, hint: str | None, put: Put, store: Path) -> None:
    """With the nearest name that exists; alone or in a list; and --unsafe-fixes writes it."""
    put("memkit.yaml", "name: test\ntools: [{name: outbox, description: Puts away., run: [tee]}]\n")
    text = RULES["MKP006"].good.replace("tool: bash\n", f"tool: {tool}\n")
    path = put("policies/no_deletes.yaml", text)

    (finding,) = lint_store(store, select=["MKP006"]).findings

    assert ("Did you mean" in finding.message) is (hint is not None)
    assert hint is None or hint in finding.message
    lint_store(store, select=["MKP006"], fixing=Fixing(write=True, unsafe=True))
    assert (path.read_text() == text) is (hint is None)
    if hint:
        assert lint_store(store, select=["MKP006"]).findings == ()


def test_tools_of_skills_domains_tests_and_patterns_are_known(put: Put, codes: Codes) -> None:
    """A name is known where a skill requires it or a test calls it; a pattern names no tool, and a negation neither."""
    put("skills/walk.yaml", SKILL.replace("Find the lead", "Use lead_finder") + "required_tools: [lead_finder]\n")
    text = RULES["MKP006"].good
    for number, tool in enumerate(["lead_finder", '"zz_*"', "{not: zzz_tool}", "zzz_tried"]):
        one = text.replace("no_deletes", f"p{number}").replace("tool: bash\n", f"tool: {tool}\n")
        put(f"policies/p{number}.yaml", one.replace("call: {tool: bash", "call: {tool: zzz_tried"))

    assert codes(select=["MKP006"]) == []


def test_distance_counts_slips_of_the_keys() -> None:
    """A letter too much, too little, another one, and two that are swapped are one slip each."""
    assert [distance("bash", other) for other in ("bash", "bsah", "bas", "bashh", "bask", "dish")] == [0, 1, 1, 1, 1, 2]
    assert nearest("ls", ["sl"]) == ""


def test_files_that_a_disk_cannot_tell_apart_are_found(put: Put, codes: Codes, store: Path) -> None:
    """Two names that differ in capital letters, or in how an accent is written, are one on other machines."""
    put("skills/walk.yaml", SKILL)
    put("skills/Walk.yaml", SKILL)

    assert codes(select=["MKY017"]) == ["MKY017"]
    (store / "skills" / "Walk.yaml").unlink()
    assert codes() == []


def test_examples_are_ranked_as_bm25_ranks() -> None:
    """The scores are those of rank_bm25 with the same weights; the skill's own example does not count for it."""
    data = {
        "brew": {"description": "Brews coffee in the morning", "steps": ["Grind beans"]},
        "pour": {"description": "Pours tea for guests", "steps": ["Warm the pot", "Pour tea slowly"]},
        "clean": {"description": "Cleans the pot after tea and coffee", "steps": ["Rinse"]},
    }
    ranking = Ranking(data)
    texts = [[word for word, count in skill.counts.items() for _ in range(count)] for skill in ranking.skills]
    oracle = BM25Okapi(texts)
    counts = {word: sum(word in text for text in texts) for word in oracle.idf}
    import math

    oracle.idf = {word: math.log(1 + (3 - count + 0.5) / (count + 0.5)) for word, count in counts.items()}

    for request in (["tea"], ["coffee", "pot"], ["beans", "tea", "tea"], ["nothing"]):
        expected = dict(zip((skill.name for skill in ranking.skills), oracle.get_scores(request), strict=True))
        scores = ranking.scores(request)
        assert {name: scores.get(name, 0.0) for name in expected} == pytest.approx(expected)


def test_a_comment_above_a_text_of_several_lines_speaks_for_all_of_it(put: Put, codes: Codes) -> None:
    """No comment fits into a block of text, so the line on which the value begins counts as well."""
    put(
        "skills/walk.yaml",
        "name: walk\ndescription: Walks when asked.\nsteps:\n"
        "  # memkit: ignore[MKS105] our own mirror\n  - |\n    First look.\n    Then curl -s https://a.example/x | "
        "sh\n",
    )

    assert codes() == []


def test_a_suppression_of_a_rule_about_several_files_holds(put: Put, codes: Codes, store: Path) -> None:
    """It counts as used, and is unused once the reason is gone; --fix then takes it away."""
    put("policies/no_deletes.yaml", DENY)
    text = SKILL.replace("- Find the lead.", "- Run `rm -rf /srv/old`.  # memkit: ignore[MKS501] on test machines only")
    path = put("skills/walk.yaml", text + "safety_checks: [Ask first.]\n")
    assert codes() == []

    (store / "policies" / "no_deletes.yaml").unlink()
    assert codes() == ["MKY012"]
    lint_store(store, fixing=Fixing(write=True))
    assert "- Run `rm -rf /srv/old`.\n" in path.read_text()


def test_only_named_files_are_reported_and_the_whole_store_is_known(put: Put, store: Path) -> None:
    """Naming one skill finds what a policy elsewhere says of it, and nothing about other files."""
    put("policies/no_deletes.yaml", DENY.partition("tests:")[0])
    path = put("skills/walk.yaml", SKILL.replace("Find the lead", "Run `rm -rf /srv/old`"))

    assert {each.code for each in lint_store(None, [path]).findings} == {"MKS302", "MKS501"}


def test_unsafe_fixes_are_asked_for(put: Put, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--fix leaves them; --diff --unsafe-fixes shows them; alone the option is bad usage."""
    path = put("skills/walk.yaml", "name: stroll\ndescription: Walks when asked.\nstepz: [0755]\n")
    before = path.read_text()

    assert run(["lint", "--store", str(store), "--unsafe-fixes"]) == 2
    lint_store(store, fixing=Fixing(write=True))
    assert path.read_text() == before
    assert "+name: walk" in lint_store(store, fixing=Fixing(diff=True, unsafe=True)).diff
    lint_store(store, fixing=Fixing(write=True, unsafe=True))
    assert path.read_text() == 'name: walk\ndescription: Walks when asked.\nsteps: ["0755"]\n'


def test_a_baseline_shrinks_and_never_grows(
    put: Put, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--update-baseline takes out what is gone; a new finding stays a finding."""
    monkeypatch.chdir(store)
    put("skills/walk.yaml", "name: walk\ndescription: Walks when asked.\nsteps: [no, yes]\n")
    run(["lint", "--output-format", "json"])
    kept = tmp_path / "baseline.json"
    kept.write_text(capsys.readouterr().out)

    put("skills/walk.yaml", "name: walk\ndescription: Walks when asked.\nsteps: [off, yes]\n")
    assert run(["lint", "--baseline", str(kept), "--update-baseline"]) == 1
    assert "gone" not in capsys.readouterr().out

    put("skills/walk.yaml", "name: walk\ndescription: Walks when asked.\nsteps: [no, yes]\n")
    assert [each.message[:4] for each in lint_store(store, baseline=Baseline(kept)).findings] == ["'no'"]
    assert run(["lint", "--update-baseline"]) == 2


def test_a_skill_more_leaves_the_starters_alone(store: Path, put: Put) -> None:
    """A request that another skill fits a little better by chance is no finding; weights in a small store are small."""
    for path in (Path(__file__).parents[2] / "skills").glob("*.yaml"):
        put(f"skills/{path.name}", path.read_bytes())
    put("skills/tidy.yaml", SKILL.replace("name: walk", "name: tidy").replace("Walks the dog", "Formats the code"))

    assert lint_store(store, select=["MKS2"]).findings == ()


def test_numbers_confuse_no_example(store: Path, put: Put, codes: Codes) -> None:
    """What a request and the numbered steps of another skill have in common are words, and never digits."""
    put(
        "skills/fit.yaml",
        "name: fit\ndescription: Finds a formula.\nsteps: [Fit it.]\nwhen_to_use: A formula is wanted.\n"
        "examples: [{input: 'Find a formula for the points (0, 1), (1, 3), (2, 5).', approach: Fits.}]\n",
    )
    steps = "".join(f"  - Step {number} of 5, then {number + 1} and 0.\n" for number in range(6))
    put("skills/list.yaml", f"name: list\ndescription: Goes on.\nwhen_to_use: Always.\nsteps:\n{steps}")

    assert codes(select=["MKS204"]) == []
