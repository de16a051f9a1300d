"""What an entrypoint means."""

from __future__ import annotations

import pytest

from determined.exec._entrypoint import Command, TrialClass, from_command_line, interpret


@pytest.mark.parametrize(
    ("entrypoint", "slots", "job"),
    [
        (["python3", "train.py", "a b"], 1, Command(("python3", "train.py", "a b"))),
        ("python3 train.py --lr $LR", 1, Command(("sh", "-c", "python3 train.py --lr $LR"))),
        ("python3 train.py --lr 0.1", 1, Command(("python3", "train.py", "--lr", "0.1"))),
        ("FOO=1 python3 train.py", 1, Command(("sh", "-c", "FOO=1 python3 train.py"))),
        ("model_def:MNistTrial", 1, TrialClass("model_def:MNistTrial")),
        ("pkg.model_def:Outer.Inner", 0, TrialClass("pkg.model_def:Outer.Inner")),
        (
            "model_def:MNistTrial",
            2,
            Command(("python3", "-m", "determined.launch.torch_distributed", "--", "--trial", "model_def:MNistTrial")),
        ),
    ],
)
def test_an_entrypoint_is_an_argv_a_shell_line_or_a_trial_class(
    entrypoint: list[str] | str, slots: int, job: Command | TrialClass
) -> None:
    assert interpret(entrypoint, slots, "python3") == job


def test_a_trial_class_with_several_slots_is_started_by_horovod_where_it_is_there() -> None:
    found = interpret("model_def:MNistTrial", 2, "python3", "horovod")
    assert found == Command(("python3", "-m", "determined.launch.horovod", "--", "--trial", "model_def:MNistTrial"))


@pytest.mark.parametrize("entrypoint", [None, "", "  ", [], [1], 5])
def test_anything_else_is_refused_by_name(entrypoint: str | list[int] | int | None) -> None:
    with pytest.raises(ValueError, match="entrypoint"):
        interpret(entrypoint, 1, "python3")


def test_the_command_line_speaks_before_the_configuration() -> None:
    assert from_command_line(["--", "echo", "hi"], "model_def:T") == ["echo", "hi"]
    assert from_command_line([], "model_def:T") == "model_def:T"
