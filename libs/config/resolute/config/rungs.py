"""Rungs: the lengths at which a halving search compares its trials, each `divisor` times as long as the one before."""

from __future__ import annotations

from itertools import pairwise


def rung_lengths(longest: int, divisor: float, rungs: int) -> list[int]:
    """From the lowest rung to the top one, which is at `longest`; none is below 1.

    Rung i of n is at longest / divisor^(n-1-i), rounded down.
    """
    return [max(int(longest / divisor ** (rungs - 1 - i)), 1) for i in range(rungs)]


def most_rungs(total: float, divisor: float, limit: int) -> int:
    """floor(log_divisor(total)) + 1, by multiplication, so that no logarithm is a hair too small; at most `limit`."""
    rungs, reach = 1, divisor
    while rungs < limit and reach <= total:
        rungs, reach = rungs + 1, reach * divisor
    return rungs


def most_apart(longest: int, divisor: float, rungs: int) -> int:
    """`rungs`, or as many fewer as it takes for each to be further up than the one below.

    Fewer rungs are the same from the top down: so only the lowest are too many.
    """
    downwards = pairwise(reversed(rung_lengths(longest, divisor, rungs)))
    return next((count for count, (upper, lower) in enumerate(downwards, 1) if lower >= upper), rungs)
