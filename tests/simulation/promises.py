"""What must hold at the end of any simulation, whatever the weather was: DESIGN's promises, read off the log.

The log says what was decided; the diary says what really happened on the hosts; the processes say what they believe.
Each check holds one against itself, against another, or against what people were told.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from resolute.checkpoint import registry
from resolute.proto.checkpoint import CheckpointCompleted, CheckpointDeletionRequested
from resolute.proto.experiment import (
    CreateExperiment,
    ExperimentActivated,
    ExperimentCreated,
    TrialCreated,
    TrialEnded,
    TrialRunRequested,
    TrialStopRequested,
    TrialTargetReached,
    TrialValidated,
)
from resolute.proto.message import Event, Recorded
from resolute.proto.pool import AllocationExited, AllocationRequested, ResourcesExited, SlotsAssigned
from resolute.proto.states import is_finished
from resolute.scheduler.settings import SchedulerSettings
from resolute.scheduling import pool
from resolute.scheduling.policies import policy_for
from resolute.search import experiment
from resolute.search.experiment import Experiment
from resolute.search.methods import SearchEvent
from resolute.search.operations import carry_out, continue_search, with_decisions
from tests.simulation.plain import plain
from tests.simulation.reasons import everything_has_a_reason

if TYPE_CHECKING:
    from tests.simulation.cluster import SimulatedCluster

T = TypeVar("T", bound=Event)


def check(cluster: SimulatedCluster) -> None:
    for promise in (
        nothing_acknowledged_is_lost,
        replaying_gives_the_same_state,
        services_remember_what_the_log_says,
        the_search_is_a_function_of_its_seed,
        a_slot_is_never_shared,
        limits_of_jobs_are_kept,
        nothing_is_left_running,
        a_run_resumes_from_the_last_checkpoint,
        targets_are_trained_to,
        only_lost_hosts_lose_runs,
        tasks_are_started_once,
        what_retention_keeps_is_there,
        everything_has_a_reason,
    ):
        promise(cluster)


def nothing_acknowledged_is_lost(cluster: SimulatedCluster) -> None:
    """P1, P6. What was acknowledged stands where its author was told, and no other event takes its place."""
    by_position = {recorded.position: recorded for recorded in cluster.log.story}
    for told in cluster.acknowledged:
        if told.reply.position:
            found = by_position.get(told.reply.position)
            assert found is not None, f"lost: {told}"
            assert found.cause.actor == "ada", f"lost: {told}; there is {found}"
        if isinstance(told.command, CreateExperiment):
            assert f"experiment-{told.reply.data['experiment_id']}" in cluster.log.streams
    for key, row in cluster.doorway.measured.rows.items():
        assert row.metrics, f"a report without its metrics: {key}"
    assert cluster.log.aside == [], f"set aside: {cluster.log.aside}"


def replaying_gives_the_same_state(cluster: SimulatedCluster) -> None:
    """P2: folded twice."""
    for name, state in experiments(cluster).items():
        again = fold_experiment(cluster.log.streams[name])
        assert plain(again) == plain(state), f"{name} is told differently the second time"
        assert is_finished(state.state), f"{name} is {state.state}"


def services_remember_what_the_log_says(cluster: SimulatedCluster) -> None:
    """P2, seen from inside: what a service kept warm, decided on, and read from snapshots is the fold of the log."""
    for process in cluster.processes.values():
        for aggregates in process.aggregates if not process.dead else ():
            for stream, folded in aggregates._folded.items():
                history = cluster.log.streams.get(stream, [])[: folded.version]
                fresh = reduce(aggregates._evolve, (r.event for r in history), aggregates._initial())
                assert plain(folded.state) == plain(fresh), f"{process.name} remembers {stream} otherwise"


def the_search_is_a_function_of_its_seed(cluster: SimulatedCluster) -> None:
    """P5: asked again at everything the method was told of, on the state of then, it decides what it decided."""
    for name, history in cluster.log.streams.items():
        if name.startswith("experiment-"):
            replayed = Experiment()
            for _, appended in groupby(history, key=lambda recorded: recorded.cause.id):
                _check_decisions(name, replayed, [recorded.event for recorded in appended])


def _check_decisions(name: str, replayed: Experiment, appended: list[Event]) -> None:
    for at, event in enumerate(appended):
        follows = appended[at + 1 :]
        ids = _ids_of(follows)
        if isinstance(event, SearchEvent) and not _is_part_of_another(event, follows):
            recorded, *decided = with_decisions(replayed, continue_search(replayed, event, ids))
            assert event == recorded, f"{name}: {event} was recorded, and now it would be {recorded}"
            assert follows[: len(decided)] == decided, f"{name}: after {event} came {follows}, and now {decided}"
        experiment.evolve(replayed, event)
        begins = isinstance(event, ExperimentActivated) and isinstance(appended[0], ExperimentCreated)
        if begins and not replayed.unmanaged:
            decided = carry_out(replayed, replayed.method.start(), ids)
            assert follows == decided, f"{name} began with {follows}, and now {decided}"


def _is_part_of_another(event: Event, follows: list[Event]) -> bool:
    """A trial is created by the answer to something else, and of a validation at a target it is the target that is
    answered."""
    at_target = isinstance(event, TrialValidated) and bool(follows) and isinstance(follows[0], TrialTargetReached)
    return isinstance(event, TrialCreated) or at_target


def _ids_of(events: list[Event]) -> Iterator[int]:
    created = [event.trial_id for event in events if isinstance(event, TrialCreated)]
    yield from created
    raise AssertionError(f"another decision makes more trials than the {len(created)} of then")


def a_slot_is_never_shared(cluster: SimulatedCluster) -> None:
    """P3, from the assignments and exits alone; a gang has all its slots, or none, and none where it must not be."""
    held: dict[tuple[str, int], str] = {}
    wanted: dict[str, AllocationRequested] = {}
    for event in pool_events(cluster):
        match event:
            case AllocationRequested(allocation_id=allocation_id):
                wanted[allocation_id] = event
            case SlotsAssigned(allocation_id=allocation_id, placements=placements):
                given = [(p.agent_id, slot_id, p.resources_id) for p in placements for slot_id in p.slot_ids]
                asked = wanted[allocation_id]
                assert (asked.slots_min or asked.slots) <= len(given) <= asked.slots, f"{allocation_id} has {given}"
                assert not {p.agent_id for p in placements} & {*asked.blocked_agents}, f"{event}, but {asked}"
                for agent_id, slot_id, resources_id in given:
                    holder = held.setdefault((agent_id, slot_id), resources_id)
                    assert holder == resources_id, f"slot {slot_id} of {agent_id} is {holder}'s, and {allocation_id}'s"
            case ResourcesExited(resources_id=resources_id):
                held = {slot: holder for slot, holder in held.items() if holder != resources_id}


def limits_of_jobs_are_kept(cluster: SimulatedCluster) -> None:
    """Also one that was lowered, where anybody may be asked to go: whoever holds more goes."""
    settings = SchedulerSettings(pools=cluster.setup.pools)
    for name in settings.pool_names:
        state, preempts = pool.Pool(), policy_for(settings.pool(name)).preempts
        for _, unit in groupby(cluster.log.streams.get(f"pool-{name}", []), key=lambda recorded: recorded.cause.id):
            given = dict[str, int]()
            for recorded in unit:
                pool.evolve(state, recorded.event)
                if isinstance(recorded.event, SlotsAssigned):
                    job_id = state.allocations[recorded.event.allocation_id].request.job_id
                    given[job_id] = state.jobs[job_id].slots_held
            for job_id, job in state.jobs.items():
                most = job.max_slots
                assert most is None or given.get(job_id, 0) <= most, f"{job_id} was given more than {most}"
                assert not (preempts and job.over_its_limit), f"{job_id} keeps more than {most}"


def nothing_is_left_running(cluster: SimulatedCluster) -> None:
    for name, history in cluster.log.streams.items():
        if name.startswith("pool-"):
            state = reduce(pool.evolve, (recorded.event for recorded in history), pool.Pool())
            assert [allocation.id for allocation in state.allocations.values()] == []
            assert [agent.id for agent in state.agents.values() if agent.held] == []
    for host in cluster.hosts.values():
        assert not host.tasks, f"{host.agent_id} still has {list(host.tasks)}"


def a_run_resumes_from_the_last_checkpoint(cluster: SimulatedCluster) -> None:
    """P4: every checkpoint that was complete when the last run ended counts, unless somebody deleted it."""
    ended_at: dict[str, int] = {}
    complete: dict[int, dict[str, tuple[int, int]]] = defaultdict(dict)
    deleted: set[str] = set()
    for recorded in cluster.log.story:
        match recorded.event:
            case AllocationExited(allocation_id=allocation_id):
                ended_at[allocation_id] = recorded.position
            case CheckpointCompleted(trial_id=trial_id, uuid=uuid, steps_completed=steps):
                complete[trial_id][uuid] = (recorded.position, steps)
            case CheckpointDeletionRequested(uuid=uuid):
                deleted.add(uuid)
            case TrialRunRequested() as event:
                task, _, run_id = event.allocation_id.rpartition(".")
                before = ended_at.get(f"{task}.{int(run_id) - 1}", 0)
                whole = (found for uuid, found in complete[event.trial_id].items() if uuid not in deleted)
                best = max((steps for position, steps in whole if position < before), default=0)
                assert event.steps_completed >= best, f"{event} should resume from {best}"
    assert cluster.diary.missed <= deleted, f"nobody deleted {cluster.diary.missed - deleted}"


def targets_are_trained_to(cluster: SimulatedCluster) -> None:
    """A target that was reached had been trained to, and a trial that completes by itself has reached its target."""
    for name, state in experiments(cluster).items():
        history = cluster.log.streams[name]
        for event in of(history, TrialTargetReached):
            runs = cluster.diary.trained.items()
            came_to = max((to for (trial_id, _), (_, to) in runs if trial_id == event.trial_id), default=0)
            assert came_to >= event.length, f"{name}: {event}, and it came to {came_to}"
        stopped = {event.trial_id for event in of(history, TrialStopRequested)}
        for ended in of(history, TrialEnded):
            one = state.trial(ended.trial_id)
            if ended.outcome == "COMPLETED" and not one.early_exit and one.trial_id not in stopped:
                assert one.target_reached or one.target is None, f"{name}: trial {one.trial_id}"


def only_lost_hosts_lose_runs(cluster: SimulatedCluster) -> None:
    """P7: a restart of a service, of an agent, of the bus or the database is not felt by what trains."""
    hosts: dict[str, set[str]] = {}
    for event in pool_events(cluster):
        match event:
            case SlotsAssigned(allocation_id=allocation_id, placements=placements):
                hosts[allocation_id] = {placement.agent_id for placement in placements}
            case AllocationExited(allocation_id=allocation_id, outcome="lost", reason=reason):
                assert hosts[allocation_id] & cluster.lost_hosts, f"{allocation_id} was lost, and no host was: {reason}"


def tasks_are_started_once(cluster: SimulatedCluster) -> None:
    """P7, seen from the hosts."""
    placed = {
        placement.resources_id: event.allocation_id
        for event in pool_events(cluster)
        if isinstance(event, SlotsAssigned)
        for placement in event.placements
    }
    for resources_id, times in Counter(cluster.diary.started).items():
        assert resources_id in placed, f"{resources_id} runs, and nobody asked for it"
        allocation_id = placed[resources_id]
        assert times == 1 or allocation_id in cluster.victims, f"{allocation_id} was started {times} times"


def what_retention_keeps_is_there(cluster: SimulatedCluster) -> None:
    """And what it does not keep is gone. A task out of touch may write on after its checkpoint was given up as cut
    off: such files belong to nobody, and no checkpoint that was ever complete is among them."""
    kept: set[str] = set()
    complete: set[str] = set()
    for name, history in cluster.log.streams.items():
        if name.startswith("checkpoints-"):
            state = reduce(registry.evolve, (recorded.event for recorded in history), registry.Registry())
            complete |= {event.uuid for event in of(history, CheckpointCompleted)}
            kept |= set(state.present())
            for uuid in state.kept or ():
                whole = state.get(uuid).state is registry.State.COMPLETED  # unless somebody deleted it since
                assert not whole or cluster.disk.list(uuid), f"checkpoint {uuid} is not there"
    left = cluster.disk.files.keys() - kept
    assert not left & complete, f"deleted, and still there: {left & complete}"
    assert not left or cluster.lost_hosts, f"nobody knows of {left}"


def no_file_is_left(cluster: SimulatedCluster, experiment_id: int) -> None:
    """Of an experiment that was deleted."""
    for recorded in cluster.log.streams.get(f"checkpoints-{experiment_id}", ()):
        if isinstance(recorded.event, CheckpointCompleted):
            assert not cluster.disk.list(recorded.event.uuid), f"{recorded.event.uuid} is still there"


def experiments(cluster: SimulatedCluster) -> dict[str, Experiment]:
    streams = cluster.log.streams.items()
    return {name: fold_experiment(history) for name, history in streams if name.startswith("experiment-") and history}


def fold_experiment(history: list[Recorded]) -> Experiment:
    return reduce(experiment.evolve, (recorded.event for recorded in history), Experiment())


def pool_events(cluster: SimulatedCluster) -> Iterator[Event]:
    return (recorded.event for recorded in cluster.log.story if recorded.category == "pool")


def of(history: list[Recorded], kind: type[T]) -> list[T]:
    return [recorded.event for recorded in history if isinstance(recorded.event, kind)]
