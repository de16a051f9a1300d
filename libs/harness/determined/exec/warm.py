"""A warm parent: imports once what tasks need, and forks each task from itself, so that one begins in milliseconds.

    python -m determined.exec.warm CONTROL_FD SHIM IDLE_S MODULE… ROOM

The agent starts it with the environment that its tasks have in common, and sends orders over the socket CONTROL_FD: the
task's folder, with two descriptors, the lock of that folder and a file that holds what to run. Only the forked
process reads that file, so that what one task may know never passes through the memory of the next one's parent.

A fork becomes the task's shim, that forks again, and the second one is the task: it settles as any new process does and
goes through `determined.exec.prep`. Neither needs the parent any more, which ends when the agent does, when it was idle
for IDLE_S, and when what it imported has changed on disk. It never forks unless a fork is as good as a fresh start:
no other thread, no open file but its own, no GPU driver. ROOM only makes its command line long enough to be
overwritten with that of a shim or a task.
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
"""How much of a command line and of an environment must fit over its own."""

IDENTITY = ("DET_RESOURCES_ID", "DET_CLUSTER_ID", "DET_AGENT_ID", "DET_ALLOCATION_ID", "DET_TASK_ID")
"""By these the processes of a task are found; the rest of its environment is shown as far as there is room."""


class Begun(BaseException):
    """Raised in a freshly forked task, to leave everything of its parent's behind."""


def main(words: Sequence[str]) -> int:
    control_fd, shim_file, idle_s, *modules = words[:-1]
    if not sys.flags.safe_path:
        sys.path.pop(0)  # the parent's working directory is nobody's
    control = socket.socket(fileno=int(control_fd))
    control.set_inheritable(False)
    shim = _load(shim_file)
    environment = dict(os.environ)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody here waits for the forks
    _import(modules)
    gc.collect()
    gc.freeze()  # what is here stays: a collection in a fork must not touch, and so copy, all of it
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
    """The agent's shim: in its process, whose python need not be the tasks', it is a program of its own."""
    spec = importlib.util.spec_from_file_location("_resolute_shim", file)
    assert spec is not None, file
    assert spec.loader is not None, file
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _import(modules: Iterable[str]) -> None:
    """What is not installed here cannot be what tasks use."""
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
    """The user's own code that an interpreter runs when it starts; what came with Python itself knows of no task."""
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
    """Until it is of no more use; leaves by Begun in every task."""
    folders = _imported_from()
    as_imported = [_changed_at(folder) for folder in folders]
    while select.select([control], [], [], idle_s)[0]:
        order, files, _, _ = socket.recv_fds(control, ORDER_BYTES_MAX, 2)
        if not order:
            return  # the agent is gone
        if [_changed_at(folder) for folder in folders] != as_imported or _threads():
            return  # the agent sees that the lock is nobody's, and starts the task afresh
        if os.fork() == 0:
            control.close()
            _supervise(shim, json.loads(order), *files)
        for fd in files:
            os.close(fd)


def _imported_from() -> list[str]:
    """The folders that modules came from: when one of them changes, a fresh start would import something else."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sorted({*sys.path, *(os.path.dirname(file) for file in files if file)})


def _changed_at(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


# ---------------------------------------------------------------- its forks


def _supervise(shim: Any, order: Mapping[str, Any], lock_fd: int, what_fd: int) -> NoReturn:
    """The first fork: what `shim.py` is when it is started afresh. The second one, the task, leaves by Begun."""
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
    except BaseException:  # noqa: BLE001  the agent reads it in the task's folder; the parent's code is not to go on here
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _take_on(environment: Mapping[str, str]) -> None:
    """The task's own environment, and what Python (the locale it has chosen) and imports have added to it: here they
    did so in the parent."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DET_") and name != GPUS}
    os.environ.clear()
    os.environ.update({**kept, **environment})


def _redirect(file: str) -> None:
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.close(fd)


def _settle() -> None:
    """The rest of what a new interpreter finds: no files but its three, and Python's own handlers of signals."""
    for fd in _open_files() - {0, 1, 2}:
        with contextlib.suppress(OSError):
            os.close(fd)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _live() -> NoReturn:
    """In the task, which has nothing of its parent's above it on the stack but `main`."""
    if not sys.flags.safe_path:
        sys.path.insert(0, os.getcwd())
    sys.argv = [str(prep.__file__)]
    sys.modules["__main__"] = prep
    _begin_here()
    _draw_anew()
    Inheritance().leave_after(lambda: prep.main([], warm=True))


def _begin_here() -> None:
    """What libraries noted of the process when they were imported."""
    threading.main_thread()._set_native_id()  # type: ignore[attr-defined]
    processes: ModuleType | None = sys.modules.get("multiprocessing.process")
    if processes is not None:
        processes.ORIGINAL_DIR = os.getcwd()  # type: ignore[attr-defined]  # where spawned processes look for the script


def _draw_anew() -> None:
    """Chance and secrets that libraries drew when they were imported must not be the same in every task.

    The random module sees to itself; of torch's generators only the CPU's begins anywhere.
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
    """For `ps`, and for whoever looks for a task's processes: its command line and its environment.

    The environment has been set anew before: nothing refers to the strings that are overwritten here.
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
    """As many as fit, whole, and nothing behind them."""
    text = b""
    for string in strings:
        if len(text) + len(string) < len(room):
            text += string + b"\0"
    ctypes.memmove(room.start, text.ljust(len(room), b"\0"), len(room))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
