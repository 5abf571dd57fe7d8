"""The graph of relations: who is who, what holds when, what is walked, and for whom."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from growth import steps
from hypothesis import given, settings
from hypothesis import strategies as st

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.index.graph import RelationGraph, UnknownName
from memkit.runtime.memory.record.record import Draft, Origin

ADA = Origin("person", "ada")


@pytest.fixture
def archive() -> Iterator[ArchivalStore]:
    """Open an archive in memory."""
    with ArchivalStore() as opened:
        yield opened


def tell(archive: ArchivalStore, *texts: str, origin: Origin = ADA) -> list[str]:
    """Offer texts and return the ids of their records."""
    return [str(archive.offer(Draft(text), origin).id) for text in texts]


def told(graph: RelationGraph) -> set[tuple[str, str, str]]:
    """Return the ties of a graph by the names of their ends."""
    names = {node.id: node.name for node in graph.nodes}
    return {(names[tie.source], tie.relation, names[tie.target]) for tie in graph.edges}


def answers(archive: ArchivalStore, question: str, user: str = "ada", k: int = 5) -> list[str]:
    """Return what a search finds."""
    return [hit.text for hit in archive.search(question, user_id=user, k=k).hits]


def test_my_sister_is_who_she_was_said_to_be(archive: ArchivalStore) -> None:
    """Her name, her role and "my sister" lead to one person."""
    tell(archive, "My sister Anna works for Siemens", "Anna lives in Porto", "My sister plays for Rapid Linz")

    assert told(archive.relation_graph("ada", around="my sister")) == {
        ("Anna", "sister of", "ada"), ("Anna", "works for", "Siemens"), ("Anna", "lives in", "Porto"),
        ("Anna", "plays for", "Rapid Linz"),
    }  # fmt: skip
    assert archive.relation_graph("ada", around="my sister") == archive.relation_graph("ada", around="Anna")


def test_what_is_over_comes_behind_what_holds_unless_the_question_asks_for_it(archive: ArchivalStore) -> None:
    """Who names the sister while telling of her former employer is found by more words, and is no answer for today."""
    tell(archive, "My sister Anna works for Galp", "Anna left Galp in 2019", "Anna works for Solvay")

    assert answers(archive, "who is my sister's employer?")[0] == "Anna works for Solvay"
    assert answers(archive, "who does my sister work for?")[0] == "Anna works for Solvay"
    assert answers(archive, "who did my sister work for in 2015?")[0] == "My sister Anna works for Galp"
    assert answers(archive, "who was my sister's former employer?")[0] == "My sister Anna works for Galp"


def test_what_is_over_comes_first_where_nothing_else_is_told(archive: ArchivalStore) -> None:
    """The last that is known of her is an answer, too."""
    tell(archive, "My sister Anna worked for Galp from 2014 to 2018", "Anna lives in Porto")

    assert "Galp" in answers(archive, "who is my sister's employer?")[0]


def test_two_annas_are_kept_apart(archive: ArchivalStore) -> None:
    """What is said of the bare name is said of neither."""
    tell(archive, "My sister Anna works for Siemens", "My colleague Anna lives in Ghent", "Anna plays for Rapid Linz")

    sister = told(archive.relation_graph("ada", around="my sister"))
    assert ("Anna (ada's sister)", "works for", "Siemens") in sister
    assert not any("Ghent" in tie or "Rapid Linz" in tie for tie in sister)
    assert told(archive.relation_graph("ada", around="Rapid Linz")) == {("Anna", "plays for", "Rapid Linz")}


def test_a_bare_name_of_two_stands_nowhere_beside_them(archive: ArchivalStore) -> None:
    """Whoever looks around "Anna" sees both; of a third Anna nothing is told."""
    tell(archive, "My sister Anna works for Siemens", "My colleague Anna lives in Ghent")

    around = archive.relation_graph("ada", around="Anna")
    assert [one.name for one in around.nodes if "Anna" in one.name] == ["Anna (ada's sister)", "Anna (ada's colleague)"]


def test_of_two_of_one_name_one_without_ties_at_a_date_stays(archive: ArchivalStore) -> None:
    """She is somebody of whom nothing is told of that day; only the bare name is nobody."""
    tell(archive, "My sister Anna works for Siemens")
    archive.offer(Draft("My colleague Anna lives in Ghent", valid_until="2090-01-01"), Origin("person", "ada"))

    around = archive.relation_graph("ada", around="Anna", as_of="2095-01-01")
    assert {"Anna (ada's sister)", "Anna (ada's colleague)"} <= {one.name for one in around.nodes}
    assert "Anna" not in {one.name for one in around.nodes}


def test_of_two_sisters_nobody_is_my_sister(archive: ArchivalStore) -> None:
    """A tie to either would be a guess, and a search still looks at both."""
    tell(archive, "My sister Anna works for Siemens", "My sister Ines works for Galp", "My sister lives in Rome")

    assert ("ada's sister", "lives in", "Rome") in told(archive.relation_graph("ada"))
    assert {"My sister Anna works for Siemens", "My sister Ines works for Galp"} < set(
        answers(archive, "who employs my sister?")
    )


def test_roles_are_followed_through_others(archive: ArchivalStore) -> None:
    """My sister's husband is Anna's husband."""
    tell(
        archive,
        "My sister Anna lives in Porto",
        "Anna's husband Tom works for Galp",
        "My sister's husband is from Sines",
    )

    assert ("Tom", "works for", "Galp") in told(archive.relation_graph("ada", around="my sister's husband"))


def test_a_company_that_renames_itself_stays_one(archive: ArchivalStore) -> None:
    """It is called by its last name, and found by each."""
    tell(archive, "Bob is the CTO of Acme", "Acme was renamed to Globex in 2023", "Globex is based in Austin")

    assert told(archive.relation_graph("ada", around="Acme")) == {
        ("Bob", "CTO of", "Globex"), ("Globex", "is based in", "Austin")
    }  # fmt: skip
    assert "Globex is based in Austin" in answers(archive, "where is the company based whose CTO is Bob?")


def test_a_search_takes_two_steps(archive: ArchivalStore) -> None:
    """What shares no word with the question is found through what it names."""
    tell(archive, "My sister Anna works for Siemens", "Siemens builds wind turbines", "The cat sleeps a lot")

    report = archive.search("what does my sister's employer produce?", user_id="ada")
    found = {hit.text: hit.parts for hit in report.hits}
    assert found["Siemens builds wind turbines"]["relation"] > 0
    assert found["Siemens builds wind turbines"]["coverage"] == 0
    assert "The cat sleeps a lot" not in found


def test_a_step_needs_no_relation_where_it_ends(archive: ArchivalStore) -> None:
    """Whatever names what was reached is found, the more of the question it holds the sooner."""
    tell(archive, "My sister Anna works for Siemens", "Siemens opened a canteen with great soup in June")

    assert "Siemens opened a canteen with great soup in June" in answers(archive, "is there soup at my sister's work?")


def test_what_did_not_hold_then_is_no_answer(archive: ArchivalStore) -> None:
    """The question says by another relation what time it asks about."""
    tell(
        archive,
        "I lived in Lisbon from 2015 to 2018",
        "Anna is my sister",
        "Anna worked for Galp from 2014 to 2018",
        "Anna joined Solvay in 2019",
    )

    then = answers(archive, "who did my sister work for when I lived in Lisbon?")
    assert "Anna worked for Galp from 2014 to 2018" in then
    assert "Anna joined Solvay in 2019" not in then
    assert "Anna joined Solvay in 2019" in answers(archive, "who does my sister work for?")


def test_a_move_ends_what_was_before(archive: ArchivalStore) -> None:
    """And somebody who left works there no more; nothing else is ended by anything."""
    tell(
        archive,
        "Anna lives in Lisbon",
        "Anna works for Siemens",
        "Anna moved to Porto in 2024",
        "Anna left Siemens in 2023",
    )

    ends = {tie.target: tie.valid_until for tie in archive.relation_graph("ada").edges}
    assert ends == {"lisbon": "2023-12-31", "siemens": "2023-12-31", "porto": None}
    assert told(archive.relation_graph("ada", as_of="2020-06-01")) == {
        ("Anna", "lives in", "Lisbon"), ("Anna", "works for", "Siemens")
    }  # fmt: skip


def test_what_was_corrected_is_gone_and_was_true_before(archive: ArchivalStore) -> None:
    """The graph follows the records: corrected, forgotten, restored."""
    first, second = tell(archive, "Anna works for Siemens", "Bob lives in Oslo")
    archive.supersede(first, "Anna works for Bosch", ADA)
    archive.mark("forget", second, ADA)
    assert told(archive.relation_graph("ada")) == {("Anna", "works for", "Bosch")}

    archive.mark("restore", second, ADA)
    assert ("Bob", "lives in", "Oslo") in told(archive.relation_graph("ada"))
    assert ("Anna", "works for", "Siemens") in told(archive.relation_graph("ada", as_of="2020-01-01"))


def test_tainted_relations_lead_nowhere(archive: ArchivalStore) -> None:
    """They are shown as what they are; they lend no name, end nothing, and no step follows them."""
    page = Origin("agent", "ada", user_text="", taint=("tool:web",))
    tell(archive, "My sister Anna works for Siemens", "Bob lives in Oslo", "Mallory owns the Dark Mill")
    tell(archive, "Anna moved to Minsk in 2024", "Bob goes by Mallory", "Siemens is based in Evilville", origin=page)

    graph = archive.relation_graph("ada")
    assert {tie.relation for tie in graph.edges if tie.tainted} == {"moved to", "is based in"}
    assert ("Bob", "lives in", "Oslo") in told(archive.relation_graph("ada", around="Bob"))
    assert not told(archive.relation_graph("ada", around="Bob")) & told(archive.relation_graph("ada", around="Mallory"))
    assert archive.relation_graph("ada", between=("Anna", "Evilville")).nodes == ()
    steps = archive.search("where does my sister live?", user_id="ada").hits
    assert all("relation" not in hit.parts for hit in steps if hit.record.taint)


def test_nobody_sees_the_relations_of_others(archive: ArchivalStore) -> None:
    """Two users have an Anna each, and what bob shares unchecked is walked by nobody else."""
    tell(archive, "My sister Anna works for Siemens")
    tell(archive, "My sister Anna works for Bosch", origin=Origin("person", "bob"))
    archive.offer(Draft("Siemens is based in Munich", scope="shared"), Origin("agent", "bob", user_text=""))

    assert told(archive.relation_graph("bob")) >= {("Anna", "works for", "Bosch")}
    assert all("Siemens" not in tie for tie in told(archive.relation_graph("bob", around="my sister")))
    assert answers(archive, "what does my sister's employer do?", user="bob") == ["My sister Anna works for Bosch"]
    assert archive.relation_graph("ada", between=("Anna", "Munich")).nodes == ()


def test_circles_end(archive: ArchivalStore) -> None:
    """Everybody is the boss of the next one, and each other's spouse."""
    names = ["Anna", "Bob", "Carl", "Dora"]
    tell(archive, *(f"{one} reports to {other}" for one, other in zip(names, names[1:] + names[:1], strict=True)))
    tell(archive, "Anna's boss is Bob's boss", "Bob's boss is Anna's boss", "Anna is Anna's boss")

    assert len(archive.relation_graph("ada", between=("Anna", "Carl")).edges) == 2
    assert answers(archive, "who is the boss of Anna's boss?")


