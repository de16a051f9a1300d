"""Checkpoints as one file, streamed from their storage: of the file, only a chunk is in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from aiohttp import web

from resolute.api import wire
from resolute.api.call import Call
from resolute.api.checkpoints.messages import DownloadCheckpoint
from resolute.api.checkpoints.queries import QUERIES, StoredRow
from resolute.api.wire import WireError
from resolute.proto.errors import NotFound, refuse
from resolute.proto.states import has_files
from resolute.storage import StorageManager, check_uuid, files_of, open_storage, tar_chunks, zip_chunks

TAR, GZIP, ZIP = "application/x-tar", "application/gzip", "application/zip"

SUFFIX = {TAR: ".tar", GZIP: ".tar.gz", ZIP: ".zip"}


async def download_checkpoint(call: Call, request: DownloadCheckpoint) -> web.StreamResponse:
    """The checkpoint's files; `Accept` chooses tar (the default), gzip or zip."""
    kind = _kind(call.request.headers.get("Accept", ""))
    uuid = check_uuid(request.checkpoint_uuid)
    storage = open_storage(dict((await _stored(call, uuid)).storage))
    if not await asyncio.to_thread(files_of, storage, uuid):
        raise NotFound(f"checkpoint {uuid} has no files where its storage says they are")
    return await _streamed(call, kind, uuid, _chunks(kind, storage, uuid))


async def _stored(call: Call, uuid: str) -> StoredRow:
    """Raises NotFound, or Refused for a checkpoint that has no files."""
    found = await call.gateway.ports.of(QUERIES).stored(uuid)
    if found is None:
        raise NotFound(f"checkpoint {uuid} not found")
    if not has_files(found.state):
        raise refuse(f"download checkpoint {uuid}", f"its state is {found.state}", "choose a completed one")
    return found


def _kind(accept: str) -> str:
    """The first media type of `Accept` that the gateway can make."""
    wanted = [part.split(";")[0].strip().lower() for part in accept.split(",") if part.strip()]
    for kind in wanted or ["*/*"]:
        if kind in SUFFIX:
            return kind
        if kind in ("*/*", "application/*"):
            return TAR
    raise WireError(wire.UNSUPPORTED_MEDIA, f"Accept: {accept!r} cannot be served; use {TAR}, {GZIP} or {ZIP}")


def _chunks(kind: str, storage: StorageManager, uuid: str) -> Iterator[bytes]:
    return zip_chunks(storage, uuid) if kind == ZIP else tar_chunks(storage, uuid, compressed=kind == GZIP)


async def _streamed(call: Call, kind: str, uuid: str, chunks: Iterator[bytes]) -> web.StreamResponse:
    """A failure half-way breaks the connection: a short file must not look whole."""
    disposition = f'attachment; filename="{uuid}{SUFFIX[kind]}"'
    response = web.StreamResponse(headers={"Content-Type": kind, "Content-Disposition": disposition})
    chunk = await asyncio.to_thread(_next, chunks)
    await response.prepare(call.request)
    while chunk is not None:
        await response.write(chunk)
        chunk = await asyncio.to_thread(_next, chunks)
    await response.write_eof()
    return response


def _next(chunks: Iterator[bytes]) -> bytes | None:
    """The next chunk that is not empty; None at the end. It reads files, so it runs in a thread."""
    return next((chunk for chunk in chunks if chunk), None)
