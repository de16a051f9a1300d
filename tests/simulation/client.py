"""Somebody's own search method, driving a custom search from outside: it may die at any time and go on from the log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID

from resolute.proto.errors import ResoluteError
from resolute.proto.experiment import ExperimentEnded, PostOperations, TrialCreated, TrialEnded, TrialTargetReached
from resolute.proto.message import Recorded

if TYPE_CHECKING:
    from tests.simulation.cluster import SimulatedCluster

LOOK_EVERY_S = 2.0


@dataclass(frozen=True)
class Client:
    """Its trials train to `first`, then on and on by doubling; when all have ended it shuts the search down."""

    experiment_id: int
    trials: int
    first: int
    longest: int

    async def drive(self, cluster: SimulatedCluster) -> None:
        """Until the experiment has ended. Nothing is remembered but what the log says."""
        while not any(isinstance(recorded.event, ExperimentEnded) for recorded in self._history(cluster)):
            history = self._history(cluster)
            answered = self._answered(history)
            for operations in self._next(history, answered):
                try:
                    await cluster.ask(PostOperations(self.experiment_id, tuple(operations), history[-1].version))
                except ResoluteError:
                    break  # the world moved on: look again
            await asyncio.sleep(LOOK_EVERY_S)

    def _history(self, cluster: SimulatedCluster) -> list[Recorded]:
        return cluster.log.streams[f"experiment-{self.experiment_id}"]

    @staticmethod
    def _answered(history: Sequence[Recorded]) -> int:
        posted = (getattr(recorded.event, "answers", 0) for recorded in history)
        return max(posted, default=0)

    def _next(self, history: Sequence[Recorded], answered: int) -> list[list[dict[str, Any]]]:
        created = {event.trial_id: event.request_id for event in _of(history, TrialCreated)}
        if not created:
            return [[self._create(n) for n in range(self.trials)]]
        ended = {event.trial_id for event in _of(history, TrialEnded)}
        if len(ended) == self.trials:
            return [[{"type": "shutdown"}]]
        news = [recorded.event for recorded in history if recorded.version > answered]
        reached = {e.trial_id: e.length for e in news if isinstance(e, TrialTargetReached) and e.trial_id not in ended}
        operations = [self._after(created[trial_id], length) for trial_id, length in reached.items()]
        return [operations] if operations else []

    def _create(self, n: int) -> dict[str, Any]:
        request_id = str(UUID(bytes=Random(f"client/{self.experiment_id}/{n}").randbytes(16), version=4))
        hparams = {"lr": 0.1 / (n + 1)}
        return {"type": "create_trial", "request_id": request_id, "hparams": hparams, "length": self.first}

    def _after(self, request_id: str, length: int) -> dict[str, Any]:
        if length >= self.longest:
            return {"type": "close_trial", "request_id": request_id}
        return {"type": "train_to", "request_id": request_id, "length": min(2 * length, self.longest)}


def _of(history: Sequence[Recorded], kind: type[Any]) -> list[Any]:
    return [recorded.event for recorded in history if isinstance(recorded.event, kind)]
