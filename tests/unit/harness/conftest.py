"""A small real master for the harness to talk to: an HTTP server that remembers what it was told."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import pathlib
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiohttp import web

from determined import _info

TOKEN = "v2.public.of-this-task"


class Master:
    """Runs on a thread of its own, so that the harness may block; `stop` and `start` keep the port."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.host = host
        self.port = 0
        self.calls: list[tuple[str, str, Any]] = []
        self.tokens: set[str] = set()
        self.connections: set[Any] = set()
        self.statuses: list[int] = []
        self.retry_after = ""
        self.answers: dict[str, tuple[int, Any]] = {}
        self.refused_steps: set[int] = set()
        self.context = b""
        self.best: float | None = None
        self.targets: list[int] = []
        """What the search would have the trial train to, one after another; then nothing more."""
        self.rendezvous: dict[str, Any] = {}
        self.gathered: dict[str, Any] = {}
        self._preempt = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def start(self) -> None:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self._thread.start()
        assert ready.wait(60)

    def stop(self) -> None:
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(60)

    def _run(self, ready: threading.Event) -> None:
        asyncio.run(self._serve(ready))

    async def _serve(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._asked = asyncio.Event()
        self._came = asyncio.Condition()
        app = web.Application(client_max_size=1 << 28)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, self.host, self.port, reuse_address=True)
        await site.start()
        self.port = runner.addresses[0][1]
        ready.set()
        await self._stopping.wait()
        self._asked.set()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.Response:
        body = json.loads(await request.read() or b"null")
        self.tokens.add(request.headers.get("Grpc-Metadata-x-allocation-token", ""))
        self.connections.add(request.transport)
        if self.statuses and not request.path.endswith("/preemption"):
            status = self.statuses.pop(0)
            if status != 200:
                headers = {"Retry-After": self.retry_after} if self.retry_after else None
                return web.json_response({"error": {"error": "asked to fail"}}, status=status, headers=headers)
        self.calls.append((request.method, request.path_qs, body))
        for ending, (status, answer) in self.answers.items():
            if request.path.endswith(ending):
                return web.json_response(answer, status=status)
        if request.path.endswith("/metrics") and (steps := body["metrics"].get("stepsCompleted")) in self.refused_steps:
            return web.json_response({"error": {"error": f"not at step {steps}"}}, status=400)
        return await self._usual(request, body)

    async def _usual(self, request: web.Request, body: Any) -> web.Response:
        if request.path.endswith("/signals/preemption"):
            return web.json_response({"preempt": await self._preemption(request)})
        if request.path.endswith("/searcher/operation"):
            return web.json_response(self._operation())
        if request.path.endswith("/context_directory"):
            return web.json_response({"b64Tgz": base64.b64encode(self.context).decode()})
        if request.path.endswith("/best_searcher_validation_metric"):
            if self.best is None:
                return web.json_response({"error": {"error": "none yet"}}, status=404)
            return web.json_response({"metric": self.best})
        if request.path.endswith("/rendezvous"):
            return web.json_response({"rendezvousInfo": self.rendezvous})
        if request.path.endswith("/all_gather"):
            return web.json_response({"data": await self._gather(body)})
        if request.path.endswith("/runs/start"):
            return web.json_response({"storageId": 3})
        return web.json_response({})

    async def _gather(self, body: Any) -> list[Any]:
        """Every so many calls are a round; each is answered once its round is complete."""
        peers, mine = int(body["numPeers"]), body["requestUuid"]
        self.gathered.setdefault(mine, body["data"])
        first = list(self.gathered).index(mine) // peers * peers
        async with self._came:
            self._came.notify_all()
            await self._came.wait_for(lambda: len(self.gathered) >= first + peers)
        return list(self.gathered.values())[first : first + peers]

    def _operation(self) -> dict[str, Any]:
        reached = len(self.posted("/searcher/completed_operation"))
        if reached < len(self.targets):
            return {"op": {"validateAfter": {"length": str(self.targets[reached])}}, "completed": False}
        last = {"op": {"validateAfter": {"length": str(self.targets[-1])}}} if self.targets else {}
        return {**last, "completed": True, "finished": True}

    async def _preemption(self, request: web.Request) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._asked.wait(), float(request.query.get("timeout_seconds", "0")))
        return self._preempt

    def preempt(self) -> None:
        """Ask the trial to stop; a long poll that is open is answered at once."""
        self._preempt = True
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._asked.set)

    def posted(self, ending: str) -> list[Any]:
        """Bodies of the POSTs to paths with this ending, in the order of arrival."""
        return [body for method, path, body in list(self.calls) if method == "POST" and path.endswith(ending)]

    def reports(self) -> list[Any]:
        """Every metric report in the order of arrival, whether it came by itself or among others."""
        found: list[Any] = []
        for method, path, body in list(self.calls):
            if method == "POST" and path.endswith("/metrics/batch"):
                found += body["reports"]
            elif method == "POST" and path.endswith("/metrics"):
                found.append(body)
        return found

    def metrics(self, group: str) -> list[tuple[int, dict[str, Any]]]:
        reports = [body["metrics"] for body in self.reports() if body["group"] == group]
        return [(report["stepsCompleted"], report["metrics"]["avgMetrics"]) for report in reports]

    def checkpoints(self) -> list[Any]:
        return [body for body in self.posted("/checkpoints") if body["state"] == "STATE_COMPLETED"]


