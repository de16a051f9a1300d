"""One trial on several agents: started by every launcher, ended together, and told what of.

The ranks only count, so that they start at once; the examples beside these tests train.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import time
from collections.abc import Sequence

import pytest

from tests import needs
from tests.integration.gangs.conftest import Gangs, Line, commands, environ

pytestmark = [pytest.mark.timeout(900), pytest.mark.together("gangs")]

HOROVOD = "python3 -m determined.launch.horovod"
TORCH = "python3 -m determined.launch.torch_distributed"
DEEPSPEED = "python3 -m determined.launch.deepspeed"


def texts(lines: Sequence[Line], beginning: str) -> list[str]:
    return [line.text for line in lines if line.text.startswith(beginning)]


def last_lines_of_launchers(lines: Sequence[Line], first_word: str = "ERROR: ") -> list[str]:
    """What each container printed last, without what the agent adds; which agent it was on is left open."""
    last: dict[str, str] = {}
    for line in lines:
        if not re.match(r"\w+: the task (ended|was stopped)|INFO: around:", line.text):
            last.setdefault(line.container, "")
            last[line.container] = re.sub(r"agent-\d", "an agent", line.text)
    return sorted(text for text in last.values() if text.startswith(first_word))


def seconds_to_die(lines: Sequence[Line]) -> float:
    """From the last words of the rank that dies to the end of its whole gang."""
    (dying,) = [line for line in lines if line.text.startswith("INFO: dying at")]
    return max(line.at for line in lines if line.text.startswith("ERROR: rank 2")) - dying.at


@needs.horovod
def test_horovod_ranks_on_two_agents_fail_together_and_go_on_from_their_checkpoint(gangs: Gangs) -> None:
    """With a hook, within another program, and with flags of Horovod's own."""
    launcher = f"./around.sh {HOROVOD} --fusion-threshold-mb 1 --cycle-time-ms 2 -- python3 count.py"
    state, restarts, lines = gangs.run(launcher, hyperparameters={"dies_of": "raise"})
    assert (state, restarts) == ("STATE_COMPLETED", 1)
    everybody = [[0, 0, "42"], [1, 1, "42"], [2, 0, "42"], [3, 1, "42"]]
    for rank, nearby in enumerate(([0, 1], [0, 1], [2, 3], [2, 3])):
        mine = [line for line in lines if line.rank == rank]
        said = f"INFO: everybody: {json.dumps(everybody)} nearby: {json.dumps(nearby)}"
        assert texts(mine, "INFO: everybody") == [said] * 2
        assert texts(mine, "INFO: counting on") == ["INFO: counting on from 0", "INFO: counting on from 5"]
        for told in texts(mine, "INFO: told"):
            variables = json.loads(told.partition("told: ")[2])
            assert (variables["HOROVOD_FUSION_THRESHOLD"], variables["HOROVOD_CYCLE_TIME"]) == (str(1 << 20), "2.0")
    reason = "ERROR: rank 2 on an agent ended with exit code 1: ValueError: seven is enough"
    assert last_lines_of_launchers(lines) == [reason] * 2
    assert texts(lines, "INFO: around: it ended") == [
        *["INFO: around: it ended with 1"] * 2,
        *["INFO: around: it ended with 0"] * 2,
    ]
    print(f"a rank that raises ends its gang in {seconds_to_die(lines):.2f} s")
    assert seconds_to_die(lines) < 45


@pytest.mark.parametrize(
    ("launcher", "death", "told"),
    [
        pytest.param(HOROVOD, "segfault", "exit code 139 (SIGSEGV)", marks=needs.horovod),
        pytest.param(DEEPSPEED, "exit", "exit code 3", marks=needs.deepspeed),
        (TORCH, "kill", "exit code 137 (SIGKILL)"),
    ],
)
def test_however_a_rank_dies_the_gang_ends_with_its_code(gangs: Gangs, launcher: str, death: str, told: str) -> None:
    state, restarts, lines = gangs.run(f"{launcher} python3 count.py", hyperparameters={"dies_of": death})
    assert (state, restarts) == ("STATE_COMPLETED", 1)
    assert last_lines_of_launchers(lines) == [f"ERROR: rank 2 on an agent ended with {told}"] * 2
    assert len(texts(lines, "INFO: counting on from 5")) == 4
    print(f"{launcher}: {death} of a rank ends its gang in {seconds_to_die(lines):.2f} s")
    assert seconds_to_die(lines) < 45


def test_a_gang_on_three_agents_fails_together_and_then_ends_well(gangs: Gangs) -> None:
    """The chief has more than one other to hear."""
    experiment_id = gangs.start(f"{TORCH} python3 count.py", slots=6, hyperparameters={"dies_of": "raise", "dying": 5})
    state, restarts, lines = gangs.end(experiment_id)
    assert (state, restarts) == ("STATE_COMPLETED", 1)
    reason = "ERROR: rank 5 on an agent ended with exit code 1: ValueError: seven is enough"
    assert last_lines_of_launchers(lines) == [reason] * 3
    assert {line.rank for line in lines if line.text == "INFO: counting on from 5"} == set(range(6))


