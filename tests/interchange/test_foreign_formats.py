"""Memories of other systems: what becomes of each field, and what is said about everything else."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memkit.errors import UsageError
from memkit.interchange.formats import FORMATS, format_of, open_reader
from memkit.interchange.interface import FoundMemory, ImportSource, Passed, Unfit, Wishes
from memkit.interchange.markdown import read_lists

Memkit = Callable[..., dict[str, Any]]
DATA = Path(__file__).parent / "data"


def read(path: Path, name: str, **wishes: Any) -> tuple[list[FoundMemory], list[Unfit], list[Passed]]:
    """Return what a reader makes of a file, by kind."""
    items = list(open_reader(name)(ImportSource(str(path), path), Wishes(**wishes)))
    kinds = (FoundMemory, Unfit, Passed)
    return tuple([item for item in items if isinstance(item, kind)] for kind in kinds)  # type: ignore[return-value]


def test_mem0_memories_keep_their_fields_and_where_they_come_from(memkit: Memkit) -> None:
    """run_id is the session, expiration_date the end of validity; what has no place of its own is kept all the same."""
    data = memkit("memory", "import", str(DATA / "mem0.json"), "--format", "mem0", "--user", "ada", code=1)["data"]

    assert data["counts"] == {"admitted": 2, "merged": 0, "quarantined": 1, "refused": 3}
    assert [(entry["line"], entry["reasons"][0]["code"]) for entry in data["refused"]] == [
        (4, "other_user"), (5, "schema"), (6, "schema"),
    ]  # fmt: skip
    records = {record["text"]: record for record in memkit("memory", "list", "--user", "ada")["data"]["records"]}
    espresso, permit = records["Prefers espresso over latte"], records["Holds a parking permit for zone B"]
    assert (espresso["actor"], espresso["trust"], espresso["source"]) == ("import", "candidate", "imported")
    assert espresso["source_url"] == "mem0:5a0e5a5e-1111-4c1c-9d5e-000000000001"
    assert (espresso["session_id"], espresso["agent_id"], espresso["tags"]) == ("run-7", "barista", ["drinks"])
    assert espresso["created_at"] == "2025-03-01T18:00:00.123456Z"  # the file says it eight hours west of that
    assert espresso["mem0"] == {"metadata": {"category": "drinks", "shop": "corner"}, "role": "user"}
    assert (permit["valid_until"], permit["tags"]) == ("2031-12-31", ["car", "home"])


def test_what_mem0_deleted_and_its_graph_are_named_and_left(tmp_path: Path) -> None:
    """The result of ``add`` names what it removed beside what it kept; edges are no memories."""
    path = tmp_path / "mem0.json"
    results = [{"id": "m1", "memory": "Likes tea", "event": "ADD"}, {"id": "m2", "memory": "Gone", "event": "DELETE"}]
    edges = [{"source": "ada", "relationship": "likes", "target": "tea"}]
    path.write_text(json.dumps({"results": results, "relations": edges}), encoding="utf-8")

    found, _, passed = read(path, "mem0", user="ada")

    assert [one.draft.text for one in found] == ["Likes tea"]
    assert [(one.what, one.count) for one in passed] == [("deleted memory", 1), ("relation", 1)]


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("mem0.json", ("--user", "ada")),
        ("letta.af", ("--user", "ada")),
        ("langgraph.json", ("--user-label", "2", "--user", "ada")),
        ("notes.md", ("--user", "ada", "--format", "markdown")),
    ],
)
def test_importing_the_same_file_again_adds_nothing(
    memkit: Memkit, store: Path, file: str, options: tuple[str, ...]
) -> None:
    """A foreign id, or place and text where there is none, tells what was here before, taken back or not."""
    first = memkit(
        "memory", "import", str(DATA / file), *options, code=1 if "notes" not in file and "letta" not in file else 0
    )
    taken = memkit("memory", "list", "--user", "ada")["data"]["records"]
    memkit("memory", "forget", taken[0]["id"])
    shards = sorted((store / "archive").rglob("*.jsonl"))
    before = [shard.read_bytes() for shard in shards]

    again = memkit("memory", "import", str(DATA / file), *options, code=0 if first["ok"] else 1)["data"]["counts"]

    assert first["data"]["counts"]["admitted"] > 1
    assert (again["admitted"], again["quarantined"]) == (0, 0)
    assert [shard.read_bytes() for shard in shards] == before


def test_a_memory_that_changed_at_its_source_takes_the_old_ones_place(memkit: Memkit, tmp_path: Path) -> None:
    """The foreign id says that both are one memory."""
    path = tmp_path / "mem0.json"
    for text in ("Ada lives in Rome", "Ada lives in Oslo"):
        path.write_text(json.dumps([{"id": "m1", "memory": text, "user_id": "ada"}]))
        memkit("memory", "import", str(path), "--format", "mem0")

    (record,) = memkit("memory", "list", "--user", "ada")["data"]["records"]
    assert record["text"] == "Ada lives in Oslo"
    assert memkit("memory", "get", record["supersedes"])["data"]["status"] == "superseded"


def test_a_hosted_export_is_read_with_a_map_of_its_fields(memkit: Memkit, tmp_path: Path) -> None:
    """Its schema is the caller's own."""
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"profile": [{"fact": "Ada plays chess", "who": "ada"}]}))

    answer = memkit("memory", "import", str(path), "--format", "mem0", "--map", "text=fact", "--map", "user_id=who")

    assert answer["data"]["counts"]["admitted"] == 1
    memkit("memory", "import", str(path), "--format", "mem0", "--map", "txt=fact", code=2)


