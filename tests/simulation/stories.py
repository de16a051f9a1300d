"""Telling a script: a cluster lives through it until everything has ended, and then every promise is checked."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

import structlog

from resolute.proto.experiment import ActivateExperiment, ContinueExperiment, DeleteExperiment
from resolute.proto.message import Command, Recorded
from resolute.search.experiment import Experiment
from tests.simulation import clock
from tests.simulation.client import Client
from tests.simulation.cluster import SimulatedCluster
from tests.simulation.scripts import JOB, Continued, DeletedCheckpoint, Script, Wish, draw
from tests.simulation.training import LENGTH

PATIENCE_S = 7200
"""On the made-up clock: whatever happened, by then everything has ended."""

LAST = 25
"""So many events are shown of a story that failed."""


@dataclass(frozen=True)
class Ended:
    """How a story ended."""

    outcomes: dict[int, str]
    events: list[Recorded]
    took_s: float


class Broken(Exception):
    """A promise was broken, or something never ended, or a service met a bug: with what had happened."""

    def __init__(self, script: Script, cluster: SimulatedCluster, error: BaseException) -> None:
        self.script, self.error = script, error
        self.kind = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        super().__init__("\n".join(_account(script, cluster, self.kind)))


def tell(seed: int, *, loud: bool = False) -> Ended:
    """Raises Broken."""
    return play(draw(seed), loud=loud)


def play(script: Script, *, loud: bool = False) -> Ended:
    with voice(loud):
        return clock.run(lambda: _played(script), script.seed)


async def _played(script: Script) -> Ended:
    async with SimulatedCluster(script.seed, script.setup) as cluster:
        try:
            return await _story(script, cluster)
        except (Exception, clock.NothingWillHappen) as error:
            raise Broken(script, cluster, error) from error


async def _story(script: Script, cluster: SimulatedCluster) -> Ended:
    ids = [await cluster.submit(wanted.config, wanted.seed) for wanted in script.submissions]
    for experiment_id, wanted in zip(ids, script.submissions, strict=True):
        if wanted.config["searcher"]["name"] == "custom":
            cluster.beside(Client(experiment_id, 1 + wanted.seed % 4, LENGTH // 4, LENGTH).drive(cluster))
    for fault in script.faults:
        cluster.strike(fault)
    for wish in script.wishes:
        match wish:
            case DeletedCheckpoint(after_s=after_s, submission=number, globs=globs):
                cluster.delete_a_checkpoint(ids[number], after_s, globs)
            case Continued(after_s=after_s, submission=number):
                cluster.beside(_continue(cluster, ids[number], after_s, script.submissions[number].config))
            case Wish(after_s=after_s):
                commands = [_addressed(command, cluster, ids) for command in wish.commands]
                cluster.later(after_s, *commands, pauses_s=wish.pauses_s)
    await cluster.until(lambda: cluster.quiet, PATIENCE_S)
    await cluster.mend()
    for experiment_id in ids:
        await cluster.wish(ActivateExperiment(experiment_id))
    await cluster.until(lambda: all(map(cluster.outcome, ids)), PATIENCE_S)
    await cluster.settle()
    if not all(map(cluster.outcome, ids)):  # one was continued meanwhile
        await cluster.until(lambda: all(map(cluster.outcome, ids)), PATIENCE_S)
        await cluster.settle()
    await cluster.check_promises()
    if script.deleted:
        await _delete(cluster, ids[0])
    outcomes = {experiment_id: cluster.outcome(experiment_id) or "" for experiment_id in ids}
    return Ended(outcomes, list(cluster.log.story), clock.elapsed_s())


async def _continue(cluster: SimulatedCluster, experiment_id: int, after_s: float, config: dict[str, Any]) -> None:
    await asyncio.sleep(after_s)
    await cluster.until(lambda: cluster.outcome(experiment_id) is not None, 3 * PATIENCE_S)
    await cluster.wish(ContinueExperiment(experiment_id, cluster.merged(config)))


def _addressed(command: Command, cluster: SimulatedCluster, ids: list[int]) -> Command:
    """A script speaks of experiments, and of jobs, by the order of their submission."""
    told: dict[str, object] = {}
    for name in fields(command):  # type: ignore[arg-type]
        value = getattr(command, name.name)
        if name.name == "experiment_id":
            told[name.name] = ids[value]
        elif isinstance(value, str) and value.startswith(JOB):
            told[name.name] = cluster.jobs[ids[int(value.removeprefix(JOB))]]
    return replace(command, **told)  # type: ignore[type-var]


async def _delete(cluster: SimulatedCluster, experiment_id: int) -> None:
    await cluster.ask(DeleteExperiment(experiment_id))
    await cluster.until(lambda: state_of(cluster, experiment_id).state.name == "DELETED", PATIENCE_S)
    cluster.check_promises_of_the_dead(experiment_id)


def state_of(cluster: SimulatedCluster, experiment_id: int) -> Experiment:
    from tests.simulation.promises import fold_experiment

    return fold_experiment(cluster.log.streams[f"experiment-{experiment_id}"])


# ---------------------------------------------------------------- what had happened


def _account(script: Script, cluster: SimulatedCluster, kind: str) -> Iterator[str]:
    yield kind
    yield f"seed {script.seed}: {', '.join(sorted(script.features)) or 'a calm day'}"
    setup = script.setup
    yield f"  {setup}"
    for wanted in script.submissions:
        yield f"  submitted: {wanted.config['searcher']} {wanted.config['resources']}"
    yield from (f"  wished: {wish}" for wish in script.wishes)
    yield "what fate had done:"
    yield from (f"  {at_s:9.3f} s, after event {position}: {blow}" for at_s, position, blow in cluster.blows)
    yield f"how it stood at {clock.elapsed_s():.3f} s: {_standing(cluster)}"
    yield "the last that happened:"
    for recorded in cluster.log.story[-LAST:]:
        at_s = (recorded.recorded_at - clock.BEGINNING).total_seconds()
        yield f"  {at_s:9.3f} s {recorded.position:5} {recorded.stream}: {_shortly(recorded)}"


def _shortly(recorded: Recorded) -> str:
    text = repr(recorded.event)
    return f"{text if len(text) < 160 else text[:159] + '…'} because of {recorded.cause.id}"


def _standing(cluster: SimulatedCluster) -> str:
    dead = [name for name, process in cluster.processes.items() if process.dead]
    kinds = Counter(task.order.spec.task_type for host in cluster.hosts.values() for task in host.tasks.values())
    return f"dead: {dead or 'nobody'}; tasks on hosts: {dict(kinds) or 'none'}; bugs: {cluster.bugs or 'none'}"


@contextmanager
def voice(loud: bool) -> Iterator[None]:
    """Services say much in a storm; a seed that failed is told again, loudly."""
    before = structlog.get_config()
    level = logging.DEBUG if loud else logging.CRITICAL
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(level))
    try:
        yield
    finally:
        structlog.configure(**before)
