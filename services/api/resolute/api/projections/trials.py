"""Trials, their runs and what the searcher saw of them: event -> rows."""

from __future__ import annotations

from resolute.api.projections.statement import Statement, derived, document, insert, statement, update
from resolute.proto.experiment import (
    TrialContinued,
    TrialCreated,
    TrialEnded,
    TrialLogPolicyMatched,
    TrialLogRemoved,
    TrialLogRetentionSet,
    TrialMetadataChanged,
    TrialRunEnded,
    TrialRunRequested,
    TrialRunStarted,
    TrialStopRequested,
    TrialTargetReached,
    TrialTargetSet,
    TrialValidated,
)
from resolute.proto.message import Recorded
from resolute.proto.states import RunOutcome, TrialState, is_stopping, stopping

COUNT_TRIAL = "UPDATE read_v1.experiments SET trials = trials + 1 WHERE id = $1"

RUN_STARTED = "UPDATE read_v1.runs SET started_at = $3 WHERE trial_id = $1 AND run_id = $2"

RUN_TO_STOP = "UPDATE read_v1.runs SET stop_asked = true WHERE trial_id = $1 AND allocation_id = $2"

RUN_ENDED = """UPDATE read_v1.runs SET ended_at = $3, outcome = $4, exit_code = $5, reason = $6
WHERE trial_id = $1 AND run_id = $2"""

# A run after one that failed is a restart; one after a pause, after its host was lost, or of a trial that had ended
# and was continued, is not.
RESTARTED = f"""UPDATE read_v1.trials SET restarts = restarts + 1
WHERE id = $1 AND continued_after_run <> $2
  AND EXISTS (SELECT FROM read_v1.runs WHERE trial_id = $1 AND run_id = $2 AND outcome = '{RunOutcome.FAILED}')"""

_GOES_ON = TrialState.ACTIVE.value
CONTINUED = f"""UPDATE read_v1.trials
SET state = '{_GOES_ON}', reason = '', restarts = 0, ended_at = NULL, continued_after_run = run_id WHERE id = $1"""

# A run repeated the steps after a checkpoint: of two reports of one step the later counts.
VALIDATED = """INSERT INTO read_v1.validations (trial_id, steps_completed, run_id, experiment_id, metric, reported_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (trial_id, steps_completed) DO UPDATE
SET run_id = EXCLUDED.run_id, metric = EXCLUDED.metric, reported_at = EXCLUDED.reported_at"""

LATEST = "UPDATE read_v1.trials SET latest_metric = $2, latest_steps = $3 WHERE id = $1"

# A repeated step may take the best away: then it is another step's, or nobody's.
BEST_OF_TRIAL = """UPDATE read_v1.trials t SET best_metric = v.metric, best_steps = v.steps_completed
FROM (SELECT) one LEFT JOIN (
    SELECT v.metric, v.steps_completed FROM read_v1.validations v
    JOIN read_v1.experiments e ON e.id = v.experiment_id
    WHERE v.trial_id = $1 AND v.metric IS NOT NULL
    ORDER BY v.metric * CASE WHEN e.smaller_is_better THEN 1 ELSE -1 END, v.steps_completed LIMIT 1) v ON true
WHERE t.id = $1"""

# The trial that is best stays so while it gets no worse; when it does, all are compared. Of equals the first wins,
# and NaN never does: it sorts behind everything, whatever its sign.
_SIGN = "CASE WHEN e.smaller_is_better THEN 1 ELSE -1 END"
_FELL = (
    f"(e.best_trial_id IS NOT DISTINCT FROM t.id AND (t.best_metric * {_SIGN} <= e.best_metric * {_SIGN}) IS NOT true)"
)
BEST_OF_EXPERIMENT = f"""UPDATE read_v1.experiments e SET (best_trial_id, best_metric) = (
    SELECT t.id, t.best_metric WHERE NOT {_FELL}
    UNION ALL (
        SELECT o.id, o.best_metric FROM read_v1.trials o
        WHERE {_FELL} AND o.experiment_id = e.id AND o.best_metric IS NOT NULL
        ORDER BY o.best_metric * {_SIGN}, o.id LIMIT 1))
FROM read_v1.trials t
WHERE e.id = $1 AND t.id = $2
  AND (e.best_trial_id = t.id AND e.best_metric IS DISTINCT FROM t.best_metric
       OR t.best_metric IS NOT NULL AND e.best_metric IS NULL
       OR (t.best_metric * {_SIGN}, t.id) < (e.best_metric * {_SIGN}, e.best_trial_id))"""


