"""Identifiers, seeds and samples as functions of the experiment's seed: the same search gives the same ones anywhere.

No generator is kept between trials. Each trial has its own, made from the seed and the trial's index, so that a
replay needs to remember nothing but how many trials there were.
"""

from __future__ import annotations

import hashlib
import re
from random import Random
from uuid import UUID

from resolute.proto import streams

_ALLOCATION = re.compile(r"^(\d+)\.[0-9a-f-]{36}\.(\d+)$")
_MOST_SEED = 2**31


def _bytes(*parts: object) -> bytes:
    return hashlib.sha256("/".join(map(str, parts)).encode()).digest()


def request_id(seed: int, index: int) -> str:
    """The search method's own name for the trial it asks for as number `index`."""
    return str(UUID(bytes=_bytes("request", seed, index)[:16], version=4))


def trial_seed(seed: int, index: int) -> int:
    return int.from_bytes(_bytes("trial", seed, index)[:8], "big") % _MOST_SEED


def sampler(seed: int, index: int) -> Random:
    """The chance from which trial `index` draws its hyperparameters."""
    return Random(int.from_bytes(_bytes("hparams", seed, index)[:8], "big"))


def job_id(experiment_id: int, seed: int) -> str:
    return str(UUID(bytes=_bytes("job", experiment_id, seed)[:16], version=4))


def task_id(experiment_id: int, request: str) -> str:
    return f"{experiment_id}.{request}"


def allocation_id(task: str, run_id: int) -> str:
    return f"{task}.{run_id}"


def experiment_of(allocation: str) -> int | None:
    """Whose allocation it is; None when it is not a trial's."""
    found = _ALLOCATION.match(allocation)
    return int(found[1]) if found else None


def external_stream(external_id: str) -> str:
    """The stream that says which unmanaged experiment has this external id."""
    return submission_stream(f"external id {external_id}")


def submission_stream(cause_id: str) -> str:
    return streams.SUBMISSION.stream(_bytes(cause_id).hex()[:32])
