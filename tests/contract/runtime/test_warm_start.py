"""A task that is forked from a warm parent is as good as one that is started afresh."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import signal
import sys
import tarfile
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from resolute.agent import environment, process_runtime
from resolute.agent.process_runtime import ProcessRuntime
from resolute.agent.runtime import Launch
from resolute.agent.warm import WarmParents, WarmSettings

PROBE = """
import gc, json, logging, os, resource, signal, sys, threading
print(json.dumps({
    "environment": dict(os.environ), "argv": sys.argv, "path": sys.path, "cwd": os.getcwd(), "main": __file__,
    "name": __name__, "flags": list(sys.flags), "executable": sys.executable, "warnings": len(sys.warnoptions),
    "umask": [os.umask(0o22), os.umask(0o22)], "priority": os.getpriority(os.PRIO_PROCESS, 0),
    "limits": [resource.getrlimit(n) for n in range(10)], "leads": os.getsid(0) == os.getpid() == os.getpgrp(),
    "signals": {n: repr(signal.getsignal(n)).split(" at ")[0] for n in range(1, 20)}, "files": [
        n for n in range(3, 200) if os.path.exists(f"/proc/self/fd/{n}")],
    "threads": len(os.listdir("/proc/self/task")), "hooks": sys.excepthook is sys.__excepthook__,
    "stdout": [sys.stdout.encoding, sys.stdout.line_buffering, sys.stdout.write_through, sys.stdout.isatty()],
    "stdin": os.readlink("/proc/self/fd/0"), "handlers": len(logging.getLogger().handlers), "gc": gc.isenabled(),
    "command": open("/proc/self/cmdline").read().strip("\\0").split("\\0"),
    "shim": open(f"/proc/{os.getppid()}/cmdline").read().split("\\0")[4],
    "named": "DET_RESOURCES_ID=" + os.environ["DET_RESOURCES_ID"] in open("/proc/self/environ").read().split("\\0"),
    "started_as": sys.orig_argv, "thread": threading.main_thread().native_id == os.getpid(),
    "spec": __spec__ is None, "recursion": sys.getrecursionlimit(), "switch": sys.getswitchinterval(),
}))
"""


class Master:
    """Answers for the context directory, and nothing else."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        master = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = json.dumps({"b64Tgz": base64.b64encode(master.archive()).decode()}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words: object) -> None:
                """Said nowhere."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def archive(self) -> bytes:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            for name, text in self.files.items():
                member = tarfile.TarInfo(name)
                member.size, member.mode = len(text.encode()), 0o755
                tar.addfile(member, io.BytesIO(text.encode()))
        return packed.getvalue()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def master() -> Iterator[Master]:
    master = Master()
    yield master
    master.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(90):
        while not condition():  # noqa: ASYNC110  (it is about other processes)
            await asyncio.sleep(0.01)


def lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class Host:
    """A runtime, its warm parents, and what is to be run on it."""

    def __init__(self, root: Path, master: Master) -> None:
        self.root, self.master = root, master
        self.begin()

    def begin(self, grace_s: float = 1.0, imports: tuple[str, ...] = ("numpy",)) -> None:
        """As an agent that starts, over whatever another one left."""
        self.warm = WarmParents(WarmSettings(sys.executable, imports, 600, self.root / "warm"))
        self.runtime = ProcessRuntime(self.root / "tasks", grace_s, self.warm)

    def launch(self, script: str, entrypoint: object = "python3 train.py", **variables: str) -> Launch:
        self.master.files["train.py"] = script
        resources_id = str(uuid.uuid4())
        folder = self.runtime.folder(resources_id)
        own = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": environment.harness_directory(),
            "PYTHONUNBUFFERED": "1",
            "DET_MASTER": self.master.url,
            "DET_SESSION_TOKEN": f"secret-of-{resources_id}",
            "DET_RESOURCES_ID": resources_id,
            "DET_RUN_DIR": folder,
            "DET_WORKDIR": f"{folder}/workdir",
            "DET_CLUSTER_ID": "cluster",
            "DET_AGENT_ID": "agent",
            "DET_TASK_ID": "1.task",
            "DET_ALLOCATION_ID": "1.task.1",
            "DET_TASK_TYPE": "TRIAL",
            "DET_EXPERIMENT_ID": "1",
            "DET_TRIAL_ID": "1",
            "DET_TRIAL_RUN_ID": "1",
            "DET_TRIAL_SEED": "7",
            "DET_SLOT_IDS": "[0]",
            "DET_EXPERIMENT_CONFIG": json.dumps({"entrypoint": entrypoint}),
            "DET_HPARAMS": "{}",
        }
        return Launch(resources_id, (sys.executable, "-m", "determined.exec.prep"), {**own, **variables})

    async def run(self, launch: Launch) -> tuple[int | None, list[str]]:
        await self.runtime.start(launch)
        return await self.end(launch)

    async def end(self, launch: Launch) -> tuple[int | None, list[str]]:
        async with asyncio.timeout(90):
            code = (await self.runtime.exit(launch.resources_id)).code
        return code, await self.said(launch)

    async def said(self, launch: Launch) -> list[str]:
        return [line.text for line in (await self.runtime.logs(launch.resources_id, 0, 1000)).lines]

    def printed(self, launch: Launch) -> list[str]:
        """What it has said so far, as its shim keeps it."""
        kept = (self.root / "tasks" / launch.resources_id / "log").read_text()
        return [line.split(" ", 2)[2] for line in kept.splitlines()]

    async def says(self, launch: Launch, text: str) -> None:
        await until(lambda: text in self.printed(launch))

    async def warmed(self, script: str = "", **variables: str) -> None:
        """A first task has ended, and the parent that it leaves behind is ready."""
        code, said = await self.run(self.launch(script, **variables))
        assert code == 0, said
        await self.ready()

    async def ready(self) -> None:
        await until(lambda: bool(self.warm.ready()))

    def parent(self) -> psutil.Process:
        (pid,) = self.warm.ready()
        return psutil.Process(pid)


@pytest.fixture
async def host(tmp_path: Path, master: Master) -> AsyncIterator[Host]:
    host = Host(tmp_path, master)
    yield host
    host.warm.close()


def without_ids(found: dict[str, object]) -> dict[str, object]:
    """A probe's findings, with the one thing that differs between any two tasks written alike."""
    variables = found["environment"]
    assert isinstance(variables, dict)
    told: dict[str, object] = json.loads(json.dumps(found).replace(variables["DET_RESOURCES_ID"], "ID"))
    return told


