# ruff: noqa: E501 - tables of spellings read best when they are dense
"""SQL text: a statement is seen however it is spelt, and text that only talks about it is not."""

from __future__ import annotations

import contextlib
import random
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.sql_text import _tables, tokenize


def guard(condition: object) -> Guard:
    """Return a guard with one hard policy on the argument ``q``."""
    policy = {
        "name": "probe",
        "description": "d",
        "rule": "r",
        "enforcement": "hard",
        "effect": "ask",
        "match": {"args.q": condition},
    }
    return Guard([policy])


NO_LOSS = guard({"sql": {"statement": ["drop", "truncate", "delete"]}})
NO_USERS = guard({"sql": {"statement": ["delete", "update"], "table": ["users", "audit_*"]}})

SEEN = [
    "DROP TABLE x", "drop table x", "DrOp TaBlE x", "  drop\n\ttable x", "drop/**/table x", "/* a */ drop table x", "-- c\ndrop table x",
    "# c\ndrop table x", "select 1; drop table x", "select 1;drop table x;", ";drop table x", "(drop table x)", "truncate x", "TRUNCATE TABLE x",
    "delete from x", "DELETE users", "with a as (select 1) delete from x", "with a as (delete from x returning *) select * from a",
    "WITH a AS MATERIALIZED (DELETE FROM x RETURNING *) TABLE a", "explain analyze delete from x", "select 'a\\'; drop table x; --'",
    "select 'a''b'; drop table x", 'select "a;b"; drop table x', "select `a;b`; drop table x", "select [a;b]; drop table x", "/*!50000 drop table x */",
    "/*!drop table x*/", "select 1 /*!; drop table x */", "do $$ begin drop table x; end $$", "do $a$ begin delete from x; end $a$",
    "begin; delete from x; commit", "begin delete from x; end", "select 5--1; drop table x", "select 1 # 2; drop table x", "execute 'drop table x'",
    "exec('drop table x')", "prepare p from 'delete from x'", "prepare p as delete from x", "create trigger t after insert on x begin delete from y; end",
    "merge into x using y on a when matched then delete", "select e'\\''; drop table x", "select 1\n;\ndrop table x", "DROP DATABASE x", "Delete From\"x\"",
    "select /* /* */ ' */ drop table x --'", "psql -c 'drop table x'", "psql -c \"drop table x\"", "psql --command='drop table x'", "psql -c'drop table x'", "mysql -e 'truncate x'",
    "mysql -uroot shop -e \"delete from x\"", "sqlite3 db 'delete from x'", "sudo -u postgres psql -c 'drop table x'", "echo 'drop table x' | psql",
    "psql <<E\ndrop table x;\nE", "psql <<< 'drop table x'", "ssh host \"psql -c 'drop table x'\"", "docker exec db psql -c 'drop table x'",
    "cd /tmp && sqlite3 a.db 'select 1; drop table x'", "bash -c 'mysql -e \"drop table x\"'", "$DB -c 'drop table x'",
]  # fmt: skip
SEEN_TOO = [
    "waitfor delay '0:0:5' drop table x", "raiserror('a', 1, 1) drop table x", "checkpoint drop table x",
    "explain (analyze) delete from x", "if exists (select 1) drop table x", "if 1=1 begin delete from x end", "--\rdrop table x", "/* /* a */ */ drop table x",
    "delimiter //\ndrop table x//", "\\c db\ndrop table x", "select 1\\g\ndrop table x", "select 1\ngo\ndrop table x\ngo", "select 1 drop table x", "declare @x int drop table x",
    "{drop table x}", "\ufeffdrop table x", ";\ufeff drop table x", "/*!{create trigger t */ drop table x", "/* /* */ x */ /* /* */ */ drop table x", "psql -Xqc'drop table x'", "cat <<E | psql\ndrop table x;\nE", "psql <(echo 'drop table x')", "mariadb -e 'drop table x'",
    "echo 'drop table x' | tee f | psql", "psql -c \"$SQL\"", "psql -c \"$(cat f)\"", "python -c \"import sqlite3; sqlite3.connect('a').execute('drop table x')\"",
]  # fmt: skip
UNREADABLE = [
    "select 'abc",
    "select 1 /* x",
    "insert into x values ('a",
    'select "x',
    "update x set a = 'b",
    "select 1 /* /* */ from x",
    'psql -c "select \'a"',
    "psql -c 'select 1",
]
HARMLESS = [
    "", "select 1", "select * from drops", "select * from x where a = 'drop table y'", "select 'delete from x; drop table y'", "select 1 -- drop table x",
    "select 1 --drop table x", "select 1 /* drop table x */", "-- drop table x", "/* drop table x; */ select 1", "select \"drop\" from x", "update x set deleted = 1",
    "insert into drops values (1)", "select count(*) from x", "select replace(a, 'x', 'y') from t", "select truncate(1.5, 1)", "alter table x add column delete int",
    "create table x (a int, \"drop\" text)", "select 'it''s'", "select $1, ?", "grant select on x to y", "insert into t (delete, b) values (1, 2)",
    "psql -c 'select 1'", "echo 'drop table x'", "git commit -m 'drop table x'", "psql -f drop.sql", "grep 'delete from' log.sql", "cat drop_table.sql",
    "alter table x drop constraint c", "grant drop table to x", "create trigger t after delete on x", "psql -h $HOST -c 'select 1'", "psql \"$URL\" -c 'select 1'",
    "psql -f $FILE", "python -c \"print('drop table x')\"", "select '\ngo\n'", "select 1\ngo\nselect 2",
]  # fmt: skip
PROSE = [
    "Please drop the meeting, it's too late", "don't delete from the list", "I'd like to talk about SQL's DROP TABLE", "Tell Bob that she's here",
    "We can't truncate it", "Call Bob, he's late", "With love, I'm yours", "Update: it's done", "Show me what's new", "Create a summary of Bob's report", "Let's begin; it's time",
    "Set up John's desk", "1. drop table is a statement", "The statement 'DROP TABLE x' is dangerous", "it's", "\"quoted", "a /* b",
]  # fmt: skip


