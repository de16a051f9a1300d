"""When a stream about experiments looks again, and when it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from resolute.api import signals
from resolute.api.call import Call
from resolute.api.charts.queries import QUERIES, ChartedExperiment, ChartQueries
from resolute.api.kernel.long_polls import changed_since, deadline_in, newest_position
from resolute.proto.errors import NotFound
from resolute.proto.states import is_over

PERIOD_S = 30.0
"""Between two messages, where the request does not say."""


def queries(call: Call) -> ChartQueries:
    return call.gateway.ports.of(QUERIES)


async def experiments(call: Call, ids: Sequence[int]) -> Sequence[ChartedExperiment]:
    """Raises NotFound for the first that does not exist."""
    found = {one.id: one for one in await queries(call).experiments(ids)}
    for id_ in ids:
        if id_ not in found:
            raise NotFound(f"experiment {id_} not found")
    return list(found.values())


async def looks(call: Call, ids: Sequence[int], period_seconds: int) -> AsyncIterator[None]:
    """One step at once, one each period, and a last one as soon as all the experiments have ended.

    What trials reported before the end is there in the last step. Raises Refused or NotFound when the caller may not
    see the experiments any more.
    """
    while True:
        over = await _are_over(call, ids)
        yield
        if over:
            return
        await _pause(call, ids, period_seconds or PERIOD_S)


async def _pause(call: Call, ids: Sequence[int], period_s: float) -> None:
    """Return when the period is over, or as soon as the experiments have ended."""
    about = [signals.experiment(id_) for id_ in ids]
    deadline = deadline_in(period_s)
    while True:
        seen = await newest_position(call, *about)
        if await _are_over(call, ids) or not await changed_since(call, seen, *about, deadline=deadline):
            return


async def _are_over(call: Call, ids: Sequence[int]) -> bool:
    return all(is_over(one.state) for one in await queries(call).experiments(ids))
