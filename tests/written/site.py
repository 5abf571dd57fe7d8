"""Build the documents as a site: ``python -m tests.written.site`` writes ``build/site/html``.

What Sphinx reads is laid out first, as in the checkout, so that every link of a page holds: the pages themselves, what
they link to, and two references that nobody writes by hand, that of the commands and that of Python.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from . import CHECKOUT
from .changelog import LOG, log_to_come
from .command_pages import command_pages

BUILT = CHECKOUT / "build" / "site"
SITE = CHECKOUT / "docs" / "site"
APART = ("docs/site", "docs/examples")
LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)#\s]*)(#[^)\s]*)?(?=\))")
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.M | re.S)
LOOKED_UP = ("reference/commands/README", "reference/python/README", "README", "docs/README", "CHANGELOG")
"""What the navigation has besides the pages that ``docs/README.md`` lists."""
UNLISTED = "---\norphan: true\n---\n\n"
"""What keeps a page out of the navigation."""
DOORS = {
    "memkit": "The front door for code",
    "memkit.integrations.langgraph": "LangGraph and LangMem",
    "memkit.integrations.openai_agents": "OpenAI Agents SDK",
    "memkit.integrations.anthropic": "Anthropic's memory tool",
    "memkit.integrations.strands": "Strands",
    "memkit.integrations.adk": "Google ADK",
    "memkit.runtime.memory.main": "The room memory",
    "memkit.runtime.loop.core": "The room loop",
    "memkit.runtime.htn.core": "The room htn",
    "memkit.runtime.evolve.core": "The room evolve",
    "memkit.runtime.guard.core": "The room guard",
    "memkit.runtime.testing": "Scripted model servers",
}
"""The modules that programs import from, and what their pages are called."""
INNER = "open, note_write, named_user, in_thread"
"""What of a store only memkit's own drop-ins call."""


def pages() -> Iterator[Path]:
    """Yield every page that people write."""
    yield from (CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md"))
    for path in sorted((CHECKOUT / "docs").rglob("*.md")):
        if not path.relative_to(CHECKOUT).as_posix().startswith(APART):
            yield path


def lay_out(source: Path) -> None:
    """Write into ``source`` all that Sphinx reads."""
    shutil.rmtree(source, ignore_errors=True)
    for path in pages():
        _write(source, path, _unlisted(path) + path.read_text(encoding="utf-8"))
    _write(source, CHECKOUT / LOG, log_to_come())
    for path in (CHECKOUT / "docs" / "pictures").iterdir():
        _copy(source, path)
    front = (SITE / "index.md").read_text(encoding="utf-8")  # its links hold where it lies, two folders below
    front = front.replace("](../../", "](").replace("](../", "](docs/")
    (source / "index.md").write_text(front + navigation(), encoding="utf-8")
    _reference(source / "reference")


def navigation() -> str:
    """Return the navigation, made of the list of all pages: a part for each of its headings, and each page once."""
    pages_of = CHECKOUT / "docs" / "README.md"
    _, *parts = re.split(r"^## (.+)$", pages_of.read_text(encoding="utf-8"), flags=re.M)
    told: dict[str, str] = {}
    for caption, text in zip(parts[::2], parts[1::2], strict=True):
        for link in LINK.finditer(text):
            path = (pages_of.parent / link[1]).resolve()
            if not _unlisted(path):
                name = path.relative_to(CHECKOUT).as_posix()
                told.setdefault(f"{name}/README" if path.is_dir() else name.removesuffix(".md"), caption)
    told |= dict.fromkeys(LOOKED_UP, "Look up")
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n"
        + "\n".join(name for name, of in told.items() if of == caption)
        + "\n```\n"
        for caption in dict.fromkeys(told.values())
    )


def _unlisted(path: Path) -> str:
    """Return what keeps a page out of the navigation, which every page shows: one of hundreds that a list leads to."""
    many = path.parent.name in ("rules", "decisions") and path.name != "README.md"
    return UNLISTED if many else ""


def _write(source: Path, path: Path, text: str) -> None:
    """Write a page where it lies in the checkout, and take along what it links to."""
    at = source / path.relative_to(CHECKOUT)
    at.parent.mkdir(parents=True, exist_ok=True)
    code = [(found.start(), found.end()) for found in CODE.finditer(text)]

    def led_on(link: re.Match[str]) -> str:
        if any(start <= link.start() < end for start, end in code):
            return link[0]
        target = (path.parent / link[1]).resolve()
        if target.is_dir():
            _list(source, target)
            return f"{link[1].rstrip('/')}/README.md{link[2] or ''}"
        if target.suffix != ".md":
            _copy(source, target)
        elif target not in set(pages()) and target.name != LOG:
            _write(source, target, UNLISTED + target.read_text(encoding="utf-8"))
        return link[0]

    at.write_text(LINK.sub(led_on, text), encoding="utf-8")


def _copy(source: Path, path: Path) -> None:
    at = source / path.relative_to(CHECKOUT)
    at.parent.mkdir(parents=True, exist_ok=True)
    if not at.exists():
        shutil.copy(path, at)


