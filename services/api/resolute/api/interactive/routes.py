"""The routes of tasks that are no trials, kind by kind."""

from __future__ import annotations

from resolute.api.interactive.commands import ROUTES as COMMANDS
from resolute.api.interactive.notebooks import ROUTES as NOTEBOOKS
from resolute.api.interactive.shells import ROUTES as SHELLS

ROUTES = (*COMMANDS, *NOTEBOOKS, *SHELLS)
