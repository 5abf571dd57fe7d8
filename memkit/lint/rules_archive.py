"""Rules for the archive."""

from __future__ import annotations

from memkit.lint.interface import Rule
from memkit.store.tracked import HOW_TO_CLEAN

_SHARD = "archive/2026-11/writer.jsonl"
_RECORD = (
    '{"created_at":"2026-11-21T09:00:00.000000Z","id":"01KAJ3Q0000000000000000001","text":"Ada prefers espresso",'
    '"type":"preference","user_id":"ada"}\n'
)

ARCHIVE_RULES = (
    Rule(
        "MKA001",
        "not-json",
        "A line of the archive is not a JSON object.",
        "The record on it is lost to search until the line is repaired. `memkit fsck --fix` sets it aside.",
        "Ada prefers espresso\n" + _RECORD,
        _RECORD,
        _SHARD,
    ),
    Rule(
        "MKA002",
        "torn-line",
        "The last line of a shard does not end.",
        "A process was killed while it wrote. The line was never acknowledged; it is set aside when the next record is "
        "written, or by `memkit fsck --fix`.",
        _RECORD + '{"created_at":"2026-11-21T09:00',
        _RECORD,
        _SHARD,
        severity="warning",
    ),
    Rule(
        "MKA003",
        "invalid-record",
        "A record lacks a field, or a field does not fit.",
        "It is not recalled. Lines are never edited: supersede the record, or let `memkit fsck --fix` set it aside.",
        _RECORD.replace('"type":"preference"', '"type":"liking"'),
        _RECORD,
        _SHARD,
    ),
    Rule(
        "MKA004",
        "invalid-event",
        "An event has an unknown op, or lacks a field.",
        "What it says, such as a rejection or an approval, does not happen. A newer memkit may have written it.",
        _RECORD
        + '{"actor":"person","at":"2026-11-21T09:01:00.000000Z","id":"01KAJ3Q0000000000000000002","op":"frobnicate",'
        '"target":"01KAJ3Q0000000000000000001","user_id":"ada"}\n',
        _RECORD
        + '{"actor":"person","at":"2026-11-21T09:01:00.000000Z","id":"01KAJ3Q0000000000000000002","op":"confirm",'
        '"target":"01KAJ3Q0000000000000000001","user_id":"ada"}\n',
        _SHARD,
    ),
    Rule(
        "MKA005",
        "id-conflict",
        "The same id stands on two lines with different content.",
        "Archive lines are never edited, so one of them was. A merge that joins lines by text can do that; only one "
        "of the two is recalled.",
        _RECORD + _RECORD.replace("espresso", "latte"),
        _RECORD,
        _SHARD,
    ),
    Rule(
        "MKA006",
        "conflict-marker",
        "A merge conflict was left in the archive.",
        "Both sides are wanted: no two writers share a shard, so keep every record and delete the marker lines.",
        "<<<<<<< HEAD\n" + _RECORD + "=======\n>>>>>>> other\n",
        _RECORD,
        _SHARD,
    ),
    Rule(
        "MKA007",
        "misplaced-shard",
        "A file in archive/ is no shard, so nothing in it is remembered.",
        "Shards are `archive/<YYYY-MM>/<writer>.jsonl`.",
        _RECORD,
        _RECORD,
        "archive/notes.jsonl",
        severity="warning",
    ),
    Rule(
        "MKA008",
        "tracked-machine-folder",
        "Git tracks .memkit/, which belongs to this machine alone.",
        "It holds sessions, the audit log and the index in clear text, and no erasing reaches what others cloned. "
        f"{HOW_TO_CLEAN}",
        "git add -f .memkit\n",
        "git rm -r -q --cached .memkit\n",
        "memkit.yaml",
    ),
)
