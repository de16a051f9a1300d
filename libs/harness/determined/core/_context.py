"""The core context: the parts of the Core API for one process, and how they are made."""

from __future__ import annotations

import logging
import os
import pathlib
import tempfile
import types
from typing import Any, Literal

from determined._info import ClusterInfo, get_cluster_info
from determined._invalid_hp import InvalidHP
from determined.common import api, storage
from determined.common.api._retry import ONCE
from determined.core._checkpoint import CheckpointContext, DummyCheckpointContext
from determined.core._distributed import DistributedContext, DummyDistributedContext
from determined.core._experimental import DummyExperimentalCoreContext, ExperimentalCoreContext
from determined.core._given_up import end_process
from determined.core._metrics import _DummyMetricsContext, _MetricsContext
from determined.core._preempt import DummyPreemptContext, PreemptContext, PreemptMode
from determined.core._profiler import DummyProfilerContext, ProfilerContext
from determined.core._searcher import (
    DummySearcherContext,
    SearcherContext,
    SearcherContextMissing,
    Unit,
    parse_max_length,
)
from determined.core._tensorboard_mode import TensorboardMode
from determined.core._train import DummyTrainContext, EarlyExitReason, TrainContext
from determined.errors import InvalidExperimentException
from determined.tensorboard import BatchMetricWriter, EventFileWriter, TensorboardManager, storage_folder

logger = logging.getLogger("determined.core")


class Context:
    """The parts of the Core API; used with `with`. Leaving the block sends the reports that are still unsent.

    When the block raises InvalidHP, on any rank, the search is informed. A single worker then ends with code 0; one of
    several fails, so that the launcher ends the others. When it raises InvalidExperimentException, the cluster does not
    start the trial again.
    """

    def __init__(
        self,
        checkpoint: CheckpointContext,
        _session: api.Session | None = None,
        distributed: DistributedContext | None = None,
        preempt: PreemptContext | None = None,
        train: TrainContext | None = None,
        searcher: SearcherContext | None = None,
        info: ClusterInfo | None = None,
        experimental: ExperimentalCoreContext | None = None,
        profiler: ProfilerContext | None = None,
        _metrics: _MetricsContext | None = None,
        _tensorboard_manager: TensorboardManager | None = None,
        _tensorboard_writer: BatchMetricWriter | None = None,
    ) -> None:
        self.checkpoint = checkpoint
        self.distributed = distributed or DummyDistributedContext()
        self.preempt = preempt or DummyPreemptContext(self.distributed)
        self.train = train or DummyTrainContext()
        self.searcher = searcher or DummySearcherContext(self.distributed)
        self.info = info
        self.experimental = experimental or DummyExperimentalCoreContext()
        self.profiler = profiler or DummyProfilerContext()
        self._session = _session
        self._metrics = _metrics or _DummyMetricsContext()
        self._tensorboard_manager = _tensorboard_manager
        self._tensorboard_writer = _tensorboard_writer

    def start(self) -> None:
        self.preempt.start()
        self._metrics.start()
        if self._tensorboard_manager is not None and self._tensorboard_writer is not None:
            self._tensorboard_manager.before_sync = self._tensorboard_writer.flush
            self._tensorboard_manager.start()

    def __enter__(self) -> Context:
        self.start()
        return self

    def alert(
        self,
        title: str | None = None,
        description: str | None = None,
        level: Literal["warn", "info", "debug", "error"] | None = "info",
    ) -> None:
        """Send an event to the webhooks that listen to this trial.

        An alert that cannot be delivered is a warning in the log: training goes on.
        """
        levels = {"warn": "WARNING", "info": "INFO", "debug": "DEBUG", "error": "ERROR"}
        if level not in (None, *levels):
            raise ValueError(f"level: expected one of {', '.join(levels)}, found {level!r}")
        if self._session is None or self.info is None:
            logger.info("alert: %s: %s", title, description)
            return
        event = {"title": title or "", "description": description or ""}
        event["level"] = f"LOG_LEVEL_{levels[level or 'info']}"
        ids = {"experimentId": self.info.trial.experiment_id, "trialId": self.info.trial.trial_id}
        try:
            self._session.post("/api/v1/webhooks/custom", {**ids, "data": event}, retry=ONCE)
        except (api.errors.BadRequestException, api.errors.BadResponseException) as problem:
            logger.warning("the alert %r was not delivered: %s", title or "", problem)

    def close(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: types.TracebackType | None = None,
    ) -> None:
        """Send the unsent reports, and close all connections. Raises ReportsRefused when a report was refused, unless
        the block has raised another exception."""
        self.preempt.close()
        self.profiler.off()
        try:
            self._metrics.close()
        except RuntimeError:
            if exc_val is None:
                raise
            logger.exception("reports were lost while ending after another error")
        finally:
            self._hang_up()

    def _hang_up(self) -> None:
        self.distributed.close()
        if self._tensorboard_manager is not None:
            self._tensorboard_manager.close()
        if self._tensorboard_writer is not None:
            self._tensorboard_writer.close()
        if self._session is not None:
            self._session.close()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: types.TracebackType | None,
    ) -> None:
        if isinstance(exc_val, InvalidHP):
            logger.info("the trial ends: %s", exc_val)
            self.train.report_early_exit(EarlyExitReason.INVALID_HP)
            if self.distributed.size == 1:
                self.close()
                raise SystemExit(0) from exc_val
            # Other ranks may not have raised it, and wait for this one: when this rank fails, the launcher ends them.
        if isinstance(exc_val, InvalidExperimentException):
            self.train._report_misconfigured()
        self.close(exc_type, exc_val, exc_tb)


