"""A folder of code in the form of a submission: every file in it, without compiled Python files."""

from __future__ import annotations

import base64
import pathlib
from typing import Any

_REGULAR, _FOLDER = 48, 53  # as tar types them: '0' and '5'


def model_definition(folder: pathlib.Path) -> list[dict[str, Any]]:
    """Raises ValueError when there is no such folder. `.detignore` is not read: keep the folder small."""
    if not folder.is_dir():
        raise ValueError(f"model_dir: expected a folder, found {folder}")
    paths = sorted(path for path in folder.rglob("*") if "__pycache__" not in path.parts and path.suffix != ".pyc")
    return [_described(path, folder) for path in paths if path.is_file() or path.is_dir()]


def _described(path: pathlib.Path, root: pathlib.Path) -> dict[str, Any]:
    status = path.stat()
    content = b"" if path.is_dir() else path.read_bytes()
    return {
        "path": path.relative_to(root).as_posix(),
        "type": _FOLDER if path.is_dir() else _REGULAR,
        "content": base64.b64encode(content).decode(),
        "mode": status.st_mode & 0o7777,
        "mtime": str(int(status.st_mtime)),
        "uid": 0,
        "gid": 0,
    }
