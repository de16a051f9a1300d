"""The messages about the code that experiments were submitted with."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from resolute.api.kernel.common import Id
from resolute.api.kernel.fields import Needed, base64, text
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request


class GetModelDef(Request):
    experiment_id: InPath[Id]


class ModelDefAnswer(Message, wire_name="v1GetModelDefResponse"):
    b64_tgz: str
    """The archive, a tar.gz, in base64."""


class DownloadModelDef(Request):
    experiment_id: InPath[Id]


class GetModelDefTree(Request):
    experiment_id: InPath[Id]


class FileNode(Message, wire_name="v1FileNode"):
    """A file or a directory."""

    path: str = ""
    name: str = ""
    """The last part of the path."""
    modified_time: datetime | None = None
    """Null for a directory that the archive does not list and that its files lie in."""
    content_length: int = 0
    is_dir: bool = False
    content_type: str = ""
    """The media type that the name of a file suggests; empty for a directory."""
    files: tuple[FileNode, ...] = ()


class ModelDefTreeAnswer(Message, wire_name="v1GetModelDefTreeResponse"):
    files: tuple[FileNode, ...] = ()


class NamedFile(Input, wire_name="v1GetModelDefFileRequest"):
    experiment_id: Id = 0
    """The experiment in the path counts."""
    path: Annotated[str, text(4096)] = ""


class GetModelDefFile(Request):
    experiment_id: InPath[Id]
    body: InBody[NamedFile]


class ModelDefFileAnswer(Message, wire_name="v1GetModelDefFileResponse"):
    file: Annotated[bytes, base64(2**31)] = b""


class DownloadModelDefFile(Request):
    experiment_id: InPath[Id]
    path: InQuery[Needed[Annotated[str, text(4096, least=1)]]] = ""
