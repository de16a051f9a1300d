"""The order of a pool's queue, in SQL: the keys that `resolute.proto.queue.order_of` names, as columns.

`KEYED` has two tables: `live`, the jobs that ask for slots or hold some, one row for each job and pool; and `keyed`,
the same rows with their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from resolute.api.settings import ApiSettings
from resolute.api.shown_states import AllocationState
from resolute.config.pools import Scheduler
from resolute.proto.queue import OrderKey, PolicyName, order_of

_COLUMNS = {OrderKey.SHARE: "share", OrderKey.PRIORITY: "rank", OrderKey.POSITION: "place"}
assert tuple(_COLUMNS) == tuple(OrderKey), "the columns follow one another as the keys do"

_IDS = 'job_id COLLATE "C"'
"""As Python compares them."""


def by_keys(row: str) -> str:
    """For ORDER BY: the keys of a row. One that is not of the pool's order is the same for all jobs of the pool."""
    return ", ".join(f"{row}.{column}" for column in (*_COLUMNS.values(), _IDS))


def before(one: str, other: str) -> str:
    """Whether the job of the row `one` is served before that of `other`."""
    return f"({by_keys(one)}) < ({by_keys(other)})"


def of_latest(column: str) -> str:
    """Of allocations `a` of one job, what the latest request says: by that the scheduler puts the job in the queue. A
    change by a person is written into all of them."""
    return f"(array_agg({column} ORDER BY a.requested_at DESC, a.allocation_id DESC))[1]"


# $1: pools whose jobs go by priority; $2: those whose jobs go by what each of them holds, by its weight; $3: those
# whose jobs go by what their user holds. Work that needs no slots goes by priority in any pool, as `order_of` says.
KEYED = f"""live AS (
    SELECT a.job_id, a.pool, min(a.name) AS name, min(a.owner) AS owner, min(a.task_type) AS kind,
        {of_latest("a.priority")} AS priority, {of_latest("a.weight")} AS weight,
        min(a.requested_at) AS requested_at, sum(a.slots)::int AS requested,
        coalesce(sum(a.slots) FILTER (WHERE a.state <> '{AllocationState.QUEUED}'), 0)::int AS allocated,
        bool_or(a.state <> '{AllocationState.QUEUED}') AS scheduled, min(a.task_id) AS task_id,
        min(a.experiment_id) AS experiment_id
    FROM read_tasks.allocations a WHERE a.ended_at IS NULL GROUP BY a.job_id, a.pool),
keyed AS (
    SELECT l.*, j.place,
        CASE WHEN l.requested = 0 OR l.pool = ANY($1::text[]) THEN l.priority ELSE 0 END AS rank,
        CASE WHEN l.requested = 0 THEN 0
            WHEN l.pool = ANY($2::text[]) THEN l.allocated / l.weight
            WHEN l.pool = ANY($3::text[]) THEN sum(l.allocated) OVER (PARTITION BY l.pool, l.owner)
            ELSE 0 END AS share
    FROM live l JOIN read_queue.jobs j USING (job_id, pool))"""
assert all(order_of(policy, slots=False) == (OrderKey.PRIORITY, OrderKey.POSITION) for policy in PolicyName)


def policies(settings: ApiSettings) -> tuple[list[str], list[str], list[str]]:
    """The first three arguments of statements with `KEYED`."""

    def pools(key: OrderKey, of: Callable[[Scheduler], bool] = lambda scheduler: True) -> list[str]:
        named = ((name, settings.scheduler_of(name)) for name in settings.pool_names)
        return [name for name, how in named if key in order_of(how.type, slots=True) and of(how)]

    return pools(OrderKey.PRIORITY), pools(OrderKey.SHARE, _of_jobs), pools(OrderKey.SHARE, _of_users)


def keys_of(scheduler: Scheduler, *, slots: bool) -> Sequence[bool]:
    """Whether priorities count in a pool, whether what users hold does, and whether what jobs hold does."""
    order = order_of(scheduler.type, slots=slots)
    shares = OrderKey.SHARE in order
    return OrderKey.PRIORITY in order, shares and _of_users(scheduler), shares and _of_jobs(scheduler)


def _of_users(scheduler: Scheduler) -> bool:
    return scheduler.fair_share_groups == "user"


def _of_jobs(scheduler: Scheduler) -> bool:
    return not _of_users(scheduler)
