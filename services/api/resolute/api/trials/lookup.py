"""Finding a trial by its id, or by its task, for the calls of running trials.

A task may call before the tables of this gateway show that its trial exists. So what is not found is looked for once
more in tables that show everything, and only then is it unknown: an answer 404 ends a trial, and must be true.
"""

from __future__ import annotations

import time

from resolute.api import signals
from resolute.api.freshness import TRUSTED_S
from resolute.api.gateway import Gateway
from resolute.api.kernel.newest import looked_for
from resolute.api.trials.known import KnownTrial
from resolute.api.trials.lookup_queries import LOOKUPS, TrialLookups, TrialRef
from resolute.proto.errors import NotFound

REMEMBERED = 50_000
"""Trials that reports are looked up for without the database."""


async def trial(gateway: Gateway, trial_id: int) -> TrialRef:
    """Raises NotFound. What it answers never changes, so it is remembered for as long as the trial exists. Whether the
    trial exists is asked again each second, and at once when the bus says that it was deleted."""
    known = gateway.trials.get(trial_id)
    if known is not None and known.until_s > time.monotonic() and _deleted_at(gateway, known.ref) <= known.position:
        return known.ref
    position = _deleted_at(gateway, known.ref) if known is not None else 0
    await gateway.freshness.ensure()
    await gateway.read.reached(position)
    found = await _looked_up(gateway, trial_id, known)
    if found is None:
        gateway.trials.pop(trial_id, None)
        raise NotFound(f"trial {trial_id} not found")
    _remember(gateway.trials, KnownTrial(found, time.monotonic() + TRUSTED_S, position))
    return found


def _remember(trials: dict[int, KnownTrial], known: KnownTrial) -> None:
    while len(trials) >= REMEMBERED:
        del trials[next(iter(trials))]  # the one that was remembered first
    trials[known.ref.trial_id] = known


async def _looked_up(gateway: Gateway, trial_id: int, known: KnownTrial | None) -> TrialRef | None:
    lookups = _lookups(gateway)
    if known is not None:
        return known.ref if await lookups.exists(trial_id) else None
    return await looked_for(gateway.read, lambda: lookups.trial(trial_id))


def _deleted_at(gateway: Gateway, ref: TrialRef) -> int:
    """The position of the newest event that the trial's experiment was deleted; 0 for none."""
    return gateway.signals.heard(signals.deletion(ref.experiment_id))


async def trial_of_task(gateway: Gateway, task_id: str) -> TrialRef:
    """Raises NotFound, also for a task that is no trial's."""
    found = await looked_for(gateway.read, lambda: _lookups(gateway).trial_of_task(task_id))
    if found is None:
        raise NotFound(f"task {task_id!r} not found, or not a trial's")
    return found


def _lookups(gateway: Gateway) -> TrialLookups:
    return gateway.ports.of(LOOKUPS)
