"""Three agents of two slots each on this machine, which make gangs of four ranks and of six without containers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.integration.cluster.local import LocalCluster, local_cluster, until

MODEL = Path(__file__).parent / "model"
_LINE = re.compile(r"\[(?P<at>\S+)\] (?P<container>\S+) \[rank=(?P<rank>\d+)\] \|\| (?P<text>.*)")


class Line(NamedTuple):
    """One of a trial's log."""

    at: float
    container: str
    rank: int
    text: str


class Gangs:
    """A cluster, and trials on four of its slots, which are two agents."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.cluster = cluster

    def start(self, entrypoint: str, context: Path = MODEL, **config: Any) -> int:
        slots, hyperparameters = config.pop("slots", 4), config.pop("hyperparameters", {})
        # Two cores for four ranks: each keeps to one thread.
        environment = {"environment_variables": ["OMP_NUM_THREADS=1"], **config.pop("environment", {})}
        return self.cluster.create(
            {
                "name": entrypoint,
                "entrypoint": entrypoint,
                "resources": {"slots_per_trial": slots},
                "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 10}},
                "hyperparameters": hyperparameters,
                "environment": environment,
                "max_restarts": 1,
                **config,
            },
            context,
        )

    def run(self, entrypoint: str, **config: Any) -> tuple[str, int, list[Line]]:
        """The state that the experiment ends in, how often its trial was restarted, and its log."""
        return self.end(self.start(entrypoint, **config))

    def end(self, experiment_id: int) -> tuple[str, int, list[Line]]:
        state = self.cluster.ended(experiment_id, 300)
        (trial,) = self.cluster.trials(experiment_id)
        return state, trial["restarts"], self.log(trial["id"])

    def log(self, trial_id: int) -> list[Line]:
        found = filter(None, map(_LINE.match, self.cluster.logs(trial_id).splitlines()))
        return [
            Line(datetime.fromisoformat(one["at"]).timestamp(), one["container"], int(one["rank"]), one["text"])
            for one in found
        ]

    def share(self, experiment_id: int, rank: int) -> list[int]:
        """Wait until the gang counts, and find the processes of the container that this rank is in, its launcher first:
        were it the last to die, it could still tell of the others."""
        (trial,) = until("the trial is there", lambda: self.cluster.trials(experiment_id), 180)
        until("the ranks count", lambda: "counting on" in self.cluster.logs(trial["id"]), 180)
        wrapper = until("the rank is found", lambda: list(self._wrappers(rank)), 180)[0]
        name = next(one for one in environ(wrapper) if one.startswith(b"DET_RESOURCES_ID="))
        share = {pid: words for pid, words in commands() if name in environ(pid) and b"shim.py" not in b" ".join(words)}
        return sorted(share, key=lambda pid: not any(word.startswith(b"determined.launch.h") for word in share[pid]))

    def _wrappers(self, rank: int) -> Iterator[int]:
        home, names = str(self.cluster.home).encode(), (f"HOROVOD_RANK={rank}".encode(), f"RANK={rank}".encode())
        for pid, words in commands():
            around = environ(pid)
            ours = b"determined.launch.wrap_rank" in words and any(home in one for one in around)
            if ours and any(name in around for name in names):
                yield pid


def commands() -> Iterator[tuple[int, Sequence[bytes]]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                yield int(entry.name), (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue  # it has ended meanwhile


def environ(pid: int) -> Sequence[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ()


@pytest.fixture(scope="package")
def gangs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gangs]:
    with pytest.MonkeyPatch.context() as patch:
        # A container that stands still is waited for in vain, for twice as long as this.
        patch.setenv("RESOLUTE_AGENT_GRACE_S", "8")
        with local_cluster(tmp_path_factory.mktemp("gangs"), agents=3, slots=2) as cluster:
            yield Gangs(cluster)
