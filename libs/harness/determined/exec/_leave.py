"""How a task ends: as the interpreter does, but for the large packages that it was started with or has imported.

Taking those apart, module by module, costs a second of processor time with torch, and in a fork it would first copy all
of them, for memory that the kernel takes back in no time. So the task's own modules are taken apart and everything is
flushed, and then the process ends. A task that has loaded native libraries of its own, which may have work to do at the
end, or has threads that would run on while its modules are taken apart, ends as any other does.
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
"""Beginnings of the names of environment variables by which profilers and checkers of memory are put into a process.
They write what they found when it ends the usual way."""


class FreshStart:
    """A task in a process that was started for it, noted before its own modules are imported."""

    def __init__(self) -> None:
        self.libraries = _libraries()
        self.folder = os.path.join(os.getcwd(), "")
        """Where the task's own modules will be; it may well be elsewhere at the end."""

    def leave_after(self, work: Callable[[], NoReturn]) -> NoReturn:
        """Do `work`, which raises SystemExit, and end with its exit code."""
        try:
            work()
        except SystemExit as wish:
            threading._shutdown()  # type: ignore[attr-defined]  # waits for threads that are not daemons
            if self._has_libraries_of_its_own() or _threads_of_its_own():
                raise
            code = _code(wish)
            self._take_apart()
            os._exit(code & 0xFF)
        except KeyboardInterrupt:
            sys.excepthook(*sys.exc_info())
            self._take_apart()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
            raise

    def _has_libraries_of_its_own(self) -> bool:
        if any(value and name.startswith(OBSERVERS) for name, value in os.environ.items()):
            return True
        known = _known_folders()
        return not all(f"/{file}".startswith(known) for file in _libraries() - self.libraries)

    def _take_apart(self) -> None:
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
        """The last imported first. One module may have several names, as the script has for multiprocessing."""
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
    """What a fork has from its parent, noted when it begins."""

    def __init__(self) -> None:
        super().__init__()
        # What the parent's own objects do at the end is not for each of its forks to do.
        for finalizer in list(getattr(weakref.finalize, "_registry", ())):
            finalizer.atexit = False

    def _has_libraries_of_its_own(self) -> bool:
        return _libraries() != self.libraries


def _known_folders() -> tuple[str, ...]:
    """Where the system's libraries and those of PACKAGES are. Wheels have a second folder beside the package."""
    files = (getattr(sys.modules.get(name), "__file__", None) for name in PACKAGES)
    packages = [os.path.dirname(file) for file in files if file]
    return tuple(f"{folder}{ending}/" for folder in (*SYSTEM, *packages) for ending in ("", ".libs"))


def _libraries() -> frozenset[str]:
    """The native libraries in this process, the standard library's own left out: those keep nothing for the end."""
    with open("/proc/self/maps") as maps:
        files = {line.rstrip("\n").partition("/")[2] for line in maps if ".so" in line}
    return frozenset(file for file in files if "/lib-dynload/" not in file)


def _threads_of_its_own() -> bool:
    """Whether daemons are left that are not the harness's, which need nothing of the task's modules."""
    ours = sum(_is_ours(thread) for thread in threading.enumerate())
    return _thread._count() > ours


def _is_ours(thread: threading.Thread) -> bool:
    work = getattr(thread, "_target", None) or type(thread)
    return str(getattr(work, "__module__", "")).startswith("determined.")


def _code(wish: SystemExit) -> int:
    """As the interpreter reads it: anything but a number is a message."""
    if wish.code is None or isinstance(wish.code, int):
        return wish.code or 0
    print(wish.code, file=sys.stderr)
    return 1


def _open_buffers() -> list[io.TextIOWrapper | io.BufferedWriter | io.BufferedRandom]:
    """Texts before the bytes beneath them. What modules that are not taken apart hold open is written, too."""
    kinds = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
    # Not isinstance: it would ask a stand-in for another object what that one is.
    found = [one for one in gc.get_objects() if issubclass(type(one), kinds)]
    return sorted(found, key=lambda one: not isinstance(one, io.TextIOWrapper))
