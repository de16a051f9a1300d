"""Reports leave in the background, in order, whole, and before a checkpoint that follows them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from determined import core
from determined.common import api
from determined.common.api._retry import RetryPolicy
from determined.core._metrics import BATCH_REPORTS, ReportsRefused, _MetricsContext
from tests.unit.harness.conftest import Master

QUICK = RetryPolicy(give_up_after_s=60.0, pause_s=0.01, pause_s_max=0.05)


@pytest.fixture
def reports(master: Master, tmp_path: Path) -> Iterator[_MetricsContext]:
    session = api.Session(master.url, "t", retry=QUICK)
    context = _MetricsContext(session, 41, 2, tmp_path / "spool", memory_bytes=4000)
    context.start()
    yield context
    context.close(flush=False)
    session.close()


def test_reports_arrive_in_order_and_say_which_run_they_are_of(master: Master, reports: _MetricsContext) -> None:
    for step in range(50):
        reports.report("training", step, {"loss": 1.0 / (step + 1)})
    reports.flush()
    bodies = master.reports()
    assert [body["metrics"]["stepsCompleted"] for body in bodies] == list(range(50))
    assert {body["metrics"]["trialRunId"] for body in bodies} == {2}
    assert bodies[0]["group"] == "training"
    assert bodies[0]["metrics"]["reportTime"].endswith("Z")


@pytest.mark.alone
def test_while_the_gateway_is_away_training_goes_on_and_nothing_is_lost(
    master: Master, reports: _MetricsContext
) -> None:
    master.stop()
    started = time.monotonic()
    for step in range(500):
        reports.report("training", step, {"loss": step, "note": "x" * 50})
    assert time.monotonic() - started < 20
    assert reports._spool.on_disk > 0
    master.start()
    reports.flush(timeout_s=60)
    assert [step for step, _ in master.metrics("training")] == list(range(500))


def test_what_gathered_while_the_gateway_was_away_leaves_in_a_few_requests(
    master: Master, reports: _MetricsContext
) -> None:
    master.stop()
    for step in range(1200):
        reports.report("training", step, {"loss": step})
    master.start()
    reports.flush(timeout_s=60)
    sizes = [len(body["reports"]) for body in master.posted("/metrics/batch")]
    assert len(sizes) <= 4
    assert max(sizes) == BATCH_REPORTS
    assert [step for step, _ in master.metrics("training")] == list(range(1200))


def test_a_batch_whose_answer_is_lost_is_sent_again_as_it_was(master: Master, reports: _MetricsContext) -> None:
    master.statuses = [503]
    master.stop()
    for step in range(10):
        reports.report("training", step, {"loss": step})
    master.start()
    reports.flush(timeout_s=60)
    assert [step for step, _ in master.metrics("training")] == list(range(10))


def test_of_a_batch_with_a_bad_report_the_good_ones_before_it_are_kept(
    master: Master, reports: _MetricsContext
) -> None:
    master.stop()
    for step in range(10):
        reports.report("training", step, {"loss": step})
    master.answers["/metrics/batch"] = (400, {"error": {"error": "reports[7].metrics: no good"}})
    master.refused_steps.add(7)
    master.start()
    with pytest.raises(ReportsRefused, match="step 7"):
        reports.flush(timeout_s=60)
    alone = [body["metrics"]["stepsCompleted"] for body in master.posted("/trials/41/metrics")]
    assert alone == list(range(8))


def test_of_a_status_only_the_newest_matters(master: Master, reports: _MetricsContext) -> None:
    master.stop()
    for number in range(100):
        reports.report_latest("/api/v1/trials/41/runner/metadata", {"state": f"status {number}"})
    master.start()
    reports.flush()
    told = master.posted("/runner/metadata")
    assert told[-1] == {"state": "status 99"}
    assert len(told) <= 2


def test_a_refused_report_is_raised_by_the_next_one(master: Master, reports: _MetricsContext) -> None:
    master.answers["/metrics"] = (400, {"error": {"error": "trial 41 has ended"}})
    reports.report("training", 1, {"loss": 1})
    with pytest.raises(ReportsRefused, match="trial 41 has ended"):
        reports.flush()
    with pytest.raises(ReportsRefused):
        reports.report("training", 2, {"loss": 1})


def test_a_refused_status_stops_nothing(master: Master, reports: _MetricsContext) -> None:
    master.answers["/runner/metadata"] = (400, {})
    reports.report_latest("/api/v1/trials/41/runner/metadata", {"state": "x"})
    reports.report("training", 1, {"loss": 1})
    reports.flush()
    assert master.metrics("training") == [(1, {"loss": 1})]


def test_numbers_of_every_kind_have_a_form_on_the_wire(master: Master, reports: _MetricsContext) -> None:
    odd = {"nan": math.nan, "inf": -math.inf, "np": np.float32(0.5), "tensor": torch.tensor([1, 2])}
    reports.report("validation", 1, odd)
    reports.flush()
    (_, metrics), *_ = master.metrics("validation")
    assert metrics == {"nan": "NaN", "inf": "-Infinity", "np": 0.5, "tensor": [1, 2]}


def test_what_has_no_form_is_refused_where_it_is_reported(reports: _MetricsContext) -> None:
    with pytest.raises(TypeError, match="no JSON form"):
        reports.report("training", 1, {"loss": object()})


def test_metrics_before_a_checkpoint_are_taken_before_it_is_reported(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    with core.init() as context:
        for step in range(200):
            context.train.report_training_metrics(step, {"loss": 1.0})
        with context.checkpoint.store_path({"steps_completed": 200}) as (path, _):
            (path / "weights").write_text("w")
    completed = [
        position
        for position, (method, path, body) in enumerate(master.calls)
        if path.endswith("/checkpoints") and body["state"] == "STATE_COMPLETED"
    ]
    last_metric = max(n for n, (_, path, _) in enumerate(master.calls) if "/metrics" in path)
    assert len(master.metrics("training")) == 200
    assert last_metric < completed[0]


def test_leaving_the_context_waits_until_everything_is_sent(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster()
    master.stop()
    back = threading.Timer(0.3, master.start)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DET_RETRY_CONFIG", '{"total_s": 20, "backoff_factor": 0.01}')
        back.start()
        with core.init() as context:
            context.train.report_validation_metrics(1, {"accuracy": 0.5})
    back.join()
    assert master.metrics("validation") == [(1, {"accuracy": 0.5})]
