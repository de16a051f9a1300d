"""`resolute secrets show | rotate | forget`: the keys that protect the secrets of configurations, for whoever runs the
cluster. The commands work on the database and on the file of the wrapping keys; gateways may be running meanwhile. What
they change is a fact in the log, written in the transaction that changes it."""

from __future__ import annotations

import asyncio
import getpass
import os
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import asyncpg
import orjson

from resolute.api.vault import ALONE, unwrapped, wrapped
from resolute.api.wrapping import Keyring, WrappingKey
from resolute.config import secrets_of
from resolute.eventlog.in_transaction import append_within
from resolute.proto import streams
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.message import Cause
from resolute.proto.secrets import SecretsEvent, SecretsForgotten, WrappingKeyRotated
from resolute.service.sealing import SEALED, key_of

Say = Callable[[str], None]

CONFIGS = """SELECT stream, data::text AS data FROM eventlog.events
WHERE type IN ('ExperimentCreated', 'ExperimentContinued') ORDER BY position"""

OF_STREAM = """SELECT data::text AS data FROM eventlog.events
WHERE stream = $1 AND type IN ('ExperimentCreated', 'ExperimentContinued')"""

FORGET = """UPDATE api.data_keys SET wrapped = NULL, wrapped_by = NULL, forgotten_at = now()
WHERE (key_id = ANY($1::text[]) OR owner_id = $2) AND wrapped IS NOT NULL"""


def show(dsn: str, *, say: Say = print) -> int:
    """Print how many keys there are and by what they are wrapped, and which experiments' secrets stand in the log as
    plain text, from before there was sealing."""

    async def run(database: asyncpg.Connection) -> int:
        for row in await database.fetch("SELECT wrapped_by, count(*) FROM api.data_keys GROUP BY 1 ORDER BY 1"):
            say(f"{row['count']} keys {'wrapped by ' + row['wrapped_by'] if row['wrapped_by'] else 'forgotten'}")
        plain = await _plain(database)
        if plain:
            say(
                f"as plain text in the log, which is never changed: the secrets of {', '.join(plain)}. Replace these "
                "passwords and tokens where they are valid; nothing here can make them unreadable"
            )
        return 0

    return _with(dsn, run)


def rotate(dsn: str, file: Path | None, cluster_secret: bytes, *, say: Say = print) -> int:
    """Make a new wrapping key, wrap every data key by it, and drop the former ones.

    `cluster_secret` opens what was wrapped before there was a file."""

    if file is None or not file.exists():
        raise InvalidConfig(
            f"sealing_keys: there is no file of wrapping keys{f' at {file}' if file else ''}: set "
            "RESOLUTE_API_SEALING_KEYS for the gateways, start one, and name the file here with --keys"
        )
    keyring = Keyring(file, cluster_secret)

    async def run(database: asyncpg.Connection) -> int:
        fresh, former = WrappingKey.fresh(), keyring.keys()
        keyring.put([fresh, *former])
        count = await _wrap_all(database, keyring, fresh, former)
        keyring.put([fresh])
        say(f"{count} keys are wrapped by {fresh.id} now; {', '.join(key.id for key in former)} opens nothing any more")
        return 0

    return _with(dsn, run)


def forget(dsn: str, name: str, *, say: Say = print) -> int:
    """Drop the keys of `experiment-7`, or of everything that `user-2` owns. Raises NotFound where there are none."""

    async def run(database: asyncpg.Connection) -> int:
        kind, number = streams.category_of(name), streams.key_of(name)
        if kind not in (streams.EXPERIMENT.name, streams.USER.name) or not number.isdigit():
            raise InvalidConfig(f"{name}: expected experiment-NUMBER or user-NUMBER")
        keys = await _keys_of(database, name) if kind == streams.EXPERIMENT.name else []
        async with database.transaction():
            await database.execute(ALONE)
            status = await database.execute(FORGET, keys, int(number) if kind == streams.USER.name else None)
            count = int(status.rpartition(" ")[2])
            if not count:
                raise NotFound(
                    f"{name}: no key that protects a secret of it; `resolute secrets show` tells what there is"
                )
            await _tell(database, SecretsForgotten(name, count))
        say(
            f"{count} keys forgotten: trials of {name} cannot start any more, and everything else about it stays "
            "readable. Backups of the database still hold the keys, wrapped: `resolute secrets rotate`, and destroying "
            "the former file of wrapping keys, makes those useless too"
        )
        return 0

    return _with(dsn, run)


async def _wrap_all(
    database: asyncpg.Connection, keyring: Keyring, by: WrappingKey, former: Sequence[WrappingKey]
) -> int:
    """Alone: a gateway that wraps a key meanwhile waits, and then finds the new wrapping key in the file."""
    async with database.transaction():
        await database.execute(ALONE)
        rows = await database.fetch("SELECT * FROM api.data_keys WHERE wrapped IS NOT NULL")
        anew = [(wrapped(unwrapped(row, keyring), row["owner_id"], by), by.id, row["key_id"]) for row in rows]
        await database.executemany("UPDATE api.data_keys SET wrapped = $1, wrapped_by = $2 WHERE key_id = $3", anew)
        await _tell(database, WrappingKeyRotated(by.id, tuple(key.id for key in former), len(rows)))
    return len(rows)


async def _tell(database: asyncpg.Connection, fact: SecretsEvent) -> None:
    """Within the transaction that makes it a fact. The lock that it holds lets one command at a time come here."""
    request = f"req-{uuid.uuid4()}"
    cause = Cause(request, _operator(), request)
    await append_within(database, streams.SECRETS_OF_CLUSTER, [fact], cause, service=streams.Service.API)


def _operator() -> str:
    """The actor that the event names. A command that works on the database itself has no signed-in user, so it is the
    account on this host that typed the command."""
    try:
        name = os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        name = str(os.geteuid())
    return f"{name} of the host"


async def _keys_of(database: asyncpg.Connection, stream: str) -> list[str]:
    rows = await database.fetch(OF_STREAM, stream)
    return sorted({found["key"] for row in rows for found in SEALED.finditer(row["data"])})


async def _plain(database: asyncpg.Connection) -> Sequence[str]:
    found: dict[str, None] = {}
    async with database.transaction():
        async for row in database.cursor(CONFIGS):
            config = orjson.loads(row["data"]).get("config") or {}
            if any(key_of(value) is None for _, value in secrets_of(config)):
                found[row["stream"]] = None
    return list(found)


def _with(dsn: str, work: Callable[[asyncpg.Connection], Awaitable[int]]) -> int:
    async def run() -> int:
        database = await asyncpg.connect(dsn)
        try:
            return await work(database)
        except asyncpg.UndefinedTableError as error:
            raise InvalidConfig("the database holds no keys: was a gateway of this release ever started?") from error
        finally:
            await database.close()

    return asyncio.run(run())
