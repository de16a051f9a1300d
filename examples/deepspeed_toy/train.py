"""Training with DeepSpeed's ZeRO 1 as a trial: every rank holds a share of the optimizer's state, and stores it itself.

The Core API does the rest: metrics, checkpoints of which each rank brings its part, preemption on which all ranks
agree, and resuming. On a cluster determined.launch.deepspeed starts the ranks; by itself it also runs:
`python3 train.py`.
"""

from __future__ import annotations

import logging
import os
from typing import Any

# Has to be said before DeepSpeed is imported; leave it out where there are GPUs.
os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed
import torch
from torch import nn

import determined as det

DEFAULTS = {"global_batch_size": 32, "learning_rate": 0.01, "hidden_size": 64, "steps": 120, "report_every": 20}


def deepspeed_config(hparams: dict[str, Any], ranks: int) -> dict[str, Any]:
    """What DeepSpeed is to do; ZeRO 1 shares the optimizer's state out to the ranks."""
    return {
        "train_batch_size": hparams["global_batch_size"],
        "train_micro_batch_size_per_gpu": hparams["global_batch_size"] // ranks,
        "optimizer": {"type": "Adam", "params": {"lr": hparams["learning_rate"], "torch_adam": True}},
        "zero_optimization": {"stage": 1},
        "gradient_clipping": 1.0,
        "steps_per_print": 1 << 30,
    }


def records(step: int, hparams: dict[str, Any], rank: int, ranks: int) -> tuple[torch.Tensor, torch.Tensor]:
    """This rank's share of the batch of `step`, the same in every run: points, and a wave over them."""
    generator = torch.Generator().manual_seed(step)
    points = torch.rand(hparams["global_batch_size"], 2, generator=generator) * 2 - 1
    share = points[rank::ranks]
    return share, (3 * share[:, :1]).sin() * share[:, 1:]


def validate(engine: Any, hparams: dict[str, Any]) -> float:
    """The loss on records that no step trains on."""
    points, targets = records(1 << 40, {**hparams, "global_batch_size": 512}, 0, 1)
    engine.eval()
    with torch.no_grad():
        loss = nn.functional.mse_loss(engine(points), targets)
    engine.train()
    return float(loss)


def train(core_context: det.core.Context, hparams: dict[str, Any], latest_checkpoint: str | None) -> None:
    rank, ranks = core_context.distributed.rank, core_context.distributed.size
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(2, hparams["hidden_size"]), nn.Tanh(), nn.Linear(hparams["hidden_size"], 1))
    engine, *_ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=deepspeed_config(hparams, ranks)
    )
    steps_completed = 0
    if latest_checkpoint is not None:
        with core_context.checkpoint.restore_path(latest_checkpoint) as path:
            _, state = engine.load_checkpoint(str(path), tag="engine")
        steps_completed = state["steps_completed"]
        logging.info("rank %d resumed after step %d", rank, steps_completed)

    losses = []
    while steps_completed < hparams["steps"]:
        points, targets = records(steps_completed, hparams, rank, ranks)
        loss = nn.functional.mse_loss(engine(points), targets)
        engine.backward(loss)
        engine.step()
        steps_completed += 1
        losses.append(float(loss.detach()))
        if steps_completed % hparams["report_every"] and steps_completed < hparams["steps"]:
            continue

        everyone = core_context.distributed.gather(sum(losses) / len(losses))
        losses = []
        validated = validate(engine, hparams)
        if everyone is not None:
            core_context.train.report_training_metrics(steps_completed, {"loss": sum(everyone) / ranks})
            core_context.train.report_validation_metrics(steps_completed, {"validation_loss": validated})
            core_context.train.report_progress(steps_completed / hparams["steps"])
        with core_context.checkpoint.store_path({"steps_completed": steps_completed}, shard=True) as (path, _):
            engine.save_checkpoint(str(path), tag="engine", client_state={"steps_completed": steps_completed})
        if core_context.preempt.should_preempt():
            return


def main() -> None:
    info = det.get_cluster_info()
    distributed = None
    if "RANK" in os.environ:
        distributed = det.core.DistributedContext.from_deepspeed()
    else:
        os.environ.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    deepspeed.init_distributed(dist_backend="gloo", verbose=False)
    with det.core.init(distributed=distributed) as core_context:
        hparams = DEFAULTS if info is None else info.trial.hparams
        train(core_context, hparams, info.latest_checkpoint if info is not None else None)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    main()