def until(condition: Callable[[], object], within_s: float = 60.0) -> None:
    """Wait for a condition, with a deadline."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def tgz(files: dict[str, str], modes: dict[str, int] | None = None) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            member.mode = (modes or {}).get(name, 0o644)
            tar.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


@pytest.fixture
def master() -> Iterator[Master]:
    server = Master()
    server.start()
    yield server
    server.stop()


def trial_env(master: Master, folder: pathlib.Path, config: dict[str, Any] | None = None) -> dict[str, str]:
    """The variables that an agent gives a trial."""
    merged = {
        "checkpoint_storage": {"type": "shared_fs", "host_path": str(folder / "storage")},
        "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 8}},
        "hyperparameters": {"global_batch_size": 2},
        **(config or {}),
    }
    length = merged["searcher"].get("max_length")
    master.targets = list(length.values()) if isinstance(length, dict) else []  # as a search of one trial
    for name in ("storage", "run", "tmp", "work"):
        (folder / name).mkdir(exist_ok=True)
    return {
        "DET_MASTER": master.url,
        "DET_CLUSTER_ID": "cluster-1",
        "DET_AGENT_ID": "agent-1",
        "DET_SLOT_IDS": "[0]",
        "DET_TASK_ID": "7.c0ffee",
        "DET_ALLOCATION_ID": "7.c0ffee.1",
        "DET_RESOURCES_ID": "container-1",
        "DET_SESSION_TOKEN": TOKEN,
        "DET_TASK_TYPE": "TRIAL",
        "DET_EXPERIMENT_ID": "7",
        "DET_TRIAL_ID": "41",
        "DET_TRIAL_RUN_ID": "2",
        "DET_TRIAL_SEED": "1234",
        "DET_HPARAMS": json.dumps(merged["hyperparameters"]),
        "DET_EXPERIMENT_CONFIG": json.dumps(merged),
        "DET_RUN_DIR": str(folder / "run"),
        "DET_WORKDIR": str(folder / "work"),
        "TMPDIR": str(folder / "tmp"),
    }


@pytest.fixture
def on_cluster(
    master: Master, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Master]]:
    """Call it to make this process a trial on a cluster of one master; keywords are configuration."""

    def become(latest_checkpoint: str | None = None, **config: Any) -> Master:
        for name, value in trial_env(master, tmp_path, config).items():
            monkeypatch.setenv(name, value)
        if latest_checkpoint is not None:
            monkeypatch.setenv("DET_LATEST_CHECKPOINT", latest_checkpoint)
        _info.get_cluster_info.cache_clear()
        return master

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield become
    _info.get_cluster_info.cache_clear()


@pytest.fixture(autouse=True)
def _neither_home_nor_working_directory(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
