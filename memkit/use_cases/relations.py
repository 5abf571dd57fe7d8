"""Inspect relations: all in a user's records, those around one entity, and the path between two."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from memkit.errors import NotFound
from memkit.runtime.host.terminal import counted, one_line
from memkit.runtime.memory.gate.secrets import mask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memkit.drawing.graph import Graph
    from memkit.runtime.memory.index.graph import RelationGraph
    from memkit.workspace import Workspace

IN_AUDIT = 50


@dataclass(frozen=True)
class GraphQuestion:
    """A question about a graph; empty for all of it."""

    around: str | None = None
    steps: int = 1
    between: tuple[str, str] | None = None
    as_of: str | None = None

    @property
    def title(self) -> str:
        """Return the title of an answer."""
        if self.between:
            return f"The path from {self.between[0]} to {self.between[1]}"
        return f"What is around {self.around}" if self.around is not None else "What is connected"


def look_at_relations(
    workspace: Workspace, user: str | None, question: GraphQuestion, *, keeps_words: bool = True
) -> RelationGraph:
    """Return the relations in a user's records and the shared ones, or everybody's; the read is an audit event.

    Raises:
        NotFound: Nothing has this name.
    """
    graph = walk_relations(workspace, user, question)
    ids = list(dict.fromkeys(id for tie in graph.edges for id in tie.record_ids))[:IN_AUDIT]
    workspace.audit.append(
        {
            "event": "retrieved", "user_id": user, "actor": workspace.writer(user or "").actor,
            "query": mask(question.title) if keeps_words else None, "ids": ids, "candidates": [],
        }
    )  # fmt: skip
    return graph


def walk_relations(workspace: Workspace, user: str | None, question: GraphQuestion) -> RelationGraph:
    """Return the same without recording the read; raise ``NotFound`` if nothing has this name."""
    from memkit.runtime.memory.index.graph import RelationGraph, UnknownName

    owners = [user] if user is not None else workspace.archive.users()
    found: list[RelationGraph] = []
    known: set[str] = set()
    missing = None
    for owner in owners:
        try:
            one = workspace.archive.relation_graph(
                owner, around=question.around, steps=question.steps, between=question.between, as_of=question.as_of
            )
        except UnknownName as error:
            missing, known = error.name, known | set(error.known)
        else:
            found.append(one if len(owners) == 1 else _owned(one, owner))
    if not found and missing is not None:
        raise NotFound(_unknown(missing, sorted(known)))
    return RelationGraph(
        tuple(node for one in found for node in one.nodes), tuple(tie for one in found for tie in one.edges)
    )


def _owned(graph: RelationGraph, owner: str) -> RelationGraph:
    """Return the graph of one of several users: two of them may mean different things by one name."""
    nodes = tuple(node._replace(id=f"{owner}:{node.id}") for node in graph.nodes)
    edges = [tie._replace(source=f"{owner}:{tie.source}", target=f"{owner}:{tie.target}") for tie in graph.edges]
    return type(graph)(nodes, tuple(edges))


def _unknown(name: str, known: Sequence[str]) -> str:
    by_fold = {one.casefold(): one for one in known}
    near = get_close_matches(name.casefold(), by_fold, n=1)
    hint = f" Did you mean {one_line(by_fold[near[0]], 60)!r}?" if near else ""
    return f"Nothing in memory is called {one_line(name, 60)!r}.{hint}"


def relation_lines(graph: RelationGraph) -> list[str]:
    """Return the ties as a table: who, how, whom, from when to when, and in which record."""
    names = {node.id: one_line(node.name, 40) for node in graph.nodes}
    rows = [
        (
            names[tie.source], one_line(tie.relation, 30) + (" (from outside)" if tie.tainted else ""),
            names[tie.target], _dates(tie.valid_from, tie.valid_until),
            " ".join(f"[{one_line(id, 60)}]" for id in tie.record_ids[:3]),
        )
        for tie in graph.edges
    ]  # fmt: skip
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, (*widths, 0), strict=True)).rstrip() for row in rows
    ]
    tied = {end for tie in graph.edges for end in (tie.source, tie.target)}
    return [*lines, *(names[node.id] for node in graph.nodes if node.id not in tied)]


def _dates(since: str | None, until: str | None) -> str:
    return f"{since or ''} – {until or ''}".strip() if since or until else ""


def relation_drawing(graph: RelationGraph, title: str) -> Graph:
    """Return the graph for drawing."""
    from memkit.drawing.graph import Edge, Graph, GraphNode, NodeKind

    kinds = {
        "person": NodeKind("person", "pill", "blue"),
        "organisation": NodeKind("organisation", "box", "amber"),
        "place": NodeKind("place", "round", "green"),
        "thing": NodeKind("thing", "box", "grey"),
    }
    nodes = tuple(GraphNode(node.id, node.name, node.kind) for node in graph.nodes)
    edges = tuple(
        Edge(tie.source, tie.target, " ".join(filter(None, (tie.relation, _years(tie)))), dashed=tie.tainted)
        for tie in graph.edges
    )
    told = f"{counted(len(nodes), 'thing')}, {counted(len(edges), 'relation')}."
    return Graph(title, nodes, edges, told, kinds)


def _years(tie: Any) -> str:
    since, until = (tie.valid_from or "")[:4], (tie.valid_until or "")[:4]
    return f"{since}–{until}" if since or until else ""
