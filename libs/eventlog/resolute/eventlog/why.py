"""Explains why a trial, an experiment or another thing is in its state: finds the event that brought it there, and the
chain of earlier decisions.

An event names the message that caused it: `evt-118/preempt` is a reaction to the event at position 118. Events of one
decision are appended together. Some events report something from outside, such as the exit of a task that was ordered
to stop; for these, this module finds the earlier event by the fields that both have. Every link of the chain is an
event of the log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from resolute.eventlog.chain import Row
from resolute.eventlog.sentences import sentence
from resolute.eventlog.waiting import WaitReason, effective_reason
from resolute.proto import streams
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.queue import WaitRule
from resolute.proto.states import AllocationOutcome, End, LogPolicyAction, RunOutcome, goes_on

LONGEST = 200
"""A chain of causes is cut at this length."""

_REACTION = re.compile(r"^evt-(\d+)(?:/|$)")


@dataclass(frozen=True, slots=True)
class Fact:
    """An event with its fields."""

    row: Row
    data: Mapping[str, Any]

    @classmethod
    def of(cls, row: Row) -> Fact:
        return cls(row, orjson.loads(row.data))

    @property
    def type(self) -> str:
        return self.row.type

    @property
    def position(self) -> int:
        return self.row.position


class History(Protocol):
    """The queries on the log that an explanation needs. All answers are in the order of the log."""

    async def at(self, position: int) -> Fact | None: ...

    async def append_of(self, fact: Fact) -> Sequence[Fact]:
        """The events that were appended together with `fact`, itself included."""
        ...

    async def mentioning(self, field: str, *values: str) -> Sequence[Fact]:
        """Every event with one of `values` in this field of its data."""
        ...

    async def stream(self, name: str) -> Sequence[Fact]: ...

    async def of_types(self, stream: str, *types: str) -> Sequence[Fact]:
        """The events of these types in one stream."""
        ...


@dataclass(frozen=True, slots=True)
class Answer:
    question: str
    fact: Fact
    """The event that answers the question."""
    chain: Sequence[Fact]
    """The events that led to `fact`, in the order of the log; `fact` is the last of them."""
    because: Mapping[int, Sequence[int]]
    """By position of an event in `chain`: the positions of its direct causes."""
    otherwise: Fact | None = None
    """The latest event that answers one of the other questions: the thing may have changed its state since `fact`."""
    line: Fact | None = None
    """For an allocation that waits in line: the event with the reason of the first allocation of that line."""


# ---------------------------------------------------------------- what is asked

QUESTIONS: Mapping[str, Sequence[str]] = {
    "stopped": ("stopped", "stops", "ended", "failed", "paused", "killed", "canceled", "lost"),
    "preempted": ("preempted", "yielded"),
    "waits": ("waits", "waiting", "queued", "waited"),
    "runs": ("runs", "running", "started", "placed"),
    "deleted": ("deleted", "gone", "removed"),
}
"""By question: the words that ask it."""

_RUN = {
    "stopped": (
        *("TrialEnded", "TrialRunEnded", "TrialStopRequested", "AllocationExited", "AllocationKillRequested"),
        "PreemptionRequested",
    ),
    "preempted": (
        "PreemptionRequested",
        f"AllocationExited {AllocationOutcome.YIELDED}",
        f"TrialRunEnded {RunOutcome.YIELDED}",
    ),
    "waits": ("TrialCreated", "TrialRunRequested", "AllocationRequested", "AllocationHeldBack", "AllocationWaits"),
    "runs": ("SlotsAssigned", "AllocationStarted", "TrialRunStarted"),
}

ANSWERS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "trial": _RUN,
    "allocation": _RUN,
    "experiment": {
        "stopped": ("ExperimentEnded", "ExperimentStopping", "ExperimentPaused"),
        "preempted": _RUN["preempted"],
        "waits": _RUN["waits"],
        "runs": ("ExperimentActivated", "ExperimentContinued", "SlotsAssigned"),
        "deleted": ("ExperimentDeletionRequested", "ExperimentDeleted", "ExperimentDeletionFailed"),
    },
    "checkpoint": {
        "deleted": ("CheckpointDeletionRequested", "CheckpointFilesRemoved", "CheckpointDeleted"),
    },
    "agent": {
        "stopped": ("AgentLost", "AgentDisabled"),
        "runs": ("AgentJoined", "AgentEnabled"),
    },
}
"""By kind of thing and question: the types of events that answer it, some only with a certain outcome. The latest such
event is the answer."""

_FIELDS = {"checkpoint": "uuid"}


async def explain(name: str, question: str, history: History) -> Answer:
    """Raises NotFound for a thing that the log does not know, InvalidConfig for a question that does not apply."""
    kind, identity = streams.category_of(name), streams.key_of(name)
    if kind not in ANSWERS or not identity:
        raise InvalidConfig(f"{name}: expected one of {', '.join(f'{known}-…' for known in ANSWERS)}, as in trial-41")
    facts = await _facts_about(kind, identity, history)
    if not facts:
        raise NotFound(f"{name}: no event of the log speaks of it")
    return await _answer(name, kind, facts, _meant(name, kind, question), history)


def _meant(name: str, kind: str, question: str) -> str:
    """The question that a word stands for; empty for no word, which asks for the latest of all answers."""
    known = [word for asked in ANSWERS[kind] for word in QUESTIONS[asked]]
    if question and question not in known:
        raise InvalidConfig(f"{question!r} cannot be asked of {name}; try one of {', '.join(known)}")
    return next((asked for asked, words in QUESTIONS.items() if question in words), "")


async def _answer(name: str, kind: str, facts: Sequence[Fact], question: str, history: History) -> Answer:
    wanted = {asked: _last(facts, types) for asked, types in ANSWERS[kind].items()}
    latest = max((fact for fact in wanted.values() if fact), key=lambda fact: fact.position, default=None)
    found = wanted[question] if question else latest
    if found is None:
        last = f"; the latest is: {sentence(latest.row, latest.data)}" if latest is not None else ""
        raise NotFound(f"{name}: nothing like that is recorded{last} (`resolute log show {name}` shows all of it)")
    chain, because = await _chain(found, history)
    otherwise = latest if latest is not None and latest is not found else None
    return Answer(question, found, chain, because, otherwise, await _of_line(found, history))


def _last(facts: Sequence[Fact], types: Sequence[str]) -> Fact | None:
    return next(
        (one for one in reversed(facts) if {one.type, f"{one.type} {one.data.get('outcome')}"} & {*types}), None
    )


async def _facts_about(kind: str, identity: str, history: History) -> Sequence[Fact]:
    """Every event about a thing and its allocations, in the order of the log."""
    facts = {fact.position: fact for fact in await history.mentioning(_FIELDS.get(kind, f"{kind}_id"), identity)}
    if kind == "experiment":
        facts |= {fact.position: fact for fact in await history.stream(streams.EXPERIMENT.stream(identity))}
    if kind in ("trial", "experiment"):
        allocations = {fact.data["allocation_id"] for fact in facts.values() if fact.data.get("allocation_id")}
        facts |= {fact.position: fact for fact in await history.mentioning("allocation_id", *sorted(allocations))}
    return [facts[position] for position in sorted(facts)]


_WAITS = ("AllocationRequested", "AllocationHeldBack", "AllocationWaits")
_WAITS_NO_MORE = ("SlotsAssigned", "AllocationExited")


async def _of_line(fact: Fact, history: History) -> Fact | None:
    """The event with the reason of the first of the line, where `fact` says that an allocation is in line and the
    allocation still is."""
    if fact.type != "AllocationWaits" or fact.data["rule"] != WaitRule.IN_LINE:
        return None
    waiting, jobs = dict[str, Fact](), dict[str, str]()
    for one in await history.of_types(fact.row.stream, *_WAITS, *_WAITS_NO_MORE):
        allocation_id = one.data["allocation_id"]
        if one.type == "AllocationRequested":
            jobs[allocation_id] = one.data["job_id"]
        elif one.type in _WAITS_NO_MORE:
            waiting.pop(allocation_id, None)
        else:
            waiting[allocation_id] = one
    reasons = [_wait_reason(one, jobs) for one in waiting.values()]
    own = next((one for one in reasons if one.allocation_id == fact.data["allocation_id"]), None)
    effective = effective_reason(own, reasons).recorded_for if own is not None else None
    return waiting[effective.allocation_id] if effective is not None and effective is not own else None


def _wait_reason(fact: Fact, jobs: Mapping[str, str]) -> WaitReason:
    data = fact.data
    rule, slots = data.get("rule", WaitRule.NEVER_FITS), data.get("slots_needed", 0)
    return WaitReason(data["allocation_id"], jobs.get(data["allocation_id"], ""), slots, data.get("line", ""), rule)


# ---------------------------------------------------------------- what led to it


async def _chain(answer: Fact, history: History) -> tuple[Sequence[Fact], Mapping[int, Sequence[int]]]:
    found, because = {answer.position: answer}, {}
    waiting = [answer]
    while waiting and len(found) < LONGEST:
        fact = waiting.pop(0)
        causes = {cause.position: cause for cause in await causes_of(fact, history) if cause.position < fact.position}
        because[fact.position] = sorted(causes)
        waiting += [cause for position, cause in causes.items() if position not in found]
        found |= causes
    return [found[position] for position in sorted(found)], because


async def causes_of(fact: Fact, history: History) -> Sequence[Fact]:
    """The direct causes of `fact`: the events that it answers, else those of the same append that led to it, else the
    event that it reacts to."""
    answered = await _answered(fact, history)
    if answered and fact.type not in _ALSO:
        return answered
    together = [one for one in await history.append_of(fact) if one.position < fact.position]
    if leading := [*answered, *_leading(together, fact)]:
        return leading
    reaction = _REACTION.match(fact.row.caused_by)
    cause = await history.at(int(reaction[1])) if reaction else None
    return [cause] if cause is not None else []


_OWN: Mapping[str, Sequence[str]] = {
    "TrialRunRequested": ("TrialRunEnded", "TrialTargetSet", "TrialCreated", "TrialContinued"),
    "TrialTargetSet": ("TrialTargetReached", "TrialCreated"),
    "TrialTargetReached": ("TrialValidated",),
    "TrialStopRequested": ("TrialTargetReached", "TrialValidated", "TrialEarlyExitReported", "TrialLogPolicyMatched"),
    "TrialEnded": ("TrialRunEnded", "TrialTargetReached", "TrialValidated", "TrialEarlyExitReported"),
    "SlotsAssigned": ("AllocationRequested",),
    "AllocationHeldBack": ("AllocationRequested",),
    "AllocationExited": ("ResourcesExited",),
    "CheckpointDeleted": ("CheckpointFilesRemoved",),
}
"""By type of an event: the types of events that lead to it, when they are in the same append and about the same trial,
allocation or checkpoint."""

_ANY: Mapping[str, Sequence[str]] = {
    "TrialCreated": ("TrialEnded", "TrialValidated", "TrialTargetReached", "ExperimentActivated", "ExperimentCreated"),
    "TrialRunRequested": ("ExperimentActivated", "ExperimentContinued", "ExperimentEdited"),
    "TrialTargetSet": ("TrialValidated", "TrialTargetReached", "TrialEnded"),
    "TrialStopRequested": (
        "ExperimentPaused",
        "ExperimentStopping",
        "ExperimentEdited",
        "TrialValidated",
        "TrialEnded",
    ),
    "TrialEnded": ("ExperimentStopping",),
    "ExperimentStopping": ("TrialEnded", "TrialValidated", "TrialTargetReached"),
    "ExperimentEnded": ("TrialEnded",),
    "ResourcesExited": ("AgentLost",),
    "SlotsAssigned": (
        *("AllocationExited", "AgentJoined", "AgentEnabled", "SlotEnabled", "JobMoved", "JobChanged"),
        *("PoolRestored", "PoolConfigured"),
    ),
    "AllocationWaits": (
        *("JobMoved", "JobChanged", "AgentLost", "AgentDisabled", "SlotDisabled"),
        *("PoolRemoved", "PoolRestored", "PoolConfigured"),
    ),
    "AllocationHeldBack": ("AgentLost", "AgentDisabled", "SlotDisabled", "AgentJoined", "PoolConfigured"),
    "PreemptionRequested": (
        *("AllocationRequested", "AgentDisabled", "SlotDisabled", "JobMoved", "JobChanged", "PoolConfigured"),
    ),
    "AllocationKillRequested": ("AgentDisabled", "SlotDisabled"),
    "CheckpointDeletionRequested": ("RetentionApplied",),
}
"""By type of an event: the types of events that lead to it when they are in the same append, about anything."""

_ALSO = ("PreemptionRequested", "AllocationWaits", "TrialRunRequested")
"""Types of events that have causes of both kinds: an earlier event that they answer, and an event of their append."""

_ABOUT = ("trial_id", "allocation_id", "uuid")


def _leading(together: Sequence[Fact], to: Fact) -> Sequence[Fact]:
    """The nearest event before `to` in the same append that leads to it: about the same thing if there is one."""
    own = [one for one in together if one.type in _OWN.get(to.type, ()) and _same(one, to)]
    other = [one for one in together if one.type in _ANY.get(to.type, ())]
    return (own or other)[-1:]


def _same(one: Fact, other: Fact) -> bool:
    return all(one.data[field] == other.data[field] for field in _ABOUT if field in one.data and field in other.data)


async def _answered(fact: Fact, history: History) -> Sequence[Fact]:
    """The earlier events to which `fact`, a report from outside, is the answer."""
    match fact.type:
        case "AllocationExited":
            return await _of_exit(fact, history)
        case "TrialEnded":
            return await _of_end(fact, history)
        case "ExperimentEnded":
            return await _before(fact, await history.stream(fact.row.stream), ("ExperimentStopping",))
        case "AllocationKillRequested" if fact.data.get("overdue"):
            return await _of_allocation(fact, history, ("PreemptionRequested",))
        case "PreemptionRequested" if fact.data.get("for_allocation"):
            asked = await history.mentioning("allocation_id", fact.data["for_allocation"])
            return await _before(fact, asked, ("AllocationRequested",))
        case "TrialRunRequested" if blocked := fact.data.get("blocked_agents"):
            matches = await _matches(fact, history, LogPolicyAction.EXCLUDE_NODE)
            return [one for one in matches if one.data["agent_id"] in blocked]
        case "AllocationWaits":
            return await _of_allocation(fact, history, ("AllocationRequested",))
        case "CheckpointFilesRemoved" | "CheckpointDeleted":
            of_checkpoint = await history.mentioning("uuid", fact.data["uuid"])
            return await _before(fact, of_checkpoint, ("CheckpointDeletionRequested",))
    return []


async def _of_exit(fact: Fact, history: History) -> Sequence[Fact]:
    match fact.data["outcome"]:
        case AllocationOutcome.YIELDED:
            return await _of_allocation(fact, history, ("AllocationKillRequested",)) or await _of_allocation(
                fact, history, ("PreemptionRequested",)
            )
        case AllocationOutcome.KILLED:
            return await _of_allocation(fact, history, ("AllocationKillRequested",))
    return []


async def _of_end(fact: Fact, history: History) -> Sequence[Fact]:
    """A trial ends because a stop was requested, or after its last run; in the second case every failed run is a
    cause."""
    earlier = [one for one in await history.stream(fact.row.stream) if one.position < fact.position]
    of_trial = [one for one in earlier if one.data.get("trial_id") == fact.data["trial_id"]]
    runs = [one for one in of_trial if one.type == "TrialRunEnded"]
    stops = [one for one in of_trial if one.type == "TrialStopRequested" and not goes_on(one.data["then"])]
    if fact.data["outcome"] == End.ERROR:
        failed = [one for one in runs if one.data["outcome"] == RunOutcome.FAILED] or runs[-1:]
        return [*await _matches(fact, history, LogPolicyAction.CANCEL_RETRIES), *failed]
    return stops[-1:]


async def _matches(fact: Fact, history: History, action: LogPolicyAction) -> Sequence[Fact]:
    """The matches of log policies in the trial's log that caused `action`."""
    matches = [one for one in await history.stream(fact.row.stream) if one.type == "TrialLogPolicyMatched"]
    return [
        one
        for one in matches
        if one.position < fact.position
        and (one.data["trial_id"], one.data["action"]) == (fact.data["trial_id"], action)
    ]


async def _of_allocation(fact: Fact, history: History, types: Sequence[str]) -> Sequence[Fact]:
    return await _before(fact, await history.mentioning("allocation_id", fact.data["allocation_id"]), types)


async def _before(fact: Fact, facts: Sequence[Fact], types: Sequence[str]) -> Sequence[Fact]:
    """The last event of these types before `fact`."""
    found = _last([one for one in facts if one.position < fact.position], types)
    return [found] if found is not None else []
