"""The GPUs of this host: NVIDIA's by NVML, or by nvidia-smi where NVML's Python library is not installed; AMD's by
rocm-smi. A host without the tool has none; a tool that hangs is reported in the log."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import Any

from resolute.proto.errors import InvalidConfig
from resolute.proto.pool import Slot

NVIDIA_SMI = ("nvidia-smi", "--query-gpu=index,name,uuid", "--format=csv,noheader")
ROCM_SMI = ("rocm-smi", "--showid", "--showproductname", "--showuniqueid", "--json")
ANSWER_S = 30


def nvidia() -> tuple[Slot, ...]:
    found = _nvml()
    return parse_nvidia(_output_of(NVIDIA_SMI)) if found is None else found


def rocm() -> tuple[Slot, ...]:
    return parse_rocm(_output_of(ROCM_SMI))


def parse_nvidia(listing: str) -> tuple[Slot, ...]:
    """`0, NVIDIA H200, GPU-8c4d…` a line."""
    rows = [[cell.strip() for cell in line.split(",")] for line in listing.splitlines() if line.count(",") == 2]
    return tuple(Slot(int(index), "cuda", brand, uuid) for index, brand, uuid in rows)


def parse_rocm(listing: str) -> tuple[Slot, ...]:
    """A JSON object with one entry per card. Releases differ in the spelling of its fields, and in the text before
    it."""
    start = listing.find("{")
    try:
        cards = json.loads(listing[start:]) if start >= 0 else {}
    except ValueError:
        return ()
    found = {int(name[4:]): _lowered(card) for name, card in cards.items() if re.fullmatch(r"card\d+", name)}
    return tuple(
        Slot(number, "rocm", card.get("card series") or card.get("card model") or "AMD GPU", _rocm_uuid(card, number))
        for number, card in sorted(found.items())
    )


def _lowered(card: Any) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in card.items()} if isinstance(card, dict) else {}


def _rocm_uuid(card: dict[str, str], number: int) -> str:
    """The id for ROCR_VISIBLE_DEVICES; the card's number when the card has no unique id."""
    unique = card.get("unique id", "").removeprefix("0x")
    return f"GPU-{unique}" if re.fullmatch(r"[0-9a-fA-F]+", unique) else str(number)


def _nvml() -> tuple[Slot, ...] | None:
    """The GPUs by NVML; None when NVML cannot be used."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    try:
        handles = [pynvml.nvmlDeviceGetHandleByIndex(number) for number in range(pynvml.nvmlDeviceGetCount())]
        return tuple(
            Slot(number, "cuda", _text(pynvml.nvmlDeviceGetName(handle)), _text(pynvml.nvmlDeviceGetUUID(handle)))
            for number, handle in enumerate(handles)
        )
    finally:
        pynvml.nvmlShutdown()


def _text(found: str | bytes) -> str:
    """Older releases of the library give bytes."""
    return found.decode() if isinstance(found, bytes) else found


def _output_of(command: tuple[str, ...]) -> str:
    """The stdout of the tool; empty when the tool is not installed, or fails. Raises InvalidConfig when it hangs."""
    tool = shutil.which(command[0])
    if tool is None:
        return ""
    try:
        answer = subprocess.run([tool, *command[1:]], capture_output=True, text=True, timeout=ANSWER_S, check=False)
    except subprocess.TimeoutExpired:
        raise InvalidConfig(
            f"{command[0]} did not answer within {ANSWER_S} s; RESOLUTE_AGENT_GPU=false does without"
        ) from None
    return answer.stdout if answer.returncode == 0 else ""
