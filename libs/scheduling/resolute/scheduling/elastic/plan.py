"""Decides about the instances of an elastic pool: a pure function of the state, the settings and the provider's list.

Instances are started and stopped elsewhere (`resolute.scheduler.provisioner.shell`), by a process that may die at any
point. So an instance that was requested and does not run is requested again under the same name, and one that runs
without having been requested is ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from resolute.config.pools import Provider, ResourcePool
from resolute.proto.message import Event
from resolute.proto.pool import (
    AgentDisabled,
    InstanceDrainRequested,
    InstanceGone,
    InstanceIdled,
    InstanceRequested,
    InstanceStarted,
    InstanceStopRequested,
    ProvisioningFailed,
)
from resolute.scheduling.elastic.demand import Forecast, forecast, free_names
from resolute.scheduling.elastic.fleet import COMING, LEAVING, Instance, State
from resolute.scheduling.pool import Pool, evolve

BACK_OFF_S = 5.0
BACK_OFF_S_MAX = 600.0


@dataclass(frozen=True, slots=True)
class Observed:
    """What the provider said, and what was recorded before it was asked."""

    known: frozenset[int] = frozenset()
    """Instances recorded as started before `listed` was asked for: one of them that is not listed has vanished."""
    listed: Mapping[str, str] = field(default_factory=dict)
    """The provider's own id of every instance that runs, by name."""
    failed: Mapping[int, str] = field(default_factory=dict)
    """Why an instance could not be started."""
    ended: frozenset[int] = frozenset()
    """Instances that were asked to end, and of which nothing runs any more."""


@dataclass(frozen=True, slots=True)
class Provision:
    """Look after a pool's instances."""

    settings: ResourcePool
    """Of a pool that has a provider."""
    observed: Observed

    @property
    def provider(self) -> Provider:
        assert self.settings.provider is not None, f"pool {self.settings.pool_name} is not elastic"
        return self.settings.provider


def plan(pool: Pool, request: Provision, now: datetime) -> list[Event]:
    """The events, in steps. Those of one step are folded into a draft, which the next step sees."""
    provider = request.provider
    draft, events = pool.draft(), list[Event]()
    for note in (_take_note, _fail_the_late, _give_up_the_lost, _note_idleness):
        _fold(draft, events, note(draft, provider, request.observed, now))
    room = provider.max_instances - len(draft.fleet.instances)
    ahead = forecast(draft, request.settings, max(0, room))
    _fold(draft, events, _start(draft, request.settings, ahead, now))
    _fold(draft, events, _stop_the_idle(draft, provider, ahead, now))
    _fold(draft, events, _drain_the_surplus(draft, provider))
    _fold(draft, events, _stop_the_drained(draft, now))
    return events


def _fold(draft: Pool, events: list[Event], news: Iterator[Event]) -> None:
    for event in list(news):
        evolve(draft, event)
        events.append(event)


# ---------------------------------------------------------------- what has come to pass


def _take_note(pool: Pool, provider: Provider, observed: Observed, now: datetime) -> Iterator[Event]:
    for instance in pool.fleet.instances.values():
        listed = observed.listed.get(instance.name)
        if listed is not None and not instance.instance_id and instance.state in (State.REQUESTED, State.SERVING):
            yield InstanceStarted(instance.number, listed, now)
        elif instance.state is State.STOPPING and instance.number in observed.ended:
            yield InstanceGone(instance.number, instance.why_leaving)


def _fail_the_late(pool: Pool, provider: Provider, observed: Observed, now: datetime) -> Iterator[Event]:
    draft = pool.draft()
    for instance in pool.fleet.instances.values():
        if instance.state in COMING and (why := _why_failed(instance, provider, observed, now)) is not None:
            failed = _failed(draft, provider, instance, why, now)
            evolve(draft, failed)
            yield failed
            yield InstanceStopRequested(instance.number, why, now)


def _why_failed(instance: Instance, provider: Provider, observed: Observed, now: datetime) -> str | None:
    if instance.number in observed.failed and instance.state is State.REQUESTED:
        return f"instance {instance.name} could not be started: {observed.failed[instance.number]}"
    if _vanished(instance, observed):
        return f"instance {instance.name} ended before its agent had joined"
    if now - instance.requested_at > timedelta(seconds=provider.max_agent_starting_period):
        return f"the agent of instance {instance.name} did not join within {provider.max_agent_starting_period:g} s"
    return None


def _vanished(instance: Instance, observed: Observed) -> bool:
    return instance.number in observed.known and instance.name not in observed.listed


def _failed(pool: Pool, provider: Provider, instance: Instance, why: str, now: datetime) -> ProvisioningFailed:
    """Instances that were under way together fail as one."""
    fleet = pool.fleet
    anew = fleet.failed_at is None or instance.requested_at > fleet.failed_at
    failures = fleet.failures + anew
    suspended = failures > provider.launch_error_retries
    pause_s = min(BACK_OFF_S * 2 ** min(failures - 1, 20), BACK_OFF_S_MAX)
    if suspended:
        pause_s = max(pause_s, provider.launch_error_timeout)
    return ProvisioningFailed(instance.number, why, now, failures, now + timedelta(seconds=pause_s), suspended)


