"""The start of a task: what is there when user code begins, and what is said when it cannot."""

from __future__ import annotations

import json
import pathlib
import time
from collections.abc import Callable
from typing import Any

from tests.integration.harness.conftest import Task
from tests.unit.harness.conftest import Master

SCRIPT = """
import json, os, sys, pathlib
print(json.dumps({
    "argv": sys.argv, "cwd": os.getcwd(), "name": __name__, "file": __file__,
    "hook": os.environ.get("FROM_HOOK"), "files": sorted(p.name for p in pathlib.Path(".").iterdir()),
}))
import helper
"""


def said(output: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    return found


def test_a_script_runs_in_its_context_directory(
    master: Master, task: Callable[..., Task], tgz: Callable[..., bytes]
) -> None:
    master.context = tgz({"train.py": SCRIPT, "helper.py": "print('helped')"}, {"train.py": 0o755})
    one = task()
    code, output = one.run("--", "python3", "train.py", "--lr", "0.1 and more")
    assert code == 0, output
    facts = said(output)
    assert facts["argv"] == ["train.py", "--lr", "0.1 and more"]
    assert facts["cwd"] == one.env["DET_WORKDIR"]
    assert facts["name"] == "__main__"
    assert facts["files"] == ["helper.py", "train.py"]
    assert "helped" in output


def test_an_entrypoint_of_the_configuration_may_be_a_shell_line(
    master: Master, task: Callable[..., Task], tgz: Callable[..., bytes]
) -> None:
    master.context = tgz({"train.py": "import sys; print('got', sys.argv[1])"})
    code, output = task({"entrypoint": "MINE=5; python3 train.py $MINE && exit 7"}).run()
    assert (code, output) == (7, "got 5\n")


def test_the_hook_is_sourced_before_the_program(
    master: Master, task: Callable[..., Task], tgz: Callable[..., bytes]
) -> None:
    hook = "echo hook runs; export FROM_HOOK='a b'; touch made-by-hook"
    master.context = tgz({"train.py": SCRIPT, "helper.py": "", "startup-hook.sh": hook})
    code, output = task({"entrypoint": ["python3", "train.py"]}).run()
    assert code == 0, output
    assert output.startswith("hook runs\n")
    assert said(output)["hook"] == "a b"
    assert "made-by-hook" in said(output)["files"]


def test_a_hook_that_fails_ends_the_task_with_its_code(
    master: Master, task: Callable[..., Task], tgz: Callable[..., bytes]
) -> None:
    master.context = tgz({"train.py": SCRIPT, "startup-hook.sh": "echo no good; exit 3"})
    code, output = task({"entrypoint": ["python3", "train.py"]}).run()
    assert code == 3
    assert "startup-hook.sh ended with exit code 3" in output
    assert "argv" not in output


def test_a_program_that_is_not_there_is_named(master: Master, task: Callable[..., Task]) -> None:
    code, output = task({"entrypoint": ["no-such-program"]}).run()
    assert code == 127
    assert "cannot run 'no-such-program': No such file or directory" in output


def test_an_entrypoint_that_is_none_is_refused_by_name(master: Master, task: Callable[..., Task]) -> None:
    code, output = task({"entrypoint": 5}).run()
    assert code == 1
    assert "ERROR: entrypoint: expected a command" in output


def test_a_token_the_master_does_not_know_ends_the_task_at_once(master: Master, task: Callable[..., Task]) -> None:
    master.statuses = [401]
    code, output = task({"entrypoint": ["true"]}).run()
    assert code == 1
    assert "ERROR: the master refused" in output


def test_a_program_that_raises_shows_its_own_traceback_only(
    master: Master, task: Callable[..., Task], tgz: Callable[..., bytes]
) -> None:
    master.context = tgz({"train.py": "def f():\n    1 / 0\nf()\n"})
    code, output = task().run("--", "python3", "train.py")
    assert code == 1
    assert "ZeroDivisionError" in output
    assert 'File "train.py", line 2, in f' in output
    assert "determined" not in output


def test_several_containers_meet_before_the_program_starts(
    master: Master, task: Callable[..., Task], tgz: Callable[..., bytes]
) -> None:
    look = "import determined as det; i = det.get_cluster_info(); print(i.container_addrs, i.container_rank)"
    master.context = tgz({"train.py": look})
    master.rendezvous = {"addresses": ["10.0.0.1", "10.0.0.2"], "rank": 1, "slots": [1, 1]}
    code, output = task({"resources": {"slots_per_trial": 2}}).run("--", "python3", "train.py")
    assert (code, output) == (0, "['10.0.0.1', '10.0.0.2'] 1\n")


def test_a_missing_trial_class_is_explained(
    master: Master, task: Callable[..., Task], tgz: Callable[..., bytes]
) -> None:
    master.context = tgz({"model_def.py": "class Other: pass"})
    for spec, message in (
        ("nothing:Trial", "there is no module 'nothing' here"),
        ("model_def:Trial", "model_def has no 'Trial'"),
        ("model_def:Other", "expected a subclass of PyTorchTrial"),
    ):
        code, output = task({"entrypoint": spec}).run()
        assert code == 1
        assert message in output
        assert "Traceback" not in output


def test_the_token_is_in_no_line_that_is_printed(
    master: Master, task: Callable[..., Task], tgz: Callable[..., bytes]
) -> None:
    master.context = tgz({"model_def.py": "raise RuntimeError('broken')"})
    one = task({"entrypoint": "model_def:Trial"})
    code, output = one.run()
    assert code == 1
    assert "RuntimeError: broken" in output
    assert one.env["DET_SESSION_TOKEN"] not in output


def test_user_code_begins_soon(master: Master, task: Callable[..., Task], tgz: Callable[..., bytes]) -> None:
    master.context = tgz({"train.py": "import time; print(time.time())"})
    took = []
    for _ in range(5):
        started = time.time()
        _, output = task({"entrypoint": "python3 train.py"}).run()
        took.append(float(output) - started)
    # Generous for a machine that others use too; where it is quiet this takes about 0.06 s.
    assert min(took) < 1.5


def test_the_info_files_are_for_this_user_alone(
    master: Master, task: Callable[..., Task], tgz: Callable[..., bytes]
) -> None:
    one = task({"entrypoint": ["true"]})
    one.run()
    info = pathlib.Path(one.env["DET_RUN_DIR"]) / "info"
    assert json.loads((info / "cluster.json").read_text())["task_id"] == "7.c0ffee"
    assert (info / "cluster.json").stat().st_mode & 0o077 == 0