def project(recorded: Recorded) -> list[Statement]:
    experiment_id = int(recorded.key)
    at = recorded.recorded_at
    match recorded.event:
        case TrialCreated() as created:
            return [
                _created(experiment_id, created, recorded),
                statement(COUNT_TRIAL, experiment_id, touches=(f"experiments:{experiment_id}:trials",)),
            ]
        case TrialRunRequested() as run:
            return [
                insert(
                    "runs",
                    (f"runs:{run.trial_id}",),
                    trial_id=run.trial_id,
                    run_id=run.run_id,
                    allocation_id=run.allocation_id,
                    checkpoint=run.checkpoint,
                    steps_completed=run.steps_completed,
                    requested_at=at,
                ),
                update("trials", "id", run.trial_id, run_id=run.run_id, state=TrialState.ACTIVE),
                statement(
                    RESTARTED, run.trial_id, run.run_id - 1, touches=(f"trials:{run.trial_id}", f"runs:{run.trial_id}")
                ),
            ]
        case TrialRunStarted(trial_id=trial_id, run_id=run_id):
            return [statement(RUN_STARTED, trial_id, run_id, at, touches=(f"runs:{trial_id}",))]
        case TrialValidated() as validated:
            return _validated(experiment_id, validated, recorded)
        case TrialTargetSet(trial_id=trial_id, length=length):
            return [update("trials", "id", trial_id, target=length, target_reached=False)]
        case TrialTargetReached(trial_id=trial_id):
            return [update("trials", "id", trial_id, target_reached=True)]
        case TrialStopRequested() as stop:
            return _stop_requested(stop)
        case TrialRunEnded() as ended:
            return _run_ended(ended, recorded)
        case TrialContinued(trial_id=trial_id, hparams=hparams):
            changed = [] if hparams is None else [update("trials", "id", trial_id, hparams=document(hparams))]
            return [statement(CONTINUED, trial_id, touches=(f"trials:{trial_id}",)), *changed]
        case TrialLogPolicyMatched(trial_id=trial_id, policy=policy):
            return [update("trials", "id", trial_id, log_policy_matched=policy)]
        case TrialLogRetentionSet(trial_id=trial_id, days=days):
            return [update("trials", "id", trial_id, log_retention_days=days)]
        case TrialMetadataChanged(trial_id=trial_id, metadata=metadata):
            return [update("trials", "id", trial_id, metadata=document(metadata))]
        case TrialLogRemoved() as removed:
            return [_log_removed(removed, recorded)]
        case TrialEnded(trial_id=trial_id, outcome=outcome, reason=reason):
            return [update("trials", "id", trial_id, state=outcome, reason=reason, ended_at=at)]
    return []


def _stop_requested(stop: TrialStopRequested) -> list[Statement]:
    run = statement(RUN_TO_STOP, stop.trial_id, stop.allocation_id, touches=(f"runs:{stop.trial_id}",))
    if is_stopping(state := stopping(stop.then)):
        return [update("trials", "id", stop.trial_id, state=state), run]
    return [run]


def _created(experiment_id: int, created: TrialCreated, recorded: Recorded) -> Statement:
    return insert(
        "trials",
        (f"trials:{created.trial_id}",),
        id=created.trial_id,
        experiment_id=experiment_id,
        request_id=created.request_id,
        task_id=created.task_id,
        hparams=document(created.hparams),
        seed=created.seed,
        warm_start=created.source_checkpoint,
        state=TrialState.ACTIVE,
        started_at=recorded.recorded_at,
    )


def _log_removed(removed: TrialLogRemoved, recorded: Recorded) -> Statement:
    return update(
        "trials",
        "id",
        removed.trial_id,
        logs_removed_at=recorded.recorded_at,
        logs_removed_after_days=removed.retention_days,
        logs_removed_lines=removed.lines,
    )


def _validated(experiment_id: int, validated: TrialValidated, recorded: Recorded) -> list[Statement]:
    trial_id, steps, metric = validated.trial_id, validated.steps_completed, validated.metric
    trial, story = f"trials:{trial_id}", f"validations:{trial_id}"
    row = (trial_id, steps, validated.run_id, experiment_id, metric, recorded.recorded_at)
    return [
        statement(VALIDATED, *row, touches=(story,)),
        statement(LATEST, trial_id, metric, steps, touches=(trial,), overwrites=True),
        derived(BEST_OF_TRIAL, trial_id),
        derived(BEST_OF_EXPERIMENT, experiment_id, trial_id),
    ]


def _run_ended(ended: TrialRunEnded, recorded: Recorded) -> list[Statement]:
    return [
        statement(
            RUN_ENDED,
            ended.trial_id,
            ended.run_id,
            recorded.recorded_at,
            ended.outcome,
            ended.exit_code,
            ended.reason,
            touches=(f"runs:{ended.trial_id}",),
        ),
        update("trials", "id", ended.trial_id, reason=ended.reason),
    ]
