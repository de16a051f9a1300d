"""What a seed makes of a cluster's life: machines and weather, what is submitted and wished for, what fate strikes.

A script is plain data, so that it can be told again with a part left out. Which kinds of trouble a story may have at
all is drawn first, each by itself (swarm testing: Groce et al., ISSTA 2012): a story full of everything hides what two
kinds do to each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from resolute.config import slots_of
from resolute.config.pools import Provider, ResourcePool, Scheduler
from resolute.proto.experiment import (
    ActivateExperiment,
    ArchiveExperiment,
    CancelExperiment,
    EditExperiment,
    KillExperiment,
    KillTrial,
    MoveExperiment,
    PauseExperiment,
    UnarchiveExperiment,
)
from resolute.proto.message import Command
from resolute.proto.pool import ChangeJob, DisableAgent, DisableSlot, EnableAgent, EnableSlot, MoveJob
from tests.simulation import faults
from tests.simulation.cluster import RECONNECT_WAIT_S, REPLICABLE, Setup, search
from tests.simulation.faults import Fault
from tests.simulation.training import LENGTH, UNIT, Temper

FEATURES = (
    "agents are lost",
    "bus and database fail",
    "machines are started and ended",
    "people continue what has ended",
    "checkpoints are deleted",
    "clocks jump",
    "failing trials",
    "gangs",
    "invalid hyperparameters",
    "long delays",
    "log policies",
    "lost messages",
    "no numbers",
    "operators switch things off",
    "outcomes are unknown",
    "people change their minds",
    "processes freeze",
    "repeated messages",
    "replicas",
    "services are killed",
    "several pools",
    "slots vanish",
    "slow checkpoints",
    "snapshots",
    "stubborn trials",
)


JOB = "job of submission "
"""Stands in a script for a job's id: with the number of the submission, as an experiment's number does."""


@dataclass(frozen=True)
class Submission:
    config: dict[str, Any]
    seed: int


@dataclass(frozen=True)
class Wish:
    """Commands one after another, each once the one before was answered."""

    after_s: float
    commands: tuple[Command, ...]
    pauses_s: tuple[float, ...] = ()
    """Between them."""


@dataclass(frozen=True)
class DeletedCheckpoint:
    """Somebody deletes the newest checkpoint of a search that may still need it, or some files of it."""

    after_s: float
    submission: int
    globs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Continued:
    """Somebody lets an experiment go on that has ended, once it has."""

    after_s: float
    submission: int


@dataclass(frozen=True)
class Script:
    seed: int
    features: frozenset[str]
    setup: Setup
    submissions: tuple[Submission, ...]
    wishes: tuple[Wish | DeletedCheckpoint | Continued, ...]
    faults: tuple[Fault, ...]
    deleted: bool
    """Whether the first experiment is deleted in the end, and even its files go."""


def draw(seed: int) -> Script:
    rng = Random(f"story/{seed}")
    likely = rng.choice([0.1, 0.3, 0.5, 0.8])
    features = frozenset(feature for feature in FEATURES if rng.random() < likely)
    setup = _setup(rng, features)
    submissions = tuple(_submission(rng, features, setup) for _ in range(rng.choice([1, 1, 2, 3])))
    return Script(
        seed,
        features,
        setup,
        submissions,
        _wishes(rng, features, setup, submissions),
        tuple(_faults(rng, features, setup)),
        rng.random() < 0.3,
    )


# ---------------------------------------------------------------- machines and weather


def _setup(rng: Random, features: frozenset[str]) -> Setup:
    def share(feature: str, *shares: float) -> float:
        drawn = rng.choice(shares)
        return drawn if feature in features else 0.0

    pools = ("default", "other") if "several pools" in features else ("default",)
    slots = rng.randint(1, 3)
    elastic = rng.choice(pools) if "machines are started and ended" in features else ""
    return Setup(
        hosts=tuple((pool, slots) for pool in pools for _ in range(rng.randint(pool != elastic, 3))),
        unwilling=rng.choice([0.0, 0.1, 0.3]),
        cloud_away=rng.choice([0.0, 0.05]),
        lose=share("lost messages", 0.01, 0.05, 0.15),
        repeat=share("repeated messages", 0.02, 0.1),
        delay_s=rng.choice([0.001, 0.01, 0.1]),
        detours=share("long delays", 0.01, 0.05),
        unknown=share("outcomes are unknown", 0.01, 0.05),
        replicas={name: rng.choice([1, 2]) for name in REPLICABLE if "replicas" in features},
        pools=tuple(_pool(rng, name, slots if name == elastic else None) for name in pools),
        snapshots_every=rng.choice([3, 10, 40]) if "snapshots" in features else 5_000,
        temper=Temper(
            fail=share("failing trials", 0.02, 0.1),
            invalid=share("invalid hyperparameters", 0.2, 0.6),
            stubborn=share("stubborn trials", 0.3, 1.0),
            slow=share("slow checkpoints", 0.1, 0.5),
            nan=share("no numbers", 0.1, 0.5),
            unit_s=rng.choice([0.5, 2.0, 5.0]),
        ),
    )


def _pool(rng: Random, name: str, instance_slots: int | None) -> ResourcePool:
    """Elastic, of machines with so many slots, where that is said."""
    provider = None
    if instance_slots is not None:
        provider = Provider(
            min_instances=rng.choice([0, 0, 1]),
            max_instances=rng.randint(1, 3),
            instance_slots=instance_slots,
            max_idle_agent_period=30.0,
            max_agent_starting_period=60.0,
            launch_error_retries=rng.choice([0, 2]),
        )
    kind: Any = rng.choice(["priority", "fair_share", "fifo"])
    return ResourcePool(
        pool_name=name,
        agent_reconnect_wait=RECONNECT_WAIT_S,
        provider=provider,
        scheduler=Scheduler(
            type=kind,
            preemption=rng.random() < 0.5,
            fitting_policy="best" if rng.random() < 0.5 else "worst",
            allow_heterogeneous_fits=rng.random() < 0.3,
        ),
    )


# ---------------------------------------------------------------- what people want


def _submission(rng: Random, features: frozenset[str], setup: Setup) -> Submission:
    pool = rng.choice(setup.pools).pool_name
    sizes = _sizes(setup, pool)
    gangs = [sizes[0], sum(sizes)] if "gangs" in features else []
    share: dict[str, Any] = {
        "slots": rng.choice([0, 1, 1, 1, *gangs]),
        "priority": rng.choice([10, 42, 42, 90]),
        "pool": pool,
    }
    if share["slots"] > 1 and rng.random() < 0.5:
        short = min(sizes[0] + 1, share["slots"])  # one agent has fewer, and several that are whole may have more
        share["slots_min"] = rng.choice([rng.randint(1, share["slots"]), short])
    config = _search(rng, share)
    data: dict[str, Any] = {"follows": rng.random() < 0.6}
    if "log policies" in features:
        spare = len(sizes) > 1 and share["slots"] <= 1  # or else it would rightly wait for another node for ever
        data["policy"] = rng.choice(["cancel_retries", "", *(["exclude_node"] if spare else [])])
    return Submission({**config, "data": data}, rng.randrange(1000))


def _search(rng: Random, share: dict[str, Any]) -> dict[str, Any]:
    trials, at_once = rng.randint(1, 8), rng.randint(0, 4)
    name = rng.choice(["single", "random", "random", "grid", "async_halving", "adaptive_asha", "custom"])
    match name:
        case "single" | "custom":
            return search(name, **share)
        case "random":
            return search(name, max_trials=trials, max_concurrent_trials=at_once, **share)
        case "grid":
            return search(name, max_concurrent_trials=at_once, **share)
    halving = _halving(rng, {"num_rungs": rng.randint(1, 3)} if name == "async_halving" else _brackets(rng))
    return search(name, max_trials=trials, max_concurrent_trials=at_once, **halving, **share)


def _sizes(setup: Setup, pool: str) -> list[int]:
    """Of the pool's agents; of an elastic one that has none, of one machine."""
    providers = (known.provider for known in setup.pools if known.pool_name == pool and known.provider)
    return [slots for where, slots in setup.hosts if where == pool] or [next(providers).instance_slots]


