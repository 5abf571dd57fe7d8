"""The programs that git may run on shards, named in its own configuration by 'memkit git setup'."""

from __future__ import annotations

import shlex
import sys

ATTRIBUTES = "merge=memkit diff=memkit"


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