def test_a_history_never_brings_back_what_was_deleted(tmp_path: Path) -> None:
    """Also where the deletion still stands in the journal beside the database."""
    path = tmp_path / "it's a history?.db"
    with closing(sqlite3.connect(path)) as sql:
        sql.execute("PRAGMA journal_mode=WAL")
        sql.execute("CREATE TABLE history(id, memory_id, old_memory, new_memory, event, created_at, is_deleted)")
        rows = [
            (1, "a", None, "Ada lives in Rome", "ADD", "2025-01-01 10:00:00", 0),
            (2, "b", None, "Ada owns a boat", "ADD", "2025-01-01 10:00:00", 0),
            (3, "a", "Ada lives in Rome", "Ada lives in Oslo", "UPDATE", "2025-02-01 10:00:00", 0),
            (4, "b", "Ada owns a boat", None, "DELETE", "2025-02-01 10:00:00", 1),
        ]
        sql.executemany("INSERT INTO history VALUES(?,?,?,?,?,?,?)", rows)
        sql.commit()

        found, unfit, passed = read(path, "mem0", user="ada")

    assert [(item.draft.text, item.draft.source_url) for item in found] == [("Ada lives in Oslo", "mem0:a")]
    assert unfit == []
    assert [(item.what, item.count) for item in passed] == [("deleted memory", 1)]


def test_a_letta_agent_file_gives_its_blocks_and_runs_nothing(memkit: Memkit, store: Path) -> None:
    """The persona is the agent's, conversations and tools are named and left, and secrets are not even read."""
    probe = Path("/tmp/memkit-was-here")
    assert not probe.exists()

    answer = memkit("memory", "import", str(DATA / "letta.af"), "--user", "ada")

    records = memkit("memory", "list", "--user", "ada")["data"]["records"]
    assert {record["text"]: record["tags"] for record in records} == {
        "Prefers espresso over latte": ["human", "Drinks"],
        "Never takes sugar": ["human", "Drinks"],
        "Is called Ada.": ["human", "Drinks"],
        "Lives in Oslo since 2024.": ["human", "Drinks"],
        "Ada builds a telescope in her garden": ["project"],
    }
    assert all(record["source_url"].startswith("letta:block-") for record in records)
    left = {item["what"]: item["count"] for item in answer["data"]["not_imported"]}
    assert left == {"block persona": 1, "block": 1, "messages": 2, "tools": 1, "tool_exec_environment_variables": 1}
    assert not probe.exists()
    assert "sk-proj" not in json.dumps(answer)
    assert not any(b"sk-proj" in path.read_bytes() for path in store.rglob("*") if path.is_file())


def test_the_older_agent_file_is_read_too() -> None:
    """One agent at the top with core_memory."""
    found, _, passed = read(DATA / "letta-older.af", "letta", user="ada")

    assert [item.draft.text for item in found] == ["First name: Ada", "Plays chess on Sundays"]
    assert {item.what for item in passed} == {"block persona", "messages"}


