"""How a program follows its search: target after target, with what it says at each, and when it ends."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from determined import core, errors
from determined.common import api
from determined.core import _searcher
from determined.core._searcher import parse_max_length
from tests.unit.harness.conftest import Master

pytestmark = pytest.mark.filterwarnings("ignore:core_context.searcher:FutureWarning")


def follow(context: core.Context, metric: float = 1.0) -> list[int]:
    """The lengths of all operations, each completed."""
    lengths = []
    for operation in context.searcher.operations():
        lengths.append(operation.length)
        operation.report_completed(metric)
    return lengths


def test_each_target_of_the_search_is_an_operation_until_there_is_none(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    master.targets = [1, 2, 8]
    with core.init() as context:
        assert follow(context, 0.5) == [1, 2, 8]
        assert context.searcher.get_configured_units() is core.Unit.BATCHES
    assert master.posted("/trials/41/searcher/completed_operation") == [
        {"op": {"length": str(length)}, "searcherMetric": 0.5} for length in (1, 2, 8)
    ]
    asked = [path for method, path, _ in master.calls if "/searcher/operation?" in path]
    assert [path.partition("after=")[2].partition("&")[0] for path in asked] == ["0", "1", "2", "8"]


def test_a_trial_that_has_reached_its_last_target_has_nothing_to_do(on_cluster: Callable[..., Master]) -> None:
    on_cluster().targets = []
    with core.init() as context:
        assert follow(context) == []


def test_progress_is_told_of_the_whole_way_not_of_the_next_target(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    master.targets = [2, 8]
    with core.init() as context:
        for operation in context.searcher.operations():
            operation.report_progress(operation.length)
            operation.report_progress(99)
            operation.report_completed(0.5)
    assert [told["progress"] for told in master.posted("/trials/41/progress")] == [0.25, 1.0, 1.0, 1.0]


def test_the_next_operation_has_to_wait_for_report_completed(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    master.targets = [8]
    with core.init() as context:
        wanted = context.searcher.operations()
        with pytest.warns(FutureWarning):
            next(wanted)
        with pytest.raises(RuntimeError, match=r"must call op\.report_completed"):
            next(wanted)


def test_what_was_reported_before_an_operation_was_completed_arrives_before(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    master.targets = [8]
    with core.init() as context:
        for operation in context.searcher.operations():
            for step in range(50):
                context.train.report_validation_metrics(step, {"loss": 1.0})
            operation.report_completed(1.0)
    paths = [path for _, path, _ in master.calls]
    completed = paths.index("/api/v1/trials/41/searcher/completed_operation")
    assert max(at for at, path in enumerate(paths) if "/metrics" in path) < completed
    assert len(master.metrics("validation")) == 50


@pytest.mark.parametrize(("metric", "told"), [(np.float32(0.5), 0.5), (True, 1.0), (math.nan, "NaN"), ("0.5", 0.5)])
def test_a_metric_of_any_kind_of_number_is_told(
    on_cluster: Callable[..., Master], metric: Any, told: float | str
) -> None:
    master = on_cluster()
    master.targets = [8]
    with core.init() as context:
        assert follow(context, metric) == [8]
    assert master.posted("/completed_operation")[0]["searcherMetric"] == told


def test_a_metric_that_is_no_number_is_refused_and_the_operation_stays_open(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    master.targets = [8]
    with core.init() as context:
        for operation in context.searcher.operations():
            with pytest.raises(TypeError, match=r"expected the searcher's metric, a number; found \{'loss': 1\}"):
                operation.report_completed({"loss": 1})
            operation.report_completed(1.0)
            with pytest.raises(RuntimeError, match="called already"):
                operation.report_completed(1.0)


def test_a_trial_waits_for_a_target_that_is_not_set_yet(
    on_cluster: Callable[..., Master], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_searcher, "PAUSE_S", 0.01)
    master = on_cluster(searcher={"name": "custom", "metric": "loss", "unit": "epochs"})
    master.answers["/searcher/operation"] = (200, {"completed": False})
    answered = threading.Timer(0.2, master.answers.clear)
    master.targets = [3]
    answered.start()
    with core.init() as context:
        assert follow(context) == [3]
        assert context.searcher.get_configured_units() is core.Unit.EPOCHS
    assert len([path for _, path, _ in master.calls if "/searcher/operation?" in path]) < 40


def test_while_it_waits_it_hears_that_its_slots_are_wanted(
    on_cluster: Callable[..., Master], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_searcher, "PAUSE_S", 0.01)
    master = on_cluster()
    master.answers["/searcher/operation"] = (200, {"completed": True})
    asking = threading.Timer(0.2, master.preempt)
    asking.start()
    with core.init() as context:
        assert follow(context) == []
    assert len(master.posted("/signals/ack_preemption")) == 1


def test_a_trial_whose_slots_are_wanted_begins_nothing_new(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    answer = {"op": {"validateAfter": {"length": "9"}}, "completed": False, "preempt": True}
    master.answers["/searcher/operation"] = (200, answer)
    with core.init() as context:
        assert list(context.searcher.operations(auto_ack=False)) == []
        assert master.posted("/signals/ack_preemption") == []
        assert follow(context) == []
    assert len(master.posted("/signals/ack_preemption")) == 1


def test_without_a_length_the_searcher_says_what_is_missing(on_cluster: Callable[..., Master]) -> None:
    on_cluster(searcher={"name": "single", "metric": "loss"})
    with core.init() as context, pytest.raises(ValueError, match=r"searcher\.max_length"):
        context.searcher.operations()


def test_lengths_are_read_in_every_unit() -> None:
    assert parse_max_length(None) is None
    assert parse_max_length(5) == (5, None)
    assert parse_max_length({"epochs": 3}) == (3, core.Unit.EPOCHS)
    with pytest.raises(ValueError, match=r"searcher\.max_length"):
        parse_max_length({"years": 3})


ASHA = {"name": "adaptive_asha", "metric": "accuracy", "max_trials": 4}


def test_a_validation_without_the_metric_that_trials_are_compared_by_is_an_error_where_it_is_reported(
    on_cluster: Callable[..., Master],
) -> None:
    master = on_cluster(searcher={**ASHA, "max_length": {"batches": 8}})
    with core.init() as context:
        with pytest.raises(errors.InvalidExperimentException, match=r"searcher\.metric is 'accuracy'.*only acc, loss"):
            context.train.report_validation_metrics(1, {"acc": 0.5, "loss": 1.0})
        context.train.report_validation_metrics(1, {"accuracy": math.nan})
    assert [steps for steps, _ in master.metrics("validation")] == [1]


def report_the_wrong_metric() -> None:
    with core.init() as context:
        context.train.report_validation_metrics(1, {"acc": 0.5})


@pytest.mark.parametrize("status", [200, 500])
def test_the_cluster_hears_that_starting_such_a_trial_again_is_of_no_use(
    on_cluster: Callable[..., Master], status: int
) -> None:
    master = on_cluster(searcher={**ASHA, "max_length": {"batches": 8}})
    master.answers["/early_exit"] = (status, {})
    with pytest.raises(errors.InvalidExperimentException, match=r"searcher\.metric is 'accuracy'"):
        report_the_wrong_metric()
    assert master.posted("/trials/41/early_exit") == [{"reason": "EXITED_REASON_MISCONFIGURED"}]


def test_a_search_by_time_wants_the_time_too(on_cluster: Callable[..., Master]) -> None:
    on_cluster(searcher={**ASHA, "time_metric": "epochs", "max_time": 8})
    with core.init() as context:
        with pytest.raises(errors.InvalidExperimentException, match=r"searcher\.time_metric is 'epochs'"):
            context.train.report_validation_metrics(1, {"accuracy": 0.5})
        context.train.report_validation_metrics(1, {"accuracy": 0.5, "epochs": 1})


def test_a_search_that_compares_nobody_takes_any_validation_and_warns_once(
    on_cluster: Callable[..., Master], caplog: pytest.LogCaptureFixture
) -> None:
    master = on_cluster()
    with core.init() as context:
        context.train.report_validation_metrics(1, {"accuracy": 0.5})
        context.train.report_validation_metrics(2, {"accuracy": 0.5})
    assert len(master.metrics("validation")) == 2
    assert [record.getMessage() for record in caplog.records if "searcher.metric is 'loss'" in record.getMessage()] == [
        "no trial can be called the best: searcher.metric is 'loss', and this validation reports only accuracy; "
        "report 'loss' too, or name another in searcher.metric"
    ]


def test_off_the_cluster_there_is_one_operation() -> None:
    with core.init() as context:
        assert follow(context) == [1]


def test_all_ranks_go_through_the_same_operations(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    master.targets = [1, 4]
    session = api.Session(master.url, "t")
    seen: dict[int, list[int]] = {0: [], 1: []}

    def rank(number: int) -> None:
        distributed = core.DistributedContext(
            rank=number, size=2, local_rank=number, local_size=2, cross_rank=0, cross_size=1
        )
        searcher = core.SearcherContext(session, distributed, 41, 8, core.Unit.BATCHES)
        for operation in searcher.operations():
            seen[number].append(operation.length)
            if number == 0:
                operation.report_completed(0.5)
            else:
                with pytest.raises(RuntimeError, match="only be called on the chief"):
                    operation.report_completed(0.5)
        distributed.close()

    workers = [threading.Thread(target=rank, args=(number,)) for number in (0, 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(20)
    assert seen == {0: [1, 4], 1: [1, 4]}


def test_a_worker_may_not_ask_where_only_the_chief_does(on_cluster: Callable[..., Master]) -> None:
    distributed = core.DummyDistributedContext()
    distributed.rank = 1
    searcher = core.SearcherContext(None, distributed, 41, 8)
    with pytest.raises(RuntimeError, match="non-chief worker"):
        next(searcher.operations(core.SearcherMode.ChiefOnly))