@pytest.mark.parametrize("text", SEEN + SEEN_TOO)
def test_a_statement_is_seen_however_it_is_spelt(text: str) -> None:
    """Comments, case, quoting, nesting, several statements and client programs hide nothing."""
    assert NO_LOSS.decide("any", {"q": text}, {}).decision == "ask"


@pytest.mark.parametrize("text", UNREADABLE)
def test_sql_that_cannot_be_read_counts_as_a_match(text: str) -> None:
    """An unclosed quote or comment in SQL is unknown, and a hard policy stops it."""
    verdict = NO_LOSS.decide("any", {"q": text}, {})

    assert (verdict.decision, "cannot be read as SQL" in verdict.policies[0].reason) == ("ask", True)


@pytest.mark.parametrize("text", HARMLESS)
def test_other_statements_pass(text: str) -> None:
    """Strings, comments, quoted names, columns and arguments of other programs are not statements."""
    assert NO_LOSS.decide("any", {"q": text}, {}).decision == "allow"


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_not_sql(text: str) -> None:
    """Text without a statement never matches, apostrophes and all."""
    assert NO_LOSS.decide("any", {"q": text}, {}).decision == "allow"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("delete from users", "ask"), ("DELETE FROM Public.Users u WHERE 1", "ask"), ('delete from "users"', "ask"), ("update audit_log set a=1", "ask"),
     ("update only users set a=1", "ask"), ("delete from orders using users where 1", "ask"), ("delete from orders", "allow"), ("select * from users", "allow"),
     ("update orders set a=(select b from x)", "allow"), ("delete users where a=1", "ask"), ("delete from `shop`.`users`", "ask")],
)  # fmt: skip
def test_tables_are_found_by_name(text: str, expected: str) -> None:
    """A table is known by its last name, whatever its schema, case and quotes."""
    assert NO_USERS.decide("any", {"q": text}, {}).decision == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("copy users to stdout", "ask"), ("describe users", "ask"), ("vacuum full users", "ask"), ("analyze verbose public.users", "ask"),
     ("drop view if exists users", "ask"), ("drop materialized view users", "ask"), ("grant select on users to ada", "ask"),
     ("revoke all on table users from ada", "ask"), ("create unique index i on users (a)", "ask"), ("create trigger t after insert on users", "ask"),
     ("drop trigger t on users", "ask"), ("copy (select 1) to stdout", "allow"), ("create view v as select a from b join c on users.a = c.a", "allow"),
     ("select * from (users)", "ask"), ("delete from(users)", "ask"), ("select * from (a join b), (users)", "ask"), ("select * from a cross apply users", "ask"),
     ("select * from a straight_join users", "ask"), ("select * from db..users", "ask"), ("lock users in share mode", "ask"), ("cluster users", "ask"),
     ("select * from a join b on a.i = b.i, users", "ask"), ("select * from (select 1) x, users", "ask"), ("select * from (users, a)", "ask"),
     ("select a, users from b", "allow"), ("select a from b where c in (1, users)", "allow"), ("select f(a, users) from b order by c, users", "allow"),
     ("select * from f(a, users)", "allow"), ("insert into a select b from c on conflict do update set d = 1, users = 2", "allow"),
     ("select a.. from b", "allow"), ("select * from (select 1) users", "allow"),
     ("select trigger from a join b on users.x = b.x", "allow"), ("explain select 1", "allow"), ("vacuum", "allow")],
)  # fmt: skip
def test_the_opening_of_a_statement_says_where_its_table_stands(text: str, expected: str) -> None:
    """Statements about tables name them in places of their own, and a condition of a join names none."""
    assert guard({"sql": {"table": "users"}}).decide("any", {"q": text}, {}).decision == expected


