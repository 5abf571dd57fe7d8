"""Every path by which text can become memory passes the write gate, and a new one that does not is found here.

The source is read for three things: who may write a line at all, which of the changes of an archive write text that no
gate has judged, and who offers. Each place that offers has a twin below that runs it before a gate that refuses all.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from memkit.agent import Parts, ReferenceAgent, Setting
from memkit.cli.main import run
from memkit.equivalence.run import write_store
from memkit.integrations.interface import Plug
from memkit.llm.rules.model import ReferenceModel
from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.archive.keeping import KeptDocument
from memkit.runtime.memory.gate.gate import WriteGate
from memkit.runtime.memory.interface import Judgement
from memkit.runtime.memory.lifecycle.consolidation import Compression, ConsolidationPlan
from memkit.runtime.memory.record.lines import Reason, Refused
from memkit.runtime.memory.record.record import Draft, Origin

ROOT = Path(__file__).parents[2]
SOURCES = ("memkit", "templates")
TESTS = {"tests", "trial"}
"""Folders of tests, in templates and in the runtime."""

WRITERS = ("memkit/runtime/memory/archive/change.py", "memkit/runtime/memory/archive/keeping.py")
"""Where changes are made; each function there judges what it writes, or is excused below."""
LINE_WRITERS = {
    "memkit/runtime/memory/archive/keeping.py": "the change that keeps a document, judged below",
    "memkit/runtime/memory/archive/change.py": "the changes, judged below one by one",
    "memkit/runtime/memory/archive/archive.py": "hands the log to the changes",
    "memkit/runtime/memory/log/shards.py": "the log itself",
    "memkit/runtime/backends/moving.py": "brings lines that are there to another log, and makes none",
    "memkit/runtime/backends/postgres.py": "the log itself; an erasure takes lines out of it",
    "memkit/use_cases/backend.py": "moves lines that are there, and makes none",
    "memkit/store/migrations.py": "gives links to lines that are there, and makes none",
    "memkit/store/repair.py": "moves lines that are there, and makes none",
    "memkit/store/allowances.py": "names the folder as one that runs nothing; what it replaces are fields of its own",
    "memkit/use_cases/store.py": "makes the empty folder",
    "memkit/use_cases/carry.py": "makes the scratch folder of a dry run",
    "memkit/use_cases/erase_user.py": "takes lines out, and leaves digests",
    "memkit/use_cases/accounts.py": "reads lines; what it replaces are values",
    "memkit/use_cases/upkeep.py": "holds the log of a branch in memory, and commits what an archive wrote to it",
    "memkit/workspace.py": "counts changes and commits what is there",
}
"""Modules that touch the shards, and why each may."""

WITHOUT_TEXT = {
    "mark": "says something about a record; reason masked, fields checked",
    "resolve": "says which record of an open question holds, and since when; reason masked, fields checked",
    "set_consent": "yes or no",
    "allow": "lifts a tombstone",
    "bury": "digests",
    "_give_way": "says that one record takes the place of another; reason masked",
    "restore": "a person puts an export back as it was; erased values stay out, and what was not live stays so",
    "revoke": "takes back what is there; reason masked",
    "write_event": "the line of an event that another method judged",
    "_write_version": "the lines of a document that ``keep`` judged",
    "_derived": "retires the record of a document that has no text any more",
    "refresh": "gives a document that was judged more time",
}
"""Methods of a change that write without a judgement, and what they write."""

OFFERING = {"offer", "import_many", "supersede", "edit_core"}
OFFERING_OF_AN_ARCHIVE = {"merge", "consolidate"}
"""Words that other things have as methods too."""
WORDS = {*OFFERING, *OFFERING_OF_AN_ARCHIVE}
TOOLS = ("tools", "toolbox")
"""What a module of the loop or the agent calls that to which it offers tools; a model is told of these, not memory."""


def sources() -> dict[str, str]:
    """Return the text of every module of memkit and of the templates, but for the tests of projects."""
    paths = (path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py")))
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in paths if not TESTS & {*path.parts}}


def calls(tree: ast.AST) -> set[str]:
    """Return the names of everything called in ``tree``."""
    functions = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in functions}


def names(tree: ast.AST) -> set[str]:
    """Return every name and attribute that ``tree`` reads or imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            found.update(alias.name for alias in node.names)
            found.add(getattr(node, "module", None) or "")
    return found


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """Yield every function in ``tree``."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def touches_shards(tree: ast.Module) -> bool:
    """Return whether a module stages lines, opens the log to write, makes a change, or writes files of the archive."""
    if calls(tree) & {"stage", "batch", "ShardLog", "MemoryLog"}:
        return True
    if {"encode_line", "memkit.runtime.memory.archive.change"} & names(tree):
        return True
    said = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    about_shards = "archive" in said and ({"jsonl", ".jsonl", "*.jsonl"} & said or "mkdir" in calls(tree))
    return bool(about_shards and calls(tree) & {"write", "write_text", "write_bytes", "replace", "rename"})


def bypasses(modules: Mapping[str, str]) -> list[str]:
    """Return every place that writes memory without the gate."""
    found = []
    for path, text in modules.items():
        tree = ast.parse(text)
        if path not in LINE_WRITERS and touches_shards(tree):
            found.append(f"{path} touches the shards")
        if path not in WRITERS:
            continue
        for function in functions(tree):
            writes = calls(function) & {"_write", "write_event", "_write_version", "stage"}
            judged = calls(function) & {"judge", "judge_core", "judge_document"} or "Judgement" in ast.unparse(
                function.args
            )
            if writes and not judged and function.name not in {*WITHOUT_TEXT, "_write"}:
                found.append(f"{path} {function.name} writes what nobody judged")
            if "stage" in writes and function.name != "_write":
                found.append(f"{path} {function.name} stages a line by itself")
    return found


def offers(function: ast.FunctionDef) -> bool:
    """Return whether a function calls what offers something."""
    called = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    named = (node for node in called if isinstance(node, ast.Attribute) and node.attr in WORDS)
    methods = [(ast.unparse(node.value), node.attr) for node in named]
    methods = [(owner, name) for owner, name in methods if not (name == "offer" and owner in TOOLS)]
    return any(
        name in OFFERING or (name in OFFERING_OF_AN_ARCHIVE and owner.endswith("archive")) for owner, name in methods
    )


def offering(modules: Mapping[str, str]) -> set[str]:
    """Return the functions outside the archive that offer something, as ``path:function``."""
    own = ("memkit/runtime/memory/archive/archive.py", "memkit/runtime/memory/archive/change.py")
    own += ("memkit/runtime/loop/tools.py",)  # offers tools to a model
    return {
        f"{path}:{function.name}"
        for path, text in modules.items()
        if path not in own
        for function in functions(ast.parse(text))
        if offers(function)
    }


def test_nothing_writes_past_the_gate() -> None:
    """Only the log and the changes write lines, and every change with text in it was judged."""
    assert bypasses(sources()) == []


def test_the_lists_name_nothing_that_is_gone() -> None:
    """An excuse for a module or method that no longer needs one would cover whatever comes in its place."""
    modules = sources()
    change = {function.name for path in WRITERS for function in functions(ast.parse(modules[path]))}

    assert set(LINE_WRITERS) <= set(modules)
    assert set(WITHOUT_TEXT) <= change


PLANTED = {
    "a change that nobody judged": (
        "memkit/runtime/memory/archive/change.py",
        "class Change:\n    def sneak(self, record):\n        self._write(record.to_data())\n",
    ),
    "a change that stages by itself": (
        "memkit/runtime/memory/archive/change.py",
        "class Change:\n    def offer(self, gate, line):\n        gate.judge(line)\n        self._batch.stage(line)\n",
    ),
    "a module with a log of its own": (
        "memkit/use_cases/hurry.py",
        "from memkit.runtime.memory.log.shards import ShardLog\ndef hurry(root, line):\n"
        "    with ShardLog(root).batch() as batch:\n        batch.flush()\n",
    ),
    "a module that makes lines": (
        "memkit/store/fast.py",
        "from memkit.runtime.memory.record.lines import encode_line\n"
        "def fast(file, data):\n    file.write(encode_line(data))\n",
    ),
    "a template that writes a shard": (
        "templates/_shared/project/agent/quick.py",
        "from pathlib import Path\ndef quick(root, text):\n"
        "    with next((Path(root) / 'archive').rglob('*.jsonl')).open('a') as shard:\n        shard.write(text)\n",
    ),
}


@pytest.mark.parametrize("case", PLANTED)
def test_a_planted_bypass_is_found(case: str) -> None:
    """The search above can fail."""
    path, text = PLANTED[case]

    assert bypasses({path: text})


def test_a_new_place_that_offers_needs_a_twin() -> None:
    """Every function that offers is run below before a gate that refuses all; a new one has to be added there."""
    planted = {"memkit/use_cases/new.py": "def learn(archive, text):\n    archive.offer(text)\n"}

    assert offering(sources()) == set(TWINS)
    assert offering(planted) - set(TWINS)


Twin = Callable[[Path, str, Path], object]
"""Runs one path in: the store, a record of it, and a folder for files. It may raise what the gate refuses."""


def command(*words: str) -> Twin:
    """Return a twin that runs a command; KNOWN stands for the record."""
    return lambda store, known, folder: run([word.replace("KNOWN", known) for word in words])


def by_tool(name: str, **args: str) -> Twin:
    """Return a twin in which a model calls a memory tool."""

    def talk(store: Path, known: str, folder: Path) -> object:
        script = folder / "answers.yaml"
        script.write_text(json.dumps([{"tool": name, "args": args}, {"text": "done"}]), encoding="utf-8")
        return run(["chat", "--provider", f"scripted:{script}", "-p", "I keep a lynx"])

    return talk


def passed_over(store: Path, known: str, folder: Path) -> object:
    """End a conversation in which the model wrote nothing down."""
    script = folder / "answers.yaml"
    script.write_text("- text: Fine.\n", encoding="utf-8")
    return run(["chat", "--provider", f"scripted:{script}", "-p", "I keep a lynx"])


def benched(store: Path, known: str, folder: Path) -> object:
    """Measure on a conversation as records, which lie in a memory of their own."""
    lines = [{"turn": "Ada keeps a lynx", "id": "1"}, {"question": "Who keeps a lynx?", "evidence": ["1"]}]
    (folder / "talk").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return run(["bench", "retrieval", str(folder / "talk"), "--mode", "records"])


def by_task(store: Path, known: str, folder: Path) -> object:
    """End a task, whose outcome is remembered."""
    with ArchivalStore(store) as archive:
        parts = Parts(archive, store, folder, archive._clock, ReferenceModel(), None, "")  # type: ignore[arg-type]
        with closing(ReferenceAgent(parts, Setting("ada", "s1"))) as agent:
            agent.tasks.start_task("keep a lynx")
            agent.tasks.record_step("buy a lynx", "bought")
            return agent.tasks.end_task(success=True, outcome="a lynx in the house")


def by_hand(work: Callable[[ArchivalStore, str], object]) -> Twin:
    """Return a twin that uses an archive directly."""

    def twin(store: Path, known: str, folder: Path) -> object:
        with ArchivalStore(store, gate=Refusing()) as archive:
            return work(archive, known)

    return twin


def every_id(archive: ArchivalStore) -> list[str]:
    """Return the ids of all live records."""
    return [record.id for record in archive.records(user_id="ada")]


def by_file(store: Path, known: str, folder: Path) -> object:
    """Import a list in Markdown."""
    (folder / "notes.md").write_text("- Ada keeps a lynx\n", encoding="utf-8")
    return run(["memory", "import", str(folder / "notes.md"), "--format", "markdown", "--user", "ada"])


def by_merging(store: Path, known: str, folder: Path) -> object:
    """Merge the two records that are there."""
    with ArchivalStore(store) as archive:
        ids = [record.id for record in archive.records(user_id="ada")]
    return run(["memory", "merge", *ids])


def consolidated(archive: ArchivalStore, known: str) -> object:
    """Move an entry of a core section to the archive, and merge two records."""
    moved = Compression("ada", "human", "Ada L.", (Draft(text="Ada keeps a lynx"),))
    return archive.consolidate(
        ConsolidationPlan(merges=(tuple(archive.records(user_id="ada")),), compressions=(moved,))
    )


ADA = Origin(actor="person", user_id="ada", session_id="s1", turn_id=1)


def by_editing(store: Path, known: str, folder: Path) -> object:
    """Edit a committed line by hand, and take that over."""
    assert run(["commit"]) == 0
    for path in (store / "archive").glob("*/*.jsonl"):
        path.write_text(path.read_text().replace("Ada likes tea", "Ada keeps a lynx"))
    return run(["fsck", "--accept", "--yes"])


def by_agents_file(store: Path, known: str, folder: Path) -> object:
    """Add a line to the file of other agents, and bring it back."""
    block = "<!-- memkit:begin -->\n## Constraints\n- Always feed the lynx\n<!-- memkit:end -->\n"
    (folder / "AGENTS.md").write_text(block, encoding="utf-8")
    return run(["export", "--agents-md", "--out", str(folder / "AGENTS.md")])


def by_plug(work: Callable[[Plug, str], object]) -> Twin:
    """Return a twin in which another framework writes."""

    def twin(store: Path, known: str, folder: Path) -> object:
        plug = Plug(store, "test", user="ada", consent=True, taint="clean")
        with closing(plug):
            return work(plug, known)

    return twin


def kept(plug: Plug, known: str) -> object:
    """Keep a document of which a record is derived."""
    return plug.keep("ada", [KeptDocument("item", "s", "n", {"text": "Ada keeps a lynx"}, Draft("Ada keeps a lynx"))])


def by_memory_tool(path: str, *, gone: bool = False) -> Twin:
    """Return a twin in which a model writes a file of Anthropic's memory tool, or takes it away."""

    def twin(store: Path, known: str, folder: Path) -> object:
        pytest.importorskip("anthropic.lib.tools")
        from memkit.integrations.anthropic import MemkitMemoryTool, ToolError

        with closing(MemkitMemoryTool(store, user="ada", consent=True, taint="clean")) as tool:
            if gone:
                command = {"command": "delete", "path": path}
            elif path.startswith("/memories/core"):
                command = {"command": "insert", "path": path, "insert_line": 0, "insert_text": "Ada keeps a lynx"}
            else:
                command = {"command": "create", "path": path, "file_text": "Ada keeps a lynx"}
            try:
                return tool.call(command)
            except ToolError:
                return None

    return twin


