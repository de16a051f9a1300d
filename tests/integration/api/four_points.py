"""A custom search of four points, for a test to run and to kill: python four_points.py DIR CONFIG."""

from __future__ import annotations

import json
import pathlib
import sys
import uuid

from determined.searcher import (
    Close,
    Create,
    ExitedReason,
    LocalSearchRunner,
    Operation,
    SearcherState,
    SearchMethod,
    Shutdown,
    ValidateAfter,
)

POINTS = 4


class FourPoints(SearchMethod):
    """Two trials at once; each trains to 10, and on to 20 when it did well."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.made = 0

    def _trial(self) -> list[Operation]:
        self.made += 1
        name = uuid.uuid4()
        return [Create(name, {"lr": 0.1 * self.made}), ValidateAfter(name, 10)]

    def _next(self, state: SearcherState) -> list[Operation]:
        if self.made < POINTS:
            return self._trial()
        return [Shutdown()] if len(state.trials_closed) == POINTS else []

    def _note(self, what: str) -> None:
        self.heard.append(what)
        print(what, flush=True)

    def initial_operations(self, searcher_state: SearcherState) -> list[Operation]:
        self._note("initial")
        return [*self._trial(), *self._trial()]

    def on_trial_created(self, searcher_state: SearcherState, request_id: uuid.UUID) -> list[Operation]:
        self._note(f"created {request_id}")
        return []

    def on_validation_completed(
        self, searcher_state: SearcherState, request_id: uuid.UUID, metric: float, train_length: int
    ) -> list[Operation]:
        self._note(f"validated {request_id} {train_length}")
        further = train_length == 10 and metric < 0.5
        return [ValidateAfter(request_id, 20)] if further else [Close(request_id)]

    def on_trial_closed(self, searcher_state: SearcherState, request_id: uuid.UUID) -> list[Operation]:
        self._note(f"closed {request_id}")
        return self._next(searcher_state)

    def on_trial_exited_early(
        self, searcher_state: SearcherState, request_id: uuid.UUID, exited_reason: ExitedReason
    ) -> list[Operation]:
        self._note(f"exited {request_id} {exited_reason.name}")
        return self._next(searcher_state)

    def progress(self, searcher_state: SearcherState) -> float:
        return len(searcher_state.trials_closed) / POINTS

    def save_method_state(self, path: pathlib.Path) -> None:
        (path / "method.json").write_text(json.dumps({"heard": self.heard, "made": self.made}))

    def load_method_state(self, path: pathlib.Path) -> None:
        found = json.loads((path / "method.json").read_text())
        self.heard, self.made = found["heard"], found["made"]


if __name__ == "__main__":
    folder, config = map(pathlib.Path, sys.argv[1:])
    LocalSearchRunner(FourPoints(), folder).run(config)
    print("over", flush=True)
