"""Every route the gateway serves, in one table."""

from __future__ import annotations

from resolute.api import log_routes, metric_routes, task_routes
from resolute.api.handlers import ROUTES as HANDLERS
from resolute.api.routing import Route

ROUTES: tuple[Route, ...] = (
    *HANDLERS,
    *metric_routes.ROUTES,
    *log_routes.ROUTES,
    *task_routes.ROUTES,
)
