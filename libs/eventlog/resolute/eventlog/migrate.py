"""Schema migrations: versioned SQL files, applied in order, once, under a lock, all or none."""

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

# Replicas that start together wait for one another here; the number only has to be the same for all of them.
_LOCK = 7_265_736_111


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    sql: str

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
    Raises Refused when the data were written by a newer release, or by a file that has been edited since.
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
                f"INSERT INTO {schema}.migrations (number, name, checksum) VALUES ($1, $2, $3)",
                migration.number,
                migration.name,
                migration.checksum,
            )
    return missing


async def _applied(connection: asyncpg.Connection, schema: str) -> list[tuple[int, str, str]]:
    if await connection.fetchval("SELECT to_regclass($1)", f"{schema}.migrations") is None:
        await connection.execute(f"""
            CREATE SCHEMA IF NOT EXISTS {schema};
            CREATE TABLE {schema}.migrations (
                number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL,
                applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
            )""")
    rows = await connection.fetch(f"SELECT number, name, checksum FROM {schema}.migrations ORDER BY number")
    return [tuple(row) for row in rows]


def _check(schema: str, known: list[Migration], applied: list[tuple[int, str, str]]) -> None:
    if len(applied) > len(known):
        number, name, _ = applied[-1]
        newest = str(known[-1]) if known else "none"
        raise Refused(
            f"cannot use the data in Postgres schema {schema}: a newer release wrote them, with migration "
            f"{number:04}_{name}, and this one knows up to {newest}; install that release or a later one"
        )
    for migration, (number, name, checksum) in zip(known, applied, strict=False):
        if (number, name, checksum) != (migration.number, migration.name, migration.checksum):
            raise Refused(
                f"cannot use the data in Postgres schema {schema}: they were made with another {number:04}_{name} "
                f"than this release's {migration}; install the release that made them, or start with fresh data"
            )