def _give_up_the_lost(pool: Pool, provider: Provider, observed: Observed, now: datetime) -> Iterator[Event]:
    for instance in pool.fleet.instances.values():
        if instance.state in (State.SERVING, State.DRAINING):
            agent = pool.agents.get(instance.agent_id)
            if _vanished(instance, observed):
                yield from _leave(pool, instance, f"instance {instance.name} vanished", now)
            elif agent is None or not agent.present:
                yield from _leave(pool, instance, f"the agent of instance {instance.name} was lost", now)


def _note_idleness(pool: Pool, provider: Provider, observed: Observed, now: datetime) -> Iterator[Event]:
    for instance in pool.fleet.instances.values():
        if instance.state is State.SERVING and instance.idle_at is None and not pool.agents[instance.agent_id].shares:
            yield InstanceIdled(instance.number, now)


# ---------------------------------------------------------------- what shall be


def _start(pool: Pool, settings: ResourcePool, ahead: Forecast, now: datetime) -> Iterator[Event]:
    provider = settings.provider
    assert provider is not None
    reasons = [*((agent_id, "work waits for it") for agent_id in ahead.wanted), *_least(pool, settings, ahead)]
    for number, (agent_id, reason) in enumerate(reasons[: _startable(pool, now)], pool.fleet.requested + 1):
        name = f"{settings.pool_name}-{number}"
        yield InstanceRequested(number, name, agent_id, provider.instance_slots, reason, now)


def _least(pool: Pool, settings: ResourcePool, ahead: Forecast) -> list[tuple[str, str]]:
    """What is missing to min_instances, beyond what work asks for."""
    provider = settings.provider
    assert provider is not None
    missing = provider.min_instances - len(_staying(pool)) - len(ahead.wanted)
    room = provider.max_instances - len(pool.fleet.instances) - len(ahead.wanted)
    names = [name for name in free_names(pool, settings) if name not in ahead.wanted]
    return [(name, f"the pool keeps at least {provider.min_instances}") for name in names[: max(0, min(missing, room))]]


def _startable(pool: Pool, now: datetime) -> int | None:
    """How many may be started now; None for any number."""
    fleet = pool.fleet
    if fleet.retry_at is not None and now < fleet.retry_at:
        return 0
    if fleet.suspended:
        return 0 if any(instance.state in COMING for instance in fleet.instances.values()) else 1
    return None


def _stop_the_idle(pool: Pool, provider: Provider, ahead: Forecast, now: datetime) -> Iterator[Event]:
    """Longest idle first."""
    idle = [(instance.idle_at, instance.number) for instance in _staying(pool) if instance.idle_at is not None]
    spare = len(_staying(pool)) - provider.min_instances
    for idle_at, number in sorted(idle)[: max(0, spare)]:
        instance = pool.fleet.instances[number]
        idle_s = (now - idle_at).total_seconds()
        if instance.agent_id not in ahead.needed and idle_s >= provider.max_idle_agent_period:
            yield from _leave(pool, instance, f"instance {instance.name} was idle for {idle_s:.0f} s", now)


def _drain_the_surplus(pool: Pool, provider: Provider) -> Iterator[Event]:
    """The settings allow fewer than there are: the idle go, then the youngest when they have done what they do."""
    serving = [instance for instance in _staying(pool) if instance.state is State.SERVING]
    surplus = len(_staying(pool)) - provider.max_instances
    for instance in sorted(serving, key=lambda i: (i.idle_at is None, -i.number))[: max(0, surplus)]:
        reason = f"the pool may have {provider.max_instances} instances and has {len(_staying(pool))}"
        yield InstanceDrainRequested(instance.number, reason)
        yield from _close(pool, instance)


def _stop_the_drained(pool: Pool, now: datetime) -> Iterator[Event]:
    for instance in pool.fleet.instances.values():
        if instance.state is State.DRAINING and not pool.agents[instance.agent_id].shares:
            yield from _leave(pool, instance, instance.why_leaving, now)


def _leave(pool: Pool, instance: Instance, reason: str, now: datetime) -> Iterator[Event]:
    yield InstanceStopRequested(instance.number, reason, now)
    yield from _close(pool, instance)


def _close(pool: Pool, instance: Instance) -> Iterator[Event]:
    """Nothing is placed there from now on: by the same append that decided it."""
    agent = pool.agents.get(instance.agent_id)
    if agent is not None and agent.enabled:
        yield AgentDisabled(agent.id, drain=True)


def _staying(pool: Pool) -> list[Instance]:
    return [instance for instance in pool.fleet.instances.values() if instance.state not in LEAVING]
