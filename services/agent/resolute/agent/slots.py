"""The slots of this host: its GPUs, or its cores, or as many artificial slots as the settings name."""

from __future__ import annotations

from collections.abc import Sequence

from resolute.agent import gpus
from resolute.proto.pool import Slot


def detect(count: int | None, artificial: bool, gpu: bool) -> tuple[Slot, ...]:
    """The slots of this host. `count`: how many; None for one per GPU, or a single slot of CPU when there is no GPU."""
    numbers = range(1 if count is None else count)
    if artificial:
        return tuple(Slot(n, "artificial", "artificial", f"artificial-{n}") for n in numbers)
    if gpu and (found := gpus.nvidia() or gpus.rocm()):
        return found if count is None else found[:count]
    return tuple(Slot(n, "cpu", _cpu_brand(), f"cpu-{n}") for n in numbers)


def device_kind(slots: Sequence[Slot]) -> str:
    """`cuda`, `rocm` or `cpu`, by which the image and the variables of a task are chosen."""
    kinds = {slot.kind for slot in slots}
    return "cuda" if "cuda" in kinds else "rocm" if "rocm" in kinds else "cpu"


def _cpu_brand() -> str:
    try:
        with open("/proc/cpuinfo") as info:
            names = [line.partition(":")[2].strip() for line in info if line.startswith("model name")]
    except OSError:
        return "cpu"
    return names[0] if names else "cpu"