def init(
    *,
    distributed: DistributedContext | None = None,
    checkpoint_storage: str | dict[str, Any] | None = None,
    preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    tensorboard_mode: TensorboardMode = TensorboardMode.AUTO,
) -> Context:
    """A core context: connected to the cluster in a trial, and local otherwise.

    `checkpoint_storage` overrides where checkpoints go: a folder, or a `checkpoint_storage` section.
    """
    info = get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        return _alone(info, distributed, checkpoint_storage, preempt_mode)
    return _in_trial(info, distributed, checkpoint_storage, preempt_mode, tensorboard_mode)


def _alone(
    info: ClusterInfo | None,
    distributed: DistributedContext | None,
    checkpoint_storage: str | dict[str, Any] | None,
    preempt_mode: PreemptMode,
) -> Context:
    distributed = distributed or DummyDistributedContext()
    place = storage.build(checkpoint_storage or str(storage.default_root()))
    return Context(
        checkpoint=DummyCheckpointContext(distributed, place),
        distributed=distributed,
        preempt=DummyPreemptContext(distributed, preempt_mode),
        info=info,
    )


def _in_trial(
    info: ClusterInfo,
    distributed: DistributedContext | None,
    checkpoint_storage: str | dict[str, Any] | None,
    preempt_mode: PreemptMode,
    tensorboard_mode: TensorboardMode,
) -> Context:
    distributed = distributed or _single_worker(info)
    trial = info.trial
    session = api.Session(
        info.master_url,
        info.session_token,
        cert_file=info.master_cert_file,
        cert_name=info.master_cert_name,
        on_given_up=end_process,
    )
    section = checkpoint_storage or trial._config.get("checkpoint_storage")
    if not section:
        raise ValueError("checkpoint_storage: the experiment's configuration says nowhere to keep checkpoints")
    place = storage.build(section)
    metrics = _MetricsContext(session, trial.trial_id, trial._trial_run_id, _own_folder() / "spool")
    manager, writer = _tensorboard(info, place, distributed, tensorboard_mode)
    checkpoint = CheckpointContext(
        distributed,
        place,
        session,
        info.task_id,
        info.allocation_id,
        tensorboard_mode,
        manager,
        _register_run(session, trial.trial_id, section, distributed),
        metrics=metrics,
    )
    train = TrainContext(
        session,
        trial.trial_id,
        trial.experiment_id,
        metrics,
        distributed,
        tensorboard_mode,
        manager,
        writer if distributed.rank == 0 else None,
        trial._config.get("searcher"),
    )
    preempt = PreemptContext(session, info.allocation_id, distributed, preempt_mode, metrics=metrics)
    return Context(
        checkpoint=checkpoint,
        _session=session,
        distributed=distributed,
        preempt=preempt,
        train=train,
        searcher=_searcher(session, distributed, info, preempt, metrics),
        info=info,
        experimental=ExperimentalCoreContext(session, trial.trial_id),
        profiler=ProfilerContext(info.agent_id, metrics, distributed),
        _metrics=metrics,
        _tensorboard_manager=manager,
        _tensorboard_writer=writer,
    )


def _single_worker(info: ClusterInfo) -> DistributedContext:
    slots = sum(info.container_slot_counts)
    if slots > 1:
        raise ValueError(
            f"this trial has {slots} slots, so core.init() needs a DistributedContext that says which worker "
            "this is; start the workers with a launcher such as determined.launch.torch_distributed and pass "
            "distributed=core.DistributedContext.from_torch_distributed()"
        )
    return DummyDistributedContext()


def _register_run(
    session: api.Session, run_id: int, section: str | dict[str, Any], distributed: DistributedContext
) -> int | None:
    """Report the checkpoint storage of this run to the master. Returns the master's id of the storage."""
    if distributed.rank != 0:
        return None
    body: dict[str, Any] = {"runId": run_id}
    if isinstance(section, dict):
        body["checkpointStorage"] = section
    storage_id = session.post("/api/v1/runs/start", body).get("storageId")
    return None if storage_id is None else int(storage_id)


def _tensorboard(
    info: ClusterInfo,
    place: storage.StorageManager,
    distributed: DistributedContext,
    mode: TensorboardMode,
) -> tuple[TensorboardManager, BatchMetricWriter | None]:
    target = storage_folder(info.cluster_id, info.trial.experiment_id, info.trial.trial_id)
    base = _own_folder() / f"tensorboard-{info.allocation_id}-{distributed.rank}"
    manager = TensorboardManager(base, place, target, distributed.rank)
    writer = BatchMetricWriter(EventFileWriter(base)) if mode is TensorboardMode.AUTO else None
    return manager, writer


def _searcher(
    session: api.Session,
    distributed: DistributedContext,
    info: ClusterInfo,
    preempt: PreemptContext,
    metrics: _MetricsContext,
) -> SearcherContext:
    searcher = info.trial._config.get("searcher") or {}
    length: int | None
    units: Unit | None
    if searcher.get("name") == "custom":
        length, units = None, Unit[str(searcher.get("unit") or "batches").upper()]
    elif (parsed := parse_max_length(searcher.get("max_length"))) is not None:
        length, units = parsed
    else:
        return SearcherContextMissing()
    return SearcherContext(session, distributed, info.trial.trial_id, length, units, preempt=preempt, metrics=metrics)


def _own_folder() -> pathlib.Path:
    """The folder of the task, which is removed with the task; off the cluster the folder for temporary files."""
    return pathlib.Path(os.environ.get("DET_RUN_DIR") or tempfile.gettempdir())
