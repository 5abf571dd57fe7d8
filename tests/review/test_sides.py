"""Any two sides can be compared, in whatever state the repository is, and nothing in it is touched."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from repositories import POLICY, SKILL, commit, git, put, subject, told

from memkit.cli.main import run
from memkit.errors import EnvironmentFault, UsageError
from memkit.review.sides import Pair, paired
from memkit.use_cases.review import compare_commits


def names(root: Path, span: str | None = None) -> list[str]:
    """Return what changed."""
    return [each.name for each in compare_commits(root, span).subjects]


def test_a_span_names_its_sides_as_git_does(reviewed: Path) -> None:
    """Two ends, one end, none; three dots leave out what the other branch did meanwhile."""
    base = git(reviewed, "rev-parse", "HEAD").strip()
    git(reviewed, "checkout", "-qb", "feature")
    put(reviewed, "skills/tea.yaml", SKILL.replace("Pour it", "Pour it slowly"))
    commit(reviewed)
    git(reviewed, "checkout", "-q", "main")
    put(reviewed, "policies/stop.yaml", POLICY.replace("hard", "soft"))
    commit(reviewed)

    assert names(reviewed, f"{base}..feature") == names(reviewed, "main...feature") == ["tea"]
    assert set(names(reviewed, "main..feature")) == {"stop", "tea"}
    assert [note.code for note in compare_commits(reviewed, "main..feature").notes] == ["diverged"]
    assert compare_commits(reviewed, "main...feature").notes == ()
    assert names(reviewed) == names(reviewed, "main") == names(reviewed, "HEAD..") == []
    assert names(reviewed, base) == ["stop"]


@pytest.mark.parametrize(
    "span", ["nowhere", "HEAD..nowhere", "..", "...", "a..b..c", "--output=x", "HEAD:skills", "a\0b"]
)
def test_what_names_no_commit_is_bad_usage(reviewed: Path, span: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit 2, and nothing is written."""
    with pytest.raises(UsageError):
        compare_commits(reviewed, span)
    assert run(["diff", "--json", "--store", str(reviewed), "--", span]) == 2


def test_a_folder_that_is_no_repository_has_no_sides(tmp_path: Path) -> None:
    """There is nothing to compare, and that is said."""
    (tmp_path / "memkit.yaml").write_text("name: x\nformat: 1\n")
    with pytest.raises(EnvironmentFault, match="not in a git repository"):
        compare_commits(tmp_path)


def test_before_the_first_commit_everything_is_new(tmp_path: Path) -> None:
    """A repository without a commit is compared with nothing."""
    git(tmp_path, "init", "-q")
    put(tmp_path, "memkit.yaml", "name: x\nformat: 1\n")

    assert compare_commits(tmp_path).before.name == "nothing"
    assert names(tmp_path) == ["memkit.yaml"]


def test_a_shallow_clone_says_where_the_rest_is(reviewed: Path, tmp_path: Path) -> None:
    """A commit that was not fetched is no typing mistake."""
    old = git(reviewed, "rev-parse", "HEAD~1").strip()
    subprocess.run(["git", "clone", "-q", "--depth", "1", reviewed.as_uri(), str(tmp_path / "clone")], check=True)

    with pytest.raises(UsageError, match=r"shallow.*unshallow"):
        compare_commits(tmp_path / "clone", f"{old}..HEAD")
    assert names(tmp_path / "clone") == []


def test_a_detached_head_and_a_merge_in_progress_are_compared(reviewed: Path) -> None:
    """Files with the marks of a merge are described as broken, and the merge is said."""
    git(reviewed, "checkout", "-qb", "other")
    put(reviewed, "skills/tea.yaml", SKILL.replace("Pour it", "Pour it slowly"))
    commit(reviewed)
    git(reviewed, "checkout", "-q", "--detach", "main")
    put(reviewed, "skills/tea.yaml", SKILL.replace("Pour it", "Spill it"))
    commit(reviewed)
    assert names(reviewed, "main..HEAD") == ["tea"]
    subprocess.run(["git", "merge", "-q", "other"], cwd=reviewed, capture_output=True, check=False)

    found = compare_commits(reviewed)
    assert [note.code for note in found.notes] == ["in_progress"]
    assert [(each.name, each.status) for each in found.subjects] == [("tea", "broken")]


def test_broken_files_on_either_side_are_described(reviewed: Path) -> None:
    """What cannot be read is the finding and not the end, memkit.yaml included."""
    put(reviewed, "skills/tea.yaml", "name: tea\nsteps: [")
    put(reviewed, "policies/stop.yaml", POLICY.replace("deny\nmatch", "never\nmatch"))
    put(reviewed, "memkit.yaml", b"\xff\xfe\x00binary")

    assert told(reviewed, "tea")[0].startswith("! can no longer be used: line 2")
    assert "line 6, column 9" in told(reviewed, "stop")[0]
    assert subject(reviewed, "memkit.yaml").status == "broken"
    commit(reviewed)
    put(reviewed, "skills/tea.yaml", SKILL)
    assert "can be used now" in told(reviewed, "tea")[0]


