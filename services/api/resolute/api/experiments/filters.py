"""The states that lists of experiments and actions on many are filtered by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from resolute.api.experiments import messages
from resolute.api.kernel.listing import state_names
from resolute.api.shown_states import Phase
from resolute.proto.states import ExperimentState

STATES = (*(state for state in ExperimentState if state is not ExperimentState.ABSENT), *Phase)
"""Every state that a filter may name."""


def kept_states(asked: Iterable[messages.ExperimentState]) -> Sequence[str]:
    """The states that experiments are kept under: how far an active one has come is not among them. Raises
    InvalidConfig for STATE_UNSPECIFIED."""
    names = state_names([state.value for state in asked], STATES)
    return sorted({ExperimentState.ACTIVE if name in tuple(Phase) else name for name in names})