@pytest.mark.parametrize("text", ["shutdown", "SHUTDOWN WITH NOWAIT", "select 1; shutdown"])
def test_a_statement_that_a_shell_knows_too_is_seen(text: str) -> None:
    """A word may open a statement and be the name of a program."""
    assert guard({"sql": {"statement": "shutdown"}}).decide("any", {"q": text}, {}).decision == "ask"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("drop table x", "ask"),
        ("drop index x", "allow"),
        ("drop /* a */ table if exists x", "ask"),
        ("drop temporary table x", "ask"),
        ("drop temporary view x", "allow"),
    ],
)
def test_a_statement_may_be_several_words(text: str, expected: str) -> None:
    """``drop table`` asks for both words."""
    assert guard({"sql": {"statement": "drop table"}}).decide("any", {"q": text}, {}).decision == expected


@pytest.mark.parametrize(
    "value", [["select 1", "drop table x"], {"sql": "drop table x"}, ["psql", "-c", "drop table x"]]
)
def test_a_statement_is_seen_inside_lists_and_maps(value: object) -> None:
    """The shape of an argument hides nothing."""
    assert NO_LOSS.decide("any", {"q": value}, {}).decision == "ask"


def test_the_reason_names_statement_and_table() -> None:
    """A finding says which statement on which table decided."""
    verdict = NO_USERS.decide("any", {"q": "delete from users"}, {})

    assert (
        verdict.policies[0].reason
        == "args.q: sql statement delete in [delete, update], table users in [users, audit_*]"
    )


@pytest.mark.parametrize(
    "text",
    [
        "--a;" * 20000,
        "$a$" * 5001,
        "select " + "(" * 50000,
        "select '" + "\\'" * 20000,
        "a" * 300_000,
        "select " + "a" * 300_000,
    ],
)
def test_hostile_text_ends_in_a_decision(text: str) -> None:
    """Repetition and size cost little."""
    assert NO_LOSS.decide("any", {"q": text}, {}).decision in ("ask", "allow")


blanks = st.sampled_from([" ", "\n", "\t", "/**/", " /* x; */ ", "-- x\n", "  "])


@given(st.sampled_from(["drop table x", "delete from x", "truncate table x"]), st.data())
def test_blanks_and_case_never_hide_a_statement(statement: str, data: st.DataObject) -> None:
    """Any mixture of blanks, comments, case and statements before it leaves the statement seen."""
    before = data.draw(
        st.sampled_from(["", "select 1;", "select ';';", "/* ; */", "begin;", "insert into t values ('--');"])
    )
    words = [data.draw(st.sampled_from([word, word.upper(), word.title()])) for word in statement.split()]
    text = before + words[0] + "".join(data.draw(blanks) + word for word in words[1:])

    assert NO_LOSS.decide("any", {"q": text}, {}).decision == "ask"


@given(st.text(alphabet="drop tableDELTfm;'\"`-/*#$[]()\\\n", max_size=40))
def test_any_text_gets_a_decision(text: str) -> None:
    """No text makes the reader fail."""
    assert NO_LOSS.decide("any", {"q": text}, {}).decision in ("ask", "allow")


def test_the_tables_of_a_long_statement_are_found_in_one_pass() -> None:
    """However often a clause repeats, each token is looked at a bounded number of times."""

    class Counting(list):  # type: ignore[type-arg]
        """A list that counts how often it is asked for an element."""

        reads = 0

        def __getitem__(self, index: object) -> object:
            """Count and answer."""
            Counting.reads += 1
            return super().__getitem__(index)  # type: ignore[call-overload]

    reads = []
    for clauses in (100, 200):
        part = Counting(tokenize("select a from b, " * clauses, backslash=False).items)
        Counting.reads = 0
        assert set(_tables(part)) == {"b"}
        reads.append(Counting.reads)

    assert reads[1] <= 2.1 * reads[0]


def test_more_statements_inside_than_are_read_count_as_a_match() -> None:
    """What is beyond the limit is not let through unread."""
    text = "select " + "(select 1), " * 300 + "(delete from x)"

    assert NO_LOSS.decide("any", {"q": text}, {}).decision == "ask"


PIECES = [
    "drop table x", "delete from x", "drop", "table", "x", "delete", "from", " ", " ", ";", "'", '"', "`", "[", "]", "--", "/*", "*/", "\n", "\r", "#",
    "$$", "select 1", "with a as (select 1)", "begin", "commit", "end", "explain ", "E'", "\\'", "''", "(", ")", ",", "/*!", "-- a\n", "if exists ",
    "\t", "\ufeff", "values (1)", "create trigger t after insert on x begin ", "pragma foo", "update x set a=1", "{", "}", "go\n", "\\c a\n",
]  # fmt: skip


def test_what_sqlite_runs_the_guard_has_seen() -> None:
    """Of texts put together at random, the database loses nothing to one that the guard lets pass."""
    chance = random.Random(5)
    for _ in range(1500):
        text = "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 8))) + chance.choice(
            ["", ";drop table x"]
        )
        if NO_LOSS.decide("any", {"q": text}, {}).decision != "allow":
            continue
        database = sqlite3.connect(":memory:")
        database.executescript("create table x (a); insert into x values (0)")
        with contextlib.suppress(sqlite3.Error, sqlite3.Warning, ValueError):
            database.executescript(text)
        assert database.execute("select count(*) from x").fetchone()[0] > 0, text
        database.close()
