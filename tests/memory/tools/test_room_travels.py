"""The room as a package of its own: the calls of a generated project behave as shown, with nothing else there."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import memkit.runtime.memory

PROGRAM = """
from {room}.main import ArchivalStore, MainContext, MemoryTools, Refused

main = MainContext(max_tokens=2000)
archive = ArchivalStore()
tools = MemoryTools(main, archive)
record_id = tools.archival_memory_insert("Alice prefers espresso over latte", tags=["prefs"])
results = tools.archival_memory_search("Alice coffee preference", top_k=5)
assert (results[0].text, results[0].id) == ("Alice prefers espresso over latte", record_id)
assert results[0].score > 0
tools.core_memory_append("human", "Name: Alice"); tools.core_memory_replace("human", "Alice", "Ada")
assert main.core["human"] == "Name: Ada"
assert tools.conversation_search("espresso") == []
main.append({{"role": "user", "content": "I love espresso"}})
assert tools.conversation_search("espresso")[0].text == "I love espresso"
try:
    tools.archival_memory_insert("my password is hunter2")
except Refused as refused:
    assert [reason.code for reason in refused.reasons] == ["secret"]
kept = ArchivalStore("store")
kept_id = MemoryTools(MainContext(), kept).archival_memory_insert("Kept on disk")
kept.close()
assert ArchivalStore("store").get(kept_id).record.text == "Kept on disk"
import sys
print(sorted(name for name in sys.modules if name.split(".")[0] in ("memkit", "yaml", "click", "git", "tiktoken")))
"""


def run(program: str, directory: Path, *flags: str) -> str:
    """Run a program in a directory and return what it prints."""
    done = subprocess.run(
        [sys.executable, *flags, "-c", program], cwd=directory, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_room_works_inside_memkit(tmp_path: Path) -> None:
    """The calls work on memkit.runtime.memory.main."""
    assert "yaml" not in run(PROGRAM.format(room="memkit.runtime.memory"), tmp_path)


@pytest.mark.parametrize("flags", [(), ("-S",)])
def test_the_room_works_alone(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """Copied as the package ``memory``, with no site packages at all, the same calls work and load nothing else."""
    room = Path(memkit.runtime.memory.__file__).parent
    shutil.copytree(room, tmp_path / "memory", ignore=shutil.ignore_patterns("__pycache__"))

    assert run(PROGRAM.format(room="memory"), tmp_path, *flags) == "[]"
