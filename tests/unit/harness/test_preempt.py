"""Being asked to stop: who may ask whether, and what the master hears."""

from __future__ import annotations

import time

import pytest

from determined import core
from determined.common import api


@pytest.fixture
def session(master):
    opened = api.Session(master.url, "t")
    yield opened
    opened.close()


def asked(preempt: core.PreemptContext) -> bool:
    """Poll until the answer is yes, as a training loop does; False when it never is."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if preempt.should_preempt():
            return True
    return False


class Worker(core.DummyDistributedContext):
    """A worker that hears what its chief says."""

    def __init__(self, chief_says: bool) -> None:
        super().__init__()
        self.rank, self.size, self._chief_says = 1, 2, chief_says

    def broadcast(self, stuff: object) -> object:
        return self._chief_says


def test_a_wish_to_preempt_is_heard_and_acknowledged_once(master, session):
    with core.PreemptContext(session, "7.c.1", core.DummyDistributedContext()) as preempt:
        assert not preempt.should_preempt()
        master.preempt()
        assert asked(preempt)
        assert preempt.should_preempt()
    assert master.posted("/allocations/7.c.1/signals/ack_preemption") == [{"allocationId": "7.c.1"}]


def test_the_acknowledgement_may_wait_for_a_checkpoint(master, session):
    master.preempt()
    with core.PreemptContext(session, "7.c.1", core.DummyDistributedContext()) as preempt:
        while not preempt.should_preempt(auto_ack=False):
            time.sleep(0.01)
        assert master.posted("/ack_preemption") == []
        preempt.acknowledge_preemption_signal()
        preempt.acknowledge_preemption_signal()
    assert len(master.posted("/ack_preemption")) == 1


def test_asking_never_waits_for_the_network_after_the_first_answer(master, session):
    with core.PreemptContext(session, "7.c.1", core.DummyDistributedContext()) as preempt:
        preempt.should_preempt()
        started = time.monotonic()
        for _ in range(1000):
            preempt.should_preempt()
        assert time.monotonic() - started < 0.5


def test_workers_do_what_the_chief_says_and_leave_the_master_alone(master, session):
    with core.PreemptContext(session, "7.c.1", Worker(chief_says=True)) as preempt:
        assert preempt.should_preempt()
    assert master.calls == []


def test_in_chief_only_mode_a_worker_may_not_ask(session):
    mode = core.PreemptMode.ChiefOnly
    preempt = core.PreemptContext(session, "7.c.1", Worker(chief_says=True), mode).start()
    with pytest.raises(RuntimeError, match="should_preempt was called from non-chief"):
        preempt.should_preempt()


def test_in_workers_ask_master_mode_each_worker_asks_for_itself(master, session):
    mode = core.PreemptMode.WorkersAskMaster
    with core.PreemptContext(session, "7.c.1", Worker(chief_says=False), mode) as preempt:
        assert not preempt.should_preempt()
        master.preempt()
        assert asked(preempt)


def test_before_the_start_there_is_no_answer(session):
    with pytest.raises(RuntimeError, match="cannot call should_preempt before start"):
        core.PreemptContext(session, "7.c.1", core.DummyDistributedContext()).should_preempt()


def test_off_the_cluster_the_chosen_mode_still_counts():
    mode = core.PreemptMode.ChiefOnly
    context = core.init(distributed=Worker(False), preempt_mode=mode)
    with context, pytest.raises(RuntimeError, match="non-chief"):
        context.preempt.should_preempt()


def test_off_the_cluster_nobody_preempts():
    with core.init() as context:
        assert not context.preempt.should_preempt()
