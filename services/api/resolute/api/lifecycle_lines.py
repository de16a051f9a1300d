"""What a task's log says of its life: the events of the log, in the words that people's scripts look for.

Plain functions: an event and what is known of its task give lines. `lifecycle.py` stores them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from resolute.api.measures.logs import NO_RANK
from resolute.proto.experiment import TrialCreated, TrialEnded, TrialLogPolicyMatched, TrialRunEnded
from resolute.proto.interactive import TaskIdleNoticed
from resolute.proto.message import Event, Recorded
from resolute.proto.pool import (
    AgentJoined,
    AllocationExited,
    AllocationKillRequested,
    AllocationRequested,
    AllocationStarted,
    LogLine,
    Placement,
    PreemptionRequested,
    ResourcesExited,
    ResourcesStarted,
    SlotsAssigned,
)
from resolute.proto.states import AllocationOutcome, End, LogPolicyAction

SOURCE = "master"
"""By which these lines are found, or left out; a task's own have `task`, and the agent's `agent`."""

EVENT_LINES = 4
"""Places among a task's lines that an event has for the lines it makes."""

OfAllocation: TypeAlias = (
    AllocationRequested
    | SlotsAssigned
    | ResourcesStarted
    | AllocationStarted
    | PreemptionRequested
    | AllocationKillRequested
    | ResourcesExited
    | AllocationExited
    | TaskIdleNoticed
)
OfTrial: TypeAlias = TrialRunEnded | TrialLogPolicyMatched | TrialEnded


@dataclass(frozen=True, slots=True)
class Task:
    """What lines are written under: a task, and its latest allocation."""

    task_id: str
    name: str
    """`Trial 7 (Experiment 3)`."""
    allocation_id: str = ""
    placements: tuple[Placement, ...] = ()

    def agent_of(self, resources_id: str) -> str:
        return next((one.agent_id for one in self.placements if one.resources_id == resources_id), "")


@dataclass(frozen=True, slots=True)
class Host:
    """An agent as a task's log names it."""

    name: str
    gpus: Mapping[int, str] = field(default_factory=dict)
    """By slot id, the ids of its GPUs."""


@dataclass(frozen=True, slots=True)
class Said:
    """A line, before it is known where it stands."""

    text: str
    level: str = "INFO"
    agent_id: str = ""
    resources_id: str = ""


def name_of(trial_id: int, experiment_id: int) -> str:
    return f"Trial {trial_id} (Experiment {experiment_id})"


def created(event: TrialCreated, experiment_id: int) -> Task:
    return Task(event.task_id, name_of(event.trial_id, experiment_id))


def requested(event: AllocationRequested) -> Task:
    return Task(event.task_id, event.name, event.allocation_id)


def placed(task: Task, event: SlotsAssigned) -> Task:
    return replace(task, placements=event.placements)


def host_of(event: AgentJoined) -> Host:
    return Host(event.host, {slot.id: slot.uuid for slot in event.slots if slot.kind in ("cuda", "rocm")})


def lines_of(recorded: Recorded, task: Task, hosts: Mapping[str, Host]) -> list[LogLine]:
    """The lines that the event adds to its task's log. Made again, they are the same, and are stored once."""
    said = list(_said(recorded.event, task, hosts))
    assert len(said) <= EVENT_LINES, f"{len(said)} lines of one {type(recorded.event).__name__}"
    return [
        LogLine(
            task_id=task.task_id,
            allocation_id=_allocation_of(recorded.event, task),
            rank=NO_RANK,
            sequence=recorded.position * EVENT_LINES + place,
            at=recorded.recorded_at,
            level=one.level,
            stdtype="",
            text=one.text,
            agent_id=one.agent_id,
            container_id=one.resources_id,
            source=SOURCE,
        )
        for place, one in enumerate(said)
    ]


def _allocation_of(event: Event, task: Task) -> str:
    """A line is stored once for each allocation, so it must not depend on how many runs the trial has had by the time
    at which it is made: a trial's event tells its run, after which the run's allocation is named, or concerns none."""
    match event:
        case TrialRunEnded(run_id=run_id) | TrialLogPolicyMatched(run_id=run_id):
            return f"{task.task_id}.{run_id}"
        case TrialEnded():
            return ""
    return task.allocation_id


