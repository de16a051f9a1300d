"""Whether this run has to stop: because the cluster wants its slots back, which a thread asks for by long polls, or
because the search has stopped the trial, which the answer to a validation says."""

from __future__ import annotations

import enum
import logging
import threading

from determined.common import api
from determined.common.api._retry import ONCE
from determined.common.api._session import segment
from determined.core._distributed import DistributedContext
from determined.core._metrics import _DummyMetricsContext, _MetricsContext

logger = logging.getLogger("determined.core")

LONG_POLL_S = 60
PAUSE_AFTER_ERROR_S = 10.0
FIRST_ANSWER_S = 10.0


class PreemptMode(enum.Enum):
    """Which workers may call should_preempt: all (the chief passes the answer on), the chief alone, or all, each asking
    the master by itself."""

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    ChiefOnly = "CHIEF_ONLY"
    WorkersAskMaster = "WORKERS_ASK_MASTER"


class _Watcher:
    """Keeps a long poll open until the master answers that the run is preempted."""

    def __init__(self, session: api.Session, allocation_id: str) -> None:
        self._session = session
        self._path = f"/api/v1/allocations/{segment(allocation_id)}/signals/preemption"
        self._heard = threading.Event()
        self._closing = threading.Event()
        self._preempt = False
        self._thread = threading.Thread(target=self._run, name="preemption", daemon=True)
        self._thread.start()

    def should_preempt(self) -> bool:
        """The newest answer. Waits only for the first one, and at most FIRST_ANSWER_S: training goes on while the
        master is away."""
        self._heard.wait(FIRST_ANSWER_S)
        self._heard.set()
        return self._preempt

    @property
    def preempted(self) -> bool:
        """Whether an answer so far was that the run is preempted. Does not wait."""
        return self._preempt

    def close(self) -> None:
        self._closing.set()

    def _run(self) -> None:
        timeout_s = 0
        while not (self._preempt or self._closing.is_set()):
            try:
                self._preempt = self._ask(timeout_s)
                timeout_s = LONG_POLL_S
                self._heard.set()
            except (api.errors.BadRequestException, api.errors.BadResponseException) as problem:
                if not self._closing.is_set():
                    logger.debug("asking for preemption failed, will try again: %s", problem)
                self._heard.set()
                self._closing.wait(PAUSE_AFTER_ERROR_S)

    def _ask(self, timeout_s: int) -> bool:
        answer = self._session.get(self._path, {"timeout_seconds": timeout_s}, timeout_s=timeout_s + 10, retry=ONCE)
        return bool(answer.get("preempt"))


class PreemptContext:
    """Call `should_preempt()` at points where training can stop. It returns at once, except after a validation in a
    search that compares trials as they train: then it waits for the decision of the search, usually milliseconds."""

    def __init__(
        self,
        session: api.Session,
        allocation_id: str,
        dist: DistributedContext,
        preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
        *,
        metrics: _MetricsContext | None = None,
    ) -> None:
        self._session = session
        self._metrics = metrics or _DummyMetricsContext()
        self._allocation_id = allocation_id
        self._dist = dist
        self._preempt_mode = preempt_mode
        self._watcher: _Watcher | None = None
        self._started = False
        self._acknowledged = False

    def start(self) -> PreemptContext:
        if self._started:
            raise RuntimeError("the preemption watcher was started already")
        self._started = True
        if self._dist.rank == 0 or self._preempt_mode is PreemptMode.WorkersAskMaster:
            self._watcher = self._watch()
        return self

    def _watch(self) -> _Watcher | None:
        return _Watcher(self._session, self._allocation_id)

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()

    def __enter__(self) -> PreemptContext:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def should_preempt(self, auto_ack: bool = True) -> bool:
        """True once the cluster or the search has asked this trial to stop: checkpoint, then exit with code 0.

        The first True is acknowledged unless auto_ack is False; acknowledge it yourself then, before exiting.
        """
        if not self._started:
            raise RuntimeError("cannot call should_preempt before start(); enter the core context first")
        answer = self._decide()
        if answer and auto_ack:
            self.acknowledge_preemption_signal()
        return answer

    def _decide(self) -> bool:
        mine = self._asked()
        match self._preempt_mode:
            case PreemptMode.WorkersAskChief:
                return bool(self._dist.broadcast(mine))
            case PreemptMode.ChiefOnly if self._dist.rank != 0:
                raise RuntimeError(
                    f"should_preempt was called from non-chief worker (rank {self._dist.rank}), which "
                    "PreemptMode.ChiefOnly does not allow; call it on rank 0 or choose another mode"
                )
        return mine

    def _asked(self) -> bool:
        """The master's answer to this worker; other workers are not asked."""
        if self._watcher is None:
            return False
        return self._stopped_by_search() or self._watcher.should_preempt()

    def _stopped_by_search(self) -> bool:
        """Only the chief reports validations and gets the decision. When each rank asks the master itself, the master's
        answer includes the decision, and this returns False so that all ranks see it at the same time."""
        each_for_itself = self._preempt_mode is PreemptMode.WorkersAskMaster and self._dist.size > 1
        return not each_for_itself and self._metrics.stopped_by_search()

    def acknowledge_preemption_signal(self) -> None:
        """Report to the master that the task stops, but is not finished. Sent once, by the ranks that ask the master.

        A trial that the search has stopped is finished: nothing is sent, unless the master also wants the slots back.
        """
        if self._acknowledged or self._watcher is None:
            return
        if self._stopped_by_search() and not self._watcher.preempted:
            return
        self._session.post(
            f"/api/v1/allocations/{segment(self._allocation_id)}/signals/ack_preemption",
            {"allocationId": self._allocation_id},
        )
        self._acknowledged = True


class DummyPreemptContext(PreemptContext):
    """Without a cluster, no preemption is requested; the rules of the mode are the same."""

    def __init__(self, dist: DistributedContext, preempt_mode: PreemptMode = PreemptMode.WorkersAskChief) -> None:
        self._dist = dist
        self._preempt_mode = preempt_mode
        self._metrics = _DummyMetricsContext()
        self._watcher = None
        self._started = False
        self._acknowledged = False

    def _watch(self) -> None:
        return None
