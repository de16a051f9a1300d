"""A trial that trains nothing: counts steps, reports and checkpoints each tenth, and says every step in its log."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

import determined as det


def restored(core_context: det.core.Context, checkpoint: str | None) -> int:
    if checkpoint is None:
        return 0
    with core_context.checkpoint.restore_path(checkpoint) as path:
        return int((Path(path) / "steps").read_text())


def wait(core_context: det.core.Context, file: str) -> None:
    """Until there is such a file, or the slots are wanted."""
    while not Path(file).exists() and not core_context.preempt.should_preempt():
        time.sleep(0.05)


def main(core_context: det.core.Context) -> None:
    info = det.get_cluster_info()
    assert info is not None, "this trial runs on a cluster"
    hparams = info.trial.hparams
    steps = restored(core_context, info.latest_checkpoint)
    began_after = steps
    logging.info("begins after step %d", steps)
    if steps < hparams.get("fail_before", 0):
        raise ValueError(f"as asked, at step {steps}")
    while steps < hparams["steps"]:
        time.sleep(hparams["step_s"])
        steps += 1
        logging.info("step %d", steps)
        while began_after == 0 and steps == hparams.get("killed_at"):
            time.sleep(0.05)  # so that it is killed here, in its first run, however slow its killer is
        if steps % 10:
            continue
        core_context.train.report_validation_metrics(steps, {"loss": hparams["x"] / steps})
        with core_context.checkpoint.store_path({"steps_completed": steps}) as (path, _):
            (Path(path) / "steps").write_text(str(steps))
        if "waits_for" in hparams:
            wait(core_context, hparams["waits_for"])
        if core_context.preempt.should_preempt():
            return
    logging.info("ends after step %d in process %d", steps, os.getpid())


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    with det.core.init() as context:
        main(context)
