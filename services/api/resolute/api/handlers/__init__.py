"""What each operation does, by the things it is about."""

from __future__ import annotations

from resolute.api.handlers import (
    experiments,
    explain,
    queue,
    usage,
)
from resolute.api.routing import Route

ROUTES: tuple[Route, ...] = (
    *experiments.ROUTES,
    *queue.ROUTES,
    *explain.ROUTES,
    *usage.ROUTES,
)
