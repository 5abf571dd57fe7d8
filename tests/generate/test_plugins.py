"""Targets of other distributions: found without importing anything, and never in the way of the others."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from plugins import RECORD, install, plug_in, write_target
from projects import project

from memkit.cli.main import run
from memkit.generate.plugins import find_target
from memkit.generate.targets import load_targets
from memkit.resources import resource
from memkit.runtime.testing import server
from memkit.store.schema import check, load_schema
from memkit.store.yaml import load_yaml


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder of installed packages that this process sees."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def listed(capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], list[str]]:
    """Return what ``memkit targets`` lists by name, and what it says about plug-ins that cannot be used."""
    capsys.readouterr()
    assert run(["targets", "--json"]) == 0
    envelope = json.loads(capsys.readouterr().out)
    assert {finding["code"] for finding in envelope["diagnostics"]} <= {"plugin"}
    targets = {target["name"]: target for target in envelope["data"]["targets"]}
    assert targets.keys() >= load_targets().keys()
    return targets, [finding["message"] for finding in envelope["diagnostics"]]


def test_a_plug_in_adds_a_target_and_is_not_imported(
    site: Path, starters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is listed with the distribution that it came with, and a render holds its files over memkit's own layers."""
    plug_in(site, **{"AGENTS.md": "Ours.\n", "extra.txt.jinja": "{{ as_json(target.title) }} {{ project_name }}"})

    targets, problems = listed(capsys)
    out = project(starters, "mine", tmp_path / "out", project_name="Ada's")

    assert problems == []
    assert targets["mine"]["from"] == {"distribution": "memkit-mine", "version": "1.0"}
    assert targets["react"]["from"]["distribution"] == "memkit-agent"
    assert (out / "AGENTS.md").read_text() == "Ours.\n"
    assert (out / "extra.txt").read_text() == '"Mine" Ada\'s'
    assert (out / "agent" / "__main__.py").is_file() and (out / "tests" / "test_promises.py").is_file()
    record = json.loads((out / ".memkit-gen.json").read_text())
    assert record["target"] == "mine"
    assert (record["plugin"]["distribution"], record["plugin"]["version"]) == ("memkit-mine", "1.0")
    assert "memkit_mine" not in sys.modules


