"""A task as it runs on a host: it trains in steps, validates, checkpoints, gives way when asked, and sometimes fails.

It speaks to the cluster as the harness does: over the gateway's routes, with its token, patiently.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

from resolute.proto.errors import ResoluteError
from resolute.proto.experiment import ReportLogPolicyMatch
from resolute.proto.pool import StartTask
from tests.simulation.disk import Disk
from tests.simulation.gateway import Doorway

LENGTH = 100
UNIT = 10
VALIDATE_EVERY = 20
CHECKPOINT_EVERY = 30
LONG_POLL_S = 60
GAVE_WAY = "it gave way"


@dataclass(frozen=True)
class Temper:
    """How trials behave."""

    fail: float = 0.0
    """The chance of a crash in each unit of training."""
    invalid: float = 0.0
    """The share of hyperparameters that trials refuse."""
    stubborn: float = 0.0
    """The share of runs that do not listen when they are asked to give way."""
    slow: float = 0.0
    """The share of checkpoints that take longer than anybody waits."""
    nan: float = 0.0
    """The share of validations that give no number."""
    unit_s: float = 2.0


@dataclass
class Diary:
    """What really happened on the hosts, to be held against what the log says."""

    started: list[str] = field(default_factory=list)
    """resources_ids, once for each start of a process."""
    missed: set[str] = field(default_factory=set)
    """Checkpoints that a run was told to resume from, and found gone."""
    trained: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    """By trial and run: the steps it began with, and those it came to."""
    _chiefs: dict[str, asyncio.Future[int]] = field(default_factory=dict)

    def exit_of_chief(self, allocation_id: str) -> asyncio.Future[int]:
        """The exit code, once it is known: the other ranks of a gang end with their chief."""
        return self._chiefs.setdefault(allocation_id, asyncio.get_running_loop().create_future())


@dataclass
class Training:
    order: StartTask
    temper: Temper
    doorway: Doorway
    diary: Diary
    disk: Disk
    steps: int = 0
    saved_at: int = -1
    preempted: bool = False
    stopped: bool = False
    """By its search, as the answer to a validation said."""

    def __post_init__(self) -> None:
        self.spec = self.order.spec
        self.longest = int((self.spec.config["searcher"].get("max_length") or {"batches": LENGTH})["batches"])
        self.rng = Random(f"training/{self.spec.allocation_id}")
        self.stubborn = self.rng.random() < self.temper.stubborn

    async def run(self) -> tuple[int, str]:
        """The exit code, and the last line."""
        if not await self._meet():
            return 1, "the others did not come"
        if self.order.rank > 0:
            return await asyncio.shield(self._chief), f"rank {self.order.rank} ends with its chief"
        watching = asyncio.create_task(self._watch())
        try:
            code, line = await self._train()
        finally:
            watching.cancel()
        if not self._chief.done():
            self._chief.set_result(code)
        return code, line

    @property
    def _chief(self) -> asyncio.Future[int]:
        return self.diary.exit_of_chief(self.spec.allocation_id)

    async def _meet(self) -> bool:
        """All shares begin together, and know of each other."""
        met = await self._call(
            "AllocationRendezvousInfo",
            allocationId=self.spec.allocation_id,
            resourcesId=self.order.placement.resources_id,
        )
        if met is None:
            return False
        info = met["rendezvousInfo"]
        assert info["rank"] == self.order.rank, f"{self.spec.allocation_id}: rank {self.order.rank} is told {info}"
        assert all(info["addresses"]), f"{self.spec.allocation_id}: {info}"
        return True

    async def _watch(self) -> None:
        """As the harness does: a long poll is kept open until the answer is yes."""
        timeout_s = 0
        while not self.preempted:
            answer = await self._call(
                "AllocationPreemptionSignal",
                query={"timeoutSeconds": str(timeout_s)},
                allocationId=self.spec.allocation_id,
            )
            self.preempted = answer is not None and answer["preempt"]
            timeout_s = LONG_POLL_S
            if answer is None:
                return

    async def _train(self) -> tuple[int, str]:
        try:
            self.steps = self.saved_at = self._restore()
        except FileNotFoundError:
            self.diary.missed.add(self.spec.checkpoint or "")
            return 1, f"FileNotFoundError: checkpoint {self.spec.checkpoint}"
        self.diary.trained.setdefault((self._trial, self.spec.run_id), [self.steps, self.steps])
        if self._refuses_hparams():
            reason = {"reason": "EXITED_REASON_INVALID_HP"}
            await self._call("ReportTrialSearcherEarlyExit", reason, trialId=self._trial)
            return 0, "invalid hyperparameters"
        async for length in self._lengths():
            if (line := await self._train_to(length)) is not None:
                return (0, line) if line == GAVE_WAY else (1, line)
            if length == self.spec.target or self._follows:
                await self._complete(length)
        if self.preempted and not self.stubborn:
            await self._yield()
        else:
            await self._checkpoint()
        return 0, ""

    @property
    def _follows(self) -> bool:
        """Whether it asks its search how far to train, as what is written for searches does; or else it trains as far
        as its configuration says, and is stopped when that is too far."""
        return bool((self.spec.config.get("data") or {}).get("follows")) and self.spec.target is not None

    async def _lengths(self) -> AsyncIterator[int]:
        """How far to train, time after time."""
        if not self._follows:
            yield self.longest
            return
        done = 0
        while not ((self.preempted or self.stopped) and not self.stubborn):
            query = {"after": str(done), "timeoutSeconds": str(LONG_POLL_S)}
            answer = await self._call("GetCurrentTrialSearcherOperation", query=query, trialId=self._trial)
            if answer is None:
                return
            length = int(((answer.get("op") or {}).get("validateAfter") or {}).get("length") or 0)
            self.preempted = self.preempted or answer["preempt"]
            if length > done and not answer["completed"] and not answer["preempt"]:
                yield length
                done = length
            elif answer["finished"]:
                return
            else:
                await asyncio.sleep(1.0)

    async def _train_to(self, length: int) -> str | None:
        """None when it came so far; or else why not."""
        trained = self.diary.trained[self._trial, self.spec.run_id]
        while self.steps < length:
            await asyncio.sleep(self.temper.unit_s * self.rng.uniform(0.5, 1.5))
            if self.rng.random() < self.temper.fail:
                await self._print_what_a_policy_is_about()
                return "RuntimeError: the loss is on fire"
            self.steps = min(self.steps + UNIT, length)
            trained[1] = self.steps
            await self._report(at_the_end=self.steps == length)
            if not self.stubborn and self.stopped:
                await self._checkpoint()
                return GAVE_WAY
            if not self.stubborn and self.preempted:
                await self._yield()
                return GAVE_WAY
        return None

    async def _print_what_a_policy_is_about(self) -> None:
        """As if a gateway had read the line among those that the agent ships. One node at most is left out."""
        action, agent = (self.spec.config.get("data") or {}).get("policy"), self.order.placement.agent_id
        assert self.spec.experiment_id is not None
        if action is None or (action == "exclude_node" and agent != "host-0"):
            return
        found = (self.spec.run_id, "fire", "on fire", action, "RuntimeError: the loss is on fire", agent)
        with suppress(ResoluteError):
            await self.doorway.wish(
                ReportLogPolicyMatch(self.spec.experiment_id, self._trial, *found),
                "ada",
                f"match/{self.spec.allocation_id}",
            )

    async def _complete(self, length: int) -> None:
        if self.spec.target is not None:
            body = {"op": {"length": str(length)}, "searcherMetric": self._metric()}
            await self._call("CompleteTrialSearcherValidation", body, trialId=self._trial)

    @property
    def _trial(self) -> int:
        assert self.spec.trial_id is not None
        return self.spec.trial_id

    async def _report(self, at_the_end: bool) -> None:
        await self._metrics("training", {"loss": 1 / self.steps})
        if self.steps % VALIDATE_EVERY == 0 or at_the_end:
            nan = self.rng.random() < self.temper.nan
            await self._metrics("validation", {"loss": "NaN" if nan else self._metric(), "epochs": self.steps // UNIT})
        if self.steps % CHECKPOINT_EVERY == 0:
            await self._checkpoint()

    def _metric(self) -> float:
        return 1 / (1 + self.steps * float(self.spec.hparams["lr"]))

    async def _metrics(self, group: str, values: dict[str, Any]) -> None:
        report = {
            "trialId": self._trial,
            "trialRunId": self.spec.run_id,
            "stepsCompleted": self.steps,
            "metrics": {"avgMetrics": values},
        }
        body = {"metrics": report, "group": group}
        answer = await self._call("ReportTrialMetrics", body, metrics_trialId=self._trial)
        self.stopped = self.stopped or bool(answer and answer.get("stop"))

    async def _yield(self) -> None:
        await self._call("AckAllocationPreemptionSignal", {}, allocationId=self.spec.allocation_id)
        await self._checkpoint()

    async def _checkpoint(self) -> None:
        if self.saved_at == self.steps:
            return
        uuid = str(UUID(bytes=self.rng.randbytes(16), version=4))
        about = {"uuid": uuid, "taskId": self.spec.task_id, "allocationId": self.spec.allocation_id}
        if await self._call("ReportCheckpoint", {**about, "state": "STATE_ACTIVE"}) is None:
            return
        slow = self.rng.random() < self.temper.slow
        await asyncio.sleep(self.rng.uniform(20, 40) if slow else self.rng.uniform(0, self.temper.unit_s / 4))
        resources = self.disk.write(uuid, model=str(self.steps), notes=f"of {self.spec.allocation_id}")
        whole = {"resources": resources, "metadata": {"steps_completed": self.steps}}
        if await self._call("ReportCheckpoint", {**about, **whole, "state": "STATE_COMPLETED"}) is not None:
            self.saved_at = self.steps

    def _restore(self) -> int:
        """A checkpoint that was offered must be there, and whole."""
        if self.spec.checkpoint is None:
            return 0
        steps = int(self.disk.read(self.spec.checkpoint, "model"))
        assert steps == self.spec.steps_completed, f"{self.spec.checkpoint} holds {steps} steps, not {self.spec}"
        return steps

    def _refuses_hparams(self) -> bool:
        digest = hashlib.sha256(repr(self.spec.hparams).encode()).digest()
        return digest[0] < 256 * self.temper.invalid

    async def _call(
        self, operation: str, body: dict[str, Any] | None = None, query: dict[str, str] | None = None, **path: Any
    ) -> dict[str, Any] | None:
        """None when it was refused: that is for the log file, and training goes on."""
        try:
            return await self.doorway.call(operation, self.order.token, body or {}, query=query, **path)
        except ResoluteError:
            return None
