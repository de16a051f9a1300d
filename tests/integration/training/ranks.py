"""Ranks as real processes, started without a launcher: what each finds in its environment is said here."""

from __future__ import annotations

import os
import pathlib
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from tests.ports import free_port


@dataclass
class Gang:
    """Every rank of one program, in rank order, and what it printed so far."""

    processes: list[subprocess.Popen[bytes]]
    logs: list[pathlib.Path]
    marks: set[int] = field(default_factory=set)

    def wait(self, within_s: float = 120) -> list[int]:
        """The exit codes. Ends everybody and fails when one does not end."""
        deadline = time.monotonic() + within_s
        try:
            return [process.wait(max(0.1, deadline - time.monotonic())) for process in self.processes]
        except subprocess.TimeoutExpired:
            raise AssertionError(f"not within {within_s} s:\n{self.said()}") from None

    def succeed(self, within_s: float = 120) -> None:
        codes = self.wait(within_s)
        assert set(codes) == {0}, f"exit codes {codes}:\n{self.said()}"

    def said(self) -> str:
        return "\n".join(f"--- rank {rank}\n{log.read_text(errors='replace')}" for rank, log in enumerate(self.logs))

    def kill(self, rank: int) -> None:
        self.processes[rank].send_signal(signal.SIGKILL)

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()


@contextmanager
def started(
    words: Sequence[str],
    folder: pathlib.Path,
    size: int,
    *,
    by: str = "torch",
    machines: int = 1,
    env: dict[str, str] | None = None,
) -> Iterator[Gang]:
    """`size` processes of the Python program `words`, by torch, horovod, deepspeed or alone, as if on `machines`."""
    folder.mkdir(parents=True, exist_ok=True)
    common = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("DET_", "HOROVOD_"))},
        "OMP_NUM_THREADS": "1",
        "DET_CHIEF_IP": "127.0.0.1",
        # Sockets of gangs that have nothing to do with each other are told apart by it.
        "DET_ALLOCATION_ID": secrets.token_hex(8),
        "INTER_TRAIN_PROCESS_COMM_PORT_1": str(free_port()),
        "INTER_TRAIN_PROCESS_COMM_PORT_2": str(free_port()),
        "XDG_DATA_HOME": str(folder / "data"),
        **(env or {}),
    }
    with ExitStack() as stack:
        places = stack.enter_context(_PLACES[by](size, size // machines))
        gang = Gang([], [folder / f"rank-{rank}.log" for rank in range(size)])
        stack.callback(gang.end)
        for rank, (place, log) in enumerate(zip(places, gang.logs, strict=True)):
            output = stack.enter_context(log.open("wb"))
            machine = {"DET_RESOURCES_ID": f"machine-{rank // (size // machines)}"}
            command = [sys.executable, *words]
            gang.processes.append(
                subprocess.Popen(
                    command, cwd=folder, env={**common, **place, **machine}, stdout=output, stderr=subprocess.STDOUT
                )
            )
        yield gang


@contextmanager
def _torch(size: int, local_size: int) -> Iterator[list[dict[str, str]]]:
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "USE_TORCH_DISTRIBUTED": "True"}
    yield [
        {
            **meeting,
            **{"RANK": str(rank), "WORLD_SIZE": str(size)},
            **{"LOCAL_RANK": str(rank % local_size), "LOCAL_WORLD_SIZE": str(local_size)},
            **{"GROUP_RANK": str(rank // local_size), "GROUP_WORLD_SIZE": str(size // local_size)},
        }
        for rank in range(size)
    ]


@contextmanager
def _deepspeed(size: int, local_size: int) -> Iterator[list[dict[str, str]]]:
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "DS_ACCELERATOR": "cpu"}
    yield [
        {
            **meeting,
            **{"RANK": str(rank), "WORLD_SIZE": str(size)},
            **{"LOCAL_RANK": str(rank % local_size), "LOCAL_SIZE": str(local_size)},
            **{"CROSS_RANK": str(rank // local_size), "CROSS_SIZE": str(size // local_size)},
        }
        for rank in range(size)
    ]


@contextmanager
def _horovod(size: int, local_size: int) -> Iterator[list[dict[str, str]]]:
    from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
    from horovod.runner.gloo_run import create_run_env_vars, create_slot_env_vars
    from horovod.runner.http.http_server import RendezvousServer

    hosts = ",".join(f"machine-{number}:{local_size}" for number in range(size // local_size))
    slots = get_host_assignments(parse_hosts(hosts), size)
    server = RendezvousServer()
    port = server.start()
    server.init(slots)
    common = create_run_env_vars("127.0.0.1", ["lo"], port)
    try:
        yield [
            {name: str(value) for name, value in {**common, **create_slot_env_vars(slot), "USE_HOROVOD": "1"}.items()}
            for slot in slots
        ]
    finally:
        server.stop()


@contextmanager
def _alone(size: int, local_size: int) -> Iterator[list[dict[str, str]]]:
    yield [{} for _ in range(size)]


_PLACES = {"torch": _torch, "deepspeed": _deepspeed, "horovod": _horovod, "alone": _alone}
