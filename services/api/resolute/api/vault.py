"""Sealing the secrets of configurations, and opening them for whoever may have them.

A submission gets a data key of its own, so that the secrets of one experiment can be forgotten by dropping one key. The
gateway seals before anything leaves it: the bus, the log and the read model carry sealed values only.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from resolute.api.database import outages
from resolute.api.wrapping import Keyring, WrappingKey
from resolute.config import MASK, VARIABLES_NAME, changed, changed_yaml, secrets_of
from resolute.proto.errors import Failed, InvalidConfig, ResoluteError, Unavailable
from resolute.service.sealing import SEALED, DataKey, decrypt, encrypt, key_of, seal, unseal

TURNS = 0x7365_616C  # "seal": held shared while a key is wrapped, and alone while all are wrapped anew
SHARED, ALONE = f"SELECT pg_advisory_xact_lock_shared({TURNS})", f"SELECT pg_advisory_xact_lock({TURNS})"

KEEP = "INSERT INTO api.data_keys (key_id, owner_id, wrapped_by, wrapped) VALUES ($1, $2, $3, $4)"

FORGET = """UPDATE api.data_keys SET wrapped = NULL, wrapped_by = NULL, forgotten_at = now()
WHERE key_id = ANY($1::text[]) AND wrapped IS NOT NULL"""

FIND = "SELECT key_id, owner_id, wrapped_by, wrapped FROM api.data_keys WHERE key_id = ANY($1::text[])"


@dataclass(frozen=True, slots=True)
class Keys:
    """The data keys of some sealed values."""

    known: Mapping[str, DataKey] = field(default_factory=dict)
    forgotten: frozenset[str] = frozenset()

    def opened(self, place: str, value: Any) -> Any:
        """What stands behind `value`; a value that is not sealed itself; the mask where its key was forgotten."""
        key_id = key_of(value)
        if key_id is None:
            return value
        return unseal(self.known[key_id], place, value) if key_id in self.known else MASK


@dataclass(slots=True)
class Sealer:
    """Seals under one key, and makes the same of the same. `before` are the secrets that a mask stands for."""

    key: DataKey
    before: Mapping[str, Any] = field(default_factory=dict)
    made: dict[tuple[str, str], str] = field(default_factory=dict)

    def __call__(self, place: str, value: Any) -> str:
        """Raises InvalidConfig for a mask that stands for nothing."""
        if value == MASK:
            if place not in self.before:
                raise InvalidConfig(
                    f"{place}: found {MASK}, which is shown in the place of a secret; write the secret itself, or "
                    "leave it out"
                )
            value = self.before[place]
        if (place, repr(value)) not in self.made:
            self.made[place, repr(value)] = seal(self.key, place, value)
        return self.made[place, repr(value)]


class Vault:
    def __init__(self, pool: asyncpg.Pool, keyring: Keyring) -> None:
        self._pool, self.keyring = pool, keyring

    async def fresh_key(self, owner_id: int) -> DataKey:
        """A data key that is kept. The wrapping key is read under a lock, so that a rotation misses no data key."""
        key = DataKey.fresh()
        with outages():
            async with self._pool.acquire() as connection, connection.transaction():
                await connection.execute(SHARED)
                by = self.keyring.current()
                await connection.execute(KEEP, key.id, owner_id, by.id, wrapped(key, owner_id, by))
        return key

    async def forget(self, key_ids: Sequence[str]) -> None:
        """Drop keys for good: what is sealed under them is never opened again."""
        if key_ids:
            with outages():
                await self._pool.execute(FORGET, key_ids)

    async def forget_replaced(self, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
        """Drop the keys of what was sealed in the configuration `before`, but for those that `now` has."""
        await self.forget(sorted(_key_ids(before) - _key_ids(now)))

    @asynccontextmanager
    async def unless_refused(self, sealed: Sealed) -> AsyncIterator[None]:
        """While somebody decides on `sealed`: a key of what is refused is of no use to anybody."""
        try:
            yield
        except (Unavailable, Failed):
            raise  # it may have been written
        except ResoluteError:
            if sealed.key_id is not None:
                with outages():
                    await self._pool.execute("DELETE FROM api.data_keys WHERE key_id = $1", sealed.key_id)
            raise

    async def keys(self, values: Iterable[Any]) -> Keys:
        """The data keys of those of `values` that are sealed. Raises Unavailable where a wrapping key is missing."""
        return await self._keys({key_id for value in values if (key_id := key_of(value)) is not None})

    async def keys_in(self, text: str) -> Keys:
        """The data keys of all sealed values in `text`."""
        return await self._keys({found["key"] for found in SEALED.finditer(text)})

    async def _keys(self, ids: Set[str]) -> Keys:
        wanted = sorted(ids)
        if not wanted:
            return Keys()
        with outages():
            rows = await self._pool.fetch(FIND, wanted)
        known = {row["key_id"]: unwrapped(row, self.keyring) for row in rows if row["wrapped"] is not None}
        return Keys(known, frozenset(wanted) - known.keys())

    async def sealed(self, config: Mapping[str, Any], text: str, owner_id: int, before: Mapping[str, Any]) -> Sealed:
        """A submission as it may be written down: its configuration, and the text that it came as.

        `before`: the secrets, by place, that masks in it stand for. Raises InvalidConfig for other masks.
        """
        if not secrets_of(config):
            return Sealed(dict(config), text, None)
        sealer = Sealer(await self.fresh_key(owner_id), before)
        sealed = changed(config, sealer)
        return Sealed(sealed, await asyncio.to_thread(changed_yaml, text, sealer), sealer.key.id)

    async def opened(self, config: Mapping[str, Any]) -> tuple[dict[str, Any], Keys]:
        """The configuration with its secrets, as far as they were not forgotten; and the keys, which say that."""
        keys = await self.keys(value for _, value in secrets_of(config))
        return changed(config, keys.opened), keys


class Shut(Vault):
    """Opens nothing: every secret is masked, as if its key had been forgotten."""

    async def _keys(self, ids: Set[str]) -> Keys:
        return Keys({}, frozenset(ids))


@dataclass(frozen=True, slots=True)
class Sealed:
    config: dict[str, Any]
    text: str
    key_id: str | None
    """Of the key that it is sealed under; None where it holds no secret."""


def _key_ids(config: Mapping[str, Any]) -> set[str]:
    return {key_id for _, value in secrets_of(config) if (key_id := key_of(value)) is not None}


def only_variables(change: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """`change` for environment variables; every other secret is masked."""
    return lambda place, value: change(place, value) if place.startswith(f"{VARIABLES_NAME}.") else MASK


def wrapped(key: DataKey, owner_id: int, by: WrappingKey) -> bytes:
    return encrypt(by.secret, key.secret, f"{key.id} of {owner_id}")


def unwrapped(row: asyncpg.Record, keyring: Keyring) -> DataKey:
    by = keyring.named(row["wrapped_by"])
    if by is None:
        raise Unavailable(
            f"the wrapping key {row['wrapped_by']} is not in {keyring.file or 'use'}: no secret that it protects can "
            "be opened; put back the file that holds it"
        )
    return DataKey(row["key_id"], decrypt(by.secret, bytes(row["wrapped"]), f"{row['key_id']} of {row['owner_id']}"))
