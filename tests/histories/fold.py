"""A log folded by the services that own its streams, and what a person would say of the outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from resolute.checkpoint import experiment_facts, registered, registry
from resolute.directory import (
    access_tokens,
    cluster_message,
    logging_changes,
    models,
    policies,
    pool_bindings,
    rbac,
    sessions,
    spaces,
    templates,
    user_settings,
    users,
    visits,
    workspaces,
)
from resolute.directory.webhooks import deliveries, experiments
from resolute.directory.webhooks import registered as webhooks
from resolute.proto import streams
from resolute.proto.message import Event, Recorded
from resolute.proto.pool import UNRECORDED
from resolute.scheduling import pool
from resolute.search import experiment
from resolute.tasks import task

Evolve = Callable[[Any, Event], Any]

FOLDS: dict[str, tuple[tuple[Callable[[], Any], Evolve], ...]] = {
    "experiment": (
        (experiment.Experiment, experiment.evolve),
        (experiment_facts.ExperimentFacts, experiment_facts.evolve),
        (experiments.ExperimentFacts, experiments.evolve),
    ),
    "task": ((task.Task, task.evolve),),
    "pool": ((pool.Pool, pool.evolve),),
    "checkpoints": ((registry.Registry, registry.evolve),),
    "user": ((sessions.Sessions, sessions.evolve),),
    "settings": ((user_settings.Settings, user_settings.evolve),),
    "visits": ((visits.Visits, visits.evolve),),
    streams.USER_DIRECTORY: ((users.Users, users.evolve),),
    "workspace": ((spaces.Workspaces, workspaces.evolve),),
    "models": ((models.Models, models.evolve), (registered.Registered, registered.evolve)),
    "templates": ((templates.Templates, templates.evolve),),
    "policies": ((policies.Policies, policies.evolve),),
    "rbac": ((rbac.Rbac, rbac.evolve),),
    "tokens": ((access_tokens.Tokens, access_tokens.evolve),),
    "bindings": ((pool_bindings.Bindings, pool_bindings.evolve),),
    "announcement": ((cluster_message.ClusterMessage, cluster_message.evolve),),
    "logging": ((logging_changes.Logging, logging_changes.evolve),),
    "webhooks": ((webhooks.Webhooks, webhooks.evolve),),
    "deliveries": ((deliveries.Deliveries, deliveries.evolve),),
}
"""How the streams of a category are folded, or one stream by its name: what each fold begins with, and how it goes on.
Other streams need no folding."""


def fold(events: Iterable[Recorded]) -> dict[str, list[Any]]:
    """The states of every stream, as its followers hold them."""
    states: dict[str, list[Any]] = {}
    for recorded in events:
        folds = FOLDS.get(recorded.stream) or FOLDS.get(recorded.category, ())
        before = states.get(recorded.stream) or [initial() for initial, _ in folds]
        states[recorded.stream] = [
            evolve(state, recorded.event) for state, (_, evolve) in zip(before, folds, strict=True)
        ]
    return states


def summary_of(events: Iterable[Recorded]) -> dict[str, Any]:
    """Where every stream has come to, in words that later releases will still have."""
    return {stream: _say(states[0]) for stream, states in sorted(fold(events).items()) if states}


def _say(state: Any) -> Any:
    match state:
        case experiment.Experiment():
            trials = {str(trial.trial_id): _say_trial(trial) for trial in state.trials.values()}
            return {"state": state.state.name, "archived": state.archived, "trials": trials}
        case task.Task():
            return {"state": state.state.name, "kind": state.kind, "name": state.name}
        case pool.Pool():
            agents = sorted(name for name, _ in state.agents.items())
            said = {"agents": agents, "live_allocations": sorted(name for name, _ in state.allocations.items())}
            return said | ({"settings": state.settings} if state.settings != UNRECORDED else {})
        case registry.Registry():
            return {uuid: found.state.name for uuid, found in state.checkpoints.items()}
    return None


def _say_trial(trial: Any) -> dict[str, Any]:
    return {
        "state": trial.state.name,
        "runs": trial.run_id,
        "restarts": trial.restarts,
        "steps_completed": trial.steps_completed,
        "hparams": trial.hparams,
    }
