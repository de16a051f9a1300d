"""Sends metric reports from a thread, in order, so that training does not wait for the network."""

from __future__ import annotations

import logging
import pathlib
import tempfile
import threading
import time
from datetime import UTC, datetime
from typing import Any

from determined import util
from determined.common import api
from determined.core._spool import MEMORY_BYTES, Spool

logger = logging.getLogger("determined.core")


BATCH_REPORTS = 500
BATCH_BYTES = 1 << 20
"""The largest request: large enough that its fixed cost is small, and well below the limits of a gateway."""

DECISION_S = 5.0
"""The longest time that training waits for the decision of the search on a validation. Usually it takes milliseconds.
While the gateway is away, training goes on after this time, and does not wait again until the gateway is back."""


class ReportsRefused(RuntimeError):
    """The gateway refused a metric report of this trial."""


class _MetricsContext:
    """Sends metric reports in order. A report is encoded when it is made, so later changes of its values have no
    effect.

    Reports that are made during a request are sent together in the next one. While the gateway is away, reports are
    kept in memory up to `memory_bytes`, and then on disk under `spool_dir`. The gateway identifies a report by trial,
    run, group and step, so one that is sent again after a lost answer counts once.
    """

    def __init__(
        self,
        session: api.Session,
        trial_id: int,
        run_id: int,
        spool_dir: pathlib.Path | None = None,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        self._session = session
        self._trial_id = trial_id
        self._run_id = run_id
        self._path = f"/api/v1/trials/{trial_id}/metrics"
        self._spool = Spool(spool_dir or pathlib.Path(tempfile.gettempdir()), memory_bytes)
        self._latest: dict[str, bytes] = {}
        self._changed = threading.Condition()
        self._problem: Exception | None = None
        self._sending = False
        self._closing = False
        self._thread: threading.Thread | None = None
        self._reported = self._taken = 0
        self._decided_at = 0
        """The number of reports that the gateway has to accept until the search has decided on the latest
        validation."""
        self._wait_until = 0.0
        self._stopped = False

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="reports", daemon=True)
        self._thread.start()

    def report(
        self,
        group: str,
        steps_completed: int | None,
        metrics: dict[str, Any],
        batch_metrics: list[dict[str, Any]] | None = None,
        report_time: datetime | None = None,
        *,
        decides: bool = False,
    ) -> None:
        """Queue one report. Raises ReportsRefused when an earlier report was refused.

        `decides`: the search may stop the trial by this report, so that `stopped_by_search` waits for the answer.
        """
        contents: dict[str, Any] = {"avgMetrics": metrics}
        if batch_metrics is not None:
            contents["batchMetrics"] = batch_metrics
        report: dict[str, Any] = {"trialId": self._trial_id, "trialRunId": self._run_id, "metrics": contents}
        if steps_completed is not None:
            report["stepsCompleted"] = int(steps_completed)
        moment = report_time or datetime.now(UTC)
        report["reportTime"] = moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        body = util.json_bytes({"metrics": report, "group": group})
        with self._changed:
            self._raise_problem()
            self._spool.append(body)
            self._reported += 1
            if decides:
                self._expect_decision()
            self._changed.notify_all()

    def _expect_decision(self) -> None:
        if self._taken >= self._decided_at:  # otherwise the time of an earlier validation runs: do not wait twice
            self._wait_until = time.monotonic() + DECISION_S
        self._decided_at = self._reported

    def stopped_by_search(self) -> bool:
        """Whether the search has stopped this trial, as of the latest validation that it decides on.

        Waits for the answer to that validation, up to DECISION_S after it was reported.
        """
        with self._changed:
            while not self._stopped and self._problem is None and self._taken < self._decided_at:
                left = self._wait_until - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            return self._stopped

    def report_latest(self, path: str, body: dict[str, Any]) -> None:
        """Send a status or a progress, of which only the newest version matters. A failure is only logged."""
        with self._changed:
            self._latest[path] = util.json_bytes(body)
            self._changed.notify_all()

    def flush(self, timeout_s: float | None = None) -> None:
        """Wait until the gateway has accepted all reports so far. Raises ReportsRefused when one was refused, and
        TimeoutError. Without `timeout_s` this waits for as long as the session tries again."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        with self._changed:
            while self._problem is None and (len(self._spool) or self._latest or self._sending):
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError(f"{len(self._spool)} reports could not be sent in {timeout_s} s")
                self._changed.wait(left)
            self._raise_problem()

    def close(self, flush: bool = True) -> None:
        """Stop the thread, by default after a `flush`; raises as `flush` does."""
        if self._thread is None:
            return
        try:
            if flush:
                self.flush()
        finally:
            with self._changed:
                self._closing = True
                self._changed.notify_all()
            if flush:
                self._thread.join()
            self._thread = None

    def _raise_problem(self) -> None:
        if self._problem is not None:
            raise ReportsRefused(f"metrics could not be reported: {self._problem}") from self._problem

    def _run(self) -> None:
        while (work := self._next()) is not None:
            problem = self._post_latest(*work) if isinstance(work, tuple) else self._send(work)
            with self._changed:
                self._sending = False
                self._problem = problem
                self._changed.notify_all()
                if problem is not None:
                    break
        with self._changed:
            self._spool.close()

    def _next(self) -> tuple[str, bytes] | list[bytes] | None:
        """The newest status, or else the oldest reports; waits until there is something. None after `close`."""
        with self._changed:
            while not (self._closing or self._latest or len(self._spool)):
                self._changed.wait()
            if self._closing:
                return None
            self._sending = True
            if self._latest:
                path = next(iter(self._latest))
                return path, self._latest.pop(path)
            return self._spool.first(BATCH_REPORTS, BATCH_BYTES)

    def _post_latest(self, path: str, body: bytes) -> Exception | None:
        if (problem := self._post(path, body)) is not None:
            logger.warning("POST %s was refused: %s", path, problem)
        return None  # training does not depend on it

    def _send(self, reports: list[bytes]) -> Exception | None:
        """Send `reports`, and remove from the spool those that were answered. Returns the first refusal."""
        together = self._post_together(reports)
        if len(reports) == 1 or not isinstance(together, api.errors.APIException):
            self._drop(len(reports))
            return _logged(together)
        # A batch is accepted as a whole or not at all. Sent one by one, the reports before the refused one are
        # accepted.
        for report in reports:
            problem = self._post(self._path, report)
            self._drop(1)
            if problem is not None:
                return _logged(problem)
        return None

    def _post_together(self, reports: list[bytes]) -> Exception | None:
        if len(reports) == 1:
            return self._post(self._path, reports[0])
        return self._post(f"{self._path}/batch", b'{"reports":[' + b",".join(reports) + b"]}")

    def _drop(self, count: int) -> None:
        with self._changed:
            self._spool.drop(count)
            self._taken += count

    def _post(self, path: str, body: bytes) -> Exception | None:
        try:
            answer = self._session.request("POST", path, body)
        except (api.errors.BadRequestException, api.errors.BadResponseException) as problem:
            return problem
        if isinstance(answer, dict) and answer.get("stop") is True and not self._stopped:
            self._stopped = True
            logger.info("the search stops this trial after the validation that it has just reported")
        return None


def _logged(problem: Exception | None) -> Exception | None:
    if problem is not None:
        logger.error("a metric report was refused: %s", problem)
    return problem


class _DummyMetricsContext(_MetricsContext):
    """Without a cluster, reports are dropped."""

    def __init__(self) -> None:
        self._thread = None

    def start(self) -> None:
        return

    def report(
        self,
        group: str,
        steps_completed: int | None,
        metrics: dict[str, Any],
        batch_metrics: list[dict[str, Any]] | None = None,
        report_time: datetime | None = None,
        *,
        decides: bool = False,
    ) -> None:
        logger.info("%s metrics at step %s: %s", group, steps_completed, util.json_bytes(metrics).decode())

    def stopped_by_search(self) -> bool:
        return False

    def report_latest(self, path: str, body: dict[str, Any]) -> None:
        logger.debug("%s %s", path, body)

    def flush(self, timeout_s: float | None = None) -> None:
        return

    def close(self, flush: bool = True) -> None:
        return
