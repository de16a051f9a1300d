"""What each operation does, by the things it is about."""

from __future__ import annotations

from resolute.api.handlers import (
    usage,
)
from resolute.api.routing import Route

ROUTES: tuple[Route, ...] = (*usage.ROUTES,)
