"""The messages about previews: of a search, and of what a retention policy would delete."""

from __future__ import annotations

from resolute.api.checkpoints.messages import Checkpoint
from resolute.api.kernel.common import Id
from resolute.api.kernel.fields import JsonObject, OrAbsent
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request


class Previewed(Input, wire_name="v1PreviewHPSearchRequest"):
    config: JsonObject | None = None
    """The configuration of an experiment. One without an entrypoint will do: a preview runs nothing."""
    seed: Id = 0
    """0 is the configuration's own."""


class PreviewHPSearch(Request):
    body: InBody[Previewed]


class SearchUnit(Message, wire_name="v1SearchUnit"):
    """How long a trial would train."""

    max_length: bool
    """Whether for the whole of the length that the configuration says; the other fields are left out then."""
    name: OrAbsent[str] = None
    """The unit of the length."""
    value: OrAbsent[int] = None


class TrialSummary(Message, wire_name="v1TrialSummary"):
    count: int
    """How many trials would train for so long."""
    unit: SearchUnit


class SearchSummary(Message, wire_name="v1SearchSummary"):
    config: JsonObject
    """The searcher of the merged configuration."""
    trials: tuple[TrialSummary, ...] = ()


class PreviewAnswer(Message, wire_name="v1PreviewHPSearchResponse"):
    summary: OrAbsent[SearchSummary] = None


class PreviewGC(Request):
    experiment_id: InPath[Id]
    save_experiment_best: InQuery[Id] = 0
    save_trial_best: InQuery[Id] = 0
    save_trial_latest: InQuery[Id] = 0


class PreviewGCAnswer(Message, wire_name="PreviewGCResponse", alias_generator=None):
    checkpoints: tuple[Checkpoint, ...]
    """Those that the policy would delete."""
    metric_name: str
    """The metric by which the best are found."""
