"""The facts about an experiment that retention needs, folded from the experiment's own stream."""

from __future__ import annotations

from dataclasses import dataclass, field

from resolute.proto.checkpoint import ApplyRetention
from resolute.proto.experiment import (
    ExperimentContinued,
    ExperimentCreated,
    ExperimentEdited,
    ExperimentEnded,
    TrialValidated,
)
from resolute.proto.message import Event, Object

COUNTS = ("save_experiment_best", "save_trial_best", "save_trial_latest")


@dataclass(slots=True)
class ExperimentFacts:
    """The facts about one experiment. Only `evolve` changes them."""

    counts: dict[str, int] = field(default_factory=lambda: dict(zip(COUNTS, (0, 1, 1), strict=True)))
    storage: Object = field(default_factory=dict)
    smaller_is_better: bool = True
    source: str | None = None
    """The checkpoint of another experiment that its trials begin from."""
    ended: bool = False
    metrics: dict[tuple[int, int], float | None] = field(default_factory=dict)
    """The searcher's metric by trial and steps; a later report for the same steps replaces the earlier one."""

    def retention(self, experiment_id: int, *, preview: bool = False) -> ApplyRetention:
        """The policy that the experiment's configuration, as edited since, asks for."""
        return ApplyRetention(experiment_id, **self.counts, smaller_is_better=self.smaller_is_better, preview=preview)


def evolve(facts: ExperimentFacts, event: Event) -> ExperimentFacts:
    match event:
        case ExperimentCreated(config=config):
            facts.storage = config.get("checkpoint_storage") or {}
            facts.smaller_is_better = (config.get("searcher") or {}).get("smaller_is_better", True)
            _take_counts(facts, facts.storage)
            facts.source = source_of(event)
        case ExperimentEdited(changes=changes):
            _take_counts(facts, changes)
        case TrialValidated():
            facts.metrics[event.trial_id, event.steps_completed] = event.metric
        case ExperimentContinued(config=config):
            facts.ended = False
            _take_counts(facts, config.get("checkpoint_storage") or {})
        case ExperimentEnded():
            facts.ended = True
    return facts


def source_of(event: ExperimentCreated | ExperimentContinued) -> str | None:
    """The checkpoint that must be kept until the experiment has ended. None for an unmanaged experiment, whose end is
    not recorded."""
    if isinstance(event, ExperimentCreated) and event.unmanaged:
        return None
    uuid: str | None = (event.config.get("searcher") or {}).get("source_checkpoint_uuid")
    return uuid


def _take_counts(facts: ExperimentFacts, given: Object) -> None:
    facts.counts.update({name: given[name] for name in COUNTS if given.get(name) is not None})
