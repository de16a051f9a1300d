"""Every route the gateway serves, in one table."""

from __future__ import annotations

from resolute.api.checkpoints.routes import ROUTES as CHECKPOINTS
from resolute.api.experiments.routes import ROUTES as EXPERIMENTS
from resolute.api.history.routes import ROUTES as HISTORY
from resolute.api.identity.routes import ROUTES as IDENTITY
from resolute.api.logs.routes import ROUTES as LOGS
from resolute.api.master.documents import with_documents
from resolute.api.master.routes import ROUTES as MASTER
from resolute.api.metrics.routes import ROUTES as METRICS
from resolute.api.model_definitions.routes import ROUTES as MODEL_DEFINITIONS
from resolute.api.monitoring.routes import ROUTES as MONITORING
from resolute.api.pools.routes import ROUTES as POOLS
from resolute.api.queue.routes import ROUTES as QUEUE
from resolute.api.routing import Route
from resolute.api.searches.routes import ROUTES as SEARCHES
from resolute.api.tasks.routes import ROUTES as TASKS
from resolute.api.trials.routes import ROUTES as TRIALS
from resolute.api.usage.routes import ROUTES as USAGE
from resolute.api.workspaces.routes import ROUTES as WORKSPACES

OPERATIONS: tuple[Route, ...] = (
    # First, since a router tries routes of one beginning in order: what running trials call most.
    *METRICS,
    *MASTER,
    *MONITORING,
    *EXPERIMENTS,
    *MODEL_DEFINITIONS,
    *TRIALS,
    *IDENTITY,
    *CHECKPOINTS,
    *WORKSPACES,
    *USAGE,
    *POOLS,
    *QUEUE,
    *TASKS,
    *LOGS,
    *HISTORY,
    *SEARCHES,
)

ROUTES = with_documents(OPERATIONS)

PERMISSIONS = frozenset[str]().union(*(route.permissions for route in ROUTES))
"""All that a role can grant."""
