"""Whether the file that an entrypoint names is in the context, where that can be known."""

from __future__ import annotations

import pytest

from resolute.config import check_entrypoint
from resolute.proto.errors import InvalidConfig

FILES = frozenset({"train.py", "model_def.py", "pkg/__init__.py", "pkg/trial.py", "run.sh", "app/__main__.py"})

FOUND_OR_UNKNOWABLE = [
    "python3 train.py --lr 0.1", "python train.py", "/usr/bin/python3.11 -u -W ignore ./train.py", "model_def:Trial",
    "pkg.trial:Trial", "pkg:Trial", "python3 -m determined.launch.torch_distributed --trial model_def:Trial",
    "python3 -m determined.launch.torch_distributed --nnodes 1 -- --trial model_def:Trial",
    "python3 -m determined.launch.torch_distributed python3 train.py",
    "python3 -m determined.launch.torch_distributed train.py",
    "python3 -m some.module", "python3 -c pass", "cd src && python3 other.py", "bash run.sh", "./run.sh", "sleep 5",
    "OMP_NUM_THREADS=1 python3 train.py", ["python3", "train.py"], "python3 /opt/train.py", "python3 ../train.py",
    "installed.package.trial:Trial", "python3 app", "python3 $FILE", 'python3 "unclosed', None,
]  # fmt: skip

MISSING = {
    "python3 tarin.py": "the file tarin.py",
    "python3 -u src/train.py": "the file src/train.py",
    "python3 -W ignore nope.py": "the file nope.py",
    "LR=1 python3 nope.py": "the file nope.py",
    "mnist:Trial": "the file mnist.py, for the trial class mnist:Trial,",
    "pkg.other:Trial": "the file pkg/other.py",
    "python3 -m determined.launch.torch_distributed --trial mnist:Trial": "the file mnist.py",
    "python3 -m determined.launch.torch_distributed -- python3 nope.py": "the file nope.py",
    "python3 -m determined.launch.torch_distributed --nnodes 1 -- nope.py": "the file nope.py",
    "bash nope.sh": "the file nope.sh",
    "./nope.sh": "the file nope.sh",
}


@pytest.mark.parametrize("entrypoint", FOUND_OR_UNKNOWABLE)
def test_what_is_there_or_cannot_be_known_passes(entrypoint: str | list[str] | None) -> None:
    check_entrypoint(entrypoint, FILES)


@pytest.mark.parametrize(("entrypoint", "missing"), MISSING.items())
def test_what_is_certainly_missing_is_refused(entrypoint: str, missing: str) -> None:
    with pytest.raises(InvalidConfig, match=r"^entrypoint: expected ") as refused:
        check_entrypoint(entrypoint, FILES)
    assert missing in refused.value.message


def test_a_startup_hook_may_fetch_the_script() -> None:
    check_entrypoint("python3 fetched.py", {"startup-hook.sh"})


def test_an_argv_is_checked_word_by_word() -> None:
    with pytest.raises(InvalidConfig, match=r"the file a b\.py"):
        check_entrypoint(["python3", "a b.py"], FILES)


@pytest.mark.parametrize("launcher", ["tensorflow", "horovodrun"])
def test_a_launcher_of_another_release_is_refused_with_what_to_write_in_its_place(launcher: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        check_entrypoint(["python3", "-m", f"determined.launch.{launcher}", "--trial", "m:T"], {"m.py"})
    assert f"found determined.launch.{launcher}" in refused.value.message
    assert "determined.launch.torch_distributed" in refused.value.message
