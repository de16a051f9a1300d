"""The files of a checkpoint on this machine: copied from its storage, or unpacked from the master's archive."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from determined.common import storage
from determined.common.client.problems import ClientError
from determined.errors import CheckpointNotFound


@contextmanager
def arriving(target: Path, last: Collection[str]) -> Iterator[Path]:
    """A folder for files on their way to `target`. They are moved there when the block ends without an error.

    `last`: the names of files by which a folder is known to be complete. They are moved after all others, so that a
    download that was interrupted is not taken for one that ended.
    """
    with tempfile.TemporaryDirectory(prefix=".incomplete-", dir=target) as folder:
        yield Path(folder)
        found = {entry.relative_to(folder): entry for entry in Path(folder).rglob("*")}
        files = [place for place, entry in found.items() if entry.is_symlink() or not entry.is_dir()]
        for place in found.keys() - set(files):
            (target / place).mkdir(parents=True, exist_ok=True)
        for place in sorted(files, key=lambda place: str(place) in last):
            os.replace(found[place], target / place)


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
