"""Skills: reading, finding, exporting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.cli.main import run
from memkit.errors import NotFound, UsageError
from memkit.resources import resource
from memkit.runtime.host.terminal import harmless
from memkit.skills.sheet import PROFILES, agent_skill, kebab_case, sheet_problems
from memkit.skills.skill import Skill, load_named_skill, load_skill, load_skills, search_skills

STARTERS = ("hybrid-planner", "virtual-memory", "write-a-decision-record")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Make a store with one full and one minimal skill."""
    (tmp_path / "skills").mkdir()
    (tmp_path / "memkit.yaml").write_text("name: test\n")
    (tmp_path / "skills" / "brew_tea.yaml").write_text(
        "name: brew_tea\ndescription: Makes tea.\nwhen_to_use: Somebody is thirsty.\nsteps: [Boil water, Wait]\n"
        "required_tools: [kettle]\nversion: '2.0.1'\nexamples: [{input: 'I want tea', approach: Boils water.}]\n"
    )
    (tmp_path / "skills" / "walk.yaml").write_text("name: walk\ndescription: Walks the dog.\nsteps: [Find the lead]\n")
    return tmp_path


def test_a_skill_is_read_into_a_value(store: Path) -> None:
    """A single text and a list of texts mean the same for when_to_use."""
    found = load_skill(store / "skills" / "brew_tea.yaml")

    assert found.when_to_use == ("Somebody is thirsty.",)
    assert (found.steps, found.required_tools, found.version) == (("Boil water", "Wait"), ("kettle",), "2.0.1")
    assert found.examples[0].approach == "Boils water."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: other\ndescription: d\nsteps: [a]\n", "bad.yaml:1:7: The skill is named 'other', but its file 'bad'"),
        ("name: bad\ndescription: d\n", "bad.yaml:1:1: The key 'steps' is missing."),
        ("name: bad\ndescription: d\nsteps: []\n", "bad.yaml:3:8: 'steps' must not be empty."),
        ("name: ../x\ndescription: d\nsteps: [a]\n", "bad.yaml:1:7: 'name' is '../x', which does not match"),
        ("name: bad\ndescripton: d\nsteps: [a]\n", "is missing"),
        ("name: bad\ndescription: d\nsteps: [a]\nversion: 1.0\n", "bad.yaml:4:10: 'version' must be a string"),
        ("- a\n", "bad.yaml:1:1: The file must be a map, but is a list."),
        ("", "bad.yaml:1:1: The file must be a map, but is empty."),
    ],
)
def test_a_wrong_skill_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    """The first thing that is wrong is said with file, line and column."""
    path = tmp_path / "bad.yaml"
    path.write_text(text)

    with pytest.raises(UsageError) as caught:
        load_skill(path)

    assert message in str(caught.value)


def test_an_unknown_skill_is_answered_with_the_nearest(store: Path) -> None:
    """A misspelt name gets a suggestion."""
    with pytest.raises(NotFound, match="Did you mean 'brew_tea'"):
        load_named_skill(store, "brew_te")


@pytest.mark.parametrize("name", ["../../etc/passwd", "-x", "", "a/b", "A", "a\x00b"])
def test_a_name_that_is_a_path_is_refused(store: Path, name: str) -> None:
    """What cannot name a skill never becomes a path."""
    with pytest.raises(UsageError, match="cannot name a skill"):
        load_named_skill(store, name)


def test_one_skill_is_shown_whatever_state_the_others_are_in(store: Path) -> None:
    """A broken skill hides itself and no other one; the complete set does not load."""
    (store / "skills" / "broken.yaml").write_text("name: [")

    assert load_named_skill(store, "walk").name == "walk"
    with pytest.raises(UsageError, match=r"skills/broken\.yaml:1:"):
        load_skills(store)


def test_search_finds_by_words_and_orders_by_fit(store: Path) -> None:
    """What shares no word is absent; what shares more comes first."""
    skills = load_skills(store).values()

    assert [skill.name for skill, _ in search_skills(skills, "tea for the thirsty")] == ["brew_tea", "walk"]
    assert search_skills(skills, "zebra") == []


def test_search_in_no_skills_one_skill_or_equal_skills_is_answered() -> None:
    """Sizes that BM25 libraries stumble over give sane results; equals come in the order of their names."""
    one = Skill("a", "tea", ("tea",))
    two = Skill("b", "tea", ("tea",))

    assert search_skills([], "tea") == []
    assert search_skills([one], "") == []
    assert [skill.name for skill, _ in search_skills([one], "tea")] == ["a"]
    assert [skill.name for skill, _ in search_skills([two, one], "tea")] == ["a", "b"]
    assert search_skills([Skill("-", "-", ("-",))], "tea") == []


def test_the_starters_load_and_say_when_to_use_them() -> None:
    """Every starter is complete."""
    skills = load_skills(resource("skills").parent)

    assert tuple(skills) == STARTERS
    for skill in skills.values():
        assert skill.when_to_use and skill.safety_checks and skill.examples and not skill.version


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", STARTERS)
def test_the_starters_export_validly(name: str, profile: str) -> None:
    """The own check finds nothing in an exported starter."""
    skill = load_skills(resource("skills").parent)[name]

    assert sheet_problems(agent_skill(skill, profile), kebab_case(name), profile) == []


