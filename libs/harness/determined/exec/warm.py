"""A warm parent: imports once what tasks need, and forks tasks from itself, so that a task starts in milliseconds.

    python -m determined.exec.warm CONTROL_FD SHIM IDLE_S MODULE… ROOM

The agent starts it with the environment that its tasks have in common, and sends orders over the socket CONTROL_FD: the
task's folder, with two descriptors: the lock of that folder, and a file with what to run. Only the forked process reads
that file, so that the secrets of one task are never in the memory of the parent, from which the next task is forked.

A fork becomes the task's shim. The shim forks again, and the second fork is the task, which goes on in
`determined.exec.prep` as a fresh process does. Neither needs the parent any more. The parent ends when the agent ends,
when it was idle for IDLE_S, and when a folder that it has imported from has changed. It forks only if a fork is
equivalent to a fresh start: no other thread, no open files but its own, no GPU driver. ROOM makes its command line long
enough to be overwritten with that of a shim or a task.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, NoReturn

from determined.exec import prep
from determined.exec._leave import Inheritance

GPUS = "CUDA_VISIBLE_DEVICES"
ORDER_BYTES_MAX = 64 * 1024
ROOM_BYTES = 2048
"""The least space that the parent's command line and environment must have for those of a task."""

IDENTITY = ("DET_RESOURCES_ID", "DET_CLUSTER_ID", "DET_AGENT_ID", "DET_ALLOCATION_ID", "DET_TASK_ID")
"""Variables by which the processes of a task are found. They are shown first; others as far as there is room."""


class Begun(BaseException):
    """Raised in a freshly forked task, to leave all frames of the parent on the stack except that of `main`."""


def main(words: Sequence[str]) -> int:
    control_fd, shim_file, idle_s, *modules = words[:-1]
    if not sys.flags.safe_path:
        sys.path.pop(0)  # the parent's working directory, from which no task imports
    control = socket.socket(fileno=int(control_fd))
    control.set_inheritable(False)
    shim = _load(shim_file)
    environment = dict(os.environ)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the forks: the parent does not wait for them
    _import(modules)
    gc.collect()
    gc.freeze()  # a garbage collection in a fork would write to these objects, and so copy their memory pages
    why_not = _unfit(control, environment)
    control.send(f"unfit: {why_not}".encode() if why_not else b"ready")
    if why_not:
        return 1
    try:
        _serve(control, shim, float(idle_s))
    except Begun:
        pass
    else:
        return 0
    _live()


def _load(file: str) -> Any:
    """The agent's shim, loaded from its file: the agent's packages need not be importable by the tasks' interpreter."""
    spec = importlib.util.spec_from_file_location("_resolute_shim", file)
    assert spec is not None, file
    assert spec.loader is not None, file
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _import(modules: Iterable[str]) -> None:
    """Imports the modules. One that is not installed is skipped: tasks cannot use it either."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as problem:
            print(f"{name} is not imported beforehand: {problem}", file=sys.stderr, flush=True)


# ---------------------------------------------------------------- the parent


def _unfit(control: socket.socket, environment: Mapping[str, str]) -> str:
    """Why a fork would differ from a fresh start; empty when it would not."""
    # Some libraries (OpenBLAS) end their threads when the process forks, and start them again when they are used.
    practice = os.fork()
    if practice == 0:
        os._exit(0)
    if any(os.environ.get(name) != value for name, value in environment.items()):
        return "what was imported changes the environment"
    if (code := _runs_at_every_start()) is not None:
        return f"{code} is to run when a task starts"
    if files := _open_files() - {0, 1, 2, control.fileno()}:
        return f"what was imported holds {len(files)} files open"
    with open("/proc/self/maps") as maps:
        if "libcuda." in maps.read():
            return "what was imported has loaded the GPU's driver"
    arguments, variables = _rooms()
    if min(len(arguments), len(variables)) < ROOM_BYTES:
        return "its command line and environment cannot be overwritten"
    return _threads()


def _runs_at_every_start() -> str | None:
    """The file of user code that every interpreter runs at its start, such as a `sitecustomize`; None without one.
    Files that came with Python itself do not depend on the task, and do not count."""
    for name in ("sitecustomize", "usercustomize"):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None and os.path.dirname(file) != os.path.dirname(os.__file__):
            return str(file)
    return None


def _threads() -> str:
    others = len(os.listdir("/proc/self/task")) - 1
    return f"{others} threads run beside the first" if others else ""


def _open_files() -> set[int]:
    with os.scandir("/proc/self/fd") as found:
        files = {int(entry.name) for entry in found}
    return {fd for fd in files if _is_open(fd)}  # one of them was the directory itself


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def _serve(control: socket.socket, shim: Any, idle_s: float) -> None:
    """Forks tasks until the parent should end. In every forked task this raises Begun."""
    folders = _imported_from()
    as_imported = [_changed_at(folder) for folder in folders]
    while select.select([control], [], [], idle_s)[0]:
        order, files, _, _ = socket.recv_fds(control, ORDER_BYTES_MAX, 2)
        if not order:
            return  # the agent is gone
        if [_changed_at(folder) for folder in folders] != as_imported or _threads():
            return  # the agent sees that no process holds the lock, and starts the task afresh
        if os.fork() == 0:
            control.close()
            _supervise(shim, json.loads(order), *files)
        for fd in files:
            os.close(fd)


def _imported_from() -> list[str]:
    """The folders of the imported modules. When one changes, a fresh interpreter might import something else."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sorted({*sys.path, *(os.path.dirname(file) for file in files if file)})


