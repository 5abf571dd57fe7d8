"""A review says what to look at first, and its exit code says whether to stop."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hostile import TEXTS, write
from hypothesis import given, settings
from hypothesis import strategies as st
from repositories import POLICY, SKILL, commit, git, put

from memkit.cli.main import run
from memkit.review.interface import quoted
from memkit.review.text import LONGEST, sentence
from memkit.use_cases.review import review_commits


def as_github_shows(comment: str) -> str:
    """Return a comment as HTML, with whatever HTML stands in it let through."""
    extensions = ["autolink", "table", "strikethrough"]
    return str(
        cmarkgfm.markdown_to_html_with_extensions(comment, options=Options.CMARK_OPT_UNSAFE, extensions=extensions)
    )


def reviewed_as(root: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the data of a review."""
    code = run(["review", "--json", "--store", str(root), *arguments])
    return code, json.loads(capsys.readouterr().out)


def test_a_weakened_hard_policy_comes_first_and_stops(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The call that shows it can be decided again, and everything else comes after."""
    put(reviewed, "policies/stop.yaml", POLICY.replace("hard", "soft"))
    put(reviewed, "skills/tea.yaml", SKILL.replace("guests.", "guests, and `rm`s."))

    code, answer = reviewed_as(reviewed, capsys)

    assert (code, answer["schema"], answer["ok"]) == (1, "memkit.review/1", False)
    data = answer["data"]
    assert data["level"] == "stop"
    assert "hard policies decided" in data["reasons"][0]["message"]
    change = data["verdicts"]["changes"][0]
    assert (change["before"], change["weakens_hard"], change["policy"]) == ("deny", True, "stop")
    assert "warn" in {each["after"] for each in data["verdicts"]["changes"]}
    assert (answer["diagnostics"][0]["code"], answer["diagnostics"][0]["severity"]) == ("stop", "error")


def test_a_new_lint_error_stops_and_a_fixed_one_is_told(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only what the change brought counts; what stood there before is not its fault."""
    put(reviewed, "skills/old.yaml", "name: old\nsteps: []\n")
    commit(reviewed)
    put(reviewed, "skills/new.yaml", "name: new\nsteps: []\n")
    code, answer = reviewed_as(reviewed, capsys)
    assert code == 1
    assert {finding["path"] for finding in answer["data"]["lint"]["new"]} == {"skills/new.yaml"}
    assert answer["data"]["lint"]["kept"] >= 1

    (reviewed / "skills" / "new.yaml").unlink()
    put(reviewed, "skills/old.yaml", SKILL.replace("name: tea", "name: old"))
    code, answer = reviewed_as(reviewed, capsys)
    assert code == 0
    assert "skills/old.yaml" in {finding["path"] for finding in answer["data"]["lint"]["fixed"]}


def test_versions_are_compared_with_the_other_side(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A skill that changed without a new version is found between any two commits, also under another name."""
    base = git(reviewed, "rev-parse", "HEAD").strip()
    git(reviewed, "mv", "skills/tea.yaml", "skills/infusion.yaml")
    put(
        reviewed, "skills/infusion.yaml", SKILL.replace("name: tea", "name: infusion").replace("Pour it", "Pour it hot")
    )
    commit(reviewed)
    put(reviewed, "readme.txt", "later")
    commit(reviewed)

    _, answer = reviewed_as(reviewed, capsys, f"{base}..HEAD")

    assert "MKS401" in {finding["code"] for finding in answer["data"]["lint"]["new"]}


def test_findings_that_only_moved_are_neither_new_nor_fixed(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A comment above them changes their line and nothing else."""
    put(reviewed, "skills/old.yaml", "name: old\nsteps: []\n")
    commit(reviewed)
    put(reviewed, "skills/old.yaml", "# a comment\n\nname: old\nsteps: []\n")

    _, answer = reviewed_as(reviewed, capsys)

    assert (answer["data"]["lint"]["new"], answer["data"]["lint"]["fixed"]) == ([], [])
    assert answer["data"]["lint"]["kept"] >= 1


def test_policies_that_do_not_load_stop_and_are_named(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Such a set denies every call, which nobody can have meant."""
    put(reviewed, "policies/stop.yaml", "name: [")
    code, answer = reviewed_as(reviewed, capsys)

    assert code == 1 and "policies no longer load" in answer["data"]["reasons"][0]["message"]
    assert answer["data"]["verdicts"]["fault"].startswith("policies/stop.yaml")

    commit(reviewed)
    put(reviewed, "policies/stop.yaml", "name: [[")
    _, answer = reviewed_as(reviewed, capsys)
    assert any("load on neither side" in reason["message"] for reason in answer["data"]["reasons"])
    put(reviewed, "policies/stop.yaml", POLICY)
    code, answer = reviewed_as(reviewed, capsys)
    assert code == 0 and "policies load again" in answer["data"]["reasons"][0]["message"]


def test_lines_taken_out_of_the_archive_stop(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """History is not rewritten by a pull request."""
    line = '{"created_at":"2026-11-21T09:00:00.000000Z","id":"01KAJ3Q1","text":"x","user_id":"ada"}\n'
    put(reviewed, "archive/2026-11/w.jsonl", line)
    commit(reviewed)
    put(reviewed, "archive/2026-11/w.jsonl", "")
    code, answer = reviewed_as(reviewed, capsys)

    assert code == 1 and "removed" in answer["data"]["summary"]


def test_what_needs_no_look_is_clear(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is made up where nothing is to say."""
    code, answer = reviewed_as(reviewed, capsys)
    assert (code, answer["data"]["level"], answer["data"]["summary"]) == (0, "clear", "Nothing changed.")
    put(reviewed, "readme.txt", "hello")
    code, answer = reviewed_as(reviewed, capsys)
    assert (code, answer["data"]["level"]) == (0, "clear")
    assert answer["data"]["summary"].startswith("Nothing here weakens a policy")


def test_every_reason_is_shown_in_each_form(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The paragraph has room for three; the others, such as an open question of memory, are listed below it."""
    put(reviewed, "policies/stop.yaml", POLICY.replace("hard", "soft"))
    put(reviewed, "skills/new.yaml", "name: new\nsteps: []\n")
    for town in ("Paris", "Rome"):
        assert run(["memory", "add", f"Ada lives in {town}", "--user", "ada", "--store", str(reviewed)]) == 0
    capsys.readouterr()
    _, answer = reviewed_as(reviewed, capsys)
    assert len(answer["data"]["reasons"]) > 3 and "open question" in answer["data"]["reasons"][-1]["message"]

    shown = {}
    for form in ([], ["--markdown"]):
        run(["review", "--store", str(reviewed), *form])
        shown[bool(form)] = " ".join(capsys.readouterr().out.replace("`", "").replace("\\", "").split())

    for form in shown.values():
        assert "1 open question about memory, first: They cannot both be true." in form


def test_two_forms_at_once_are_refused(reviewed: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """One answer has one form; a page that cannot be written is one clear line."""
    assert run(["review", "--json", "--markdown", "--store", str(reviewed)]) == 2
    assert run(["review", "--html", str(tmp_path), "--store", str(reviewed)]) == 2
    (tmp_path / "file").write_text("x")
    assert run(["review", "--html", str(tmp_path / "file" / "page.html"), "--store", str(reviewed)]) in (2, 3)
    assert "Traceback" not in capsys.readouterr().err


def test_hostile_texts_stay_texts_in_a_comment(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rendered as GitHub renders it, with HTML let through, nothing but our own elements is there."""
    write(reviewed)
    run(["review", "--markdown", "--store", str(reviewed)])
    comment = capsys.readouterr().out

    html = as_github_shows(comment)

    ours = {"p", "h3", "h4", "ul", "li", "code", "strong", "details", "summary", "blockquote"}
    assert set(re.findall(r"</?([a-zA-Z][\w-]*)", html)) <= ours
    outside = re.sub(r"<code>.*?</code>", "", html, flags=re.S)
    assert not re.search(r"@\w|(?<!&)#\d|\b\w+/\w+#\d|GH-\d|https?://|www\.", outside)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\u200b]", comment)


sentences = st.lists(st.one_of(st.text(max_size=30), st.sampled_from(TEXTS).map(quoted), st.sampled_from(TEXTS)))


@settings(deadline=None)
@given(sentences)
def test_no_sentence_becomes_more_than_text_and_code(words: list[str]) -> None:
    """Whatever stands in a sentence, in quotes or not, and wherever it comes to stand."""
    html = as_github_shows(f"- {sentence('said: ' + ' '.join(words))}")

    assert set(re.findall(r"</?([a-zA-Z][\w-]*)", html)) <= {"ul", "li", "code"}
    assert not re.search(r"@\w", re.sub(r"<code>.*?</code>", "", html, flags=re.S))


def test_hostile_texts_stay_texts_in_a_terminal(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No escape, no reordering, no forged line: every line is ours."""
    write(reviewed)
    for arguments in (["diff"], ["review"]):
        run([*arguments, "--store", str(reviewed)])
        out = capsys.readouterr().out
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\u200b]", out)
        assert not re.search(r"^(###|- item)", out, re.M)


def test_a_comment_is_never_too_long(reviewed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A comment that the service refuses would be no comment; what is missing is said, and nothing stays open."""
    for number in range(500):
        put(reviewed, f"skills/skill-{number}.yaml", f"name: skill-{number}\ndescription: {'long ' * 60}\nsteps: [a]\n")
    run(["review", "--markdown", "--store", str(reviewed)])
    comment = capsys.readouterr().out

    assert len(comment) < LONGEST + 500
    assert comment.endswith("The rest does not fit in a comment: `memkit review` shows it.\n")
    assert comment.count("<details>") == comment.count("</details>")


def test_the_work_tree_and_the_index_stay_as_they_are(reviewed: Path) -> None:
    """Both sides are laid out elsewhere, and nothing of that stays."""
    put(reviewed, "skills/tea.yaml", SKILL.replace("Pour", "Spill"))
    before = git(reviewed, "status", "--porcelain")

    review_commits(reviewed, "HEAD~1")

    assert git(reviewed, "status", "--porcelain") == before