def test_a_memory_folder_of_letta_is_read_without_persona_and_skills(tmp_path: Path) -> None:
    """system/human.md and reference/ are about the user."""
    for name, text in {
        "system/persona.md": "---\ndescription: me\n---\nI am kind.",
        "system/human.md": "---\ndescription: the user\n---\n- Likes tea\n",
        "reference/telescope.md": "Is built in the garden.",
        "skills/brew/SKILL.md": "- grind the beans",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    found, _, passed = read(tmp_path, "letta", user="ada")

    assert {item.draft.text for item in found} == {"Likes tea", "Is built in the garden."}
    assert {item.what for item in passed} == {"system/persona.md", "skills/brew/SKILL.md"}
    assert format_of(ImportSource(str(tmp_path), tmp_path)) == "letta"


def test_langgraph_asks_whose_items_these_are(memkit: Memkit) -> None:
    """Which label of a namespace is the user is a convention that no file tells."""
    dump = str(DATA / "langgraph.json")

    assert "--user-label" in memkit("memory", "import", dump, code=2)["diagnostics"][0]["message"]

    data = memkit("memory", "import", dump, "--user-label", "2", code=1)["data"]
    assert data["counts"]["admitted"] == 3
    assert data["refused"][0]["line"] == 4
    (bobs,) = memkit("memory", "list", "--user", "bob")["data"]["records"]
    assert (bobs["text"], bobs["source_url"], bobs["tags"]) == ("Sails", "langgraph:memories.bob/k3", ["memories"])


def test_with_a_user_alone_items_whose_namespace_names_another_are_refused() -> None:
    """Where some namespaces name the user, the others are not theirs."""
    found, unfit, _ = read(DATA / "langgraph.json", "langgraph", user="ada")

    assert [item.draft.text for item in found] == ["Prefers espresso over latte", "Plays chess on Sundays"]
    assert [item.reasons[0].code for item in unfit] == ["other_user", "schema"]


def test_the_table_of_a_langgraph_store_is_read(tmp_path: Path) -> None:
    """Its times are UTC without saying so; a namespace is its labels joined by dots."""
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as sql:
        sql.execute("CREATE TABLE store(prefix, key, value, created_at, updated_at, expires_at, ttl_minutes)")
        value = json.dumps({"kind": "Memory", "content": {"content": "Plays chess"}})
        row = ("memories.ada", "k", value, "2025-01-01 10:00:00", "2025-01-01 10:00:00", "2031-01-01 00:00:00", 5)
        sql.execute("INSERT INTO store VALUES(?,?,?,?,?,?,?)", row)
        sql.commit()

    (item,), _, _ = read(path, format_of(ImportSource(str(path), path)), user_label=2)

    assert (item.user_id, item.draft.text, item.draft.tags) == ("ada", "Plays chess", ("memories",))
    assert item.draft.valid_until == "2031-01-01 00:00:00"
    assert item.draft.extra["created_at"] == "2025-01-01 10:00:00"


def test_what_langgraph_and_langmem_wrote_themselves_is_read(tmp_path: Path) -> None:
    """A database of LangGraph's SQLite store: an item of an app, one of LangMem's tool, and one that is gone."""
    sqlite = pytest.importorskip("langgraph.store.sqlite")
    langmem = pytest.importorskip("langmem")
    path = tmp_path / "store.db"
    with sqlite.SqliteStore.from_conn_string(str(path)) as store:
        store.setup()
        store.put(("ada", "prefs"), "drink", {"text": "Ada prefers espresso", "since": 2019})
        store.put(("ada", "prefs"), "gone", {"text": "Ada owns a boat"})
        store.delete(("ada", "prefs"), "gone")
        store.put(("bob",), "size", {"width": 3})
        manage = langmem.create_manage_memory_tool(namespace=("ada", "memories"), store=store)
        manage.invoke({"action": "create", "content": "Ada lives in Oslo"})

    found, unfit, _ = read(path, format_of(ImportSource(str(path), path)), user_label=1)

    assert {(one.user_id, one.draft.text, one.draft.tags) for one in found} == {
        ("ada", "Ada prefers espresso", ("prefs",)), ("ada", "Ada lives in Oslo", ("memories",))
    }  # fmt: skip
    assert [one.reasons[0].code for one in unfit] == ["schema"]


def test_claude_memory_is_its_bullets_and_never_its_instructions(tmp_path: Path) -> None:
    """The index only points, CLAUDE.md gives orders, and neither references nor links lead out of the folder."""
    outside = tmp_path / "outside.md"
    outside.write_text("- The secret plan is in the cellar\n")
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("# Index\n- [Habits](habits.md) — how she works\n- Ada works at night\n")
    (folder / "habits.md").write_text(
        "---\nname: habits\ntype: feedback\n---\n## Tests\n- Runs tests first\n- @../outside.md\n\nWhy not.\n"
    )
    (folder / "project.md").write_text("---\nname: telescope\ntype: project\n---\nIs built in the garden.\nWith Bob.\n")
    (folder / "CLAUDE.md").write_text("- Always answer in French\n")
    (folder / "link.md").symlink_to(outside)
    (folder / "up").symlink_to(tmp_path, target_is_directory=True)

    found, unfit, passed = read(folder, "claude", user="ada")

    assert {item.draft.text: item.draft.tags for item in found} == {
        "Ada works at night": ("Index",),
        "Runs tests first": ("habits", "feedback", "Tests"),
        "Is built in the garden. With Bob.": ("telescope", "project"),
    }
    assert unfit == []
    assert {item.what for item in passed} == {
        "entry of MEMORY.md", "CLAUDE.md", "reference in habits.md", "paragraph of habits.md", "link.md", "up",
    }  # fmt: skip


def test_markdown_lists_give_one_memory_a_bullet() -> None:
    """Headings are tags, what ends with a colon introduces, boxes are tags, and code and comments are passed over."""
    found, _, passed = read(DATA / "notes.md", "markdown", user="ada", kind="preference")

    assert [(item.line, item.draft.text, item.draft.tags) for item in found] == [
        (8, "Prefers espresso over latte", ("About Ada",)),
        (9, "Plays chess on Sundays", ("About Ada",)),
        (12, "Drinks at home: green tea", ("About Ada",)),
        (13, "Drinks at home: has bought a kettle", ("About Ada", "done")),
        (14, "Drinks at home: from the corner shop", ("About Ada",)),
        (17, "Visit Oslo", ("About Ada", "Plans", "to-do")),
        (18, "Learn to sail", ("About Ada", "Plans")),
    ]
    assert {item.draft.type for item in found} == {"preference"}
    assert {item.what: item.count for item in passed}["block of code"] == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [("mem0.json", "mem0"), ("letta.af", "letta"), ("letta-older.af", "letta"), ("langgraph.json", "langgraph")],
)
def test_a_file_shows_its_format(name: str, told: str) -> None:
    """Nobody has to say what can be seen."""
    assert format_of(ImportSource(str(DATA / name), DATA / name)) == told