def _said(event: Event, task: Task, hosts: Mapping[str, Host]) -> Iterator[Said]:
    match event:
        case AllocationRequested(allocation_id=allocation_id):
            yield Said(f"Scheduling {task.name} (id: {allocation_id})")
        case SlotsAssigned(placements=placements):
            yield Said(f"{task.name} was assigned to an agent: {_where(placements)}")
        case ResourcesStarted(resources_id=resources_id):
            yield _container_started(task, resources_id, hosts)
        case AllocationStarted():
            yield Said(f"Resources for {task.name} have started")
        case PreemptionRequested(reason=reason):
            yield Said(f"gracefully terminating allocation's remaining resources (reason: {reason})")
        case AllocationKillRequested(reason=reason):
            yield Said(f"forcibly terminating allocation's remaining resources (reason: {reason})")
        case TaskIdleNoticed(idle_s=idle_s, left_s=left_s):
            yield Said(
                f"nobody has used {task.name} for {idle_s:.0f} s: it ends in {left_s:.0f} s unless somebody does",
                "WARNING",
            )
        case ResourcesExited():
            yield _container_exited(task, event)
        case AllocationExited():
            yield _terminated(task, event)
        case TrialRunEnded() | TrialLogPolicyMatched() | TrialEnded():
            yield from _of_trial(event, task)


def _of_trial(event: OfTrial, task: Task) -> Iterator[Said]:
    match event:
        case TrialRunEnded(restarts_left=int(left)):
            yield Said(
                f"{task.name} failed and is restarted from its latest checkpoint (restarts left: {left})", "WARNING"
            )
        case TrialLogPolicyMatched(policy=policy, line=line, action=action, agent_id=agent_id):
            yield Said(f"log policy {policy!r} matched the line {line!r}", "WARNING")
            if action == LogPolicyAction.EXCLUDE_NODE and agent_id:
                yield Said(f"{task.name} excludes agent {agent_id}: its next runs are not placed there", "WARNING")
            if action == LogPolicyAction.CANCEL_RETRIES:
                yield Said(f"{task.name} is not restarted if it fails: log policy {policy!r} says so", "WARNING")
        case TrialEnded(outcome=End.COMPLETED, reason=reason):
            yield Said(f"{task.name} completed successfully: {reason}")
        case TrialEnded(outcome=End.CANCELED, reason=reason):
            yield Said(f"{task.name} was canceled: {reason}")
        case TrialEnded(reason=reason):
            yield Said(f"{task.name} failed: {reason}", "ERROR")


def _where(placements: Sequence[Placement]) -> str:
    return ", ".join(f"{one.agent_id} ({_count(len(one.slot_ids))})" for one in placements)


def _count(slots: int) -> str:
    return "1 slot" if slots == 1 else f"{slots} slots"


def _container_started(task: Task, resources_id: str, hosts: Mapping[str, Host]) -> Said:
    agent_id = task.agent_of(resources_id)
    host = hosts.get(agent_id, Host(agent_id))
    slots = next((one.slot_ids for one in task.placements if one.resources_id == resources_id), ())
    gpus = ", ".join(host.gpus[slot] for slot in slots if slot in host.gpus)
    text = f"Running task container on agent_id={agent_id}, hostname={host.name} with visible GPUs [{gpus}]"
    return Said(text, "INFO", agent_id, resources_id)


def _container_exited(task: Task, event: ResourcesExited) -> Said:
    agent_id, resources_id = task.agent_of(event.resources_id), event.resources_id
    if event.exit_code == 0:
        return Said("resources exited successfully with a zero exit code", "INFO", agent_id, resources_id)
    if event.exit_code is None:
        return Said(f"resources ended without an exit code{_because(event.reason)}", "WARNING", agent_id, resources_id)
    why = event.reason or "the task's process ended by itself"
    text = f"resources failed with non-zero exit code: {why} (exit code {event.exit_code})"
    return Said(text, "WARNING", agent_id, resources_id)


def _terminated(task: Task, event: AllocationExited) -> Said:
    """One line for the end of an allocation; a level that people look for is only on one that is a failure."""
    ended = f"{task.name} was terminated: allocation"
    match event.outcome:
        case AllocationOutcome.EXITED if event.exit_code == 0:
            return Said(f"{ended} stopped after resources exited successfully with a zero exit code")
        case AllocationOutcome.YIELDED:
            return Said(f"{ended} preempted after {event.reason or 'it was asked to give its slots back'}")
        case AllocationOutcome.LOST:  # no failure of the trial, which goes on elsewhere: it counts as no restart
            return Said(f"{ended} stopped early after {event.reason or 'its agent was lost'}", "WARNING")
        case AllocationOutcome.KILLED:
            return Said(f"{ended} killed after {event.reason or 'it was asked to end'}")
        case AllocationOutcome.EXITED if event.exit_code is not None:
            failure = f"crashed: resources failed with non-zero exit code{_because(event.reason)}"
            return Said(f"{ended} failed: {failure} (exit code {event.exit_code})", "ERROR")
    return Said(f"{ended} failed: {event.reason or event.outcome}", "ERROR")


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""
