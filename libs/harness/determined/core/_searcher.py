"""How long to train: the targets that the search sets, one after another. Each is a cumulative length."""

from __future__ import annotations

import enum
import logging
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from determined.common import api
from determined.core._distributed import DistributedContext
from determined.core._metrics import _MetricsContext
from determined.core._preempt import PreemptContext

logger = logging.getLogger("determined.core")

LONG_POLL_S = 60
TIMEOUT_S = 60.0
PAUSE_S = 1.0


class Unit(enum.Enum):
    """What a length counts."""

    EPOCHS = "EPOCHS"
    RECORDS = "RECORDS"
    BATCHES = "BATCHES"


class SearcherMode(enum.Enum):
    """Which ranks call operations(). The value CHEIF_ONLY is misspelt as in Determined, since programs depend on it."""

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    ChiefOnly = "CHEIF_ONLY"


class SearcherOperation:
    """One stretch of training: `length` is a cumulative total, so "train to 200" survives any restart."""

    def __init__(
        self,
        session: api.Session | None,
        trial_id: int,
        length: int,
        is_chief: bool,
        *,
        whole: int | None = None,
        metrics: _MetricsContext | None = None,
    ) -> None:
        """`whole`: the largest length that the search may set for this trial, of which progress is a fraction."""
        self._session = session
        self._trial_id = trial_id
        self._length = length
        self._is_chief = is_chief
        self._whole = max(length, whole or 0)
        self._metrics = metrics
        self._completed = False

    @property
    def length(self) -> int:
        return self._length

    def report_progress(self, length: float) -> None:
        """Report how far training has come, in the unit of `length`. Chief only."""
        self._chief_only()
        if self._completed:
            raise RuntimeError("report_progress was called after report_completed")
        self._post_progress(min(1.0, max(0.0, length / self._whole)) if self._whole else 1.0)

    def _post_progress(self, fraction: float) -> None:
        assert self._session is not None
        self._session.post(f"/api/v1/trials/{self._trial_id}/progress", {"progress": fraction, "is_raw": True})

    def report_completed(self, searcher_metric: Any) -> None:
        """Report that training has reached `length`. Chief only, once. `searcher_metric`: that of the last validation.

        All earlier reports are sent before. Raises the error of the master.
        """
        self._chief_only()
        if self._completed:
            raise RuntimeError("report_completed was called already")
        metric = _number(searcher_metric)
        self._post_completed(metric)
        self._completed = True
        logger.debug("trained to %s with searcher metric %s", self._length, metric)

    def _post_completed(self, metric: float) -> None:
        assert self._session is not None
        if self._metrics is not None:
            self._metrics.flush()
        body = {"op": {"length": str(self._length)}, "searcherMetric": metric}
        self._session.post(f"/api/v1/trials/{self._trial_id}/searcher/completed_operation", body)

    def _chief_only(self) -> None:
        if not self._is_chief:
            raise RuntimeError("op.report_progress / op.report_completed may only be called on the chief")


def _number(searcher_metric: Any) -> float:
    try:
        return float(searcher_metric)
    except (TypeError, ValueError) as problem:
        raise TypeError(f"report_completed: expected the searcher's metric, a number; found {searcher_metric!r}") from (
            problem
        )


