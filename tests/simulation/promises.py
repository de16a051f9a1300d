"""What must hold at the end of any simulation, whatever the weather was: DESIGN's promises, read off the log.

The log says what was decided; the diary says what really happened on the hosts. Each check holds one against itself,
against the other, or against what people were told.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from resolute.checkpoint import registry
from resolute.proto.checkpoint import CheckpointCompleted, CheckpointDeletionRequested
from resolute.proto.experiment import (
    CreateExperiment,
    TrialCreated,
    TrialEnded,
    TrialRunRequested,
)
from resolute.proto.message import Event, Recorded
from resolute.proto.pool import AllocationExited, AllocationRequested, ResourcesExited, SlotsAssigned
from resolute.scheduler import pool
from resolute.searcher import experiment
from resolute.searcher.experiment import RUNNING, TERMINAL, Experiment
from resolute.searcher.methods import CreateTrial
from resolute.searcher.methods.method import draw_trial
from tests.simulation.training import LENGTH

if TYPE_CHECKING:
    from tests.simulation.cluster import SimulatedCluster

T = TypeVar("T", bound=Event)


def check(cluster: SimulatedCluster) -> None:
    for promise in (
        nothing_acknowledged_is_lost,
        replaying_gives_the_same_state,
        the_search_is_a_function_of_its_seed,
        a_slot_is_never_shared,
        nothing_is_left_running,
        a_run_resumes_from_the_last_checkpoint,
        completed_trials_have_trained_every_batch,
        only_lost_hosts_lose_runs,
        tasks_are_started_once,
        what_retention_keeps_is_there,
    ):
        promise(cluster)


def nothing_acknowledged_is_lost(cluster: SimulatedCluster) -> None:
    """P1, P6."""
    causes = {(recorded.position, recorded.cause.id) for recorded in cluster.log.story}
    for told in cluster.acknowledged:
        if told.reply.position:
            assert (told.reply.position, told.cause_id) in causes, f"lost: {told}"
        if isinstance(told.command, CreateExperiment):
            assert f"experiment-{told.reply.data['experiment_id']}" in cluster.log.streams
    assert cluster.log.aside == [], f"set aside: {cluster.log.aside}"


def replaying_gives_the_same_state(cluster: SimulatedCluster) -> None:
    """P2: in the memory of whoever served last, and folded afresh, twice."""
    for name, state in experiments(cluster).items():
        again = fold_experiment(cluster.log.streams[name])
        assert shown(again) == shown(state), f"{name} is told differently the second time"
        assert state.state in TERMINAL, f"{name} is {state.state}"


def the_search_is_a_function_of_its_seed(cluster: SimulatedCluster) -> None:
    """P5: the samples are the seed's, and asked again at each end of a trial the method decides what it decided."""
    for name, state in experiments(cluster).items():
        history = cluster.log.streams[name]
        for index, event in enumerate(of(history, TrialCreated)):
            drawn = draw_trial(state.settings, state.seed, index)
            assert (event.request_id, event.hparams, event.seed) == (drawn.request_id, drawn.hparams, drawn.seed)
        replayed = Experiment()
        for recorded in history:
            if isinstance(recorded.event, TrialEnded) and replayed.state in RUNNING:
                decided = [op.request_id for op in replayed.method.next(recorded.event) if isinstance(op, CreateTrial)]
                beside = [other for other in history if other.cause.id == recorded.cause.id]
                assert [event.request_id for event in of(beside, TrialCreated)] == decided
            experiment.evolve(replayed, recorded.event)


def a_slot_is_never_shared(cluster: SimulatedCluster) -> None:
    """P3, from the assignments and exits alone; and a gang has all its slots, or none."""
    held: dict[tuple[str, int], str] = {}
    wanted: dict[str, int] = {}
    for event in (recorded.event for recorded in cluster.log.streams["pool-default"]):
        match event:
            case AllocationRequested(allocation_id=allocation_id, slots=slots):
                wanted[allocation_id] = slots
            case SlotsAssigned(allocation_id=allocation_id, placements=placements):
                given = [(p.agent_id, slot_id, p.resources_id) for p in placements for slot_id in p.slot_ids]
                assert len(given) == wanted[allocation_id], f"{allocation_id} has {given}"
                for agent_id, slot_id, resources_id in given:
                    holder = held.setdefault((agent_id, slot_id), resources_id)
                    assert holder == resources_id, f"slot {slot_id} of {agent_id} is {holder}'s, and {allocation_id}'s"
            case ResourcesExited(resources_id=resources_id):
                held = {slot: holder for slot, holder in held.items() if holder != resources_id}


def nothing_is_left_running(cluster: SimulatedCluster) -> None:
    state = reduce(pool.evolve, (r.event for r in cluster.log.streams["pool-default"]), pool.Pool())
    assert [allocation.id for allocation in state.allocations.values()] == []
    assert [agent.id for agent in state.agents.values() if agent.held] == []


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


def completed_trials_have_trained_every_batch(cluster: SimulatedCluster) -> None:
    for name, state in experiments(cluster).items():
        for event in of(cluster.log.streams[name], TrialEnded):
            if event.outcome == "COMPLETED" and not state.trial(event.trial_id).early_exit:
                assert cluster.diary.completed.get(event.trial_id) == LENGTH, f"{name}: trial {event.trial_id}"


def only_lost_hosts_lose_runs(cluster: SimulatedCluster) -> None:
    """P7: a restart of a service, of an agent, of the bus or the database is not felt by what trains."""
    hosts: dict[str, set[str]] = {}
    for event in (recorded.event for recorded in cluster.log.streams["pool-default"]):
        match event:
            case SlotsAssigned(allocation_id=allocation_id, placements=placements):
                hosts[allocation_id] = {placement.agent_id for placement in placements}
            case AllocationExited(allocation_id=allocation_id, outcome="lost", reason=reason):
                assert hosts[allocation_id] & cluster.lost_hosts, f"{allocation_id} was lost, and no host was: {reason}"


def tasks_are_started_once(cluster: SimulatedCluster) -> None:
    """P7, seen from the hosts."""
    placed = {
        placement.resources_id: event.allocation_id
        for event in of(cluster.log.streams["pool-default"], SlotsAssigned)
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
                assert not whole or (cluster.storage / uuid / "model").exists(), f"checkpoint {uuid} is not there"
    left = {path.name for path in cluster.storage.iterdir()} - kept
    assert not left & complete, f"deleted, and still there: {left & complete}"
    assert not left or cluster.lost_hosts, f"nobody knows of {left}"


def no_file_is_left(cluster: SimulatedCluster, experiment_id: int) -> None:
    """Of an experiment that was deleted."""
    for recorded in cluster.log.streams.get(f"checkpoints-{experiment_id}", ()):
        if isinstance(recorded.event, CheckpointCompleted):
            assert not (cluster.storage / recorded.event.uuid).exists(), f"{recorded.event.uuid} is still there"


def experiments(cluster: SimulatedCluster) -> dict[str, Experiment]:
    streams = cluster.log.streams.items()
    return {name: fold_experiment(history) for name, history in streams if name.startswith("experiment-")}


def fold_experiment(history: list[Recorded]) -> Experiment:
    return reduce(experiment.evolve, (recorded.event for recorded in history), Experiment())


def shown(state: Experiment) -> str:
    return repr({name: getattr(state, name) for name in Experiment.__slots__ if name != "_method"})


def of(history: list[Recorded], kind: type[T]) -> list[T]:
    return [recorded.event for recorded in history if isinstance(recorded.event, kind)]
