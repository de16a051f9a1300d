"""Finding trials, tasks and checkpoints by their ids, for the calls of running tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resolute.api.tasks.lookup import task as task
from resolute.api.tasks.lookup import task_ended as task_ended
from resolute.api.trials.lookup import trial as trial
from resolute.api.trials.lookup import trial_of_task as trial_of_task
from resolute.api.trials.lookup_queries import TrialRef as TrialRef
from resolute.proto.errors import NotFound

if TYPE_CHECKING:
    from resolute.api.gateway import Gateway


async def experiment_of_checkpoint(gateway: Gateway, uuid: str) -> int:
    experiment_id = await gateway.places.experiment_of(uuid)
    if experiment_id is None:
        raise NotFound(f"checkpoint {uuid!r} not found")
    return experiment_id
