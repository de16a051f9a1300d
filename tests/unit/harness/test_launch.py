"""Launchers: what the command line means, and how workers' lines are marked."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from determined import _info
from determined.launch import torch_distributed, wrap_rank


@pytest.mark.parametrize(
    ("words", "parsed"),
    [
        (["--trial", "m:T"], ([], "m:T", [])),
        (["--", "--trial", "m:T"], ([], "m:T", [])),
        (["python3", "train.py", "--lr", "1"], ([], None, ["python3", "train.py", "--lr", "1"])),
        (["--rdzv_endpoint=h:1", "--", "python3", "t.py"], (["--rdzv_endpoint=h:1"], None, ["python3", "t.py"])),
    ],
)
def test_what_stands_before_the_dashes_belongs_to_torch(words, parsed):
    assert torch_distributed.parse(words) == parsed


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--trial", "m:T", "more"], 1, "extra arguments"),
        ([], 1, "empty script"),
        (["--no-such-option", "train.py"], 2, "unrecognized arguments"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(words, code, message, capsys):
    with pytest.raises(SystemExit) as ended:
        torch_distributed.parse(words)
    assert ended.value.code == code
    assert message in capsys.readouterr().err


def cluster(addresses: list[str], rank: int, slots: list[int]) -> _info.ClusterInfo:
    rendezvous = _info.RendezvousInfo(addresses, rank, slots)
    return _info.ClusterInfo("m", "c", "a", [0], "t", "t.1", "token", "TRIAL", rendezvous_info=rendezvous)


def test_each_machine_starts_its_share_and_finds_the_chief():
    command = torch_distributed.torch_run(cluster(["10.0.0.1", "10.0.0.2"], 1, [4, 2]), ["--tee=3"])
    assert {"--nnodes=2", "--nproc_per_node=2", "--node_rank=1", "--master_addr=10.0.0.1"} <= set(command)
    assert command[-1] == "--tee=3"
    alone = torch_distributed.torch_run(cluster(["10.0.0.1"], 0, [4]), [])
    assert {"--nnodes=1", "--nproc_per_node=4", "--master_addr=localhost"} <= set(alone)


def test_lines_begin_with_the_rank_however_they_end():
    target = io.BytesIO()
    wrap_rank.prefix_lines(io.BytesIO(b"one\ntwo\r50 %\rthree\r\n\nlast"), target, b"[rank=3] ")
    lines = ["one", "two", "50 %", "three", "", "last"]
    assert target.getvalue().decode() == "".join(f"[rank=3] {line}\n" for line in lines)


def test_the_exit_code_is_that_of_the_program(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    program = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(5)"
    command = [sys.executable, "-m", "determined.launch.wrap_rank", "NONE,RANK", sys.executable, "-c", program]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout, answer.stderr) == (5, "[rank=1] out\n", "[rank=1] err\n")
