"""Deals blows to a real cluster: signals, reset connections, deleted stores."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress

import psutil

from tests.attack.blows import Blow, Kind
from tests.integration.cluster.local import LocalCluster, processes_with, until

CUT_EVERY_S = 0.05
READY_S = 60


class Attacker:
    """Deals the blows of one attack. `skipped` counts those that met nothing: no task ran that could be killed."""

    def __init__(self, cluster: LocalCluster, seed: int) -> None:
        self._cluster, self._chance = cluster, random.Random(f"attacker {seed}")
        self.dealt: list[Blow] = []
        self.skipped = 0

    def deal(self, blow: Blow) -> None:
        """Waits `blow.after_s`, then deals it; returns when what was killed has been started again."""
        time.sleep(blow.after_s)  # the moment of a blow is part of the attack, and not a wait for a condition
        match blow.kind:
            case Kind.KILL:
                self._cluster.kill(blow.victim)
            case Kind.WIPE:
                self._cluster.kill("nats", wipe=True)
            case Kind.FREEZE:
                self._freeze(blow)
            case Kind.CUT:
                self._cut(blow)
            case Kind.POWER:
                self._power_cut()
            case Kind.KILL_TASK:
                if not self._kill_task():
                    self.skipped += 1
                    return
        self.dealt.append(blow)

    def _freeze(self, blow: Blow) -> None:
        pid = until(f"{blow.victim} runs", lambda: self._cluster.children().get(blow.victim))
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            try:
                time.sleep(blow.hold_s)
            finally:
                os.kill(pid, signal.SIGCONT)

    def _cut(self, blow: Blow) -> None:
        """Resets every connection to the port. No firewall rule is made, so none can be left behind."""
        port = self._cluster.port if blow.victim == "api" else self._nats_port()
        deadline = time.monotonic() + blow.hold_s
        while time.monotonic() < deadline:
            subprocess.run(["ss", "-K", "dport", "=", f":{port}"], capture_output=True, check=False)
            time.sleep(CUT_EVERY_S)

    def _nats_port(self) -> int:
        pid = until("NATS runs", lambda: self._cluster.children().get("nats"))
        listening = [c for c in psutil.Process(pid).net_connections("tcp") if c.status == psutil.CONN_LISTEN]
        return int(listening[0].laddr.port) if listening else 0

    def _kill_task(self) -> bool:
        running = sorted(self._cluster.tasks())
        if not running:
            return False
        with suppress(ProcessLookupError):
            os.kill(self._chance.choice(running), signal.SIGKILL)
        return True

    def _power_cut(self) -> None:
        supervisor = psutil.Process(next(iter(self._cluster.children().values()))).parent()
        assert supervisor is not None
        doomed = {supervisor, *supervisor.children(recursive=True), *self._everything_else()}
        _kill_all(doomed)
        until("everything is dead", lambda: not any(_lives(process) for process in doomed))
        self._cluster.up()

    def _everything_else(self) -> Iterable[psutil.Process]:
        """Trials and their shims, which have sessions of their own and survive their agent."""
        for pid in processes_with(str(self._cluster.data)):
            if pid != os.getpid():
                with suppress(psutil.NoSuchProcess):
                    yield psutil.Process(pid)


def _kill_all(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