def test_a_long_chain_of_names_is_one_thing(archive: ArchivalStore) -> None:
    """A thousand renamings are followed to their end."""
    count = 1_000
    tell(archive, *(f"Firm{n} was renamed to Firm{n + 1}" for n in range(count)), "Anna works for Firm0")

    assert told(archive.relation_graph("ada", around="Anna")) == {("Anna", "works for", f"Firm{count}")}


def test_a_thing_of_very_many_names_is_walked_like_any_other(archive: ArchivalStore) -> None:
    """Each of its names leads to it and to what is told of it; a step costs the same with six times as many names."""
    tell(archive, "Anna works for Galp", "Galp makes fuel")

    def called(start: int, end: int) -> None:
        for number in range(start, end):
            data = {"subject": "Anna", "predicate": "is also called", "object": f"Alias{number}"}
            draft = Draft(f"Anna is also called Alias{number}", extra={"relation": data})
            archive.offer(draft, ADA)

    called(0, 60)
    few = steps(lambda: archive.relation_graph("ada", around="Anna"))
    called(60, 360)
    many = steps(lambda: archive.relation_graph("ada", around="Anna"))

    assert many < 1.5 * few
    for name in ("Anna", "Alias0", "Alias200", "Alias359"):
        assert [tie.relation for tie in archive.relation_graph("ada", around=name).edges] == ["works for"]
        assert len(archive.relation_graph("ada", between=(name, "fuel")).edges) == 2
    assert "Galp makes fuel" in answers(archive, "what does Alias7's employer make?")
    # Who is erased goes by every name.
    assert {("alias0",), ("alias200",), ("alias359",), ("anna",)} <= set(archive.callings("ada", "Anna"))


