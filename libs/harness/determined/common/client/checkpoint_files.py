"""The files of a checkpoint on this machine: copied from its storage, or unpacked from the master's archive."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from determined.common import storage
from determined.common.client.problems import ClientError
from determined.errors import CheckpointNotFound


def copied_from_storage(checkpoint: Mapping[str, Any], target: Path) -> bool:
    """Copy the files from the checkpoint's storage; False where this machine does not see them."""
    config = (checkpoint.get("training") or {}).get("experimentConfig") or {}
    with ExitStack() as stack:
        try:
            place = storage.open_storage(config.get("checkpoint_storage") or {}, storage.Access.HOST)
            source = stack.enter_context(place.restore_path(checkpoint["uuid"]))
        except (ValueError, CheckpointNotFound):  # ValueError: of a type that this release has no back end for
            return False
        shutil.copytree(source, target, dirs_exist_ok=True)
    return True


def unpack(archive: IO[bytes], uuid: str, target: Path) -> None:
    """Unpack the archive that the master sent, from its beginning."""
    archive.seek(0)
    target.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(fileobj=archive, mode="r:gz") as tar:
            tar.extractall(target, filter="data")
    except (tarfile.TarError, EOFError) as error:
        raise ClientError(f"the archive of checkpoint {uuid} arrived broken ({error}); try again") from error


def write_metadata(target: Path, checkpoint: Mapping[str, Any]) -> None:
    """`metadata.json` beside the files, where older checkpoints lack it; loaders look for it."""
    file = target / storage.METADATA_FILE
    if not file.exists():
        file.write_text(json.dumps(checkpoint.get("metadata") or {}, indent=2))
