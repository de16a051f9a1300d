"""The cluster under test, in a process of its own: `python -m tests.fuzz.target`.

It answers lines on its standard input: `refresh` with the credentials and the ids of what is there (made again where a
request has removed it), `callers` with fresh credentials alone, `could` and a request (operation, path and body, as
JSON) with whether the user may make it because of what other requests did, `report` with how long the event loop was
held. It ends when its input does.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import secrets
import sys
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack, closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import orjson
import structlog

from resolute.api.kernel.growth import grow
from resolute.api.kernel.ports import Ports
from resolute.api.kernel.whereabouts import PostgresPlaces
from resolute.api.places import Places
from resolute.api.routing import Caller
from resolute.api.shell import connect
from resolute.api.slices import read_model
from resolute.bus import subjects
from resolute.proto import streams
from resolute.proto.errors import NotFound
from resolute.proto.identity import UserChanged
from resolute.proto.message import Cause, Reply
from resolute.proto.pool import AgentOrders, StartTask, TaskReport
from resolute.service import Aggregates
from resolute.service.loop_watchdog import LoopWatch
from resolute.storage import open_storage
from tests.fuzz.judge import BY_OPERATION
from tests.integration.api.whole import Agent, Whole, whole
from tests.servers import Nats, Postgres

ADMIN, USER = 1, 2

ORDER_WITHIN_S = 45
"""How long a trial may wait for the agent, with nothing but it to run."""

SESSION = "INSERT INTO api.sessions (session_id, user_id, token_hash, expires_at) VALUES ($1, $2, $3, $4)"

CONFIG = """
name: fuzzed
labels: [a, b]
entrypoint: python3 train.py
searcher: {name: random, metric: loss, max_trials: 2, max_length: {batches: 100}}
hyperparameters: {lr: {type: double, minval: 0.1, maxval: 0.2}}
resources: {slots_per_trial: 1}
max_restarts: 0
"""


class Target:
    """One cluster with something of everything in it."""

    def __init__(self, cluster: Whole, pool: asyncpg.Pool, storage: Path) -> None:
        self._cluster, self._pool, self._storage = cluster, pool, storage
        self._directory: Aggregates[int] = Aggregates(cluster.log, int, lambda count, event: count + 1)
        """Of the users' stream, to append to it: folded once, and not anew, which would hold the event loop."""
        self._agent: Agent | None = None
        self._agents = 0
        self._refreshed_at = 0
        self._token, self._trial = "", 0
        self._known: dict[str, list[Any]] = {}

    async def refresh(self) -> dict[str, Any]:
        """Who there is to call as, and what there is to call about. Nothing else may be asked of the cluster
        meanwhile."""
        callers = await self.callers()
        self._refreshed_at = await self._directory.state(streams.USER_DIRECTORY)
        self._cluster.user = self._cluster.known_as(str(callers["admin"]))
        if not await self._alive():
            await self._begin()
        return {
            "base": self._cluster.nobody.base,
            "callers": {**callers, "task": self._token},
            "pools": self._known,
        }

    async def could(self, operation: str, path: Mapping[str, str], body: str) -> bool:
        """Whether the user may make this request because of what other requests did: one may have made an administrator
        of the user, and the user may have created what the request names."""
        return await self._promoted() or await self._owns(operation, path, body)

    async def _owns(self, operation: str, path: Mapping[str, str], body: str) -> bool:
        document = orjson.loads(body.encode("latin-1") or b"{}")
        access = BY_OPERATION[operation].access.asked_by(path, document)
        if Caller.OWNER not in access.callers:
            return False
        named = [(one.kind, value) for one in access.subjects for value in one.values(path, document)]
        shown = read_model(self._pool, self._cluster.log)
        await shown.prepare()
        await grow(shown)
        places = Places(shown, Ports(shown), PostgresPlaces(shown, shown.things))
        owners = [await self._owner(places, kind, value) for kind, value in named if kind in shown.things]
        return bool(owners) and {*owners} <= {USER, None}

    async def _owner(self, places: Places, kind: str, value: str) -> int | None:
        """None for what was deleted since, perhaps by the request itself: whose it was is not shown any more."""
        try:
            return (await places.of(kind, value)).owner_id
        except NotFound:
            return None

    async def _promoted(self) -> bool:
        """Whether a request has made an administrator of the user since the last refresh: what the user does then is
        allowed."""
        return any(
            isinstance(one.event, UserChanged) and one.event.user_id == USER and one.event.changes.get("admin")
            for one in await self._cluster.log.read_stream(streams.USER_DIRECTORY, self._refreshed_at)
        )

    async def callers(self) -> dict[str, str | None]:
        """The token of each kind of caller."""
        await self._restore_users()
        user, admin = await self._session(USER), await self._session(ADMIN)
        return {"stranger": None, "user": user, "admin": admin, "task": self._token}

    async def _session(self, user_id: int) -> str:
        """A token of a fresh session, however the user's password was changed meanwhile."""
        number, token = (await self._cluster.log.reserve("session"))[0], secrets.token_urlsafe(32)
        digest = hashlib.sha256(token.encode()).digest()
        await self._pool.execute(SESSION, number, user_id, digest, datetime.now(UTC) + timedelta(days=1))
        return token

    async def _restore_users(self) -> None:
        """A request may have locked one of them out, or made an administrator of the other."""
        changes = [
            UserChanged(ADMIN, {"admin": True, "active": True, "username": "admin"}),
            UserChanged(USER, {"admin": False, "active": True, "username": "determined"}),
        ]
        await self._directory.execute(streams.USER_DIRECTORY, lambda _: changes, Cause(f"restored-{uuid4()}"))

    async def _alive(self) -> bool:
        """Whether the task still has a trial that reports."""
        if not self._token:
            return False
        task = self._cluster.known_as(self._token)
        state = await task.call("GET", f"/api/v1/trials/{self._trial}")
        return state.status == 200 and state.body["trial"]["state"] == "STATE_RUNNING"

    async def _begin(self) -> None:
        """An experiment with a running trial, reports, log lines and a checkpoint; and an older one that has ended."""
        user = self._cluster.user
        await self._end_what_requests_created()
        self._agent = await self._new_agent()
        ended = await self._cluster.submit(config=CONFIG)
        await user.post(f"/api/v1/experiments/{ended}/kill")
        experiment = await self._cluster.submit(config=CONFIG)
        while True:
            order = await _given(self._agent)
            if order.spec.experiment_id == experiment:
                break
            await self._agent.report(order, "exited", 0)
        await self._agent.report(order, "started")
        task = self._cluster.known_as(order.token)
        self._token, self._trial = order.token, int(order.spec.trial_id or 0)
        allocation, uuid = order.spec.allocation_id, str(uuid4())
        task_id, _, run = allocation.rpartition(".")
        report = {
            "trialId": self._trial,
            "trialRunId": int(run),
            "stepsCompleted": 100,
            "metrics": {"avgMetrics": {"loss": 0.5}},
        }
        for group in ("training", "validation"):
            await task.post(f"/api/v1/trials/{self._trial}/metrics", {"metrics": report, "group": group})
        lines = [{"taskId": task_id, "log": f"line {n}", "rankId": 0} for n in range(20)]
        await task.post("/api/v1/task/logs", {"logs": lines})
        await self._checkpoint(task, uuid, task_id, allocation)
        self._known = {
            "experimentId": [experiment, ended],
            "experimentIds": [experiment, ended],
            "parentId": [experiment],
            "trialId": [self._trial],
            "runId": [self._trial],
            "taskId": [task_id],
            "allocationId": [allocation],
            "resourcesId": [order.placement.resources_id],
            "checkpointUuid": [uuid],
            "uuid": [uuid],
            "jobId": [f"experiment-{experiment}"],
            "agentId": [self._agent.name],
            "slotId": ["0"],
            "userId": [ADMIN, USER],
            "username": ["admin", "determined"],
            "workspaceId": [1, 2],
            "projectId": [1, 2, -1],
            "destinationProjectId": [1, 2],
            "label": ["a"],
            "config": [CONFIG, "name: x\nunknown: [1, {a: b}]"],
            "group": ["training", "validation"],
            "sortByMetric": ["loss"],
            "metricIds": ["validation.loss"],
            "path": ["train.py"],
            "numPeers": [1],
            "timeoutSeconds": [0],
            "follow": [False],
            "period": ["RESOURCE_ALLOCATION_AGGREGATION_PERIOD_DAILY"],
            "startDate": ["2026-01-31", "2026-01"],
            "endDate": ["2026-02-01"],
            "name": [f"name {uuid[:8]}"],
        }

    async def _new_agent(self) -> Agent:
        """A request may have disabled the one before, which is lost once it has been silent for a while."""
        self._agents += 1
        agent = StoppingAgent(f"agent-{self._agents}", self._cluster.bus, slots=1)
        await agent.join()
        return agent

    async def _end_what_requests_created(self) -> None:
        """Hundreds of experiments may stand in the queue by now, and the one that is wanted would wait behind them."""
        there = await self._cluster.user.get("/api/v1/experiments", limit=-1)
        for experiment in there["experiments"]:
            if not experiment.get("endTime"):
                await self._cluster.user.call("POST", f"/api/v1/experiments/{experiment['id']}/kill")

    async def _checkpoint(self, task: Any, uuid: str, task_id: str, allocation: str) -> None:
        section = {"type": "shared_fs", "host_path": str(self._storage)}
        files = self._storage / uuid
        files.mkdir(parents=True)
        (files / "state.pt").write_bytes(b"weights")
        assert open_storage(section).listing(uuid), "the checkpoint lies where the storage looks for it"
        body = {
            "uuid": uuid,
            "taskId": task_id,
            "allocationId": allocation,
            "resources": {"state.pt": 7},
            "metadata": {"steps_completed": 100},
            "state": "STATE_COMPLETED",
            "training": {},
        }
        await task.post("/api/v1/checkpoints", body)


