"""How Sphinx makes a site of the documents: ``make site``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import memkit

project = "memkit"
author = copyright = "The memkit authors"
version = release = memkit.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["misc.highlighting_failure"]  # consoles show "…" for what differs each time

# Strands wants an older mcp than the server does, and the ADK is heavy: what memkit has for them is told without them.
autodoc_mock_imports = ["strands", "google.adk", "google.genai"]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
toc_object_entries = False  # the navigation is copied for each page, entry by entry
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = "memkit"
html_favicon = "icon.svg"
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": False}
html_baseurl = ""


def as_restructured_text(app: Sphinx, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Turn what docstrings borrow from Markdown, fenced programs, into what Sphinx reads."""
    told: list[str] = []
    fenced = False
    for line in lines:
        fence = re.fullmatch(r"( *)```(\w*)", line)
        if fence:
            fenced = not fenced
            told += ["", f"{fence[1]}.. code-block:: {fence[2] or 'text'}", ""] if fenced else [""]
        else:
            told.append(f"   {line}" if fenced else line)
    lines[:] = told


NAVIGATION: dict[tuple[object, ...], str] = {}


def share_navigation(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Draw the navigation once for all pages of a folder that are not in it; drawing it is most of a build."""
    draw = context.get("toctree")

    def drawn(**how: Any) -> str:
        key = (pagename.rpartition("/")[0], *sorted(how.items()))
        if key not in NAVIGATION:
            NAVIGATION[key] = draw(**how)
        return NAVIGATION[key]

    if draw and "orphan" in app.env.metadata.get(pagename, {}):
        context["toctree"] = drawn


def setup(app: Sphinx) -> None:
    """Have docstrings read as they are written, and pages by the hundred written soon."""
    app.connect("autodoc-process-docstring", as_restructured_text)
    app.connect("html-page-context", share_navigation, priority=100)  # before the theme asks for it
