"""Trains the network of `model_def.py` on a cluster; after a restart or a pause, from the last checkpoint on."""

from __future__ import annotations

import logging

from model_def import MNistTrial

import determined as det
from determined import pytorch


def main() -> None:
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    with pytorch.init() as context:
        pytorch.Trainer(MNistTrial(context), context).fit(
            max_length=pytorch.Batch(600),
            reporting_period=pytorch.Batch(50),
            validation_period=pytorch.Batch(100),
            checkpoint_period=pytorch.Batch(200),
            latest_checkpoint=info.latest_checkpoint if info is not None else None,
        )


if __name__ == "__main__":
    main()
