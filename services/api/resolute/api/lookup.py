"""What the measuring routes ask of the read model: which experiment a trial is of, how an allocation stands.

A task may call a moment before the read model has heard of it, just after a gateway started: whatever is not found
is looked for once more on the newest state, and only then unknown. A 404 ends a trial; it must be true.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import asyncpg
import orjson

from resolute.api.database import outages
from resolute.proto.errors import NotFound

if TYPE_CHECKING:
    from resolute.api.gateway import Gateway


@dataclass(frozen=True, slots=True)
class TrialRef:
    trial_id: int
    experiment_id: int
    task_id: str
    metric: str
    """The searcher's metric."""
    smaller_is_better: bool
    storage: dict[str, Any]
    """The experiment's `checkpoint_storage`."""

    @property
    def task_ids(self) -> list[str]:
        return [self.task_id]


@dataclass(frozen=True, slots=True)
class Share:
    """An allocation's part on one agent."""

    address: str
    slots: int


@dataclass(frozen=True, slots=True)
class AllocationRef:
    allocation_id: str
    pool: str
    started: bool
    ended: bool
    preempting: bool
    resources: dict[str, Share]
    """By resources id, in rank order."""


TRIAL = """SELECT t.id, t.experiment_id, t.task_id, e.searcher_metric, e.smaller_is_better,
    f.config -> 'checkpoint_storage' AS storage
FROM read_v1.trials t JOIN read_v1.experiments e ON e.id = t.experiment_id
JOIN read_v1.experiment_configs f ON f.experiment_id = e.id WHERE """

ALLOCATION = """SELECT allocation_id, pool, started_at, ended_at, preemption_deadline_at
FROM read_v1.allocations WHERE allocation_id = $1"""

SHARES = """SELECT resources_id, address, cardinality(slot_ids) AS slots FROM read_v1.placements
WHERE allocation_id = $1 ORDER BY share"""

TASK_ENDED = """SELECT t.ended_at IS NOT NULL FROM read_v1.trials t WHERE t.task_id = $1
UNION ALL
SELECT bool_and(a.ended_at IS NOT NULL) FROM read_v1.allocations a
WHERE a.task_id = $1 AND a.task_type <> 'TRIAL' HAVING count(*) > 0"""

CONTEXT = """SELECT b.content FROM api.blobs b JOIN read_v1.experiments e ON e.model_definition = b.sha256
JOIN read_v1.trials t ON t.experiment_id = e.id WHERE t.task_id = $1"""


GATHER = """INSERT INTO measures.gathered (allocation_id, request_uuid, data) VALUES ($1, $2, $3)
ON CONFLICT DO NOTHING"""

GATHERED = "SELECT request_uuid, data FROM measures.gathered WHERE allocation_id = $1 ORDER BY arrived"


async def _row(gateway: Gateway, sql: str, *args: Any) -> asyncpg.Record | None:
    row = await gateway.read.row(sql, *args)
    if row is None:
        await gateway.read.catch_up()
        row = await gateway.read.row(sql, *args)
    return row


def _trial_ref(row: asyncpg.Record) -> TrialRef:
    return TrialRef(
        trial_id=row["id"],
        experiment_id=row["experiment_id"],
        task_id=row["task_id"],
        metric=row["searcher_metric"],
        smaller_is_better=row["smaller_is_better"],
        storage=orjson.loads(row["storage"] or "{}"),
    )


async def trial(gateway: Gateway, trial_id: int) -> TrialRef:
    """Raises NotFound. What it answers never changes, so it is remembered."""
    if (known := gateway.trials.get(trial_id)) is not None:
        return known
    row = await _row(gateway, TRIAL + "t.id = $1", trial_id)
    if row is None:
        raise NotFound(f"trial {trial_id} not found")
    found = _trial_ref(row)
    gateway.trials[trial_id] = found
    return found


async def trial_of_task(gateway: Gateway, task_id: str) -> TrialRef:
    row = await _row(gateway, TRIAL + "t.task_id = $1", task_id)
    if row is None:
        raise NotFound(f"task {task_id!r} not found, or not a trial's")
    return _trial_ref(row)