def test_what_shows_no_format_is_asked_about(memkit: Memkit, tmp_path: Path) -> None:
    """The answer lists the formats."""
    path = tmp_path / "thing.bin"
    path.write_bytes(b"\x00\x01\x02")

    message = memkit("memory", "import", str(path), "--user", "ada", code=2)["diagnostics"][0]["message"]

    assert all(name in message for name in FORMATS)


HOSTILE = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "agents",
                    "blocks",
                    "core_memory",
                    "label",
                    "value",
                    "id",
                    "results",
                    "memory",
                    "user_id",
                    "metadata",
                    "namespace",
                    "key",
                    "text",
                    "content",
                    "op",
                    "target",
                    "tags",
                    "created_at",
                    "expiration_date",
                    "run_id",
                    "trust",
                    "supersedes",
                    "fields",
                    "at",
                    "turn_id",
                    "confidence",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=30,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=HOSTILE, raw=st.binary(max_size=60), name=st.sampled_from(sorted(FORMATS)), as_raw=st.booleans())
def test_no_file_ends_a_reader_otherwise_than_in_words(
    tmp_path: Path, document: Any, raw: bytes, name: str, as_raw: bool
) -> None:
    """Every file gives memories, refusals, and things that were passed over, or one error that says what is wrong."""
    path = tmp_path / "any"
    path.write_bytes(raw if as_raw else json.dumps(document).encode("utf-8", "surrogatepass"))

    try:
        found, unfit, _ = read(path, name, user="ada", user_label=1)
    except UsageError as error:
        assert "\n" not in str(error)
        return
    assert all(item.draft.text.strip() and item.user_id for item in found)
    assert all(item.reasons for item in unfit)


