"""core.init in a trial and elsewhere, and the smaller parts of its context."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import determined as det
from determined import core
from tests.unit.harness.conftest import Master


def test_a_trial_tells_where_it_keeps_checkpoints_before_anything_else(
    on_cluster: Callable[..., Master], tmp_path: Path
) -> None:
    master = on_cluster()
    with core.init():
        pass
    method, path, body = next(call for call in master.calls if "/preemption" not in call[1])
    assert (method, path) == ("POST", "/api/v1/runs/start")
    assert body["runId"] == 41
    assert body["checkpointStorage"]["host_path"] == str(tmp_path / "storage")


def test_an_invalid_hyperparameter_ends_the_trial_cleanly(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    with pytest.raises(SystemExit) as ended, core.init():
        raise det.InvalidHP("no such learning rate")
    assert ended.value.code == 0
    assert master.posted("/trials/41/early_exit") == [{"reason": "EXITED_REASON_INVALID_HP"}]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_finds_a_hyperparameter_invalid_says_so_and_fails_which_ends_the_others(
    on_cluster: Callable[..., Master], rank: int
) -> None:
    master = on_cluster()
    several = core.DummyDistributedContext()
    several.rank, several.size = rank, 2
    with pytest.raises(det.InvalidHP), core.init(distributed=several):
        raise det.InvalidHP("no such learning rate")
    assert master.posted("/trials/41/early_exit") == [{"reason": "EXITED_REASON_INVALID_HP"}]


def test_an_early_exit_that_was_reported_already_is_no_error(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    master.answers["/early_exit"] = (400, {"error": {"error": "reported already"}})
    with core.init() as context:
        context.train.report_early_exit(core.EarlyExitReason.USER_REQUESTED_STOP)


def test_an_error_of_the_program_is_not_hidden_by_unsent_reports(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    master.answers["/metrics"] = (400, {"error": {"error": "refused"}})
    with pytest.raises(ZeroDivisionError):
        report_and_fail()


def report_and_fail() -> None:
    with core.init() as context:
        context.train.report_training_metrics(1, {"loss": 1})
        _ = 1 / 0


def test_reports_that_make_no_sense_are_refused(on_cluster: Callable[..., Master]) -> None:
    on_cluster()
    with core.init() as context:
        with pytest.raises(RuntimeError, match="'accuracy' is None"):
            context.train.report_validation_metrics(1, {"accuracy": None})
        with pytest.raises(ValueError, match="from 0 to 1"):
            context.train.report_progress(1.5)
        with pytest.raises(ValueError, match="without a dot"):
            context.train.report_metrics("a.b", 1, {})
        with pytest.raises(RuntimeError, match="AUTO"):
            context.train.upload_tensorboard_files()


def test_bytes_among_validation_metrics_are_left_out(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    with core.init() as context:
        context.train.report_validation_metrics(1, {"accuracy": 0.5, "image": b"png"})
    assert master.metrics("validation") == [(1, {"accuracy": 0.5})]


def test_the_best_validation_is_none_before_the_first(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    with core.init() as context:
        assert context.train.get_experiment_best_validation() is None
        master.best = 0.25
        assert context.train.get_experiment_best_validation() == 0.25


def test_several_slots_need_to_know_which_worker_this_is(
    on_cluster: Callable[..., Master], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_cluster()
    monkeypatch.setenv("DET_SLOT_IDS", "[0, 1]")
    with pytest.raises(ValueError, match="2 slots"):
        core.init()


def test_off_the_cluster_everything_has_a_stand_in() -> None:
    with core.init() as context:
        context.train.report_training_metrics(1, {"loss": 0.5})
        context.train.report_progress(0.5)
        context.train.set_status("fine")
        context.profiler.on()
        context.alert("title")
        assert context.train.get_experiment_best_validation() is None
        assert context.info is None


def test_an_alert_names_the_trial(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    with core.init() as context:
        context.alert("hot", "very", "warn")
    (event,) = master.posted("/webhooks/custom")
    assert event["trialId"] == 41
    assert event["data"] == {"title": "hot", "description": "very", "level": "LOG_LEVEL_WARNING"}


@pytest.mark.parametrize("status", [400, 404, 500, 501])
def test_an_alert_that_cannot_be_delivered_is_a_warning_and_training_goes_on(
    on_cluster: Callable[..., Master], caplog: pytest.LogCaptureFixture, status: int
) -> None:
    master = on_cluster()
    master.answers["/webhooks/custom"] = (status, {"error": {"error": "no webhooks here"}})
    with core.init() as context:
        context.alert("hot", "very", "warn")
    assert "the alert 'hot' was not delivered" in caplog.text
