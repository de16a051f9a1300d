"""Random search: points drawn from the space independently, `max_concurrent_trials` of them in training at once.

A trial that reports its point as invalid is replaced by a fresh one and does not count; but a space in which hardly
any point is valid does not keep the cluster busy for ever. Random search as a baseline worth having: Bergstra and
Bengio, JMLR 13 (2012).
"""

from __future__ import annotations

from resolute.search.methods.method import REPLACED_MOST, CreateTrial, draw_trial
from resolute.search.methods.parallel import ParallelSearch
from resolute.search.settings import Settings


class RandomSearch(ParallelSearch):
    def __init__(self, settings: Settings, seed: int) -> None:
        super().__init__(settings, settings.searcher.max_trials)
        self._seed = seed
        self.replaced_most = max(REPLACED_MOST, 10 * self._trials)

    def _draw(self, index: int) -> CreateTrial:
        return draw_trial(self._settings, self._seed, index, self._settings.max_target)
