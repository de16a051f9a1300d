"""The rank of a worker, and collectives for small objects between the workers of a trial. Not for tensors."""

from __future__ import annotations

import os
from typing import Any

from determined import constants
from determined.core._star import Star, open_local_star, open_star


class DistributedContext:
    """The rank of this worker, and collectives for small objects.

    Every collective must be called by all ranks in the same order. Objects have to be picklable. Ranks may be
    processes, on one machine or several, or threads of one process. Lists are in the order of ranks; those of one
    machine in the order of local ranks.
    """

    def __init__(
        self,
        *,
        rank: int,
        size: int,
        local_rank: int,
        local_size: int,
        cross_rank: int,
        cross_size: int,
        chief_ip: str | None = None,
        pub_port: int | None = None,
        pull_port: int | None = None,
        port_offset: int = 0,
        force_tcp: bool = False,
    ) -> None:
        self.rank = rank
        self.size = size
        self.local_rank = local_rank
        self.local_size = local_size
        self.cross_rank = cross_rank
        self.cross_size = cross_size
        self._chief_ip = chief_ip
        self._check()
        self._closed = False
        one_machine = size == local_size
        assert one_machine or chief_ip is not None, (
            f"chief_ip is needed when the workers are on several machines (size {size}, local_size {local_size})"
        )
        pub_port = (pub_port or constants.INTER_TRAIN_PROCESS_COMM_PORT_1) + port_offset
        pull_port = (pull_port or constants.INTER_TRAIN_PROCESS_COMM_PORT_2) + port_offset
        self._all: Star | None = None
        self._local: Star | None = None
        if size > 1 and one_machine and not force_tcp:
            self._all = open_local_star(f"{pub_port}", rank, size)
        elif size > 1:
            self._all = open_star(chief_ip or "127.0.0.1", pub_port, rank, size)
        if local_size > 1 and one_machine:
            self._local = self._all
        elif local_size > 1:
            self._local = open_local_star(f"{pull_port}-{_machine(cross_rank)}", local_rank, local_size)

    def _check(self) -> None:
        facts = {
            name: getattr(self, name)
            for name in ("rank", "size", "local_rank", "local_size", "cross_rank", "cross_size")
        }
        missing = [name for name, value in facts.items() if value is None]
        if missing:
            raise ValueError(f"all six rank numbers are needed; missing: {', '.join(missing)}")
        for place, whole in (("rank", "size"), ("local_rank", "local_size"), ("cross_rank", "cross_size")):
            if not 0 <= facts[place] < facts[whole]:
                raise ValueError(f"{place} must be at least 0 and below {whole}: {facts[place]} of {facts[whole]}")

    @classmethod
    def from_horovod(cls, hvd: Any, chief_ip: str | None = None) -> DistributedContext:
        """Ranks from an initialised horovod module (`horovod.torch` or another)."""
        return cls(
            rank=hvd.rank(),
            size=hvd.size(),
            local_rank=hvd.local_rank(),
            local_size=hvd.local_size(),
            cross_rank=hvd.cross_rank(),
            cross_size=hvd.cross_size(),
            chief_ip=chief_ip or os.environ.get("DET_CHIEF_IP"),
        )

    @classmethod
    def from_deepspeed(cls, chief_ip: str | None = None) -> DistributedContext:
        """Ranks from the variables that DeepSpeed's launcher sets."""
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")
        return cls._from_names(names, chief_ip)

    @classmethod
    def from_torch_distributed(cls, chief_ip: str | None = None) -> DistributedContext:
        """Ranks from the variables that torch's launcher sets."""
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE")
        return cls._from_names(names, chief_ip)

    @classmethod
    def from_tf_config(cls) -> tuple[DistributedContext, Any]:
        raise RuntimeError("TF_CONFIG is not supported by this release; start the workers with torch or horovod")

    @classmethod
    def _from_names(cls, names: tuple[str, ...], chief_ip: str | None) -> DistributedContext:
        missing = [name for name in names if name not in os.environ]
        if missing:
            raise ValueError(f"not started by the expected launcher: {', '.join(missing)} not set")
        rank, size, local_rank, local_size, cross_rank, cross_size = (int(os.environ[name]) for name in names)
        return cls(
            rank=rank,
            size=size,
            local_rank=local_rank,
            local_size=local_size,
            cross_rank=cross_rank,
            cross_size=cross_size,
            chief_ip=chief_ip or os.environ.get("DET_CHIEF_IP"),
        )

    @property
    def _is_chief(self) -> bool:
        return self.rank == 0

    @property
    def _is_local_chief(self) -> bool:
        return self.local_rank == 0

    def close(self) -> None:
        """Close the connections to the other ranks. May be called again."""
        if not self._closed:
            self._closed = True
            for star in {self._all, self._local} - {None}:
                assert star is not None
                star.close()

    def get_rank(self) -> int:
        return self.rank

    def get_local_rank(self) -> int:
        return self.local_rank

    def get_size(self) -> int:
        return self.size

    def get_num_agents(self) -> int:
        """Number of machines."""
        return self.cross_size

    def gather(self, stuff: Any) -> list[Any] | None:
        """Every rank's object on rank 0, None elsewhere."""
        return self._all.gather(stuff) if self._all else [stuff]

    def gather_local(self, stuff: Any) -> list[Any] | None:
        """The same within one machine."""
        return self._local.gather(stuff) if self._local else [stuff]

    def allgather(self, stuff: Any) -> list[Any]:
        """Every rank's object on every rank."""
        return self._all.allgather(stuff) if self._all else [stuff]

    def allgather_local(self, stuff: Any) -> list[Any]:
        """The same within one machine."""
        return self._local.allgather(stuff) if self._local else [stuff]

    def broadcast(self, stuff: Any) -> Any:
        """Rank 0's object on every rank."""
        return self._all.broadcast(stuff) if self._all else stuff

    def broadcast_local(self, stuff: Any = None) -> Any:
        """The object of local rank 0 on every rank of the machine."""
        return self._local.broadcast(stuff) if self._local else stuff


def _machine(cross_rank: int) -> str:
    """A name that is the same for all ranks of one machine. `cross_rank` is not, when machines have unequal numbers of
    ranks: it counts only the machines that have a rank with this local rank."""
    return os.environ.get("DET_RESOURCES_ID") or str(cross_rank)


class DummyDistributedContext(DistributedContext):
    """One worker on its own."""

    def __init__(self) -> None:
        super().__init__(rank=0, size=1, local_rank=0, local_size=1, cross_rank=0, cross_size=1)
