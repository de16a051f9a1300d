"""Saying for how long the log of a trial is kept, and removing the logs that were kept for long enough."""

from __future__ import annotations

from resolute.api.call import Call
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.reading import expect_given
from resolute.api.logs.messages import (
    CleanUpLogs,
    CleanUpLogsAnswer,
    GetRemainingDays,
    PutTrialRetainLogs,
    RemainingDaysAnswer,
)
from resolute.api.logs.queries import QUERIES
from resolute.api.trials import lookup
from resolute.proto.errors import NotFound
from resolute.proto.experiment import SetTrialLogRetention


async def put_trial_retain_logs(call: Call, request: PutTrialRetainLogs) -> Empty:
    """Keep the log of one trial for so many days after its end, whatever its experiment says; -1 keeps it for ever."""
    trial = await lookup.trial(call.gateway, request.trial_id)
    days = expect_given(request.body.num_days, "numDays")
    await call.send(SetTrialLogRetention(trial.experiment_id, trial.trial_id, days))
    return Empty()


async def get_remaining_days(call: Call, request: GetRemainingDays) -> RemainingDaysAnswer:
    """For how many more days the log of a trial is kept; -1 is for ever; nothing while it has not ended."""
    gateway = call.gateway
    kept = await gateway.ports.of(QUERIES).retention(request.id, gateway.log_removal.default_days)
    if kept is None:
        raise NotFound(f"trial {request.id} not found")
    return RemainingDaysAnswer(remaining_days=kept.remaining_days(gateway.context.now()))


async def clean_up_logs(call: Call, request: CleanUpLogs) -> CleanUpLogsAnswer:
    """Remove, now, the logs of all trials that were kept for long enough."""
    removed = await call.gateway.log_removal.remove_expired(call.principal.username)
    return CleanUpLogsAnswer(removed_count=removed)