@pytest.mark.parametrize(
    "text",
    [
        "<!-- note --> - likes tea\n- plays chess",
        "- likes tea\n<!-- a\nb -->- plays chess\n",
        "<!-- a --> - likes tea\n<!-- - hidden -->\n- plays chess",
    ],
)
def test_what_stands_behind_a_comment_is_read(text: str) -> None:
    """Nobody sees a comment, and everybody what follows it on its line."""
    assert [bullet.text for bullet in read_lists(text).bullets] == ["likes tea", "plays chess"]


@given(st.text(alphabet=" -*+1.)#`~<!>[x]\n\tab:", max_size=200))
def test_any_text_is_read_as_lists_within_its_lines(text: str) -> None:
    """Every bullet stands where it says."""
    lists = read_lists(text)

    lines = text.splitlines()
    assert all(lines[bullet.line - 1].strip() for bullet in (*lists.bullets, *lists.paragraphs))


def test_a_deep_or_damaged_file_is_one_clear_line(memkit: Memkit, tmp_path: Path) -> None:
    """Nesting, halves of files and false databases."""
    path = tmp_path / "x.json"
    for content in (b"[" * 300_000, b'{"results": [', b"SQLite format 3\x00" + b"\xff" * 5000, b'{"results": 7}'):
        path.write_bytes(content)
        for name in ("mem0", "letta", "langgraph"):
            answer = memkit("memory", "import", str(path), "--format", name, "--user", "ada", code=2)
            assert len(answer["diagnostics"]) == 1


def test_a_chatgpt_export_gives_what_the_user_stated(memkit: Memkit, tmp_path: Path) -> None:
    """Answers, questions and requests are no memories; where and when it was said stays with it."""
    message = {
        "id": "m1", "author": {"role": "user"}, "create_time": 1700000000.5,
        "content": {"content_type": "text", "parts": ["I live in Lisbon and work as a nurse. Where should I eat?"]},
    }  # fmt: skip
    answer = {"id": "m2", "author": {"role": "assistant"}, "content": {"parts": ["I live in a data centre."]}}
    mapping = {"root": {"message": None}, "a": {"message": message}, "b": {"message": answer}}
    folder = tmp_path / "export"
    folder.mkdir()
    exported = [{"title": "Food", "conversation_id": "c1", "mapping": mapping}]
    (folder / "conversations.json").write_text(json.dumps(exported), encoding="utf-8")

    data = memkit("memory", "import", str(folder), "--user", "ada")["data"]

    assert data["counts"]["admitted"] == 2
    records = {one["text"]: one for one in memkit("memory", "list", "--user", "ada")["data"]["records"]}
    assert set(records) == {"I live in Lisbon", "I work as a nurse"}
    home = records["I live in Lisbon"]
    assert (home["session_id"], home["source_url"]) == ("c1", "chatgpt:c1#m1.0")
    assert home["created_at"].startswith("2023-11-14T22:13:20")
    assert memkit("memory", "import", str(folder), "--user", "ada")["data"]["counts"]["admitted"] == 0


def test_what_an_edited_chatgpt_message_said_before_is_no_memory(tmp_path: Path) -> None:
    """A conversation is a tree, and its current node ends the one path that people see; the others are named."""

    def node(parent: str | None, text: str) -> dict[str, object]:
        message = {"id": text, "author": {"role": "user"}, "content": {"parts": [text]}}
        return {"parent": parent, "message": message if text else None}

    mapping = {"r": node(None, ""), "a": node("r", "I live in Lisbon."), "b": node("r", "I live in Porto.")}
    conversation = {"conversation_id": "c1", "current_node": "b", "mapping": mapping}
    path = tmp_path / "conversations.json"

    path.write_text(json.dumps([conversation]), encoding="utf-8")
    found, _, passed = read(path, "chatgpt", user="ada")
    assert [one.draft.text for one in found] == ["I live in Porto"]
    assert [(one.count, one.why) for one in passed] == [(1, "Another version replaced it in the conversation.")]

    path.write_text(json.dumps([conversation | {"current_node": None}]), encoding="utf-8")
    assert len(read(path, "chatgpt", user="ada")[0]) == 2