def _list(source: Path, folder: Path) -> None:
    """Write the page of a folder that has none of its own: its pages, or its files."""
    page = source / folder.relative_to(CHECKOUT) / "README.md"
    if page.exists() or (folder / "README.md").exists():
        return
    page.parent.mkdir(parents=True, exist_ok=True)
    inner = sorted(folder.glob("*.md"))
    for path in (files := [path for path in sorted(folder.iterdir()) if path.is_file() and path not in inner]):
        _copy(source, path)
    titles = [(path.name, path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")) for path in inner]
    told = "\n".join(f"- [{title}]({name})" for name, title in [*titles, *((path.name, path.name) for path in files)])
    unlisted = "" if inner else UNLISTED
    page.write_text(f"{unlisted}# {folder.name.capitalize()}\n\n{told}\n", encoding="utf-8")


def _reference(folder: Path) -> None:
    (folder / "commands").mkdir(parents=True)
    (folder / "python").mkdir()
    rows = []
    for page in command_pages():
        (folder / "commands" / f"{page.name}.md").write_text(UNLISTED + page.text, encoding="utf-8")
        rows.append((page.name, page.summary))
    table = "\n".join(f"| [`memkit {name}`]({name}.md) | {summary} |" for name, summary in rows)
    (folder / "commands" / "README.md").write_text(
        f"# Every command, with its options\n\n| command | |\n|---|---|\n{table}\n", encoding="utf-8"
    )
    told: dict[object, str] = {}
    for door, title in DOORS.items():
        (folder / "python" / f"{door}.md").write_text(python_page(door, title, told), encoding="utf-8")
    table = "\n".join(f"| [`{door}`]({door}.md) | {title} |" for door, title in DOORS.items())
    tree = "\n".join(DOORS)
    (folder / "python" / "README.md").write_text(
        f"# Python\n\n| module | |\n|---|---|\n{table}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n", encoding="utf-8"
    )


def public_names(door: str) -> list[tuple[str, str]]:
    """Return what a program may import from a module, as kind and name: what it lists, else what is made in it.

    It is read and not imported: a framework that is not here has its page all the same.
    """
    place = CHECKOUT / door.replace(".", "/")
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    body = _parsed(path)
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            module = importlib.import_module(door)
            return [(_kind(getattr(module, name)), name) for name in ast.literal_eval(node.value)]
    made = {ast.ClassDef: "class", ast.FunctionDef: "function"}
    named = [(made[type(node)], node.name) for node in body if type(node) in made]  # type: ignore[attr-defined,index]
    return [(kind, name) for kind, name in named if not name.startswith("_")]


@functools.cache
def _parsed(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_text(encoding="utf-8")).body


def _kind(one: object) -> str:
    if isinstance(one, type):
        return "exception" if issubclass(one, BaseException) else "class"
    return "function" if inspect.isroutine(one) else "data"


def docstring(door: str, name: str) -> str:
    """Return what the reference says of a public name: its docstring, of data the text below it.

    It is read where the name is made, behind the relative imports that lead there; a framework need not be here.
    """
    place = CHECKOUT / door.replace(".", "/")
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    body = _parsed(path)
    for node, below in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return ast.get_docstring(node) or ""
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            text = below.value if isinstance(below, ast.Expr) else None
            return inspect.cleandoc(str(text.value)) if isinstance(text, ast.Constant) else ""
        if isinstance(node, ast.ImportFrom) and any((alias.asname or alias.name) == name for alias in node.names):
            package = door if place.is_dir() else door.rpartition(".")[0]
            above = package.split(".")[: 1 - node.level or None] if node.level else []
            return docstring(".".join([*above, node.module or ""]).strip("."), name)
    return inspect.getdoc(getattr(importlib.import_module(door), name)) or ""  # handed out when it is asked for


def python_page(door: str, title: str, told: dict[object, str]) -> str:
    """Return the page of a module: what it says of itself, and each name with its signature and its docstring.

    ``told`` holds what earlier pages describe; a name that leads to the same is described there.
    """
    lines = [f".. automodule:: {door}\n   :no-members:\n"]
    if door.startswith("memkit.runtime."):
        lines.append(f"Each example goes on from ``from {door} import *`` and runs as a test.\n")
    for kind, name in public_names(door):
        one = getattr(sys.modules.get(door), name, name)
        if kind != "data" and told.setdefault(one, door) != door:
            lines.append(f"``{name}`` is that of :doc:`{told[one]}`.\n")
            continue
        members = (
            f"   :members:\n   :exclude-members: {INNER}\n   :show-inheritance:\n"
            if kind in ("class", "exception")
            else ""
        )
        if kind == "data":  # autodoc would tell of its value's class
            text = textwrap.indent(docstring(door, name), "   ")
            lines.append(f".. py:data:: {name}\n   :module: {door}\n\n{text}\n")
            continue
        lines.append(f".. auto{kind}:: {door}.{name}\n{members}")
    body = "\n".join(lines)
    return f"# {title}\n\n```{{eval-rst}}\n{body}\n```\n"


def build(out: Path = BUILT) -> Path:
    """Build the site and return its folder.

    Raises:
        RuntimeError: Sphinx warns of something: a link that leads nowhere, a page that nothing leads to.
    """
    source, html = out / "source", out / "html"
    lay_out(source)
    shutil.rmtree(html, ignore_errors=True)
    words = ("-W", "--keep-going", "-q", "-j", "2", "-b", "html", "-c", SITE, "-d", out / "trees", source, html)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *map(str, words)], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return html


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{build() / 'index.html'}\n")
    except RuntimeError as error:
        sys.exit(str(error))