def was_forked(said: list[str]) -> bool:
    return "numpy is here already" in said


LOOK = "import sys\nif 'numpy' in sys.modules: print('numpy is here already')\nimport numpy\n"
"""Afresh it must be imported first."""


async def test_a_forked_task_finds_everything_as_one_that_is_started_afresh(host: Host) -> None:
    _, (afresh,) = await host.run(host.launch(PROBE))
    await host.ready()
    _, (forked,) = await host.run(host.launch(PROBE))
    found, expected = without_ids(json.loads(forked)), without_ids(json.loads(afresh))
    assert {name: found[name] for name in found if found[name] != expected[name]} == {}
    assert host.parent().is_running()


async def test_a_parent_imports_what_the_tasks_of_its_kind_import(host: Host) -> None:
    assert not was_forked((await host.run(host.launch(LOOK)))[1])
    await host.ready()
    assert was_forked((await host.run(host.launch(LOOK)))[1])


async def test_no_task_finds_anything_of_another_one(host: Host) -> None:
    await host.warmed()
    first = host.launch("import os; os.environ['LEFT'] = 'behind'; open('left', 'w')")
    await host.run(first)
    code, said = await host.run(
        host.launch(
            "import os, subprocess\n"
            "assert 'LEFT' not in os.environ and not os.path.exists('left')\n"
            "text = open(f'/proc/{os.getppid()}/environ').read() + open('/proc/self/environ').read()\n"
            f"assert 'secret-of-{first.resources_id}' not in text + str(dict(os.environ))\n"
        )
    )
    assert (code, said) == (0, [])
    parent = host.parent()
    assert not any("secret-of" in value for value in parent.environ().values())
    assert not _holds(parent.pid, f"secret-of-{first.resources_id}")


