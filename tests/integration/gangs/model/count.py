"""Ranks that count together, and one of which may die of it as its hyperparameters say.

They are told who they are by whichever launcher started them, and need no framework to count: they start at once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

from determined import InvalidHP, core

HOROVOD = {
    name: f"HOROVOD_{name.upper()}" for name in ("rank", "size", "local_rank", "local_size", "cross_rank", "cross_size")
}


def who_am_i() -> core.DistributedContext:
    if "USE_HOROVOD" in os.environ:
        numbers = {name: int(os.environ[variable]) for name, variable in HOROVOD.items()}
        return core.DistributedContext(**numbers, chief_ip=os.environ["DET_CHIEF_IP"])
    if "USE_DEEPSPEED" in os.environ:
        return core.DistributedContext.from_deepspeed()
    return core.DistributedContext.from_torch_distributed()


def last_count(context: core.Context) -> int:
    uuid = context.info.latest_checkpoint
    if uuid is None:
        return 0
    with context.checkpoint.restore_path(uuid) as folder:
        return int((folder / "count").read_text())


def die(how: str) -> None:
    if how == "raise":
        raise ValueError("seven is enough")
    if how == "exit":
        sys.exit(3)
    if how == "invalid":
        raise InvalidHP("seven is too many")
    os.kill(os.getpid(), {"kill": signal.SIGKILL, "segfault": signal.SIGSEGV}[how])


def main(context: core.Context) -> None:
    hparams = context.info.trial.hparams
    rank, first = context.distributed.rank, last_count(context)
    everybody = context.distributed.allgather((rank, context.distributed.local_rank, os.environ.get("FROM_HOOK")))
    print("everybody:", json.dumps(everybody), "nearby:", json.dumps(context.distributed.allgather_local(rank)))
    print("told:", json.dumps({name: value for name, value in os.environ.items() if name.startswith("HOROVOD_")}))
    print("counting on from", first)
    for count in range(first + 1, 11):
        context.distributed.allgather(count)
        if count == 5 and rank == 0:
            with context.checkpoint.store_path({"steps_completed": count}) as (folder, _):
                (folder / "count").write_text(str(count))
        if count == 7 and first == 0:
            context.distributed.allgather("the checkpoint is there")
            if rank == hparams.get("dying", 2) and "dies_of" in hparams:
                print("dying at", time.time(), flush=True)
                die(hparams["dies_of"])
            while "waits" in hparams:
                context.distributed.allgather(time.sleep(0.02))
    if rank == 0:
        context.train.report_validation_metrics(steps_completed=10, metrics={"loss": 1.0})


if __name__ == "__main__":
    with core.init(distributed=who_am_i()) as ready:
        main(ready)
