"""A question to the past: which stretch of which pool, and what is to be different."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from resolute.config.durations import seconds
from resolute.config.pools import ResourcePool, Scheduler
from resolute.proto.errors import InvalidConfig, NotFound
from resolute.proto.queue import WEIGHT_MOST, PolicyName
from resolute.scheduling.policies import policy_for
from resolute.whatif.pools.measures import Measures, measure
from resolute.whatif.pools.recording import Change, Recording, agents_of
from resolute.whatif.pools.simulate import agents, whatif


@dataclass(frozen=True, slots=True)
class Question:
    recorded: ResourcePool
    """The pool as it is set."""
    policy: str | None = None
    """That is wondered about; None: the recorded one."""
    preemption: bool | None = None
    recorded_policy: str | None = None
    """None: what the log says, and where it does not, the settings."""
    since: datetime | None = None
    until: datetime | None = None
    agents: int | None = None
    slots_per_agent: int | None = None
    """Left out, the agents are those that were there, when they were there."""
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def pool(self) -> str:
        return self.recorded.pool_name


@dataclass(frozen=True, slots=True)
class Answer:
    recording: Recording
    policies: tuple[str, str]
    """The recorded one and the other, in words."""
    recorded: Measures
    again: Measures
    """The recorded policy, simulated: how far the simulation can be trusted."""
    other: Measures


def answer(question: Question, recording: Recording) -> Answer:
    """Raises NotFound when there is no work to play."""
    if not recording.works:
        raise NotFound(f"no work ran in pool {question.pool!r} in that time; another --pool, --from or --to may do")
    _check_weights(question, recording)
    was, wondered = _schedulers(question, recording)
    before = question.recorded.model_copy(update={"scheduler": was})
    changed = question.recorded.model_copy(update={"scheduler": wondered})
    works, pool, yield_s = recording.works, question.pool, recording.yield_s
    again = whatif(works, recording.changes, policy_for(before), pool=pool, yield_s=yield_s)
    other = whatif(
        works,
        _agents(question, recording),
        policy_for(changed),
        pool=pool,
        yield_s=yield_s,
        weights=question.weights,
    )
    return Answer(
        recording,
        (in_words(was, {}, ""), in_words(wondered, question.weights, _size(question, recording))),
        measure(recording.recorded),
        measure(again),
        measure(other),
    )


def _check_weights(question: Question, recording: Recording) -> None:
    requests = [work.request for work in recording.works]
    known = {request.job_id for request in requests} | {str(request.experiment_id) for request in requests}
    for job in question.weights:
        if job not in known:
            raise InvalidConfig(f"--weights: nothing of experiment {job} ran in pool {question.pool!r} in that time")


def _schedulers(question: Question, recording: Recording) -> tuple[Scheduler, Scheduler]:
    """The one that work met, as far as that is known, and the one that is wondered about."""
    recorded = question.recorded.scheduler or Scheduler()
    known = question.recorded_policy or recording.policy or recorded.type
    was = recorded.model_copy(update={"type": known, "preemption": recorded.preemption or recording.preempts})
    other: dict[str, object] = {"type": question.policy} if question.policy else {}
    if question.preemption is not None:
        other["preemption"] = question.preemption
    return was, was.model_copy(update=other)


def in_words(scheduler: Scheduler, weights: Mapping[str, float], size: str) -> str:
    preempts = {PolicyName.PRIORITY: " with preemption" if scheduler.preemption else " without preemption"}
    parts = [f"{scheduler.type}{preempts.get(scheduler.type, '')}"]
    parts += [f"weight {weight:g} for {'experiment ' * job.isdecimal()}{job}" for job, weight in weights.items()]
    return ", ".join([*parts, *([size] if size else [])])


def instant(text: str, now: datetime) -> datetime:
    """`2026-01-31T12:00`, in UTC unless it says otherwise, or `36h`: so long ago."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        try:
            return now - timedelta(seconds=seconds(text))
        except ValueError:
            raise InvalidConfig(
                f"found {text!r}; an instant such as 2026-01-31T12:00 (UTC) would do, or 36h for so long ago"
            ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def weights(pairs: list[str]) -> dict[str, float]:
    """`job=weight`: an experiment's number, or a job's id."""
    found = {}
    for pair in pairs:
        job, _, text = pair.rpartition("=")
        try:
            weight = float(text)
        except ValueError:
            weight = 0.0
        if not job or not 0 < weight <= WEIGHT_MOST:
            raise InvalidConfig(f"--weights: found {pair!r}; an experiment and its weight, as in 12=2.5, would do")
        found[job] = weight
    return found


def _agents(question: Question, recording: Recording) -> tuple[Change, ...]:
    if question.agents is None and question.slots_per_agent is None:
        return recording.changes
    return (*agents(*_shape(question, recording), question.pool), *recording.of_the_queue)


def _shape(question: Question, recording: Recording) -> tuple[int, int]:
    """How many agents, of how many slots: what is not said is as it was, mostly."""
    known = agents_of(recording)
    usual = Counter(known.values()).most_common(1)[0][0] if known else 1
    slots = usual if question.slots_per_agent is None else question.slots_per_agent
    return (len(known) if question.agents is None else question.agents), slots


def _size(question: Question, recording: Recording) -> str:
    if question.agents is None and question.slots_per_agent is None:
        return ""
    count, slots = _shape(question, recording)
    return f"{count} agents of {slots} {'slot' if slots == 1 else 'slots'} each"
