"""How a halving search is divided into brackets: which ladders, with how many trials each, how many at once.

A bracket with many rungs stops trials early and can afford many; one with few gives each the time to show itself.
Several at once hedge between the two, as Hyperband does (Li et al., JMLR 18, 2018; arXiv:1603.06560).

The outcome is recorded when an experiment is created. Only searches of releases that did not record it are divided
again whenever they are folded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from resolute.config import OPEN_TRIALS_MAX, SearcherConfig, most_apart, most_rungs, rung_lengths
from resolute.proto.experiment import SearchBracket


def divide(searcher: SearcherConfig) -> tuple[SearchBracket, ...]:
    """The brackets of a search by `async_halving`, which has one, or by `adaptive_asha`."""
    if searcher.name == "async_halving":
        assert searcher.num_rungs is not None, "checked at submission"
        fills = int(max(min(searcher.divisor ** (searcher.num_rungs - 1), searcher.max_trials), 1))
        at_once = searcher.max_concurrent_trials or fills
        return (_bracket(searcher, searcher.num_rungs, searcher.max_trials, at_once),)
    rungs = bracket_rungs(searcher)
    trials = bracket_trials(rungs, searcher.max_trials, searcher.divisor)
    at_once_each = bracket_concurrency(trials, searcher.max_concurrent_trials, searcher.divisor)
    return tuple(_bracket(searcher, *each) for each in zip(rungs, trials, at_once_each, strict=True))


def _bracket(searcher: SearcherConfig, rungs: int, max_trials: int, at_once: int) -> SearchBracket:
    assert searcher.longest is not None, "a halving search has a longest length"
    lengths = tuple(rung_lengths(searcher.longest, searcher.divisor, rungs))
    return SearchBracket(lengths, max_trials, min(at_once, OPEN_TRIALS_MAX))


def bracket_rungs(searcher: SearcherConfig) -> list[int]:
    """The number of rungs of each bracket, the largest first. Where there are fewer trials than brackets, the smallest
    have none, and are left out."""
    if searcher.bracket_rungs:
        return sorted(searcher.bracket_rungs, reverse=True)
    assert searcher.longest is not None, "a halving search has a longest length"
    fit = (most_rungs(total, searcher.divisor, searcher.max_rungs) for total in (searcher.longest, searcher.max_trials))
    most = most_apart(searcher.longest, searcher.divisor, min(fit))
    return list(range(most, _BELOW[searcher.mode](most), -1))[: searcher.max_trials]


_BELOW: Mapping[str, Callable[[int], int]] = {
    "aggressive": lambda most: most - 1,
    "standard": lambda most: (most - 1) // 2,
    "conservative": lambda most: 0,
}
"""By mode: brackets go down to the number of rungs above this one."""


def bracket_trials(rungs: Sequence[int], max_trials: int, divisor: float) -> list[int]:
    """The trials of each bracket: about the same training for each, at least one, `max_trials` in all.

    A bracket of r rungs has a share of divisor^(r-1) / r, rounded down; the first takes what is left over, and the
    largest give up what the smallest have beyond their share.
    """
    weights = [divisor ** (count - 1) / count for count in rungs]
    trials = [max(int(weight / sum(weights) * max_trials), 1) for weight in weights]
    trials[0] += max(max_trials - sum(trials), 0)
    while sum(trials) > max_trials and max(trials) > 1:
        trials[trials.index(max(trials))] -= 1
    return trials


def bracket_concurrency(trials: Sequence[int], max_concurrent_trials: int, divisor: float) -> list[int]:
    """How many trials each bracket has in training at once: an even split, what is left over to the first, and never
    none. With no limit, as many as the last bracket has trials, or `divisor`."""
    if not max_concurrent_trials:
        return [max(trials[-1], int(divisor))] * len(trials)
    each, left = divmod(max_concurrent_trials, len(trials))
    return [max(each + (place < left), 1) for place in range(len(trials))]
