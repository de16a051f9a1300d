"""Gangs: at which addresses launchers find one another, and what they make of a rank that fails."""

from __future__ import annotations

import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest

from determined.launch import _layout
from determined.launch._conduct import Case, Chief, Member
from determined.launch._gang import Gang, Place
from determined.launch._gang_link import Link, LinkClosed
from determined.launch._interfaces import Candidate, NoSuchInterface, here, in_order
from determined.launch._own_name import Unreachable, resolve_own_name_to
from determined.launch._preflight import CannotTalk, Listener, Peer, Probe, choose
from determined.launch._verdict import ECHO_S, LOST, WELL, WORDS_MAX, Failure, LastError, Verdict, failure_of
from determined.launch._verdict import verdict as first_of
from determined.launch._workers import Worker, Workers, wrapped

LO, ETH, DOCKER = Candidate("lo", "127.0.0.1"), Candidate("eth0", "10.0.0.1"), Candidate("docker0", "172.17.0.1")

NO_INFO: Any = None
"""In place of what a cluster says of a task, where nothing is asked of it."""


def said(case: Case, now: float) -> Verdict:
    """There has to be one."""
    verdict = case.verdict(now)
    assert verdict is not None
    return verdict


@hypothesis.given(st.lists(st.integers(1, 8), min_size=1, max_size=12))
def test_each_rank_is_somewhere_once_and_knows_its_neighbours(slots: list[int]) -> None:
    ranks = _layout.ranks(slots)
    assert [rank.rank for rank in ranks] == list(range(sum(slots)))
    assert [rank for container in range(len(slots)) for rank in _layout.of_container(slots, container)] == ranks
    for rank in ranks:
        across = [other for other in ranks if other.local_rank == rank.local_rank]
        assert across.index(rank) == rank.cross_rank
        assert len(across) == rank.cross_size


# ---------------------------------------------------------------- addresses


def test_the_kernel_knows_the_interfaces() -> None:
    assert Candidate("lo", "127.0.0.1") in here()


def test_the_address_the_agent_reports_comes_first_and_loopback_last() -> None:
    assert in_order([LO, DOCKER, ETH], "10.0.0.1", None) == [ETH, DOCKER, LO]
    assert in_order([LO, DOCKER, ETH], "127.0.0.1", None) == [LO, DOCKER, ETH]


def test_a_configured_interface_is_the_only_one_and_must_be_there() -> None:
    assert in_order([LO, DOCKER, ETH], "10.0.0.1", "docker0, lo") == [DOCKER, LO]
    with pytest.raises(NoSuchInterface, match="ib0 is not here; there are: docker0, eth0, lo"):
        in_order([LO, DOCKER, ETH], "10.0.0.1", "ib0")


def peers(*candidates: tuple[Candidate, ...]) -> list[Peer]:
    return [Peer(rank, f"agent-{rank}", 2, 4000 + rank, mine) for rank, mine in enumerate(candidates)]


def test_each_container_is_met_at_the_first_address_that_all_others_reach() -> None:
    other, third = Candidate("eth1", "10.0.0.2"), Candidate("eth1", "10.0.0.3")
    three = peers((DOCKER, ETH), (other,), (third,))
    reached = {
        0: {1: ["10.0.0.2"], 2: ["10.0.0.3"]},
        1: {0: ["10.0.0.1", "172.17.0.1"], 2: ["10.0.0.3"]},
        2: {0: ["10.0.0.1"], 1: ["10.0.0.2"]},
    }
    assert choose(three, reached) == [ETH, other, third]


def test_who_cannot_reach_whom_is_told_with_port_and_addresses() -> None:
    with pytest.raises(CannotTalk) as told:
        choose(peers((ETH,), (Candidate("eth0", "10.0.0.2"),)), {0: {1: []}, 1: {0: ["10.0.0.1"]}})
    assert str(told.value) == "agent-0 cannot reach agent-1 on port 4001 at 10.0.0.2 (eth0)"