class SearcherContext:
    """The targets that a search sets for this trial, as operations."""

    def __init__(
        self,
        session: api.Session | None,
        dist: DistributedContext,
        trial_id: int,
        max_length: int | None,
        units: Unit | None = None,
        *,
        preempt: PreemptContext | None = None,
        metrics: _MetricsContext | None = None,
    ) -> None:
        self._session = session
        self._dist = dist
        self._trial_id = trial_id
        self._length = max_length
        self._units = units
        self._preempt = preempt
        self._metrics = metrics

    def operations(
        self, searcher_mode: SearcherMode = SearcherMode.WorkersAskChief, auto_ack: bool = True
    ) -> Iterator[SearcherOperation]:
        """Yields an operation for each target of the search, and waits while there is none.

        On the chief, report_completed has to be called before the next operation. Ends when this run has nothing more
        to train: the trial is finished, or has to give its slots back, which is acknowledged unless `auto_ack` is
        False. With WorkersAskChief every rank gets the same operations.
        """
        if searcher_mode is SearcherMode.ChiefOnly and self._dist.rank != 0:
            raise RuntimeError(
                f"searcher.operations was called from non-chief worker (rank {self._dist.rank}), which "
                "SearcherMode.ChiefOnly does not allow"
            )
        warnings.warn(
            "core_context.searcher is the older way to follow a search: take the training length from your own "
            "configuration, and let searcher.time_metric say how far a trial has come",
            FutureWarning,
            stacklevel=2,
        )
        together = searcher_mode is SearcherMode.WorkersAskChief
        done = 0
        while (length := self._agreed(done, together, auto_ack)) is not None:
            operation = self._operation(length)
            yield operation
            if self._dist.rank == 0 and not operation._completed:
                raise RuntimeError("you must call op.report_completed() before asking for the next operation")
            done = length

    def _agreed(self, done: int, together: bool, auto_ack: bool) -> int | None:
        length = self._next_length(done, auto_ack) if self._dist.rank == 0 else None
        agreed: int | None = self._dist.broadcast(length) if together else length
        return agreed

    def _next_length(self, done: int, auto_ack: bool) -> int | None:
        """The next target after `done`, waited for; None when there will be no further target for this run."""
        while True:
            asked_at = time.monotonic()
            answer: dict[str, Any] = {"preempt": True} if self._stopped() else self._ask(done)
            if answer.get("preempt") or (self._preempt is not None and self._preempt._asked()):
                if auto_ack and self._preempt is not None:
                    self._preempt.acknowledge_preemption_signal()
                return None
            length = int(((answer.get("op") or {}).get("validateAfter") or {}).get("length") or 0)
            if length > done and not answer.get("completed"):
                return length
            if answer.get("finished"):
                return None
            # The master answered before its time without a new target: a pause keeps this from being a busy loop.
            time.sleep(max(0.0, asked_at + PAUSE_S - time.monotonic()))

    def _stopped(self) -> bool:
        """Whether the answer to a validation was that the search has stopped this trial."""
        return self._metrics is not None and self._metrics.stopped_by_search()

    def _ask(self, done: int) -> dict[str, Any]:
        assert self._session is not None
        path = f"/api/v1/trials/{self._trial_id}/searcher/operation"
        answer: dict[str, Any] = self._session.get(
            path, {"after": done, "timeout_seconds": LONG_POLL_S}, timeout_s=LONG_POLL_S + TIMEOUT_S
        )
        return answer

    def _operation(self, length: int) -> SearcherOperation:
        return SearcherOperation(
            self._session, self._trial_id, length, self._dist.rank == 0, whole=self._length, metrics=self._metrics
        )

    def acknowledge_out_of_ops(self) -> None:
        """Kept for older programs; there is nothing to acknowledge."""

    def get_configured_units(self) -> Unit | None:
        return self._units


class SearcherContextMissing(SearcherContext):
    """For an experiment whose configuration has no `searcher.max_length`: every method raises ValueError."""

    def __init__(self) -> None:
        return

    def _refuse(self) -> ValueError:
        return ValueError(
            "searcher.max_length is not in this experiment's configuration, so core_context.searcher has "
            "nothing to say; add it, or decide the training length in your own code"
        )

    def operations(
        self, searcher_mode: SearcherMode = SearcherMode.WorkersAskChief, auto_ack: bool = True
    ) -> Iterator[SearcherOperation]:
        raise self._refuse()

    def acknowledge_out_of_ops(self) -> None:
        raise self._refuse()

    def get_configured_units(self) -> Unit | None:
        raise self._refuse()


class DummySearcherOperation(SearcherOperation):
    """An operation whose progress is not reported."""

    def __init__(self, length: int, is_chief: bool) -> None:
        super().__init__(None, 0, length, is_chief)

    def _post_progress(self, fraction: float) -> None:
        logger.info("progress: %.0f %%", fraction * 100)

    def _post_completed(self, metric: float) -> None:
        logger.info("trained to %s: searcher metric %s", self._length, metric)


class DummySearcherContext(SearcherContext):
    """Off the cluster: one operation of a length of your choosing."""

    def __init__(self, dist: DistributedContext, length: int = 1) -> None:
        super().__init__(None, dist, 0, length, Unit.EPOCHS)

    def _next_length(self, done: int, auto_ack: bool) -> int | None:
        return self._length if not done else None

    def _operation(self, length: int) -> SearcherOperation:
        return DummySearcherOperation(length, self._dist.rank == 0)


def parse_max_length(max_length: object) -> tuple[int, Unit | None] | None:
    """`searcher.max_length`: a plain number, or one of {batches, records, epochs}; None when it is not set."""
    match max_length:
        case None:
            return None
        case int() as length:
            return length, None
        case Mapping() if len(max_length) == 1:
            ((name, length),) = max_length.items()
            if name in ("batches", "records", "epochs") and isinstance(length, int):
                return length, Unit[str(name).upper()]
    raise ValueError(
        f"searcher.max_length: expected one of batches, records or epochs with a number, found {max_length!r}"
    )
