"""Changes of an experiment that several people make at once: whatever their order, each of them is in the outcome.

A person's request takes two steps: the gateway reads what it needs, and the searcher decides later. Between the two
any number of other requests may be decided.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from resolute.api.experiments.continuing import continuing
from resolute.proto.errors import Refused
from resolute.proto.experiment import (
    AddLabel,
    ArchiveExperiment,
    ContinueExperiment,
    EditExperiment,
    KillExperiment,
    RemoveLabel,
    SearcherCommand,
    UnarchiveExperiment,
)
from resolute.proto.pool import AllocationExited
from resolute.search.decide import decide
from resolute.search.experiment import Experiment, evolve
from tests.unit.searcher.story import EXPERIMENT, created, exited

LABELS = ("a", "b", "c", "d")
patiently = settings(deadline=None)  # a busy machine is no counterexample

Read = Callable[[Experiment], SearcherCommand | AllocationExited]
"""A request: what the gateway reads, and the command that it sends."""


def says(command: SearcherCommand) -> Read:
    return lambda experiment: command


def ends(experiment: Experiment) -> SearcherCommand | AllocationExited:
    """The run of the trial ends, and the experiment with it. Where none runs, somebody asks for that."""
    allocation = experiment.trial(1).allocation_id
    return KillExperiment(EXPERIMENT) if allocation is None else exited(allocation)


def edits(**changes: Any) -> Read:
    return says(EditExperiment(EXPERIMENT, changes))


def continues(*, labels: Sequence[str] = (), **overrides: Any) -> Read:
    """As the gateway does: the configuration that it has read, and in it what the caller overrides."""

    def read(experiment: Experiment) -> ContinueExperiment:
        before = experiment.config
        merged = {**before, **overrides, "labels": sorted({*experiment.labels, *labels})}
        return continuing(EXPERIMENT, merged, before)

    return read


CHANGES = st.one_of(
    st.sampled_from(LABELS).map(lambda label: says(AddLabel(EXPERIMENT, label))),
    st.sampled_from(LABELS).map(lambda label: says(RemoveLabel(EXPERIMENT, label))),
    st.integers(0, 9).map(lambda n: edits(notes=f"note {n}")),
    st.integers(0, 9).map(lambda n: edits(name=f"name {n}", priority=n + 1)),
    st.integers(0, 9).map(lambda n: edits(description=f"about {n}", save_trial_best=n)),
    st.integers(0, 9).map(lambda n: edits(log_retention_days=n)),
    st.integers(0, 9).map(lambda n: continues(max_restarts=n)),
    st.sampled_from(LABELS).map(lambda label: continues(labels=[label])),
    st.just(ends),
    st.sampled_from([ArchiveExperiment, UnarchiveExperiment]).map(lambda make: says(make(EXPERIMENT))),
)


@patiently
@given(st.lists(st.tuples(CHANGES, st.integers(0, 4)), max_size=30))
def test_every_change_is_in_the_outcome_however_long_ago_its_sender_had_read(script: list[tuple[Read, int]]) -> None:
    """Each request is read when it comes, and decided after so many others that came later."""
    experiment = reduce(evolve, created(), Experiment())
    decided(experiment, ends(experiment))
    expected = shown(experiment)
    waiting: list[tuple[int, SearcherCommand | AllocationExited]] = []
    for turn in range(len(script) + 5):
        if turn < len(script):
            read, later = script[turn]
            waiting.append((turn + later, read(experiment)))
        due = [command for at, command in waiting if at == turn]
        waiting = [(at, command) for at, command in waiting if at != turn]
        for command in due:
            if decided(experiment, command):
                expected = asked(expected, command)
            assert shown(experiment) == expected
    assert not waiting


@given(st.permutations([*(AddLabel(EXPERIMENT, one) for one in "abc"), RemoveLabel(EXPERIMENT, "old")]))
def test_the_order_of_changes_of_different_labels_makes_no_difference(commands: list[SearcherCommand]) -> None:
    experiment = reduce(evolve, created(), Experiment())
    for command in [EditExperiment(EXPERIMENT, {"labels": ["old"]}), *commands]:
        decided(experiment, command)
    assert experiment.labels == ["a", "b", "c"]


def decided(experiment: Experiment, message: SearcherCommand | AllocationExited) -> bool:
    """Whether anything happened. What is refused has not."""
    try:
        events = decide(message, experiment, itertools.count(2))
    except Refused:
        return False
    reduce(evolve, events, experiment)
    return bool(events)


def shown(experiment: Experiment) -> dict[str, Any]:
    """What these requests change, and what somebody would see of it."""
    kept = {name: value for name, value in experiment.config.items() if name != "labels"}
    return {"labels": set(experiment.labels), "notes": experiment.notes, **kept}


def asked(before: dict[str, Any], command: SearcherCommand | AllocationExited) -> dict[str, Any]:
    """What the person who sent `command` asked for, and nothing else."""
    match command:
        case AddLabel(label=label):
            return {**before, "labels": before["labels"] | {label}}
        case RemoveLabel(label=label):
            return {**before, "labels": before["labels"] - {label}}
        case EditExperiment(changes=changes):
            return placed(before, changes)
        case ContinueExperiment(config=merged, overridden=overridden, labels_added=added):
            chosen = {name: merged[name] for name in overridden or ()}
            return {**before, **chosen, "labels": before["labels"] | set(added)}
    return before


def placed(before: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    after = dict(before)
    for name, value in changes.items():
        section = {
            "priority": "resources",
            "save_trial_best": "checkpoint_storage",
            "log_retention_days": "retention_policy",
        }.get(name)
        if section is None:
            after[name] = value
        else:
            after[section] = {**after.get(section, {}), name: value}
    return after
