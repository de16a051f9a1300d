"""A trial of one process a container: counts steps together with the others, and says on how many slots."""

from __future__ import annotations

import os
import time
from pathlib import Path

import determined as det
from determined import core

EVERY = 10


def together(info: det.ClusterInfo) -> core.DistributedContext:
    containers = len(info.container_addrs)
    return core.DistributedContext(
        rank=info.container_rank,
        size=containers,
        local_rank=0,
        local_size=1,
        cross_rank=info.container_rank,
        cross_size=containers,
        chief_ip=info.container_addrs[0],
    )


def restored(context: core.Context, checkpoint: str | None) -> int:
    if checkpoint is None:
        return 0
    with context.checkpoint.restore_path(checkpoint) as path:
        return int((Path(path) / "steps").read_text())


def main(context: core.Context, info: det.ClusterInfo) -> None:
    steps = restored(context, info.latest_checkpoint)
    if context.distributed.rank == 0:
        print(
            f"on {sum(info.container_slot_counts)} slots of {len(info.container_addrs)}, after step {steps}", flush=True
        )
    while steps < info.trial.hparams["steps"]:
        if not os.path.exists(info.trial.hparams["hurries_once_there_is"]):
            time.sleep(0.2)  # so that there is time to take an agent away
        steps += 1
        context.distributed.allgather(steps)
        if steps % EVERY == 0 and context.distributed.rank == 0:
            with context.checkpoint.store_path({"steps_completed": steps}) as (path, _):
                (Path(path) / "steps").write_text(str(steps))
            context.train.report_validation_metrics(steps, {"loss": 1.0 / steps})


if __name__ == "__main__":
    found = det.get_cluster_info()
    assert found is not None, "this trial runs on a cluster"
    with core.init(distributed=together(found)) as ready:
        main(ready, found)
