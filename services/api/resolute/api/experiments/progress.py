"""How far an experiment has come, as a number from 0 to 1."""

from __future__ import annotations

from resolute.proto.states import ExperimentState


def progress_of(
    *, state: str, of_search: float | None, of_trials: float | None, trials: int, max_trials: str | None
) -> float | None:
    """The mean progress of all the trials there will be, or what the search says itself; 1 once it has completed.

    `of_trials`: the sum of what its trials report; `max_trials`: as the configuration has it.
    """
    if state == ExperimentState.COMPLETED:
        return 1.0
    if of_search is not None:
        return of_search
    if of_trials is None:
        return None
    return min(of_trials / max(int(max_trials or 1), trials, 1), 1.0)