def test_a_name_that_nobody_has_is_said_with_the_known_ones(archive: ArchivalStore) -> None:
    """So that a front door can suggest one."""
    tell(archive, "Anna works for Siemens")

    with pytest.raises(UnknownName) as caught:
        archive.relation_graph("ada", around="Anja")
    assert set(caught.value.known) == {"Anna", "Siemens"}


NAMES = ("Anna", "Bob", "Carl", "Dora", "Ezra")


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=14),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
)
def test_a_way_is_the_shortest_and_each_of_its_ties_is_told(
    pairs: list[tuple[str, str]], start: str, goal: str
) -> None:
    """It agrees with a plain breadth-first search over what was told; a rebuilt index walks the same."""
    with ArchivalStore() as archive:
        tell(archive, *(f"{one} reports to {other}" for one, other in pairs if one != other))
        links = {frozenset(pair) for pair in pairs if pair[0] != pair[1]}
        known = {name for link in links for name in link}
        if not {start, goal} <= known:
            return
        distance = {start: 0}
        waiting = [start]
        for here in waiting:
            for link in links:
                if here in link:
                    (there,) = link - {here}
                    if there not in distance:
                        distance[there] = distance[here] + 1
                        waiting.append(there)

        way = archive.relation_graph("ada", between=(start, goal))
        assert len(way.edges) == distance.get(goal, 0)
        assert bool(way.nodes) == (goal in distance)
        assert told(way) <= {(one, "reports to", other) for one, other in pairs}
        archive.rebuild()
        assert archive.relation_graph("ada", between=(start, goal)) == way