def test_a_renamed_skill_is_one_skill(reviewed: Path) -> None:
    """Its changes are told against what it was."""
    git(reviewed, "mv", "skills/tea.yaml", "skills/infusion.yaml")
    put(
        reviewed,
        "skills/infusion.yaml",
        SKILL.replace("tea\n", "infusion\n", 1).replace("Boil water, ", "Boil water, Wait, "),
    )

    found = subject(reviewed, "infusion")
    assert (found.status, found.was) == ("renamed", "tea")
    assert told(reviewed, "infusion") == ["renamed from “tea”", "step 2 inserted: “Wait”"]


def test_many_renamed_files_are_paired_without_comparing_all_of_them() -> None:
    """Equal content is found among thousands, and unlike files are not taken for each other."""
    gone = {f"skills/a{number}.yaml": b"name: a\nsteps: [%d]\n" % number for number in range(3000)}
    new = {f"skills/b{number}.yaml": b"name: b\nsteps: [%d]\n" % number for number in range(3000)}

    assert Pair("skills/a7.yaml", "skills/b7.yaml") in paired(gone, new, [])
    assert paired({"a": b"x: 1\ny: 2\n"}, {"b": b"p: 1\nq: 2\n"}, []) == [Pair("a", None), Pair(None, "b")]


def test_links_binary_and_huge_files_are_named_and_not_followed(reviewed: Path, tmp_path: Path) -> None:
    """A link out of the store is a link; a large file costs no more than its name."""
    (tmp_path / "secret.yaml").write_text(SKILL)
    (reviewed / "skills" / "linked.yaml").symlink_to(tmp_path / "secret.yaml")
    put(reviewed, "picture.bin", bytes(range(256)) * 100)
    put(reviewed, "skills/huge.yaml", b"name: huge\n" + b"#" * 2_000_000)
    with (reviewed / "video.bin").open("wb") as file:
        file.truncate(100 * 1024 * 1024)

    assert "symbolic link" in told(reviewed, "linked")[0]
    assert "cannot be used" in told(reviewed, "huge")[0]
    assert told(reviewed, "picture.bin") == ["file added, 25,600 bytes"]
    assert told(reviewed, "video.bin") == ["file added, 104,857,600 bytes"]


def test_a_store_below_the_root_of_its_repository_is_compared_alone(tmp_path: Path, store: Path) -> None:
    """Paths are those of the store, and what lies beside it is not its business."""
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    subprocess.run(["cp", "-r", str(store), str(outer / "inner")], check=True)
    subprocess.run(["rm", "-rf", str(outer / "inner" / ".git")], check=True)
    commit(outer)
    put(outer, "readme.txt", "beside")
    put(outer, "inner/skills/tea.yaml", SKILL)

    assert names(outer / "inner") == ["tea"]
    commit(outer)
    assert names(outer / "inner", "HEAD~1..HEAD") == ["tea"]


def test_repositories_with_long_ids_are_compared(tmp_path: Path) -> None:
    """What is in no commit yet is named as git names it there."""
    subprocess.run(["git", "init", "-q", "--object-format=sha256", str(tmp_path)], check=True)
    put(tmp_path, "memkit.yaml", "name: x\nformat: 1\n")
    put(tmp_path, "skills/tea.yaml", SKILL)
    commit(tmp_path)
    (tmp_path / "skills" / "tea.yaml").touch()
    assert names(tmp_path) == []
    put(tmp_path, "skills/tea.yaml", SKILL.replace("Pour", "Spill"))
    assert names(tmp_path) == ["tea"]


def test_a_tree_made_by_hand_puts_nothing_elsewhere(reviewed: Path, tmp_path: Path) -> None:
    """Git itself would not check such a tree out, and a review lays both sides out."""
    blob = git(reviewed, "hash-object", "-w", "skills/tea.yaml").strip()
    manifest = git(reviewed, "rev-parse", "HEAD:memkit.yaml").strip()

    def tree(*entries: tuple[str, str, str]) -> str:
        lines = sorted((name, f"{mode} {name}\0".encode() + bytes.fromhex(id)) for mode, name, id in entries)
        made = subprocess.run(
            ["git", "hash-object", "-t", "tree", "-w", "--stdin", "--literally"], cwd=reviewed, check=True,
            input=b"".join(line for _, line in lines), capture_output=True,
        )  # fmt: skip
        return made.stdout.decode().strip()

    above = tree(("100644", "escaped.yaml", blob))
    root = tree(("40000", "skills", tree(("40000", "..", above))), ("100644", "memkit.yaml", manifest))
    made = git(reviewed, "commit-tree", root, "-p", "HEAD", "-m", "hostile").strip()

    assert run(["review", f"HEAD..{made}", "--store", str(reviewed)]) in (0, 1)
    assert "escaped" not in str(names(reviewed, f"HEAD..{made}"))


