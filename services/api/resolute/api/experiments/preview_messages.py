"""The messages about previewing a search."""

from __future__ import annotations

from resolute.api.kernel.common import Id
from resolute.api.kernel.fields import JsonObject, OrAbsent
from resolute.api.kernel.messages import InBody, Input, Message, Request


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
