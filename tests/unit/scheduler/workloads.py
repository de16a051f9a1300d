"""Jobs that come back: what is preempted is asked for again, as searches do, until nothing moves any more."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from resolute.proto.pool import AcknowledgePreemption
from resolute.scheduling.allocation import HOLDING, State
from resolute.scheduling.policies import Policy
from tests.unit.scheduler.stories import PoolStory, asks, exited, hello

PATIENCE = 2_000
"""Steps after which a workload that still moves never comes to rest."""


@dataclass
class Workload:
    policy: Policy
    agents: Mapping[str, int]
    story: PoolStory = field(init=False)
    wishes: dict[str, tuple[int, dict[str, object]]] = field(default_factory=dict)
    """What was asked for, by allocation, to ask for it again."""
    order: deque[str] = field(default_factory=deque)
    """Allocations in the order in which they were given slots."""
    preemptions: int = 0
    _numbers: count[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.story = PoolStory(self.policy)
        for name, slots in self.agents.items():
            self.story.when(hello(name, slots))

    def submit(self, job: str, sizes: Sequence[int], **asked: object) -> None:
        for slots in sizes:
            self._ask(slots, {"job": job, **asked})

    def _ask(self, slots: int, asked: dict[str, object]) -> None:
        name = f"{asked['job']}-{next(self._numbers)}"
        self.wishes[name] = (slots, asked)
        self.story.when(asks(name, slots, **asked))  # type: ignore[arg-type]
        self._note()

    def _note(self) -> None:
        holding = [a.id for a in self.story.pool.allocations.values() if a.state in HOLDING]
        self.order = deque([*(i for i in self.order if i in holding), *(i for i in holding if i not in self.order)])

    def settle(self) -> None:
        """Everybody who is asked to go goes, and asks again."""
        for _ in range(PATIENCE):
            going = next((a.id for a in self.story.pool.allocations.values() if a.state is State.PREEMPTING), None)
            if going is None:
                return
            self.preemptions += 1
            self.story.when(AcknowledgePreemption("default", going))
            self._exit(going)
            slots, asked = self.wishes[going]
            self._ask(slots, asked)
        raise AssertionError(f"it never comes to rest: {self.held()}")

    def _exit(self, allocation_id: str) -> None:
        for rank in range(len(self.story.pool.allocations[allocation_id].shares)):
            self.story.when(exited(self.story, allocation_id, rank))
        self._note()

    def finish_oldest(self) -> str:
        """The one that has held slots for longest is done; answers its job."""
        job = self.oldest()
        self._exit(self.order[0])
        self.settle()
        return job

    def oldest(self) -> str:
        """The job of the one that has held slots for longest."""
        return self.story.pool.allocations[self.order[0]].request.job_id

    def held(self) -> dict[str, int]:
        """Slots by job."""
        found = Counter[str]()
        for allocation in self.story.pool.allocations.values():
            if allocation.state in HOLDING:
                found[allocation.request.job_id] += allocation.request.slots
        return dict(found)
