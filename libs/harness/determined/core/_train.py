"""Reports of training: metrics, progress, status, an early end."""

from __future__ import annotations

import enum
import logging
import math
import pathlib
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from determined import errors
from determined._numbers import mean_of
from determined.common import api
from determined.common.api._retry import ONCE
from determined.core._distributed import DistributedContext
from determined.core._metrics import _DummyMetricsContext, _MetricsContext
from determined.core._tensorboard_mode import TensorboardMode
from determined.tensorboard import BatchMetricWriter, TensorboardManager
from determined.tensorboard._manager import Mangler

logger = logging.getLogger("determined.core")

RANKING = ("async_halving", "adaptive_asha")
"""Search methods that compare trials at each validation, and so need the metric in each."""


MISCONFIGURED = "EXITED_REASON_MISCONFIGURED"


class EarlyExitReason(enum.Enum):
    """Why a trial ends before its length."""

    INVALID_HP = "EXITED_REASON_INVALID_HP"
    USER_REQUESTED_STOP = "EXITED_REASON_USER_REQUESTED_STOP"


class TrainContext:
    """Reports of a trial. Metrics, progress and status are sent in the background, and their methods return at once;
    other methods wait for the master. Raises ReportsRefused when an earlier metric report was refused."""

    def __init__(
        self,
        session: api.Session,
        trial_id: int,
        exp_id: int,
        metrics: _MetricsContext,
        distributed: DistributedContext,
        tensorboard_mode: TensorboardMode,
        tensorboard_manager: TensorboardManager | None,
        tbd_writer: BatchMetricWriter | None,
        searcher: Mapping[str, Any] | None = None,
    ) -> None:
        """`searcher`: the section of the configuration, which names the metrics that a validation has to report."""
        self._session = session
        self._trial_id = trial_id
        self._exp_id = exp_id
        self._metrics = metrics
        self._distributed = distributed
        self._tensorboard_mode = tensorboard_mode
        self._tensorboard_manager = tensorboard_manager
        self._tbd_writer = tbd_writer
        self._searcher = searcher or {}
        self._missed: set[str] = set()

    def set_status(self, status: str) -> None:
        """A short text for people to see, such as "validating"."""
        self._metrics.report_latest(f"/api/v1/trials/{self._trial_id}/runner/metadata", {"state": status})

    def set_metadata(self, metadata: dict[str, Any]) -> dict[str, Any] | None:
        """Replace the metadata of the run; returns what the master has now."""
        answer = self._session.post(f"/api/v1/runs/{self._trial_id}/metadata", {"metadata": metadata})
        return _metadata_of(answer)

    def get_metadata(self) -> dict[str, Any] | None:
        return _metadata_of(self._session.get(f"/api/v1/runs/{self._trial_id}/metadata"))

    def report_training_metrics(
        self,
        steps_completed: int,
        metrics: dict[str, Any],
        batch_metrics: list[dict[str, Any]] | None = None,
    ) -> None:
        """Metrics of the group `training`, up to `steps_completed` batches of the trial in all."""
        self._report("training", steps_completed, metrics, batch_metrics)

    def report_validation_metrics(self, steps_completed: int, metrics: dict[str, Any]) -> None:
        """Metrics of the group `validation`, which include the metric of the search.

        A search that compares trials as they train may stop this trial: then the next `preempt.should_preempt()` is
        True.

        Raises InvalidExperimentException when the search compares trials by a metric that is missing.
        """
        for name, value in metrics.items():
            if value is None:
                raise RuntimeError(f"validation metric {name!r} is None; report a value or leave it out")
        dropped = [name for name, value in metrics.items() if isinstance(value, bytes)]
        if dropped:
            logger.warning("validation metrics cannot be bytes; left out: %s", ", ".join(dropped))
        kept = {name: value for name, value in metrics.items() if name not in dropped}
        self._look_for_the_searchers(kept)
        decides = self._searcher.get("name") in RANKING
        self._report("validation", steps_completed, self._with_searchers_numbers(kept), decides=decides)

    def _with_searchers_numbers(self, metrics: dict[str, Any]) -> dict[str, Any]:
        """`metrics`, with those that the search reads as plain numbers: the element of a tensor of shape [1], the mean
        of an array. Raises InvalidExperimentException when one of them is not a number."""
        numbers = dict(metrics)
        for field in ("metric", "time_metric"):
            name = self._searcher.get(field)
            if name is None or name not in metrics or isinstance(metrics[name], int | float | str):
                continue
            number = mean_of(metrics[name])
            if number is None:
                raise errors.InvalidExperimentException(
                    f"searcher.{field} is {name!r}: a validation has to report a number for it, found {metrics[name]!r}"
                )
            numbers[name] = number
        return numbers

    def _look_for_the_searchers(self, metrics: dict[str, Any]) -> None:
        for field in ("metric", "time_metric"):
            name = self._searcher.get(field)
            if name is None or name in metrics:
                continue
            missing = (
                f"searcher.{field} is {name!r}, and this validation reports only "
                f"{', '.join(sorted(metrics)) or 'nothing'}; report {name!r} too, or name another in searcher.{field}"
            )
            if self._searcher.get("name") in RANKING:
                raise errors.InvalidExperimentException(missing)
            if name not in self._missed:
                self._missed.add(name)
                logger.warning("no trial can be called the best: %s", missing)

    def report_metrics(self, group: str, steps_completed: int, metrics: dict[str, Any]) -> None:
        """Metrics of a group with a name of your choice."""
        if not group or "." in group:
            raise ValueError(f"metric group: expected a name without a dot, found {group!r}")
        self._report(group, steps_completed, metrics)

    def _report(
        self,
        group: str,
        steps_completed: int,
        metrics: dict[str, Any],
        batch_metrics: list[dict[str, Any]] | None = None,
        *,
        decides: bool = False,
    ) -> None:
        self._metrics.report(group, steps_completed, metrics, batch_metrics, decides=decides)
        if self._tbd_writer is not None:
            self._tbd_writer.on_report(group, steps_completed, metrics)

    def get_tensorboard_path(self) -> pathlib.Path:
        """The folder whose files are kept for TensorBoard."""
        if self._tensorboard_manager is None:
            raise ValueError("there is no TensorBoard folder without a trial")
        return self._tensorboard_manager.base_path

    def upload_tensorboard_files(
        self,
        selector: Callable[[pathlib.Path], bool] = lambda _: True,
        mangler: Mangler = lambda path, _: path,
    ) -> None:
        """Store the files of the TensorBoard folder now. For TensorboardMode.MANUAL only.

        `selector` says which, `mangler` under what name, given the path and the rank.
        """
        if self._tensorboard_mode is TensorboardMode.AUTO:
            raise RuntimeError("upload_tensorboard_files is for TensorboardMode.MANUAL; in AUTO it is done for you")
        if self._tensorboard_manager is None:
            raise ValueError("there is no TensorBoard folder without a trial")
        self._tensorboard_manager.sync(selector, mangler)

    def report_early_exit(self, reason: EarlyExitReason) -> None:
        """Report why the trial ends before its length. A second report has no effect."""
        self._metrics.flush()
        try:
            self._session.post(f"/api/v1/trials/{self._trial_id}/early_exit", {"reason": reason.value})
        except api.errors.APIException as problem:
            if problem.status_code != 400:
                raise
            logger.warning("the early exit was reported already: %s", problem)

    def _report_misconfigured(self) -> None:
        """Report that this trial fails, and would fail again. Raises nothing: the exception that is being handled must
        not be replaced."""
        try:
            self._session.post(f"/api/v1/trials/{self._trial_id}/early_exit", {"reason": MISCONFIGURED}, retry=ONCE)
        except (api.errors.BadRequestException, api.errors.BadResponseException) as problem:
            logger.warning("the cluster was not informed that this trial would fail again: %s", problem)

    def report_progress(self, progress: float) -> None:
        """The fraction of training that is done."""
        if not (math.isfinite(progress) and 0.0 <= progress <= 1.0):
            raise ValueError(f"progress: expected a fraction from 0 to 1, found {progress}")
        body = {"progress": float(progress), "is_raw": True}
        self._metrics.report_latest(f"/api/v1/trials/{self._trial_id}/progress", body)

    def get_experiment_best_validation(self) -> float | None:
        """The best searcher metric of the experiment so far; None before the first. Reports of this trial before the
        call are included."""
        self._metrics.flush()
        path = f"/api/v1/experiments/{self._exp_id}/searcher/best_searcher_validation_metric"
        try:
            metric = self._session.get(path).get("metric")
        except api.errors.NotFoundException:
            return None
        return None if metric is None else float(metric)