def test_an_address_where_another_container_answers_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("determined.launch._preflight.PATIENCE_S", 2.5)
    secret = b"of this gang"
    listeners = [Listener(rank, 3, secret) for rank in range(3)]
    stranger = Listener(1, 3, b"of another gang")
    try:
        right = Peer(1, "agent-1", 2, listeners[1].port, (LO,))
        at_another = Peer(2, "agent-2", 2, listeners[1].port, (LO,))
        assert Probe(0, [right, at_another], secret).run() == {1: ["127.0.0.1"], 2: []}
        assert Probe(0, [right._replace(port=stranger.port)], secret).run() == {1: []}
    finally:
        for listener in (*listeners, stranger):
            listener.close()


def test_a_held_port_is_there_for_the_worker_and_for_nobody_else() -> None:
    gang = Gang(0, [Place("agent-0", 2, "lo", "127.0.0.1")], {}, NO_INFO)
    port = gang.hold_port()
    with socket.create_server(("127.0.0.1", port)) as server:  # with SO_REUSEADDR, as every server here
        assert server.getsockname()[1] == port
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", port))
    gang.close()


# ---------------------------------------------------------------- the name of a host, which Horovod looks up


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[Path, Path]]:
    """Call it to let this host's name stand for an address; tables of hosts and of mounts are files of the test."""
    hosts, mounts = tmp_path / "hosts", tmp_path / "mounts"
    mounts.touch()

    def let_it_be(known: str, *, own_table: bool) -> tuple[Path, Path]:
        hosts.write_text(f"{known}\tthis-host\n")
        mounts.write_text(f"36 35 98:0 / {hosts} rw - ext4 /dev/root rw\n" if own_table else "")
        answer = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (known, 0))]
        monkeypatch.setattr("socket.gethostname", lambda: "this-host")
        monkeypatch.setattr("socket.getaddrinfo", lambda *_: answer)
        return hosts, mounts

    return let_it_be


def test_a_containers_own_table_of_hosts_is_made_to_say_where_it_is_met(
    named: Callable[..., tuple[Path, Path]],
) -> None:
    hosts, mounts = named("172.17.0.4", own_table=True)
    assert resolve_own_name_to("10.0.0.1", hosts, mounts) is None
    assert hosts.read_text() == "10.0.0.1\tthis-host\n172.17.0.4\tthis-host\n"


def test_nothing_is_changed_where_the_name_is_right_or_all_are_on_one_machine(
    named: Callable[..., tuple[Path, Path]],
) -> None:
    hosts, mounts = named("10.0.0.1", own_table=True)
    assert resolve_own_name_to("10.0.0.1", hosts, mounts) is None
    assert resolve_own_name_to("127.0.0.1", hosts, mounts) is None
    assert hosts.read_text() == "10.0.0.1\tthis-host\n"


def test_the_table_of_a_machine_is_never_written_to(named: Callable[..., tuple[Path, Path]]) -> None:
    hosts, mounts = named("127.0.1.1", own_table=False)
    with pytest.raises(Unreachable, match=r"have /etc/hosts say that this-host is 10\.0\.0\.1"):
        resolve_own_name_to("10.0.0.1", hosts, mounts)
    hosts, mounts = named("172.17.0.4", own_table=False)
    assert "others reach it at 10.0.0.1" in str(resolve_own_name_to("10.0.0.1", hosts, mounts))
    assert hosts.read_text() == "172.17.0.4\tthis-host\n"


# ---------------------------------------------------------------- the line between launchers


def test_messages_come_whole_and_in_order_and_a_hang_up_is_noticed() -> None:
    one, other = map(Link, socket.socketpair())
    soon = time.monotonic() + 60
    one.send({"kind": "beat"})
    one.send({"kind": "go", "facts": {"port": 1}})
    one.send({"kind": "verdict"})
    assert other.wait_for("go", deadline=soon)["facts"] == {"port": 1}
    assert other.left_over() == [{"kind": "verdict"}]
    threading.Timer(0.05, one.close).start()
    with pytest.raises(LinkClosed):
        other.wait_for("go", deadline=soon)
    other.close()


def test_the_chief_hears_every_launcher_that_has_something_to_say() -> None:
    pairs = {container: socket.socketpair() for container in (1, 2, 3)}
    places = [Place(f"agent-{container}", 1, "lo", "127.0.0.1") for container in range(4)]
    gang = Gang(0, places, {container: Link(mine) for container, (mine, _) in pairs.items()}, NO_INFO)
    others = {container: Link(theirs) for container, (_, theirs) in pairs.items()}
    chief = Chief(gang)
    now = time.monotonic()
    chief.done()
    for heard_together in ((2,), (1, 3)):
        for container in heard_together:
            others[container].send({"kind": "done"})
        chief.receive((gang.links[container] for container in heard_together), now)
    assert chief.verdict(now) == WELL
    for link in (*gang.links.values(), *others.values()):
        link.close()


