"""Ranks that train until they are asked to stop: `python stops.py MODE FOLDER`; each leaves the batch it stopped at.

They meet at every other batch, as ranks do that average gradients, and the last one is always behind.
"""

from __future__ import annotations

import pathlib
import sys
import time

from determined import core

MODE, PLACE = core.PreemptMode[sys.argv[1]], pathlib.Path(sys.argv[2])
MANY = 100_000


def asked(context: core.Context) -> bool:
    if MODE is not core.PreemptMode.ChiefOnly:
        return context.preempt.should_preempt()
    # The chief alone may ask; how it tells the others is the program's.
    answer = context.preempt.should_preempt() if context.distributed.rank == 0 else None
    return bool(context.distributed.broadcast(answer))


def main() -> None:
    PLACE.mkdir(parents=True, exist_ok=True)
    distributed = core.DistributedContext.from_torch_distributed()
    rank = distributed.rank
    with core.init(distributed=distributed, preempt_mode=MODE) as context:
        if MODE is core.PreemptMode.ChiefOnly and rank:
            try:
                context.preempt.should_preempt()
            except RuntimeError as problem:
                (PLACE / f"refused.{rank}").write_text(str(problem))
        for batch in range(MANY):
            time.sleep(0.03 if rank == distributed.size - 1 else 0.001)
            if batch % 2 and MODE is not core.PreemptMode.WorkersAskMaster:
                context.distributed.allgather(None)
            stop = asked(context)
            if batch == 3:
                (PLACE / f"training.{rank}").touch()
            if stop:
                (PLACE / f"stopped.{rank}").write_text(str(batch))
                return


if __name__ == "__main__":
    main()
