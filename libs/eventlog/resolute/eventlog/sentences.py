"""Events as sentences, for the person who looks after a trial or an experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from resolute.eventlog.chain import Row
from resolute.eventlog.formatting import brief
from resolute.proto.message import EVENTS
from resolute.proto.states import AfterStop, RunOutcome, StopHow

Data = Mapping[str, Any]
Say = Callable[[Data], str]


def sentence(row: Row, data: Data) -> str:
    """The event as a sentence: from `WORDS`, or from the template of the event's class. An event without either is
    shown by its name and its fields."""
    say = WORDS.get(row.type) or _own_words(row.type)
    try:
        return say(data) if say is not None else _plainly(row, data)
    except KeyError:  # another release recorded other fields
        return _plainly(row, data)


def _own_words(event: str) -> Say | None:
    known = EVENTS.get(event)
    if known is None or not known.sentence:
        return None
    template = known.sentence
    return lambda d: template.format_map({**d, **({"changes": _changes(d)} if "changes" in d else {})})


def _plainly(row: Row, data: Data) -> str:
    return " ".join([f"{row.stream}: {row.type}", *(f"{name}={brief(value)}" for name, value in data.items())])


def _because(reason: str | None, before: str = ": ") -> str:
    return f"{before}{reason}" if reason else ""


def _request(data: Data) -> str:
    start = f"from checkpoint {data['checkpoint']}" if data.get("checkpoint") else "from the beginning"
    blocked = f", and not on {', '.join(data['blocked_agents'])}" if data.get("blocked_agents") else ""
    return f"run {data['run_id']} of trial {data['trial_id']} was wanted, on {_slots(data['slots'])}, {start}{blocked}"


def _slots(count: int) -> str:
    return _count(count, "slot")


def _stop(data: Data) -> str:
    how = "ordered to stop at once" if data["how"] == StopHow.KILL else "asked to save and give its slots back"
    then = {
        AfterStop.PAUSED: "to go on later",
        AfterStop.WAITING: "until the search wants more of it",
        AfterStop.KILLED: "to end, killed",
    }.get(data["then"], f"to end {data['then']}")
    return f"trial {data['trial_id']} was {how}, {then}{_because(data['why'])}"


def _run_ended(data: Data) -> str:
    outcome = {
        RunOutcome.COMPLETED: "ended by itself",
        RunOutcome.YIELDED: "gave its slots back",
        RunOutcome.KILLED: "was killed",
        RunOutcome.LOST: "was lost with its host",
        RunOutcome.REFUSED: "was refused by the scheduler",
        RunOutcome.HOPELESS: "could not be started, and never could,",
    }.get(data["outcome"], data["outcome"])
    return f"run {data['run_id']} of trial {data['trial_id']} {outcome}{_code(data)}{_because(data['reason'])}"


def _logging(data: Data) -> str:
    level = data["level"] or "that of the configuration"
    color = {True: "on", False: "off"}.get(data["color"], "on at a terminal")
    return f"the gateways write their own log from level {level} up, with colours {color}"


def _code(data: Data) -> str:
    return "" if data.get("exit_code") is None else f" with exit code {data['exit_code']}"


def _assigned(data: Data) -> str:
    where = ", ".join(f"{placement['agent_id']} ({_which(placement['slot_ids'])})" for placement in data["placements"])
    return f"{data['allocation_id']} was placed on {where}{_because(data['reason'])}"


def _which(slot_ids: list[int]) -> str:
    if not slot_ids:
        return "no slots"
    return f"slot{'s' if len(slot_ids) > 1 else ''} {', '.join(map(str, slot_ids))}"


def _at(address: str) -> str:
    return f" at {address}" if address else ""


def _count(number: int, thing: str) -> str:
    return f"1 {thing}" if number == 1 else f"{number} {thing}s"


def _checkpoint_lost(data: Data) -> str:
    left = f"checkpoint {data['checkpoint']}, of step {data['steps_completed']}" if data["checkpoint"] else "none"
    return f"checkpoint {data['lost']} of trial {data['trial_id']} is gone; the latest one that is left: {left}"


def _metric(data: Data) -> str:
    metric = "NaN" if data["metric"] is None else f"{data['metric']:g}"
    return f"trial {data['trial_id']} reported {metric} at step {data['steps_completed']}"


def _keys(data: Data) -> str:
    return _count(data["data_keys"], "data key")


def _changes(data: Data) -> str:
    return ", ".join(f"{name} to {brief(value)}" for name, value in data["changes"].items())


def _were_changed(data: Data) -> str:
    return "were carried over from an earlier release" if data.get("carried_over") else "were changed"


def _settings(data: Data) -> str:
    return f"the settings {', '.join(one['key'] for one in data['settings'])}"


def _kept(days: int) -> str:
    return "for ever" if days < 0 else "for 1 day" if days == 1 else f"for {days} days"


def _roles(data: Data, verb: str) -> str:
    return "; ".join(f"{_role(one)} was {verb}" for one in data["assignments"])


def _role(one: Data) -> str:
    whom = f"user {one['user_id']}" if one.get("group_id") is None else f"group {one['group_id']}"
    where = "the cluster" if one.get("workspace_id") is None else f"workspace {one['workspace_id']}"
    return f"role {one['role_id']} of {whom} on {where}"


WORDS: Mapping[str, Say] = {
    "LoggingChanged": _logging,
    "RolesAssigned": lambda d: _roles(d, "assigned"),
    "RolesUnassigned": lambda d: _roles(d, "removed"),
    "ExperimentNumbered": lambda d: f"experiment {d['experiment_id']} was given its number",
    "ExperimentArchived": lambda d: "the experiment was archived",
    "ExperimentUnarchived": lambda d: "the experiment was taken out of the archive",
    "ExperimentMoved": lambda d: f"the experiment was moved to project {d['project_id']}",
    "SearchOperationsPosted": lambda d: (
        f"the client of the custom search sent {_count(len(d['operations']), 'operation')}, after it had read the "
        f"experiment's events up to number {d['answers']}"
    ),
    "SearchProgressed": lambda d: f"the search is {d['progress']:.0%} done",
    "ExperimentCreated": lambda d: f"experiment {d['experiment_id']} ({d['name']}) was created",
    "ExperimentActivated": lambda d: "the experiment was activated",
    "ExperimentContinued": lambda d: "the experiment was continued",
    "ExperimentPaused": lambda d: "the experiment was paused",
    "ExperimentStopping": lambda d: f"the experiment began to end {d['outcome']}{_because(d['reason'])}",
    "ExperimentEnded": lambda d: f"the experiment ended {d['outcome']}{_because(d['reason'])}",
    "ExperimentEdited": lambda d: f"the experiment was edited: {_changes(d)}",
    "ExperimentDeletionRequested": lambda d: "the experiment's deletion was asked for",
    "ExperimentDeleted": lambda d: "the experiment was deleted",
    "ExperimentDeletionFailed": lambda d: f"the experiment could not be deleted{_because(d['reason'])}",
    "TrialCreated": lambda d: f"the search created trial {d['trial_id']}",
    "TrialRunRequested": _request,
    "TrialRunStarted": lambda d: f"run {d['run_id']} of trial {d['trial_id']} started",
    "TrialTargetSet": lambda d: f"trial {d['trial_id']} was to train to {d['length']}{_because(d.get('why', ''))}",
    "TrialTargetReached": lambda d: f"trial {d['trial_id']} reached {d['length']}",
    "TrialValidated": _metric,
    "TrialContinued": lambda d: f"trial {d['trial_id']} was continued",
    "TrialLogPolicyMatched": lambda d: (
        f"trial {d['trial_id']} printed {d['line']!r}, which log policy {d['policy']!r} looks for"
    ),
    "TrialArchived": lambda d: f"trial {d['trial_id']} was archived",
    "TrialUnarchived": lambda d: f"trial {d['trial_id']} was unarchived",
    "TrialLogRetentionSet": lambda d: f"the log of trial {d['trial_id']} was to be kept {_kept(d['days'])}",
    "TrialMetadataChanged": lambda d: f"the metadata of trial {d['trial_id']} {_were_changed(d)}",
    "TrialLogRemoved": lambda d: (
        f"the log of trial {d['trial_id']} was removed, {d['lines']} lines: it was to be kept "
        f"{_kept(d['retention_days'])} after the trial's end"
    ),
    "CheckpointHeld": lambda d: f"checkpoint {d['uuid']} was held for experiment {d['by']}, which begins from it",
    "CheckpointReleased": lambda d: f"checkpoint {d['uuid']} was let go by experiment {d['by']}",
    "TrialCheckpointed": lambda d: (
        f"trial {d['trial_id']} has checkpoint {d['checkpoint']}, of step {d['steps_completed']}"
    ),
    "TrialCheckpointLost": _checkpoint_lost,
    "TrialEarlyExitReported": lambda d: f"trial {d['trial_id']} said that it ends early: {d['reason']}",
    "TrialStopRequested": _stop,
    "TrialRunEnded": _run_ended,
    "TrialEnded": lambda d: f"trial {d['trial_id']} ended {d['outcome']}{_because(d['reason'])}",
    "PoolConfigured": lambda d: f"pool {d['pool']} was configured: {_changes(d)}",
    "PoolRemoved": lambda d: f"pool {d['pool']} was taken out of the configuration, which has {', '.join(d['pools'])}",
    "PoolRestored": lambda d: f"pool {d['pool']} was put back into the configuration",
    "AgentJoined": lambda d: f"agent {d['agent_id']} joined with {_slots(len(d['slots']))}",
    "AgentLost": lambda d: f"agent {d['agent_id']} was lost{_because(d['reason'])}",
    "AgentEnabled": lambda d: f"agent {d['agent_id']} was enabled",
    "AgentDisabled": lambda d: f"agent {d['agent_id']} was disabled{' to drain' if d['drain'] else ''}",
    "SlotEnabled": lambda d: f"slot {d['slot_id']} of agent {d['agent_id']} was enabled",
    "SlotDisabled": lambda d: f"slot {d['slot_id']} of agent {d['agent_id']} was disabled",
    "AllocationRequested": lambda d: (
        f"{d['allocation_id']} asked for {_slots(d['slots'])} at priority {d['priority']}, weight {d['weight']:g}"
    ),
    "AllocationHeldBack": lambda d: f"{d['allocation_id']} waits{_because(d['reason'])}",
    "AllocationWaits": lambda d: f"{d['allocation_id']} waits: {d['reason']}",
    "SlotsAssigned": _assigned,
    "ResourcesStarted": lambda d: f"the share {d['resources_id'][:8]} of {d['allocation_id']} runs{_at(d['address'])}",
    "AllocationStarted": lambda d: f"all of {d['allocation_id']} runs",
    "PreemptionRequested": lambda d: (
        f"{d['allocation_id']} was asked to give its slots back by {d['deadline_at']}{_because(d['reason'])}"
    ),
    "PreemptionAcknowledged": lambda d: f"{d['allocation_id']} said that it is saving its work",
    "AllocationKillRequested": lambda d: f"{d['allocation_id']} was ordered to stop{_because(d['reason'])}",
    "ResourcesServeOthers": lambda d: (
        f"the share {d['resources_id'][:8]} of {d['allocation_id']} only serves the others, and ends when they have"
    ),
    "ResourcesExited": lambda d: (
        f"the share {d['resources_id'][:8]} of {d['allocation_id']} ended{_code(d)}{_because(d['reason'])}"
    ),
    "AllocationExited": lambda d: f"{d['allocation_id']} is over: {d['outcome']}{_code(d)}{_because(d['reason'])}",
    "InstanceRequested": lambda d: (
        f"instance {d['number']} ({d['name']}), with {_slots(d['slots'])} for agent {d['agent_id']}, was asked for"
        f"{_because(d['reason'])}"
    ),
    "InstanceStarted": lambda d: f"instance {d['number']} was started: the provider calls it {d['instance_id']}",
    "InstanceIdled": lambda d: f"instance {d['number']} has no more work",
    "InstanceDrainRequested": lambda d: f"instance {d['number']} is to finish its work and end{_because(d['reason'])}",
    "InstanceStopRequested": lambda d: f"instance {d['number']} was ordered to end{_because(d['reason'])}",
    "InstanceGone": lambda d: f"instance {d['number']} is gone{_because(d['reason'])}",
    "ProvisioningFailed": lambda d: (
        f"instance {d['number']} could not be started{_because(d['reason'])}; the next try is at {d['retry_at']}"
    ),
    "JobMoved": lambda d: f"job {d['job_id']} was moved {d['side']} of job {d['neighbour']}",
    "JobChanged": lambda d: f"job {d['job_id']} was changed: {_changes(d)}",
    "SecretsForgotten": lambda d: f"the secrets of {d['whose']} were forgotten, with {_keys(d)}",
    "WrappingKeyRotated": lambda d: (
        f"the wrapping key {d['wrapping_key']} took the place of {', '.join(d['former'])} for {_keys(d)}"
    ),
    "UserCreated": lambda d: f"user {d['user_id']} ({d['username']}) was created",
    "UserChanged": lambda d: f"user {d['user_id']} was changed: {_changes(d)}",
    "PasswordChanged": lambda d: f"user {d['user_id']} was given {'a blank' if d['blank'] else 'another'} password",
    "SessionOpened": lambda d: f"user {d['user_id']} signed in, with session {d['session_id']}",
    "SessionClosed": lambda d: f"session {d['session_id']} of user {d['user_id']} was closed",
    "UserSettingsChanged": lambda d: f"{_settings(d)} of user {d['user_id']} {_were_changed(d)}",
    "UserSettingsReset": lambda d: f"all settings of user {d['user_id']} were taken away",
    "WorkspaceCreated": lambda d: f"workspace {d['workspace_id']} ({d['name']}) was created",
    "WorkspaceChanged": lambda d: f"workspace {d['workspace_id']} was changed: {_changes(d)}",
    "ProjectCreated": lambda d: f"project {d['project_id']} ({d['name']}) was created in workspace {d['workspace_id']}",
    "CheckpointClaimed": lambda d: (
        f"the name {d['uuid']} was taken for a checkpoint of experiment {d['experiment_id']}"
    ),
    "CheckpointAnnounced": lambda d: f"trial {d['trial_id']} began to store checkpoint {d['uuid']}",
    "CheckpointMetadataChanged": lambda d: f"the metadata of checkpoint {d['uuid']} were changed",
    "CheckpointCompleted": lambda d: f"checkpoint {d['uuid']} was stored, of step {d['steps_completed']}",
    "CheckpointDeletionRequested": lambda d: (
        f"{'some files' if d.get('globs') else 'all files'} of checkpoint {d['uuid']} were to go{_because(d['reason'])}"
    ),
    "CheckpointFilesRemoved": lambda d: f"files of checkpoint {d['uuid']} were removed; {len(d['resources'])} are left",
    "CheckpointDeleted": lambda d: f"checkpoint {d['uuid']} was deleted",
    "RetentionApplied": lambda d: (
        f"the policy of experiment {d['experiment_id']} kept {len(d['kept'])} checkpoints and let "
        f"{len(d['deleted'])} go"
    ),
}
