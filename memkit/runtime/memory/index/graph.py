"""The graph formed by the relations of records, walked one or two steps at a time.

It is derived and never authoritative: its rows follow the records, and identities are resolved at query time, from
what is known then. One name is one thing, unless two are distinguished by their relation ("my sister Anna", "my
colleague Anna"): statements about the bare name then apply to neither. Aliases of a thing are followed; anything that
outside text may have steered adds no alias, ends no relation and is not walked.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from ..record.lines import normal_time
from ..words.relations import ABOUT, ALIAS, LEFT, ORGANISATION, PERSON, PLACE, Mention, name_key

SELF = "="
"""The prefix in the key of a user, whom records call "I"."""
MOST_SPOKEN = 8
"""The most names of one thing that are searched for in texts."""
MOST_NAMES = 32
"""The most aliases of one thing that are followed from it, the latest ones; each of them all leads to it."""
MOST_STEPS = 12
"""The most steps between two things; a longer path says nothing about either."""
ENDABLE = frozenset(("works for", "lives in"))
"""Relations that end when another of their kind begins, or when somebody is said to have left."""
KINDS = (ORGANISATION, PLACE, PERSON)
"""The kind of a thing: the first of these that applies."""


COLUMNS = """relations.document, s_name, s_role, s_shown, label, family, s_kind, o_kind, moves, relations.ended, o_name,
             o_role, o_shown, since, until, gives, told, begins, tainted, stranger, records.id"""
ASKED_AT_ONCE = 400
WITH_ROLE = ("s_role!=''", "o_role!=''")
"""Rows whose subject, or object, is described by a role."""
UNBOUNDED = 1 << 40
NAMING = f"label='{ALIAS.label}'"
"""Rows that give something an alias."""


class RelationRow(NamedTuple):
    """One relation stated by a record."""

    document: int
    s_name: str
    s_role: str
    s_shown: str
    label: str
    family: str
    s_kind: str
    o_kind: str
    moves: int
    ended: int
    o_name: str
    o_role: str
    o_shown: str
    since: str
    """The first day on which it holds, as a bare date; empty if it always did."""
    until: str
    gives: str
    """The role that it gives the subject."""
    told: str
    begins: str
    """Since when the record counts as true, if it replaced another one."""
    tainted: int
    stranger: str
    """Who shared it, if nobody verified it."""
    id: str
    """The id of the record."""

    @property
    def subject(self) -> Mention:
        """Return the subject."""
        return Mention(self.s_name, self.s_role, self.s_shown)

    @property
    def object(self) -> Mention:
        """Return the object."""
        return Mention(self.o_name, self.o_role, self.o_shown)


class UnknownName(Exception):
    """Report that nothing in a graph has a name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(name)
        self.name, self.known = name, known


class Entity(NamedTuple):
    """A person or thing mentioned by records."""

    id: str
    name: str
    kind: str = "thing"
    """person | organisation | place | thing"""


class Tie(NamedTuple):
    """A relation between two things, with the records that state it."""

    source: str
    target: str
    relation: str
    record_ids: tuple[str, ...]
    valid_from: str | None = None
    valid_until: str | None = None
    tainted: bool = False
    """Whether outside text may have steered every record that states it: shown, but not walked."""
    family: str = ""

    def holds(self, since: str, until: str) -> bool:
        """Return whether it holds at some moment between two days."""
        return (self.valid_from or "") <= until and since <= (self.valid_until or "9999")


