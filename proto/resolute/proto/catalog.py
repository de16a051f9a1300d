"""Importing this registers every message there is, in `EVENTS` and `COMMANDS`."""

from __future__ import annotations

from resolute.proto import checkpoint, experiment, identity, pool, secrets

MODULES = (experiment, pool, checkpoint, identity, secrets)
