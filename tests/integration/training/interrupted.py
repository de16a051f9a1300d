"""A trial of a cluster that leaves its weights when it is done: `python interrupted.py FOLDER`.

On several ranks the last is slower than the others. Without the file FOLDER/hurry all take their time, so that there is
time to interrupt them.
"""

from __future__ import annotations

import pathlib
import sys
import time
from typing import Any

from determined import pytorch
from determined._info import get_cluster_info
from tests.integration.training import model

PLACE = pathlib.Path(sys.argv[1])
HURRY = "hurry"


class Slow(model.Trial):
    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
        distributed = self.context.distributed
        pause_s = 0.03 if distributed.rank == distributed.size - 1 else 0.01
        time.sleep(pause_s if (PLACE / HURRY).exists() else 8 * pause_s)
        return super().train_batch(batch, epoch_idx, batch_idx)


if __name__ == "__main__":
    PLACE.mkdir(parents=True, exist_ok=True)
    info = get_cluster_info()
    assert info is not None
    notes = model.Notes()
    with pytorch.init(aggregation_frequency=3) as context:
        trial = Slow(context, {"clip": 0.05, "schedule": True})
        trial.build_callbacks = lambda: {"notes": notes}  # type: ignore[method-assign]
        pytorch.Trainer(trial, context).fit(
            max_length=pytorch.Batch(60),
            reporting_period=pytorch.Batch(1),
            checkpoint_policy="none",
            latest_checkpoint=info.latest_checkpoint,
        )
        model.leave(trial, notes, notes.training, PLACE / f"{context.distributed.rank}.json")