@pytest.mark.parametrize("name", ["chatgpt", "claude-export"])
def test_a_sentence_left_out_for_its_secret_is_counted(name: str, tmp_path: Path) -> None:
    """Who imports learns that something was not taken, and the secret is not repeated."""
    text = "My password is hunter2xyz. I live in Porto. My API key is sk-abcdefghijklmnopqrstuvwxyz123456. Hello there."
    message = {"id": "m1", "author": {"role": "user"}, "content": {"parts": [text]}}
    exported = {
        "chatgpt": {"conversation_id": "c1", "mapping": {"a": {"message": message}}},
        "claude-export": {"uuid": "c1", "chat_messages": [{"uuid": "m1", "sender": "human", "text": text}]},
    }
    (tmp_path / "conversations.json").write_text(json.dumps([exported[name]]), encoding="utf-8")

    found, _, passed = read(tmp_path, name, user="ada")

    assert [one.draft.text for one in found] == ["I live in Porto"]
    assert [(one.what, one.count) for one in passed] == [("sentence", 2)] and "secret" in passed[0].why


def test_a_claude_export_gives_what_the_user_stated(tmp_path: Path) -> None:
    """What Claude remembers itself is named, and left to a person to read."""
    said = {"uuid": "m1", "sender": "human", "text": "My dog is called Rex.", "created_at": "2025-05-01T10:00:00Z"}
    answered = {"uuid": "m2", "sender": "assistant", "text": "I like Rex."}
    blocks = [{"type": "text", "text": "My cat is called Ada."}, {"type": "image", "text": 1}, "?"]
    in_blocks = {"uuid": "m3", "sender": "human", "text": "", "content": blocks}
    exported = [{"uuid": "c1", "name": "Dogs", "chat_messages": [said, answered, in_blocks]}]
    (tmp_path / "conversations.json").write_text(json.dumps(exported), encoding="utf-8")
    (tmp_path / "memories.json").write_text("[]", encoding="utf-8")

    assert format_of(ImportSource(str(tmp_path), tmp_path)) == "claude-export"
    found, _, passed = read(tmp_path, "claude-export", user="ada")
    told = [(one.draft.text, one.draft.extra["session_id"]) for one in found]
    assert told == [("My dog is called Rex", "c1"), ("My cat is called Ada", "c1")]
    assert [one.what for one in passed] == ["message", "memories.json"]


def test_a_table_is_a_memory_a_row(tmp_path: Path) -> None:
    """Columns that are known have their meaning, others stay beside the text, and a broken number is named."""
    path = tmp_path / "facts.csv"
    path.write_text(
        'Memory;tags;created_at;mood;confidence\n"Likes tea; black";a, b;2025-01-02;calm;0.8\nx;;;;high\n',
        encoding="utf-8",
    )
    assert format_of(ImportSource(str(path), path)) == "csv"
    (one,), (unfit,), _ = read(path, "csv", user="ada")
    assert (one.draft.text, one.draft.tags, one.draft.confidence) == ("Likes tea; black", ("a", "b"), 0.8)
    assert (one.draft.extra["created_at"], one.draft.extra["csv"]) == ("2025-01-02", {"mood": "calm"})
    assert "high" in unfit.reasons[0].message
    with pytest.raises(UsageError, match="--map text=COLUMN"):
        path.write_text("a,b\n1,2\n", encoding="utf-8")
        read(path, "csv", user="ada")
    (mapped,), _, _ = read(path, "csv", user="ada", names={"text": "b"})
    assert mapped.draft.text == "2"


