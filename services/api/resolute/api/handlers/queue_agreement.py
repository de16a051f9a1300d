"""Waiting until the queue and the configuration of an experiment say the same of its job.

A change of the queue is one command, to the searcher or to the scheduler; the other of the two follows it from the log.
The request is answered when both show the change.
"""

from __future__ import annotations

import asyncio

from resolute.api import signals
from resolute.api.call import Call
from resolute.proto.errors import Unavailable
from resolute.proto.queue import JobSetting

AGREE = """SELECT NOT EXISTS (
    SELECT 1 FROM read_experiments.experiments e JOIN read_experiments.experiment_configs f ON f.experiment_id = e.id
    JOIN read_tasks.allocations a ON a.job_id = e.job_id AND a.pool = e.resource_pool AND a.ended_at IS NULL
    WHERE e.id = $1 AND {} IS DISTINCT FROM {})"""

SETTINGS = {
    JobSetting.PRIORITY: AGREE.format("a.priority", "(f.config #>> '{resources,priority}')::int"),
    JobSetting.WEIGHT: AGREE.format("a.weight", "(f.config #>> '{resources,weight}')::float8"),
}
"""By what may differ: whether all that the job asks for or holds in its pool goes by the configuration."""

FOLLOWED_WITHIN_S = 20.0
"""How long a request waits for that. A change takes some hundredths of a second while all services answer."""

LOOK_AGAIN_S = 0.25
"""How long one wait for news lasts. News may be lost on their way, so the tables are looked at again after it."""


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
    while True:
        heard = gateway.signals.heard(*about)
        await gateway.read.catch_up()
        if await gateway.read.value(SETTINGS[setting], experiment_id):
            return
        if gateway.signals.heard(*about) == heard:
            await gateway.signals.wait(*about, timeout_s=LOOK_AGAIN_S)
