"""Schema migrations: versioned SQL files, applied in order, once, under a lock, all or none.

During a rolling upgrade processes of two releases work on one database. A migration is therefore *additive*: it adds
tables, columns with a default, indexes or functions, and takes away and renames nothing, so that the older release
goes on working. A release finds additive migrations of a newer one and starts all the same. A migration that the
older release cannot work with has `-- breaking` as its first line; then the older release refuses to start.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import asyncpg

from resolute.proto.errors import Refused

_FILE = re.compile(r"(\d{4})_(\w+)\.sql")
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]*")

# Replicas that start together take this lock one after another; the number has to be the same for all of them.
_LOCK = 7_265_736_111


BREAKING = "-- breaking"

KNOWN_TO_ALL = {"eventlog": 2, "api": 1, "measures": 1}
"""By schema: up to here the first releases know each migration, and look for it in `<schema>.migrations`. Those
releases refuse to start when they find a further one there; additive migrations are noted in `<schema>.additions`."""


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str

    @property
    def additive(self) -> bool:
        """Whether a release that does not know this migration can work with its outcome."""
        return not self.sql.startswith(BREAKING)

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.number:04}_{self.name}"


def migrations_in(source: str | Path | Traversable) -> list[Migration]:
    """The migrations of a folder, or of a package's `migrations` folder given the package's name, in order."""
    folder = resources.files(source) / "migrations" if isinstance(source, str) else source
    found = []
    for file in folder.iterdir():
        if match := _FILE.fullmatch(file.name):
            found.append(Migration(int(match[1]), match[2], file.read_text(encoding="utf-8")))
    found.sort(key=lambda migration: migration.number)
    assert [m.number for m in found] == list(range(1, len(found) + 1)), f"migrations should be 1, 2, 3 …: {found}"
    return found


async def migrate(connection: asyncpg.Connection, source: str | Path | Traversable, schema: str) -> list[Migration]:
    """Bring the Postgres schema `schema` up to date; answers what was applied now.

    `source` is a package with a folder `migrations`, or the folder itself, holding `0001_name.sql`, `0002_…`. The
    files name their tables in full (`eventlog.events`). What was applied is kept in `<schema>.migrations`.
    Raises Refused when a newer release has made a breaking change, or when a file has been edited since.
    """
    assert _IDENTIFIER.fullmatch(schema), f"not a plain schema name: {schema!r}"
    known = migrations_in(source)
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        applied = await _applied(connection, schema)
        _check(schema, known, applied)
        missing = known[len(applied) :]
        for migration in missing:
            await connection.execute(migration.sql)
            await connection.execute(
                f"INSERT INTO {schema}.{_kept_in(schema, migration)} (number, name, checksum) VALUES ($1, $2, $3)",
                migration.number,
                migration.name,
                migration.checksum,
            )
    return missing


def _kept_in(schema: str, migration: Migration) -> str:
    """The table that notes the migration: releases that do not know it refuse what they find in `migrations`."""
    known_to_all = migration.number <= KNOWN_TO_ALL.get(schema, 0)
    return "migrations" if known_to_all or not migration.additive else "additions"


Applied = tuple[int, str, str, bool]
"""Number, name, checksum, and whether a release that does not know the migration may go on."""


async def _applied(connection: asyncpg.Connection, schema: str) -> list[Applied]:
    if await connection.fetchval("SELECT to_regclass($1)", f"{schema}.additions") is None:
        columns = """(number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT clock_timestamp())"""
        await connection.execute(f"""
            CREATE SCHEMA IF NOT EXISTS {schema};
            CREATE TABLE IF NOT EXISTS {schema}.migrations {columns};
            CREATE TABLE {schema}.additions {columns};""")
    rows = await connection.fetch(f"""
        SELECT number, name, checksum, false AS additive FROM {schema}.migrations
        UNION ALL SELECT number, name, checksum, true FROM {schema}.additions ORDER BY number""")
    return [tuple(row) for row in rows]


def _check(schema: str, known: list[Migration], applied: list[Applied]) -> None:
    for number, name, _, additive in applied[len(known) :]:
        if not additive:
            newest = str(known[-1]) if known else "none"
            raise Refused(
                f"cannot use the data in Postgres schema {schema}: a newer release wrote them, with migration "
                f"{number:04}_{name}, and this one knows up to {newest}; install that release or a later one"
            )
    for migration, (number, name, checksum, _) in zip(known, applied, strict=False):
        if (number, name, checksum) != (migration.number, migration.name, migration.checksum):
            raise Refused(
                f"cannot use the data in Postgres schema {schema}: they were made with another {number:04}_{name} "
                f"than this release's {migration}; install the release that made them, or start with fresh data"
            )
