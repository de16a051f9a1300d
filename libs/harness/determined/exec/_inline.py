"""Runs a Python script in the process that prepared the task, as if Python had been started with it.

Starting another interpreter would take as long as all of the preparation, and most scripts import the modules that are
imported already (the session, the Core API).
"""

from __future__ import annotations

import os
import shutil
import sys
import types
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader


def look_again() -> None:
    """Makes the import system look again into folders of `sys.path` that did not exist when this interpreter
    started."""
    for folder, finder in list(sys.path_importer_cache.items()):
        if finder is None:
            del sys.path_importer_cache[folder]


def is_plain_script(argv: Sequence[str]) -> bool:
    """Whether `argv` runs a script with this same interpreter, without options of the interpreter."""
    if len(argv) < 2 or not argv[1].endswith(".py") or argv[1].startswith("-"):
        return False
    program = shutil.which(argv[0])
    return program is not None and _same_interpreter(program) and os.path.isfile(argv[1])


def hides_a_module(folder: str) -> bool:
    """Whether `folder` has a module with the name of one that is imported already: a fresh interpreter would import the
    one in the folder."""
    with os.scandir(folder) as found:
        names = {entry.name.partition(".")[0] for entry in found if _is_module(entry)}
    return not names.isdisjoint(sys.modules)


def _is_module(entry: os.DirEntry[str]) -> bool:
    if entry.is_dir():
        return os.path.isfile(os.path.join(entry.path, "__init__.py"))
    return entry.name.endswith((".py", ".so"))


def _same_interpreter(program: str) -> bool:
    """Compares folder and file: virtual environments differ in the folder only, versions in one folder in the file."""
    return os.path.dirname(os.path.abspath(program)) == os.path.dirname(
        os.path.abspath(sys.executable)
    ) and os.path.realpath(program) == os.path.realpath(sys.executable)


def run_script(argv: Sequence[str]) -> int:
    """Runs the script as `python argv[1:]` would; returns the exit code. SystemExit passes through."""
    script = argv[1]
    main = types.ModuleType("__main__")
    main.__file__ = script
    main.__loader__ = SourceFileLoader("__main__", script)
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    if "__mp_main__" in sys.modules:  # multiprocessing has taken the first program of this process for the script
        sys.modules["__mp_main__"] = main
    sys.argv = list(argv[1:])
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    try:
        with open(script, "rb") as file:
            code = compile(file.read(), script, "exec")
        exec(code, main.__dict__)
    except Exception as problem:  # noqa: BLE001 - the program ends with a traceback, as under Python itself
        this_frame = problem.__traceback__
        problem.with_traceback(this_frame.tb_next if this_frame else None)
        sys.excepthook(type(problem), problem, problem.__traceback__)
        return 1
    return 0