class RelationGraph(NamedTuple):
    """Things and the ties between them.

    >>> archive = ArchivalStore()
    >>> _ = archive.offer(Draft("Anna works for Acme"), Origin("user", "ada"))
    >>> graph = archive.relation_graph("ada", around="Anna")
    >>> [(one.name, one.kind) for one in graph.nodes], [tie.relation for tie in graph.edges]
    ([('Anna', 'person'), ('Acme', 'organisation')], ['works for'])
    """

    nodes: tuple[Entity, ...] = ()
    edges: tuple[Tie, ...] = ()

    def to_data(self) -> dict[str, object]:
        """Return it in the form in which commands and tools output it."""
        return {
            "nodes": [one._asdict() for one in self.nodes],
            "edges": [
                {
                    "from": tie.source, "to": tie.target, "relation": tie.relation, "record_ids": [*tie.record_ids],
                    "valid_from": tie.valid_from, "valid_until": tie.valid_until,
                    **({"tainted": True} if tie.tainted else {}),
                }
                for tie in self.edges
            ],
        }  # fmt: skip


class MemoryGraph:
    """The relations of one user's records and the shared ones, as stated at one moment.

    >>> archive = ArchivalStore()
    >>> _ = archive.offer(Draft("Anna works for Acme"), Origin("user", "ada"))
    >>> _ = archive.offer(Draft("Acme is located in Bergen"), Origin("user", "ada"))
    >>> way = archive.relation_graph("ada", between=("Anna", "Bergen"))  # asks a MemoryGraph over its index
    >>> [(tie.source, tie.relation, tie.target) for tie in way.edges]
    [('anna', 'works for', 'acme'), ('acme', 'is in', 'bergen')]
    """

    def __init__(
        self,
        databases: Sequence[sqlite3.Connection],
        user_id: str,
        *,
        as_of: datetime | None = None,
        is_foreign: Callable[[str], bool] = lambda record_id: False,
        most_names: int = MOST_NAMES,
    ) -> None:
        """Walk the relations in ``databases``; ``is_foreign`` tells whether nobody vouches for a record's writer."""
        self.user_id = user_id
        self._databases = databases
        self._moment = normal_time(as_of) if as_of else ""
        self._day = self._moment[:10]
        self._is_foreign = is_foreign
        self._most_names = most_names
        self._aliases: dict[str, tuple[str, ...]] = {}
        self._canonicals: dict[str, str] = {}
        self._qualifiers: dict[str, set[str]] = {}
        self._holders: dict[str, tuple[str, ...]] = {}
        self._titles: dict[str, str] = {}
        self._kinds: dict[str, set[str]] = defaultdict(set)

    # ------------------------------------------------------------------ queries

    def whole(self) -> RelationGraph:
        """Return everything."""
        return self._drawn(self._ties(list(self._clean(all_rows(sql, self._moment) for sql in self._databases))))

    def find(self, text: str) -> list[str]:
        """Return the ids that a mention such as "Anna" or "my sister" may refer to, the surest first."""
        from ..words.relations import mention

        meant = mention(text, self.user_id)
        if meant.name:
            return self._called(meant.name) if not meant.role else [self._id(meant)]
        return self.holders(meant.role)

    def known(self) -> list[str]:
        """Return the names of everything, for suggestions."""
        return sorted({entity.name for entity in self.whole().nodes})

    def around(self, ids: Collection[str], steps: int = 1) -> RelationGraph:
        """Return what is at most this many steps away."""
        seen, frontier, ties = set(ids), set(ids), dict[Tie, None]()
        for _ in range(steps):
            found = self.touching(frontier)
            ties.update(dict.fromkeys(found))
            frontier = {end for tie in found if not tie.tainted for end in (tie.source, tie.target)} - seen
            seen |= frontier
        ends = {end for tie in ties for end in (tie.source, tie.target)}
        apart = {id.partition(" (")[0] for id in ids if " (" in id}  # of two Annas, the bare name refers to neither
        return self._drawn(ties, [id for id in ids if id in ends or id not in apart])

    def path(self, start: Collection[str], goal: Collection[str]) -> RelationGraph:
        """Return the shortest path between two things, searched from both ends; empty if there is none."""
        sides: list[dict[str, Tie | None]] = [dict.fromkeys(start), dict.fromkeys(goal)]
        fronts = [set(start), set(goal)]
        met = fronts[0] & fronts[1]
        for _ in range(MOST_STEPS):
            if met or not all(fronts):
                break
            side = 0 if len(fronts[0]) <= len(fronts[1]) else 1
            reached: dict[str, Tie | None] = {}
            for tie in self.touching(fronts[side], closing=bool(self._day)):
                for here, there in ((tie.source, tie.target), (tie.target, tie.source)):
                    if not tie.tainted and here in fronts[side] and there not in sides[side]:
                        reached.setdefault(there, tie)
            sides[side] |= reached
            fronts[side] = set(reached)
            met = fronts[side] & sides[1 - side].keys()
        if not met:
            return RelationGraph()
        middle = min(met)
        ways = [list(_walked(side, middle)) for side in sides]
        return self._drawn([*reversed(ways[0]), *ways[1]], [middle] if not any(ways) else ())

    def touching(self, ids: Collection[str], *, closing: bool = True) -> list[Tie]:
        """Return the ties of some things that hold at the moment in question."""
        wanted = set(ids)
        names = {name for id in wanted for name in self._names(id)}
        rows = self._rows(s_name=names, o_name=names)
        self._look_up(rows)
        roles = {role for id in wanted if _is_role(id) for role in self._roles_meant(id.partition(" (")[0])}
        for row in rows:
            if row.gives and (id := self._id(row.subject)) in wanted:
                roles |= {role for role in (row.gives, _wider(row.gives)) if self._role_holders(role) == (id,)}
        if roles:
            known = set(rows)
            rows += [row for row in self._rows(s_role=roles, o_role=roles) if row not in known]
            self._look_up(rows)
        return self._ties([row for row in rows if self._ends(row) & wanted], closing=closing)

    def intervals(self, said: Mapping[str, object]) -> list[tuple[str, str]]:
        """Return when a relation held according to records, such as that of "when I lived in Lisbon"."""
        from ..words.relations import stated

        found = []
        for one in stated(said, self.user_id):
            ends = set(self.find_mention(one.subject)), set(self.find_mention(one.object))
            for tie in self.touching(ends[0]) if all(ends) else ():
                if tie.source in ends[0] and tie.target in ends[1] and tie.family == one.verb.question:
                    found.append((tie.valid_from or "", tie.valid_until or "9999"))
        return [(since, until) for since, until in found if since or until != "9999"]

    def holders(self, role: str) -> list[str]:
        """Return everyone with a role; if nobody is named, the unnamed entity of the role."""
        return [*self._role_holders(role)] or self._roles_meant(role)[:1]

    def find_mention(self, meant: Mention) -> list[str]:
        """Return the ids that a mention may refer to."""
        if meant.name:
            return [self._id(meant)] if meant.role else self._called(meant.name)
        return self.holders(meant.role)

    def names_told(self, names: Iterable[str]) -> set[str]:
        """Return the names among these that something here has."""
        wanted = list(names)
        return {name for sql in self._databases for name in names_among(sql, wanted)}

    def spoken(self, id: str, most: int = MOST_SPOKEN) -> tuple[str, ...]:
        """Return the names by which texts may refer to something, excluding names that another thing shares."""
        names = [name for name in self._names(id) if not name.startswith(SELF)][:most]
        return () if "(" in id or any(len(self._told_apart(name)) > 1 for name in names) else tuple(names)

    # ------------------------------------------------------------------ identities

    def _id(self, one: Mention) -> str:
        """Return the id that a mention refers to."""
        if not one.name:
            held = self._role_holders(one.role)
            return held[0] if len(held) == 1 else one.role
        canonical = self._canonical(one.name)
        groups = self._told_apart(one.name)
        if one.role and len(groups) > 1:
            mine = next((group for group in groups if one.role in group), {one.role})
            return f"{canonical} ({min(mine, key=len)})"
        return canonical

    def _called(self, name: str) -> list[str]:
        """Return everything with a name."""
        key = name if name.startswith(SELF) else name_key(name)
        if not self.names_told([key]):
            return []
        groups = self._told_apart(key)
        apart = [f"{self._canonical(key)} ({min(group, key=len)})" for group in groups] if len(groups) > 1 else []
        return [*apart, self._canonical(key)]

    def _told_apart(self, name: str) -> list[set[str]]:
        """Return what distinguishes the bearers of one name: "my sister" and "my older sister" may be the same."""
        if name not in self._qualifiers:
            self._qualify([name])
        groups: list[set[str]] = []
        for role in sorted(self._qualifiers[name], key=len):
            owner, _, what = role.rpartition("/")
            for group in groups:
                if any(one.rpartition("/")[0] == owner and what.endswith(one.rpartition("/")[2]) for one in group):
                    group.add(role)
                    break
            else:
                groups.append({role})
        return groups

    def _qualify(self, names: Collection[str]) -> None:
        wanted = [name for name in names if name not in self._qualifiers]
        self._qualifiers |= {name: set() for name in wanted}
        for row in self._rows(WITH_ROLE[0], s_name=wanted) + self._rows(WITH_ROLE[1], o_name=wanted):
            for name, role in ((row.s_name, row.s_role), (row.o_name, row.o_role)):
                if role and name in self._qualifiers and not self._is_tainted(row):
                    self._qualifiers[name].add(role)

    def _canonical(self, name: str) -> str:
        self._same(name)
        return self._canonicals[name]

    def _same(self, name: str) -> tuple[str, ...]:
        """Return all names of a thing, including this one."""
        if name not in self._aliases:
            self._join([name])
        return self._aliases[name]

    def _join(self, names: Collection[str]) -> None:
        """Look up the aliases of things, level by level."""
        todo = {name for name in names if name not in self._aliases}
        links: dict[str, set[str]] = defaultdict(set)
        seen, frontier, named = set(todo), set(todo), list[RelationRow]()
        while frontier:
            found: set[str] = set()
            for row in self._rows(NAMING, s_name=frontier, o_name=frontier):
                named.append(row)
                if not self._is_tainted(row) and row.s_name and row.o_name:
                    links[row.s_name].add(row.o_name)
                    links[row.o_name].add(row.s_name)
                    found |= {row.s_name, row.o_name}
            frontier = found - seen
            seen |= frontier
        for name in seen:
            if name not in self._aliases:
                joined = _component(name, links)
                # A thing with very many names may be known by aliases that keep its key.
                known = sorted({self._canonicals[one] for one in joined if one in self._canonicals})
                joined.update(other for one in known for other in self._aliases[one])
                first = known[0] if known else min(joined, key=lambda one: (not one.startswith(SELF), one))
                self._aliases.update(dict.fromkeys(joined, tuple(sorted(joined))))
                self._canonicals.update(dict.fromkeys(joined, first))
        self._qualify({name for row in named for name in (row.s_name, row.o_name) if name})
        for row in sorted(named, key=lambda row: row.told):
            self._name(row)

    def _role_holders(self, role: str) -> tuple[str, ...]:
        """Return the ids of everyone with a role."""
        if role not in self._holders:
            self._holders[role] = ()  # a circular description refers to nobody
            roles = self._roles_meant(role)
            held = (row for row in self._rows(gives=roles) if row.s_name and not self._is_tainted(row))
            self._holders[role] = tuple(dict.fromkeys(self._id(row.subject) for row in held))
        return self._holders[role]

    def _roles_meant(self, role: str) -> list[str]:
        """Return the equivalent roles: those under the owner's aliases, and narrower ones."""
        owner, _, what = role.rpartition("/")
        owners = [owner]
        if "/" in owner:
            owners += [name for id in self._role_holders(owner) for name in self._names(id)]
        elif owner:
            owners = [*self._same(owner)]
            told = self._rows("gives!=''", s_name=owners)
            owners += [row.gives for row in told if row.gives and "/" in row.gives and not self._is_tainted(row)]
        asked = [f"{one}/{what}" for one in dict.fromkeys(owners)]
        return [found for sql in self._databases for found in roles_like(sql, asked)]

    def _names(self, id: str) -> tuple[str, ...]:
        """Return the names of the thing with an id."""
        return () if _is_role(id) else self._same(id.partition(" (")[0])

    # ------------------------------------------------------------------ rows and ties

    def _rows(self, only: str = "", /, **wanted: Collection[str]) -> list[RelationRow]:
        """Return rows by the values of some columns, without repeats; ``only`` narrows them further."""
        found: dict[tuple[object, ...], RelationRow] = {}
        for number, sql in enumerate(self._databases):
            for column, values in wanted.items():
                for row in rows_where(sql, column, values, self._moment, only, self._most_names) if values else ():
                    found[number, *row] = row
        return list(self._clean([found.values()]))

    def _clean(self, rows: Iterable[Iterable[RelationRow]]) -> Iterator[RelationRow]:
        """Yield the clean rows that hold at the moment in question."""
        for some in rows:
            for row in some:
                if not self._moment or row.begins <= self._moment:
                    yield row

    def _is_tainted(self, row: RelationRow) -> bool:
        return bool(row.tainted) or row.stranger not in ("", self.user_id) or self._is_foreign(row.id)

    def _ends(self, row: RelationRow) -> set[str]:
        return {self._id(row.subject), self._id(row.object)} if row.label != ABOUT.label else {self._id(row.subject)}

    def _look_up(self, rows: Collection[RelationRow]) -> None:
        """Look up the aliases of the ends of many rows at once."""
        names = {name for row in rows for name in (row.s_name, row.o_name) if name}
        self._join(names)
        self._qualify(names)

    def _ties(self, rows: Sequence[RelationRow], *, closing: bool = True) -> list[Tie]:
        """Return the combined content of rows: each tie once, ended where a later statement ends it."""
        self._look_up(rows)
        mine = list(rows)
        if closing:  # the statement that ends a tie may mention only its source
            subjects = {row.s_name for row in rows if row.family in ENDABLE and row.s_name}
            known = set(rows)
            ending = [row for row in self._rows(s_name=subjects) if row.moves or row.label == LEFT]
            rows = [*rows, *(row for row in ending if row not in known)]
            self._look_up(rows)
        ordered = sorted(rows, key=lambda row: (row.told, row.id))
        pairs = {(self._id(row.subject), self._id(row.object)) for row in mine if row.label not in (ABOUT.label, LEFT)}
        told: dict[tuple[str, str, str], list[Tie]] = defaultdict(list)
        homes: dict[tuple[str, str], list[tuple[str, str, str]]] = defaultdict(list)
        for row in ordered:
            self._name(row)
            if row.label in (ABOUT.label, ALIAS.label):
                continue
            source, target, tainted = self._id(row.subject), self._id(row.object), self._is_tainted(row)
            if source == target:
                continue
            if row.label == LEFT:
                for family in ENDABLE if not tainted else ():
                    told[source, target, family] = [
                        _ended(tie, row.until or row.told[:10], row.id)
                        for tie in told.get((source, target, family), ())
                    ]
                continue
            key = source, target, row.family
            fresh = Tie(source, target, row.label, (row.id,), row.since or None, row.until or None, tainted, row.family)
            if row.moves and not tainted:
                for other in homes[source, row.family]:
                    day = _day_before(row.since or row.told[:10])
                    told[other] = [_ended(tie, day, "") for tie in told[other] if other != key] or told[other]
            _join_tie(told[key], fresh)
            homes[source, row.family].append(key)
        found = [tie for ties in told.values() for tie in ties if (tie.source, tie.target) in pairs]
        return [tie for tie in found if not self._day or tie.holds(self._day, self._day)]

    def _name(self, row: RelationRow) -> None:
        """Record the kind and name of the ends of a row; of several names, the latest."""
        for one, kind, is_end in ((row.subject, row.s_kind, False), (row.object, row.o_kind, True)):
            if not one.name and not one.role:
                continue
            id = self._id(one)
            self._kinds[id].add(kind)
            role = id if "/" in id and "(" not in id else id.partition(" (")[2][:-1]
            if id.startswith(SELF) and not role:
                self._titles[id] = id[1:]
            elif role:
                shown = _role_shown(role, self.user_id)
                self._titles[id] = f"{one.shown} ({shown})" if "(" in id else shown
            elif id not in self._titles or (row.label == ALIAS.label and is_end and not self._is_tainted(row)):
                self._titles[id] = one.shown

    def _drawn(self, ties: Iterable[Tie], more: Iterable[str] = ()) -> RelationGraph:
        found = list(ties)
        ids = dict.fromkeys([*more, *(end for tie in found for end in (tie.source, tie.target))])
        return RelationGraph(self.entities(ids), tuple(found))

    def entities(self, ids: Collection[str]) -> tuple[Entity, ...]:
        """Return things with their names."""
        for row in self._rows(s_name=[n for id in ids if id not in self._titles for n in self._names(id)]):
            self._name(row)
        return tuple(
            Entity(id, self._titles.get(id, id.removeprefix(SELF)), self._kind(id, self._kinds[id])) for id in ids
        )

    def _kind(self, id: str, told: Collection[str]) -> str:
        if id.startswith(SELF) and "/" not in id:
            return PERSON
        return next((kind for kind in KINDS if kind in told), "thing")


