"""A task as it runs on a host: it trains in steps, validates, checkpoints, gives way when asked, and sometimes fails.

It speaks to the cluster as the harness does: through a gateway, trying again until it is answered.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from resolute.proto.checkpoint import AnnounceCheckpoint, CompleteCheckpoint
from resolute.proto.errors import ResoluteError
from resolute.proto.experiment import ReportEarlyExit, ReportValidation
from resolute.proto.message import Command, Reply
from resolute.proto.pool import AcknowledgePreemption, StartTask

LENGTH = 100
UNIT = 10
VALIDATE_EVERY = 20
CHECKPOINT_EVERY = 30


@dataclass(frozen=True)
class Temper:
    """How trials behave."""

    fail: float = 0.0
    """The chance of a crash in each unit of training."""
    invalid: float = 0.0
    """The share of hyperparameters that trials refuse."""
    stubborn: float = 0.0
    """The share of runs that do not listen when they are asked to give way."""
    unit_s: float = 2.0


@dataclass
class Diary:
    """What really happened on the hosts, to be held against what the log says."""

    started: list[str] = field(default_factory=list)
    """resources_ids, once for each start of a process."""
    completed: dict[int, int] = field(default_factory=dict)
    """Steps at a clean exit, by trial."""
    missed: set[str] = field(default_factory=set)
    """Checkpoints that a run was told to resume from, and found gone."""
    _chiefs: dict[str, asyncio.Future[int]] = field(default_factory=dict)

    def exit_of_chief(self, allocation_id: str) -> asyncio.Future[int]:
        """The exit code, once it is known: the other ranks of a gang end with their chief."""
        return self._chiefs.setdefault(allocation_id, asyncio.get_running_loop().create_future())


@dataclass
class Training:
    order: StartTask
    temper: Temper
    call: Callable[[Command], Awaitable[Reply]]
    """Ask the gateway, patiently; raises what the cluster answered."""
    preempting: Callable[[str], bool]
    diary: Diary
    steps: int = 0
    saved_at: int = -1

    def __post_init__(self) -> None:
        self.spec = self.order.spec
        self.rng = Random(f"training/{self.spec.allocation_id}")
        self.stubborn = self.rng.random() < self.temper.stubborn

    async def run(self) -> tuple[int, str]:
        """The exit code, and the last line."""
        if self.order.rank > 0:
            return await asyncio.shield(self._chief), f"rank {self.order.rank} ends with its chief"
        code, line = await self._train()
        if not self._chief.done():
            self._chief.set_result(code)
        return code, line

    @property
    def _chief(self) -> asyncio.Future[int]:
        return self.diary.exit_of_chief(self.spec.allocation_id)

    async def _train(self) -> tuple[int, str]:
        try:
            self.steps = self.saved_at = self._restore()
        except FileNotFoundError:
            self.diary.missed.add(self.spec.checkpoint or "")
            return 1, f"FileNotFoundError: checkpoint {self.spec.checkpoint}"
        if self._refuses_hparams():
            await self._tell(ReportEarlyExit(self._experiment, self._trial, "INVALID_HP"))
            return 0, "invalid hyperparameters"
        while self.steps < LENGTH:
            await asyncio.sleep(self.temper.unit_s * self.rng.uniform(0.5, 1.5))
            if self.rng.random() < self.temper.fail:
                return 1, "RuntimeError: the loss is on fire"
            self.steps += UNIT
            await self._report()
            if not self.stubborn and self.preempting(self.spec.allocation_id):
                return await self._yield()
        await self._checkpoint()
        self.diary.completed[self._trial] = self.steps
        return 0, ""

    @property
    def _trial(self) -> int:
        assert self.spec.trial_id is not None
        return self.spec.trial_id

    @property
    def _experiment(self) -> int:
        assert self.spec.experiment_id is not None
        return self.spec.experiment_id

    async def _report(self) -> None:
        if self.steps % VALIDATE_EVERY == 0:
            metric = 1 / (1 + self.steps * self.spec.hparams["lr"])
            await self._tell(ReportValidation(self._experiment, self._trial, self.spec.run_id, self.steps, metric))
        if self.steps % CHECKPOINT_EVERY == 0:
            await self._checkpoint()

    async def _yield(self) -> tuple[int, str]:
        await self._tell(AcknowledgePreemption("default", self.spec.allocation_id))
        await self._checkpoint()
        return 0, ""

    async def _checkpoint(self) -> None:
        if self.saved_at == self.steps:
            return
        about: dict[str, Any] = {
            "uuid": str(UUID(bytes=self.rng.randbytes(16), version=4)),
            "experiment_id": self._experiment,
            "trial_id": self._trial,
            "task_id": self.spec.task_id,
            "allocation_id": self.spec.allocation_id,
            "storage": self._storage,
        }
        if not await self._tell(AnnounceCheckpoint(**about)):
            return
        await asyncio.sleep(self.rng.uniform(0, self.temper.unit_s / 4))
        path = self._path(about["uuid"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(self.steps))
        done = CompleteCheckpoint(
            **about,
            run_id=self.spec.run_id,
            steps_completed=self.steps,
            resources={"model": path.stat().st_size},
            metadata={"steps_completed": self.steps},
        )
        if await self._tell(done):
            self.saved_at = self.steps

    def _restore(self) -> int:
        """A checkpoint that was offered must be there, and whole."""
        if self.spec.checkpoint is None:
            return 0
        steps = int(self._path(self.spec.checkpoint).read_text())
        assert steps == self.spec.steps_completed, f"{self.spec.checkpoint} holds {steps} steps, not {self.spec}"
        return steps

    def _path(self, uuid: str) -> Path:
        return Path(self._storage["host_path"]) / uuid / "model"

    @property
    def _storage(self) -> dict[str, str]:
        storage: dict[str, str] = self.spec.config["checkpoint_storage"]
        return storage

    def _refuses_hparams(self) -> bool:
        digest = hashlib.sha256(repr(self.spec.hparams).encode()).digest()
        return digest[0] < 256 * self.temper.invalid

    async def _tell(self, command: Command) -> bool:
        """Whether it was granted. A refusal is for the log file: training goes on."""
        try:
            await self.call(command)
        except ResoluteError:
            return False
        return True
