"""What webhooks are told about an experiment, folded from its stream: its name, its place, its state, its times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from resolute.proto.experiment import (
    ExperimentActivated,
    ExperimentContinued,
    ExperimentCreated,
    ExperimentDeleted,
    ExperimentDeletionFailed,
    ExperimentDeletionRequested,
    ExperimentEdited,
    ExperimentEnded,
    ExperimentMoved,
    ExperimentPaused,
    ExperimentStopping,
    TrialCreated,
)
from resolute.proto.message import Event, Object
from resolute.proto.states import ExperimentState, stopping


@dataclass(slots=True)
class ExperimentFacts:
    """Owned by the fold that grows it."""

    experiment_id: int = 0
    name: str = ""
    project_id: int = 0
    state: str = ExperimentState.ABSENT
    resource_pool: str = ""
    slots_per_trial: int = 0
    unmanaged: bool = False
    integrations: Object = field(default_factory=dict)
    """`integrations.webhooks` of the configuration."""
    trials: set[int] = field(default_factory=set)


def state_after(event: Event) -> str | None:
    """The state that the event brings an experiment to; None for an event that changes no state."""
    match event:
        case ExperimentActivated() | ExperimentContinued():
            return ExperimentState.ACTIVE
        case ExperimentPaused():
            return ExperimentState.PAUSED
        case ExperimentStopping(outcome=outcome):
            return stopping(outcome)
        case ExperimentEnded(outcome=outcome):
            return outcome
        case ExperimentDeletionRequested():
            return ExperimentState.DELETING
        case ExperimentDeletionFailed():
            return ExperimentState.DELETE_FAILED
        case ExperimentDeleted():
            return ExperimentState.DELETED
    return None


def evolve(facts: ExperimentFacts, event: Event) -> ExperimentFacts:
    if (state := state_after(event)) is not None:
        facts.state = state
    match event:
        case ExperimentCreated():
            facts.experiment_id, facts.project_id = event.experiment_id, event.project_id
            facts.unmanaged, facts.state = event.unmanaged, ExperimentState.PAUSED
            _configured(facts, event.config, event.name)
        case ExperimentContinued(config=config):
            _configured(facts, config, config.get("name") or facts.name)
        case ExperimentEdited(changes=changes):
            facts.name = changes.get("name") or facts.name
            facts.resource_pool = changes.get("resource_pool") or facts.resource_pool
        case ExperimentMoved(project_id=project_id):
            facts.project_id = project_id
        case TrialCreated(trial_id=trial_id):
            facts.trials.add(trial_id)
    return facts


def _configured(facts: ExperimentFacts, config: Mapping[str, Any], name: str) -> None:
    resources = config.get("resources") or {}
    facts.name = name
    facts.resource_pool = resources.get("resource_pool") or ""
    facts.slots_per_trial = int(resources.get("slots_per_trial") or 0)
    facts.integrations = (config.get("integrations") or {}).get("webhooks") or {}
