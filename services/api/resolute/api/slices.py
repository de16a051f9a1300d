"""The slices of the gateway: each is one thing that people see, with a folder of its own. A new one is added here."""

from __future__ import annotations

from dataclasses import dataclass

import asyncpg

from resolute.api.access_tokens.projection import PROJECTION as ACCESS_TOKENS
from resolute.api.access_tokens.routes import ROUTES as OF_ACCESS_TOKENS
from resolute.api.charts.routes import ROUTES as OF_CHARTS
from resolute.api.checkpoints.projection import PROJECTION as CHECKPOINTS
from resolute.api.checkpoints.routes import ROUTES as OF_CHECKPOINTS
from resolute.api.cluster_message.projection import PROJECTION as CLUSTER_MESSAGE
from resolute.api.cluster_message.routes import ROUTES as OF_CLUSTER_MESSAGE
from resolute.api.experiments.projection import PROJECTION as EXPERIMENTS
from resolute.api.experiments.routes import ROUTES as OF_EXPERIMENTS
from resolute.api.history.routes import ROUTES as OF_HISTORY
from resolute.api.identity.projection import PROJECTION as IDENTITY
from resolute.api.identity.routes import ROUTES as OF_IDENTITY
from resolute.api.interactive.projection import PROJECTION as INTERACTIVE
from resolute.api.interactive.routes import ROUTES as OF_INTERACTIVE
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.kernel.rows import Projection
from resolute.api.logs.routes import ROUTES as OF_LOGS
from resolute.api.master.routes import ROUTES as OF_MASTER
from resolute.api.metrics.routes import ROUTES as OF_METRICS
from resolute.api.model_definitions.routes import ROUTES as OF_MODEL_DEFINITIONS
from resolute.api.models.projection import PROJECTION as MODELS
from resolute.api.models.routes import ROUTES as OF_MODELS
from resolute.api.monitoring.routes import ROUTES as OF_MONITORING
from resolute.api.policies.projection import PROJECTION as POLICIES
from resolute.api.policies.routes import ROUTES as OF_POLICIES
from resolute.api.pools.projection import PROJECTION as POOLS
from resolute.api.pools.routes import ROUTES as OF_POOLS
from resolute.api.profiler.routes import ROUTES as OF_PROFILER
from resolute.api.proxy.routes import ROUTES as OF_PROXY
from resolute.api.queue.projection import PROJECTION as QUEUE
from resolute.api.queue.routes import ROUTES as OF_QUEUE
from resolute.api.rbac.projection import PROJECTION as RBAC
from resolute.api.rbac.routes import ROUTES as OF_RBAC
from resolute.api.routing import Route
from resolute.api.runs.routes import ROUTES as OF_RUNS
from resolute.api.searches.routes import ROUTES as OF_SEARCHES
from resolute.api.sources.projection import PROJECTION as SOURCES
from resolute.api.sources.routes import ROUTES as OF_SOURCES
from resolute.api.stream.routes import ROUTES as OF_STREAM
from resolute.api.tasks.projection import PROJECTION as TASKS
from resolute.api.tasks.routes import ROUTES as OF_TASKS
from resolute.api.templates.projection import PROJECTION as TEMPLATES
from resolute.api.templates.routes import ROUTES as OF_TEMPLATES
from resolute.api.trials.projection import PROJECTION as TRIALS
from resolute.api.trials.routes import ROUTES as OF_TRIALS
from resolute.api.undo.routes import ROUTES as OF_UNDO
from resolute.api.usage.routes import ROUTES as OF_USAGE
from resolute.api.visits.projection import PROJECTION as VISITS
from resolute.api.visits.routes import ROUTES as OF_VISITS
from resolute.api.web.routes import ROUTES as OF_WEB
from resolute.api.webhooks.projection import PROJECTION as WEBHOOKS
from resolute.api.webhooks.routes import ROUTES as OF_WEBHOOKS
from resolute.api.workspaces.projection import PROJECTION as WORKSPACES
from resolute.api.workspaces.routes import ROUTES as OF_WORKSPACES
from resolute.eventlog import EventLog


@dataclass(frozen=True, slots=True)
class Slice:
    routes: tuple[Route, ...]
    projection: Projection | None = None
    """What the log makes of its tables. Some slices have no tables: they read those of others, or stores of their
    own."""


SLICES = (
    # First, since a router tries routes of one beginning in order: what running trials call most.
    Slice(OF_METRICS),
    Slice(OF_CHARTS),
    Slice(OF_PROFILER),
    Slice(OF_IDENTITY, IDENTITY),
    Slice(OF_RBAC, RBAC),
    Slice(OF_ACCESS_TOKENS, ACCESS_TOKENS),
    Slice(OF_WORKSPACES, WORKSPACES),
    Slice(OF_VISITS, VISITS),
    Slice(OF_EXPERIMENTS, EXPERIMENTS),
    Slice(OF_MODEL_DEFINITIONS),
    Slice(OF_SEARCHES),
    Slice(OF_RUNS),
    Slice(OF_TRIALS, TRIALS),
    Slice(OF_CHECKPOINTS, CHECKPOINTS),
    Slice(OF_MODELS, MODELS),
    Slice(OF_SOURCES, SOURCES),
    Slice(OF_WEBHOOKS, WEBHOOKS),
    Slice(OF_TEMPLATES, TEMPLATES),
    Slice(OF_POLICIES, POLICIES),
    Slice(OF_CLUSTER_MESSAGE, CLUSTER_MESSAGE),
    Slice(OF_TASKS, TASKS),
    Slice(OF_INTERACTIVE, INTERACTIVE),
    Slice(OF_LOGS),
    Slice(OF_QUEUE, QUEUE),
    Slice(OF_POOLS, POOLS),
    Slice(OF_USAGE),
    Slice(OF_HISTORY),
    Slice(OF_UNDO),
    Slice(OF_MASTER),
    Slice(OF_STREAM),
    Slice(OF_PROXY),
    Slice(OF_MONITORING),
    Slice(OF_WEB),
)

PROJECTIONS = tuple(one.projection for one in SLICES if one.projection is not None)


def read_model(pool: asyncpg.Pool, log: EventLog, *, suffix: str = "") -> ReadModel:
    """The tables of all slices. `suffix`: what the names of the schemas end in, for tables beside the usual ones."""
    return ReadModel(pool, log, PROJECTIONS, suffix=suffix)
