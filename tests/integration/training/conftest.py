"""Ranks as real processes, beside the small master of the unit tests."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest

from tests.integration.training.ranks import Gang, started
from tests.unit.harness import conftest as harness_master


@pytest.fixture
def master() -> Iterator[harness_master.Master]:
    server = harness_master.Master()
    server.start()
    with contextlib.ExitStack() as stack:
        stack.callback(server.stop)
        yield server


Start = Callable[..., Gang]


@pytest.fixture
def start(master: harness_master.Master, tmp_path: pathlib.Path) -> Iterator[Start]:
    """Starts the ranks of a trial of this master: `start(words, size, by=..., machines=..., latest=..., **config)`."""
    number = 0
    with ExitStack() as stack:

        def begin(
            words: Sequence[str],
            size: int,
            *,
            by: str = "torch",
            machines: int = 1,
            latest: str | None = None,
            env: dict[str, str] | None = None,
            **config: Any,
        ) -> Gang:
            nonlocal number
            number += 1
            told = harness_master.trial_env(master, tmp_path, config)
            told["DET_SLOT_IDS"] = str(list(range(size)))
            told["DET_ALLOCATION_ID"] = f"7.c0ffee.{tmp_path.name}.{number}"
            if latest is not None:
                told["DET_LATEST_CHECKPOINT"] = latest
            ranks = started(
                words, tmp_path / f"run-{number}", size, by=by, machines=machines, env={**told, **(env or {})}
            )
            return stack.enter_context(ranks)

        yield begin
