"""Grid search: every point of a grid over the space, in order, `max_concurrent_trials` of them in training at once.

A point that a trial reports as invalid is left out; there is no other to take its place.
"""

from __future__ import annotations

from resolute.config import count_grid, grid_point
from resolute.search import derive
from resolute.search.methods.method import CreateTrial
from resolute.search.methods.parallel import ParallelSearch
from resolute.search.settings import Settings


class GridSearch(ParallelSearch):
    def __init__(self, settings: Settings, seed: int) -> None:
        super().__init__(settings, count_grid(settings.space))
        self._seed = seed

    def _draw(self, index: int) -> CreateTrial:
        return CreateTrial(
            request_id=derive.request_id(self._seed, index),
            hparams=grid_point(self._settings.space, index),
            seed=derive.trial_seed(self._seed, index),
            target=self._settings.max_target,
        )