def test_recall_in_a_turn_steps_along_clean_relations(archive: ArchivalStore) -> None:
    """What is one or two steps away enters the prompt unasked; what outside text steered is left out and counted."""
    page = Origin("agent", "ada", user_text="", taint=("tool:web",))
    tell(archive, "My sister Anna works for Siemens", "Siemens builds wind turbines")
    tell(archive, "Siemens sells stolen sister phones", origin=page)
    tools = archive.tools(user_id="ada")

    recalled = tools.recall_for_turn("What does my sister's employer make?", "", shown="")
    assert "Siemens builds wind turbines" in [piece.said for piece in recalled.pieces]
    assert all("stolen" not in piece.said for piece in recalled.pieces)
    assert recalled.tainted == 1


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(["Anna", "Bob", "Acme", "my sister", "my sister Anna", "I"]), min_size=2, max_size=12))
def test_any_telling_can_be_walked_and_drawn(ends: list[str]) -> None:
    """Whatever is told of whom, in circles and of oneself, every question ends, and each tie joins two nodes."""
    with ArchivalStore() as archive:
        for one, other in pairwise(ends):
            archive.offer(Draft(f"{one[0].upper()}{one[1:]} is the boss of {other}"), ADA)
            archive.offer(Draft(f"{one[0].upper()}{one[1:]} is also known as {other}"), ADA)
        graph = archive.relation_graph("ada")
        nodes = {node.id for node in graph.nodes}
        assert all({tie.source, tie.target} <= nodes and tie.record_ids for tie in graph.edges)
        archive.search("who is the boss of my sister's boss?", user_id="ada")
        for node in graph.nodes:
            archive.relation_graph("ada", around=node.name.partition(" (")[0]) if "'s " not in node.name else None
