"""How long to train, as the search asks: one operation, to the configured length."""

from __future__ import annotations

import enum
import logging
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from determined.common import api
from determined.core._distributed import DistributedContext

logger = logging.getLogger("determined.core")


class Unit(enum.Enum):
    """What a length counts."""

    EPOCHS = "EPOCHS"
    RECORDS = "RECORDS"
    BATCHES = "BATCHES"


class SearcherMode(enum.Enum):
    """Who may call operations(). The second value is spelt as programs in the wild know it."""

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    ChiefOnly = "CHEIF_ONLY"


class SearcherOperation:
    """One stretch of training: `length` is a cumulative total, so "train to 200" survives any restart."""

    def __init__(self, session: api.Session | None, trial_id: int, length: int, is_chief: bool) -> None:
        self._session = session
        self._trial_id = trial_id
        self._length = length
        self._is_chief = is_chief
        self._completed = False

    @property
    def length(self) -> int:
        return self._length

    def report_progress(self, length: float) -> None:
        """How far training has come, in the unit of `length`. Chief only."""
        self._chief_only()
        if self._completed:
            raise RuntimeError("report_progress was called after report_completed")
        fraction = min(1.0, max(0.0, length / self._length)) if self._length else 1.0
        self._tell_progress(fraction)

    def _tell_progress(self, fraction: float) -> None:
        assert self._session is not None
        self._session.post(f"/api/v1/trials/{self._trial_id}/progress", {"progress": fraction, "is_raw": True})

    def report_completed(self, searcher_metric: Any) -> None:
        """Say that training reached `length`. Chief only, once; the metric is that of the last validation."""
        self._chief_only()
        if self._completed:
            raise RuntimeError("report_completed was called already")
        self._completed = True
        logger.debug("trained to %s with searcher metric %s", self._length, searcher_metric)

    def _chief_only(self) -> None:
        if not self._is_chief:
            raise RuntimeError("op.report_progress / op.report_completed may only be called on the chief")


class SearcherContext:
    """The older way to learn how long to train."""

    def __init__(
        self,
        session: api.Session | None,
        dist: DistributedContext,
        trial_id: int,
        max_length: int,
        units: Unit | None = None,
    ) -> None:
        self._session = session
        self._dist = dist
        self._trial_id = trial_id
        self._length = max_length
        self._units = units

    def operations(
        self, searcher_mode: SearcherMode = SearcherMode.WorkersAskChief, auto_ack: bool = True
    ) -> Iterator[SearcherOperation]:
        """Yields one operation. On the chief, report_completed has to be called before asking for more."""
        if searcher_mode is SearcherMode.ChiefOnly and self._dist.rank != 0:
            raise RuntimeError(
                f"searcher.operations was called from non-chief worker (rank {self._dist.rank}), which "
                "SearcherMode.ChiefOnly does not allow"
            )
        warnings.warn(
            "core_context.searcher is deprecated: take the training length from your own configuration",
            FutureWarning,
            stacklevel=2,
        )
        operation = self._operation()
        yield operation
        if self._dist.rank == 0 and not operation._completed:
            raise RuntimeError("you must call op.report_completed() before asking for the next operation")

    def _operation(self) -> SearcherOperation:
        return SearcherOperation(self._session, self._trial_id, self._length, self._dist.rank == 0)

    def acknowledge_out_of_ops(self) -> None:
        """Kept for older programs; there is nothing to acknowledge."""

    def get_configured_units(self) -> Unit | None:
        return self._units


class SearcherContextMissing(SearcherContext):
    """Stands in where the configuration says no length."""

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
    """An operation that nobody hears about."""

    def __init__(self, length: int, is_chief: bool) -> None:
        super().__init__(None, 0, length, is_chief)

    def _tell_progress(self, fraction: float) -> None:
        logger.info("progress: %.0f %%", fraction * 100)


class DummySearcherContext(SearcherContext):
    """Off the cluster: one operation of a length of your choosing."""

    def __init__(self, dist: DistributedContext, length: int = 1) -> None:
        super().__init__(None, dist, 0, length, Unit.EPOCHS)

    def _operation(self) -> SearcherOperation:
        return DummySearcherOperation(self._length, self._dist.rank == 0)


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
