"""The watchdog measures how long the event loop is held, says by what, and is content with a loop that is free."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from resolute.service.loop_watchdog import Held, LoopWatch

pytestmark = pytest.mark.alone


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """Python's collector goes through everything that the tests before this one have loaded, which takes long."""
    gc.disable()
    yield
    gc.enable()


def a_long_computation(for_s: float) -> None:
    until = time.process_time() + for_s
    while time.process_time() < until:
        pass


def a_computation_until_it_was_seen_twice(seen: list[Held]) -> None:
    """The thread that looks has to wait for its turn: how often it comes in a given time nobody can say."""
    deadline = time.monotonic() + 60
    while len([held for held in seen if NAMED in held.stack]) < 2 and time.monotonic() < deadline:
        pass


NAMED = a_computation_until_it_was_seen_twice.__name__


async def test_a_loop_that_is_free_is_not_reported_as_held() -> None:
    with LoopWatch() as watch:
        for _ in range(5):
            await asyncio.sleep(0.02)
    assert watch.longest_cpu_s < 0.05


async def test_a_computation_on_the_loop_is_measured() -> None:
    with LoopWatch(beat_s=0.005) as watch:
        await asyncio.sleep(0.02)
        a_long_computation(0.15)
        await asyncio.sleep(0.02)
    assert watch.longest_s > 0.13
    assert 0.13 < watch.longest_cpu_s <= watch.longest_s


async def test_a_computation_that_ends_with_the_watch_is_measured_too() -> None:
    with LoopWatch(beat_s=0.005) as watch:
        await asyncio.sleep(0.02)
        a_long_computation(0.1)
    assert watch.longest_s > 0.08


async def test_what_waits_for_a_thread_does_not_hold_the_loop() -> None:
    with LoopWatch() as watch:
        await asyncio.to_thread(time.sleep, 0.1)
    assert watch.longest_cpu_s < 0.05


async def test_the_log_names_the_work_that_holds_the_loop_while_it_does() -> None:
    seen: list[Held] = []
    with capture_logs() as logs, LoopWatch(beat_s=0.005, tell_s=0.05, on_held=seen.append):
        await asyncio.sleep(0.02)
        a_computation_until_it_was_seen_twice(seen)
        await asyncio.sleep(0.02)
    # A machine that stands still for a moment holds the loop too, while it does something else.
    (held,) = [one for one in logs if one["event"] == "the event loop is held" and NAMED in one["stack"]]
    free = [one for one in logs[logs.index(held) :] if one["event"].startswith("the event loop was held")]
    assert free[0]["for_s"] > held["for_s"]
    first, *_, last = [one for one in seen if NAMED in one.stack]
    assert last.for_s > first.for_s > 0.05, "the callback is called for as long as the loop is held"


async def test_prometheus_learns_of_it() -> None:
    before = REGISTRY.get_sample_value("resolute_event_loop_hold_seconds_count") or 0
    with LoopWatch(beat_s=0.005):
        await asyncio.sleep(0.02)
        a_long_computation(0.1)
        await asyncio.sleep(0.02)
    longest = REGISTRY.get_sample_value("resolute_event_loop_longest_hold_seconds")
    count = REGISTRY.get_sample_value("resolute_event_loop_hold_seconds_count")
    assert longest == pytest.approx(max(longest or 0, 0.08)), "the gauge keeps the longest hold"
    assert count is not None
    assert count > before