def test_a_launcher_tells_the_chief_how_many_of_its_ranks_still_run() -> None:
    here, there = map(Link, socket.socketpair())
    places = [Place(f"agent-{container}", 4, "lo", "127.0.0.1") for container in range(2)]
    chief = Chief(Gang(0, places, {1: here}, NO_INFO))
    member = Member(Gang(1, places, {0: there}, NO_INFO))
    chief.running(1, 10.0)
    chief.failed(failure(0, 10.0, "RuntimeError: Connection reset by peer"), 10.0)
    chief.running(0, 10.0)
    member.running(1, 10.0)
    chief.receive([here], 10.0)
    assert chief.verdict(10.0 + ECHO_S - 0.1) is None
    member.failed(failure(1, 10.0, "RuntimeError: Connection reset by peer"), 10.0)
    member.running(0, 10.0)
    chief.receive([here], 10.0)
    assert chief.look_again_s(10.0) < 1, "no rank is left, although the gang has eight slots"
    for link in (here, there):
        link.close()


# ---------------------------------------------------------------- why a gang ends


def failure(rank: int, at: float, words: str = "", code: int = 1) -> Failure:
    return Failure(f"rank {rank}", "agent-1", code, words, at)


BOOM = failure(2, 10.5, "ValueError: boom")
ECHO = failure(0, 10.1, "horovod.common.exceptions.HorovodInternalError: [..] Connection closed by peer")


def test_the_first_to_fail_by_itself_is_told_and_not_those_who_saw_it_go() -> None:
    assert first_of([ECHO, BOOM]).line == "ERROR: rank 2 on agent-1 ended with exit code 1: ValueError: boom"
    assert first_of([failure(3, 10.6, "OSError: later"), BOOM]).line.endswith("boom")
    assert first_of([ECHO, failure(1, 10.0, code=137)]) == Verdict(
        137, "ERROR: rank 1 on agent-1 ended with exit code 137 (SIGKILL)"
    )
    assert first_of([ECHO, failure(1, 9, code=143)._replace(at=11)]).line.startswith("ERROR: rank 0")


def test_a_failure_keeps_its_place_in_time_on_another_clock() -> None:
    assert failure_of(BOOM.as_message(now=11.0), now=500.0).at == 499.5


def test_the_chief_listens_a_moment_for_the_one_that_came_first() -> None:
    case = Case(2)
    case.running(0, 2)
    case.running(1, 2)
    assert case.verdict(10.0) is None
    case.failed(ECHO, 10.2)
    assert case.verdict(11.0) is None, "all that is known is an echo: something must have happened before"
    case.failed(BOOM, 11.1)
    assert said(case, 11.1).line.endswith("ValueError: boom")


def test_the_chief_listens_longer_while_the_rank_that_failed_may_yet_have_to_end() -> None:
    case = Case(2)
    case.running(1, 1)
    for rank in (0, 1):
        case.failed(failure(rank, 10.0, "ConnectionError: rank 2 has gone"), 10.0)
    assert case.verdict(10.0 + ECHO_S - 0.1) is None
    case.failed(failure(2, 9.9, "ValueError: boom"), 10.0 + ECHO_S - 0.1)
    assert said(case, 10.0 + ECHO_S - 0.1).line.endswith("ValueError: boom")


def test_the_chief_does_not_wait_for_more_once_every_rank_has_ended() -> None:
    """However many slots the gang has: torch's flags may start fewer ranks, and one rank may have ended well."""
    case = Case(2)
    for container in (0, 1):
        case.running(container, 2)
        case.failed(failure(container, 10.0, "RuntimeError: Connection reset by peer"), 10.0)
    assert case.verdict(11.0) is None
    for container in (0, 1):
        case.running(container, 0)
    assert said(case, 11.0).line.startswith("ERROR: rank 0 ")