def test_a_rank_that_finds_its_hyperparameters_invalid_ends_its_gang_which_is_not_tried_again(gangs: Gangs) -> None:
    state, restarts, lines = gangs.run(f"{TORCH} python3 count.py", hyperparameters={"dies_of": "invalid"})
    assert (state, restarts) == ("STATE_ERROR", 0), "a single search has no other trial"
    (reason,) = set(last_lines_of_launchers(lines))
    assert reason.startswith("ERROR: rank 2 on an agent ended with exit code 1: ")
    assert reason.endswith("InvalidHP: seven is too many")
    assert len(texts(lines, "INFO: counting on")) == 4
    assert seconds_to_die(lines) < 45


@needs.horovod
@pytest.mark.parametrize(("rank", "told"), [(0, "container 0 on an agent"), (2, "container 1 on an agent")])
def test_a_container_that_is_killed_is_missed_by_the_others(gangs: Gangs, rank: int, told: str) -> None:
    experiment_id = gangs.start(f"{HOROVOD} python3 count.py", hyperparameters={"waits": True})
    share = gangs.share(experiment_id, rank)
    token = _token(share)
    assert not any(token in word for _, words in commands() for word in words), "command lines are for everybody to see"
    killed_at = time.time()
    for pid in share:
        with contextlib.suppress(ProcessLookupError):  # its supervisor was faster
            os.kill(pid, signal.SIGKILL)
    state, restarts, lines = gangs.end(experiment_id)
    assert (state, restarts) == ("STATE_COMPLETED", 1)
    assert not any(token.decode() in line.text for line in lines)
    reason = f"ERROR: {told} (127.0.0.1) is gone: its launcher has ended without a word"
    assert reason in last_lines_of_launchers(lines)
    missed_s = next(line.at for line in lines if "is gone" in line.text) - killed_at
    print(f"a container that is killed is missed within {missed_s:.2f} s")
    assert missed_s < 45


def _token(share: Sequence[int]) -> bytes:
    """Of which the gang's secret is made."""
    return next(one.partition(b"=")[2] for one in environ(share[0]) if one.startswith(b"DET_SESSION_TOKEN="))


@needs.horovod
def test_a_host_that_falls_silent_is_missed_though_nothing_was_closed(gangs: Gangs) -> None:
    experiment_id = gangs.start(f"{HOROVOD} python3 count.py", hyperparameters={"waits": True})
    share = gangs.share(experiment_id, rank=2)
    stopped_at = time.time()
    for pid in share:
        os.kill(pid, signal.SIGSTOP)
    state, restarts, lines = gangs.end(experiment_id)
    assert (state, restarts) == ("STATE_COMPLETED", 1)
    missed = "has not been heard of for 15 s: its host is gone, or the network between"
    silent = f"ERROR: container 1 on an agent (127.0.0.1) {missed}"
    assert silent in last_lines_of_launchers(lines)
    missed_s = next(line.at for line in lines if "has not been heard of" in line.text) - stopped_at
    print(f"a host that falls silent is missed within {missed_s:.2f} s")
    assert missed_s < 60


@needs.horovod
def test_a_gang_that_is_killed_ends_at_once_and_did_not_fail(gangs: Gangs) -> None:
    experiment_id = gangs.start(f"{HOROVOD} python3 count.py", hyperparameters={"waits": True})
    gangs.share(experiment_id, rank=2)
    gangs.cluster.det("experiment", "kill", str(experiment_id))
    state, restarts, lines = gangs.end(experiment_id)
    assert (state, restarts) == ("STATE_CANCELED", 0)
    assert last_lines_of_launchers(lines) == []
    assert last_lines_of_launchers(lines, "INFO: the workers end"), [line.text for line in lines]


@pytest.fixture
def taken_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize(
    ("entrypoint", "config", "told"),
    [
        pytest.param(
            f"{HOROVOD} --no-such-flag -- python3 count.py",
            {},
            "Horovod does not understand --no-such-flag: horovod: error: unrecognized arguments: --no-such-flag",
            marks=needs.horovod,
        ),
        (f"{TORCH} -- no-such-program", {}, "entrypoint: cannot run 'no-such-program': No such file or directory"),
        (
            f"{TORCH} --master_port=TAKEN -- python3 count.py",
            {},
            "--master_port TAKEN cannot be used at 127.0.0.1: Address already in use",
        ),
        (
            f"{TORCH} python3 count.py",
            {"environment": {"dtrain_network_interface": "ib7"}},
            "the network interface ib7 is not here; there are: ",
        ),
    ],
)
def test_what_cannot_work_is_said_in_one_line_and_not_tried_again(
    gangs: Gangs, entrypoint: str, config: dict, told: str, taken_port: int
) -> None:
    state, restarts, lines = gangs.run(entrypoint.replace("TAKEN", str(taken_port)), **config)
    assert (state, restarts) == ("STATE_ERROR", 0)
    errors = last_lines_of_launchers(lines)
    assert len(errors) == 2, "each container says so"
    assert all(told.replace("TAKEN", str(taken_port)) in error for error in errors)
