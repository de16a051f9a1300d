"""A trial class trains target by target, and the configuration's periods govern its steps in every unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.data import TensorDataset

import determined as det
from determined import errors, pytorch
from determined.exec import harness
from determined.pytorch._train_loop import is_better
from tests.unit.harness.conftest import Master

SEARCH = {"name": "adaptive_asha", "metric": "val", "smaller_is_better": True, "max_trials": 4}


class Trial(pytorch.PyTorchTrial):
    """240 records; with a global batch size of 60 there are four batches to a round of the loader."""

    trained: list[int]
    leave_after: int

    def __init__(self, context: pytorch.PyTorchTrialContext) -> None:
        self.context = context
        self.model = context.wrap_model(torch.nn.Linear(1, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), lr=0.001))
        self.records = TensorDataset(torch.arange(240.0).unsqueeze(1) / 240)

    def build_training_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(self.records, batch_size=self.context.get_per_slot_batch_size())

    def build_validation_data_loader(self) -> pytorch.DataLoader:
        return pytorch.DataLoader(self.records, batch_size=240)

    def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> dict[str, Any]:
        self.trained.append(batch_idx)
        if batch_idx == self.leave_after:
            self.context.set_stop_requested(True)
        loss = self.model(batch[0]).pow(2).mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch: Any, batch_idx: int) -> dict[str, Any]:
        return {"val": self.model(batch[0]).mean()}


@pytest.fixture
def run(on_cluster: Callable[..., Master], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Master, list[int]]]:
    """Run the trial as its legacy entrypoint does; the master, and the batches it trained."""

    def train(
        targets: list[int], latest: str | None = None, leave_after: int = -1, **config: Any
    ) -> tuple[Master, list[int]]:
        monkeypatch.delenv("DET_LATEST_CHECKPOINT", raising=False)
        master = on_cluster(latest, **{"hyperparameters": {"global_batch_size": 60}, **config})
        master.targets = targets
        Trial.trained, Trial.leave_after = [], leave_after
        info = det.get_cluster_info()
        assert info is not None
        harness._train(Trial, info)
        return master, Trial.trained

    return train


def steps(master: Master, group: str) -> list[int]:
    return [steps for steps, _ in master.metrics(group)]


def checkpoints(master: Master) -> list[int]:
    return [one["metadata"]["steps_completed"] for one in master.checkpoints()]


def test_it_trains_to_each_target_validates_and_checkpoints_there_and_says_so(
    run: Callable[..., tuple[Master, list[int]]],
) -> None:
    master, trained = run([2, 4, 16], searcher={**SEARCH, "max_length": {"batches": 16}}, checkpoint_policy="none")
    assert trained == list(range(16))
    assert steps(master, "validation") == [2, 4, 16]
    assert checkpoints(master) == [2, 4, 16]
    metrics = [metrics["val"] for _, metrics in master.metrics("validation")]
    assert master.posted("/completed_operation") == [
        {"op": {"length": str(length)}, "searcherMetric": metric}
        for length, metric in zip([2, 4, 16], metrics, strict=True)
    ]


def test_what_it_tells_the_search_comes_after_the_checkpoint_from_which_it_may_be_promoted(
    run: Callable[..., tuple[Master, list[int]]],
) -> None:
    master, _ = run([2], searcher={**SEARCH, "max_length": {"batches": 16}})
    order = [path for method, path, _ in master.calls if method == "POST"]
    completed = order.index("/api/v1/trials/41/searcher/completed_operation")
    assert max(at for at, path in enumerate(order) if path.endswith("/checkpoints")) < completed
    assert max(at for at, path in enumerate(order) if "/metrics" in path) < completed


def test_a_promoted_trial_goes_on_from_its_checkpoint_and_repeats_nothing(
    run: Callable[..., tuple[Master, list[int]]],
) -> None:
    search = {**SEARCH, "max_length": {"batches": 16}}
    master, trained = run([4], searcher=search)
    assert trained == [0, 1, 2, 3]
    latest = master.checkpoints()[-1]["uuid"]
    master.calls.clear()
    master, trained = run([16], latest, searcher=search)
    assert trained == list(range(4, 16))
    assert steps(master, "validation") == [16]


def test_a_run_that_was_cut_off_before_it_could_say_so_validates_again_and_says_it(
    run: Callable[..., tuple[Master, list[int]]],
) -> None:
    search = {**SEARCH, "max_length": {"epochs": 4}}
    master, _ = run([1], searcher=search)
    latest = master.checkpoints()[-1]["uuid"]
    master.calls.clear()
    master, trained = run([1], latest, searcher=search)
    assert trained == []
    assert [told["op"]["length"] for told in master.posted("/completed_operation")] == ["1"]


def test_a_run_that_is_asked_to_leave_on_its_way_does_not_say_it_arrived(
    run: Callable[..., tuple[Master, list[int]]],
) -> None:
    master, trained = run([16], leave_after=5, scheduling_unit=2, searcher={**SEARCH, "max_length": {"batches": 16}})
    assert trained == list(range(6))
    assert checkpoints(master) == [6]
    assert master.posted("/completed_operation") == []


def test_progress_is_of_the_whole_way(run: Callable[..., tuple[Master, list[int]]]) -> None:
    master, _ = run([4, 16], scheduling_unit=4, searcher={**SEARCH, "max_length": {"batches": 16}})
    told = [body["progress"] for body in master.posted("/progress")]
    assert told == sorted(told)
    assert set(told) <= {0.25, 0.5, 0.75, 1.0}
    assert told[-1] == 1.0


@pytest.mark.parametrize(
    ("unit", "targets", "extra", "expected"),
    [
        ("batches", [3, 7], {}, [3, 7]),
        ("records", [60, 640], {}, [1, 10]),
        ("records", [59], {}, [1]),
        ("epochs", [1, 2], {}, [4, 8]),
        ("epochs", [1, 2], {"records_per_epoch": 600}, [10, 20]),
    ],
)
def test_targets_are_counted_in_the_unit_of_max_length(
    run: Callable[..., tuple[Master, list[int]]],
    unit: str,
    targets: list[int],
    extra: dict[str, Any],
    expected: list[int],
) -> None:
    master, _ = run(targets, searcher={**SEARCH, "max_length": {unit: 1000}}, **extra)
    assert steps(master, "validation") == expected


def test_a_client_that_drives_the_search_counts_in_its_own_unit(run: Callable[..., tuple[Master, list[int]]]) -> None:
    search = {"name": "custom", "metric": "val", "smaller_is_better": True, "unit": "epochs"}
    master, _ = run([1, 3], searcher=search)
    assert steps(master, "validation") == [4, 12]
    assert [told["progress"] for told in master.posted("/progress")][-1] == 1.0


def single(
    run: Callable[..., tuple[Master, list[int]]], length: dict[str, int], target: int, **config: Any
) -> tuple[Master, list[int]]:
    search = {"name": "single", "metric": "val", "smaller_is_better": True, "max_length": length}
    return run([target], searcher=search, **config)


def test_epochs_of_stated_records_come_to_whole_batches(run: Callable[..., tuple[Master, list[int]]]) -> None:
    _, trained = single(run, {"epochs": 5}, 5, records_per_epoch=600)
    assert len(trained) == 50


def test_records_are_trained_in_batches_of_the_global_size(run: Callable[..., tuple[Master, list[int]]]) -> None:
    _, trained = single(run, {"records": 640}, 640, hyperparameters={"global_batch_size": 64})
    assert len(trained) == 10


def test_every_scheduling_unit_is_reported(run: Callable[..., tuple[Master, list[int]]]) -> None:
    master, _ = single(run, {"batches": 100}, 100, scheduling_unit=10)
    assert steps(master, "training") == list(range(10, 101, 10))


def test_without_a_period_it_validates_once_at_the_end(run: Callable[..., tuple[Master, list[int]]]) -> None:
    master, _ = single(run, {"batches": 30}, 30)
    assert steps(master, "validation") == [30]
    assert checkpoints(master) == [30]


PERIODS = [({"batches": 8}, [8, 16, 20]), ({"records": 480}, [8, 16, 20]), ({"epochs": 2}, [8, 16, 20])]


@pytest.mark.parametrize(("period", "expected"), PERIODS)
def test_validations_keep_their_period(
    run: Callable[..., tuple[Master, list[int]]], period: dict[str, Any], expected: list[int]
) -> None:
    master, _ = single(run, {"batches": 20}, 20, min_validation_period=period, checkpoint_policy="none")
    assert steps(master, "validation") == expected
    assert checkpoints(master) == [20]


@pytest.mark.parametrize(("period", "expected"), PERIODS)
def test_checkpoints_keep_their_period(
    run: Callable[..., tuple[Master, list[int]]], period: dict[str, Any], expected: list[int]
) -> None:
    master, _ = single(run, {"batches": 20}, 20, min_checkpoint_period=period, checkpoint_policy="none")
    assert checkpoints(master) == expected
    assert steps(master, "validation") == [20]


def test_a_period_of_zero_is_never(run: Callable[..., tuple[Master, list[int]]]) -> None:
    master, _ = single(run, {"batches": 8}, 8, min_validation_period={"batches": 0}, checkpoint_policy="none")
    assert steps(master, "validation") == [8]


@pytest.mark.parametrize(("policy", "expected"), [("all", [4, 8, 12]), ("none", [12]), ("best", [4, 8, 12])])
def test_the_policy_says_which_validations_leave_a_checkpoint(
    run: Callable[..., tuple[Master, list[int]]], policy: str, expected: list[int]
) -> None:
    master, _ = single(run, {"batches": 12}, 12, min_validation_period={"batches": 4}, checkpoint_policy=policy)
    assert checkpoints(master) == expected


def test_of_worse_validations_the_best_policy_keeps_none_but_the_last(
    run: Callable[..., tuple[Master, list[int]]], on_cluster: Callable[..., Master]
) -> None:
    on_cluster().best = -1000.0
    master, _ = single(run, {"batches": 12}, 12, min_validation_period={"batches": 4}, checkpoint_policy="best")
    assert checkpoints(master) == [12]


@pytest.mark.parametrize("metric", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("smaller_is_better", [True, False])
def test_a_metric_that_is_no_finite_number_is_never_better_and_stands_in_the_way_of_none(
    metric: float, smaller_is_better: bool
) -> None:
    searcher = {"metric": "loss", "smaller_is_better": smaller_is_better}
    assert not is_better({"loss": metric}, None, searcher)
    assert not is_better({"loss": metric}, 0.5, searcher)
    assert is_better({"loss": 0.5}, None, searcher)


def test_an_initial_validation_comes_before_training_and_leaves_no_checkpoint(
    run: Callable[..., tuple[Master, list[int]]], on_cluster: Callable[..., Master]
) -> None:
    on_cluster().answers["/trials/41"] = (200, {"trial": {}})
    master, _ = single(run, {"batches": 4}, 4, perform_initial_validation=True, checkpoint_policy="all")
    assert steps(master, "validation") == [0, 4]
    assert checkpoints(master) == [4]


@pytest.mark.parametrize(("time_metric", "expected"), [("batches", 6), ("epochs", 24)])
def test_a_search_by_time_has_it_train_to_max_time_and_hears_the_time_with_each_validation(
    run: Callable[..., tuple[Master, list[int]]], time_metric: str, expected: int
) -> None:
    search = {**SEARCH, "time_metric": time_metric, "max_time": 6}
    master, trained = run([], searcher=search, min_validation_period={"batches": 4})
    assert len(trained) == expected
    assert all({"batches", "epochs", "val"} <= set(metrics) for _, metrics in master.metrics("validation"))
    last = master.metrics("validation")[-1][1]
    assert last[time_metric] == 6
    assert master.posted("/completed_operation") == []


def test_a_time_that_the_loop_does_not_keep_is_refused_by_name(run: Callable[..., tuple[Master, list[int]]]) -> None:
    with pytest.raises(errors.InvalidExperimentException, match=r"searcher\.time_metric.*'hours'"):
        run([], searcher={**SEARCH, "time_metric": "hours", "max_time": 6})


def script(on_cluster: Callable[..., Master], **fit: Any) -> list[int]:
    det._info.get_cluster_info.cache_clear()
    Trial.trained, Trial.leave_after = [], -1
    with pytorch.init() as context:
        pytorch.Trainer(Trial(context), context).fit(**fit)
    return Trial.trained


def test_a_script_trains_its_own_way_and_the_search_reads_off_the_validations(
    on_cluster: Callable[..., Master],
) -> None:
    master = on_cluster(searcher={**SEARCH, "max_length": {"batches": 16}}, hyperparameters={"global_batch_size": 60})
    master.targets = [4]
    trained = script(on_cluster, max_length=pytorch.Batch(16), validation_period=pytorch.Batch(4))
    assert len(trained) == 16
    assert steps(master, "validation") == [4, 8, 12, 16]
    assert master.posted("/completed_operation") == []
    assert not [path for _, path, _ in master.calls if "/searcher/operation" in path]


def test_a_script_that_leaves_the_length_to_the_search_trains_from_target_to_target(
    on_cluster: Callable[..., Master],
) -> None:
    master = on_cluster(searcher={**SEARCH, "max_length": {"batches": 16}}, hyperparameters={"global_batch_size": 60})
    master.targets = [4, 8]
    assert len(script(on_cluster)) == 8
    assert [told["op"]["length"] for told in master.posted("/completed_operation")] == ["4", "8"]


@pytest.mark.parametrize(("epochs", "reached"), [(4, ["1", "2", "4"]), (3, ["1", "2"])])
def test_epochs_that_no_batch_count_tells_are_told_by_a_script_as_well(
    on_cluster: Callable[..., Master], epochs: int, reached: list[str]
) -> None:
    master = on_cluster(searcher={**SEARCH, "max_length": {"epochs": 4}}, hyperparameters={"global_batch_size": 60})
    master.targets = [1, 2, 4]
    assert len(script(on_cluster, max_length=pytorch.Epoch(epochs))) == 4 * epochs
    assert [told["op"]["length"] for told in master.posted("/completed_operation")] == reached


def test_a_script_that_stops_short_of_max_time_is_warned(
    on_cluster: Callable[..., Master], caplog: pytest.LogCaptureFixture
) -> None:
    search = {**SEARCH, "time_metric": "batches", "max_time": 16}
    on_cluster(searcher=search, hyperparameters={"global_batch_size": 60})
    script(on_cluster, max_length=pytorch.Batch(8))
    assert "another length than searcher.max_time, 16 batches" in caplog.text
    caplog.clear()
    assert len(script(on_cluster)) == 16
    assert caplog.text.count("another length") == 0


def test_the_configuration_is_printed_without_secrets_and_without_what_its_log_policies_look_for() -> None:
    policies = [{"pattern": ".*CUDA out of memory.*", "action": "cancel_retries"}]
    storage = {"type": "s3", "secret_key": "s3cret"}
    environment = {"image": "i", "environment_variables": {"cpu": ["TOKEN=s3cret"]}}
    config = {"name": "x", "log_policies": policies, "checkpoint_storage": storage, "environment": environment}
    shown = harness.printable(config)
    assert shown.pop("environment") == {"image": "i"}
    assert shown == {"name": "x", "checkpoint_storage": {"type": "s3", "secret_key": "********"}}
