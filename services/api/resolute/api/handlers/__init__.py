"""What each operation does, by the things it is about."""

from __future__ import annotations

from resolute.api.handlers import auth, master, users, workspaces
from resolute.api.routing import Route

ROUTES: tuple[Route, ...] = (
    *master.ROUTES,
    *auth.ROUTES,
    *users.ROUTES,
    *workspaces.ROUTES,
)