def test_the_failure_of_a_launcher_is_no_ranks_end() -> None:
    """With more ranks than slots, or with its launcher among the failures, the gang still waits for its ranks."""
    case = Case(1)
    case.running(0, 1)
    case.failed(failure(0, 10.0, "ConnectionError: rank 2 has gone"), 10.0)
    case.failed(Failure("torch.distributed.run", "agent-1", 143, "", 10.0), 10.0)
    assert case.verdict(10.0 + ECHO_S - 0.1) is None
    case.failed(BOOM, 11.0)
    case.running(0, 0)
    assert said(case, 11.0).line.endswith("ValueError: boom")


def test_a_gang_ends_well_when_every_container_has() -> None:
    case = Case(2)
    case.done(0)
    assert case.verdict(1.0) is None
    case.done(1)
    case.lost(1, "agent-1 (10.0.0.2)", "is gone", 2.0)
    assert case.verdict(99.0) == WELL


def test_a_container_that_is_lost_is_told_with_its_address() -> None:
    case = Case(2)
    case.lost(1, "agent-1 (10.0.0.2)", "has not been heard of for 5 s", 10.0)
    case.failed(ECHO, 10.1)
    assert case.verdict(11.0) == Verdict(1, "ERROR: container 1 on agent-1 (10.0.0.2) has not been heard of for 5 s")


def test_workers_that_were_asked_to_end_did_not_fail() -> None:
    case = Case(2)
    case.failed(failure(0, 10.0, code=143), 10.0)
    case.stopped("agent-1")
    assert said(case, 10.0).line.startswith("INFO: the workers end")
    assert said(case, 10.0).code == 143


def test_a_failure_is_told_although_the_cluster_stops_the_rest_of_the_gang_at_once() -> None:
    case = Case(2)
    case.failed(BOOM, 10.0)
    case.stopped("agent-0")
    assert said(case, 10.0).line.endswith("ValueError: boom")


TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 3, in <module>
    1 / 0
ZeroDivisionError: division by zero
[W1121 ProcessGroup] destroy_process_group() was not called
""".splitlines()


@pytest.mark.parametrize("prefix", ["", "[rank2]: "])
def test_last_words_are_the_error_that_a_traceback_ends_in(prefix: str) -> None:
    words = LastError()
    words.read("loading", 1.0)
    assert words.at_end(2.0) == ("loading", 2.0)
    for line in TRACEBACK:
        words.read(prefix + line, 3.0)
    assert words.at_end(3.5) == ("ZeroDivisionError: division by zero", 3.0)


def test_a_rank_is_heard_out_however_its_last_words_are_written() -> None:
    crew = Workers("agent-1")
    program = f"raise ValueError({chr(0x1F980) * WORDS_MAX!r})"
    rank = wrapped("3", [sys.executable, "-c", program])
    crew.start([Worker("rank 3", rank, {"PYTHONIOENCODING": "utf-8"})])
    while not crew.over:
        crew.receive(select.select(crew.sources(), [], [], 1)[0])
    crew.end()
    (failure,) = crew.failures
    assert (failure.who, failure.code, len(failure.words)) == ("rank 3", 1, WORDS_MAX)


def test_a_traceback_that_the_program_got_over_is_not_what_it_ended_of() -> None:
    words = LastError()
    for line in [*TRACEBACK, "no space left"]:
        words.read(line, 3.0)
    assert words.at_end(60.0) == ("no space left", 60.0)


@pytest.mark.parametrize("code", [1, 3, 137, LOST])
def test_no_gang_that_failed_ends_with_zero(code: int) -> None:
    assert first_of([failure(0, 1.0, code=code)]).code > 0


STOPS_ALL_WHEN_ONE_ENDS = """
import pathlib, subprocess, sys, time

def rank(number, program):
    words = [sys.executable, "-m", "determined.launch.wrap_rank", str(number), sys.executable, "-c", program]
    return subprocess.Popen(words, start_new_session=True)

failing = "import pathlib; pathlib.Path('failing').touch()"
slow_to_end = "import atexit, time; atexit.register(time.sleep, 2)"
failed = rank(1, f"{slow_to_end}; {failing}; raise ValueError('seven is enough')")
while not pathlib.Path("failing").exists():
    time.sleep(0.01)
