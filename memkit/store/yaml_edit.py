"""Change a YAML text as a careful editor would: comments, quotes, order, indentation and line ends stay."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

_FLUSH_LIST = re.compile(r"^( *)[^\s#-][^\n]*:[ \t]*\n\1- ", re.MULTILINE)
"""A list whose dashes stand right under its key."""
_BOM = "\ufeff"


def edited(content: str, change: Callable[[Any], None]) -> str:
    r"""Return ``content`` after ``change`` was applied to the document in it, which it edits like a dict.

    >>> edited("a: 1  # why\nb: [x]\n", lambda document: document.update(a=2))
    'a: 2  # why\nb: [x]\n'
    """
    from ruamel.yaml import YAML

    text = content.removeprefix(_BOM).replace("\r\n", "\n")
    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 4096
    if not _FLUSH_LIST.search(text):
        editor.indent(mapping=2, sequence=4, offset=2)
    document = editor.load(text)
    change(document)
    written = io.StringIO()
    editor.dump(document, written)
    result = written.getvalue()
    if "\r\n" in content:
        result = result.replace("\n", "\r\n")
    return _BOM + result if content.startswith(_BOM) else result
