"""Text from a store cannot change the syntax of a generated project."""

from __future__ import annotations

import ast
import json
import tomllib
from pathlib import Path

import pytest
from projects import TARGETS, project

from memkit.generate.quoting import as_yaml
from memkit.store.yaml import load_yaml

HOSTILE = (
    "x'\"\"\"); import os; os.system('id') #\n{{ 7 * 7 }} {% endif %} ]]>\n```\n"
    "# <script>alert(1)</script> [a](b) | c \\ 😀 \x7f \u2028 %s"
)
ANSWER = 'x\'"""); import os #{{ 7 * 7 }} {% endif %} `` <script> [a](b) | c \\ 😀 %s'


class Shape(ast.NodeTransformer):
    """Forgets what constants say, so that two trees are equal when only texts differ."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Return a constant of the same type without its value."""
        return ast.Constant(type(node.value)())


def shape(source: bytes) -> str:
    """Return the syntax tree of a Python file without its texts and numbers."""
    return ast.dump(Shape().visit(ast.parse(source)))


def poison(store: Path) -> None:
    """Write the hostile text into every free field of the store."""
    text = as_yaml(HOSTILE)
    (store / "memkit.yaml").write_text(f"name: {text}\nformat: 1\npersona: {text}\n")
    (store / "skills" / "evil.yaml").write_text(
        f"name: evil\ndescription: {text}\nwhen_to_use: {text}\nsteps: [{text}]\nsafety_checks: [{text}]\n"
    )
    (store / "policies" / "evil.yaml").write_text(
        f"name: evil\ndescription: {text}\nrule: {text}\nenforcement: soft\neffect: warn\nrationale: {text}\n"
        f"match: {{tool: {text}}}\n"
    )


@pytest.mark.parametrize("target", TARGETS)
def test_hostile_texts_change_no_syntax(target: str, starters: Path, tmp_path: Path) -> None:
    """Python trees, TOML keys and Markdown headings are those of a benign render; data files give the text back."""
    benign = project(starters, target, tmp_path / "benign", project_name="demo", model="demo")
    poison(starters)

    hostile = project(starters, target, tmp_path / "hostile", project_name=ANSWER, model=ANSWER)

    for path in benign.rglob("*.py"):
        assert shape(path.read_bytes()) == shape((hostile / path.relative_to(benign)).read_bytes()), path
    assert_toml_is_whole(benign, hostile)
    assert load_yaml(hostile / "memkit.yaml").data["name"] == ANSWER
    assert load_yaml(hostile / "memkit.yaml").data["persona"] == HOSTILE
    settings = json.loads((hostile / "agent/compiled/settings.json").read_text())
    assert settings["persona"] == HOSTILE
    policies = json.loads((hostile / "agent/compiled/policies.json").read_text())
    assert HOSTILE in [policy["rule"] for policy in policies]


def assert_toml_is_whole(benign: Path, hostile: Path) -> None:
    """Check that both files have the same keys, and that the description carries the text."""
    before, after = (tomllib.loads((folder / "pyproject.toml").read_text()) for folder in (benign, hostile))
    assert before["tool"] == after["tool"] and before["build-system"] == after["build-system"]
    assert before["project"].keys() == after["project"].keys()
    assert ANSWER in after["project"]["description"]


@pytest.mark.parametrize("name", ["README.md", "AGENTS.md"])
def test_hostile_texts_stay_text_in_markdown(name: str, starters: Path, tmp_path: Path) -> None:
    """No heading, fence, link or tag comes from the store."""
    benign = project(starters, "react", tmp_path / "benign", project_name="demo").joinpath(name).read_text()
    poison(starters)

    hostile = project(starters, "react", tmp_path / "hostile", project_name=ANSWER).joinpath(name).read_text()

    def headings(text: str) -> list[str]:
        return [line for line in text.splitlines()[1:] if line.startswith(("#", "```"))]

    assert headings(hostile) == headings(benign)
    assert "<script>" not in hostile and "[a](b)" not in hostile