rank(0, "raise ConnectionError('rank 1 has gone')").wait()
failed.terminate()
failed.wait()
sys.exit(1)
"""


def until_over(crew: Workers) -> None:
    while not crew.over:
        crew.receive(select.select(crew.sources(), [], [], 1)[0])


def test_a_rank_that_failed_is_not_stopped_by_torchs_launcher_before_it_has_ended_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch's launcher stops all ranks when the first ends, which may be one that lost its connection to the one that
    failed: that one is slower to end."""
    monkeypatch.chdir(tmp_path)
    crew = Workers("agent-1")
    crew.start([Worker("torch's launcher", (sys.executable, "-c", STOPS_ALL_WHEN_ONE_ENDS), {}, starts_ranks=True)])
    until_over(crew)
    crew.end()
    assert (
        first_of(crew.failures).line == "ERROR: rank 1 on agent-1 ended with exit code 1: ValueError: seven is enough"
    )


CATCHES_SIGTERM = """
import pathlib, signal, sys

def leave(*_):
    sys.exit(7)

signal.signal(signal.SIGTERM, leave)
pathlib.Path("ready").touch()
signal.pause()
"""


PASSES_SIGTERM_ON = """
import signal, subprocess, sys

rank = subprocess.Popen(sys.argv[1:], start_new_session=True)
signal.signal(signal.SIGTERM, lambda *_: rank.terminate())
sys.exit(rank.wait())
"""


@pytest.mark.parametrize("starts_ranks", [False, True])
def test_ranks_are_sent_sigterm_at_once_when_the_cluster_stops_their_launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, starts_ranks: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    rank = wrapped("3", [sys.executable, "-c", CATCHES_SIGTERM])
    program = (sys.executable, "-c", PASSES_SIGTERM_ON, *rank) if starts_ranks else rank
    crew = Workers("agent-1")
    crew.start([Worker("a worker", program, {}, starts_ranks)])
    while not Path("ready").exists():
        crew.receive(select.select(crew.sources(), [], [], 0.01)[0])
    began_at = time.monotonic()
    crew.stop(60)
    crew.end()
    assert [(one.who, one.code) for one in crew.failures] == [("rank 3", 7)]
    assert time.monotonic() - began_at < ECHO_S


STOPS_ITS_RANK = """
import pathlib, subprocess, sys, time

rank = subprocess.Popen(sys.argv[1:], start_new_session=True)
while not pathlib.Path("ready").exists() and rank.poll() is None:
    time.sleep(0.01)
began_at = time.monotonic()
rank.terminate()
code = rank.wait()
pathlib.Path("took_s").write_text(str(time.monotonic() - began_at))
sys.exit(code)
"""


def test_a_rank_that_torchs_launcher_will_restart_is_stopped_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The failure of another rank is forgiven, so nothing else would end this one before ECHO_S is over."""
    monkeypatch.chdir(tmp_path)
    rank = wrapped("3", [sys.executable, "-c", CATCHES_SIGTERM])
    program = (sys.executable, "-c", STOPS_ITS_RANK, *rank)
    crew = Workers("agent-1")
    crew.start([Worker("torch's launcher", program, {}, starts_ranks=True, restarts_ranks=True)])
    until_over(crew)
    crew.end()
    assert [(one.who, one.code) for one in crew.failures] == [("rank 3", 7)]
    assert float(Path("took_s").read_text()) < ECHO_S


RANKS_THAT_END = """
import pathlib, subprocess, sys, time

programs = ("pass", "pass", "raise ConnectionError('rank 1 has gone')")
wrap = [sys.executable, "-m", "determined.launch.wrap_rank"]
ranks = [subprocess.Popen([*wrap, str(rank), sys.executable, "-c", code]) for rank, code in enumerate(programs)]
for rank in ranks:
    rank.wait()
while not pathlib.Path("leave").exists():
    time.sleep(0.01)
"""


def test_no_rank_runs_once_all_have_ended_although_their_launcher_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    crew = Workers("agent-1")
    crew.start([Worker("torch's launcher", (sys.executable, "-c", RANKS_THAT_END), {}, starts_ranks=True)])
    most = 0
    try:
        while len(crew.begun) < 3 or crew.running:
            crew.receive(select.select(crew.sources(), [], [], 1)[0])
            most = max(most, crew.running)
            assert not crew.over
        assert most > 0
        assert [one.who for one in crew.failures] == ["rank 2"], "two of the three ended well"
    finally:
        Path("leave").touch()  # the launcher waits for it, also where the test has failed
    until_over(crew)
    crew.end()
