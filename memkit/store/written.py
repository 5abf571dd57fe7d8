"""What memkit wrote outside of a store at a person's word: projects and exports, which an erasure has to find."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, get_args

from memkit.errors import EnvironmentFault
from memkit.runtime.memory.log.clone import state_folder
from memkit.runtime.memory.log.files import make_private
from memkit.store.files import write_whole

Kind = Literal["project", "export"]


class WrittenPlaces:
    """The places that one clone wrote to; one that is gone is forgotten with the next that comes."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self.file = state_folder(root) / "written.json"

    def note(self, kind: Kind, path: Path) -> None:
        """Remember that something was written to ``path``; what lies in the store is found without that."""
        place = path.resolve()
        if place.is_relative_to(self._root):
            return
        found = self._present()
        found[kind] = sorted({*found[kind], str(place)})
        self._write(found)

    def forget_what_is_gone(self) -> None:
        """Keep no path of what is not there any more: it may name a person."""
        if self.file.exists():
            self._write(self._present())

    def _present(self) -> dict[str, list[str]]:
        return {kind: list(map(str, self.places(kind))) for kind in get_args(Kind)}

    def _write(self, found: Mapping[str, Sequence[str]]) -> None:
        with suppress(OSError, EnvironmentFault):  # a store that cannot be written cannot be erased either
            make_private(self.file.parent)
            write_whole(self.file, json.dumps(found).encode("utf-8", "surrogatepass"), mode=0o600)

    def places(self, kind: Kind) -> Iterator[Path]:
        """Yield what was written and is still there."""
        try:
            found = json.loads(self.file.read_text("utf-8", "surrogatepass")).get(kind, [])
        except (OSError, ValueError, AttributeError):
            return
        yield from (Path(name) for name in found if isinstance(name, str) and Path(name).exists())
