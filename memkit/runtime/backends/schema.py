"""The tables of an archive in PostgreSQL, by version, and the permissions on them.

Every key begins with the user, so that the tables can be distributed by it; lines are added and, by an erasure,
deleted, but never changed. The serving role owns nothing, and sees the user whose id is in the setting
``memkit.user_id``, plus what is shared. ``memkit.listing`` shows the ends of all users' chains, and no line.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from .interface import BackendUnfit, WrongAddress

if TYPE_CHECKING:
    import psycopg

VERSION = 2
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
STEPS: dict[int, list[str]] = {1: _TABLES, 2: []}
"""The steps from each version to the next. Version 2 may have vectors, which an erasure covers."""
_VECTORS = [
    f"""CREATE TABLE {SCHEMA}.vectors(
        user_id text COLLATE "C", model text COLLATE "C", id text COLLATE "C", shared boolean NOT NULL,
        vector vector NOT NULL, PRIMARY KEY(user_id, model, id)) PARTITION BY HASH(user_id)""",
    *(
        f"CREATE TABLE {SCHEMA}.vectors_{part} PARTITION OF {SCHEMA}.vectors "
        f"FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {part})"
        for part in range(PARTITIONS)
    ),
    f"ALTER TABLE {SCHEMA}.vectors ENABLE ROW LEVEL SECURITY",
    f"ALTER TABLE {SCHEMA}.vectors FORCE ROW LEVEL SECURITY",
    f"""CREATE POLICY of_one_user ON {SCHEMA}.vectors USING (user_id = {_OWN} OR (shared AND {_OWN} IS NOT NULL))
        WITH CHECK (user_id = {_OWN})""",
]
MANY, WIDEST = 50_000, 2_000
"""Users with more records get a nearest-neighbour index; it cannot hold longer vectors."""
_RIGHTS = {
    "lines": ("SELECT", "INSERT", "DELETE"),
    "chains": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "changes": ("SELECT", "INSERT", "UPDATE", "DELETE"),
    "store": ("SELECT", "UPDATE"),
    "vectors": ("SELECT", "INSERT", "DELETE"),
}
"""What the serving role needs on each table; there may be no vectors."""


def version_of(connection: psycopg.Connection[Any]) -> int:
    """Return the version of the tables in a database; 0 if there are none.

    Raises:
        BackendUnfit: A schema of that name belongs to something else.
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
    """Raise ``BackendUnfit`` if the tables are not those of this version."""
    if found > VERSION:
        raise BackendUnfit(f"The tables have version {found}, but this memkit reads {VERSION}. Upgrade memkit-agent.")
    if found < VERSION:
        older = f"The tables have version {found}, but this memkit needs {VERSION}. Their owner updates them"
        what = older if found else "The database has no memkit tables. Their owner creates them"
        raise BackendUnfit(f"{what}: memkit backend migrate --url OWNER_URL --role ROLE.")


def migrate(connection: psycopg.Connection[Any], role: str, *, dry_run: bool = False) -> list[str]:
    """Migrate the tables to this version and let ``role`` serve them, atomically; return the statements.

    Raises:
        WrongAddress: The role does not exist, or row-level security does not apply to it.
        BackendUnfit: The tables are of a newer version, or belong to something else.
    """
    from psycopg import sql

    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('memkit: migrate'))")
        before = version_of(connection)
        if before > VERSION:
            require_version(before)
        encoding = connection.info.parameter_status("server_encoding")
        if encoding not in ("UTF8", "SQL_ASCII"):
            raise BackendUnfit(f"This database cannot hold every text: its encoding is {encoding}. Use one with UTF8.")
        _require_servant(connection, role)
        steps = [statement for version in range(before + 1, VERSION + 1) for statement in STEPS[version]]
        steps += [f"UPDATE {SCHEMA}.store SET version = {VERSION}"] if before < VERSION else []
        more = _vector_steps(connection)
        steps += more
        tables = [table for table in _RIGHTS if table != "vectors" or more or has_vectors(connection)]
        rights = (
            f"USAGE ON SCHEMA {SCHEMA}",
            *(f"{', '.join(_RIGHTS[table])} ON {SCHEMA}.{table}" for table in tables),
        )
        granted = [sql.SQL(f"GRANT {what} TO {{}}").format(sql.Identifier(role)) for what in rights]
        if not dry_run:
            for statement in steps:
                connection.execute(statement)
            for grant in granted:
                connection.execute(grant)
    return [re.sub(r"\s+", " ", text) for text in (*steps, *(grant.as_string(connection) for grant in granted))]


