"""A trial that never asks whether it should stop: reports each step, checkpoints each tenth."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

import determined as det


def main(core_context: det.core.Context) -> None:
    info = det.get_cluster_info()
    assert info is not None, "this trial runs on a cluster"
    steps = 0
    if info.latest_checkpoint is not None:
        with core_context.checkpoint.restore_path(info.latest_checkpoint) as path:
            steps = int((Path(path) / "steps").read_text())
    logging.info("begins after step %d in process %d", steps, os.getpid())
    pause_s = 0.03 if steps else 0.06  # its first run is given up before it is through, however slow that is
    while steps < info.trial.hparams["steps"]:
        time.sleep(pause_s)
        steps += 1
        core_context.train.report_training_metrics(steps, {"loss": 1 / steps})
        if steps % 10 == 0:
            with core_context.checkpoint.store_path({"steps_completed": steps}) as (path, _):
                (Path(path) / "steps").write_text(str(steps))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    with det.core.init(preempt_mode=det.core.PreemptMode.ChiefOnly) as context:
        main(context)
