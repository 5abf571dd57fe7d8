"""Reports in every format."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from memkit.cli.main import run
from memkit.lint.rules import RULES
from memkit.runtime.host.terminal import harmless

Put = Callable[[str, str | bytes], Path]
Output = pytest.CaptureFixture[str]

HOSTILE_NAME = "skills/a, b:%\x1b[31m\u202e\u009b.yaml"
HOSTILE = 'name: walk\ndescription: "Walk if so"\nsteps: [a]\n"\\e[31m\\u202e::error::\\n%0A": \x85\n'.replace(
    "\x85", "1"
)
FORMATS = ("text", "concise", "sarif", "github", "gitlab", "junit")


@pytest.fixture
def here(store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in the store."""
    monkeypatch.chdir(store)
    return store


def test_text_shows_the_line_and_the_place(here: Path, put: Put, capsys: Output) -> None:
    """A person sees what, where, the line itself, and what to do next."""
    put("skills/walk.yaml", "name: walk\ndescription: Walks when asked.\nstepz: [a]\nsteps: [a]\n")

    assert run(["lint"]) == 1

    assert capsys.readouterr().out == (
        "skills/walk.yaml:3:1: MKS003 Unknown key 'stepz'. Did you mean 'steps'?\n"
        "  3 | stepz: [a]\n"
        "    | ^\n"
        "\n"
        "1 finding in 1 of 2 files. 1 can be fixed with --fix --unsafe-fixes. "
        "'memkit rule MKS003' explains unknown-skill-key.\n"
    )


def test_a_clean_store_says_so(here: Path, capsys: Output) -> None:
    """Clean is exit 0 and one line, in every format without a finding."""
    assert run(["lint"]) == 0
    assert capsys.readouterr().out == "No findings in 1 file.\n"
    for form in ("concise", "github"):
        assert run(["lint", "--output-format", form]) == 0
        assert capsys.readouterr().out == ""


def test_json_is_the_envelope_of_every_command(here: Path, put: Put, capsys: Output) -> None:
    """--json and --output-format json print the same; findings are the diagnostics as well."""
    put("skills/walk.yaml", "name: walk\ndescription: Walks when asked.\nsteps: [no]\n")

    assert run(["lint", "--json"]) == 1
    first = capsys.readouterr().out
    assert run(["lint", "--output-format", "json"]) == 1
    assert capsys.readouterr().out == first

    envelope = json.loads(first)
    assert (envelope["schema"], envelope["ok"]) == ("memkit.lint/1", False)
    assert envelope["data"]["files"] == ["memkit.yaml", "skills/walk.yaml"]
    (finding,) = envelope["data"]["findings"]
    assert (finding["code"], finding["path"], finding["line"], finding["column"]) == (
        "MKY003",
        "skills/walk.yaml",
        3,
        9,
    )
    (diagnostic,) = envelope["diagnostics"]
    assert diagnostic.items() <= finding.items()


