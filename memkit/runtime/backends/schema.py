"""The tables of an archive in PostgreSQL, by version, and who may do what with them.

Every key begins with the user, so that the tables can be distributed by it; lines are added and, by an erasure, taken
away, and never changed. The role that serves owns nothing, and sees the user whose id the setting ``memkit.user_id``
holds, with what everybody shares. ``memkit.listing`` shows how far the chains of all users are, and no line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .interface import BackendUnfit, WrongAddress

if TYPE_CHECKING:
    import psycopg

VERSION = 1
PARTITIONS = 16
SCHEMA = "memkit"
SETTING, LISTING = "memkit.user_id", "memkit.listing"
_OWN = f"nullif(current_setting('{SETTING}', true), '')"
_LISTS = f"coalesce(current_setting('{LISTING}', true), '') = 'on'"

_TABLES = [
    f"CREATE SCHEMA {SCHEMA}",
    f"""CREATE TABLE {SCHEMA}.store(
        version int NOT NULL, name text NOT NULL DEFAULT '', moved_to text NOT NULL DEFAULT '')""",
    f"INSERT INTO {SCHEMA}.store(version) VALUES(0)",
    f"""CREATE TABLE {SCHEMA}.lines(
        user_id text COLLATE "C", writer text COLLATE "C", position bigint, id text COLLATE "C" NOT NULL,
        shared boolean NOT NULL, line text NOT NULL, PRIMARY KEY(user_id, writer, position))
        PARTITION BY HASH(user_id)""",
    f"""CREATE TABLE {SCHEMA}.chains(
        user_id text COLLATE "C", writer text COLLATE "C", shared boolean NOT NULL, bytes bigint NOT NULL,
        lines bigint NOT NULL, records bigint NOT NULL, tip text NOT NULL, epoch bigint NOT NULL,
        PRIMARY KEY(user_id, writer))
        PARTITION BY HASH(user_id)""",
    f"""CREATE TABLE {SCHEMA}.changes(
        user_id text COLLATE "C", version bigint NOT NULL, PRIMARY KEY(user_id)) PARTITION BY HASH(user_id)""",
    *(
        f"CREATE TABLE {SCHEMA}.{table}_{part} PARTITION OF {SCHEMA}.{table} "
        f"FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {part})"
        for table in ("lines", "chains", "changes")
        for part in range(PARTITIONS)
    ),
    f"CREATE INDEX shared_chains ON {SCHEMA}.chains(user_id) WHERE shared",
    *(
        f"ALTER TABLE {SCHEMA}.{table} {how} ROW LEVEL SECURITY"
        for table in ("lines", "chains", "changes")
        for how in ("ENABLE", "FORCE")
    ),
    f"""CREATE POLICY of_one_user ON {SCHEMA}.lines USING (user_id = {_OWN} OR (shared AND {_OWN} IS NOT NULL))
        WITH CHECK (user_id = {_OWN})""",
    f"""CREATE POLICY of_one_user ON {SCHEMA}.chains
        USING (user_id = {_OWN} OR (shared AND {_OWN} IS NOT NULL) OR {_LISTS}) WITH CHECK (user_id = {_OWN})""",
    f"""CREATE POLICY of_one_user ON {SCHEMA}.changes
        USING (user_id = {_OWN} OR (user_id = '' AND {_OWN} IS NOT NULL) OR {_LISTS})
        WITH CHECK (user_id IN ({_OWN}, '') AND {_OWN} IS NOT NULL)""",
]
STEPS: dict[int, list[str]] = {1: _TABLES}
"""What brings the tables to each version, from the one before."""
_GRANTS = (
    "USAGE ON SCHEMA memkit",
    "SELECT, INSERT, DELETE ON memkit.lines",
    "SELECT, INSERT, UPDATE, DELETE ON memkit.chains",
    "SELECT, INSERT, UPDATE, DELETE ON memkit.changes",
    "SELECT, UPDATE ON memkit.store",
)


def version_of(connection: psycopg.Connection[Any]) -> int:
    """Return the version of the tables in a database; 0 where there are none.

    Raises:
        BackendUnfit: A schema of that name is somebody else's.
    """
    there = connection.execute(
        "SELECT to_regnamespace(%s) IS NOT NULL, to_regclass(%s) IS NOT NULL", (SCHEMA, f"{SCHEMA}.store")
    ).fetchone()
    assert there is not None
    if not there[1]:
        if there[0]:
            raise BackendUnfit(f"The schema {SCHEMA} in this database is another application's: it has no table store.")
        return 0
    row = connection.execute(f"SELECT version FROM {SCHEMA}.store").fetchone()
    return int(row[0]) if row else 0


def require_version(found: int) -> None:
    """Raise ``BackendUnfit`` where the tables are not those of this version."""
    if found > VERSION:
        raise BackendUnfit(f"The tables have version {found}, and this memkit reads {VERSION}. Upgrade memkit-agent.")
    if found < VERSION:
        what = f"The tables have version {found}" if found else "The database has no tables of memkit's"
        raise BackendUnfit(f"{what}. Their owner makes them: memkit backend migrate --url OWNER_URL --role ROLE.")


def migrate(connection: psycopg.Connection[Any], role: str, *, dry_run: bool = False) -> list[str]:
    """Bring the tables to this version and let ``role`` serve them, all or nothing; return what is run.

    Raises:
        WrongAddress: There is no such role, or it is one that row-level security does not hold.
        BackendUnfit: The tables are a newer version's, or somebody else's.
    """
    from psycopg import sql

    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('memkit: migrate'))")
        before = version_of(connection)
        if before > VERSION:
            require_version(before)
        _require_servant(connection, role)
        steps = [statement for version in range(before + 1, VERSION + 1) for statement in STEPS[version]]
        steps += [f"UPDATE {SCHEMA}.store SET version = {VERSION}"] if steps else []
        granted = [sql.SQL(f"GRANT {what} TO {{}}").format(sql.Identifier(role)) for what in _GRANTS]
        if not dry_run:
            for statement in steps:
                connection.execute(statement)
            for grant in granted:
                connection.execute(grant)
    return [re.sub(r"\s+", " ", text) for text in (*steps, *(grant.as_string(connection) for grant in granted))]


def _require_servant(connection: psycopg.Connection[Any], role: str) -> None:
    row = connection.execute(
        "SELECT rolsuper OR rolbypassrls, rolname = current_user FROM pg_roles WHERE rolname = %s", (role,)
    ).fetchone()
    if row is None:
        raise WrongAddress(f"There is no role {role!r:.60} on that server: CREATE ROLE … LOGIN makes one.")
    if row[0] or row[1]:
        why = "row-level security does not hold it" if row[0] else "it is the owner"
        raise WrongAddress(f"The role {role!r:.60} must not serve: {why}. Name one with LOGIN and nothing else.")
