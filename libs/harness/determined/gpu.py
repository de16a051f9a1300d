"""NVIDIA devices of this machine, as nvidia-smi sees them; none where it is not installed."""

from __future__ import annotations

import csv
import logging
import subprocess
from typing import NamedTuple

logger = logging.getLogger("determined.gpu")

MEBIBYTE = 1 << 20
gpu_fields = ["index", "uuid", "utilization.gpu", "memory.used", "memory.total"]
warned_fields: set[str] = set()


class GPU(NamedTuple):
    """One device; load and memory use are fractions."""

    id: int
    uuid: str
    load: float
    memoryUtil: float


class GPUProcess(NamedTuple):
    """A process that holds memory of a device."""

    pid: int
    process_name: str
    gpu_uuid: str
    used_memory: str


def float_or_default(fields: dict[str, str], key: str, default: float) -> float:
    """The number in a field; `default`, with one warning for each key, where the driver gives none."""
    try:
        return float(fields[key])
    except (KeyError, ValueError):
        if key not in warned_fields:
            warned_fields.add(key)
            logger.warning("nvidia-smi gives no number for %s: %r", key, fields.get(key))
        return default


def _query(option: str, fields: list[str]) -> tuple[list[dict[str, str]], str]:
    command = ["nvidia-smi", f"--query-{option}={','.join(fields)}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except FileNotFoundError:
        return [], "nvidia-smi is not installed"
    except (subprocess.SubprocessError, OSError) as problem:
        return [], f"nvidia-smi failed: {problem}"
    rows = csv.reader(answer.stdout.splitlines(), skipinitialspace=True)
    return [dict(zip(fields, row, strict=False)) for row in rows], ""


def get_gpus() -> tuple[list[GPU], str]:
    """The devices, and the reason when there are none."""
    rows, problem = _query("gpu", gpu_fields)
    return [_gpu(row) for row in rows], problem


def get_gpus_and_free_bytes() -> list[tuple[GPU, float]]:
    """Each device, and how many bytes of its memory are free."""
    rows, _ = _query("gpu", gpu_fields)
    return [(_gpu(row), _free_mebibytes(row) * MEBIBYTE) for row in rows]


def _free_mebibytes(row: dict[str, str]) -> float:
    return float_or_default(row, "memory.total", 0.0) - float_or_default(row, "memory.used", 0.0)


def _gpu(row: dict[str, str]) -> GPU:
    total = float_or_default(row, "memory.total", 1.0) or 1.0
    return GPU(
        id=int(row["index"]),
        uuid=row["uuid"],
        load=float_or_default(row, "utilization.gpu", 0.0) / 100,
        memoryUtil=float_or_default(row, "memory.used", 0.0) / total,
    )


def get_gpu_uuids() -> list[str]:
    return [gpu.uuid for gpu in get_gpus()[0]]


def get_gpu_processes() -> list[GPUProcess]:
    fields = ["pid", "process_name", "gpu_uuid", "used_memory"]
    rows, _ = _query("compute-apps", fields)
    return [GPUProcess(int(r["pid"]), r["process_name"], r["gpu_uuid"], r["used_memory"]) for r in rows]
