"""``memkit graph`` and ``memkit memory reflect``, as somebody uses them, mistakes included."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from memkit.cli.main import run

Captured = pytest.CaptureFixture[str]


class Memkit:
    """Run commands on one store for ada."""

    def __init__(self, root: Path, capsys: Captured) -> None:
        self.root = root
        self._capsys = capsys

    def text(self, *words: str, code: int = 0) -> str:
        """Return what ``memkit WORDS`` prints, which must exit with ``code``."""
        self._capsys.readouterr()
        assert run([*words, "--store", str(self.root)]) == code
        return "".join(self._capsys.readouterr())

    def data(self, *words: str, code: int = 0) -> Any:
        """Return the data of ``memkit WORDS --json``."""
        self._capsys.readouterr()
        assert run([*words, "--json", "--store", str(self.root)]) == code
        return json.loads(self._capsys.readouterr().out)["data"]

    def tell(self, *texts: str, session: str = "s0") -> list[str]:
        """Add texts in ada's name and return their ids."""
        return [self.data("memory", "add", text, "--user", "ada", "--session", session)["id"] for text in texts]

    def found(self, question: str) -> list[str]:
        """Return what a search finds."""
        return [hit["text"] for hit in self.data("memory", "search", question, "--user", "ada")["results"]]

    def git(self, *words: str) -> str:
        """Return what git prints."""
        return subprocess.run(["git", *words], cwd=self.root, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def memkit(store: Path, capsys: Captured) -> Memkit:
    """Return a runner of commands on a store that knows of a family."""
    runner = Memkit(store, capsys)
    runner.tell("My sister Anna works for Siemens", "Siemens is based in Munich", "I lived in Lisbon from 2015 to 2018")
    return runner


def test_show_answers_with_nodes_and_edges(memkit: Memkit) -> None:
    """The shape is what other programs read."""
    data = memkit.data("graph", "show", "--user", "ada")

    assert {"id": "siemens", "name": "Siemens", "kind": "organisation"} in data["nodes"]
    lived = next(edge for edge in data["edges"] if edge["to"] == "lisbon")
    assert lived.keys() == {"from", "to", "relation", "record_ids", "valid_from", "valid_until"}
    assert (lived["from"], lived["valid_from"], lived["valid_until"]) == ("=ada", "2015-01-01", "2018-12-31")
    assert len(lived["record_ids"]) == 1


def test_show_is_a_table_for_people(memkit: Memkit) -> None:
    """Who, how, whom, when, and the record to look at."""
    lines = memkit.text("graph", "show", "--user", "ada").splitlines()

    assert any(line.startswith("Anna     works for    Siemens") for line in lines), lines
    assert any("2015-01-01 – 2018-12-31" in line for line in lines)
    assert "lived in" not in memkit.text("graph", "show", "--user", "ada", "--as-of", "2020-01-01")


def test_path_and_around(memkit: Memkit) -> None:
    """A name, or what somebody is, on either side."""
    path = memkit.data("graph", "path", "my sister", "Munich", "--user", "ada")
    near, far = (memkit.data("graph", "around", "Munich", "--steps", n, "--user", "ada") for n in ("1", "2"))

    assert [edge["relation"] for edge in path["edges"]] == ["works for", "is based in"]
    assert [node["name"] for node in near["nodes"]] == ["Munich", "Siemens"]
    assert "Anna" in [node["name"] for node in far["nodes"]]


@pytest.mark.parametrize(
    ("words", "code", "line"),
    [
        (("around", "Anja"), 1, "Nothing that memory tells of is called 'Anja'. Did you mean 'Anna'?"),
        (("path", "Anna", "Mars"), 1, "Nothing that memory tells of is called 'Mars'."),
        (("path", "Lisbon", "Munich"), 0, "lived in"),
        (("around", "Anna", "--steps", "3"), 2, "3 is not in the range 1<=x<=2"),
        (("show", "--as-of", "soon"), 2, "soon"),
        (("show", "--svg", "--mermaid"), 2, "Only one drawing can be printed"),
        (("show", "--svg", "--json"), 2, "cannot be printed within --json"),
        (("shwo",), 2, "Did you mean 'show'?"),
        (("path", "Anna"), 2, "Missing argument"),
    ],
)
def test_mistakes_get_one_clear_line(memkit: Memkit, words: tuple[str, ...], code: int, line: str) -> None:
    """What is wrong, and what was probably meant."""
    told = memkit.text("graph", *words, *(() if words[0] == "shwo" else ("--user", "ada")), code=code)

    assert line in told and "Traceback" not in told


def test_where_nothing_is_told_the_answer_is_negative(memkit: Memkit) -> None:
    """An empty graph and a way that is not there are exit 1, in the same shape."""
    memkit.tell("Zora lives in Rovinj")

    assert memkit.data("graph", "show", "--user", "bob", code=1) == {"nodes": [], "edges": []}
    assert memkit.data("graph", "path", "Anna", "Rovinj", "--user", "ada", code=1) == {"nodes": [], "edges": []}


def test_drawings_are_inert(memkit: Memkit) -> None:
    """A name that is a script stays a name, in SVG and in Mermaid."""
    line = {
        "id": "01X", "text": "x", "user_id": "ada", "created_at": "2026-01-02T00:00:00Z", "actor": "person",
        "trust": "verified",
        "relation": {"subject": "<script>alert(1)</script>", "predicate": 'x" onload="y', "object": "click n0 evil"},
    }  # fmt: skip
    shard = memkit.root / "archive" / "2026-01" / "elsewhere.jsonl"
    shard.parent.mkdir(parents=True)
    shard.write_text(json.dumps(line) + "\n", encoding="utf-8")

    svg = memkit.text("graph", "show", "--user", "ada", "--svg")
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(svg).iter()}
    assert "script" not in tags and all(
        "onload" not in element.attrib for element in ElementTree.fromstring(svg).iter()
    )
    mermaid = memkit.text("graph", "show", "--user", "ada", "--mermaid")
    assert "<script" not in mermaid and "\n  click" not in mermaid


