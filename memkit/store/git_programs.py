"""The programs that git may run on shards, named in a repository's own configuration and in every call of memkit's."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable

ATTRIBUTES = "merge=memkit diff=memkit"

_FOREIGN = re.compile(
    r"(?P<kind>filter|merge|diff)\.(?P<name>.+)\.(?P<key>clean|smudge|process|required|driver|textconv|command)",
    re.IGNORECASE,
)
_SILENCED = {
    "clean": "",
    "smudge": "",
    "process": "",
    "required": "false",
    "driver": "false",  # a driver that fails is a conflict; an empty one would quietly take one side
    "textconv": "cat",
    "command": "true",
}


def own_programs(store: str = ".") -> dict[str, str]:
    """Return the settings that make git merge shards line by line and show them as sentences.

    ``store`` is where the store lies in its working tree: its keys open what is sealed.

    Git runs them in the top folder of a working tree, which is no place to import from: ``-P``. Where memkit cannot run
    any more, a merge falls back on git's own, with its markers, and a diff on the text as it is: neither may take one
    side in silence or end a ``git log``. The text is never cached, because git would keep what was opened of a sealed
    line among its objects.
    """
    memkit = f"{shlex.quote(sys.executable)} -P -m memkit git"
    return {
        "merge.memkit.name": "memkit: every line of both sides, once",
        "merge.memkit.driver": (
            f"{memkit} merge-driver %O %A %B %P; s=$?; "
            "test $s -le 1 || { git merge-file -L ours -L base -L theirs %A %O %B; s=$?; }; exit $s"
        ),
        "diff.memkit.textconv": (
            f'f() {{ {memkit} textconv --store {shlex.quote(store)} "$1" 2>/dev/null || cat "$1"; }}; f'
        ),
    }


def silenced(keys: Iterable[str]) -> dict[str, str]:
    """Return what switches off every program that a configuration with these keys names, but for memkit's own."""
    settings = {}
    for key in keys:
        if match := _FOREIGN.fullmatch(key):
            settings[key] = _SILENCED[match["key"].lower()]
            if match["kind"].lower() == "filter":
                settings |= {f"filter.{match['name']}.{one}": "" for one in ("clean", "smudge", "process")}
                settings[f"filter.{match['name']}.required"] = "false"
        elif key.lower() == "diff.external":
            settings[key] = "true"
        elif key.lower().endswith(".cachetextconv"):
            settings[key] = "false"
    return settings | own_programs()
