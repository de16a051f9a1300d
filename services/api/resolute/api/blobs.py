"""Blobs: model definitions, each stored once under the SHA-256 of its bytes."""

from __future__ import annotations

import asyncpg

from resolute.api.database import outages
from resolute.config.context import digest
from resolute.proto.errors import NotFound


class Blobs:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def put(self, content: bytes) -> str:
        """Keep `content`, durably; its address."""
        address = digest(content)
        with outages():
            await self._pool.execute(
                "INSERT INTO api.blobs (sha256, size_bytes, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                address,
                len(content),
                content,
            )
        return address

    async def get(self, address: str) -> bytes:
        with outages():
            content = await self._pool.fetchval("SELECT content FROM api.blobs WHERE sha256 = $1", address)
        if content is None:
            raise NotFound(f"no model definition is stored under {address}")
        return bytes(content)