async def _given(agent: Agent) -> StartTask:
    """The agent's next order; one that was lost on its way is asked for again."""
    async with asyncio.timeout(ORDER_WITHIN_S):
        while agent.orders.empty():
            await agent.hello()
            with suppress(TimeoutError):
                return await asyncio.wait_for(agent.orders.get(), 2)
    return agent.orders.get_nowait()


class StoppingAgent(Agent):
    """Starts nothing, says that it did, and says so of what it is told to stop: requests kill trials, and one that
    never ended would hold the agent's slot for good."""

    async def _order(self, orders: AgentOrders) -> None:
        await super()._order(orders)
        for stop in orders.stop:
            ended = TaskReport(self.name, self.pool, stop.allocation_id, stop.resources_id, "exited", exit_code=137)
            await self.bus.ask(subjects.agent(self.name, "report"), ended, Reply)


async def main() -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    async with AsyncExitStack() as stack:
        postgres = stack.enter_context(closing(Postgres()))
        postgres.trust_the_machine()
        nats = stack.enter_context(closing(Nats()))
        storage = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="resolute-fuzz-")))
        cluster = await stack.enter_async_context(whole(postgres.fresh_database(), nats.url, storage))
        pool = await connect(cluster.settings)
        stack.push_async_callback(pool.close)
        target = Target(cluster, pool, storage)
        await target.refresh()
        gc.collect()
        gc.freeze()  # as a service does when it is ready
        with LoopWatch(tell_s=0.08) as watch:  # what holds it for longer is named in the log
            await _serve(target, watch)


async def _serve(target: Target, watch: LoopWatch) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := (await reader.readline()).strip():
        answer: Mapping[str, Any]
        match line:
            case b"refresh":
                answer = await target.refresh()
            case b"callers":
                answer = await target.callers()
            case _ if line.startswith(b"could "):
                answer = {"could": await target.could(**orjson.loads(line.removeprefix(b"could ")))}
            case _:
                answer = {"longest_s": watch.longest_s, "longest_cpu_s": watch.longest_cpu_s}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    import uvloop

    uvloop.run(main())
