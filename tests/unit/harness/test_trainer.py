"""The training loop: in what order it calls, what it reports, and that a resumed run is the same run."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import TensorDataset

import determined as det
from determined import core, errors, pytorch
from tests.unit.harness.conftest import Master


class Recorder(pytorch.PyTorchCallback):
    """Notes every call of a hook."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls
        self.loaded: dict[str, Any] | None = None
        self.files: list[str] = []

    def on_trial_startup(self, first_batch_idx: int, checkpoint_uuid: str | None) -> None:
        self.calls.append(f"startup({first_batch_idx}, {'uuid' if checkpoint_uuid else None})")

    def on_trial_shutdown(self) -> None:
        self.calls.append("shutdown")

    def on_training_start(self) -> None:
        self.calls.append("training_start")

    def on_training_epoch_start(self, epoch_idx: int) -> None:
        self.calls.append(f"epoch_start({epoch_idx})")

    def on_training_epoch_end(self, epoch_idx: int) -> None:
        self.calls.append(f"epoch_end({epoch_idx})")

    def on_training_workload_end(self, avg_metrics: dict[str, Any], batch_metrics: dict[str, Any]) -> None:
        self.calls.append(f"workload_end({sorted(avg_metrics)}, {len(batch_metrics)})")

    def on_validation_start(self) -> None:
        self.calls.append("validation_start")

    def on_validation_epoch_start(self) -> None:
        self.calls.append("validation_epoch_start")

    def on_validation_epoch_end(self, outputs: list[Any]) -> None:
        self.calls.append(f"validation_epoch_end({len(outputs)})")

    def on_validation_end(self, metrics: dict[str, Any]) -> None:
        self.calls.append(f"validation_end({sorted(metrics)})")

    def on_checkpoint_load_start(self, checkpoint: dict[str, Any]) -> None:
        self.calls.append("load_start")

    def on_checkpoint_save_start(self, checkpoint: dict[str, Any]) -> None:
        self.calls.append("save_start")

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        self.calls.append("checkpoint_end")

    def on_checkpoint_write_end(self, checkpoint_dir: str) -> None:
        self.files = sorted(path.name for path in pathlib.Path(checkpoint_dir).iterdir())
        self.calls.append("write_end")

    def on_checkpoint_upload_end(self, uuid: str) -> None:
        self.calls.append("upload_end")
        self.uuid = uuid

    def state_dict(self) -> dict[str, Any]:
        self.calls.append("state_dict")
        return {"a": 1}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.calls.append("load_state_dict")
        self.loaded = state_dict


class Red(pytorch.MetricReducer):
    def __init__(self, calls: list[str]) -> None:
        self.calls = calls

    def reset(self) -> None:
        self.calls.append("reset")

    def per_slot_reduce(self) -> int:
        self.calls.append("per_slot")
        return 1

    def cross_slot_reduce(self, per_slot_metrics: list[Any]) -> float:
        self.calls.append(f"cross_slot({per_slot_metrics})")
        return 1.0


class Trial(pytorch.PyTorchTrial):
    """One weight, eight records, four batches an epoch; `on_batch` lets a test act in the middle."""

    def __init__(
        self,
        context: pytorch.PyTorchTrialContext,
        calls: list[str] | None = None,
        on_batch: Callable[[Any, int], None] | None = None,
    ) -> None:
        self.context, self.calls, self.on_batch = context, [] if calls is None else calls, on_batch
        self.calls.append("__init__")
        self.model = context.wrap_model(torch.nn.Linear(1, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.01))
        context.wrap_reducer(Red(self.calls), name="red")
        self.recorder = Recorder(self.calls)

    def build_callbacks(self) -> dict[str, pytorch.PyTorchCallback]:
        self.calls.append("build_callbacks")
        return {"recorder": self.recorder}

    def build_training_data_loader(self) -> pytorch.DataLoader:
        self.calls.append("build_training")
        return pytorch.DataLoader(TensorDataset(torch.arange(8.0).unsqueeze(1)), batch_size=2)

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        self.calls.append("build_validation")
        return pytorch.DataLoader(TensorDataset(torch.arange(8.0).unsqueeze(1)), batch_size=4)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
        self.calls.append(f"train({epoch_idx}, {batch_idx})")
        if self.on_batch is not None:
            self.on_batch(self, batch_idx)
        loss = self.model(batch[0]).pow(2).mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return loss  # type: ignore[no-any-return]  # a tensor alone is a loss

    def evaluate_batch(self, batch: Any) -> dict[str, Any]:  # type: ignore[override]  # as older code has it
        self.calls.append("evaluate")
        assert not torch.is_grad_enabled()
        assert not self.model.training
        return {"val": self.model(batch[0]).mean()}

    def evaluation_reducer(self) -> pytorch.Reducer:
        self.calls.append("evaluation_reducer")
        return pytorch.Reducer.AVG