def _holds(pid: int, text: str) -> bool:
    """Whether a process has `text` anywhere in its memory."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            if rights.startswith("rw"):
                start, end = (int(place, 16) for place in span.split("-"))
                memory.seek(start)
                if text.encode() in memory.read(end - start):
                    return True
    return False


async def test_what_an_import_adds_to_the_environment_is_there(host: Host) -> None:
    place = host.root / "place"
    place.mkdir()
    (place / "numpy.py").write_text("import os\nos.environ.setdefault('ADDED', 'by an import')\n")
    path = f"{environment.harness_directory()}:{place}"
    script = LOOK + "import os; print(os.environ['ADDED'])"
    await host.warmed(script, PYTHONPATH=path)
    code, said = await host.run(host.launch(script, PYTHONPATH=path))
    assert (code, said) == (0, ["numpy is here already", "by an import"])


@pytest.mark.parametrize(
    ("script", "code", "last"),
    [
        ("raise SystemExit(42)", 42, None),
        ("raise SystemExit('so much for that')", 1, "so much for that"),
        ("raise ValueError('a bug')", 1, "ValueError: a bug"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 139, None),
        ("import os, signal; os.kill(os.getpid(), signal.SIGINT); input()", 130, "KeyboardInterrupt"),
        ("import os; os._exit(3)", 3, None),
        ("import os; os.chdir('/'); raise SystemExit(5)", 5, None),
        ("import os, shutil; shutil.rmtree(os.getcwd())", 0, None),
        ("this is no python", 1, "SyntaxError: invalid syntax"),
    ],
)
async def test_it_ends_as_it_would_otherwise(host: Host, script: str, code: int, last: str | None) -> None:
    afresh = await host.run(host.launch(script))
    await host.ready()
    forked = await host.run(host.launch(script))
    assert forked[0] == code
    assert forked[1][-1:] == ([last] if last else [])
    assert [line for line in forked[1] if line[:1] != " "] == [line for line in afresh[1] if line[:1] != " "]


async def test_at_its_end_everything_is_said_and_written(host: Host) -> None:
    await host.warmed()
    code, said = await host.run(
        host.launch(
            "import atexit, ctypes, sys, threading, time, weakref\n"
            "class Last:\n"
            "    def __del__(self): print('taken apart')\n"
            "last = Last()\n"
            "kept = open('kept', 'w'); kept.write('all of it')\n"
            "atexit.register(print, 'at exit')\n"
            "threading.Thread(target=lambda: (time.sleep(0.2), print('a thread'))).start()\n"
            "ctypes.CDLL(None).puts(b'from C')\n"
        )
    )
    assert (code, sorted(said)) == (0, ["a thread", "at exit", "from C", "taken apart"])
    (kept,) = host.root.glob("tasks/*/run/workdir/kept")
    assert kept.read_text() == "all of it"


async def test_what_libraries_hold_open_at_its_end_is_written(host: Host) -> None:
    (host.root / "place").mkdir()
    (host.root / "place" / "library.py").write_text("kept = open('kept', 'w')\nkept.write('all of it')\n")
    path = f"{environment.harness_directory()}:{host.root / 'place'}"
    await host.warmed(PYTHONPATH=path)
    assert await host.run(host.launch("import library", PYTHONPATH=path)) == (0, [])
    (kept,) = host.root.glob("tasks/*/run/workdir/kept")
    assert kept.read_text() == "all of it"


async def test_a_thread_that_runs_to_the_end_loses_nothing_before(host: Host) -> None:
    script = LOOK + (
        "import threading, time\n"
        "def work():\n    while True: time.sleep(0.0001)\n"
        "for _ in range(3): threading.Thread(target=work, daemon=True).start()\n"
    )
    await host.warmed(script)
    for _ in range(3):
        assert await host.run(host.launch(script)) == (0, ["numpy is here already"])


@pytest.mark.parametrize("imports", [(), ("multiprocessing", "multiprocessing.pool")])
@pytest.mark.parametrize("how", ["fork", "spawn"])
async def test_processes_that_a_task_starts_find_its_script_and_it_finds_what_they_made(
    host: Host, imports: tuple[str, ...], how: str
) -> None:
    script = (
        "import multiprocessing, multiprocessing.pool\n"
        "class Made:\n    def __init__(self, n): self.n = n\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context('{how}').Pool(2) as pool:\n"
        "        print([made.n for made in pool.map(Made, range(3))])\n"
    )
    host.begin(imports=imports)
    await host.warmed(script)
    assert await host.run(host.launch(script)) == (0, ["[0, 1, 2]"])


async def test_chance_and_secrets_are_each_tasks_own(host: Host) -> None:
    draw = LOOK + (
        "import random, multiprocessing, uuid\n"
        "print(numpy.random.random(), random.random(), uuid.uuid4(), multiprocessing.current_process().authkey.hex())"
    )
    await host.warmed(LOOK)
    drawn = [(await host.run(host.launch(draw)))[1] for _ in range(3)]
    assert all(map(was_forked, drawn))
    assert len({word for said in drawn for word in said[-1].split()}) == 3 * 4


async def test_no_two_tasks_begin_with_the_same_weights(host: Host) -> None:
    pytest.importorskip("torch")
    host.begin(imports=("torch",))
    draw = (
        "import sys\nprint('torch' in sys.modules)\nimport torch; print(torch.rand(3).tolist(), torch.initial_seed())"
    )
    await host.warmed(draw)
    (first, *one), (second, *other) = [(await host.run(host.launch(draw)))[1] for _ in range(2)]
    assert (first, second) == ("True", "True")
    assert one != other


async def test_the_death_of_its_parent_is_nothing_to_a_running_task(host: Host) -> None:
    await host.warmed()
    running = host.launch("import time\nprint('here')\ntime.sleep(0.5)\nprint('still here')")
    await host.runtime.start(running)
    await host.says(running, "here")
    host.parent().kill()
    assert await host.end(running) == (0, ["here", "still here"])
    assert (await host.run(host.launch("print('next')"))) == (0, ["next"])


async def test_a_parent_that_does_not_answer_is_given_up(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_runtime, "FORK_S", 0.2)
    await host.warmed()
    parent = host.parent()
    parent.suspend()
    assert await host.run(host.launch("print('ran')")) == (0, ["ran"])
    await until(lambda: not lives(parent))


async def test_an_agent_that_starts_anew_finds_it_again(host: Host) -> None:
    await host.warmed()
    running = host.launch("import time\nprint('here')\ntime.sleep(0.5)\nprint('still here')\nraise SystemExit(5)")
    await host.runtime.start(running)
    await host.says(running, "here")
    host.warm.close()
    host.begin()
    assert await host.runtime.attach(running.resources_id)
    assert await host.end(running) == (5, ["here", "still here"])


@pytest.mark.parametrize(
    ("handler", "code"), [("lambda *_: sys.exit(7)", 7), ("signal.SIG_IGN", 137), ("signal.SIG_DFL", 143)]
)
async def test_signals_reach_it(host: Host, handler: str, code: int) -> None:
    await host.warmed()
    launch = host.launch(
        f"import signal, sys, time\nsignal.signal(signal.SIGTERM, {handler})\nprint('here')\ntime.sleep(60)"
    )
    await host.runtime.start(launch)
    await host.says(launch, "here")
    await host.runtime.signal(launch.resources_id, signal.SIGTERM)
    assert await host.end(launch) == (code, ["here"])


async def test_nothing_of_it_outlives_its_shim(host: Host) -> None:
    await host.warmed()
    script = "import os, time\nif os.fork() == 0:\n    os.setsid()\nprint(f'{os.getpid()}\\n', end='')\ntime.sleep(60)"
    launch = host.launch(script)
    await host.runtime.start(launch)
    await until(lambda: len(host.printed(launch)) == 2)
    family = [psutil.Process(int(pid)) for pid in host.printed(launch)]
    shim = next(process.ppid() for process in family if process.ppid() not in [other.pid for other in family])
    os.kill(shim, signal.SIGKILL)
    assert (await host.end(launch))[0] is None
    await until(lambda: not any(map(lives, family)))


async def test_another_environment_is_a_fresh_start(host: Host) -> None:
    await host.warmed(LOOK)
    assert not was_forked((await host.run(host.launch(LOOK, LD_BIND_NOW="1")))[1])
    assert was_forked((await host.run(host.launch(LOOK)))[1])


async def test_a_path_that_begins_where_the_task_does_is_a_fresh_start(host: Host) -> None:
    path = f"{environment.harness_directory()}:src"
    host.master.files["src/mine.py"] = "here = True"
    await host.warmed()
    for _ in range(2):
        assert await host.run(host.launch("import mine; print(mine.here)", PYTHONPATH=path)) == (0, ["True"])
    assert len(host.warm.ready()) == 1


async def test_what_the_user_has_run_whenever_python_starts_is_run_by_every_task(host: Host) -> None:
    (host.root / "place").mkdir()
    (host.root / "place" / "sitecustomize.py").write_text("import os\nprint(os.environ.get('DET_TRIAL_ID'))\n")
    path = f"{environment.harness_directory()}:{host.root / 'place'}"
    for _ in range(3):
        assert await host.run(host.launch("", PYTHONPATH=path)) == (0, ["1"])
        await until(lambda: not host.warm._parents)  # it was begun, and found unfit


async def test_what_a_hook_changes_is_there_as_after_a_fresh_start(host: Host) -> None:
    await host.warmed(LOOK)
    host.master.files["startup-hook.sh"] = "export OMP_NUM_THREADS=3"
    code, said = await host.run(host.launch(LOOK + "import os; print(os.environ['OMP_NUM_THREADS'])"))
    assert (code, said) == (0, ["3"])


async def test_a_module_of_the_users_own_is_preferred_to_one_of_the_parents(host: Host) -> None:
    await host.warmed(LOOK)
    host.master.files["numpy.py"] = "mine = True"
    assert await host.run(host.launch("import numpy; print(numpy.mine)")) == (0, ["True"])


async def test_so_is_one_beside_the_users_script(host: Host) -> None:
    await host.warmed(LOOK)
    host.master.files["code/numpy.py"] = "mine = True"
    host.master.files["code/train.py"] = "import numpy; print(numpy.mine)"
    assert await host.run(host.launch("", "python3 code/train.py")) == (0, ["True"])


async def test_any_other_program_is_what_the_fork_becomes(host: Host) -> None:
    await host.warmed()
    said = await host.run(host.launch("", ["sh", "-c", "echo $DET_TRIAL_SEED; exit 4"]))
    assert said == (4, ["7"])


async def test_what_cannot_be_forked_is_started_afresh(host: Host) -> None:
    """A thread of the parent's would be missing in its forks."""
    host.begin(imports=("threaded",))
    place = host.root / "place"
    place.mkdir()
    (place / "threaded.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    )
    path = f"{environment.harness_directory()}:{place}"
    for _ in range(3):
        assert await host.run(host.launch("import threaded; print('ran')", PYTHONPATH=path)) == (0, ["ran"])
    assert not host.warm.ready()