def test_sarif_keeps_the_structure_that_code_hosts_require(here: Path, put: Put, capsys: Output) -> None:
    """Version, rules, levels, relative escaped URIs, columns from one, and stable fingerprints."""
    put("skills/a b%é.yaml", "name: walk\ndescription: Walks when asked.\nsteps: [no]\n")

    assert run(["lint", "--output-format", "sarif"]) == 1
    log = json.loads(capsys.readouterr().out)

    assert (log["version"], set(log)) == ("2.1.0", {"$schema", "version", "runs"})
    (one_run,) = log["runs"]
    assert one_run["columnKind"] == "unicodeCodePoints"
    rules = one_run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(RULES)
    for rule in rules:
        assert rule["shortDescription"]["text"] and rule["help"]["text"] and rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
    for result in one_run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        place = result["locations"][0]["physicalLocation"]
        uri = place["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri) and not uri.startswith("/")
        assert unquote(uri) == "skills/a b%é.yaml"
        assert place["region"]["startLine"] >= 1 and place["region"]["startColumn"] >= 1
        assert re.fullmatch(r"[0-9a-f]{64}", result["partialFingerprints"]["memkitFinding/v1"])
    assert {result["ruleId"] for result in one_run["results"]} == {"MKS002", "MKY003"}


def test_memory_and_foreign_files_stay_out_of_reports(here: Path, tmp_path: Path, put: Put, capsys: Output) -> None:
    """No line of the archive, and none of a file that a link leads to, is shown."""
    (tmp_path / "secret.yaml").write_text("password: hunter2\n")
    (here / "skills").mkdir()
    (here / "skills" / "a.yaml").symlink_to(tmp_path / "secret.yaml")
    (here / "archive").mkdir()
    (here / "archive" / "a.jsonl").symlink_to(tmp_path / "secret.yaml")
    put("archive/2026-11/b.jsonl", '{"text": "hunter2"}\nhunter2\n')

    assert run(["lint"]) == 1
    out = capsys.readouterr().out

    assert "MKY009" in out and "MKA007" in out and "MKA001" in out
    assert "hunter2" not in out


def test_columns_count_characters(here: Path, put: Put, capsys: Output) -> None:
    """A column is a number of code points, also after characters outside the basic plane."""
    put("skills/walk.yaml", "name: walk\ndescription: Walks when asked.\nsteps: ['😀é', no]\n")

    run(["lint", "--output-format", "concise"])

    assert capsys.readouterr().out.startswith("skills/walk.yaml:3:15: MKY003 ")


def test_github_commands_escape_their_properties_and_text(here: Path, put: Put, capsys: Output) -> None:
    """Commas, colons, percent signs and line ends in a name or a message cannot forge a command."""
    put(HOSTILE_NAME, HOSTILE)

    assert run(["lint", "--output-format", "github"]) == 1
    lines = capsys.readouterr().out.splitlines()

    assert lines and all(line.startswith(("::error file=", "::warning file=")) for line in lines)
    for line in lines:
        properties, text = line.split(" ", 1)[1].split("::", 1)
        assert [part.split("=", 1)[0] for part in properties.split(",")] == ["file", "line", "col", "title"]
        assert "%0A" not in text.replace("%250A", "")


def test_gitlab_findings_have_distinct_fingerprints(here: Path, put: Put, capsys: Output) -> None:
    """Equal findings in one file are reported apart."""
    put("skills/walk.yaml", "name: walk\ndescription: Walks when asked.\nsteps: [no, no]\n")

    assert run(["lint", "--output-format", "gitlab"]) == 1
    issues = json.loads(capsys.readouterr().out)

    assert len({issue["fingerprint"] for issue in issues}) == 2
    assert issues[0]["location"] == {"path": "skills/walk.yaml", "lines": {"begin": 3}}
    assert {issue["severity"] for issue in issues} == {"minor"}


def test_junit_has_a_case_for_each_file(here: Path, put: Put, capsys: Output) -> None:
    """Files are cases; those with findings fail."""
    put(HOSTILE_NAME, HOSTILE)

    assert run(["lint", "--output-format", "junit"]) == 1
    suite = ElementTree.fromstring(capsys.readouterr().out)

    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    failed = [case for case in suite if case.findall("failure")]
    assert len(failed) == 1 and failed[0].findall("failure")[0].get("type") in RULES


def test_the_envelope_holds_no_terminal_escape(here: Path, put: Put, capsys: Output) -> None:
    """JSON names a hostile file exactly, and its escape character is a JSON escape."""
    put(HOSTILE_NAME, HOSTILE)

    assert run(["lint", "--json"]) == 1
    out = capsys.readouterr().out

    assert HOSTILE_NAME in json.loads(out)["data"]["files"]
    assert "\x1b" not in out


@pytest.mark.parametrize("form", FORMATS)
def test_control_characters_are_shown_harmlessly(form: str, here: Path, put: Put, capsys: Output) -> None:
    """No name and no content of a file reaches a terminal as anything but visible text."""
    put(HOSTILE_NAME, HOSTILE)
    put("skills/raw.yaml", "name: \x1b]0;x\x07\n")
    put("archive/2026-11/a.jsonl", '{"id": "\\u009b31m", "op": "\\u202e"}\n\x1b[2J\n')

    assert run(["lint", "--output-format", form]) == 1
    out = capsys.readouterr().out

    assert harmless(out) == out


def test_the_rule_command_explains(capsys: Output) -> None:
    """A code in any case prints its page; an unknown one is bad usage with the nearest code."""
    assert run(["rule", "mky003"]) == 0
    assert capsys.readouterr().out.startswith("# MKY003: ambiguous-scalar\n")
    assert run(["rule", "MKY003", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["name"] == "ambiguous-scalar"
    assert run(["rule"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(RULES)
    assert run(["rule", "MKY0003"]) == 2
    assert "Did you mean 'MKY003'?" in capsys.readouterr().err
