"""A Postgres (fsync on), a NATS and one gateway process over a log that already tells of trials."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from resolute.config import ClusterDefaults, load_yaml, parse_experiment
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.experiment import ExperimentCreated, TrialCreated, TrialRunRequested
from resolute.proto.message import Cause, Event
from resolute.proto.pool import AllocationRequested
from resolute.service import tokens
from tests.ports import free_port
from tests.servers import Nats, Postgres

SECRET = "a secret for benches"

YAML = """
name: bench
entrypoint: python3 train.py
searcher: {name: random, metric: loss, max_length: {batches: 100}, max_trials: 16}
hyperparameters: {learning_rate: {type: log, base: 10, minval: -4, maxval: -1}}
labels: [bench, night]
"""

CONFIG = parse_experiment(
    load_yaml(YAML),
    ClusterDefaults(checkpoint_storage={"type": "shared_fs", "host_path": "/checkpoints"}, created_at_s=7),
).merged
"""Complete, as a submission is recorded: a list of experiments is mostly this."""


@dataclass(frozen=True, slots=True)
class Trial:
    trial_id: int
    task_id: str
    allocation_id: str

    @property
    def token(self) -> str:
        return tokens.mint(SECRET.encode(), self.task_id, self.allocation_id)


async def tell_of_trials(log: PostgresEventLog, experiments: int, trials_each: int = 1) -> list[Trial]:
    """Write the events of experiments whose trials' first runs have been asked for."""
    trials = []
    pool_version = 0
    for experiment_id in range(1, experiments + 1):
        name = f"experiment {experiment_id}"
        created = ExperimentCreated(experiment_id, f"job-{experiment_id}", name, CONFIG, YAML, 2, "determined", 1, 7)
        events: list[Event] = [created]
        asked: list[Event] = []
        for n in range(trials_each):
            trial_id = (experiment_id - 1) * trials_each + n + 1
            trial = Trial(trial_id, f"{trial_id}.task", f"{trial_id}.task.1")
            trials.append(trial)
            events += [
                TrialCreated(trial_id, f"r{n}", trial.task_id, {"learning_rate": 0.01 * n}, n),
                TrialRunRequested(trial_id, 1, trial.allocation_id, 1, None, 0),
            ]
            asked.append(allocation_of(trial, experiment_id))
        cause = Cause(f"seed-{experiment_id}")
        await log.append(f"experiment-{experiment_id}", events, expected_version=0, cause=cause)
        await log.append("pool-default", asked, expected_version=pool_version, cause=cause)
        pool_version += len(asked)
    return trials


def allocation_of(trial: Trial, experiment_id: int) -> AllocationRequested:
    return AllocationRequested(
        allocation_id=trial.allocation_id,
        task_id=trial.task_id,
        task_type="TRIAL",
        job_id=f"job-{experiment_id}",
        name=f"trial {trial.trial_id}",
        owner="determined",
        slots=1,
        priority=42,
        weight=1.0,
        max_slots=None,
        preemption_timeout_s=600,
        experiment_id=experiment_id,
        trial_id=trial.trial_id,
    )


@contextmanager
def servers() -> Iterator[tuple[Postgres, Nats]]:
    postgres, nats = Postgres(), Nats()
    try:
        yield postgres, nats
    finally:
        nats.close()
        postgres.close()


@dataclass(frozen=True, slots=True)
class Served:
    port: int
    pid: int


def gateway(dsn: str, nats_url: str) -> AbstractContextManager[Served]:
    """One gateway, with the directory in its process and nothing else, once it listens."""
    return _process("bench.one_gateway", dsn, nats_url)


def relayed_gateway(dsn: str, nats_url: str) -> AbstractContextManager[Served]:
    """The same with the relay, so that facts come over the bus as on a cluster."""
    return _process("bench.relayed_gateway", dsn, nats_url)


def all_services(dsn: str, nats_url: str) -> AbstractContextManager[Served]:
    """Every service in one process, as `det deploy local cluster-up` runs them, once its gateway listens."""
    return _process("resolute.deploy.embedded", dsn, nats_url)


@contextmanager
def _process(module: str, dsn: str, nats_url: str) -> Iterator[Served]:
    port = free_port()
    environment = {
        **os.environ,
        "RESOLUTE_DATABASE_URL": dsn,
        "RESOLUTE_NATS_URL": nats_url,
        "RESOLUTE_CLUSTER_SECRET": SECRET,
        "RESOLUTE_API_DATABASE_URL": dsn,
        "RESOLUTE_API_PORT": str(port),
        "RESOLUTE_API_SECRET": SECRET,
        "RESOLUTE_LOG_LEVEL": "warning",
    }
    with tempfile.TemporaryFile() as said:
        root = Path(__file__).parent.parent
        process = subprocess.Popen(
            [sys.executable, "-m", module], env=environment, cwd=root, stdout=said, stderr=subprocess.STDOUT
        )
        try:
            _wait_until_it_answers(port, process)
            yield Served(port, process.pid)
        finally:
            process.terminate()
            process.wait(20)
            said.seek(0)
            if process.returncode:
                print(said.read().decode()[-4000:])


def _wait_until_it_answers(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, f"the gateway stopped with {process.returncode}"
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/master", timeout=5).close()
        except OSError:  # an answer of 503 among them: its tables still grow
            time.sleep(0.02)
        else:
            return
    raise TimeoutError("the gateway did not answer within 120 s")
