"""What each operation does, by the things it is about."""

from __future__ import annotations

from resolute.api.handlers import (
    experiments,
    explain,
    monitoring,
    queue,
    usage,
)
from resolute.api.routing import Route

ROUTES: tuple[Route, ...] = (
    *monitoring.ROUTES,
    *experiments.ROUTES,
    *queue.ROUTES,
    *explain.ROUTES,
    *usage.ROUTES,
)
