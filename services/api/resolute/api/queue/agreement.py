"""Waiting until the queue and the configuration of an experiment say the same of its job.

A change of the queue is one command, to the searcher or to the scheduler; the other of the two follows it from the log.
The request is answered when both show the change.
"""

from __future__ import annotations

import asyncio

from resolute.api import signals
from resolute.api.call import Call
from resolute.api.queue.change_queries import QUERIES
from resolute.proto.errors import Unavailable
from resolute.proto.queue import JobSetting

FOLLOWED_WITHIN_S = 20.0
"""How long a request waits for that. A change takes some hundredths of a second while all services answer."""

LOOK_AGAIN_S = 0.25
"""How long one wait for a signal lasts. Signals may be lost on their way, so the tables are read again after it."""


async def reached(call: Call, experiment_id: int, job_id: str, setting: JobSetting) -> None:
    """Return when the queue and the configuration agree. Raises Unavailable where that takes too long."""
    try:
        async with asyncio.timeout(FOLLOWED_WITHIN_S):
            await _until_they_agree(call, experiment_id, job_id, setting)
    except TimeoutError:
        raise Unavailable(
            f"the {setting} of experiment {experiment_id} was changed, and the queue does not go by it yet: the "
            "scheduler or the searcher does not answer; the change takes effect when it does"
        ) from None


async def _until_they_agree(call: Call, experiment_id: int, job_id: str, setting: JobSetting) -> None:
    gateway, about = call.gateway, (signals.job(job_id), signals.configuration(experiment_id))
    queries = gateway.ports.of(QUERIES)
    while True:
        count = gateway.signals.heard(*about)
        await gateway.read.catch_up()
        if await queries.is_agreed(experiment_id, setting):
            return
        if gateway.signals.heard(*about) == count:
            await gateway.signals.wait(*about, timeout_s=LOOK_AGAIN_S)
