"""The ``sql`` condition: kind of statement and table, in SQL text and in what a shell command hands to a client."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from .checks import NO, Predicate, bracketed, first_of, glob_test, shown, words_of
from .interface import JSON, Path, PolicySetError, Ternary
from .shell import Command, ShellView, read_shell
from .shell_words import SYNTAX, ShellWord, literal
from .shell_wrappers import INTERPRETER, strings_of
from .sql_text import SqlStatement, SqlView, read_sql

_CLIENTS = words_of(
    "duckdb bq trino presto hive beeline cockroach pgcli mycli litecli clickhouse clickhouse-client impala-shell isql"
    " usql osql db2 athena rqlite wrangler turso mariadb cqlsh dolt heroku supabase snow databricks mclient exaplus"
    " prisma gcloud aws influx"
)
_STATEMENT_IS_OPERAND = words_of("sqlite sqlite3 duckdb turso")
"""Clients that are given a database and then a statement."""
_PROGRAM = re.compile(r"[\w.+-]+")
_SEVERAL_WORDS = re.compile(r"[\s\"`\[]|/\*")
_OPTION = re.compile(r"--(command|execute|query|cmd|sql|eval)=?|-[A-Za-z]{0,8}")
_OTHER_OPTIONS = "hdpUPuDfo"
"""Last letters of short options whose value is a host, a name or a file."""
_ASKS_DATABASE = re.compile(r"execute|query|cursor|sql", re.IGNORECASE)


def sql_check(data: JSON, path: Path) -> Predicate:
    """Return the compiled ``sql`` condition."""
    statements, tables = _read_pattern(data, path)
    on_statement = _compile(statements, tables)
    says = _describe(statements, tables)

    def test(value: JSON) -> Ternary:
        views = list(sql_views(value))
        found = first_of(on_statement(statement) for view in views for statement in view.statements)
        doubt = next((view.doubts[0] for view in views if view.doubts), None)
        return found if found.state or doubt is None else Ternary(None, f"cannot be read as SQL: {doubt}")

    return Predicate(test, says, path, whole=True)


def sql_views(value: JSON) -> Iterator[SqlView]:
    """Yield the SQL in a value: the text itself, and what shell commands in it hand to a database client."""
    if isinstance(value, str):
        yield read_sql(value)
        yield from _in_shell(read_shell(value))
    elif isinstance(value, Mapping):
        for element in value.values():
            yield from sql_views(element)
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from sql_views(element)
        if all(isinstance(word, str) for word in value):
            yield from _in_shell(read_shell(tuple(value)))


def _in_shell(view: ShellView) -> Iterator[SqlView]:
    clients = [command for command in view.commands if _may_be_client(command)]
    for command in clients:
        for word in (*command.words, *command.inputs):
            yield from (read_sql(text) for text in _option_values(word.text))
        yield from _at_run_time(command)
    for command in view.commands:
        if INTERPRETER.fullmatch(command.name):
            yield from _in_code([*command.words, *command.inputs])
    broken = [doubt.message for doubt in view.doubts if doubt.kind == SYNTAX]
    if broken and any(command.program for command in clients):
        yield SqlView((), (f"{broken[0]} in the command",), False)


def _may_be_client(command: Command) -> bool:
    if command.program is None or command.name in _CLIENTS:
        return True
    return "sql" in command.name and _PROGRAM.fullmatch(command.name) is not None


def _option_values(text: str) -> Iterator[str]:
    if not _SEVERAL_WORDS.search(text):  # the name of a file or database, and no statement
        return
    yield text
    if found := _OPTION.match(text):
        ends = range(2, found.end() + 1) if text[1] != "-" else [found.end()]  # any letter may be the option's name
        yield from (text[end:] for end in ends)


def _at_run_time(command: Command) -> Iterator[SqlView]:
    """Yield a doubt where the running shell makes the statement that a client is given."""
    if command.name in _STATEMENT_IS_OPERAND:
        operands = [word for word in command.words if not word.text.startswith("-")]
        for word in operands[1:]:
            if word.fixed == 0 and not word.certain:
                yield SqlView((), (f"a statement made at run time by {shown(word.text)}",), False)
    for option, word in zip((literal(""), *command.words), command.words, strict=False):
        given = _OPTION.fullmatch(option.text) and option.text[-1] not in _OTHER_OPTIONS
        if command.program and not word.certain and word.fixed == 0 and (given or word.text.startswith("<(")):
            yield SqlView((), (f"a statement made at run time by {shown(word.text)}",), False)


def _in_code(words: Sequence[ShellWord]) -> Iterator[SqlView]:
    """Yield the SQL in the strings of code that speaks to a database."""
    for word in words:
        if _ASKS_DATABASE.search(word.text):
            yield from (read_sql(text) for text in strings_of(word.text) if _SEVERAL_WORDS.search(text))


def _compile(statements: Sequence[str], tables: Sequence[str]) -> Callable[[SqlStatement], Ternary]:
    wanted = [tuple(statement.lower().split()) for statement in statements]
    table_tests = [glob_test(table.lower()) for table in tables]
    listed = bracketed(statements)

    def test(statement: SqlStatement) -> Ternary:
        if wanted and not any(map(statement.opens_with, wanted)):
            return NO
        named = _matching_table(statement, table_tests) if tables else ""
        if named is None:
            return NO
        kind = f"sql statement {statement.words[0]} in {listed}" if wanted else f"sql statement {statement.words[0]}"
        return Ternary(True, f"{kind}, table {named} in {bracketed(tables)}" if tables else kind)

    return test


def _matching_table(statement: SqlStatement, tests: Sequence[Callable[[str], bool]]) -> str | None:
    for table in sorted(statement.tables):
        if any(matches(table) or matches(table.rpartition(".")[2]) for matches in tests):
            return table
    return None


def _read_pattern(data: JSON, path: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not isinstance(data, Mapping) or not data:
        raise PolicySetError("needs statement, table or both", path=path)
    for key in data:
        if key not in ("statement", "table"):
            raise PolicySetError(f"unknown key {key!r}; known are statement, table", path=(*path, key))
    return _texts(data, "statement", path), _texts(data, "table", path)


def _texts(data: Mapping[str, JSON], key: str, path: Path) -> tuple[str, ...]:
    if key not in data:
        return ()
    value = data[key]
    texts = value if isinstance(value, list) else [value]
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise PolicySetError("needs text or a list of texts", path=(*path, key))
    return tuple(texts)


def _describe(statements: Sequence[str], tables: Sequence[str]) -> str:
    parts = [f"statement in {bracketed(statements)}"] if statements else []
    parts += [f"table in {bracketed(tables)}"] if tables else []
    return f"sql {', '.join(parts)}"
