"""From `det e create` to the first metric of a PyTorch trial, on an idle cluster.

The clock starts with the command and stops when the gateway has the metric. Cold: the first trial since the cluster
came up. Warm: one after it.
"""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path

import uvloop

from bench.commands import ask, login
from bench.embedded import Embedded, embedded
from bench.figures import Figure, tell

MODEL = """
import determined as det
import torch

torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
with det.core.init() as core:
    for step in range(1, 4):
        loss = model(torch.randn(16, 8)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        core.train.report_training_metrics(step, {"loss": loss.item()})
    core.train.report_validation_metrics(3, {"loss": loss.item()})
"""

CONFIG = """
name: first metric
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 3}}
max_restarts: 0
environment: {environment_variables: [OMP_NUM_THREADS=1]}
"""


async def first_metric_s(cluster: Embedded, model: Path, token: str) -> float:
    began = time.perf_counter()
    said = cluster.det("e", "create", str(model / "const.yaml"), str(model))
    found = re.search(r"(?i)experiment (\d+)", said)
    assert found is not None, said
    return await _reported(cluster, int(found[1]), token) - began


async def _reported(cluster: Embedded, experiment_id: int, token: str) -> float:
    path = f"/api/v1/experiments/{experiment_id}/trials"
    deadline = time.perf_counter() + 120
    while (now := time.perf_counter()) < deadline:
        answer = await ask(cluster.port, "GET", path, token=token)
        trials = answer["trials"]
        assert isinstance(trials, list)
        if trials and trials[0]["totalBatchesProcessed"] > 0:
            return now
        assert not trials or trials[0]["state"] != "STATE_ERROR", cluster.det("t", "logs", str(trials[0]["id"]))
    raise TimeoutError(f"experiment {experiment_id} reported nothing in 120 s")


async def _ended(cluster: Embedded, token: str) -> None:
    while True:
        answer = await ask(cluster.port, "GET", "/api/v1/experiments?states=STATE_ACTIVE&limit=-2", token=token)
        pagination = answer["pagination"]
        assert isinstance(pagination, dict)
        if pagination["total"] == 0:
            return


async def measure(rounds: int = 3) -> list[Figure]:
    with embedded() as cluster, tempfile.TemporaryDirectory() as folder:
        model = Path(folder)
        (model / "train.py").write_text(MODEL)
        (model / "const.yaml").write_text(CONFIG)
        cluster.up()
        token = await login(cluster.port)
        cold = await first_metric_s(cluster, model, token)
        warm = []
        for _ in range(rounds):
            await _ended(cluster, token)
            warm.append(await first_metric_s(cluster, model, token))
        return [
            Figure("det e create to first metric, torch, cold", cold, "s", 4, at_most=True),
            Figure(f"the same, warm (median of {rounds})", sorted(warm)[rounds // 2], "s", 0.5, at_most=True),
        ]


def main() -> None:
    tell("first_metric", uvloop.run(measure()))


if __name__ == "__main__":
    main()
