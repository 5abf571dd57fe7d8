"""memkit's archive under the nine edits of ``agent-memory-integrity``: the editor has access to the store alone."""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path

from agmi.adapters.base import Record

from closure.adapters.at_rest import JsonLines
from closure.adapters.memkit_files import new_store
from memkit import open_store
from memkit.cli.main import run
from memkit.runtime.memory.log.log import claimed_link, linked

SAID = {"tampered", "missing", "moved_back", "reordered", "forged", "unlinked"}
"""Codes by which memkit reports an edit."""


class MemkitLines(JsonLines):
    """A store of ``memkit init``; its heads are in the user's configuration folder, outside the edited files."""

    name = "memkit-files"
    detection_point = "read"

    def begin(self) -> None:
        """Create a store."""
        os.environ["XDG_CONFIG_HOME"] = str(self.folder / "config")
        new_store(self.store)

    def _command(self, *words: str) -> dict[str, list[dict[str, str]]]:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            run([*words, "--json", "--no-input"])
        text = said.getvalue()
        return json.loads(text) if text.startswith("{") else {}

    def remember(self, user: str, texts: list[str]) -> None:
        """Add them as a program does."""
        with open_store(self.store) as store:
            for text in texts:
                store.add(text, user=user)

    def _file(self) -> Path:
        (shard,) = sorted(self.store.glob("archive/*/*.jsonl"))
        return shard

    def forge_record(self, template: Record) -> Record:
        """Also compute the digest of the forged line, which any reader of memkit's source can do."""
        forged = super().forge_record(template)
        fields, _ = linked(forged.fields, claimed_link(template.fields))
        return Record(forged.seq, dict(fields))

    def verify(self) -> bool:
        """Return whether memkit reports nothing: first the reading commands, then ``fsck``, which reads everything."""
        listed = self._command("memory", "list", "--user", "ada", "--store", str(self.store))
        read = {said["code"] for said in listed.get("diagnostics", [])} & SAID
        checked = self._command("fsck", "--store", str(self.store))
        audit = {said["code"] for said in [*checked.get("diagnostics", []), *_problems(checked)]} & SAID
        self.detection_point = "read" if read else "audit"
        self.verify_detail = f"said when read: {sorted(read)}; by fsck: {sorted(audit)}"
        return not read | audit


def _problems(checked: dict[str, object]) -> list[dict[str, str]]:
    data = checked.get("data")
    return data.get("problems", []) if isinstance(data, dict) else []
