"""What our launchers take from training: samples a second of one script under them and under the bare launchers.

The script is a plain Horovod or DDP script that knows nothing of us; it times itself between two batches, so starting
does not count. Runs alternate, a pair at a time, with the cluster up during both of them, and what is held against the
bar is the median of the pairs' ratios. `--rounds` pairs, `--seconds` each run; a shared machine needs many.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import uvloop

from bench.commands import ask, login
from bench.embedded import Embedded, embedded
from bench.figures import Figure, tell
from bench.harness import in_turns, median
from bench.trials import ended

RANKS = 2
BIN = Path(sys.executable).parent

# A batch takes some 20 ms; a line is printed every few, as scripts do.
TRAIN = """
import os, sys, time
import torch
{setup}
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 512))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
{wrap}
records = torch.randn(256, 512)
first, done = None, 0
while True:
    loss = (model(records) - records).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    done += 1
    if done == 20:
        first = time.perf_counter()
    if done % 10 == 0:
        print("batch", done, "loss", float(loss.detach()), flush=True)
        # Together: that of rank 0 decides.
        seconds = 0.0 if first is None else time.perf_counter() - first
        over = torch.tensor(float(seconds > float(os.environ["SECONDS_EACH"])))
        if {agree}:
            break
if rank == 0:
    with open(os.environ["RATE"], "w") as file:
        file.write(repr((done - 20) * len(records) * size / (time.perf_counter() - first)))
"""

HOROVOD = TRAIN.format(
    setup="import horovod.torch as hvd\nhvd.init()\nrank, size = hvd.rank(), hvd.size()",
    wrap="optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())",
    agree="float(hvd.broadcast(over, 0))",
)
DDP = TRAIN.format(
    setup=(
        "import torch.distributed as dist\ndist.init_process_group('gloo')\n"
        "rank, size = dist.get_rank(), dist.get_world_size()"
    ),
    wrap="model = torch.nn.parallel.DistributedDataParallel(model)",
    agree="dist.broadcast(over, 0) or float(over)",
)


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    script: str
    entrypoint: str
    bare: Sequence[str]
    bare_name: str


PEERS = (
    Peer(
        "Horovod",
        HOROVOD,
        "python3 -m determined.launch.horovod python3 train.py",
        [str(BIN / "horovodrun"), "--gloo", "-np", str(RANKS), "-H", f"localhost:{RANKS}"],
        "horovodrun",
    ),
    Peer(
        "DDP",
        DDP,
        "python3 -m determined.launch.torch_distributed -- python3 train.py",
        [str(BIN / "torchrun"), "--standalone", f"--nproc_per_node={RANKS}", "--no_python"],
        "torchrun",
    ),
)


def variables(rate: Path, seconds: float) -> dict[str, str]:
    return {"OMP_NUM_THREADS": "1", "RATE": str(rate), "SECONDS_EACH": str(seconds)}


async def under_resolute(cluster: Embedded, token: str, peer: Peer, rate: Path, seconds: float) -> float:
    chosen = variables(rate, seconds)
    config = {
        "name": f"overhead of {peer.name}",
        "entrypoint": peer.entrypoint,
        "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 1}},
        "resources": {"slots_per_trial": RANKS},
        "environment": {"environment_variables": [f"{name}={value}" for name, value in chosen.items()]},
        "max_restarts": 0,
    }
    script = {"path": "train.py", "type": 48, "mode": 420, "content": base64.b64encode(peer.script.encode()).decode()}
    body = {"config": json.dumps(config), "modelDefinition": [script], "activate": True}
    experiment = (await ask(cluster.port, "POST", "/api/v1/experiments", body, token))["experiment"]
    assert isinstance(experiment, dict)
    await asyncio.sleep(seconds)  # to ask in the meantime would cost the ranks some of their processors
    await ended(cluster, token, int(experiment["id"]), timeout_s=seconds * 2 + 120)
    return _read(rate)


async def bare(peer: Peer, folder: Path, rate: Path, seconds: float) -> float:
    (folder / "train.py").write_text(peer.script)
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    done = await asyncio.to_thread(
        subprocess.run,
        [*peer.bare, str(BIN / "python3"), "train.py"],
        cwd=folder,
        env={**os.environ, **variables(rate, seconds), "PATH": path},
        capture_output=True,
        text=True,
        timeout=seconds * 3 + 120,
        check=False,
        # As a task has: on a busy machine each session is given a share of its own.
        start_new_session=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return _read(rate)


def _read(rate: Path) -> float:
    """What the run wrote; it is gone then, so that a run that fails is not taken for the one before."""
    written = float(rate.read_text())
    rate.unlink()
    return written


async def compare(cluster: Embedded, token: str, peer: Peer, rounds: int, seconds: float) -> list[Figure]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rate = folder / "rate"
        found = await in_turns(
            rounds,
            {
                "bare": lambda: bare(peer, folder, rate, seconds),
                "launched": lambda: under_resolute(cluster, token, peer, rate, seconds),
            },
        )
    ratios = [100 * launched / alone for launched, alone in zip(found["launched"], found["bare"], strict=True)]
    print(f"{peer.name}: each pair, % of bare: {', '.join(f'{ratio:.1f}' for ratio in ratios)}")
    return [
        Figure(f"{peer.name}: {RANKS} ranks under {peer.bare_name}", median(found["bare"]), "samples/s"),
        Figure(f"{peer.name}: the same under the launcher of Resolute", median(found["launched"]), "samples/s"),
        Figure(f"{peer.name}: launched, of bare, median of {rounds} pairs", median(ratios), "%", 99),
    ]


async def measure(peers: Sequence[Peer], rounds: int, seconds: float) -> list[Figure]:
    with embedded() as cluster:
        cluster.up()
        token = await login(cluster.port)
        return [figure for peer in peers for figure in await compare(cluster, token, peer, rounds, seconds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--only", action="append", choices=[peer.name for peer in PEERS])
    arguments = parser.parse_args()
    peers = [peer for peer in PEERS if not arguments.only or peer.name in arguments.only]
    if find_spec("horovod") is None:
        print("Horovod is left out: `make horovod` builds it")
        peers = [peer for peer in peers if peer.name != "Horovod"]
    tell("overhead", uvloop.run(measure(peers, arguments.rounds, arguments.seconds)))


if __name__ == "__main__":
    main()