def spy(context: pytorch.PyTorchTrialContext, calls: list[str]) -> None:
    """Note the calls that the loop makes on the core context."""
    train, preempt = context._core.train, context._core.preempt

    def noting(place: Any, name: str, words: Any) -> None:
        original = getattr(place, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            calls.append(words(*args, **kwargs))
            return original(*args, **kwargs)

        setattr(place, name, call)

    noting(train, "set_status", lambda status: f"status({status})")
    for kind in ("training", "validation"):
        noting(
            train,
            f"report_{kind}_metrics",
            lambda steps_completed, metrics, kind=kind: f"report_{kind}({steps_completed}, {sorted(metrics)})",
        )
    noting(train, "report_progress", lambda progress: f"progress({progress})")
    noting(train, "get_experiment_best_validation", lambda: "best")
    noting(train, "report_early_exit", lambda reason: f"early_exit({reason.name})")
    noting(preempt, "should_preempt", lambda auto_ack=True: "preempt?")


def story(on_batch: Callable[[Any, int], None] | None = None, **fit: Any) -> list[str]:
    calls: list[str] = []
    try:
        with pytorch.init(exp_conf={}) as context:
            spy(context, calls)
            trial = Trial(context, calls, on_batch)
            pytorch.Trainer(trial, context).fit(**fit)
    except SystemExit as ended:
        calls.append(f"exit({ended.code})")
    except det.InvalidHP as problem:
        calls.append(f"raised({problem})")
    return calls


BEGIN = ["__init__", "build_callbacks", "startup(0, None)", "build_training", "build_validation", "training_start"]
KEYS = "['batches', 'epochs', 'loss', 'red']"
VALIDATION_KEYS = "['batches', 'epochs', 'red', 'val']"
STRETCH = ["status(training)", "reset"]
CHECKPOINT = ["status(checkpointing)", "state_dict", "save_start", "checkpoint_end", "write_end", "upload_end"]
STOP_HERE = "preempt?"


def reported(steps: int, batches: int) -> list[str]:
    reducers = ["per_slot", "cross_slot([1])"]
    return [*reducers, f"report_training({steps}, {KEYS})", f"workload_end({KEYS}, {batches})"]


def validation(steps: int, batches: int = 2) -> list[str]:
    return [
        "status(validating)",
        "reset",
        "validation_start",
        "validation_epoch_start",
        *["evaluate"] * batches,
        f"validation_epoch_end({batches})",
        "evaluation_reducer",
        "per_slot",
        "cross_slot([1])",
        "validation_end(['red', 'val'])",
        "best",
        f"report_validation({steps}, {VALIDATION_KEYS})",
    ]


def test_two_epochs_with_validations_checkpoints_and_reports_of_their_own_periods() -> None:
    calls = story(
        max_length=pytorch.Epoch(2),
        validation_period=pytorch.Batch(3),
        checkpoint_period=pytorch.Batch(4),
        reporting_period=pytorch.Batch(2),
        checkpoint_policy="none",
    )
    assert calls == [
        *BEGIN,
        *STRETCH,
        *["epoch_start(0)", "train(0, 0)", "train(0, 1)"],
        *reported(2, 2),
        *["progress(0.0)", STOP_HERE],
        *STRETCH,
        "train(0, 2)",
        *reported(3, 1),
        *validation(3),
        STOP_HERE,
        *STRETCH,
        *["train(0, 3)", "epoch_end(0)"],
        *reported(4, 1),
        *CHECKPOINT,
        STOP_HERE,
        *["progress(0.5)", STOP_HERE],
        *STRETCH,
        *["epoch_start(1)", "train(1, 4)", "train(1, 5)"],
        *reported(6, 2),
        *validation(6),
        STOP_HERE,
        *["progress(0.5)", STOP_HERE],
        *STRETCH,
        *["train(1, 6)", "train(1, 7)", "epoch_end(1)"],
        *reported(8, 2),
        *["progress(1.0)", STOP_HERE],
        *CHECKPOINT,
        STOP_HERE,
        STOP_HERE,
        *validation(8),
        "shutdown",
    ]


def test_a_checkpoint_after_a_validation_stands_for_the_periodic_one() -> None:
    calls = story(
        max_length=pytorch.Batch(4),
        validation_period=pytorch.Batch(3),
        checkpoint_period=pytorch.Batch(3),
        checkpoint_policy="all",
    )
    first = calls.index("status(validating)")
    assert calls[first : first + len(validation(3)) + len(CHECKPOINT)] == validation(3) + CHECKPOINT
    assert calls.count("upload_end") == 2


def test_a_trial_that_asks_to_stop_leaves_a_checkpoint_and_no_validation() -> None:
    def stop(trial: Any, batch_idx: int) -> None:
        trial.context.set_stop_requested(batch_idx == 1)

    def stop_once(trial: Any, batch_idx: int) -> None:
        if batch_idx == 1:
            stop(trial, batch_idx)

    calls = story(stop_once, max_length=pytorch.Batch(8), reporting_period=pytorch.Batch(3))
    assert calls[-len(CHECKPOINT) - 7 :] == [
        *reported(3, 3),
        *["progress(0.375)", STOP_HERE],
        *CHECKPOINT,
        "shutdown",
    ]


def refuse(trial: Trial, batch_idx: int) -> None:
    if batch_idx == 1:
        raise det.InvalidHP("too large")


def test_invalid_hyperparameters_found_in_training_end_the_trial_cleanly() -> None:
    calls = story(refuse, max_length=pytorch.Batch(8), reporting_period=pytorch.Batch(1))
    at = calls.index("train(0, 1)")
    assert calls[at:] == ["train(0, 1)", *CHECKPOINT, "shutdown", "early_exit(INVALID_HP)", "exit(0)"]


@pytest.mark.parametrize("rank", [0, 1])
def test_one_of_several_ranks_that_finds_them_invalid_says_so_and_waits_for_no_other(rank: int) -> None:
    def refuse_alone(trial: Trial, batch_idx: int) -> None:
        trial.context.distributed.rank, trial.context.distributed.size = rank, 2  # the other would never answer
        refuse(trial, batch_idx + 1)

    calls = story(refuse_alone, max_length=pytorch.Batch(8))
    at = calls.index("train(0, 0)")
    assert calls[at:] == ["train(0, 0)", "shutdown", "early_exit(INVALID_HP)", "raised(too large)"]


def test_a_validation_before_training_when_asked_for() -> None:
    calls = story(max_length=pytorch.Batch(1), step_zero_validation=True, checkpoint_policy="none")
    begun = calls.index("training_start") + 1
    assert calls[begun : begun + len(validation(0)) + 1] == [*validation(0), "status(training)"]


@pytest.mark.parametrize(("rank", "asked"), [(0, 1), (1, 0)])
def test_whether_anything_was_validated_before_is_asked_by_one_rank_for_all(
    on_cluster: Callable[..., Master], monkeypatch: pytest.MonkeyPatch, rank: int, asked: int
) -> None:
    master = on_cluster(searcher={"name": "single", "metric": "val", "max_length": {"batches": 1}})
    master.answers["/api/v1/trials/41"] = (200, {"trial": {"latestValidation": None}})
    as_rank = property(lambda _: rank, lambda *_: None)
    monkeypatch.setattr(core.DummyDistributedContext, "rank", as_rank, raising=False)
    monkeypatch.setattr(core.DummyDistributedContext, "_check", lambda _: None)
    fit(max_length=pytorch.Batch(1), step_zero_validation=True)
    assert [path for _, path, _ in master.calls].count("/api/v1/trials/41") == asked


def test_a_test_run_is_one_batch_one_validation_one_checkpoint() -> None:
    calls = story(max_length=pytorch.Batch(8), test_mode=True)
    assert calls == [
        *BEGIN,
        *STRETCH,
        *["epoch_start(0)", "train(0, 0)"],
        *reported(1, 1),
        *["progress(0.125)", STOP_HERE],
        *validation(1, batches=1),
        *CHECKPOINT,
        "shutdown",
    ]


def test_shutdown_is_called_after_an_error_too() -> None:
    calls: list[str] = []
    with pytorch.init(exp_conf={}) as context:

        def fail(trial: Any, batch_idx: int) -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            pytorch.Trainer(Trial(context, calls, fail), context).fit(max_length=pytorch.Batch(2))
    assert calls[-1] == "shutdown"


def fit(latest: str | None = None, on_batch: Any = None, trial_class: Any = Trial, **arguments: Any) -> Any:
    """The trial, trained; takes its place on the cluster from the environment."""
    det._info.get_cluster_info.cache_clear()
    aggregation = arguments.pop("aggregation_frequency", 1)
    with pytorch.init(hparams={"global_batch_size": 2}, aggregation_frequency=aggregation) as context:
        trial = trial_class(context, on_batch=on_batch) if trial_class is Trial else trial_class(context, on_batch)
        pytorch.Trainer(trial, context).fit(latest_checkpoint=latest, **arguments)
        trial.batches_trained = context.get_initial_batch()
        return trial


class Chancy(Trial):
    """Everything that has a state: dropout, momentum, a schedule, shuffled data, numpy's chance."""

    def __init__(
        self, context: pytorch.PyTorchTrialContext, on_batch: Callable[[Any, int], None] | None = None
    ) -> None:
        self.context, self.on_batch = context, on_batch
        self.losses: list[Any] = []
        self.calls = []
        network = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
        self.model = context.wrap_model(network)
        self.optimizer = context.wrap_optimizer(torch.optim.Adam(self.model.parameters(), lr=0.05))
        schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 1, gamma=0.9)
        context.wrap_lr_scheduler(schedule, pytorch.LRScheduler.StepMode.STEP_EVERY_EPOCH)

    def build_callbacks(self) -> dict[str, pytorch.PyTorchCallback]:
        return {}

    def build_training_data_loader(self) -> pytorch.DataLoader:
        records = torch.arange(14.0).unsqueeze(1) / 14
        return pytorch.DataLoader(TensorDataset(records), batch_size=2, shuffle=True)

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(TensorDataset(torch.arange(4.0).unsqueeze(1)), batch_size=4)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
        if self.on_batch is not None:
            self.on_batch(self, batch_idx)
        x = batch[0] + float(np.random.normal(scale=0.01))
        loss = (self.model(x) - x.sin()).pow(2).mean()
        self.context.backward(loss)
        self.context.step_optimizer(
            self.optimizer, clip_grads=lambda params: torch.nn.utils.clip_grad_norm_(params, 1.0)
        )
        self.losses.append((batch_idx, float(loss.detach())))
        return {"loss": loss}

    def evaluate_batch(self, batch: Any, batch_idx: int) -> dict[str, Any]:
        return {"loss": self.model(batch[0]).mean()}