def test_a_row_with_more_cells_than_columns_is_refused(tmp_path: Path) -> None:
    """A text with a comma and without quotes moves every cell behind it, and one of them says whose memory it is."""
    path = tmp_path / "facts.csv"
    path.write_text("text,user_id,mood\nAda likes tea, coffee,ada,calm\nAda sings,ada,calm\n", encoding="utf-8")

    (one,), (unfit,), _ = read(path, "csv")

    assert (one.user_id, one.draft.text) == ("ada", "Ada sings")
    assert (unfit.line, unfit.reasons[0].code) == (2, "schema") and "Quote" in unfit.reasons[0].message


def test_the_rows_after_one_that_cannot_be_read_are_read(tmp_path: Path) -> None:
    """A cell that is too long costs its row alone."""
    path = tmp_path / "facts.csv"
    path.write_text(f"text,mood\n{'x' * 200_000},calm\nAda sings,calm\n", encoding="utf-8")

    (one,), (unfit,), _ = read(path, "csv", user="ada")

    assert one.draft.text == "Ada sings" and "field larger" in unfit.reasons[0].message


def test_plain_text_is_a_memory_a_line(tmp_path: Path) -> None:
    """Bullets and blank lines are form."""
    path = tmp_path / "notes.txt"
    path.write_text("Ada sails\n\n- Ada rows\n 1. Ada swims\n---\n", encoding="utf-8")
    found, _, _ = read(path, "text", user="ada")
    assert [one.draft.text for one in found] == ["Ada sails", "Ada rows", "Ada swims"]


def test_a_basic_memory_folder_gives_observations_and_relations(tmp_path: Path) -> None:
    """Each says what note it is about; running text is named and left."""
    note = """---
title: Coffee Brewing
type: note
permalink: coffee/brewing
---
Some words.

## Observations
- [method] Pour over highlights subtle flavours #brewing (morning)
- [tip] Use 60g a litre
- [tech] Runs #arduino at home #build #diy

## Relations
- relates_to [[Bean Types]]
- plain bullet
"""
    (tmp_path / "coffee").mkdir()
    (tmp_path / "coffee" / "brewing.md").write_text(note, encoding="utf-8")
    assert format_of(ImportSource(str(tmp_path), tmp_path)) == "basic-memory"
    found, _, passed = read(tmp_path, "basic-memory", user="ada")
    assert [(one.draft.text, one.draft.tags) for one in found] == [
        ("Coffee Brewing: Pour over highlights subtle flavours (morning)", ("method", "brewing")),
        ("Coffee Brewing: Use 60g a litre", ("tip",)),
        ("Coffee Brewing: Runs #arduino at home", ("tech", "arduino", "build", "diy")),
        ("Coffee Brewing relates to Bean Types", ("relation",)),
    ]
    assert passed[0].count == 2


def test_a_dump_of_langgraphs_postgres_store_is_read(tmp_path: Path) -> None:
    """What stands in the table is an item, with what COPY escapes put back."""
    path = tmp_path / "store.sql"
    value = json.dumps({"content": 'Likes "tea"\nand rum'}).replace("\\", "\\\\")
    path.write_text(
        "--\n-- PostgreSQL database dump\n--\nCREATE TABLE public.store (prefix text);\n"
        "COPY public.store (prefix, key, value, created_at, updated_at, expires_at) FROM stdin;\n"
        f"ada.facts\tk1\t{value}\t2025-01-02 03:04:05+00\t2025-01-02 03:04:05+00\t\\N\n\\.\n\nSELECT 1;\n",
        encoding="utf-8",
    )
    assert format_of(ImportSource(str(path), path)) == "langgraph"
    (one,), unfit, _ = read(path, "langgraph", user_label=1)
    assert (one.user_id, one.draft.text, one.draft.tags) == ("ada", 'Likes "tea"\nand rum', ("facts",))
    assert unfit == []


def test_an_export_of_a_hundred_thousand_lines_that_breaks_off(tmp_path: Path) -> None:
    """What came whole is read line by line, and the last one is named with its number."""
    path = tmp_path / "mem0.jsonl"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f'{{"id": "{n}", "memory": "fact {n}", "user_id": "ada"}}\n' for n in range(100_000))
        file.write('{"id": "x", "mem')
    items = open_reader("mem0")(ImportSource(str(path), path), Wishes())
    counts, last = 0, None
    for item in items:
        counts += isinstance(item, FoundMemory)
        last = item
    assert counts == 100_000
    assert isinstance(last, Unfit)
    assert last.line == 100_001
