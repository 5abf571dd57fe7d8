"""How Sphinx makes a site of the documents: ``make site``."""

from __future__ import annotations

import re

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
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = "memkit"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": False}
html_baseurl = ""


def as_restructured_text(app, what, name, obj, options, lines):
    """Turn what docstrings borrow from Markdown, fenced programs, into what Sphinx reads."""
    told, fenced = [], False
    for line in lines:
        fence = re.fullmatch(r"( *)```(\w*)", line)
        if fence:
            fenced = not fenced
            told += ["", f"{fence[1]}.. code-block:: {fence[2] or 'text'}", ""] if fenced else [""]
        else:
            told.append(f"   {line}" if fenced else line)
    lines[:] = told


def setup(app):
    """Have docstrings read as they are written."""
    app.connect("autodoc-process-docstring", as_restructured_text)
