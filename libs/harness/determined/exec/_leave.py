"""Ends a task as the interpreter does, but without finalizing large packages such as torch.

Finalizing them module by module takes a second of processor time, and in a fork first copies all of their memory, which
the kernel frees at once when the process ends. So only the task's own modules are finalized, everything is flushed, and
the process exits. A task ends in the usual way if it has loaded native libraries of its own, which may have work to do
at the end, or if it has threads that would run on while its modules are finalized.
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import ctypes
import gc
import io
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import NoReturn

PACKAGES = ("torch", "numpy", "horovod")
"""The packages whose native libraries have nothing to do at the end, once the functions of `atexit` have run."""
SYSTEM = ("/lib", "/usr/lib")
OBSERVERS = ("LD_PRELOAD", "LD_AUDIT", "CUDA_INJECTION", "NVTX_INJECTION", "NSYS_", "ROCP_", "HSA_TOOLS_LIB")
"""Prefixes of environment variables that load profilers and memory checkers into a process. These write their results
when the process ends in the usual way."""


class FreshStart:
    """The state of a process before the task's own modules are imported, for a process that was started for the
    task."""

    def __init__(self) -> None:
        self.libraries = _libraries()
        self.folder = os.path.join(os.getcwd(), "")
        """The folder of the task's own modules; the task may change the working directory later."""

    def leave_after(self, work: Callable[[], NoReturn]) -> NoReturn:
        """Does `work`, which raises SystemExit, and ends the process with its exit code."""
        try:
            work()
        except SystemExit as ending:
            threading._shutdown()  # type: ignore[attr-defined]  # waits for threads that are not daemons
            if self._has_libraries_of_its_own() or _threads_of_its_own():
                raise
            code = _code(ending)
            self._finalize()
            os._exit(code & 0xFF)
        except KeyboardInterrupt:
            sys.excepthook(*sys.exc_info())
            self._finalize()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
            raise

    def _has_libraries_of_its_own(self) -> bool:
        if any(value and name.startswith(OBSERVERS) for name, value in os.environ.items()):
            return True
        known = _known_folders()
        return not all(f"/{file}".startswith(known) for file in _libraries() - self.libraries)

    def _finalize(self) -> None:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        for module in self._the_tasks_modules():
            module.__dict__.clear()
        gc.collect()
        for stream in (sys.stdout, sys.stderr, *_open_buffers()):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or gone
                stream.flush()
        ctypes.CDLL(None).fflush(None)  # what native code has printed

    def _the_tasks_modules(self) -> list[ModuleType]:
        """The task's own modules, the last imported first. A module may have several names, as the script has two when
        multiprocessing is used."""
        found = {
            id(module): module
            for name, module in reversed(sys.modules.items())
            if isinstance(module, ModuleType) and (name == "__main__" or self._holds(module))
        }
        return list(found.values())

    def _holds(self, module: ModuleType) -> bool:
        file = getattr(module, "__file__", None)
        return isinstance(file, str) and file.startswith(self.folder) and "/site-packages/" not in file


class Inheritance(FreshStart):
    """The state of a process that was forked from a warm parent, at its beginning."""

    def __init__(self) -> None:
        super().__init__()
        # Finalizers that the parent registered are run by the parent only.
        for finalizer in list(getattr(weakref.finalize, "_registry", ())):
            finalizer.atexit = False

    def _has_libraries_of_its_own(self) -> bool:
        return _libraries() != self.libraries


def _known_folders() -> tuple[str, ...]:
    """The folders of the system's libraries and of those of PACKAGES. A wheel may have a second folder,
    `<name>.libs`."""
    files = (getattr(sys.modules.get(name), "__file__", None) for name in PACKAGES)
    packages = [os.path.dirname(file) for file in files if file]
    return tuple(f"{folder}{ending}/" for folder in (*SYSTEM, *packages) for ending in ("", ".libs"))


def _libraries() -> frozenset[str]:
    """The native libraries in this process, without those of the standard library, which do nothing at the end."""
    with open("/proc/self/maps") as maps:
        files = {line.rstrip("\n").partition("/")[2] for line in maps if ".so" in line}
    return frozenset(file for file in files if "/lib-dynload/" not in file)


def _threads_of_its_own() -> bool:
    """Whether daemon threads run besides those of the harness, which use none of the task's modules."""
    of_harness = sum(_is_of_harness(thread) for thread in threading.enumerate())
    return _thread._count() > of_harness


def _is_of_harness(thread: threading.Thread) -> bool:
    work = getattr(thread, "_target", None) or type(thread)
    return str(getattr(work, "__module__", "")).startswith("determined.")


def _code(ending: SystemExit) -> int:
    """The exit code as the interpreter computes it. A value that is no number is printed, and means 1."""
    if ending.code is None or isinstance(ending.code, int):
        return ending.code or 0
    print(ending.code, file=sys.stderr)
    return 1


def _open_buffers() -> list[io.TextIOWrapper | io.BufferedWriter | io.BufferedRandom]:
    """All open files with buffers, also those of modules that are not finalized. A text file comes before the file of
    bytes that it writes to."""
    kinds = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
    # Not isinstance: it reads `__class__`, which a proxy object forwards to user code.
    found = [one for one in gc.get_objects() if issubclass(type(one), kinds)]
    return sorted(found, key=lambda one: not isinstance(one, io.TextIOWrapper))
