"""The same short trials under Ray Tune, run by the python of its own environment:

    python ray_trials.py no-op|asha TRIALS reuse|fresh FOLDER

Prints one line of JSON: its version, and the seconds from `fit` to its end. Starting Ray itself is not counted.
"""

from __future__ import annotations

import json
import os
import sys
import time

os.environ["RAY_AIR_NEW_OUTPUT"] = "0"
os.environ["TUNE_DISABLE_AUTO_CALLBACK_LOGGERS"] = "1"

import ray
from ray import tune
from ray.tune.schedulers import AsyncHyperBandScheduler

STEPS_MAX = 64


class NoOp(tune.Trainable):  # type: ignore[misc]
    """A class, since only those can have their actors reused."""

    def setup(self, config):  # type: ignore[no-untyped-def]
        self.quality = config["x"]

    def step(self):  # type: ignore[no-untyped-def]
        return {"loss": self.quality, "done": True}

    def reset_config(self, config):  # type: ignore[no-untyped-def]
        self.quality = config["x"]
        return True

    def save_checkpoint(self, folder):  # type: ignore[no-untyped-def]
        return {}

    def load_checkpoint(self, checkpoint):  # type: ignore[no-untyped-def]
        return None


class Steps(NoOp):
    def step(self):  # type: ignore[no-untyped-def]
        time.sleep(0.02)
        return {"loss": self.quality / (self.iteration + 1), "done": self.iteration + 1 >= STEPS_MAX}


def main(what: str, trials: int, reuse: bool, folder: str) -> None:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    asha = AsyncHyperBandScheduler(max_t=STEPS_MAX, grace_period=4, reduction_factor=4) if what == "asha" else None
    tuner = tune.Tuner(
        Steps if what == "asha" else NoOp,
        param_space={"x": tune.uniform(0.0, 1.0)},
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", num_samples=trials, scheduler=asha, reuse_actors=reuse, max_concurrent_trials=2
        ),
        run_config=tune.RunConfig(storage_path=folder, verbose=0),
    )
    began = time.perf_counter()
    results = tuner.fit()
    seconds = time.perf_counter() - began
    assert len(results) == trials, len(results)
    assert results.num_errors == 0, results.errors
    print(json.dumps({"version": ray.__version__, "seconds": seconds}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "reuse", sys.argv[4])