def _changed_at(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


# ---------------------------------------------------------------- its forks


def _supervise(shim: Any, order: Mapping[str, Any], lock_fd: int, what_fd: int) -> NoReturn:
    """The first fork: runs the shim, as `shim.py` does when it is started afresh. The second fork, the task, raises
    Begun."""
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.set_inheritable(lock_fd, False)
        _redirect(order["complaints"])
        with open(what_fd, "rb") as file:
            what = json.load(file)
        os.chdir(what["workdir"])
        _take_on(what["environment"])
        _show_as(what["shown_as"])

        def become(out: int, err: int) -> None:
            shim.settle(out, err)
            _settle()
            _show_as(what["command"])
            sys.orig_argv = list(what["command"])
            raise Begun

        shim.Shim(order["folder"], order["grace_s"], become).run()
    except Begun:
        raise
    except BaseException:  # noqa: BLE001  the agent reads the traceback; the code of the parent must not go on in this process
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _take_on(environment: Mapping[str, str]) -> None:
    """Sets the task's environment. Variables that Python (for its locale) and imports have set in the parent are kept,
    as they would be set in a fresh process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DET_") and name != GPUS}
    os.environ.clear()
    os.environ.update({**kept, **environment})


def _redirect(file: str) -> None:
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.close(fd)


def _settle() -> None:
    """Closes all files but the first three, and restores Python's signal handlers, as in a new interpreter."""
    for fd in _open_files() - {0, 1, 2}:
        with contextlib.suppress(OSError):
            os.close(fd)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _live() -> NoReturn:
    """Runs the task, with only the frame of `main` left of the parent's stack."""
    if not sys.flags.safe_path:
        sys.path.insert(0, os.getcwd())
    sys.argv = [str(prep.__file__)]
    sys.modules["__main__"] = prep
    _refresh_process_facts()
    _reseed()
    Inheritance().leave_after(lambda: prep.main([], warm=True))


def _refresh_process_facts() -> None:
    """Updates facts about the process that libraries stored when they were imported."""
    threading.main_thread()._set_native_id()  # type: ignore[attr-defined]
    processes: ModuleType | None = sys.modules.get("multiprocessing.process")
    if processes is not None:
        processes.ORIGINAL_DIR = os.getcwd()  # type: ignore[attr-defined]  # where spawned processes look for the script


def _reseed() -> None:
    """Seeds random generators, and replaces secrets, that libraries made when they were imported: they must not be the
    same in every task.

    The module `random` reseeds itself after a fork; of torch's generators only the CPU's exists before a GPU is used.
    """
    numpy_random: ModuleType | None = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    torch: ModuleType | None = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.seed()
    processes: ModuleType | None = sys.modules.get("multiprocessing.process")
    if processes is not None:
        processes.current_process().authkey = os.urandom(32)


# ---------------------------------------------------------------- how a process looks from outside


def _show_as(command: Sequence[str]) -> None:
    """Overwrites the process's command line and environment as the kernel shows them, for `ps` and for programs that
    look for a task's processes.

    The environment was set anew before, so no pointer refers to the strings that are overwritten.
    """
    arguments, variables = _rooms()
    _write(arguments, (os.fsencode(word) for word in command))
    names = [*IDENTITY, *(name for name in os.environ if name not in IDENTITY)]
    shown = (f"{name}={os.environ[name]}" for name in names if name in os.environ)
    _write(variables, map(os.fsencode, shown))


def _rooms() -> tuple[range, range]:
    """The addresses of this process's command line and of its environment, as the kernel shows them."""
    with open("/proc/self/stat") as stat:
        fields = stat.read().rpartition(")")[2].split()
    arg_start, arg_end, env_start, env_end = map(int, fields[45:49])
    return range(arg_start, arg_end), range(env_start, env_end)


def _write(room: range, strings: Iterable[bytes]) -> None:
    """Writes as many of the strings as fit, and fills the rest with zeros."""
    text = b""
    for string in strings:
        if len(text) + len(string) < len(room):
            text += string + b"\0"
    ctypes.memmove(room.start, text.ljust(len(room), b"\0"), len(room))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
