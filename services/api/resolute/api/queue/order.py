"""By what the jobs of each pool are served, one after another: `resolute.proto.queue.order_of`, as statements need it.

In the tables each key of the order is a column; a key that does not count in a pool is the same for all of its jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from resolute.api.settings import ApiSettings
from resolute.config.pools import Scheduler
from resolute.proto.queue import OrderKey, PolicyName, order_of

COLUMNS = {OrderKey.SHARE: "share", OrderKey.PRIORITY: "rank", OrderKey.POSITION: "place"}
assert tuple(COLUMNS) == tuple(OrderKey), "the columns follow one another as the keys do"

# Work that needs no slots goes by priority in any pool, which the statements say as well.
assert all(order_of(policy, slots=False) == (OrderKey.PRIORITY, OrderKey.POSITION) for policy in PolicyName)


@dataclass(frozen=True, slots=True)
class PoolOrders:
    """Pools, by what their jobs are served by besides their positions."""

    by_priority: Sequence[str]
    by_share_of_job: Sequence[str]
    """By what each job holds, for its weight."""
    by_share_of_user: Sequence[str]
    """By what all jobs of the user hold."""

    @property
    def arguments(self) -> tuple[list[str], list[str], list[str]]:
        """The first three arguments of statements that rank jobs."""
        return list(self.by_priority), list(self.by_share_of_job), list(self.by_share_of_user)


@dataclass(frozen=True, slots=True)
class Keys:
    """What counts among the jobs of one pool besides their positions."""

    priority: bool
    share_of_user: bool
    share_of_job: bool


def orders_of(settings: ApiSettings) -> PoolOrders:
    def pools(key: OrderKey, of: Callable[[Scheduler], bool] = lambda scheduler: True) -> list[str]:
        named = ((name, settings.scheduler_of(name)) for name in settings.pool_names)
        return [name for name, how in named if key in order_of(how.type, slots=True) and of(how)]

    return PoolOrders(
        pools(OrderKey.PRIORITY), pools(OrderKey.SHARE, _shared_by_jobs), pools(OrderKey.SHARE, _shared_by_users)
    )


def keys_of(scheduler: Scheduler, *, slots: bool) -> Keys:
    """`slots`: whether the jobs need any."""
    order = order_of(scheduler.type, slots=slots)
    shares = OrderKey.SHARE in order
    return Keys(
        priority=OrderKey.PRIORITY in order,
        share_of_user=shares and _shared_by_users(scheduler),
        share_of_job=shares and _shared_by_jobs(scheduler),
    )


def _shared_by_users(scheduler: Scheduler) -> bool:
    return scheduler.fair_share_groups == "user"


def _shared_by_jobs(scheduler: Scheduler) -> bool:
    return not _shared_by_users(scheduler)


# ---------------------------------------------------------------- in statements

_IDS = 'job_id COLLATE "C"'
"""As Python compares them."""


def by_keys(row: str) -> str:
    """For ORDER BY: the keys of a row."""
    return ", ".join(f"{row}.{column}" for column in (*COLUMNS.values(), _IDS))


def before(one: str, other: str) -> str:
    """Whether the job of the row `one` is served before that of `other`."""
    return f"({by_keys(one)}) < ({by_keys(other)})"


def of_latest(column: str) -> str:
    """Of allocations `a` of one job, what the latest request says: by that the scheduler puts the job in the queue. A
    change by a person is written into all of them."""
    return f"(array_agg({column} ORDER BY a.requested_at DESC, a.allocation_id DESC))[1]"