def has_vectors(connection: psycopg.Connection[Any]) -> bool:
    """Return whether vectors are stored next to the lines."""
    row = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.vectors",)).fetchone()
    return bool(row and row[0])


def neighbours_of(model: str) -> str:
    """Return the name of the nearest-neighbour index for the vectors of a model."""
    return f"neighbours_{blake2b(model.encode(), digest_size=8).hexdigest()}"


def _vector_steps(connection: psycopg.Connection[Any]) -> list[str]:
    """Return the statements that add vectors and their indexes for users with many; empty without pgvector.

    An index covers all users: a separate index for one user would show that user's name in its condition.
    """
    if not has_vectors(connection):
        query = """SELECT installed, superuser AND NOT rolsuper AND NOT (
                       trusted AND has_database_privilege(current_database(), 'CREATE'))
                   FROM pg_available_extension_versions, pg_roles WHERE name = 'vector' AND rolname = current_user
                   ORDER BY installed DESC LIMIT 1"""
        row = connection.execute(query).fetchone()
        if row is None or not (row[0] or not row[1]):
            return []
        return [*([] if row[0] else ["CREATE EXTENSION vector"]), *_VECTORS]
    steps: dict[str, str] = {}
    connection.execute("SELECT set_config(%s, 'on', true)", (LISTING,))
    many = f"SELECT user_id FROM {SCHEMA}.chains GROUP BY user_id HAVING sum(records) > {MANY}"
    for (user,) in connection.execute(many).fetchall():
        connection.execute("SELECT set_config(%s, %s, true)", (SETTING, user))
        query = f"SELECT model, max(vector_dims(vector)) FROM {SCHEMA}.vectors WHERE user_id = %s GROUP BY model"
        for model, width in connection.execute(query, (user,)).fetchall():
            name, shown = neighbours_of(model), model.replace("'", "''")
            known = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{SCHEMA}.{name}",)).fetchone()
            if width <= WIDEST and not (known and known[0]):
                steps[name] = (
                    f"CREATE INDEX {name} ON {SCHEMA}.vectors USING hnsw ((vector::vector({width})) vector_cosine_ops) "
                    f"WHERE model = '{shown}'"
                )
    return list(steps.values())


def _require_servant(connection: psycopg.Connection[Any], role: str) -> None:
    query = "SELECT rolsuper OR rolbypassrls, rolname = current_user FROM pg_roles WHERE rolname = %s"
    row = connection.execute(query, (role,)).fetchone()
    if row is None:
        raise WrongAddress(f"There is no role {role!r:.60} on that server: create it with CREATE ROLE … LOGIN.")
    if why := _unfit(*row):
        raise WrongAddress(f"The role {role!r:.60} must not serve: {why}. Name one with only LOGIN.")


def served_by(connection: psycopg.Connection[Any]) -> str:
    """Return what is wrong with the serving role, for the person who chose it; empty if nothing is.

    Such a role serves nevertheless, and memkit queries one user at a time with it; only the server no longer enforces
    that.
    """
    query = """SELECT rolname, rolsuper OR rolbypassrls, relowner = pg_roles.oid FROM pg_roles, pg_class
               WHERE rolname = current_user AND pg_class.oid = to_regclass(%s)"""
    role, *rights = connection.execute(query, (f"{SCHEMA}.store",)).fetchone() or ("", False, False)
    why = _unfit(*rights)
    return why and (
        f"The role {role!r:.60} should not serve: {why}. Use one with only LOGIN: memkit backend migrate --url "
        "OWNER_URL --role ROLE, then name ROLE in backends.archive."
    )


def rights_missing(connection: psycopg.Connection[Any]) -> list[str]:
    """Return what the serving role was not granted, such as ``INSERT ON memkit.lines``."""
    wanted = [(right, f"{SCHEMA}.{table}") for table, rights in _RIGHTS.items() for right in rights]
    query = """SELECT granted, name FROM unnest(%s::text[], %s::text[]) AS wanted(granted, name)
               WHERE to_regclass(name) IS NOT NULL AND NOT has_table_privilege(to_regclass(name), granted)"""
    rows = connection.execute(query, [list(column) for column in zip(*wanted, strict=True)])
    return [f"{right} ON {table}" for right, table in rows]


def _unfit(unheld: bool, owns: bool) -> str:
    return "it bypasses row-level security" if unheld else "it owns the tables" if owns else ""
