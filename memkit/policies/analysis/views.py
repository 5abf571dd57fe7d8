"""Facts about ``shell`` and ``sql`` conditions: when one implies another, and texts that satisfy them.

The texts are guesses to be checked by the engine; nothing is concluded from a failed guess.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, product

from memkit.policies.analysis.formulas import Leaf
from memkit.policies.analysis.languages import TooComplex, all_hold, find_text, glob_pattern, language
from memkit.runtime.guard.checks import glob_test, has_wildcards
from memkit.runtime.guard.interface import JSON, as_list

_MOST_GUESSES = 200
_STATEMENTS = {
    "select": "select * from {}",
    "delete": "delete from {}",
    "insert": "insert into {} values (1)",
    "update": "update {} set a = 1",
    "drop": "drop table {}",
    "truncate": "truncate table {}",
    "alter": "alter table {} add a int",
    "create": "create table {} (a int)",
}
_CLIENTS = ("psql", "mysql", "sqlite3", "duckdb")


@lru_cache(maxsize=65536)
def within(inner: Leaf, outer: Leaf) -> bool:
    """Return whether one view implies the other, and whatever the first cannot parse, the other cannot either."""
    if inner == outer:
        return True
    if inner.operator != outer.operator:
        return False
    return _command_within(inner, outer) if inner.operator == "shell" else _statement_within(inner, outer)


def _command_within(inner: Leaf, outer: Leaf) -> bool:
    programs = _programs(outer)
    if "except" in outer.operand and outer.operand["except"] != inner.operand.get("except"):
        return False
    if programs and not (_programs(inner) and all(_program_within(name, programs) for name in _programs(inner))):
        return False
    verbs, own = (frozenset(map(str, as_list(leaf.operand.get("verb", [])))) for leaf in (outer, inner))
    if verbs and not (own and all(any(glob_within(name.lower(), other.lower()) for other in verbs) for name in own)):
        return False
    refused = [(_refused(inner, key), _refused(outer, key)) for key in ("flags", "args")]
    return all(not theirs or theirs == own for own, theirs in refused) and all(
        _choice_within(_choice(inner, key), _choice(outer, key), loosely=key == "args") for key in ("flags", "args")
    )


def _programs(leaf: Leaf) -> list[str]:
    return [str(name).lower() for name in as_list(leaf.operand.get("program", []))]


def _program_within(name: str, programs: Sequence[str]) -> bool:
    return any(("/" in name) == ("/" in other) and glob_within(name, other) for other in programs)


def _refused(leaf: Leaf, key: str) -> frozenset[str]:
    data = leaf.operand.get(key, {})
    return frozenset(as_list(data.get("none_of", []))) if isinstance(data, Mapping) else frozenset()


def _choice(leaf: Leaf, key: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return what must all be present, and of which one must be; a single alternative counts as required."""
    data = leaf.operand.get(key, {})
    named = data if isinstance(data, Mapping) else {"any_of": data}
    every, some = (frozenset(as_list(named.get(word, []))) for word in ("all_of", "any_of"))
    return (every | some, frozenset()) if len(some) == 1 else (every, some)


def _choice_within(
    inner: tuple[frozenset[str], frozenset[str]], outer: tuple[frozenset[str], frozenset[str]], *, loosely: bool
) -> bool:
    def fits(one: str, other: str) -> bool:
        return one == other or (loosely and (other == "*" or (not has_wildcards(one) and glob_test(other)(one))))

    every = all(any(fits(one, wanted) for one in inner[0]) for wanted in outer[0])
    some = (
        not outer[1]
        or any(fits(one, other) for one in inner[0] for other in outer[1])
        or (bool(inner[1]) and all(any(fits(one, other) for other in outer[1]) for one in inner[1]))
    )
    return every and some


def _statement_within(inner: Leaf, outer: Leaf) -> bool:
    kinds = [statement.lower().split() for statement in as_list(outer.operand.get("statement", []))]
    own_kinds = [statement.lower().split() for statement in as_list(inner.operand.get("statement", []))]
    if kinds and not (own_kinds and all(any(own[: len(kind)] == kind for kind in kinds) for own in own_kinds)):
        return False
    tables = [str(table).lower() for table in as_list(outer.operand.get("table", []))]
    own_tables = [str(table).lower() for table in as_list(inner.operand.get("table", []))]
    return not tables or (bool(own_tables) and all(any(glob_within(o, t) for t in tables) for o in own_tables))


