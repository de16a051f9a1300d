"""The files of a checkpoint, where it is a folder."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator


def list_resources(folder: pathlib.Path, *, follow_links: bool = True) -> dict[str, int]:
    """Every file below `folder` with its size, every folder with a trailing slash and 0; sorted by path.

    With `follow_links` a link to a file is that file, and a link to a folder is a folder without files. Without it
    a link counts only where it leads to a file inside `folder`.
    """
    paths = everything(folder) if follow_links else _inside(folder)
    return {path: 0 if path.endswith("/") else (folder / path).stat().st_size for path in sorted(paths)}


def everything(folder: pathlib.Path) -> Iterator[str]:
    """The path of every file, link and folder below `folder`; folders and links to folders end in a slash."""
    for at, folders, files in os.walk(folder):
        base = "" if pathlib.Path(at) == folder else f"{pathlib.Path(at).relative_to(folder).as_posix()}/"
        yield from (f"{base}{name}/" for name in folders)
        yield from (base + name for name in files)


def real(place: pathlib.Path) -> pathlib.Path:
    """Where `place` leads when every link is followed. Links in a circle are left as they are, without an error."""
    return pathlib.Path(os.path.realpath(place))


def leads_out(place: pathlib.Path, folder: pathlib.Path) -> bool:
    return not real(place).is_relative_to(real(folder))


def _inside(folder: pathlib.Path) -> Iterator[str]:
    for path in everything(folder):
        place = folder / path
        is_folder = path.endswith("/") and not place.is_symlink()
        if is_folder or (place.is_file() and not leads_out(place, folder)):
            yield path
