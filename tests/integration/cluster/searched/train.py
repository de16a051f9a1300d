"""A trial that trains nothing and follows its search: by operations, or by reporting how far it has come.

The smaller `x`, the better. Every step is said in the log, so that a step done twice shows.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path

import determined as det


class Training:
    def __init__(self, core_context: det.core.Context, info: det.ClusterInfo) -> None:
        self.core, self.hparams = core_context, info.trial.hparams
        self.steps = 0
        if info.latest_checkpoint is not None:
            with core_context.checkpoint.restore_path(info.latest_checkpoint) as path:
                self.steps = int((Path(path) / "steps").read_text())
        logging.info("begins after step %d", self.steps)
        if self.hparams.get("invalid_above") is not None and self.hparams["x"] > self.hparams["invalid_above"]:
            raise det.InvalidHP(f"x is {self.hparams['x']}")

    def to(self, length: int) -> bool:
        """Train to `length` in all; whether the slots were wanted back on the way."""
        while self.steps < length:
            time.sleep(self.hparams["step_s"])
            self.steps += 1
            logging.info("step %d", self.steps)
            if self.core.preempt.should_preempt(auto_ack=False):
                return True
        return False

    def validate(self) -> float:
        loss: float = self.hparams["x"] / self.steps
        name = self.hparams.get("metric", "loss")
        self.core.train.report_validation_metrics(self.steps, {name: loss, "steps": self.steps})
        return loss

    def save(self) -> None:
        with self.core.checkpoint.store_path({"steps_completed": self.steps}) as (path, _):
            (Path(path) / "steps").write_text(str(self.steps))


def by_operations(training: Training) -> None:
    for operation in training.core.searcher.operations():
        if training.to(operation.length):
            training.save()
            training.core.preempt.acknowledge_preemption_signal()
            return
        training.save()
        operation.report_completed(training.validate())


def by_time(training: Training, steps: int) -> None:
    for length in range(training.steps + 1, steps + 1):
        stopped = training.to(length)
        training.validate()
        if stopped or training.core.preempt.should_preempt(auto_ack=False):
            training.save()
            training.core.preempt.acknowledge_preemption_signal()
            return
    training.save()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    assert info is not None, "this trial runs on a cluster"
    with det.core.init() as context:
        if max_time := info.trial._config["searcher"].get("max_time"):
            by_time(Training(context, info), max_time)
        else:
            by_operations(Training(context, info))
