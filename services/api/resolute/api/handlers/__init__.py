"""What each operation does, by the things it is about."""

from __future__ import annotations

from resolute.api.handlers import (
    experiments,
    explain,
    history,
    master,
    master_logs,
    model_definitions,
    monitoring,
    preview,
    queue,
    trial_logs,
    trials,
    usage,
)
from resolute.api.routing import Route

ROUTES: tuple[Route, ...] = (
    *master.ROUTES,
    *master_logs.ROUTES,
    *monitoring.ROUTES,
    *history.ROUTES,
    *experiments.ROUTES,
    *model_definitions.ROUTES,
    *preview.ROUTES,
    *trials.ROUTES,
    *trial_logs.ROUTES,
    *queue.ROUTES,
    *explain.ROUTES,
    *usage.ROUTES,
)
