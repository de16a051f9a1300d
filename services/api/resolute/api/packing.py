"""`python -m resolute.api.packing BODY ARCHIVE`: reads a submission in a process of its own, and packs its files.

Prints one JSON object: `body`, the submission without its files; `packed`, what was written to ARCHIVE, null where
there are no files; or `error`, what is wrong with it. Exit code 0 in all these cases.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson

from resolute.api import bodies
from resolute.api.request_body import parsed
from resolute.config.context import digest, of_model_definition, to_tgz
from resolute.proto.errors import InvalidConfig

OPERATION = "CreateExperiment"


def pack(source: Path, archive: Path) -> dict[str, Any]:
    try:
        body = bodies.read(OPERATION, parsed(source.read_bytes()))
        return {"packed": _packed(body.pop("modelDefinition", None) or [], archive), "body": body}
    except InvalidConfig as error:
        return {"error": error.message}


def _packed(files: list[Any], archive: Path) -> dict[str, Any] | None:
    contents = of_model_definition(files)
    if not contents:
        return None
    files.clear()  # the text of each file, beside its contents
    packed = to_tgz(contents)
    archive.write_bytes(packed)
    paths = [file.path for file in contents]
    return {"sha256": digest(packed), "size_bytes": len(packed), "paths": paths}


if __name__ == "__main__":
    sys.stdout.buffer.write(orjson.dumps(pack(Path(sys.argv[1]), Path(sys.argv[2]))))
