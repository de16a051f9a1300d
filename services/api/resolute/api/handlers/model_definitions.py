"""The code an experiment was submitted with: as an archive, as a tree, file by file."""

from __future__ import annotations

import asyncio
import mimetypes
import re
from datetime import UTC, datetime
from typing import Any

import asyncpg
from aiohttp import web

from resolute.api.blobs import Content
from resolute.api.call import Call
from resolute.api.routing import SIGNED_IN, Route
from resolute.api.wire import timestamp
from resolute.config.context import ContextFile, of_tgz
from resolute.proto.errors import InvalidConfig, NotFound

DIRECTORY = 53

SUBMITTED = "SELECT id, name, model_definition FROM read_experiments.experiments WHERE id = $1"


async def get_model_def(call: Call) -> web.StreamResponse:
    """The code it was submitted with: a tar.gz in base64."""
    content = await Content.stored(call.gateway.blobs, (await _row(call))["model_definition"])
    return await content.answer_in_base64(call, b'{"b64Tgz":"', b'"}')


async def download_model_def(call: Call) -> web.StreamResponse:
    """The archive itself."""
    row = await _row(call)
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", row["name"])[:50]
    disposition = f'attachment; filename="exp{row["id"]}_{name}_model_def.tar.gz"'
    headers = {"Content-Type": "application/x-gtar", "Content-Disposition": disposition}
    content = await Content.stored(call.gateway.blobs, row["model_definition"])
    return await content.answer(call, headers)


async def get_model_def_tree(call: Call) -> dict[str, Any]:
    """The files of that code."""
    return {"files": await asyncio.to_thread(tree, await _files(call))}


async def get_model_def_file(call: Call) -> web.StreamResponse:
    """One of those files, in base64."""
    file = await _file(call, str(call.body.get("path") or ""))
    return await Content.of(file.content).answer_in_base64(call, b'{"file":"', b'"}')


async def download_model_def_file(call: Call) -> web.StreamResponse:
    """One file of the code it was submitted with."""
    path = call.query.text("path")
    file = await _file(call, path)
    quoted = re.sub(r'[\\"\x00-\x1f\x7f]', "_", path)
    headers = {
        "Content-Type": "application/octet-stream",
        "Content-Disposition": f'attachment; filename="exp{call.int("experimentId")}/{quoted}"',
    }
    return await Content.of(file.content).answer(call, headers)


async def _row(call: Call) -> asyncpg.Record:
    """The experiment, which has a model definition. Raises NotFound for one that has none."""
    row = await call.gateway.read.row(SUBMITTED, call.int("experimentId"))
    if row is None:
        raise NotFound(f"experiment {call.int('experimentId')} not found")
    if row["model_definition"] is None:
        raise NotFound(f"experiment {row['id']} was submitted without a model definition")
    return row


async def _files(call: Call) -> list[ContextFile]:
    return await asyncio.to_thread(of_tgz, await call.gateway.blobs.get((await _row(call))["model_definition"]))


async def _file(call: Call, path: str) -> ContextFile:
    if not path:
        raise InvalidConfig("path: name the file that is wanted")
    for file in await _files(call):
        if file.path == path and file.type != DIRECTORY:
            return file
    raise NotFound(f"the model definition of experiment {call.int('experimentId')} has no file {path!r}")


def tree(files: list[ContextFile]) -> list[dict[str, Any]]:
    """The files as nodes, directories holding theirs; a directory nobody listed is there all the same."""
    nodes: dict[str, dict[str, Any]] = {"": {"files": []}}

    def directory(path: str) -> dict[str, Any]:
        if path not in nodes:
            nodes[path] = _node(path, is_dir=True)
            directory(path.rpartition("/")[0])["files"].append(nodes[path])
        return nodes[path]

    for file in sorted(files, key=lambda file: file.path):
        if file.type == DIRECTORY:
            directory(file.path)["modifiedTime"] = _modified(file)
            continue
        node = _node(file.path, is_dir=False)
        node["modifiedTime"], node["contentLength"] = _modified(file), len(file.content)
        directory(file.path.rpartition("/")[0])["files"].append(node)
    top: list[dict[str, Any]] = nodes[""]["files"]
    return top


def _node(path: str, *, is_dir: bool) -> dict[str, Any]:
    return {
        "path": path,
        "name": path.rpartition("/")[2],
        "modifiedTime": None,
        "contentLength": 0,
        "isDir": is_dir,
        "contentType": "" if is_dir else mimetypes.guess_type(path)[0] or "text/plain; charset=utf-8",
        "files": [],
    }


def _modified(file: ContextFile) -> str | None:
    return timestamp(datetime.fromtimestamp(file.mtime, UTC))


VIEW = SIGNED_IN.to("experiment.artifacts.view").about("experiment", "experimentId")
ONE = "/api/v1/experiments/{experimentId}"

ROUTES = (
    Route("GetModelDef", "GET", f"{ONE}/model_def", get_model_def, VIEW),
    Route("GetModelDefTree", "GET", f"{ONE}/file_tree", get_model_def_tree, VIEW),
    Route("GetModelDefFile", "POST", f"{ONE}/file", get_model_def_file, VIEW),
    Route("DownloadModelDef", "GET", "/experiments/{experimentId}/model_def", download_model_def, VIEW),
    Route("DownloadModelDefFile", "GET", "/experiments/{experimentId}/file/download", download_model_def_file, VIEW),
)