TWINS: dict[str, tuple[Twin, ...]] = {
    "memkit/use_cases/memory.py:remember": (command("memory", "add", "Ada keeps a lynx"),),
    "memkit/use_cases/memory.py:write_core": (command("core", "set", "human", "Ada keeps a lynx"),),
    "memkit/use_cases/memory.py:supersede_record": (command("memory", "supersede", "KNOWN", "Ada keeps a lynx"),),
    "memkit/bench.py:by_records": (benched,),
    "memkit/runtime/memory/tiers/tools.py:archival_memory_insert": (
        by_tool("archival_memory_insert", text="Ada keeps a lynx"),
        command("chat", "-p", "I keep a lynx."),
        command("chat", "-p", "Remember that I keep a lynx."),
    ),
    "memkit/runtime/memory/tiers/tools.py:remember_outcome": (by_task,),
    "memkit/runtime/memory/lifecycle/pieces.py:keep": (passed_over,),
    "memkit/use_cases/carry.py:_offer_all": (by_file,),
    "memkit/use_cases/memory.py:merge_records": (by_merging,),
    "memkit/use_cases/upkeep.py:_consolidated": (by_hand(consolidated),),
    "memkit/runtime/host/command.py:consolidate": (by_hand(consolidated),),
    "memkit/equivalence/run.py:write_store": (lambda store, known, folder: write_store(store),),
    "memkit/runtime/memory/tiers/tools.py:_edit_core": (
        by_tool("core_memory_append", section="human", text="Keeps a lynx"),
        by_tool("core_memory_replace", section="human", old="Ada L.", new="Ada, who keeps a lynx"),
    ),
    "memkit/use_cases/upkeep.py:_taken_over": (by_editing,),
    "memkit/use_cases/memory.py:refine_record": (command("memory", "refine", "KNOWN", "a lynx, not tea"),),
    "memkit/use_cases/memory.py:roll_back_core": (command("core", "rollback", "human"),),
    "memkit/use_cases/agents_md.py:_bring_back": (by_agents_file,),
    "memkit/runtime/memory/archive/keeping.py:_derived": (by_plug(kept),),
    "memkit/integrations/interface.py:add": (by_plug(lambda plug, known: plug.add("ada", "Ada keeps a lynx")),),
    "memkit/integrations/interface.py:edit_core": (
        by_plug(lambda plug, known: plug.edit_core("ada", "human", "Ada keeps a lynx")),
    ),
    "memkit/integrations/interface.py:supersede": (
        by_plug(lambda plug, known: plug.supersede("ada", known, "Ada keeps a lynx")),
    ),
    "memkit/integrations/anthropic.py:write": (by_memory_tool("/memories/core/human.md"),),
    "memkit/integrations/anthropic.py:remove": (by_memory_tool("/memories/core/human.md", gone=True),),
    "memkit/integrations/anthropic.py:_write_records": (by_memory_tool("/memories/records/pets.md"),),
}
"""What runs each function that offers."""
DIRECT: dict[str, Twin] = {
    "put": command("memory", "put", "pet", "a lynx"),
    "memory_value": by_tool("memory_value", key="pet", value="a lynx"),
    "offer": by_hand(lambda archive, known: archive.offer(Draft(text="Ada keeps a lynx"), ADA)),
    "offer again": by_hand(lambda archive, known: archive.offer(Draft(text="Ada likes tea", source_url="lynx"), ADA)),
    "import": by_hand(lambda archive, known: list(archive.import_many([(Draft(text="Ada keeps a lynx"), ADA)]))),
    "supersede": by_hand(lambda archive, known: archive.supersede(known, "Ada keeps a lynx", ADA)),
    "core": by_hand(lambda archive, known: archive.edit_core("ada", "human", "Ada keeps a lynx", ADA)),
    "merge": by_hand(lambda archive, known: archive.merge(every_id(archive), ADA, text="Ada keeps a lynx")),
    "consolidate": by_hand(consolidated),
    "undo": command("chat", "-p", "/undo"),
}
"""The ways into the archive itself, and the way back."""
BRING_NOTHING = {
    "undo", "memkit/integrations/anthropic.py:remove", "memkit/use_cases/memory.py:roll_back_core",
    "memkit/bench.py:by_records",
}  # fmt: skip
"""What brings no text in, whatever the gate says."""


