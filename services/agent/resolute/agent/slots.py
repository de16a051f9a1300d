"""The slots of this host: its GPUs, or its cores, or as many as it is told to pretend."""

from __future__ import annotations

import shutil
import subprocess

from resolute.proto.errors import InvalidConfig
from resolute.proto.pool import Slot

_QUERY = ("--query-gpu=index,name,uuid", "--format=csv,noheader")


def detect(count: int | None, artificial: bool, gpu: bool) -> tuple[Slot, ...]:
    """`count` says how many; without it every GPU is a slot, and without GPUs the whole CPU is one."""
    numbers = range(1 if count is None else count)
    if artificial:
        return tuple(Slot(n, "artificial", "artificial", f"artificial-{n}") for n in numbers)
    if gpu and (found := nvidia_gpus()):
        return found if count is None else found[:count]
    return tuple(Slot(n, "cpu", _cpu_brand(), f"cpu-{n}") for n in numbers)


def nvidia_gpus() -> tuple[Slot, ...]:
    """What nvidia-smi lists; nothing where there is none, or it finds no device."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    try:
        answer = subprocess.run([tool, *_QUERY], capture_output=True, text=True, timeout=30)
    except subprocess.TimeoutExpired:
        raise InvalidConfig("nvidia-smi did not answer within 30 s; RESOLUTE_AGENT_GPU=false does without") from None
    return parse_nvidia(answer.stdout) if answer.returncode == 0 else ()


def parse_nvidia(listing: str) -> tuple[Slot, ...]:
    """`0, NVIDIA H200, GPU-8c4d…` a line."""
    rows = [[cell.strip() for cell in line.split(",")] for line in listing.splitlines() if line.count(",") == 2]
    return tuple(Slot(int(index), "cuda", brand, uuid) for index, brand, uuid in rows)


def _cpu_brand() -> str:
    try:
        with open("/proc/cpuinfo") as info:
            names = [line.partition(":")[2].strip() for line in info if line.startswith("model name")]
    except OSError:
        return "cpu"
    return names[0] if names else "cpu"