def _metadata_of(answer: dict[str, Any]) -> dict[str, Any] | None:
    metadata: dict[str, Any] | None = answer.get("metadata")
    return metadata


class DummyTrainContext(TrainContext):
    """Off the cluster reports go to the log."""

    def __init__(self, tensorboard_path: pathlib.Path | None = None) -> None:
        self._tensorboard_path = tensorboard_path
        self._metrics = _DummyMetricsContext()
        self._tbd_writer = None
        self._searcher = {}

    def set_status(self, status: str) -> None:
        logger.debug("status: %s", status)

    def set_metadata(self, metadata: dict[str, Any]) -> dict[str, Any] | None:
        logger.info("metadata: %s", metadata)
        return metadata

    def get_metadata(self) -> dict[str, Any] | None:
        return None

    def get_tensorboard_path(self) -> pathlib.Path:
        if self._tensorboard_path is None:
            self._tensorboard_path = pathlib.Path(tempfile.mkdtemp(prefix="tensorboard-"))
        return self._tensorboard_path

    def upload_tensorboard_files(
        self,
        selector: Callable[[pathlib.Path], bool] = lambda _: True,
        mangler: Mangler = lambda path, _: path,
    ) -> None:
        return

    def report_early_exit(self, reason: EarlyExitReason) -> None:
        logger.info("early exit: %s", reason.value)

    def _report_misconfigured(self) -> None:
        return

    def report_progress(self, progress: float) -> None:
        logger.info("progress: %.0f %%", progress * 100)

    def get_experiment_best_validation(self) -> float | None:
        return None
