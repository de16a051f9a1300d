"""A trial for real ranks: trains a small network through every scenario asked for, and leaves its weights in files.

`python model.py FOLDER SCENARIO...`; started alone or as one of several ranks, by whichever launcher. With
`python model.py FOLDER --part STOP_AFTER [UUID]` it trains ELASTIC that far, from the checkpoint UUID on.
"""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any, NoReturn

import torch
from torch import nn
from torch.utils.data import TensorDataset

from determined import pytorch
from determined.exec._leave import FreshStart

GLOBAL_BATCH_SIZE = 24
RECORDS = 120
"""A whole number of batches: a shorter last one is not dealt out evenly."""

BATCHES = 14

SCENARIOS: dict[str, dict[str, Any]] = {
    "plain": {},
    "aggregated": {"aggregation_frequency": 2},
    "summed": {"aggregation_frequency": 2, "average": False, "lr": 0.01},
    "clipped": {"clip": 0.05, "schedule": True},
    "aggregated and clipped": {"aggregation_frequency": 2, "clip": 0.05, "schedule": True},
    "mixed": {"mixed": True},
    "resumed": {"stop_after": 5, "schedule": True},
    "resumed within an aggregation": {"stop_after": 5, "aggregation_frequency": 2, "clip": 0.05, "schedule": True},
    "compressed": {"compress": True},
}

# On whatever number of slots; not a whole number of batches, and one that is not divided by 3 or 4.
ELASTIC = {
    "resources": {"slots_per_trial": {"min": 1, "max": 4}},
    "global_batch_size": 22,
    "aggregation_frequency": 2,
    "clip": 0.05,
    "schedule": True,
}


class Trial(pytorch.PyTorchTrial):
    """No dropout and no batch norm: then how records are dealt out to ranks makes no difference."""

    def __init__(self, context: pytorch.PyTorchTrialContext, scenario: dict[str, Any]) -> None:
        self.context, self.scenario = context, scenario
        self.scaler = None
        if scenario.get("mixed"):
            self.scaler = context.wrap_scaler(torch.amp.GradScaler("cpu", init_scale=256.0))
        self.model = context.wrap_model(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3)))
        optimizer = torch.optim.SGD(self.model.parameters(), lr=scenario.get("lr", 0.2), momentum=0.9)
        self.optimizer = context.wrap_optimizer(optimizer, average_aggregated_gradients=scenario.get("average"))
        if scenario.get("schedule"):
            schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 3, gamma=0.7)
            context.wrap_lr_scheduler(schedule, pytorch.LRScheduler.StepMode.STEP_EVERY_OPTIMIZER_STEP)
        self.seen = context.wrap_reducer(lambda values: sum(values), name="seen")

    def build_training_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(records(RECORDS), batch_size=self.context.get_per_slot_batch_size(), shuffle=True)

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        # Not a whole number of batches, and a different number on each rank.
        return pytorch.DataLoader(records(43), batch_size=self.context.get_per_slot_batch_size())

    def loss(self, batch: Any) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bool(self.scenario.get("mixed"))):
            outputs = self.model(batch[0])
        return nn.functional.mse_loss(outputs.float(), batch[1])

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
        loss = self.loss(batch)
        self.context.backward(loss)
        clip = self.scenario.get("clip")
        clipping = (lambda parameters: nn.utils.clip_grad_norm_(parameters, clip)) if clip else None
        self.context.step_optimizer(self.optimizer, clip_grads=clipping)
        if self.scaler is not None and self.context._updates_now():
            self.scaler.update()
        self.seen.update(len(batch[0]))
        if batch_idx + 1 == self.scenario.get("stop_after"):
            self.context.set_stop_requested(True)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any, batch_idx: int) -> dict[str, Any]:
        self.seen.update(len(batch[0]))
        return {"loss": self.loss(batch)}


def records(count: int) -> TensorDataset:
    generator = torch.Generator().manual_seed(7)
    inputs = torch.randn(count, 8, generator=generator)
    return TensorDataset(inputs, torch.stack([inputs.sum(1), inputs[:, 0] * inputs[:, 1], inputs[:, 2].sin()], 1))


class Notes(pytorch.PyTorchCallback):
    def __init__(self) -> None:
        self.uuid: str | None = None
        self.validation: dict[str, Any] = {}
        self.training: list[dict[str, Any]] = []

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        self.uuid = uuid

    def on_validation_end(self, metrics: dict[str, Any]) -> None:
        self.validation = {name: float(value) for name, value in metrics.items()}

    def on_training_workload_end(self, avg_metrics: dict[str, Any], batch_metrics: Any) -> None:
        self.training.append({name: float(value) for name, value in avg_metrics.items()})


def fit(scenario: dict[str, Any], latest_checkpoint: str | None = None, batches: int = BATCHES) -> tuple[Trial, Notes]:
    configuration = {
        "reproducibility": {"experiment_seed": 11},
        "optimizations": {"gradient_compression": bool(scenario.get("compress"))},
        "resources": scenario.get("resources") or {},
    }
    notes = Notes()
    with pytorch.init(
        hparams={"global_batch_size": scenario.get("global_batch_size", GLOBAL_BATCH_SIZE)},
        exp_conf=configuration,
        aggregation_frequency=scenario.get("aggregation_frequency", 1),
    ) as context:
        trial = Trial(context, scenario)
        trial.build_callbacks = lambda: {"notes": notes}  # type: ignore[method-assign]
        pytorch.Trainer(trial, context).fit(
            max_length=pytorch.Batch(batches),
            reporting_period=pytorch.Batch(1),
            checkpoint_policy="none",
            latest_checkpoint=latest_checkpoint,
        )
    return trial, notes


def run(name: str, folder: pathlib.Path) -> None:
    """One scenario; weights, optimizer state and metrics are left in `<folder>/<name>.<rank>.json`."""
    trial, notes = fit(SCENARIOS[name])
    training = notes.training
    if "stop_after" in SCENARIOS[name]:
        trial, notes = fit({**SCENARIOS[name], "stop_after": None}, notes.uuid)
    leave(trial, notes, training + notes.training, folder / f"{name}.{trial.context.distributed.rank}.json")


def run_part(folder: pathlib.Path, stop_after: int, latest_checkpoint: str | None) -> None:
    """To the end when that is there: without being asked to stop."""
    stop = {"stop_after": stop_after} if stop_after < BATCHES else {}
    trial, notes = fit({**ELASTIC, **stop}, latest_checkpoint)
    leave(trial, notes, notes.training, folder / f"until-{stop_after}.{trial.context.distributed.rank}.json")


def leave(trial: Trial, notes: Notes, training: list[dict[str, Any]], path: pathlib.Path) -> None:
    weights = torch.cat([parameter.detach().reshape(-1) for parameter in trial.model.parameters()])
    state = [state["momentum_buffer"].reshape(-1) for state in trial.optimizer.state_dict()["state"].values()]
    told = {
        "weights": weights.tolist(),
        "momentum": torch.cat(state).tolist(),
        "validation": notes.validation,
        "training": training,
        "uuid": notes.uuid,
    }
    path.write_text(json.dumps(told))


def main() -> NoReturn:
    place = pathlib.Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    match sys.argv[2:]:
        case ["--part", stop_after, *latest]:
            run_part(place, int(stop_after), latest[0] if latest else None)
        case scenarios:
            for wanted in scenarios:
                run(wanted, place)
    sys.exit(0)


if __name__ == "__main__":
    FreshStart().leave_after(main)  # as the rank of a trial class ends: a second of work sooner than Python would
