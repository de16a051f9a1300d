"""Every route the gateway serves, in one table."""

from __future__ import annotations

from resolute.api.master.documents import with_documents
from resolute.api.routing import Route
from resolute.api.slices import SLICES

OPERATIONS: tuple[Route, ...] = tuple(route for one in SLICES for route in one.routes)

ROUTES = with_documents(OPERATIONS)

PERMISSIONS = frozenset[str]().union(*(route.permissions for route in ROUTES))
"""All that a role can grant."""