class Refusing:
    """A gate that refuses everything."""

    def judge(self, *offer: Any, **more: Any) -> Judgement:
        """Refuse a record."""
        return Judgement("refused", (Reason("refusing", "This gate refuses everything."),))

    judge_core = judge


def lines_with_text(store: Path) -> Counter[str]:
    """Return the text of every record and core edit that the shards hold, and every source that an event names."""
    lines = [line for shard in (store / "archive").rglob("*.jsonl") for line in shard.read_text("utf-8").splitlines()]
    parsed = [json.loads(line) for line in lines]
    texts = (data.get("text") or data.get("fields", {}).get("text") for data in parsed)
    urls = (data.get("fields", {}).get("source_url") for data in parsed)
    return Counter(str(text) for text in (*texts, *urls) if text)


@pytest.fixture
def known(store: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the record that a consenting user's store holds, beside a line of core memory."""
    monkeypatch.setenv("MEMKIT_STORE", str(store))
    monkeypatch.setenv("MEMKIT_USER", "ada")
    run(["consent", "grant"])
    run(["core", "set", "human", "Ada, who keeps a lynx."])
    run(["core", "set", "human", "Ada L."])
    with ArchivalStore(store) as archive:
        archive.offer(Draft(text="Ada owns a red bicycle"), ADA)
        archive.offer(Draft(text="Ada wears a coat of lynx grey"), ADA)
        return str(archive.offer(Draft(text="Ada likes tea"), ADA).id)


EVERY_TWIN = [(path, twin) for path, twins in TWINS.items() for twin in twins] + list(DIRECT.items())


@pytest.mark.parametrize("twin", [pytest.param(twin, id=f"{path}-{n}") for n, (path, twin) in enumerate(EVERY_TWIN)])
def test_nothing_enters_past_a_gate_that_refuses_all(
    twin: Twin, known: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each way in was open, and before a gate that refuses everything it brings no text into the archive."""
    before = lines_with_text(store)
    monkeypatch.setattr(WriteGate, "judge", Refusing.judge)
    monkeypatch.setattr(WriteGate, "judge_core", Refusing.judge)
    refusal = Reason("refusing", "This gate refuses everything.")
    monkeypatch.setattr(WriteGate, "judge_document", lambda self, *offer, **more: ((refusal,), lambda value: value))

    try:
        twin(store, known, tmp_path)
    except Refused as error:
        assert error.codes == ("refusing",)

    assert lines_with_text(store) == before


@pytest.mark.parametrize(
    "twin",
    [pytest.param(twin, id=f"{path}-{n}") for n, (path, twin) in enumerate(EVERY_TWIN) if path not in BRING_NOTHING],
)
def test_every_twin_would_enter_past_an_open_gate(
    twin: Twin, known: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same ways with a gate that admits bring text in, so the test above shows something."""
    before = lines_with_text(store)
    monkeypatch.setattr(Refusing, "judge", lambda self, *offer, **more: WriteGate().judge(*offer, **more))
    monkeypatch.setattr(Refusing, "judge_core", lambda self, *offer, **more: WriteGate().judge_core(*offer, **more))

    twin(store, known, tmp_path)

    assert {text for text in lines_with_text(store) - before if "lynx" in text.lower()}
