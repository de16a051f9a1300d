"""Launchers: what their command lines mean, what they tell the frameworks, and how workers' lines are marked."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from determined import _info
from determined.exec._entrypoint import missing
from determined.launch import _horovod_plan, _layout, autohorovod, deepspeed, horovod, torch_distributed, wrap_rank
from determined.launch._command_line import parse
from determined.launch._gang import Gang, Place, Refused, variables
from tests import needs
from tests.unit.harness.conftest import Master


@pytest.mark.parametrize(
    ("words", "overrides", "trial", "script"),
    [
        (["--trial", "m:T"], (), "m:T", ()),
        (["--", "--trial", "m:T"], (), "m:T", ()),
        (["python3", "train.py", "--lr", "1"], (), None, ("python3", "train.py", "--lr", "1")),
        (["--rdzv_endpoint=h:1", "--", "python3", "t.py"], ("--rdzv_endpoint=h:1",), None, ("python3", "t.py")),
        (["--cycle-time-ms", "2", "--", "--trial", "m:T"], ("--cycle-time-ms", "2"), "m:T", ()),
        (["python3", "t.py", "--", "mine"], (), None, ("python3", "t.py", "--", "mine")),
    ],
)
def test_what_stands_before_the_dashes_belongs_to_the_framework(
    words: list[str], overrides: tuple[str, ...], trial: str | None, script: tuple[str, ...]
) -> None:
    job = parse("torch_distributed", words)
    assert (job.overrides, job.trial, job.script) == (overrides, trial, script)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--trial", "m:T", "more"], 1, "extra arguments"),
        ([], 1, "empty script"),
        (["--no-such-option", "train.py"], 2, "unrecognized arguments"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(
    words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse("torch_distributed", words)
    assert ended.value.code == code
    assert message in capsys.readouterr().err


HOPELESS = [{"reason": "EXITED_REASON_MISCONFIGURED"}]


@pytest.mark.parametrize("words", [[], ["--no-such-option", "train.py"]])
def test_a_command_line_that_makes_no_sense_is_not_tried_again(
    on_cluster: Callable[..., Master], words: list[str]
) -> None:
    master = on_cluster()
    with pytest.raises(SystemExit):
        torch_distributed.main(words)
    assert master.posted("/trials/41/early_exit") == HOPELESS


def test_nor_is_a_script_that_is_not_there_when_it_would_run_alone(
    on_cluster: Callable[..., Master], capsys: pytest.CaptureFixture[str]
) -> None:
    master = on_cluster()
    assert torch_distributed.main(["python3", "tarin.py"]) == 1
    assert "ERROR: entrypoint: there is no file 'tarin.py'" in capsys.readouterr().err
    assert master.posted("/trials/41/early_exit") == HOPELESS


def test_autohorovod_is_horovod_with_its_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[list[str]] = []

    def main(words: Iterable[str]) -> int:
        heard.append(list(words))
        return 0

    monkeypatch.setattr(horovod, "main", main)
    autohorovod.main(["--autotune", "--", "--trial", "m:T"])
    autohorovod.main(["python3", "t.py"])
    assert heard == [
        ["--autotune", "--", "--autohorovod", "--trial", "m:T"],
        ["--", "--autohorovod", "python3", "t.py"],
    ]
    job = parse("horovod", heard[0], (horovod.AUTO,))
    assert (job.overrides, job.trial, set(job.flags)) == (("--autotune",), "m:T", {"--autohorovod"})


def test_a_script_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    assert missing(["python3", "train.py"]) is None
    assert "no file 'tarin.py'" in str(missing(["python3", "tarin.py"]))
    assert "cannot run 'pyhton3'" in str(missing(["pyhton3", "train.py"]))
    assert "cannot run 'nosuch'" in str(missing(("sh", "-c", "nosuch --fast")))
    for line in ("echo hello", "MINE=5 nosuch", "test -e x && nosuch", "cd sub; nosuch"):
        assert missing(("sh", "-c", line)) is None


def gang(*slots: int, me: int = 0, config: dict[str, Any] | None = None) -> Gang:
    """Of containers on hosts 10.0.0.1, 10.0.0.2, ..."""
    places = [Place(f"agent-{n}", count, "eth0", f"10.0.0.{n + 1}") for n, count in enumerate(slots)]
    trial = _info.TrialInfo(1, 1, 1, {}, config or {}, 0, 1, False, None)
    return Gang(me, places, {}, _info.ClusterInfo("m", "c", "a", [0], "t", "t.1", "s", "TRIAL", trial_info=trial))


def test_each_container_starts_its_share_with_torch_and_finds_the_chief() -> None:
    command = torch_distributed.torch_run(gang(4, 2, me=1), 29400, ["--tee=3"])
    assert {"--nnodes=2", "--nproc_per_node=2", "--node_rank=1", "--master_addr=10.0.0.1"} <= set(command)
    assert command[-1] == "--tee=3", "of equal flags torch takes the last, which is the user's"
    alone = torch_distributed.torch_run(gang(4), 29400, [])
    assert {"--nnodes=1", "--nproc_per_node=4", "--master_addr=localhost"} <= set(alone)


@pytest.mark.parametrize(
    ("overrides", "restarts"),
    [((), False), (("--max_restarts=2",), True), (("--max-restarts", "3"), True), (("--max_restarts", "0"), False)],
)
def test_ranks_that_torch_is_to_restart_itself_are_left_to_it(overrides: tuple[str, ...], restarts: bool) -> None:
    facts = {"master_port": 4711, "comm_port_1": 4712, "comm_port_2": 4713}
    job = parse("torch_distributed", [*overrides, "--", "python3", "t.py"])
    (worker,) = torch_distributed.workers(gang(2, 2), job, facts)
    assert worker.restarts_ranks is restarts


def test_ranks_are_counted_container_by_container_however_uneven() -> None:
    found = [(rank.rank, rank.local_rank, rank.cross_rank, rank.cross_size) for rank in _layout.ranks([1, 3, 2])]
    assert found == [(0, 0, 0, 3), (1, 0, 1, 3), (2, 1, 0, 2), (3, 2, 0, 1), (4, 0, 2, 3), (5, 1, 1, 2)]


@needs.horovod
@pytest.mark.parametrize("slots", [[2], [2, 2], [1, 3, 2], [4, 1]])
def test_horovod_counts_ranks_as_we_do(slots: list[int]) -> None:
    from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
    from horovod.runner.gloo_run import create_slot_env_vars

    hosts = ",".join(f"{_horovod_plan.host(container)}:{count}" for container, count in enumerate(slots))
    theirs = [create_slot_env_vars(slot) for slot in get_host_assignments(parse_hosts(hosts), sum(slots))]
    assert [_horovod_plan.variables(rank) for rank in _layout.ranks(slots)] == theirs


@needs.horovod
def test_horovods_flags_become_what_its_workers_read() -> None:
    optimizations = {"tensor_fusion_threshold": 64, "tensor_fusion_cycle_time": 1, "auto_tune_tensor_fusion": False}
    overrides = ["--fusion-threshold-mb", "1", "--timeline-filename", "t.json"]
    found = horovod._tuning(_horovod_plan.words_of(optimizations), overrides, 4)
    expected = {"HOROVOD_FUSION_THRESHOLD": str(1 << 20), "HOROVOD_CYCLE_TIME": "1.0", "HOROVOD_TIMELINE": "t.json"}
    assert expected.items() <= found.items()
    tuned = horovod._tuning(_horovod_plan.words_of({**optimizations, "auto_tune_tensor_fusion": True}), [], 4)
    assert tuned["HOROVOD_AUTOTUNE"] == "1"
    assert "HOROVOD_FUSION_THRESHOLD" not in horovod._tuning(_horovod_plan.words_of(optimizations), ["--autotune"], 4)
    assert "HOROVOD_FUSION_THRESHOLD" not in tuned, "Horovod does not tune what is set"


@needs.horovod
def test_the_users_own_variables_stand_before_the_configurations_defaults_and_behind_flags(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOROVOD_FUSION_THRESHOLD", "7")
    defaults = _horovod_plan.words_of({"tensor_fusion_threshold": 64, "tensor_fusion_cycle_time": 1})
    assert "HOROVOD_FUSION_THRESHOLD" not in horovod._tuning(defaults, [], 4)
    found = horovod._tuning(defaults, ["--fusion-threshold-mb", "2", "--network-interfaces", "eth1"], 4)
    assert (found["HOROVOD_FUSION_THRESHOLD"], found["HOROVOD_GLOO_IFACE"]) == (str(2 << 20), "eth1")


@needs.horovod
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--no-such-flag"], "Horovod does not understand --no-such-flag"),
        (["-H", "a:2,b:2"], "-H: which hosts and how many workers is for resources.slots_per_trial to say"),
        (["-np", "8"], "-np: which hosts"),
        (["--mpi"], "--mpi: which hosts"),
    ],
)
def test_flags_of_horovod_that_cannot_be_honoured_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(Refused, match=message):
        horovod._tuning([], words, 4)


def test_an_image_without_horovod_or_with_half_of_it_is_told_what_would_help(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "horovod", None)
    assert "Horovod is not installed for" in str(_horovod_plan.why_not_here())
    assert not _horovod_plan.is_here_for_torch()
    for name in [name for name in sys.modules if name.partition(".")[0] == "horovod"]:
        monkeypatch.delitem(sys.modules, name)
    (tmp_path / "horovod").mkdir()
    (tmp_path / "horovod" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert "No module named 'horovod.runner'" in str(_horovod_plan.why_not_here())
    assert "determined.launch.torch_distributed" in str(_horovod_plan.why_not_here())
    sys.modules.pop("horovod", None)


def test_ranks_share_the_threads_of_their_container_unless_the_user_counts_them() -> None:
    around = {"OMP_NUM_THREADS": "8", "GLOO_SOCKET_IFNAME": "mine"}
    assert variables(gang(4, 2), around) == {
        **{"OMP_NUM_THREADS": "2", "NCCL_SOCKET_IFNAME": "eth0", "DET_CHIEF_IP": "10.0.0.1"}
    }
    chosen = {"environment": {"environment_variables": {"cpu": ["OMP_NUM_THREADS=8"], "cuda": []}}}
    assert "OMP_NUM_THREADS" not in variables(gang(4, config=chosen), around)


def test_deepspeeds_workers_find_what_it_reads() -> None:
    facts = {"master_port": 4711, "comm_port_1": 4712, "comm_port_2": 4713}
    found = deepspeed.workers(gang(2, 2, me=1), parse("deepspeed", ["--module", "--", "pkg.train", "--lr", "1"]), facts)
    assert [worker.name for worker in found] == ["rank 2", "rank 3"]
    expected = {
        **{"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_SIZE": "2", "CROSS_RANK": "1", "CROSS_SIZE": "2"},
        **{"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "4711", "DET_CHIEF_IP": "10.0.0.1", "USE_DEEPSPEED": "1"},
        "INTER_TRAIN_PROCESS_COMM_PORT_1": "4712",
    }
    assert expected.items() <= found[1].variables.items()
    assert found[1].argv[-5:] == (sys.executable, "-m", "pkg.train", "--lr", "1")
    for words in ("--hostfile=x", "--module=yes"):
        with pytest.raises(Refused, match=words.partition("=")[0]):
            deepspeed.options([words])


def test_lines_begin_with_the_rank_however_they_end() -> None:
    target = io.BytesIO()
    wrap_rank.prefix_lines(io.BytesIO(b"one\ntwo\r50 %\rthree\r\n\nlast"), target, b"[rank=3] ")
    lines = ["one", "two", "50 %", "three", "", "last"]
    assert target.getvalue().decode() == "".join(f"[rank=3] {line}\n" for line in lines)


def test_the_exit_code_is_that_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    program = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(5)"
    command = [sys.executable, "-m", "determined.launch.wrap_rank", "NONE,RANK", sys.executable, "-c", program]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout, answer.stderr) == (5, "[rank=1] out\n", "[rank=1] err\n")


def test_no_line_is_lost_when_a_programs_output_is_read_long_after_its_end(tmp_path: Path) -> None:
    """While the disk of a host is full, the agent reads nothing of what its tasks print."""
    printed = [f"{number:05}" for number in range(10_000)]  # as printed they fit in a pipe, with prefixes they do not
    program = "for number in range(10_000): print(f'{number:05}')"
    command = [sys.executable, "-m", "determined.launch.wrap_rank", "1", sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as wrapper:
        with pytest.raises(subprocess.TimeoutExpired):
            wrapper.wait(timeout=wrap_rank.DRAIN_S + 1.5)
        said, _ = wrapper.communicate()
    assert said.splitlines() == [f"[rank=1] {line}" for line in printed]


def test_a_process_that_the_program_left_behind_and_prints_without_pause_does_not_hold_up_its_end() -> None:
    left_behind = "import os\nwhile True: os.write(1, b'more\\n' * 1000); os.write(2, b'more\\n' * 1000)"
    program = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {left_behind!r}]); sys.exit(5)"
    command = [sys.executable, "-m", "determined.launch.wrap_rank", "1", sys.executable, "-c", program]
    answer = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=wrap_rank.HOLD_S / 2, check=False
    )
    assert answer.returncode == 5


class Output:
    """One that is never copied to its end, on a clock that goes on as it is waited for."""

    now = 0.0

    def __init__(self, *, behind: bool) -> None:
        self._behind = behind

    def note_end(self) -> None:
        return

    def is_alive(self) -> bool:
        return True

    def is_behind(self) -> bool:
        return self._behind

    def join(self, timeout: float | None = None) -> None:
        Output.now += timeout or 0.0


@pytest.mark.parametrize(
    ("behind", "held_s"),
    [((True, True), wrap_rank.HOLD_S), ((True, False), wrap_rank.HOLD_S), ((False, False), wrap_rank.DRAIN_S)],
)
def test_both_outputs_share_one_deadline_and_only_a_copy_that_is_behind_is_waited_for_long(
    behind: tuple[bool, ...], held_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Output, "now", 0.0)
    wrap_rank.finish([Output(behind=one) for one in behind], lambda: Output.now)
    assert Output.now == pytest.approx(held_s, abs=0.1)


def test_a_copy_is_behind_until_it_has_copied_what_the_program_itself_had_printed() -> None:
    """However slowly; what a process that was left behind prints later is not waited for."""
    reader, writer = (os.fdopen(fd, mode, buffering=0) for fd, mode in zip(os.pipe(), ("rb", "wb"), strict=True))
    copy = wrap_rank.Copy(reader, io.BytesIO(), b"", lambda _: None)
    copy.is_alive = lambda: True  # type: ignore[method-assign]
    writer.write(b"of the program\n")
    copy.note_end()
    writer.write(b"later\n")
    assert copy.is_behind()
    copy.read1()
    copy._hear_line("of the program")
    assert copy.is_behind(), "read, but not written yet"
    writer.write(b"without pause\n")
    copy.read1()
    copy._hear_line("later")
    assert not copy.is_behind()
    assert copy.is_behind(), "it writes, and gets no further"
    for end in (reader, writer):
        end.close()
