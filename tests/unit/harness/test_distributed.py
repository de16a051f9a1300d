"""Workers as threads: what each hears of the others."""

from __future__ import annotations

import functools
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from determined import core
from tests.ports import free_port

Act = Callable[[core.DistributedContext], Any]


def gathered(number: int, context: core.DistributedContext) -> Any:
    return context.allgather(number)


def on_ranks(size: int, act: Act, *, machines: int = 1, port: int | None = None, force_tcp: bool = False) -> list[Any]:
    """What `act` gives on each rank, in rank order."""
    pub_port = port or free_port()
    per_machine = size // machines

    def worker(rank: int) -> Any:
        context = core.DistributedContext(
            rank=rank,
            size=size,
            local_rank=rank % per_machine,
            local_size=per_machine,
            cross_rank=rank // per_machine,
            cross_size=machines,
            chief_ip="127.0.0.1" if machines > 1 or force_tcp else None,
            pub_port=pub_port,
            pull_port=pub_port + 1,
            force_tcp=force_tcp,
        )
        try:
            return act(context)
        finally:
            context.close()
            context.close()

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(worker, range(size)))


@pytest.mark.parametrize("layout", [{}, {"force_tcp": True}, {"machines": 2}])
def test_every_rank_hears_what_it_should(layout: dict[str, Any]) -> None:
    def act(context: core.DistributedContext) -> Any:
        return (
            context.gather(context.rank * 10),
            context.allgather({"rank": context.rank}),
            context.broadcast(f"from {context.rank}"),
            context.allgather_local(context.rank),
            context.gather_local(context.rank),
            context.broadcast_local(f"from {context.rank}"),
        )

    answers = on_ranks(4, act, **layout)
    per_machine = 4 // layout.get("machines", 1)
    for rank, (gathered, everything, word, local, local_gathered, local_word) in enumerate(answers):
        first = rank - rank % per_machine
        assert gathered == ([0, 10, 20, 30] if rank == 0 else None)
        assert everything == [{"rank": 0}, {"rank": 1}, {"rank": 2}, {"rank": 3}]
        assert word == "from 0"
        assert local == list(range(first, first + per_machine))
        assert local_gathered == (local if rank == first else None)
        assert local_word == f"from {first}"


def test_contexts_follow_one_another_on_the_same_port() -> None:
    port = free_port()
    for number in range(5):
        answers = on_ranks(3, functools.partial(gathered, number), port=port, force_tcp=bool(number % 2))
        assert answers == [[number] * 3] * 3


def test_large_objects_travel_whole() -> None:
    answers = on_ranks(2, lambda context: [len(one) for one in context.allgather(b"x" * 5_000_000)])
    assert answers == [[5_000_000, 5_000_000]] * 2


def test_ranks_that_are_out_of_step_are_told_so() -> None:
    both_done = threading.Barrier(2)

    def act(context: core.DistributedContext) -> None:
        if context.rank == 0:
            context.broadcast("while rank 1 gathers")
            with pytest.raises(RuntimeError, match="rank 0 is at gather number 2, rank 1 at gather number 1"):
                context.gather(None)
        else:
            context.gather("while rank 0 broadcasts")
            with pytest.raises(RuntimeError, match="out of step"):
                context.broadcast(None)
        both_done.wait(10)

    on_ranks(2, act)


def test_a_rank_that_goes_away_is_named() -> None:
    def act(context: core.DistributedContext) -> Any:
        if context.rank == 1:
            return None
        with pytest.raises(RuntimeError, match="rank 1 has gone"):
            context.gather(1)
        return None

    on_ranks(2, act)


def test_nobody_without_the_secret_is_let_in() -> None:
    port = free_port()
    with ThreadPoolExecutor(2) as pool:
        chief = pool.submit(_join, 0, port)
        assert _knock(port, b"\0\0\0\1" + b"n" * 32 + b"no proof".ljust(32)) == b""
        worker = pool.submit(_join, 1, port)
        assert chief.result(60) == worker.result(60) == ["a", "a"]


def _knock(port: int, hello: bytes) -> bytes:
    """What the chief answers to a stranger."""
    deadline = time.monotonic() + 60
    while True:
        try:
            link = socket.create_connection(("127.0.0.1", port), timeout=60)
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            continue
        with link:
            link.recv(32)
            link.sendall(hello)
            return link.recv(32)


def _join(rank: int, port: int) -> list[Any]:
    context = core.DistributedContext(
        rank=rank,
        size=2,
        local_rank=rank,
        local_size=2,
        cross_rank=0,
        cross_size=1,
        pub_port=port,
        force_tcp=True,
    )
    try:
        return context.allgather("a")
    finally:
        context.close()


def test_one_worker_needs_no_sockets() -> None:
    context = core.DummyDistributedContext()
    assert context.allgather(1) == context.gather(1) == [1]
    assert context.broadcast(2) == 2
    assert (context.get_rank(), context.get_size(), context.get_num_agents()) == (0, 1, 1)


def test_rank_numbers_that_do_not_fit_are_refused() -> None:
    good: dict[str, Any] = {"rank": 0, "size": 2, "local_rank": 0, "local_size": 1, "cross_rank": 0, "cross_size": 2}
    with pytest.raises(AssertionError, match="chief_ip"):
        core.DistributedContext(**good)
    with pytest.raises(ValueError, match="missing: size"):
        core.DistributedContext(**{**good, "size": None})
    with pytest.raises(ValueError, match="rank must be"):
        core.DistributedContext(**{**good, "rank": 2})


UNEVEN = """
import sys
from determined import core
names = ("rank", "size", "local_rank", "local_size", "cross_rank", "cross_size")
numbers = dict(zip(names, map(int, sys.argv[2:])))
context = core.DistributedContext(**numbers, chief_ip="127.0.0.1", pub_port=int(sys.argv[1]))
print(context.allgather(context.rank), context.allgather_local(context.rank))
context.close()
"""


@pytest.mark.parametrize("below", ["tmp", "a-directory-of-somebody-who-likes-long-names/" * 3])
def test_ranks_of_one_machine_find_each_other_where_machines_have_unequal_numbers_of_them(
    tmp_path: Path, below: str
) -> None:
    """One rank on the first machine and two on the second, of which the last is alone across machines."""
    (tmp_path / below).mkdir(parents=True)
    ranks = [("one", (0, 3, 0, 1, 0, 2)), ("two", (1, 3, 0, 2, 1, 2)), ("two", (2, 3, 1, 2, 0, 1))]
    port = str(free_port())
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", UNEVEN, port, *map(str, numbers)],
            env={
                **os.environ,
                "DET_RESOURCES_ID": machine,
                "DET_SESSION_TOKEN": "secret",
                "TMPDIR": str(tmp_path / below),
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        for machine, numbers in ranks
    ]
    said = [process.communicate(timeout=100)[0].strip() for process in processes]
    assert said == ["[0, 1, 2] [0]", "[0, 1, 2] [1, 2]", "[0, 1, 2] [1, 2]"]
