"""Whether a pool exists, is for a workspace, and could ever hold a piece of work: checked before work is accepted."""

from __future__ import annotations

from collections.abc import Collection

import structlog

from resolute import codec
from resolute.api.call import Call
from resolute.api.pools.queries import QUERIES
from resolute.api.settings import ApiSettings
from resolute.config import Slots
from resolute.proto.errors import Failed, InvalidConfig, Unavailable
from resolute.proto.pool import CheckFit, Fit

log_ = structlog.get_logger()

FIT_TIMEOUT_S = 2.0
"""Work is accepted while the scheduler is away: the scheduler says what cannot fit when it is back."""


def check_pool(path: str, name: str, settings: ApiSettings) -> None:
    """Raises InvalidConfig for a pool that the cluster does not have."""
    if name not in settings.pool_names:
        raise InvalidConfig(f"{path}: no pool {name!r}; there are {', '.join(settings.pool_names)}")


async def check_usable(call: Call, path: str, name: str, workspace_id: int | None) -> None:
    """Raises InvalidConfig for a pool that the cluster does not have, or that is bound to other workspaces alone."""
    check_pool(path, name, call.gateway.settings)
    await check_bound(call, path, name, workspace_id)


async def check_bound(call: Call, path: str, name: str, workspace_id: int | None) -> None:
    """Raises InvalidConfig for a pool that is bound to other workspaces alone."""
    if not is_for((await call.gateway.ports.of(QUERIES).bindings()).get(name), workspace_id):
        raise InvalidConfig(
            f"{path}: resource pool {name} does not exist or is not available to workspace id {workspace_id}; "
            "`det workspace list-pools` shows those that are"
        )


def is_for(bound: Collection[int] | None, workspace_id: int | None) -> bool:
    """Whether a pool that is bound to these workspaces is for this one. A pool that is bound to none is for all."""
    return not bound or workspace_id in bound


async def check_fit(call: Call, path: str, pool: str, slots: Slots, *, single_agent: bool = False) -> bool:
    """Whether the pool could hold so many slots when it is idle. Where it could not, this raises InvalidConfig, saying
    what would fit, unless the setting `launch_error` accepts such work."""
    fit = await _fit(call, CheckFit(pool, slots.most, single_agent, slots_min=slots.least))
    if not fit.fits and call.gateway.settings.launch_error:
        remedy = f"; {fit.would_fit}" if fit.would_fit else ""
        asked = slots.most if slots.least == slots.most else f"{slots.least} to {slots.most}"
        raise InvalidConfig(f"{path}: {asked} slots can never run in pool {pool!r}: {fit.why}{remedy}")
    return fit.fits


async def _fit(call: Call, question: CheckFit) -> Fit:
    """What the scheduler answers; that it fits, where the scheduler does not answer in time."""
    cause = call.cause.then(f"fit/{question.pool}/{question.slots_min}/{question.slots}")
    try:
        reply = await call.gateway.context.bus.request(question, cause, FIT_TIMEOUT_S)
    except (Unavailable, Failed) as error:
        log_.warning(
            "it is unknown whether the work fits", pool=question.pool, slots=question.slots_min, why=error.message
        )
        return Fit(fits=True)
    return codec.load(Fit, reply.data)