@pytest.mark.parametrize("aggregation_frequency", [1, 2])
@pytest.mark.parametrize("stop_after", [1, 6, 7, 11])
def test_an_interrupted_run_is_bit_for_bit_the_run_that_was_not(
    on_cluster: Callable[..., Master], stop_after: int, aggregation_frequency: int
) -> None:
    master = on_cluster()
    arguments: dict[str, Any] = {
        "max_length": pytorch.Batch(20),
        "reporting_period": pytorch.Batch(1),
        "aggregation_frequency": aggregation_frequency,
        "checkpoint_policy": "none",
    }
    straight = fit(trial_class=Chancy, **arguments)

    def stop(trial: Any, batch_idx: int) -> None:
        if batch_idx == stop_after - 1:
            trial.context.set_stop_requested(True)

    first = fit(trial_class=Chancy, on_batch=stop, **arguments)
    latest = master.checkpoints()[-1]
    assert latest["metadata"]["steps_completed"] == stop_after
    second = fit(latest["uuid"], trial_class=Chancy, **arguments)
    assert first.losses + second.losses == straight.losses
    for one, other in zip(second.model.parameters(), straight.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_preempted_trial_checkpoints_then_acknowledges(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()

    def ask(trial: Any, batch_idx: int) -> None:
        if batch_idx == 3:
            master.preempt()
            while not trial.context._core.preempt._watcher.should_preempt():
                continue

    trial = fit(on_batch=ask, max_length=pytorch.Batch(100), reporting_period=pytorch.Batch(2))
    assert "train(0, 4)" not in trial.calls
    said = [path for method, path, _ in master.calls if method == "POST"]
    checkpoint = max(position for position, path in enumerate(said) if path.endswith("/checkpoints"))
    assert said.index("/api/v1/allocations/7.c0ffee.1/signals/ack_preemption") > checkpoint
    assert master.checkpoints()[-1]["metadata"]["steps_completed"] == 4


def test_a_trial_that_its_search_stops_trains_no_batch_after_the_validation_that_decided(
    on_cluster: Callable[..., Master],
) -> None:
    searcher = {"name": "adaptive_asha", "metric": "val", "time_metric": "batches", "max_time": 100}
    master = on_cluster(searcher=searcher)

    def decide(trial: Any, batch_idx: int) -> None:
        if batch_idx == 5:
            trial.context._core._metrics.flush()
            master.answers["/metrics"] = (200, {"stop": True})

    trial = fit(on_batch=decide, max_length=pytorch.Batch(100), validation_period=pytorch.Batch(2))
    assert [step for step, _ in master.metrics("validation")] == [2, 4, 6]
    assert trial.calls.count("evaluate") == 2 * 3
    assert max(int(call[:-1].split()[1]) for call in trial.calls if call.startswith("train(")) == 5
    assert master.checkpoints()[-1]["metadata"]["steps_completed"] == 6


def test_a_resumed_trial_counts_on_from_its_checkpoint(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    fit(max_length=pytorch.Batch(5), checkpoint_policy="none")
    trial = fit(master.checkpoints()[-1]["uuid"], max_length=pytorch.Batch(7), checkpoint_policy="none")
    after = trial.calls[trial.calls.index("build_callbacks") :]
    assert after[:6] == [
        "build_callbacks",
        "startup(5, uuid)",
        "build_training",
        "build_validation",
        "load_start",
        "load_state_dict",
    ]
    assert [call for call in trial.calls if call.startswith("train(")] == ["train(1, 5)", "train(1, 6)"]
    assert trial.recorder.loaded == {"a": 1}
    assert [steps for steps, _ in master.metrics("training")] == [5, 7]


def test_off_the_cluster_a_resumed_run_trains_only_what_is_missing(tmp_path: pathlib.Path) -> None:
    with pytorch.init(exp_conf={}) as context:
        trial = Trial(context)
        pytorch.Trainer(trial, context).fit(max_length=pytorch.Batch(5))
    with pytorch.init(exp_conf={}) as context:
        second = Trial(context)
        fitting = pytorch.Trainer(second, context)
        fitting.fit(max_length=pytorch.Batch(6), latest_checkpoint=trial.recorder.uuid)
    assert [call for call in second.calls if call.startswith("train(")] == ["train(1, 5)"]


def test_a_trial_that_is_complete_trains_no_further(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    fit(max_length=pytorch.Batch(5), checkpoint_policy="none")
    checkpoints = len(master.checkpoints())
    trial = fit(master.checkpoints()[-1]["uuid"], max_length=pytorch.Batch(5), checkpoint_policy="none")
    assert not [call for call in trial.calls if call.startswith("train(") or call == "evaluate"]
    assert len(master.checkpoints()) == checkpoints


def test_another_trials_checkpoint_gives_weights_and_a_fresh_count(
    on_cluster: Callable[..., Master], monkeypatch: pytest.MonkeyPatch
) -> None:
    master = on_cluster()
    fit(max_length=pytorch.Batch(5), checkpoint_policy="none")
    monkeypatch.setenv("DET_TRIAL_ID", "42")
    weights: list[float] = []

    def look(trial: Any, batch_idx: int) -> None:
        weights.append(float(trial.model.weight.detach()))

    source = master.checkpoints()[-1]["uuid"]
    trial = fit(source, on_batch=look, max_length=pytorch.Batch(1), checkpoint_policy="none")
    assert "startup(0, uuid)" in trial.calls
    with core.init() as context, context.checkpoint.restore_path(source) as path:
        saved = torch.load(path / "state_dict.pth", weights_only=False)
    assert weights == [float(saved["models_state_dict"][0]["weight"])]


@pytest.mark.parametrize(
    ("best", "smaller_is_better", "kept"),
    [(None, True, True), (100.0, True, True), (-100.0, True, False), (-100.0, False, True)],
)
def test_the_best_so_far_is_kept(
    on_cluster: Callable[..., Master], best: float | None, smaller_is_better: bool, kept: bool
) -> None:
    master = on_cluster(searcher={"metric": "val", "smaller_is_better": smaller_is_better})
    master.best = best
    fit(max_length=pytorch.Batch(4), validation_period=pytorch.Batch(2))
    steps = [one["metadata"]["steps_completed"] for one in master.checkpoints()]
    assert steps == ([2, 4] if kept else [4])


def test_a_searcher_metric_that_validation_does_not_give_is_named(on_cluster: Callable[..., Master]) -> None:
    on_cluster(searcher={"metric": "accuracy"})
    with pytest.raises(errors.InvalidExperimentException, match=r"'accuracy'.*red, val"):
        fit(max_length=pytorch.Batch(2))


def test_what_a_checkpoint_holds(on_cluster: Callable[..., Master], tmp_path: pathlib.Path) -> None:
    master = on_cluster()
    trial = fit(max_length=pytorch.Batch(2), checkpoint_policy="none")
    assert trial.recorder.files == ["code", "load_data.json", "state_dict.pth", "trial_state.pkl"]
    (completed,) = master.checkpoints()
    folder = tmp_path / "storage" / completed["uuid"]
    load_data = json.loads((folder / "load_data.json").read_text())
    assert load_data["trial_cls_spec"].endswith(":Trial")
    assert load_data["hparams"] == {"global_batch_size": 2}
    state = torch.load(folder / "state_dict.pth", weights_only=False)
    assert set(state) == {
        "models_state_dict",
        "optimizers_state_dict",
        "lr_schedulers_state_dict",
        "callbacks",
        "rng_state",
    }
    loaded = pytorch.load_trial_from_checkpoint_path(str(folder), trial_class=Trial)
    assert torch.equal(loaded.model.weight, trial.model.weight)


def test_a_trial_is_loaded_from_the_code_in_its_checkpoint(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "model_of_project.py").write_text(PROJECT)
    (tmp_path / "project" / "big").mkdir()
    (tmp_path / "project" / "big" / "data").write_text("x")
    (tmp_path / "project" / ".detignore").write_text("big/\n")
    monkeypatch.chdir(tmp_path / "project")
    with det.import_from_path(tmp_path / "project"), pytorch.init(hparams={"width": 3}) as context:
        import model_of_project  # type: ignore[import-not-found]

        trial = model_of_project.Tiny(context)
        pytorch.Trainer(trial, context).fit(max_length=pytorch.Batch(1))
    (folder,) = (tmp_path / "data" / "determined").iterdir()
    assert sorted(path.name for path in (folder / "code").iterdir()) == [".detignore", "model_of_project.py"]
    loaded = pytorch.load_trial_from_checkpoint_path(str(folder))
    assert type(loaded).__name__ == "Tiny"
    assert torch.equal(loaded.model.weight, trial.model.weight)


PROJECT = """
import torch
from determined import pytorch

class Tiny(pytorch.PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(torch.nn.Linear(context.get_hparam("width"), 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.1))
    def loader(self):
        return pytorch.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 3)), batch_size=2)
    build_training_data_loader = build_validation_data_loader = loader
    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = self.model(batch[0]).mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return loss  # type: ignore[no-any-return]  # a tensor alone is a loss
    def evaluate_full_dataset(self, data_loader):
        return {"total": sum(float(self.model(batch[0]).sum()) for batch in data_loader)}
"""


def test_a_folder_that_is_no_checkpoint_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(errors.InvalidCheckpointException):
        pytorch.load_trial_from_checkpoint_path(str(tmp_path))


class OneWeight(Trial):
    """Gradient 1 a batch."""

    def __init__(
        self, context: pytorch.PyTorchTrialContext, on_batch: Callable[[Any, int], None] | None = None
    ) -> None:
        self.context, self.calls = context, []
        self.model = context.wrap_model(torch.nn.Linear(1, 1, bias=False))
        torch.nn.init.zeros_(self.model.weight)
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.optimizer = context.wrap_optimizer(optimizer, average_aggregated_gradients=on_batch)
        self.weights: list[float] = []

    def build_callbacks(self) -> dict[str, pytorch.PyTorchCallback]:
        return {}

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
        self.context.backward(self.model.weight.sum())
        self.context.step_optimizer(self.optimizer)
        self.weights.append(round(self.model.weight.item(), 6))
        return self.model.weight.detach().sum()


@pytest.mark.parametrize(
    ("frequency", "average", "weights"),
    [
        (1, True, [-0.1, -0.2, -0.3, -0.4, -0.5, -0.6]),
        (2, True, [0.0, -0.1, -0.1, -0.2, -0.2, -0.3]),
        (2, False, [0.0, -0.2, -0.2, -0.4, -0.4, -0.6]),
        (3, True, [0.0, 0.0, -0.1, -0.1, -0.1, -0.2]),
        (3, False, [0.0, 0.0, -0.3, -0.3, -0.3, -0.6]),
    ],
)
def test_gradients_add_up_over_batches_and_are_averaged_when_asked(
    on_cluster: Callable[..., Master], frequency: int, average: bool, weights: list[float]
) -> None:
    on_cluster()
    trial = fit(
        trial_class=OneWeight,
        on_batch=average,
        aggregation_frequency=frequency,
        max_length=pytorch.Batch(6),
        checkpoint_policy="none",
    )
    assert trial.weights == weights


def context_of(hparams: dict[str, Any] | None = None, **conf: Any) -> pytorch.PyTorchTrialContext:
    return pytorch.CheckpointLoadContext(hparams=hparams, exp_conf=conf)


def test_things_have_to_be_wrapped_in_order() -> None:
    context = context_of()
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1)
    with pytest.raises(errors.InvalidExperimentException, match="wrap_model"):
        context.wrap_optimizer(optimizer)
    context.wrap_model(model)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    mode = pytorch.LRScheduler.StepMode.STEP_EVERY_EPOCH
    with pytest.raises(errors.InvalidExperimentException, match="wrap_optimizer"):
        context.wrap_lr_scheduler(scheduler, mode)
    context.wrap_optimizer(optimizer)
    assert context.wrap_lr_scheduler(scheduler, mode) is scheduler
    with pytest.raises(errors.InvalidExperimentException, match="MANUAL_STEP"):
        context.wrap_lr_scheduler(torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer), mode)
    with pytest.raises(errors.InvalidExperimentException, match="before"):
        context.wrap_model(model)
    with pytest.raises(errors.InvalidExperimentException, match="before models"):
        context.experimental.use_amp()


def test_two_models_are_wrapped_each_followed_by_its_optimizer() -> None:
    """As programs do that train a generator and a discriminator."""
    context = context_of()
    for _ in range(2):
        model = context.wrap_model(torch.nn.Linear(1, 1))
        context.wrap_optimizer(torch.optim.SGD(model.parameters(), lr=1))
    assert (len(context.models), len(context.optimizers)) == (2, 2)


@pytest.mark.parametrize(
    ("hparams", "message"),
    [
        ({}, "is a required hyperparameter"),
        ({"global_batch_size": "many"}, "must be an integer value"),
        ({"global_batch_size": 0}, "to be greater or equal"),
    ],
)
def test_a_batch_size_that_makes_no_sense_is_named(hparams: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.InvalidExperimentException, match=message):
        context_of(hparams).get_per_slot_batch_size()


def test_what_is_not_there_is_named() -> None:
    context = context_of({"lr": 1})
    with pytest.raises(ValueError, match="'learning_rate'; there are: lr"):
        context.get_hparam("learning_rate")
    with pytest.raises(errors.InternalException):
        context.get_trial_seed()
    with pytest.raises(errors.InternalException):
        context.current_train_epoch()


def test_a_bare_torch_loader_needs_the_checks_disabled(on_cluster: Callable[..., Master]) -> None:
    on_cluster()

    class Bare(Trial):
        def __init__(
            self, context: pytorch.PyTorchTrialContext, on_batch: Callable[[Any, int], None] | None = None
        ) -> None:
            super().__init__(context)
            if on_batch:
                context.experimental.disable_dataset_reproducibility_checks()

        def build_training_data_loader(self) -> pytorch.DataLoader:
            return torch.utils.data.DataLoader(TensorDataset(torch.arange(3.0).unsqueeze(1)), batch_size=2)

    with pytest.raises(RuntimeError, match="you can disable this check by calling"):
        fit(trial_class=Bare, max_length=pytorch.Batch(2))
    trial = fit(trial_class=Bare, on_batch=lambda *_: None, max_length=pytorch.Batch(5), checkpoint_policy="none")
    assert [call for call in trial.calls if call.startswith("train(")][-1] == "train(2, 4)"


def test_a_training_loader_without_a_batch_is_an_error() -> None:
    class Empty(Trial):
        def build_training_data_loader(self) -> pytorch.DataLoader:
            return pytorch.DataLoader(TensorDataset(torch.arange(3.0)), batch_size=4, drop_last=True)

    with pytest.raises(RuntimeError, match="nothing to train on"), pytorch.init(exp_conf={}) as context:
        pytorch.Trainer(Empty(context), context).fit(max_length=pytorch.Epoch(1))


def test_mixed_precision_trains_on_a_machine_without_gpus_too() -> None:
    with pytorch.init(exp_conf={}) as context:

        class Mixed(Trial):
            def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
                context.experimental.use_amp()
                super().__init__(context)

        pytorch.Trainer(Mixed(context), context).fit(max_length=pytorch.Batch(2))


def test_metrics_are_averages_over_the_stretch(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()

    class Counting(Trial):
        def __init__(
            self, context: pytorch.PyTorchTrialContext, on_batch: Callable[[Any, int], None] | None = None
        ) -> None:
            super().__init__(context)

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
            return {"number": torch.tensor(float(batch_idx)), "name": "x", "batches": -1}

    fit(trial_class=Counting, max_length=pytorch.Batch(4), reporting_period=pytorch.Batch(2), checkpoint_policy="none")
    assert [(steps, metrics["number"]) for steps, metrics in master.metrics("training")] == [(2, 0.5), (4, 2.5)]
    assert master.metrics("training")[0][1] == {"number": 0.5, "batches": -1.0, "epochs": 0, "red": 1.0}


class OddMetrics(OneWeight):
    """Metrics as programs return them: tensors of one element, arrays, and things that are no numbers."""

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
        super().train_batch(batch, epoch_idx, batch_idx)
        return {"loss": torch.tensor([float(batch_idx)]), "classes": np.array([1.0, 3.0]), "note": "text"}

    def evaluate_batch(self, batch: Any, batch_idx: int) -> dict[str, Any]:
        return {"val_loss": torch.tensor([2.0]), "classes": np.array([1.0, 3.0])}


def test_the_number_of_a_tensor_of_one_element_is_its_element_and_of_an_array_its_mean(
    on_cluster: Callable[..., Master],
) -> None:
    master = on_cluster(searcher={"name": "single", "metric": "val_loss"})
    fit(trial_class=OddMetrics, max_length=pytorch.Batch(2), checkpoint_policy="none")
    assert master.metrics("training") == [(2, {"batches": 2, "epochs": 0, "loss": 0.5, "classes": 2.0})]
    [(_, validation)] = master.metrics("validation")
    assert validation["val_loss"] == 2.0
    assert validation["classes"] == [1.0, 3.0]


def test_a_checkpoint_of_ours_is_loaded_by_torch_with_weights_only(
    on_cluster: Callable[..., Master], tmp_path: pathlib.Path
) -> None:
    on_cluster()
    fit(max_length=pytorch.Batch(1), checkpoint_policy="none")
    [file] = tmp_path.rglob("state_dict.pth")
    assert "models_state_dict" in torch.load(file, weights_only=True)


def test_a_checkpoint_of_another_release_that_holds_more_than_weights_says_how_to_load_it(
    tmp_path: pathlib.Path,
) -> None:
    torch.save({"models_state_dict": [], "np_rng_state": np.random.get_state()}, tmp_path / "state_dict.pth")
    with pytest.raises(errors.InvalidCheckpointException, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"):
        pytorch.load_trial_from_checkpoint_path(str(tmp_path), Trial, torch_load_kwargs={"weights_only": True})


def test_a_checkpoint_without_load_data_is_loaded_by_its_metadata(tmp_path: pathlib.Path) -> None:
    """As Determined up to 0.17 left them."""
    weights = torch.nn.Linear(1, 1).state_dict()
    torch.save({"models_state_dict": [weights]}, tmp_path / "state_dict.pth")
    config = {"entrypoint": "model_def:Trial"}
    (tmp_path / "metadata.json").write_text(json.dumps({"experiment_config": config, "hparams": {"lr": 0.5}}))
    trial = pytorch.load_trial_from_checkpoint_path(str(tmp_path), Trial)
    assert torch.equal(trial.model.weight, weights["weight"])
    assert trial.context.get_hparam("lr") == 0.5


def test_a_checkpoint_that_does_not_say_its_class_asks_for_it(tmp_path: pathlib.Path) -> None:
    torch.save({"models_state_dict": []}, tmp_path / "state_dict.pth")
    with pytest.raises(ValueError, match="pass the class as trial_class"):
        pytorch.load_trial_from_checkpoint_path(str(tmp_path))
