"""`python -m resolute.api.packing OF BODY ARCHIVE`: reads a submission in a process of its own, and packs its files.

OF says of what: experiment or task.

Prints one JSON object: `body`, the submission without its files; `packed`, what was written to ARCHIVE, null where
there are no files; or `error`, what is wrong with it. Exit code 0 in all these cases.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson

from resolute.api.experiments.files import contents_of
from resolute.api.experiments.submission_messages import CreateExperiment
from resolute.api.interactive.messages import LaunchTask
from resolute.api.kernel.messages import given_in
from resolute.api.kernel.reading import read
from resolute.api.request_body import parsed
from resolute.config.context import ContextFile, digest, to_tgz
from resolute.proto.errors import InvalidConfig


def pack(of: str, source: Path, archive: Path) -> dict[str, Any]:
    try:
        body, files = _read(of, source)
    except InvalidConfig as error:
        return {"error": error.message}
    return {"packed": _packed(files, archive), "body": body}


def _read(of: str, source: Path) -> tuple[dict[str, Any], list[ContextFile]]:
    """The submission without its files, and these. Their text is forgotten before they are packed."""
    if of == "task":
        launch = read(LaunchTask, {}, {}, parsed(source.read_bytes())).body
        return given_in(launch.model_copy(update={"files": ()})), contents_of(launch.files)
    submission = read(CreateExperiment, {}, {}, parsed(source.read_bytes())).body
    others = submission.model_copy(update={"model_definition": ()})
    return given_in(others), contents_of(submission.model_definition)


def _packed(files: list[ContextFile], archive: Path) -> dict[str, Any] | None:
    if not files:
        return None
    packed = to_tgz(files)
    archive.write_bytes(packed)
    paths = [file.path for file in files]
    return {"sha256": digest(packed), "size_bytes": len(packed), "paths": paths}


if __name__ == "__main__":
    sys.stdout.buffer.write(orjson.dumps(pack(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))))