async def task(gateway: Gateway, task_id: str) -> str:
    """The id itself, when there is such a task. Raises NotFound."""
    known = await _row(
        gateway,
        "SELECT 1 FROM read_v1.trials WHERE task_id = $1 UNION SELECT 1 FROM read_v1.allocations WHERE task_id = $1",
        task_id,
    )
    if known is None:
        raise NotFound(f"task {task_id!r} not found")
    return task_id


async def task_ended(gateway: Gateway, task_id: str) -> bool:
    """Whether no more output is to be expected of the task."""
    return bool(await gateway.read.value(TASK_ENDED, task_id))


async def allocation(gateway: Gateway, allocation_id: str, resources_id: str = "") -> AllocationRef:
    """Raises NotFound. With a `resources_id`, one that is not known yet is looked for on the newest state: who asks
    about the share he runs in may be faster than the news that it was given."""
    found = await _allocation_ref(gateway, allocation_id)
    if resources_id and resources_id not in found.resources:
        await gateway.read.catch_up()
        found = await _allocation_ref(gateway, allocation_id)
    return found


async def _allocation_ref(gateway: Gateway, allocation_id: str) -> AllocationRef:
    row = await _row(gateway, ALLOCATION, allocation_id)
    if row is None:
        raise NotFound(f"allocation {allocation_id!r} not found")
    shares = await gateway.read.rows(SHARES, allocation_id)
    return AllocationRef(
        allocation_id=allocation_id,
        pool=row["pool"],
        started=row["started_at"] is not None,
        ended=row["ended_at"] is not None,
        preempting=row["preemption_deadline_at"] is not None,
        resources={share["resources_id"]: Share(share["address"], share["slots"]) for share in shares},
    )


async def experiment_of_checkpoint(gateway: Gateway, uuid: str) -> int:
    experiment_id = await gateway.read.experiment_of(uuid)
    if experiment_id is None:
        raise NotFound(f"checkpoint {uuid!r} not found")
    return experiment_id


async def context_directory(gateway: Gateway, task_id: str) -> bytes:
    """The archive (tar, gzip) of the task's context directory; empty when it has none."""
    await task(gateway, task_id)
    content = await gateway.read.value(CONTEXT, task_id)
    return bytes(content) if content is not None else b""


# ---------------------------------------------------------------- what peers leave for one another


async def gather(gateway: Gateway, allocation_id: str, request_uuid: str, data: Any) -> None:
    with outages():
        await gateway.pool.execute(
            GATHER,
            allocation_id,
            request_uuid,
            orjson.dumps(data).decode(),
        )


async def gathered(gateway: Gateway, allocation_id: str, request_uuid: str, peers: int) -> Sequence[Any]:
    """What the peers have brought so far to the round that `request_uuid` is of.

    A peer comes to the next round after the one before is complete, so every `peers` in order of coming are a round.
    """
    with outages():
        rows = await gateway.pool.fetch(GATHERED, allocation_id)
    place = next(place for place, row in enumerate(rows) if row["request_uuid"] == request_uuid)
    first = place - place % peers
    return [orjson.loads(row["data"]) for row in rows[first : first + peers]]


async def note_accelerators(gateway: Gateway, allocation_id: str, data: dict[str, Any]) -> None:
    """Keep which devices a share of the allocation was given; saying it again replaces it."""
    with outages():
        await gateway.pool.execute(
            """INSERT INTO measures.accelerators
            (allocation_id, container_id, task_id, node_name, accelerator_type, uuids) VALUES ($1, $2, $3, $4, $5, $6)
            ON CONFLICT (allocation_id, container_id) DO UPDATE SET uuids = EXCLUDED.uuids""",
            allocation_id,
            str(data.get("containerId") or ""),
            str(data.get("taskId") or ""),
            str(data.get("nodeName") or ""),
            str(data.get("acceleratorType") or ""),
            orjson.dumps(data.get("acceleratorUuids") or []).decode(),
        )