def _brackets(rng: Random) -> dict[str, Any]:
    return {
        "mode": rng.choice(["conservative", "standard", "aggressive"]),
        **rng.choice([{"max_rungs": rng.randint(1, 4)}, {"bracket_rungs": [2, 1]}, {}]),
    }


def _halving(rng: Random, rungs: dict[str, Any]) -> dict[str, Any]:
    timed = {"time_metric": "epochs", "max_time": LENGTH // UNIT}
    return {
        **rungs,
        "divisor": rng.choice([2, 3, 4]),
        "smaller_is_better": rng.random() < 0.5,
        **rng.choice([{}, {"stop_once": True}, timed]),
    }


def _wishes(
    rng: Random, features: frozenset[str], setup: Setup, submissions: tuple[Submission, ...]
) -> tuple[Wish | DeletedCheckpoint | Continued, ...]:
    wishes: list[Wish | DeletedCheckpoint | Continued] = []
    numbered = list(enumerate(submissions))
    if "people change their minds" in features:
        for _ in range(rng.randint(1, 4)):
            wishes.append(_a_change_of_mind(rng, setup, *rng.choice(numbered), len(submissions)))
    if "operators switch things off" in features and setup.hosts:
        for _ in range(rng.randint(1, 3)):
            wishes.append(_a_switch(rng, setup))
    if "people continue what has ended" in features:
        wishes.append(Continued(rng.uniform(0, 90), rng.choice(numbered)[0]))
    if "checkpoints are deleted" in features:
        for _ in range(rng.randint(1, 3)):
            globs = rng.choice([(), (), ("notes",), ("model",)])
            wishes.append(DeletedCheckpoint(rng.uniform(1, 60), rng.choice(numbered)[0], globs))
    return tuple(wishes)


def _a_change_of_mind(rng: Random, setup: Setup, about: int, submission: Submission, jobs: int) -> Wish:
    pool = submission.config["resources"]["resource_pool"]
    most = max(slots_of(submission.config["resources"]).most, 1)
    limit = rng.choice([None, most, most + 2])  # with fewer a gang of whole agents would rightly wait for ever
    queue = {"priority": rng.randint(1, 99), "weight": rng.choice([0.5, 1.0, 4.0]), "max_slots": limit}
    wanted, elsewhere = rng.choice(sorted(queue)), rng.choice(setup.pools).pool_name
    choices: list[list[Command]] = [
        [PauseExperiment(about), ActivateExperiment(about)],
        [PauseExperiment(about), ActivateExperiment(about), PauseExperiment(about), ActivateExperiment(about)],
        [EditExperiment(about, {wanted: queue[wanted], "max_restarts": 5})],
        [ChangeJob(pool, f"{JOB}{about}", {wanted: queue[wanted]})],
        [MoveJob(pool, f"{JOB}{about}", **{rng.choice(["ahead_of", "behind_of"]): f"{JOB}{rng.randrange(jobs)}"})],
        [EditExperiment(about, {"resource_pool": elsewhere if most == 1 else pool})],
        [KillTrial(about, rng.randint(1, 8))],
        [CancelExperiment(about)],
        [PauseExperiment(about), CancelExperiment(about)],
        [KillExperiment(about)],
        [CancelExperiment(about), KillExperiment(about)],
        [MoveExperiment(about, 2), ArchiveExperiment(about), UnarchiveExperiment(about)],
    ]
    commands = tuple(rng.choice(choices))
    return Wish(rng.uniform(0, 60), commands, tuple(rng.choice([0.0, 0.05, rng.uniform(0, 20)]) for _ in commands[1:]))


def _a_switch(rng: Random, setup: Setup) -> Wish:
    """Off, and on again later: nothing shall wait for ever."""
    number = rng.randrange(max(len(setup.hosts), 1))
    (pool, slots), agent, drain = setup.hosts[number], f"host-{number}", rng.random() < 0.5
    slot = rng.randrange(slots)
    off, on = rng.choice(
        [
            (DisableAgent(pool, agent, drain), EnableAgent(pool, agent)),
            (DisableSlot(pool, agent, slot, drain), EnableSlot(pool, agent, slot)),
        ]
    )
    return Wish(rng.uniform(0, 60), (off, on), (rng.choice([1.0, 10.0, 60.0]),))


# ---------------------------------------------------------------- what fate strikes


def _faults(rng: Random, features: frozenset[str], setup: Setup) -> list[Fault]:
    struck: list[Any] = []
    hosts = [f"host-{n}" for n in range(len(setup.hosts))]
    elastic = [pool.pool_name for pool in setup.pools if pool.provider]
    services = [f"{name}-{n}" for name in REPLICABLE for n in range(setup.replicas.get(name, 1))]

    def times(feature: str, most: int) -> range:
        return range(rng.randint(1, most) if feature in features else 0)

    def at() -> float:
        return rng.uniform(0, 60)

    def pause() -> float:
        return rng.choice([0.1, 1.0, 5.0])

    for _ in times("services are killed", 6):
        who = rng.choice(services)
        struck.append(
            rng.choice(
                [
                    faults.Crash(who, at(), pause()),
                    faults.CrashAtEvent(who, rng.randrange(1, 300), rng.uniform(0, 0.05), pause()),
                    faults.CrashAtStep(who, rng.randrange(1, 200), rng.choice([0.0, at()]), pause()),
                ]
            )
        )
    for _ in times("machines are started and ended", 2) if elastic else ():
        struck.append(faults.MachineTakenBack(elastic[0], rng.uniform(10, 90)))
    for _ in times("agents are lost", 4) if hosts else ():
        host = rng.choice(hosts)
        struck.append(
            rng.choice(
                [
                    faults.Crash(host, at(), pause()),
                    faults.CrashAtStep(host, rng.randrange(1, 100), at(), pause()),
                    faults.AgentAway(host, at(), 2 * RECONNECT_WAIT_S),
                    faults.PowerCut(host, at(), rng.choice([1.0, 40.0])),
                ]
            )
        )
    for _ in times("bus and database fail", 3):
        struck.append(rng.choice([faults.BusForgets, faults.DatabaseRestarts])(at(), rng.choice([0.1, 1.0, 5.0, 40.0])))
    for _ in times("clocks jump", 3):
        by_s = rng.choice([-3600.0, -60.0, -5.0, 5.0, 60.0, 3600.0])
        struck.append(faults.ClockJumps(rng.choice(services), at(), by_s, rng.uniform(1, 100)))
    for _ in times("processes freeze", 3):
        struck.append(faults.Freeze(rng.choice([*services, *hosts]), at(), rng.choice([2.0, 10.0, 45.0])))
    for _ in times("slots vanish", 2) if hosts else ():
        host, left = rng.choice(hosts), rng.randint(0, 1)
        cut = faults.PowerCut(host, at(), rng.choice([1.0, 40.0]), left)
        struck.append(rng.choice([cut, faults.SlotsVanish(host, at(), rng.choice([5.0, 60.0]), left)]))
    for _ in times("snapshots", 3):
        struck.append(faults.SnapshotsGo(at(), spoilt=rng.random() < 0.5))
    return struck
