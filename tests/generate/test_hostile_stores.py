"""Text from a store cannot change the syntax of a generated project, in any of its files."""

from __future__ import annotations

import json
import tempfile
import tomllib
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from projects import TARGETS, project, write_store
from syntax import skeleton

from memkit.generate.quoting import as_yaml
from memkit.store.yaml import load_yaml

HOSTILE = (
    "x'\"\"\"); import os; os.system('id') #\n{{ 7 * 7 }} {% endif %} ]]>\n```\n"
    "# <script>alert(1)</script> [a](b) | c \\ 😀 \x7f \u2028 %s"
)
ANSWER = 'x\'"""); import os #{{ 7 * 7 }} {% endif %} `` <script> [a](b) | c \\ 😀 %s'
PLAIN = "plain words"
FRAGMENTS = [
    *('"', "'", '"""', "'''", "\\", "\n", "\r\n", "\t", "\x00", "\x1b[31m", "\x85", "\u2028", "\u2029", "\ufeff", "😀"),
    *("{{ 7 * 7 }}", "{% raw %}", "{#", "%s", "${HOME}", "$(id)", "`id`", "${{ github.token }}", "]]>", "-->", "<b>"),
    *(
        "```\n",
        "~~~\n",
        "\n# Title\n",
        "\n---\n",
        "\n===\n",
        "\n\n    code\n",
        "\n- item\n",
        "\n1. item\n",
        "\n> quote\n",
    ),
    *("[a](b)", "![a](b)", "[a]: b", "| a | b |", "www.example.org", "https://example.org", "a@example.org", "&amp;"),
    *(": x", "- x", "&a", "*a", "!!python/object:os.system", "%YAML 1.1", "[x]", "x = 1", '"""\nimport os\n"""', "# x"),
    *("RUN id", "\nRUN id\n", "\u202eevil\u202c", "\u200b", "x" * 900, "\U000e0041", "\ufffe", "=", "<!--", "<?php"),
]
pieces = st.sampled_from(FRAGMENTS) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
texts = (
    st.lists(pieces, min_size=1, max_size=5).map("".join).filter(lambda text: bool(text.strip()) and len(text) <= 1000)
)
answers = texts.map(lambda text: "".join(filter(str.isprintable, text))).filter(str.strip)


def poison(store: Path, text: str) -> None:
    """Write ``text`` into every free field of the store."""
    written = as_yaml(text)
    tool = f"{{name: evil, description: {written}, parameters: {{type: object, properties: {{}}}}, run: [{written}]}}"
    name = as_yaml(text.strip()[:200])
    (store / "memkit.yaml").write_text(f"name: {name}\nformat: 1\npersona: {written}\ntools: [{tool}]\n")
    (store / "skills" / "evil.yaml").write_text(
        f"name: evil\ndescription: {written}\nwhen_to_use: {written}\nsteps: [{written}]\nsafety_checks: [{written}]\n"
    )
    (store / "policies" / "evil.yaml").write_text(
        f"name: evil\ndescription: {written}\nrule: {written}\nenforcement: soft\neffect: warn\nrationale: {written}\n"
        f"match: {{tool: {written}}}\n"
    )
    (store / "domains" / "evil.yaml").write_text(f"name: evil\ndescription: {written}\n")


def rendered(target: str, text: str, answer: str) -> dict[str, bytes]:
    """Return the files of a project whose store says ``text`` everywhere, and whose questions were answered so."""
    with tempfile.TemporaryDirectory() as folder:
        store = write_store(Path(folder) / "store")
        poison(store, text)
        out = project(store, target, Path(folder) / "out", project_name=answer, model=answer)
        return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


@cache
def benign(target: str) -> dict[str, bytes]:
    """Return the files of a target's project whose store says nothing harmful."""
    return rendered(target, PLAIN, PLAIN)


@pytest.mark.parametrize("target", TARGETS)
@given(texts, answers)
@example(HOSTILE, ANSWER)
@settings(
    max_examples=5,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_texts_change_no_syntax(target: str, text: str, answer: str) -> None:
    """Files have the same trees, keys and elements whatever they say; those that hold no text are the same bytes."""
    files = rendered(target, text, answer)

    plain = benign(target)
    assert sorted(files) == sorted(plain)
    differing = [path for path, content in files.items() if content != plain[path]]
    assert [path for path in differing if skeleton(path, files[path]) != skeleton(path, plain[path])] == []
    assert load_yaml(files["memkit.yaml"].decode()).data["persona"] == text
    assert answer in tomllib.loads(files["pyproject.toml"].decode())["project"]["description"]
    assert json.loads(files["agent/compiled/settings.json"])["persona"] == text
    assert text in [policy["rule"] for policy in json.loads(files["agent/compiled/policies.json"])]


@pytest.mark.parametrize(
    ("path", "harmless", "harmful"),
    [
        ("a.py", b'A = "a"', b'A = ""; B = ""'),
        ("a.md", b"a", b"<b>a"),
        ("a.md", b"a", b"www.example.org"),
        ("a.toml", b'a = "a"', b'a = ""\nb = ""'),
        ("memkit.yaml", b'a: "a"', b"a: 1"),
        (".env.example", b"A=a", b"A=a\nB=b"),
        ("s/SKILL.md", b"---\na: b\n---\n", b"---\na: b\nc: d\n---\n"),
        ("Dockerfile", b"a", b"b"),
    ],
)
def test_the_comparison_can_fail(path: str, harmless: bytes, harmful: bytes) -> None:
    """What a text must not bring about is seen, in each language."""
    assert skeleton(path, harmless) != skeleton(path, harmful)
