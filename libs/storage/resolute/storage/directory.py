"""Checkpoints in a directory that this host can see: `shared_fs` and `directory` alike."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from resolute.proto.errors import NotFound
from resolute.storage.globs import matching
from resolute.storage.storage import check_path, check_uuid

UNFINISHED = ".partial"


class DirectoryStorage:
    """One directory, `<root>/<uuid>`, for each checkpoint. A link in its place holds no files: tasks write here,
    and must not show what lies elsewhere. The harness writes to `<root>/<uuid>.partial` until all of it is there.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def list(self, uuid: str) -> dict[str, int]:
        home = self._home(uuid)
        if home.is_symlink():
            return {}
        return {path: (home / path).stat().st_size if not path.endswith("/") else 0 for path in sorted(_walk(home))}

    def check(self) -> None:
        with os.scandir(self.root) as entries:
            if next(entries, None) is None:
                raise FileNotFoundError(
                    errno.ENOENT, "nothing at all is in the storage; is it mounted?", str(self.root)
                )

    def delete(self, uuid: str, globs: Sequence[str] = ()) -> dict[str, int]:
        home = self._home(uuid)
        if not globs or home.is_symlink():
            _remove(home)
            _remove(home.with_name(f"{uuid}{UNFINISHED}"))
            return {}
        for path in sorted(matching(globs, _walk(home, links_out=True)), reverse=True):
            _remove_one(home / path)
        _remove_empty(home)
        return self.list(uuid)

    def open(self, uuid: str, path: str) -> BinaryIO:
        home = self._home(uuid)
        place = home / check_path(path)
        if home.is_symlink() or not place.is_file() or not _is_inside(place, home):
            raise NotFound(f"no file {path!r} in checkpoint {uuid}")
        return place.resolve().open("rb")

    def delete_tensorboard(self, cluster_id: str, experiment_id: int) -> None:
        files = self.root / check_path(cluster_id) / "tensorboard" / "experiment" / str(int(experiment_id))
        if _is_inside(files, self.root):
            _remove(files)

    def _home(self, uuid: str) -> Path:
        return self.root / check_uuid(uuid)


def _walk(home: Path, *, links_out: bool = False) -> Iterator[str]:
    """Relative paths; directories end in `/`. Links are files, and those that lead out are left out by default."""
    for folder, directories, files in os.walk(home):
        links = [name for name in directories if os.path.islink(os.path.join(folder, name))]
        directories[:] = [name for name in directories if name not in links]
        base = "" if Path(folder) == home else f"{Path(folder).relative_to(home).as_posix()}/"
        yield from (f"{base}{name}/" for name in directories)
        for name in [*files, *(links if links_out else ())]:
            place = Path(folder) / name
            if links_out or (place.is_file() and _is_inside(place, home)):
                yield base + name


def _is_inside(place: Path, home: Path) -> bool:
    return place.resolve().is_relative_to(home.resolve())


def _remove(home: Path) -> None:
    """All of `home`. A link in its place is removed, what it leads to is not."""
    if home.is_symlink() or home.is_file():
        home.unlink(missing_ok=True)
        return
    while home.exists():  # again, when someone wrote in between
        try:
            shutil.rmtree(home)
        except FileNotFoundError:
            continue


def _remove_one(place: Path) -> None:
    if place.is_symlink() or not place.is_dir():
        place.unlink(missing_ok=True)
    else:
        _remove(place)


def _remove_empty(home: Path) -> None:
    """Directories without anything in them, from the deepest up, `home` included."""
    for folder, _, _ in os.walk(home, topdown=False):
        if not os.listdir(folder):
            os.rmdir(folder)
