"""For how long the logs of trials are kept, and removing those that were kept for long enough."""

from __future__ import annotations

from typing import Any

from resolute.api import lookup
from resolute.api.call import Call
from resolute.api.routing import ADMIN, OWNERS, SIGNED_IN, Route
from resolute.api.views.trial_logs import retention_of
from resolute.api.wire import int64, whole
from resolute.proto.experiment import SetTrialLogRetention


async def retain_trial_logs(call: Call) -> dict[str, Any]:
    """Keep the log of one trial for so many days after its end, whatever its experiment says; -1 keeps it for ever."""
    trial = await lookup.trial(call.gateway, call.int("trialId"))
    days = whole(call.body.get("numDays"), "numDays")
    await call.send(SetTrialLogRetention(trial.experiment_id, trial.trial_id, days))
    return {}


async def get_remaining_days(call: Call) -> dict[str, Any]:
    """For how many more days the log of a trial is kept; -1 is for ever; nothing while it has not ended."""
    gateway = call.gateway
    kept = await retention_of(gateway.read, call.int("id"), gateway.log_removal.default_days)
    days = kept.remaining_days(gateway.context.now())
    return {} if days is None else {"remainingDays": days}


async def clean_up_logs(call: Call) -> dict[str, Any]:
    """Remove, now, the logs of all trials that were kept for long enough."""
    removed = await call.gateway.log_removal.remove_expired(call.principal.username)
    return {"removedCount": int64(removed)}


ROUTES = (
    Route("CleanupLogs", "POST", "/api/v1/cleanup_logs", clean_up_logs, ADMIN.to("cluster.edit").outside()),
    Route(
        "GetTrialRemainingLogRetentionDays",
        "GET",
        "/api/v1/trials/{id}/remaining_log_retention_days",
        get_remaining_days,
        SIGNED_IN.to("experiment.view").about("trial", "id"),
    ),
    Route(
        "PutTrialRetainLogs",
        "PUT",
        "/api/v1/trials/{trialId}/retain_logs",
        retain_trial_logs,
        OWNERS.to("experiment.edit").about("trial", "trialId"),
    ),
)
