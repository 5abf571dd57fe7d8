"""What lint checks, what it fixes, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from growth import steps
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memkit.cli.main import run
from memkit.lint.rules import RULES
from memkit.store.yaml import YamlError, load_yaml
from memkit.use_cases.lint import Baseline, Fixing, lint_store

Put = Callable[[str, str | bytes], Path]
Output = pytest.CaptureFixture[str]

SKILL = RULES["MKS001"].good
AMBIGUOUS = "name: walk  # keep me\ndescription: Walks when asked.\nsteps: [no, 'x',   12:30]\n"


def test_nothing_to_check_is_no_success(store: Path, tmp_path: Path, put: Put, capsys: Output) -> None:
    """No store, an empty folder, and files without rules are exit 3; a path that is not there is exit 2."""
    readme = put("skills/README.md", "# Skills\n")

    assert run(["lint", "--store", str(tmp_path)]) == 3
    assert run(["lint", str(tmp_path)]) == 3
    assert run(["lint", str(readme)]) == 3
    assert run(["lint", str(store / "absent.yaml")]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_newer_store_is_left_alone(put: Put, store: Path, capsys: Output) -> None:
    """What a newer memkit wrote cannot be judged: exit 3."""
    put("memkit.yaml", "name: test\nformat: 99\nnews: true\n")

    assert run(["lint", "--store", str(store)]) == 3
    assert "Upgrade memkit-agent" in capsys.readouterr().err


def test_files_that_are_no_files_are_findings(store: Path, put: Put) -> None:
    """A pipe is not waited for, a folder named like a file is no source, and a 20 MB file is not read."""
    (store / "skills" / "folder.yaml").mkdir(parents=True)
    os.mkfifo(store / "skills" / "pipe.yaml")
    put("skills/big.yaml", b"a" * 20_000_000)

    assert [finding.code for finding in lint_store(store).findings] == ["MKY006", "MKY001"]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\xff\xfe" + "name: walk\n".encode("utf-16-le"), "MKY007"),
        ("[" * 25_000, "MKY006"),
        ("- " * 25_000, "MKY006"),
        ("? " * 25_000, "MKY001"),
        ("{a: " * 25_000, "MKY006"),
        ("a: " + "9" * 5_000, "MKY001"),
        ("a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "MKY004"),
        ("a: 1\n\tb: 2\n", "MKY001"),
        ("a: 1\na: 2\n", "MKY002"),
        ("a: !!python/object/apply:os.system [ls]\n", "MKY004"),
        ("\ufeff" * 3, "MKY005"),
        (b"\x00" * 1000, "MKY001"),
        ("a: |\n" + "  x\n" * 15_000, "MKS001"),
        ("[" + "a," * 15_000 + "]", "MKS001"),
    ],
)
def test_hostile_files_are_findings_and_cost_little(
    content: str | bytes, code: str, put: Put, codes: Callable[..., list[str]]
) -> None:
    """Whatever a file holds, one rule says so, in no more steps than a long file that is in order may take."""
    codes()  # what is loaded at the first use is no part of it
    put("skills/walk.yaml", content)
    found: list[str] = []

    assert steps(lambda: found.extend(codes())) < 20_000_000
    assert code in found


@pytest.mark.parametrize(
    "arguments",
    [
        ["--select", "MKX"],
        ["--ignore", "nope"],
        ["--select", ""],
        ["--output-format", "sarrif"],
        ["--fix", "--diff"],
        ["--fixx"],
    ],
)
def test_bad_usage_is_exit_2(store: Path, arguments: list[str]) -> None:
    """Unknown rules, formats and options are bad usage."""
    assert run(["lint", "--store", str(store), *arguments]) == 2


def test_a_misspelt_format_gets_a_suggestion(store: Path, capsys: Output) -> None:
    """The nearest format is named."""
    run(["lint", "--store", str(store), "--output-format", "sarrif"])

    assert "Did you mean 'sarif'?" in capsys.readouterr().err


def test_paths_choose_what_is_checked(store: Path, put: Put) -> None:
    """A file, a folder and the store itself can be named; what is named twice is checked once."""
    put("skills/bad.yaml", "name: bad\n")
    good = put("skills/walk.yaml", SKILL)
    put("domains/bad.yaml", "[")

    assert lint_store(None, [good, good]).findings == ()
    assert {finding.code for finding in lint_store(None, [store / "skills"]).findings} == {"MKS001"}
    assert lint_store(None, [store]).files == lint_store(store).files


def test_rules_are_chosen_by_the_beginning_of_their_codes(put: Put, codes: Callable[..., list[str]]) -> None:
    """--select narrows, --ignore takes away, commas separate, and letters may be small."""
    put("skills/walk.yaml", "name: stroll\ndescription: Walks when asked.\nsteps: [no]\n")

    assert codes() == ["MKS002", "MKY003"]
    assert codes(select=["MKS"]) == ["MKS002"]
    assert codes(select=["mks002,MKY"], ignore=["MKY003"]) == ["MKS002"]


def test_fix_changes_only_what_it_must(store: Path, put: Put, codes: Callable[..., list[str]]) -> None:
    """Quotes are added where the data stays the same; comments, spacing and line ends stay; numbers are left."""
    path = put("skills/walk.yaml", "\ufeff" + AMBIGUOUS.replace("\n", "\r\n"))
    before = load_yaml(path).data

    report = lint_store(store, fixing=Fixing(write=True))

    assert (report.fixed, report.findings) == (3, ())
    assert path.read_bytes().decode() == AMBIGUOUS.replace("no,", '"no",').replace("12:30", '"12:30"').replace(
        "\n", "\r\n"
    )
    assert load_yaml(path).data == before

    put("memkit.yaml", "name: test\ncontext: {max_tokens: 08000}\n")
    assert codes(fixing=Fixing(write=True)) == ["MKY003"]


def test_diff_shows_the_fix_and_changes_nothing(store: Path, put: Put) -> None:
    """The diff applies with git and then gives what --fix gives."""
    path = put("skills/walk.yaml", AMBIGUOUS)
    subprocess.run(["git", "init", "-q", str(store)], check=True)

    report = lint_store(store, fixing=Fixing(diff=True))

    assert path.read_text() == AMBIGUOUS
    assert len(report.findings) == 2
    subprocess.run(["git", "apply"], input=report.diff, text=True, cwd=store, check=True)
    assert lint_store(store, fixing=Fixing(write=True)).findings == ()


def test_a_fix_leaves_suppressed_findings_alone(store: Path, put: Put) -> None:
    """What a person decided to keep is kept."""
    text = "name: walk\ndescription: Walks when asked.\nsteps:\n  - no  # memkit: ignore[MKY003] the dog's name\n"
    path = put("skills/walk.yaml", text)

    lint_store(store, fixing=Fixing(write=True))

    assert path.read_text() == text


def test_a_baseline_leaves_out_what_was_there_before(
    store: Path, put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    """Known findings are left out wherever they moved, new ones are not, and what is gone is said."""
    monkeypatch.chdir(store)
    put("skills/walk.yaml", "name: walk\ndescription: Walks when asked.\nsteps: [no, no]\n")
    assert run(["lint", "--output-format", "json"]) == 1
    kept = tmp_path / "baseline.json"
    kept.write_text(capsys.readouterr().out)

    put("skills/walk.yaml", "# moved\nname: walk\ndescription: Walks when asked.\nsteps: [no, no]\n")
    assert run(["lint", "--baseline", str(kept)]) == 0
    assert capsys.readouterr().out == "No findings in 2 files. The baseline hides 2.\n"

    put("skills/walk.yaml", "name: walk\ndescription: Walks when asked.\nsteps: [no, no, no]\n")
    assert len(lint_store(store, baseline=Baseline(kept)).findings) == 1

    put("skills/walk.yaml", "name: walk\ndescription: Walks when asked.\nsteps: [no, yes]\n")
    assert run(["lint", "--baseline", str(kept)]) == 1
    assert "1 of the baseline are gone" in capsys.readouterr().out

    assert lint_store(store, baseline=Baseline(kept), fixing=Fixing(write=True)).findings == ()
    assert "[no, " in (store / "skills" / "walk.yaml").read_text()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"data": null}', '{"data": {"findings": [1]}}', None])
def test_a_baseline_that_is_none_is_bad_usage(content: str | None, store: Path, tmp_path: Path) -> None:
    """A file that is absent or no report is named, and nothing is left out by accident."""
    kept = tmp_path / "baseline.json"
    if content is not None:
        kept.write_text(content)

    assert run(["lint", "--baseline", str(kept), "--store", str(store)]) == 2


@given(
    st.lists(st.sampled_from(["no", "yes", "12:30", "0755", "1e3", "a", "'no'", "2026-11-21", "'#'", "~"]), max_size=5)
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_a_fix_never_changes_what_a_file_says(tmp_path: Path, items: list[str]) -> None:
    """Before and after --fix a file loads as the same data, and a second run fixes nothing."""
    (tmp_path / "skills").mkdir(exist_ok=True)
    (tmp_path / "memkit.yaml").write_text("name: test\n")
    path = tmp_path / "skills" / "walk.yaml"
    path.write_text(f"name: walk\ndescription: Walks when asked.\nsteps: [{', '.join(items)}]\n")
    before = load_yaml(path).data

    lint_store(tmp_path, fixing=Fixing(write=True))

    assert load_yaml(path).data == before
    assert lint_store(tmp_path, fixing=Fixing(write=True)).fixed == 0


@given(
    st.binary(max_size=300),
    st.sampled_from(["memkit.yaml", "skills/a.yaml", "domains/a.yaml", "archive/2026-11/a.jsonl"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
def test_any_content_is_checked_without_an_accident(tmp_path: Path, content: bytes, name: str) -> None:
    """Whatever a file holds, lint reports it."""
    (tmp_path / "memkit.yaml").write_text("name: test\n")
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_bytes(content)

    report = lint_store(tmp_path)

    assert tmp_path / name in report.files


@given(st.text(alphabet="abcnosteplrigm:-[]{},\"'#? \n!&*", max_size=80))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
def test_any_yaml_is_checked_without_an_accident(tmp_path: Path, text: str) -> None:
    """What loads as some data is answered by findings, for each kind of file."""
    (tmp_path / "memkit.yaml").write_text("name: test\n")
    for folder in ("skills", "policies", "domains"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "a.yaml").write_text(text)

    found = {finding.path.parent.name for finding in lint_store(tmp_path).findings}

    assert found >= {"skills", "policies", "domains"}
    try:
        load_yaml(text)
    except YamlError as error:
        assert len(lint_store(tmp_path, select=[error.code]).findings) == 3


def test_a_newer_key_is_a_finding_and_json_still_answers_for_errors(store: Path, put: Put, capsys: Output) -> None:
    """With --output-format json an error is an envelope, too."""
    assert run(["lint", "--output-format", "json", "--select", "nope", "--store", str(store)]) == 2
    assert json.loads(capsys.readouterr().out)["ok"] is False