def test_nothing_is_touched(reviewed: Path) -> None:
    """Neither work tree nor index nor branches change, and programs that the store names do not run."""
    git(reviewed, "config", "core.fsmonitor", "touch ran")
    git(reviewed, "config", "diff.x.textconv", "touch ran")
    put(reviewed, "skills/tea.yaml", SKILL.replace("Pour it", "Pour it slowly"))
    before = content(reviewed)

    assert run(["diff", "--store", str(reviewed)]) == 0
    assert run(["diff", "HEAD~1..HEAD", "--store", str(reviewed)]) == 0

    assert content(reviewed) == before


def content(root: Path) -> dict[Path, bytes]:
    """Return every file below a folder, git's own included, and memkit's caches not."""
    files = (path for path in root.rglob("*") if path.is_file() and not path.is_relative_to(root / ".memkit"))
    return {path: path.read_bytes() for path in files}


def test_settings_and_tools_are_told_by_what_they_guard(reviewed: Path) -> None:
    """A flag that goes, a gate that opens and a command that changes are not lost among other settings."""
    put(
        reviewed, "memkit.yaml",
        'name: x\nformat: 1\ntools: [{name: wipe, description: d, run: [rm, a], dangerous: true}]\n'
        "write: {min_confidence: 0.7}\nprivacy: {consent: always}\n",
    )  # fmt: skip
    commit(reviewed)
    put(
        reviewed, "memkit.yaml",
        'name: x\nformat: 1\ntools: [{name: wipe, description: d, run: [rm, b]}]\n'
        "write: {min_confidence: 0.2}\nrecall: {max_items: 5}\n",
    )  # fmt: skip

    assert told(reviewed, "memkit.yaml") == [
        "! tool “wipe” is no longer marked as dangerous",
        "! tool “wipe” runs “rm b”, before “rm a”",
        "recall.max_items “1000” (the default) → “5”",
        "! loosened: write.min_confidence “0.7” → “0.2”",
        "! loosened: privacy.consent “always” → “agent” (the default)",
    ]


def test_domains_are_told_by_their_parts(store: Path) -> None:
    """A step that another tool carries out is another step."""
    path = store / "domains" / "errands.yaml"
    text = path.read_text()
    path.write_text(
        text.replace('preconditions: ["has ?p"]', "preconditions: []").replace("tool: outbox", "tool: other")
    )

    assert any(line.startswith("! operator “hand_over” is carried out by “other”") for line in told(store, "errands"))


def test_the_envelope_has_its_shape(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What scripts read stays as it is."""
    put(reviewed, "policies/stop.yaml", POLICY.replace("hard", "soft"))
    assert run(["diff", "--json", "--store", str(reviewed)]) == 0

    envelope = json.loads(capsys.readouterr().out)
    assert (envelope["schema"], envelope["ok"], envelope["diagnostics"]) == ("memkit.diff/1", True, [])
    data = envelope["data"]
    assert data["to"] == {"name": "work tree", "commit": None} and len(data["from"]["commit"]) == 40
    assert data["counts"] == {"subjects": 1, "changes": 1, "attention": 1}
    (found,) = data["subjects"]
    assert found.pop("changes") == [
        {
            "field": "enforcement", "kind": "weakened", "before": "hard", "after": "soft", "attention": True,
            "id": None, "message": "enforcement hard → soft: it only warns now and stops nothing",
        }
    ]  # fmt: skip
    assert found == {
        "area": "policy", "name": "stop", "was": None, "path": "policies/stop.yaml", "status": "changed", "count": 1,
    }  # fmt: skip


def test_what_a_sparse_checkout_leaves_out_is_unchanged(reviewed: Path) -> None:
    """Git would not commit its removal, so no policy was removed; what is there is still compared."""
    git(reviewed, "sparse-checkout", "set", "--no-cone", "/*", "!policies/")
    assert not (reviewed / "policies").exists()
    assert names(reviewed) == []

    put(reviewed, "skills/tea.yaml", SKILL.replace("Pour it", "Pour it slowly"))

    assert names(reviewed) == ["tea"]


def test_files_that_tell_git_what_to_take_are_looked_at_twice_in_any_folder(reviewed: Path) -> None:
    """A folder's own .gitignore can keep memory out of every commit, and its attributes hide a diff."""
    put(reviewed, "archive/.gitattributes", "* -diff\n")
    put(reviewed, "skills/.gitignore", "*.md\n")

    assert compare_commits(reviewed).attention == 2