def test_a_package_inside_of_a_package_holds_a_target_and_its_layers(
    site: Path, starters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two targets of one plug-in share a layer that lies beside them, and may build on a target of memkit's own."""
    install(site, "memkit-pair", "one = pair.targets.one\ntwo = pair.targets.two")
    write_target(site / "pair" / "targets" / "common", **{"shared.txt": "both"})
    write_target(site / "pair" / "targets" / "one", RECORD + "layers: [react, common]\n")
    write_target(site / "pair" / "targets" / "two", RECORD + "layers: [common]\n", **{"shared.txt": "own"})

    assert listed(capsys)[1] == []

    assert (project(starters, "one", tmp_path / "1") / "shared.txt").read_text() == "both"
    assert (tmp_path / "1" / "agent" / "chat_model.py").is_file()
    assert (project(starters, "two", tmp_path / "2") / "shared.txt").read_text() == "own"


BROKEN = {
    "no-interface": (RECORD.replace("interface: 2\n", ""), "add interface: 2"),
    "newer": (RECORD.replace("interface: 2", "interface: 99"), "Upgrade memkit-agent"),
    "misspelt": (RECORD.replace("wires:", "wirs:"), "wires"),
    "no-yaml": ("{", "target.yaml"),
    "no-map": ("[]", "must be a map"),
    "no-layer": (RECORD + "layers: [_opnai]\n", "_opnai"),
    "outside": (RECORD + "layers: [../../secret]\n", "layers[0]"),
    "two-lines": (RECORD.replace("title: Mine", 'title: "Mine\\nx"'), "title"),
    "no-server": (RECORD.replace("[chat]", "[telepathy]"), "'protocols[0]' must be"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plug_in_is_named_and_the_others_work(
    name: str, site: Path, starters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The list says which distribution, and why; to ask for it is exit code 3 with the same words."""
    record, words = BROKEN[name]
    plug_in(site, name, record)
    plug_in(site, "sound")

    targets, (problem,) = listed(capsys)

    assert "sound" in targets and name not in targets
    assert repr(name) in problem and f"memkit-{name} 1.0" in problem and words in problem
    assert project(starters, "sound", tmp_path / "out").is_dir()
    assert run(["gen", "--target", name, "--store", str(starters)]) == 3
    told = capsys.readouterr().err
    assert words in told and "Traceback" not in told
    assert run(["targets"]) == 0
    assert f"memkit-{name}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("entry_points", "words"),
    [
        ("mine = memkit_nowhere", "no folder of the package"),
        ("mine = memkit_nowhere.inner", "no folder of the package"),
        ("mine = json", "no folder of the package"),
        ("mine = json.decoder", "no folder of the package"),
        ("mine = memkit_mine:folder", "must name a package"),
        ("mine = ../memkit_mine", "must name a package"),
        ("mine =", "must name a package"),
        ("Mine! = memkit_mine", "a-z, 0-9"),
        ("react = memkit_mine", "memkit has a target of that name"),
        ("mine", "cannot be read"),
    ],
)
def test_an_entry_point_that_leads_nowhere_is_named(
    entry_points: str, words: str, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the installed metadata says, it is one line that names the distribution; memkit's own targets stay."""
    install(site, "memkit-astray", entry_points)
    write_target(site / "memkit_mine")

    targets, (problem,) = listed(capsys)

    assert "memkit-astray 1.0" in problem and words in problem
    assert targets["react"]["from"]["distribution"] == "memkit-agent"


def test_doctor_names_a_plug_in_that_cannot_be_used(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without one, or with one that works, the check lists what can be rendered."""

    def targets() -> dict[str, Any]:
        capsys.readouterr()
        run(["doctor", "--json"])
        checks = json.loads(capsys.readouterr().out)["data"]["checks"]
        return next(check for check in checks if check["name"] == "targets")

    plug_in(site, "sound")
    assert targets()["ok"] and "sound" in targets()["detail"] and "react" in targets()["detail"]

    plug_in(site, "newer", BROKEN["newer"][0])
    assert not targets()["ok"] and "memkit-newer 1.0" in targets()["detail"]


def test_metadata_that_is_damaged_is_told_and_hides_nobody(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Entry points or a name that are no UTF-8, and a distribution without a name."""
    plug_in(site, "sound")
    for name in ("torn", "nameless", "garbled"):
        install(site, f"memkit-{name}", f"{name} = memkit_{name}")
    (site / "memkit_torn-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff\xfe[memkit.targets]\n")
    (site / "memkit_nameless-1.0.dist-info" / "METADATA").unlink()
    (site / "memkit_garbled-1.0.dist-info" / "METADATA").write_bytes(b"Name: \xff\xfe\n")

    targets, problems = listed(capsys)

    assert "sound" in targets
    assert sorted("without a name" in problem for problem in problems) == [False, True, True]
    (torn,) = [problem for problem in problems if "memkit-torn" in problem]
    assert "cannot be read" in torn


def test_a_name_that_two_plug_ins_offer_is_nobodys(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which of two is meant is not decided by the order of a path."""
    plug_in(site, "mine")
    install(site, "memkit-rival", "mine = memkit_mine")

    targets, problems = listed(capsys)

    assert "mine" not in targets
    assert len(problems) == 2 and all("another plug-in" in problem for problem in problems)


def test_a_distribution_that_is_installed_twice_counts_once(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two versions on the path the first is the one that Python imports too."""
    plug_in(site)
    behind = tmp_path / "behind"
    install(behind, "memkit-mine", "mine = memkit_mine", version="0.9")
    monkeypatch.setattr(sys, "path", [*sys.path, str(behind)])

    targets, problems = listed(capsys)

    assert problems == [] and targets["mine"]["from"]["version"] == "1.0"


def test_questions_of_a_plug_in_are_asked_and_copier_is_not_configured(
    site: Path, starters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A question has a default that ``--data`` answers; a task or another key of copier's own is refused."""
    asking = plug_in(site, "asking", **{"colour.txt.jinja": "{{ colour }}"})
    (asking / "copier.yml").write_text("colour: {type: str, help: Of the shed., default: red, choices: [red, blue]}\n")
    running = plug_in(site, "running")
    (running / "copier.yml").write_text('_tasks: ["touch owned"]\n')
    flat = plug_in(site, "flat")
    (flat / "copier.yml").write_text("colour: red\n")

    targets, problems = listed(capsys)

    assert targets["asking"]["data"]["colour"] == "Of the shed."
    assert (project(starters, "asking", tmp_path / "out", colour="blue") / "colour.txt").read_text() == "blue"
    assert ["'_tasks'" in problem or "'colour'" in problem for problem in problems] == [True, True]


def test_a_template_that_is_broken_is_one_line(
    site: Path, starters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A template that cannot be rendered, or that leads out of the project, leaves nothing behind and is no trace."""
    plug_in(site, **{"a.txt.jinja": "{% if %}"})
    plug_in(site, "unknown", **{"a.txt.jinja": "{{ nobody_knows }}"})
    plug_in(site, "outside", **{r"{{ '..\x2f..\x2f..\x2fowned' }}.txt.jinja": "owned"})
    typed = plug_in(site, "typed")
    (typed / "copier.yml").write_text("colour: {type: shade, default: red}\n")
    out = tmp_path / "deep" / "down" / "out"

    for name in ("mine", "unknown", "outside", "typed"):
        assert run(["gen", "--target", name, "--store", str(starters), "--out", str(out)]) == 3
        assert f"A template of the target {name} is broken" in capsys.readouterr().err
    assert not out.exists() and not list(tmp_path.rglob("owned.txt"))


def test_a_target_wires_only_the_skills_that_it_names(
    site: Path, starters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A skill that a target cannot wire is exit code 2; without one named, those that it can are wired."""
    plug_in(site, record=RECORD.replace("[virtual-memory, hybrid-planner]", "[virtual-memory]"))
    line = ["--target", "mine", "--store", str(starters), "--out", str(tmp_path / "out")]

    assert run(["gen", "hybrid-planner", *line]) == 2
    assert "virtual-memory" in capsys.readouterr().err
    assert run(["gen", *line]) == 0
    assert json.loads((tmp_path / "out" / ".memkit-gen.json").read_text())["skills"] == ["virtual-memory"]


def test_a_target_of_memkits_own_is_found_without_asking_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading installed metadata takes longer than everything else that finds a target."""

    def asked() -> None:
        raise AssertionError("the installed distributions were read")

    monkeypatch.setattr(importlib.metadata, "distributions", asked)

    assert find_target("react").origin is None


@pytest.mark.parametrize("name", load_targets())
def test_memkits_own_targets_fit_the_schema_of_a_plug_ins(name: str) -> None:
    """What plug-ins must keep, the targets in ``templates/`` keep as well."""
    record = load_yaml(resource("templates") / name / "target.yaml").data

    assert [finding.message for finding in check(record, load_schema("target"))] == []


def test_the_schema_knows_every_local_model_server() -> None:
    """A target can name each protocol that memkit.runtime.testing speaks."""
    known = load_schema("target")["$defs"]["protocols"]["items"]["enum"]

    assert set(server.PROTOCOLS) <= set(known)
