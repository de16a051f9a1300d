"""The code that an experiment was submitted with: as an archive, as a tree, file by file."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from aiohttp import web

from resolute.api import wire
from resolute.api.blobs import Content
from resolute.api.call import Call
from resolute.api.kernel.operations import download, operation
from resolute.api.model_definitions.files import DIRECTORY, tree
from resolute.api.model_definitions.messages import (
    DownloadModelDef,
    DownloadModelDefFile,
    GetModelDef,
    GetModelDefFile,
    GetModelDefTree,
    ModelDefAnswer,
    ModelDefFileAnswer,
    ModelDefTreeAnswer,
)
from resolute.api.model_definitions.queries import QUERIES, Submitted
from resolute.api.routing import SIGNED_IN
from resolute.config.context import ContextFile, of_tgz
from resolute.proto.errors import InvalidConfig, NotFound


async def get_model_def(call: Call, request: GetModelDef) -> web.StreamResponse:
    """The code it was submitted with: a tar.gz in base64."""
    _, archive = await _archive(call, request.experiment_id)
    content = await Content.stored(call.gateway.blobs, archive)
    return await content.answer_in_base64(call.request, b'{"b64Tgz":"', b'"}')


async def download_model_def(call: Call, request: DownloadModelDef) -> web.StreamResponse:
    """The archive itself."""
    submitted, archive = await _archive(call, request.experiment_id)
    content = await Content.stored(call.gateway.blobs, archive)
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", submitted.name)[:50]
    return await content.answer(
        call.request, _headers(ARCHIVE, f"exp{submitted.experiment_id}_{name}_model_def.tar.gz")
    )


async def get_model_def_tree(call: Call, request: GetModelDefTree) -> web.Response:
    """The files of that code."""
    files = await _files(call, request.experiment_id)
    return await asyncio.to_thread(_tree_of, files, pretty="pretty" in call.request.query)


def _tree_of(files: Sequence[ContextFile], *, pretty: bool) -> web.Response:
    """On a thread: there may be 50,000 files."""
    return wire.json_response(ModelDefTreeAnswer(files=tree(files)), pretty=pretty)


async def get_model_def_file(call: Call, request: GetModelDefFile) -> web.StreamResponse:
    """One of those files, in base64."""
    file = await _file(call, request.experiment_id, request.body.path)
    return await Content.of(file.content).answer_in_base64(call.request, b'{"file":"', b'"}')


async def download_model_def_file(call: Call, request: DownloadModelDefFile) -> web.StreamResponse:
    """One file of the code it was submitted with."""
    file = await _file(call, request.experiment_id, request.path)
    quoted = re.sub(r'[\\"\x00-\x1f\x7f]', "_", request.path)
    return await Content.of(file.content).answer(call.request, _headers(FILE, f"exp{request.experiment_id}/{quoted}"))


ARCHIVE, FILE = "application/x-gtar", "application/octet-stream"


def _headers(media_type: str, filename: str) -> dict[str, str]:
    return {"Content-Type": media_type, "Content-Disposition": f'attachment; filename="{filename}"'}


async def _archive(call: Call, experiment_id: int) -> tuple[Submitted, str]:
    """The experiment, and the address of its archive. Raises NotFound."""
    submitted = await call.gateway.ports.of(QUERIES).submitted(experiment_id)
    if submitted is None:
        raise NotFound(f"experiment {experiment_id} not found")
    if submitted.archive is None:
        raise NotFound(f"experiment {experiment_id} was submitted without a model definition")
    return submitted, submitted.archive


async def _files(call: Call, experiment_id: int) -> list[ContextFile]:
    _, archive = await _archive(call, experiment_id)
    return await asyncio.to_thread(of_tgz, await call.gateway.blobs.get(archive))


async def _file(call: Call, experiment_id: int, path: str) -> ContextFile:
    if not path:
        raise InvalidConfig("path: name the file that is wanted")
    for file in await _files(call, experiment_id):
        if file.path == path and file.type != DIRECTORY:
            return file
    raise NotFound(f"the model definition of experiment {experiment_id} has no file {path!r}")


VIEW = SIGNED_IN.to("experiment.artifacts.view").about("experiment", "experimentId")

ONE, DOWNLOADED = "/api/v1/experiments/{experimentId}", "/experiments/{experimentId}"
TAG, OUTSIDE = "Experiments", "Outside /api/v1"

ROUTES = (
    operation(
        "GetModelDef",
        "GET",
        f"{ONE}/model_def",
        get_model_def,
        VIEW,
        request=GetModelDef,
        response=ModelDefAnswer,
        tag=TAG,
    ),
    operation(
        "GetModelDefTree",
        "GET",
        f"{ONE}/file_tree",
        get_model_def_tree,
        VIEW,
        request=GetModelDefTree,
        response=ModelDefTreeAnswer,
        tag=TAG,
    ),
    operation(
        "GetModelDefFile",
        "POST",
        f"{ONE}/file",
        get_model_def_file,
        VIEW,
        request=GetModelDefFile,
        response=ModelDefFileAnswer,
        tag=TAG,
    ),
    download(
        "DownloadModelDef",
        "GET",
        f"{DOWNLOADED}/model_def",
        download_model_def,
        VIEW,
        request=DownloadModelDef,
        produces=ARCHIVE,
        tag=OUTSIDE,
    ),
    download(
        "DownloadModelDefFile",
        "GET",
        f"{DOWNLOADED}/file/download",
        download_model_def_file,
        VIEW,
        request=DownloadModelDefFile,
        produces=FILE,
        tag=OUTSIDE,
    ),
)
