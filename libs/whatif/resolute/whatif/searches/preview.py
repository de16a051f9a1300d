"""A preview of a search: how many trials it would make, and how far each would train."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

from resolute.config import SearcherConfig, count_grid, parse_space
from resolute.proto.errors import InvalidConfig
from resolute.proto.message import Object
from resolute.whatif.searches.play import play

MOST = 10_000
"""The most trials of a preview: it plays every trial, and a longer table would help no reader."""


def preview(config: Mapping[str, Any], seed: int) -> Object:
    """The reply to PreviewSearch: {"unit": str, "trials": [{"count", "length", "full"}]}, the shortest first.

    Metrics are drawn by chance, so how many trials go on at each rung is typical, not promised.
    Raises InvalidConfig for a search that cannot be previewed.
    """
    _check_size(config)
    chance = Random(f"preview/{seed}")
    played = play(config, seed, lambda hparams, share: chance.random())
    lengths = Counter(trial.length for trial in played.trials)
    trials = [
        {"count": count, "length": length, "full": length >= played.full_length}
        for length, count in sorted(lengths.items())
    ]
    return {"unit": played.unit, "trials": trials}


def _check_size(config: Mapping[str, Any]) -> None:
    searcher = SearcherConfig.of(config["searcher"])
    if searcher.name == "custom":
        raise InvalidConfig(
            "searcher.name: only its client knows what a custom search will do; others can be previewed."
        )
    grid = searcher.name == "grid"
    trials = count_grid(parse_space(config.get("hyperparameters") or {})) if grid else searcher.max_trials
    if trials > MOST:
        field = "hyperparameters" if grid else "searcher.max_trials"
        raise InvalidConfig(f"{field}: {trials:,} trials are too many to preview; at most {MOST:,} would do.")
