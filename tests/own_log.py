"""Tests that configure the log of their process, and leave it as it was."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import structlog


@contextmanager
def logging_as_before() -> Iterator[None]:
    root, known = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        structlog.configure(**known)
        root.handlers[:] = handlers
        root.setLevel(level)