def test_everybodys_graphs_lie_side_by_side(memkit: Memkit) -> None:
    """Without a user nobody's Anna becomes another one's."""
    memkit.data("memory", "add", "My sister Anna works for Bosch", "--user", "bob")

    ids = {node["id"] for node in memkit.data("graph", "show")["nodes"]}
    assert {"ada:anna", "bob:anna", "ada:siemens", "bob:bosch"} <= ids


def test_a_reflection_is_a_branch_to_review(memkit: Memkit) -> None:
    """Nothing changes before the merge; the message names parents and repeats no word of what is remembered."""
    memkit.tell("Anna plays for Rapid Linz", "Anna owns the Blue Mill")
    tried = memkit.data("memory", "reflect", "--user", "ada", "--dry-run")
    assert tried["branch"] is None
    memkit.text("commit")
    done = memkit.data("memory", "reflect", "--user", "ada", "--branch", "think")

    assert {one["level"] for one in done["conclusions"]} == {"session", "topic"}
    assert memkit.data("memory", "list", "--user", "ada", "--type", "summary")["records"] == []
    message = memkit.git("log", "-1", "--format=%B", "think")
    assert "Rapid" not in message and done["conclusions"][0]["parents"][0] in message
    memkit.git("merge", "-q", "think")
    topic = next(one for one in done["conclusions"] if one["level"] == "topic")
    assert memkit.data("memory", "get", topic["id"])["parents"] == topic["parents"]
    assert "Nothing to conclude." in memkit.text("memory", "reflect", "--branch", "again")
    told = memkit.text("memory", "reflect", "--branch", "think", code=2)
    assert "is there already" in told


def test_a_parent_that_is_rejected_shows_in_get_and_ends_the_conclusion(memkit: Memkit) -> None:
    """``get`` says which parents hold no more, and no search returns the conclusion."""
    ids = memkit.tell("Anna plays for Rapid Linz", "Anna owns the Blue Mill")
    memkit.text("commit")
    done = memkit.data("memory", "reflect", "--user", "ada", "--branch", "think")
    memkit.git("merge", "-q", "think")
    topic = next(one["id"] for one in done["conclusions"] if one["level"] == "topic")
    memkit.text("memory", "reject", ids[0], "--user", "ada")

    assert memkit.data("memory", "get", topic)["stale"] == [ids[0]]
    explained = memkit.data("memory", "search", "Anna Rapid Linz", "--user", "ada", "--explain")
    assert topic not in [hit["id"] for hit in explained["results"]]
    assert {"id": topic, "reason": "expired"} in explained["losers"]