def _walked(side: Mapping[str, Tie | None], end: str) -> Iterator[Tie]:
    """Yield the ties from ``end`` back to the start of one side of the search."""
    while (tie := side[end]) is not None:
        yield tie
        end = tie.target if tie.source == end else tie.source


def _component(name: str, links: Mapping[str, set[str]]) -> set[str]:
    found, waiting = {name}, [name]
    while waiting:
        for other in links.get(waiting.pop(), ()):
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def _is_role(id: str) -> bool:
    """Return whether a thing is nameless here and known only by its role."""
    return "/" in id.partition(" (")[0]


def _wider(role: str) -> str:
    """Return a role without its qualifier: "my sister" for "my older sister"."""
    owner, _, what = role.rpartition("/")
    return f"{owner}/{what.split()[-1]}" if what else role


def _ended(tie: Tie, day: str, record_id: str) -> Tie:
    """Return a tie that held at most until a day, according to one more record."""
    if tie.valid_until or (tie.valid_from or "") > day:
        return tie
    ids = (*tie.record_ids, record_id) if record_id and record_id not in tie.record_ids else tie.record_ids
    return tie._replace(valid_until=day, record_ids=ids)


def _join_tie(ties: list[Tie], fresh: Tie) -> None:
    """Merge one more record's statement into the ties between two things: the same tie, or one at another time."""
    for place, tie in enumerate(ties):
        if tie.tainted is not fresh.tainted or fresh.record_ids[0] in tie.record_ids:
            continue
        since, until = tie.valid_from, tie.valid_until
        agree = fresh.valid_from in (None, since) or since is None
        ends = fresh.valid_until in (None, until) or until is None
        if agree and ends and (not until or not fresh.valid_from or fresh.valid_from <= until):
            ties[place] = tie._replace(
                record_ids=(*tie.record_ids, *fresh.record_ids), valid_from=since or fresh.valid_from,
                valid_until=until or fresh.valid_until,
                relation=fresh.relation if fresh.valid_until else tie.relation,
            )  # fmt: skip
            return
    ties.append(fresh)


