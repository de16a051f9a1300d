"""The routes of tasks that are no trials, kind by kind."""

from __future__ import annotations

from resolute.api.interactive.commands import ROUTES as COMMANDS

ROUTES = (*COMMANDS,)
