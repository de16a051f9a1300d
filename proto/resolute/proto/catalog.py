"""Importing this registers every message there is, in `EVENTS` and `COMMANDS`: it imports each module of messages."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import resolute.proto

MODULES = tuple(
    import_module(f"resolute.proto.{found.name}")
    for found in pkgutil.iter_modules(resolute.proto.__path__)
    if found.name != "catalog"
)
