"""The whole embedded cluster when nothing happens: time until it is ready, memory, processor time.

Resident memory counts pages that processes share once for each; the proportional figure divides them among those who
share (PSS), and is what the machine really gives.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

from bench.embedded import Embedded, embedded
from bench.figures import Figure, tell

MIB = 2**20


def measure(idle_s: float) -> list[Figure]:
    with embedded() as cluster:
        first = _seconds_up(cluster)
        cluster.down()
        again = _seconds_up(cluster)
        time.sleep(3)  # what starting up still does
        processes = cluster.processes()
        before = _cpu_s(processes)
        time.sleep(idle_s)
        processes = cluster.processes()  # connections that nothing uses are closed meanwhile, and their processes end
        spent = {process: seconds - before.get(process, 0) for process, seconds in _cpu_s(processes).items()}
        resident = {process: process.memory_info().rss / MIB for process in processes}
        for process in processes:
            words = " ".join(process.cmdline())[:90]
            print(f"{resident[process]:8.1f} MiB {100 * spent[process] / idle_s:6.2f} %  {words}")
        return [
            Figure("ready, a cluster that is made", first, "s", 5, at_most=True),
            Figure("ready, a cluster that was down", again, "s", 5, at_most=True),
            Figure(f"resident memory of {len(processes)} processes", sum(resident.values()), "MiB", 300, at_most=True),
            Figure("memory, shared pages counted once (PSS)", sum(map(_pss_mib, processes)), "MiB"),
            Figure(f"processor time, idle over {idle_s:g} s", 100 * sum(spent.values()) / idle_s, "%", 2, at_most=True),
        ]


def _seconds_up(cluster: Embedded) -> float:
    began = time.perf_counter()
    cluster.up()
    return time.perf_counter() - began


def _cpu_s(processes: Iterable[psutil.Process]) -> dict[psutil.Process, float]:
    return {process: sum(process.cpu_times()[:2]) for process in processes}


def _pss_mib(process: psutil.Process) -> float:
    for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--idle", type=float, default=30.0, metavar="SECONDS")
    tell("cluster", measure(parser.parse_args().idle))


if __name__ == "__main__":
    main()
