"""Blobs: model definitions, each stored once under the SHA-256 of its bytes.

A blob has up to 95 MiB. Beyond a few it is written and read in parts, so that neither the event loop nor the memory
of the gateway ever holds the whole of it.
"""

from __future__ import annotations

import asyncio
import base64
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import asyncpg
from aiohttp import web

from resolute.api.database import outages
from resolute.api.uploads import Packed
from resolute.config.context import digest
from resolute.proto.errors import NotFound

PART_BYTES = 3 * 2**18
"""Of what is read or written at once; a multiple of three, which base64 makes whole."""

PART = "SELECT substring(content FROM $2 FOR $3) FROM api.blobs WHERE sha256 = $1"


class Blobs:
    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def put(self, content: bytes) -> str:
        """Keep `content`, a small one, durably; its address."""
        address = digest(content)
        with outages():
            await self._pool.execute(
                "INSERT INTO api.blobs (sha256, size_bytes, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                address,
                len(content),
                content,
            )
        return address

    async def put_file(self, packed: Packed) -> str:
        """Keep what is in a file, durably; its address."""
        with outages():
            if await self._pool.fetchval("SELECT 1 FROM api.blobs WHERE sha256 = $1", packed.sha256):
                return packed.sha256
            try:
                await self._pool.copy_to_table(
                    "blobs",
                    schema_name="api",
                    columns=("sha256", "size_bytes", "content"),
                    format="binary",
                    source=_one_row(packed),
                    timeout=600,
                )
            except asyncpg.UniqueViolationError:
                return packed.sha256  # somebody stored the same meanwhile
        return packed.sha256

    async def size_bytes(self, address: str) -> int:
        with outages():
            size = await self._pool.fetchval("SELECT size_bytes FROM api.blobs WHERE sha256 = $1", address)
        if size is None:
            raise NotFound(f"no model definition is stored under {address}")
        return int(size)

    async def parts(self, address: str, size_bytes: int) -> AsyncIterator[bytes]:
        """The content in order, in parts of PART_BYTES."""
        for begin in range(0, size_bytes, PART_BYTES):
            with outages():
                part = await self._pool.fetchval(PART, address, begin + 1, PART_BYTES)
            if part is None:
                raise NotFound(f"no model definition is stored under {address} any more")
            yield part

    async def get(self, address: str) -> bytes:
        """All of it, for what has to look inside."""
        parts = [part async for part in self.parts(address, await self.size_bytes(address))]
        return await asyncio.to_thread(b"".join, parts)


@dataclass(frozen=True, slots=True)
class Content:
    """Something large to answer with: how long it is, and its parts, of PART_BYTES each but the last."""

    size_bytes: int
    parts: AsyncIterator[bytes]

    @classmethod
    async def stored(cls, blobs: Blobs, address: str) -> Content:
        size_bytes = await blobs.size_bytes(address)
        return cls(size_bytes, blobs.parts(address, size_bytes))

    @classmethod
    def of(cls, content: bytes) -> Content:
        return cls(len(content), _cut(content))

    async def answer(self, request: web.Request, headers: dict[str, str]) -> web.StreamResponse:
        """The content itself."""
        return await _answer(request, headers, self.size_bytes, self.parts)

    async def answer_in_base64(self, request: web.Request, begin: bytes, end: bytes) -> web.StreamResponse:
        """JSON, in which the content stands as base64 between `begin` and `end`."""

        async def parts() -> AsyncIterator[bytes]:
            yield begin
            async for part in self.parts:
                yield base64.b64encode(part)
            yield end

        size_bytes = len(begin) + (self.size_bytes + 2) // 3 * 4 + len(end)
        return await _answer(request, {"Content-Type": "application/json"}, size_bytes, parts())


async def _answer(
    request: web.Request, headers: dict[str, str], size_bytes: int, parts: AsyncIterator[bytes]
) -> web.StreamResponse:
    response = web.StreamResponse(headers=headers)
    response.content_length = size_bytes
    await response.prepare(request)
    async for part in parts:
        await response.write(part)
    await response.write_eof()
    return response


async def _cut(content: bytes) -> AsyncIterator[bytes]:
    for begin in range(0, len(content), PART_BYTES):
        yield content[begin : begin + PART_BYTES]


async def _one_row(packed: Packed) -> AsyncIterator[bytes]:
    """The row in PostgreSQL's binary COPY format (its manual, under COPY, "Binary Format")."""
    address = packed.sha256.encode()
    yield b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
    yield struct.pack(f"!hi{len(address)}siqi", 3, len(address), address, 8, packed.size_bytes, packed.size_bytes)
    with await asyncio.to_thread(Path.open, packed.archive, "rb") as file:
        while part := await asyncio.to_thread(file.read, PART_BYTES):
            yield part
    yield struct.pack("!h", -1)
