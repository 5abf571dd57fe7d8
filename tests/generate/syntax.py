"""What is left of a file when its texts are forgotten: two renders that differ in nothing but texts have the same."""

from __future__ import annotations

import ast
import json
import tomllib
from html.parser import HTMLParser
from typing import Any

import cmarkgfm

from memkit.store.yaml import load_yaml


class _Shape(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Return a constant of the same type without its value."""
        return ast.Constant(type(node.value)())


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[object] = []
        self._in_address = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag with its attributes, the places of links among them."""
        # GitHub looks for addresses of mail in what is left after every escape. Such a link leads where it says.
        self._in_address = tag == "a" and str(dict(attrs).get("href")).startswith("mailto:")
        if not self._in_address:
            self.seen.append((tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        """Keep where a tag ends."""
        if not self._in_address:
            self.seen.append(tag)
        self._in_address = False

    def handle_comment(self, data: str) -> None:
        """Keep that HTML was written by hand; the converter leaves a comment in its place."""
        self.seen.append("<!-- -->")


def python(content: bytes) -> str:
    """Return the syntax tree of Python without its texts and numbers."""
    return ast.dump(_Shape().visit(ast.parse(content)))


def markdown(content: bytes) -> list[object]:
    """Return the elements that GitHub makes of Markdown, in order."""
    tags = _Tags()
    tags.feed(cmarkgfm.github_flavored_markdown_to_html(content.decode()))
    return tags.seen


def data(value: Any) -> Any:
    """Return the keys and the types of plain data; a list of texts may be one text by its lines."""
    if isinstance(value, dict):
        return {key: data(item) for key, item in value.items()}
    if isinstance(value, list):
        return list[str] if value and all(isinstance(item, str) for item in value) else [data(item) for item in value]
    return type(value)


def front_matter(content: bytes) -> Any:
    """Return the keys and types of the data above a sheet; what follows is its author's own Markdown."""
    opening, head, _ = content.decode().split("---\n", 2)
    assert opening == ""
    return data(load_yaml(head).data)


def variables(content: bytes) -> list[str]:
    """Return what each line of a file of variables is; any other line breaks the file."""
    kinds: list[str] = []
    for line in content.decode().splitlines():
        name, is_set, _ = line.partition("=")
        assert not line or line.startswith("#") or (is_set and name.isidentifier()), line
        kinds.append("# about" if line.startswith("# ") else name)
    return kinds


def skeleton(path: str, content: bytes) -> Any:
    """Return what no text of a store may change in the file at ``path``; of an unknown kind that is all of it."""
    if path.endswith(".py"):
        return python(content)
    if path.endswith("SKILL.md"):
        return front_matter(content)
    if path.endswith(".md"):
        return markdown(content)
    if path.endswith(".toml"):
        return data(tomllib.loads(content.decode()))
    if path.endswith(".json"):
        return data(json.loads(content))
    if path == "memkit.yaml":
        return data(load_yaml(content.decode()).data)
    return variables(content) if path == ".env.example" else content
