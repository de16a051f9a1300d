"""Being asked to stop: who may ask whether, and what the master hears."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from determined import core
from determined.common import api
from determined.core import _metrics
from tests.unit.harness.conftest import Master, until

SEARCHED = {"name": "adaptive_asha", "metric": "loss", "max_length": {"batches": 8}}


@pytest.fixture
def session(master: Master) -> Iterator[api.Session]:
    opened = api.Session(master.url, "t")
    yield opened
    opened.close()


def asked(preempt: core.PreemptContext) -> bool:
    """Poll until the answer is yes, as a training loop does; False when it never is."""
    deadline = time.monotonic() + 60
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


def test_a_wish_to_preempt_is_heard_and_acknowledged_once(master: Master, session: api.Session) -> None:
    with core.PreemptContext(session, "7.c.1", core.DummyDistributedContext()) as preempt:
        assert not preempt.should_preempt()
        master.preempt()
        assert asked(preempt)
        assert preempt.should_preempt()
    assert master.posted("/allocations/7.c.1/signals/ack_preemption") == [{"allocationId": "7.c.1"}]


def test_the_acknowledgement_may_wait_for_a_checkpoint(master: Master, session: api.Session) -> None:
    master.preempt()
    with core.PreemptContext(session, "7.c.1", core.DummyDistributedContext()) as preempt:
        while not preempt.should_preempt(auto_ack=False):
            time.sleep(0.01)
        assert master.posted("/ack_preemption") == []
        preempt.acknowledge_preemption_signal()
        preempt.acknowledge_preemption_signal()
    assert len(master.posted("/ack_preemption")) == 1


@pytest.mark.alone
def test_asking_never_waits_for_the_network_after_the_first_answer(master: Master, session: api.Session) -> None:
    with core.PreemptContext(session, "7.c.1", core.DummyDistributedContext()) as preempt:
        preempt.should_preempt()
        started = time.monotonic()
        for _ in range(1000):
            preempt.should_preempt()
        assert time.monotonic() - started < 5


def test_workers_do_what_the_chief_says_and_leave_the_master_alone(master: Master, session: api.Session) -> None:
    with core.PreemptContext(session, "7.c.1", Worker(chief_says=True)) as preempt:
        assert preempt.should_preempt()
    assert master.calls == []


def test_in_chief_only_mode_a_worker_may_not_ask(session: api.Session) -> None:
    mode = core.PreemptMode.ChiefOnly
    preempt = core.PreemptContext(session, "7.c.1", Worker(chief_says=True), mode).start()
    with pytest.raises(RuntimeError, match="should_preempt was called from non-chief"):
        preempt.should_preempt()


def test_in_workers_ask_master_mode_each_worker_asks_for_itself(master: Master, session: api.Session) -> None:
    mode = core.PreemptMode.WorkersAskMaster
    with core.PreemptContext(session, "7.c.1", Worker(chief_says=False), mode) as preempt:
        assert not preempt.should_preempt()
        master.preempt()
        assert asked(preempt)


def test_before_the_start_there_is_no_answer(session: api.Session) -> None:
    with pytest.raises(RuntimeError, match="cannot call should_preempt before start"):
        core.PreemptContext(session, "7.c.1", core.DummyDistributedContext()).should_preempt()


def test_off_the_cluster_the_chosen_mode_still_counts() -> None:
    mode = core.PreemptMode.ChiefOnly
    context = core.init(distributed=Worker(False), preempt_mode=mode)
    with context, pytest.raises(RuntimeError, match="non-chief"):
        context.preempt.should_preempt()


def test_off_the_cluster_nobody_preempts() -> None:
    with core.init() as context:
        assert not context.preempt.should_preempt()


@pytest.mark.filterwarnings("ignore:core_context.searcher:FutureWarning")
def test_a_trial_that_its_search_stops_hears_so_before_it_trains_on(on_cluster: Callable[..., Master]) -> None:
    master = on_cluster(searcher=SEARCHED)
    with core.init() as context:
        assert not context.preempt.should_preempt()
        context.train.report_validation_metrics(1, {"loss": 0.5})
        assert not context.preempt.should_preempt(), "the search lets it go on"
        master.answers["/metrics"] = (200, {"stop": True})
        context.train.report_validation_metrics(2, {"loss": 0.5})
        assert context.preempt.should_preempt()
        assert list(context.searcher.operations()) == []
    assert master.posted("/ack_preemption") == [], "nobody has asked for its slots"


def test_a_trial_that_is_stopped_and_whose_slots_are_wanted_acknowledges_that(
    on_cluster: Callable[..., Master],
) -> None:
    master = on_cluster(searcher=SEARCHED)
    master.answers["/metrics"] = (200, {"stop": True})
    with core.init() as context:
        context.train.report_validation_metrics(2, {"loss": 0.5})
        assert context.preempt.should_preempt(auto_ack=False)
        master.preempt()
        watcher = context.preempt._watcher
        assert watcher is not None
        until(lambda: watcher.preempted)
        context.preempt.acknowledge_preemption_signal()
    assert len(master.posted("/ack_preemption")) == 1


@pytest.mark.alone
def test_while_the_gateway_is_away_a_decision_is_waited_for_once(
    on_cluster: Callable[..., Master], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_metrics, "DECISION_S", 5.0)
    master = on_cluster(searcher=SEARCHED)
    with core.init() as context:
        assert not context.preempt.should_preempt()
        master.stop()
        waited = []
        for step in (1, 2, 3):
            context.train.report_validation_metrics(step, {"loss": 0.5})
            started = time.monotonic()
            assert not context.preempt.should_preempt()
            waited.append(time.monotonic() - started)
        assert waited[0] > 4.9
        assert max(waited[1:]) < 4.5
        master.answers["/metrics/batch"] = (200, {"stop": True})
        master.start()
        until(context.preempt.should_preempt)


@pytest.mark.alone
def test_where_no_search_decides_on_validations_asking_waits_for_no_answer(
    on_cluster: Callable[..., Master], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_metrics, "DECISION_S", 30.0)
    master = on_cluster()
    with core.init() as context:
        assert not context.preempt.should_preempt()
        master.stop()
        context.train.report_validation_metrics(1, {"loss": 0.5})
        started = time.monotonic()
        assert not context.preempt.should_preempt()
        assert time.monotonic() - started < 15
        master.start()


def test_ranks_that_each_ask_the_master_do_not_part_from_each_other(on_cluster: Callable[..., Master]) -> None:
    """The chief alone reports, and would stop where the others go on."""
    master = on_cluster(searcher=SEARCHED)
    master.answers["/metrics"] = (200, {"stop": True})

    class Chief(core.DummyDistributedContext):
        def __init__(self) -> None:
            super().__init__()
            self.size = 2

    with core.init(distributed=Chief(), preempt_mode=core.PreemptMode.WorkersAskMaster) as context:
        context.train.report_validation_metrics(1, {"loss": 0.5})
        assert not context.preempt.should_preempt()
