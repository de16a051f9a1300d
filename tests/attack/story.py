"""One attack: searches run, a clerk asks, neighbours are unkind, blows fall; then every promise is checked."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.attack.attacker import Attacker
from tests.attack.blows import Kind, blows
from tests.attack.clerk import Clerk
from tests.attack.memory import MIB, MemoryWatch
from tests.attack.neighbours import Neighbours
from tests.integration.cluster.local import LocalCluster, until
from tests.integration.cluster.searches import MODEL, STEPS, stepwise

SEARCH = stepwise("attacked", step_s=0.05, trials=6, at_once=3, max_restarts=50)
MEMORY_BYTES_MAX = 400 * MIB
"""No service may hold more at any moment of an attack; at rest the whole cluster takes 300 MiB."""
END_S = 400.0


@dataclass
class Outcome:
    """What an attack did, and what it found."""

    seed: int
    dealt: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    experiments: int = 0
    trials: int = 0
    acknowledged: int = 0
    unanswered: int = 0
    hostile: Counter[str] = field(default_factory=Counter)
    """What unkind neighbours sent meanwhile."""
    longest_silence_s: float = 0.0
    most_mib: dict[str, int] = field(default_factory=dict)
    took_s: float = 0.0
    faults: list[str] = field(default_factory=list)


def attack(cluster: LocalCluster, seed: int, count: int, say: Callable[[str], None] = lambda line: None) -> Outcome:
    """Deals `count` blows of `seed` to the cluster while searches run on it, and checks the promises afterwards."""
    began = time.monotonic()
    undisturbed = _undisturbed(cluster)
    attacker, clerk, memory = Attacker(cluster, seed), Clerk(cluster.url), MemoryWatch(cluster.children)
    neighbours = Neighbours("127.0.0.1", cluster.port, seed)
    experiments: list[int] = []
    with clerk.at_work(), memory.at_work(), neighbours.at_work():
        for number, blow in enumerate(blows(seed, count), 1):
            if not experiments or _over(cluster, experiments[-1]):
                experiments.append(_create(cluster))
            say(f"{number}/{count} {blow}")
            attacker.deal(blow)
        states = [cluster.ended(experiment_id, END_S) for experiment_id in experiments]
    outcome = Outcome(seed, Counter(blow.kind.name for blow in attacker.dealt), attacker.skipped, len(experiments))
    outcome.acknowledged, outcome.unanswered = len(clerk.acknowledged), clerk.unanswered
    outcome.longest_silence_s = round(clerk.longest_silence_s, 1)
    outcome.most_mib = {name: size // MIB for name, size in sorted(memory.most_bytes.items())}
    outcome.hostile = neighbours.sent
    outcome.faults += clerk.faults + neighbours.faults
    outcome.faults += [f"acknowledged and not listed once: {name}" for name in clerk.missing()]
    outcome.faults += [f"experiment {e} ended as {s}" for e, s in zip(experiments, states, strict=True) if s != DONE]
    for experiment_id in experiments:
        outcome.trials += len(cluster.trials(experiment_id))
        outcome.faults += _faults_of(cluster, experiment_id, undisturbed, task_kills=outcome.dealt[Kind.KILL_TASK.name])
    outcome.faults += _faults_at_rest(cluster, memory)
    outcome.took_s = round(time.monotonic() - began, 1)
    return outcome


DONE = "STATE_COMPLETED"


def _undisturbed(cluster: LocalCluster) -> list[float]:
    """What the search tries when nothing disturbs it."""
    experiment_id = cluster.create(SEARCH, MODEL)
    assert cluster.ended(experiment_id) == DONE
    return _tried(cluster, experiment_id)


def _tried(cluster: LocalCluster, experiment_id: int) -> list[float]:
    return sorted(trial["hparams"]["x"] for trial in cluster.trials(experiment_id))


def _create(cluster: LocalCluster) -> int:
    """`det` waits for a gateway that is away; it is asked again where even that was not enough."""

    def created() -> int:
        try:
            return cluster.create(SEARCH, MODEL)
        except (AssertionError, IndexError):
            return 0

    experiment_id: int = until("an experiment is created", created, 120)
    return experiment_id


def _over(cluster: LocalCluster, experiment_id: int) -> bool:
    try:
        return bool(cluster.experiment(experiment_id).get("endTime"))
    except (OSError, ValueError):
        return False


def _faults_of(cluster: LocalCluster, experiment_id: int, undisturbed: list[float], task_kills: int) -> list[str]:
    faults = []
    if _tried(cluster, experiment_id) != undisturbed:
        faults.append(f"experiment {experiment_id} tried other hyperparameters than an undisturbed search")
    for trial in cluster.trials(experiment_id):
        steps = cluster.validations(int(trial["id"]))
        if steps != STEPS:
            faults.append(f"trial {trial['id']} has validations at {steps} instead of {STEPS}")
        if trial["restarts"] > task_kills:
            faults.append(f"trial {trial['id']} used {trial['restarts']} restarts, and {task_kills} tasks were killed")
    return faults


def _faults_at_rest(cluster: LocalCluster, memory: MemoryWatch) -> list[str]:
    faults = []
    if "whole" not in cluster.resolute("log", "verify", check=False):
        faults.append("`resolute log verify` finds the log not whole")
    if "same" not in cluster.resolute("replay", "--check", check=False):
        faults.append("`resolute replay --check` finds answers that differ")
    try:
        until("no task is left", lambda: not cluster.tasks(), 90)
        until("all slots are free", lambda: not _held(cluster), 90)
    except AssertionError as error:
        faults.append(str(error))
    faults += [f"{name} held {size // MIB} MiB" for name, size in memory.most_bytes.items() if size > MEMORY_BYTES_MAX]
    return faults


def _held(cluster: LocalCluster) -> list[str]:
    agents = cluster.get("/api/v1/agents")["agents"]
    return [slot["id"] for agent in agents for slot in agent["slots"].values() if slot.get("container")]