FAMILY = (
    ("My sister Anna was born in Graz", "Graz is in Austria"),
    ("I lived in Lisbon from 2014 to 2018",),
    ("Anna worked for Galp from 2013 to 2018", "Galp makes fuel"),
    ("I moved to Ghent in 2019", "Ghent is in Belgium"),
    ("Anna joined Solvay in 2019", "Solvay makes soda ash"),
    ("My sister Anna is married to Paul", "Paul is the director of Teatro Azul"),
    ("Teatro Azul is in Porto",),
    ("My brother Tom lives in Oslo", "Tom works for Equinor"),
    ("My mother Helga lives in Graz",),
    ("My father Karl comes from Linz",),
    ("Tom's wife Eva teaches at Nordberg", "Nordberg is in Oslo"),
    ("My daughter Lea plays for Rapid Linz",),
    ("We walked along the river all afternoon",),
    ("My dentist is called Dr. Moreau", "Dr. Moreau comes from Lyon"),
    ("Anna prefers tea to coffee",),
)
PROJECT = (
    ("Carla leads Atlas", "Atlas is written in Go"),
    ("Atlas depends on the ledger service",),
    ("Bogdan maintains the ledger service", "Bogdan lives in Cluj"),
    ("The ledger service runs on PostgreSQL",),
    ("Priya reports to Carla", "Priya works on Beacon"),
    ("Beacon is part of Atlas",),
    ("Beacon replaced Lantern in 2024", "Lantern was written in a hurry"),
    ("Carla works for Acme", "Acme was renamed to Globex in 2023"),
    ("Globex is based in Austin",),
    ("Our designer is called Mika", "Mika lives in Tampere"),
    ("Noor works on Atlas",),
    ("The standup is at nine",),
    ("Noor studied at Lund", "Lund is in Sweden"),
    ("Gavin is the CEO of Globex",),
    ("Gavin lives in Boulder",),
)
ASKED = {
    "who did my sister work for when I lived in Lisbon?": "Anna worked for Galp from 2013 to 2018",
    "what does my sister's employer make?": "Solvay makes soda ash",
    "in which city is the theatre that my sister's husband runs?": "Teatro Azul is in Porto",
    "in which country was my sister born?": "Graz is in Austria",
    "where does my brother's wife teach?": "Tom's wife Eva teaches at Nordberg",
    "who maintains what Atlas depends on?": "Bogdan maintains the ledger service",
    "where does the maintainer of the ledger service live?": "Bogdan lives in Cluj",
    "which project does Priya's boss lead?": "Carla leads Atlas",
    "where is the company based that Carla works for?": "Globex is based in Austin",
    "where does the CEO of Acme live?": "Gavin lives in Boulder",
}


def test_a_family_and_a_project_told_over_thirty_sessions(memkit: Memkit) -> None:
    """Asked across steps and time, drawn, corrected, reflected on a branch, merged, and one of them erased."""
    ids = {}
    for number, said in enumerate([*FAMILY, *PROJECT]):
        for text, id in zip(said, memkit.tell(*said, session=f"s{number}"), strict=True):
            ids[text] = id
    eve = memkit.data("memory", "add", "My friend Zacharias owns the Obsidian Lighthouse", "--user", "eve")["id"]

    for question, answer in ASKED.items():
        assert answer in memkit.found(question), question
    drawn = memkit.text("graph", "around", "my sister", "--steps", "2", "--user", "ada", "--svg")
    assert "Teatro Azul" in drawn and "Solvay" in drawn

    memkit.data("memory", "supersede", ids["Bogdan maintains the ledger service"], "Ioana maintains the ledger service")
    memkit.tell("Ioana lives in Iasi")
    assert "Ioana maintains the ledger service" in memkit.found("who maintains what Atlas depends on?")
    assert "Ioana lives in Iasi" in memkit.found("where does the maintainer of the ledger service live?")
    assert memkit.data("graph", "path", "Atlas", "Iasi", "--user", "ada")["edges"][-1]["relation"] == "lives in"

    memkit.text("commit")
    done = memkit.data("memory", "reflect", "--branch", "think")
    assert {one["level"] for one in done["conclusions"]} >= {"topic", "profile"}
    assert "works for" in memkit.text("review", "HEAD..think") or "lives in" in memkit.text("review", "HEAD..think")
    memkit.git("merge", "-q", "--no-edit", "think")
    topics = {one["about"]: one for one in done["conclusions"] if one["level"] == "topic"}
    assert "Solvay" in topics["anna"]["text"] and "Galp" not in topics["anna"]["text"]
    assert memkit.data("memory", "get", topics["anna"]["id"])["status"] == "live"

    memkit.data("memory", "reject", ids["Anna joined Solvay in 2019"], "--user", "ada")
    texts = memkit.found("Anna Solvay")
    assert not any("joined Solvay" in text or text == topics["anna"]["text"] for text in texts)
    memkit.data("memory", "erase", "--user", "ada", "--yes")
    assert memkit.data("memory", "get", eve)["status"] == "live"
    left = b"".join(path.read_bytes() for path in memkit.root.rglob("*") if path.is_file())
    assert b"Teatro Azul" not in left and b"Solvay" not in left
    assert memkit.data("graph", "show", "--user", "ada", code=1) == {"nodes": [], "edges": []}
