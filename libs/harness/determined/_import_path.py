"""Imports a model definition from a folder, as if that were the working directory."""

from __future__ import annotations

import contextlib
import os
import pathlib
import sys
import threading
import types
from collections.abc import Iterator

_importing = threading.Lock()


@contextlib.contextmanager
def import_from_path(path: os.PathLike[str] | str) -> Iterator[None]:
    """Within the block, imports look in `path` first. Afterwards `sys.path` and `sys.modules` are as before, and no
    compiled code is left in the folder.

    Modules from the folder are removed from `sys.modules` at the end, so that two model definitions may both have a
    `model_def`. Modules that were loaded before, and whose names the folder has as well, are put aside for the block.
    """
    root = pathlib.Path(path).resolve()
    if not _importing.acquire(blocking=False):
        raise RuntimeError("import_from_path() does not support nesting: leave the outer block first")
    try:
        aside = _put_aside(root)
        sys.path.insert(0, str(root))
        wrote_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            yield
        finally:
            sys.dont_write_bytecode = wrote_bytecode
            sys.path.remove(str(root))
            _forget(root)
            sys.modules.update(aside)
    finally:
        _importing.release()


def _put_aside(root: pathlib.Path) -> dict[str, types.ModuleType]:
    tops = {entry.stem if entry.suffix == ".py" else entry.name for entry in root.iterdir()}
    kept = {"determined", "__main__", *sys.stdlib_module_names}
    named = [name for name in sys.modules if name.split(".")[0] in tops - kept]
    return {name: sys.modules.pop(name) for name in named}


def _forget(root: pathlib.Path) -> None:
    for name, module in list(sys.modules.items()):
        origin = getattr(module, "__file__", None)
        if name != "__main__" and origin and root in pathlib.Path(origin).resolve().parents:
            del sys.modules[name]