def _day_before(day: str) -> str:
    return (datetime.fromisoformat(day) - timedelta(days=1)).date().isoformat()


def _role_shown(role: str, user_id: str) -> str:
    """Return a role in readable form: ``=ada/sister`` is *ada's sister*."""
    owner, _, what = role.rpartition("/")
    if not owner:
        return role.removeprefix(SELF)
    return f"{_role_shown(owner, user_id)}'s {what}"


def rows_where(
    sql: sqlite3.Connection, column: str, values: Collection[str], moment: str, only: str, most_names: int
) -> Iterator[RelationRow]:
    """Yield the relations of live records, or of those live at a moment, whose ``column`` is one of ``values``.

    ``only`` is a condition written by the program itself. Of rows that only give aliases to one of ``values``, the
    latest ``most_names`` are read, so that a thing with ten thousand names is no harder to walk than one with one.
    """
    state = "(status='live' OR (status='superseded' AND records.ended>?))" if moment else "status='live'"
    # Otherwise SQLite would not know that the index of rows with a role applies.
    state += f" AND {column}!=''" if column in ("gives", "s_role", "o_role") else ""
    state += f" AND {only}" if only and only != NAMING else ""
    index = {WITH_ROLE[0]: "INDEXED BY roles_of_subject", WITH_ROLE[1]: "INDEXED BY roles_of_object"}.get(only, "")
    shape = f"SELECT {COLUMNS} FROM relations {index} CROSS JOIN records USING(document) WHERE {column}"
    ordered, when = iter(sorted(values)), [moment] if moment else []
    while some := list(islice(ordered, ASKED_AT_ONCE)):
        held = f"IN ({','.join('?' * len(some))})"
        for label in ("<", ">") if only != NAMING else ():
            query = f"{shape} {held} AND label{label}'{ALIAS.label}' AND {state}"
            yield from map(RelationRow._make, sql.execute(query, (*some, *when)))
        most = min(most_names, UNBOUNDED)
        naming = sql.execute(f"{shape} {held} AND {NAMING} AND {state} LIMIT {most + 1}", (*some, *when)).fetchall()
        if len(naming) > most:
            newest = f"{shape}=? AND {NAMING} AND {state} ORDER BY relations.rowid DESC LIMIT {most}"
            naming = [row for one in some for row in sql.execute(newest, (one, *when))]
        yield from map(RelationRow._make, naming)


