"""What trials reported: the metrics of one report."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from determined.common.experimental._order import time_of
from determined.common.experimental._session import UserSession

TRAINING, VALIDATION = "training", "validation"


@dataclasses.dataclass
class TrialMetrics:
    """One report of a trial. `batch_metrics` has the values of the single batches, where the trial reported these."""

    trial_id: int
    trial_run_id: int
    steps_completed: int
    end_time: datetime.datetime
    metrics: dict[str, Any]
    group: str
    batch_metrics: list[dict[str, Any]] | None = None

    @property
    def total_batches(self) -> int:
        """The older name of `steps_completed`."""
        return self.steps_completed


class TrainingMetrics(TrialMetrics):
    """A report of training."""

    def __init__(self, total_batches: int | None = None, **kwargs: Any):
        super().__init__(**_steps(total_batches, kwargs))


class ValidationMetrics(TrialMetrics):
    """A report of a validation."""

    def __init__(self, total_batches: int | None = None, **kwargs: Any):
        super().__init__(**_steps(total_batches, kwargs))


Kind = TypeVar("Kind", bound=TrialMetrics)


def _steps(total_batches: int | None, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {**kwargs, **({} if total_batches is None else {"steps_completed": total_batches})}


def of_trials(session: UserSession, trial_ids: Sequence[int], group: str) -> Iterator[TrialMetrics]:
    """The reports of some trials, trial by trial, as they arrive."""
    return (_of_report(report, TrialMetrics) for report in _reports(session, trial_ids, group))


def training(session: UserSession, trial_ids: Sequence[int]) -> Iterator[TrainingMetrics]:
    return (_of_report(report, TrainingMetrics) for report in _reports(session, trial_ids, TRAINING))


def validation(session: UserSession, trial_ids: Sequence[int]) -> Iterator[ValidationMetrics]:
    return (_of_report(report, ValidationMetrics) for report in _reports(session, trial_ids, VALIDATION))


def of_reports(reports: Iterable[Mapping[str, Any]]) -> Iterator[TrialMetrics]:
    return (_of_report(report, TrialMetrics) for report in reports)


def _reports(session: UserSession, trial_ids: Sequence[int], group: str) -> Iterator[Mapping[str, Any]]:
    query = {"trialIds": list(trial_ids), "group": group}
    for answer in session.stream("/api/v1/trials/metrics/trial_metrics", query):
        yield from answer.get("metrics") or ()


def _of_report(report: Mapping[str, Any], kind: type[Kind]) -> Kind:
    group, metrics = str(report["group"]), report.get("metrics") or {}
    ended_at = time_of(report["endTime"])
    assert ended_at is not None, "a report says when it was made"
    values = metrics.get("validation_metrics") if group == VALIDATION else None
    return kind(
        trial_id=report["trialId"],
        trial_run_id=report["trialRunId"],
        steps_completed=report["totalBatches"],
        end_time=ended_at,
        metrics=metrics.get("avg_metrics") or {} if values is None else values,
        group=group,
        batch_metrics=metrics.get("batch_metrics"),
    )