TEXT = st.text(min_size=1, max_size=1200).filter(str.strip)
NAME = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,63}", fullmatch=True)
HOSTILE = st.builds(
    Skill,
    name=NAME,
    description=TEXT,
    steps=st.tuples(TEXT),
    when_to_use=st.tuples(TEXT),
    required_tools=st.tuples(TEXT),
    version=st.just("1.0.0"),
)


@settings(deadline=None)
@given(HOSTILE, st.sampled_from(list(PROFILES)))
def test_any_skill_exports_validly(skill: Skill, profile: str) -> None:
    """No text in a skill can break the front matter or pass a limit, and nothing in it moves a terminal."""
    text = agent_skill(skill, profile)

    assert sheet_problems(text, kebab_case(skill.name), profile) == []
    assert harmless(text) == text


@pytest.mark.parametrize(
    ("front_matter", "problem"),
    [
        ('name: "Tea"\ndescription: "d"\n', "lower-case"),
        ('name: "coffee"\ndescription: "d"\n', "differs from the directory"),
        ('name: "tea"\ndescription: ""\n', "1 to 1024"),
        ('name: "tea"\ndescription: "' + "x" * 1025 + '"\n', "1 to 1024"),
        ('name: "tea"\ndescription: "d"\nwhen_to_use: "x"\n', "does not know the fields when_to_use"),
        ('name: "tea"\ndescription: "d"\nmetadata: "x"\n', "map of strings"),
        ('name: "tea"\ndescription: [a]\n', "must be a string"),
        ('name: "tea"\nname: "tea"\n', "Duplicate key 'name'"),
        ('name: "tea"\ndescription: "d"\ncompatibility: "' + "x" * 501 + '"\n', "at most 500"),
        ("- a\n", "not a map"),
    ],
)
def test_the_own_check_names_what_the_format_forbids(front_matter: str, problem: str) -> None:
    """Each rule of the format has an answer."""
    found = sheet_problems(f"---\n{front_matter}---\n\n# Tea\n", "tea")

    assert any(problem in line for line in found), found


def test_a_sheet_without_front_matter_is_no_skill() -> None:
    """A plain Markdown file is refused."""
    assert sheet_problems("# Tea\n", "tea")


@pytest.mark.parametrize("name", [*STARTERS, "brew_tea"])
def test_exports_pass_the_public_validator(store: Path, tmp_path: Path, name: str) -> None:
    """The validator that the format's authors publish accepts what is exported."""
    pytest.importorskip("skills_ref")
    root = store if name == "brew_tea" else resource("skills").parent
    assert (
        run(["skill", "export", name, "--out", str(tmp_path / "out"), "--store", str(_with_manifest(root, tmp_path))])
        == 0
    )

    validator = Path(sys.executable).parent / "agentskills"
    done = subprocess.run([validator, "validate", tmp_path / "out" / kebab_case(name)], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


def _with_manifest(root: Path, tmp_path: Path) -> Path:
    """Return a store that has the skills of ``root``."""
    if (root / "memkit.yaml").is_file():
        return root
    copy = tmp_path / "copy"
    (copy / "skills").mkdir(parents=True)
    (copy / "memkit.yaml").write_text("name: copy\n")
    for path in (root / "skills").glob("*.yaml"):
        (copy / "skills" / path.name).write_bytes(path.read_bytes())
    return copy


def test_the_commands_answer_in_json(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """List, show and search print one envelope each."""
    where = ["--json", "--store", str(store)]

    assert run(["skill", "list", *where]) == 0
    assert [item["name"] for item in json.loads(capsys.readouterr().out)["data"]["skills"]] == ["brew_tea", "walk"]
    assert run(["skill", "show", "brew_tea", *where]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["steps"] == ["Boil water", "Wait"]
    assert run(["skill", "search", "tea", *where]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["results"][0]["name"] == "brew_tea"
    assert run(["skill", "show", "nothing", *where]) == 1
    assert json.loads(capsys.readouterr().out)["ok"] is False


def test_export_does_not_replace_a_foreign_text_unasked(store: Path, tmp_path: Path) -> None:
    """A SKILL.md that somebody edited stays, unless --force is given."""
    target = tmp_path / "out" / "brew-tea" / "SKILL.md"
    target.parent.mkdir(parents=True)
    target.write_text("mine")
    command = ["skill", "export", "brew_tea", "--out", str(tmp_path / "out"), "--store", str(store)]

    assert run(command) == 2
    assert target.read_text() == "mine"
    assert run([*command, "--force"]) == 0
    assert target.read_text().startswith('---\nname: "brew-tea"\n')


def test_what_is_no_file_of_the_store_is_named_as_that(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder, a pipe, a link to nowhere and a link out of the store are no skills, and no riddles either."""
    path = store / "skills" / "odd.yaml"
    makers = {
        "Is a directory": path.mkdir,
        "not a regular file": lambda: os.mkfifo(path),
        "No such file": lambda: path.symlink_to("nowhere"),
        "link out of the store": lambda: path.symlink_to("/etc/hostname"),
    }
    for message, make in makers.items():
        make()
        for command in (["show", "odd"], ["run", "odd"], ["list"], ["search", "tea"]):
            assert run(["skill", *command, "--store", str(store)]) == 2
            assert message in capsys.readouterr().err
        path.rmdir() if path.is_dir() else path.unlink()