@lru_cache(maxsize=16384)
def glob_within(inner: str, outer: str) -> bool:
    """Return whether every text of one glob surely matches the other."""
    if inner == outer or not has_wildcards(inner):
        return glob_test(outer)(inner) if inner != outer else True
    if not has_wildcards(outer):
        return False
    try:
        both = [language((glob_pattern(glob),)) for glob in (inner, outer)]
        return find_text(both, lambda known: all_hold((known[0], None if known[1] is None else not known[1]))) is None
    except TooComplex:
        return False


@lru_cache(maxsize=4096)
def glob_sample(glob: str) -> str:
    """Return a short text that matches a glob."""
    plain = glob.replace("*", "").replace("?", "x")
    if "[" not in glob and glob_test(glob)(plain):
        return plain
    try:
        return find_text([language((glob_pattern(glob),))], lambda known: known[0]) or plain
    except TooComplex:
        return plain


def other_commands(one: Sequence[Leaf], other: Sequence[Leaf]) -> bool:
    """Return whether two conditions are about commands only, and about different programs."""
    return all(
        leaf.operator == beside.operator == "shell" and _others(leaf, beside) for leaf, beside in product(one, other)
    )


@lru_cache(maxsize=65536)
def _others(one: Leaf, other: Leaf) -> bool:
    return not _program_names([one.operand, other.operand])


def guesses(views: Sequence[Leaf]) -> list[str]:
    """Return texts that may satisfy all of these views at once."""
    commands = [leaf.operand for leaf in views if leaf.operator == "shell"]
    statements = [leaf.operand for leaf in views if leaf.operator == "sql"]
    found: Iterable[str] = ()
    if commands and statements:
        clients = dict.fromkeys([*_program_names(commands), *_CLIENTS])
        found = (f"{client} -c {shlex.quote(text)}" for client, text in product(clients, _statement_texts(statements)))
    elif commands:
        found = _command_texts(commands)
    elif statements:
        found = _statement_texts(statements)
    return list(islice(found, _MOST_GUESSES))


def _program_names(commands: Sequence[Mapping[str, JSON]]) -> list[str]:
    """Return program names that may satisfy every command pattern; the first probably satisfies all."""
    wanted = [
        [str(name).lower() for name in as_list(command["program"])] for command in commands if "program" in command
    ]
    if not wanted:
        return ["program"]
    samples = list(dict.fromkeys(glob_sample(name) for names in wanted for name in names))
    fitting = [sample for sample in samples if all(any(glob_test(n)(sample) for n in names) for names in wanted)]
    return fitting or _common_names(wanted)


def _common_names(wanted: Sequence[Sequence[str]]) -> list[str]:
    try:
        sets = [language(tuple(map(glob_pattern, names))) for names in wanted]
        found = find_text(sets, all_hold)
    except TooComplex:
        return []
    return [found] if found is not None else []


def _command_texts(commands: Sequence[Mapping[str, JSON]]) -> Iterator[str]:
    programs = _program_names(commands)
    flags = list(islice(_choices(commands, "flags"), 20))
    args = [
        (*verbs, *chosen)
        for verbs, chosen in islice(product(_choices(commands, "verb"), _choices(commands, "args")), 20)
    ]
    for program, chosen_args, chosen_flags in product(programs, args, flags):
        words = [glob_sample(word) for word in chosen_args]
        yield shlex.join(word for word in (program, *words, *chosen_flags) if word)
        if words and chosen_flags:
            yield shlex.join(word for word in (program, *chosen_flags, *words) if word)


def _choices(commands: Sequence[Mapping[str, JSON]], key: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of every combination of what the commands require."""
    every: list[str] = []
    some: list[Sequence[str]] = []
    for command in commands:
        data = command.get(key, {})
        named = data if isinstance(data, Mapping) else {"any_of": data}
        every += as_list(named.get("all_of", []))
        some += [as_list(named["any_of"])] if named.get("any_of") else []
    for chosen in product(*some):
        yield tuple(dict.fromkeys((*every, *chosen)))


def _statement_texts(statements: Sequence[Mapping[str, JSON]]) -> Iterator[str]:
    kinds = [kind.lower() for data in statements for kind in as_list(data.get("statement", []))] or ["select"]
    tables = [glob_sample(str(name).lower()) for data in statements for name in as_list(data.get("table", []))]
    listing = ", ".join(dict.fromkeys(tables)) or "t"
    for kind in dict.fromkeys(kinds):
        form = _STATEMENTS.get(kind.split()[0])
        if form and form.startswith(kind):
            yield form.format(listing)
        yield f"{kind} {listing}"
        yield f"{kind} table {listing}"
        yield f"{kind} from {listing}"
