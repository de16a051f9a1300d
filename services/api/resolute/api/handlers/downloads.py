"""Checkpoints as one file: streamed from where they lie, nothing kept but a chunk."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import orjson
from aiohttp import web

from resolute.api import wire
from resolute.api.call import Call
from resolute.api.routing import SIGNED_IN, Route
from resolute.api.wire import WireError
from resolute.proto.errors import NotFound, refuse
from resolute.proto.states import has_files
from resolute.storage import StorageManager, check_uuid, files_of, open_storage, tar_chunks, zip_chunks

TAR, GZIP, ZIP = "application/x-tar", "application/gzip", "application/zip"

SUFFIX = {TAR: ".tar", GZIP: ".tar.gz", ZIP: ".zip"}

RECORD = "SELECT uuid, state, storage FROM read_checkpoints.checkpoints WHERE uuid = $1"


async def download_checkpoint(call: Call) -> web.StreamResponse:
    """The checkpoint's files; `Accept` chooses tar (the default), gzip or zip."""
    kind = _kind(call.request.headers.get("Accept", ""))
    uuid = check_uuid(call.path["checkpointUuid"])
    record = await call.gateway.read.row(RECORD, uuid)
    if record is None:
        raise NotFound(f"checkpoint {uuid} not found")
    if not has_files(record["state"]):
        raise refuse(f"download checkpoint {uuid}", f"its state is {record['state']}", "choose a completed one")
    storage = open_storage(orjson.loads(record["storage"]))
    if not await asyncio.to_thread(files_of, storage, uuid):
        raise NotFound(f"checkpoint {uuid} has no files where its storage says they are")
    return await _streamed(call, kind, uuid, _chunks(kind, storage, uuid))


def _kind(accept: str) -> str:
    """The first of the kinds accepted that there is."""
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
    """The next chunk that holds anything; None when all is said. It reads files, so it runs in a thread."""
    return next((chunk for chunk in chunks if chunk), None)


ROUTES = (
    Route(
        "DownloadCheckpoint",
        "GET",
        "/checkpoints/{checkpointUuid}",
        download_checkpoint,
        SIGNED_IN.to("checkpoint.view").about("checkpoint", "checkpointUuid"),
    ),
)