def all_rows(sql: sqlite3.Connection, moment: str = "") -> Iterator[RelationRow]:
    """Yield every relation of live records, or of those live at a moment."""
    state = "(status='live' OR (status='superseded' AND records.ended>?))" if moment else "status='live'"
    query = (
        f"SELECT {COLUMNS} FROM relations CROSS JOIN records USING(document) WHERE {state} ORDER BY told, records.id"
    )
    for row in sql.execute(query, (moment,) if moment else ()):
        yield RelationRow(*row)


def roles_like(sql: sqlite3.Connection, roles: Sequence[str]) -> list[str]:
    """Return the stated roles equal to or narrower than these: for ``=ada/sister`` also ``=ada/older sister``."""
    found: dict[str, None] = {}
    for role in roles:
        owner, _, what = role.rpartition("/")
        low, high = f"{owner}/", f"{owner}0"  # the range of keys that begin with the owner and a slash
        for column in ("gives", "s_role", "o_role"):
            query = f"SELECT DISTINCT {column} FROM relations WHERE {column}!='' AND {column}>=? AND {column}<?"
            for (told,) in sql.execute(query, (low, high)):
                if told == role or (told.startswith(low) and told.endswith(f" {what}") and "/" not in told[len(low) :]):
                    found[told] = None
    return list(found)


def names_among(sql: sqlite3.Connection, names: Iterable[str]) -> set[str]:
    """Return those of ``names`` that something mentioned here has."""
    wanted, found = sorted(set(names)), set[str]()
    for start in range(0, len(wanted), ASKED_AT_ONCE):
        some = wanted[start : start + ASKED_AT_ONCE]
        query = f"""WITH wanted(name) AS (VALUES {",".join(["(?)"] * len(some))}) SELECT name FROM wanted
                    WHERE EXISTS(SELECT 1 FROM relations WHERE s_name=name)
                    OR EXISTS(SELECT 1 FROM relations WHERE o_name=name)"""
        found |= {row[0] for row in sql.execute(query, some)}
    return found
