"""Maintain the part of AGENTS.md or CLAUDE.md that tells other agents what holds, and bring back edits made there."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memkit.errors import UsageError
from memkit.runtime.host.terminal import harmless
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.interface import Decision
from memkit.runtime.memory.log.clone import state_folder
from memkit.runtime.memory.record.lines import ArchiveError, Reason
from memkit.runtime.memory.record.record import Draft, Origin, Record, is_valid
from memkit.store.files import whole_file
from memkit.store.layout import require_writable_inside
from memkit.use_cases.memory import decision_data

if TYPE_CHECKING:
    from memkit.workspace import Workspace

BEGIN = "<!-- memkit:begin: between these marks 'memkit export --agents-md' writes; edits come back as offers -->"
END = "<!-- memkit:end -->"
BLOCK = re.compile(r"^<!-- memkit:begin\b.*?-->$.*?^<!-- memkit:end -->$", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^[-*] (?P<text>.*?)(?:\s*<!-- memkit:(?P<id>[0-9A-Z]{26}) -->)?$")
HEADINGS = {"constraint": "## Constraints", "preference": "## Preferences"}
SKILLS = "## Skills"
ACTOR = "import:agents-md"
LARGEST = 4 * 1024 * 1024
NOTED = "agents-md.json"


@dataclass
class AgentsFile:
    """What was written, and what became of the edits found."""

    path: Path
    user: str
    constraints: int = 0
    preferences: int = 0
    skills: int = 0
    left_out: int = 0
    """Records that others may have steered: no agent is told to follow them."""
    left_out_ids: list[str] = field(default_factory=list)
    """The ids of those records."""
    offers: list[dict[str, Any]] = field(default_factory=list)
    """``{line, op, text, decision, id, reasons}`` for each edit."""
    changed: bool = False

    def to_data(self) -> dict[str, Any]:
        """Return the data that ``--json`` prints."""
        counts = {
            name: getattr(self, name) for name in ("constraints", "preferences", "skills", "left_out", "left_out_ids")
        }
        return {"file": str(self.path), "user_id": self.user, **counts, "offers": self.offers, "changed": self.changed}


def keep_agents_file(workspace: Workspace, path: Path, *, user: str, mine: bool = False) -> AgentsFile:
    """Offer the edits between a file's marks, and write the present state there; the rest of the file stays.

    Without ``mine`` an edit counts as nobody's word: a new line is a tainted candidate, and what would change or end
    a record waits for a person.

    Raises:
        UsageError: The file is not text, or its marks do not match.
    """
    before = _text_of(path)
    found = BLOCK.findall(before)
    if len(found) > 1 or (not found and ("<!-- memkit:begin" in before or END in before)):
        raise UsageError(f"{path}: there must be one 'memkit:begin' and, below it, one 'memkit:end'. Fix the marks.")
    kept = AgentsFile(path, user)
    if found:
        origin = workspace.writer(user) if mine else Origin(ACTOR, user, taint=(ACTOR,))
        _bring_back(workspace, found[0], before[: before.index(found[0])].count("\n") + 1, origin, kept)
    block = _block(workspace, kept)
    text = before.replace(found[0], block) if found else f"{before.rstrip()}\n\n{block}\n".lstrip()
    if text != before:
        require_writable_inside(workspace.root, path)
        with whole_file(path, mode=0o644) as file:
            file.write(text.encode())
        kept.changed = True
    _note_written(workspace, path, block)
    return kept


def _text_of(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
    with suppress(UnicodeDecodeError):
        if len(data) <= LARGEST and b"\0" not in data:
            return data.decode()
    raise UsageError(f"{path} is not UTF-8 text of at most {LARGEST >> 20} MB.")


# Writing.


def _block(workspace: Workspace, kept: AgentsFile) -> str:
    records = _told(workspace, kept)
    skills = [(name, skill.description) for name, skill in workspace.skills.items() if not skill.deprecated]
    kept.skills = len(skills)
    lines = [BEGIN]
    for type, heading in HEADINGS.items():
        own = [record for record in records if record.type == type]
        setattr(kept, f"{type}s", len(own))
        lines += ["", heading, "", *(f"- {_shown(one.text)} <!-- memkit:{one.id} -->" for one in own)] if own else []
    shown = [f"- `{name}`: {_shown(text)} (`memkit skill show {name}`)" for name, text in skills]
    lines += ["", SKILLS, "", *shown] if shown else []
    return "\n".join([*lines, "", END])


def _told(workspace: Workspace, kept: AgentsFile) -> list[Record]:
    archive, least = workspace.archive, workspace.memory_settings.retrieval.min_confidence
    records = archive.records(user_id=kept.user, types=tuple(HEADINGS))
    holding = [one for one in records if is_valid(one, workspace.clock()) and one.confidence >= least]
    wide = [one for one in holding if one.scope in ("user", "shared") and not one.is_sealed]
    clean = [one for one in wide if not archive.taint_of(one, kept.user)]
    kept.left_out_ids = [one.id for one in wide if one not in clean]
    kept.left_out = len(kept.left_out_ids)
    return clean


def _shown(text: str) -> str:
    """Return a text on one line that cannot contain a mark."""
    return harmless(" ".join(text.split())).replace("<!--", "<! --").replace("-->", "-- >")


# Reading.


def _bring_back(workspace: Workspace, block: str, first: int, origin: Origin, kept: AgentsFile) -> None:
    archive, stood = workspace.archive, {record.id: record for record in _told(workspace, kept)}
    seen, written = set[str](), _written(workspace).get(str(kept.path.resolve()), [])
    for number, type, text, id in _lines(block, first):
        old = stood.get(id or "")
        if id is not None:
            seen.add(id)
        if not text or (old is not None and text == _shown(old.text)):
            continue
        if old is not None:
            decision = _decided(lambda old=old, text=text: archive.supersede(old.id, text, origin))
            _note(kept, number, "supersede", text, decision)
        elif id is None:
            draft = Draft(text, type=type, source="imported" if origin.actor == ACTOR else "explicit")
            _note(kept, number, "add", text, _decided(lambda draft=draft: archive.offer(draft, origin)))
    for id, record in stood.items():
        if id not in seen and id in written:
            _note(kept, first, "forget", record.text, _forgotten(archive, id, origin))
    if kept.offers:
        workspace.commit_memory(added=len(kept.offers))


def _lines(block: str, first: int) -> Iterator[tuple[int, str, str, str | None]]:
    """Yield the entries between the marks, except skills, which are changed as files."""
    type: str | None = None
    for number, line in enumerate(block.splitlines(), first):
        if line.startswith("#"):
            type = next((one for one, heading in HEADINGS.items() if heading == line.strip()), None)
        elif type is not None and (match := LINE.match(line)):
            yield number, type, match["text"].strip(), match["id"]


def _written(workspace: Workspace) -> dict[str, list[str]]:
    """Return which records this clone wrote into each file: those missing there have been deleted by somebody."""
    try:
        found = json.loads((state_folder(workspace.root) / NOTED).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _note_written(workspace: Workspace, path: Path, block: str) -> None:
    ids = [match["id"] for line in block.splitlines() if (match := LINE.match(line)) and match["id"]]
    noted = {**_written(workspace), str(path.resolve()): ids}
    with whole_file(state_folder(workspace.root) / NOTED) as file:
        file.write(json.dumps(noted).encode())


def _decided(offer: Any) -> Decision:
    try:
        decision: Decision = offer()
    except ArchiveError as error:
        return Decision("refused", None, (Reason(error.code, str(error)),))
    return decision


def _forgotten(archive: ArchivalStore, id: str, origin: Origin) -> Decision:
    from memkit.runtime.memory.gate.gate import TAINTED

    waits = archive.mark("forget", id, origin, reason="deleted from the file of agents")
    return Decision("quarantined", waits, (TAINTED,)) if waits else Decision("admitted", id)


def _note(kept: AgentsFile, line: int, op: str, text: str, decision: Decision) -> None:
    kept.offers.append({"line": line, "op": op, "text": text, **decision_data(decision)})


def default_file(root: Path, given: Path | None) -> Path:
    """Return the file to maintain: the given one, else CLAUDE.md if only that exists, else AGENTS.md."""
    if given is not None:
        return given
    claude, agents = root / "CLAUDE.md", root / "AGENTS.md"
    return claude if os.path.lexists(claude) and not os.path.lexists(agents) else agents


def offer_lines(offers: Sequence[Mapping[str, Any]], left_out: Collection[str] = ()) -> list[str]:
    """Return the outcome of edits as text for a person; ``left_out`` are the ids that no agent is told."""
    told = []
    for offer in offers:
        id = offer["id"]
        waits = f": memkit memory approve {id}" if offer["decision"] == "quarantined" else ""
        if id in left_out and not waits:
            waits = f" {id}; it is left out of the file until you run: memkit memory approve {id}"
        reasons = "; ".join(reason["message"] for reason in offer["reasons"])
        why = f" ({reasons})" if reasons else ""
        told.append(f"line {offer['line']}: {offer['op']} {offer['decision']}{why}{waits}")
    return told
