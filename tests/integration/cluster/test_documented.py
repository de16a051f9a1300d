"""Getting started, step by step as the page has it, on a real cluster: what it says to type works as it says."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.cluster.local import ROOT, LocalCluster, local_cluster

pytestmark = pytest.mark.timeout(600)

PAGE = ROOT / "docs" / "guide" / "getting-started.md"
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


@dataclass
class Newcomer:
    """Who types what the page says, in a folder with the files that it shows."""

    cluster: LocalCluster
    folder: Path

    def types(self, line: str) -> str:
        words = shlex.split(line, comments=True)
        words = [self.best_checkpoint() if word == "UUID" else word for word in words]
        done = subprocess.run(
            words, env=self.env, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"$ {line}\n{done.stdout}{done.stderr}"
        return done.stdout

    def glances(self, line: str) -> str:
        """The first line of what would go on for ever."""
        with subprocess.Popen(
            shlex.split(line), env=self.env, cwd=self.folder, stdout=subprocess.PIPE, text=True
        ) as shown:
            assert shown.stdout is not None
            first = shown.stdout.readline()
            shown.terminate()
        return first

    def best_checkpoint(self) -> str:
        found: str = json.loads(self.types("det experiment list-checkpoints 1 --best 1 --json"))[0]["uuid"]
        return found

    @property
    def env(self) -> dict[str, str]:
        told = self.cluster.resolute_environment()
        return {**told, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{told['PATH']}"}


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    home = tmp_path_factory.mktemp("documented")
    home.chmod(0o755)
    folder = home / "mine"
    folder.mkdir()
    for name, text in files().items():
        (folder / name).write_text(text)
    with local_cluster(home, slots=2) as cluster:
        yield Newcomer(cluster, folder)


def files() -> dict[str, str]:
    """The page's files by name, which is the comment in their first line."""
    shown = {
        text.split("\n")[0].removeprefix("# "): text for language, text in FENCED.findall(PAGE.read_text()) if language
    }
    named = "".join(line for line in shown["const.yaml"].splitlines(True) if line.startswith(("name:", "entrypoint:")))
    return {**shown, "random.yaml": named + shown["random.yaml"]}


def typed() -> list[str]:
    lines = [line for language, text in FENCED.findall(PAGE.read_text()) if not language for line in text.splitlines()]
    return [line for line in lines if line.startswith(("det ", "resolute ")) and "cluster-up" not in line]


def test_every_command_of_the_page_does_what_it_says(newcomer: Newcomer) -> None:
    shown = {line: newcomer.glances(line) if "tail" in line else newcomer.types(line) for line in typed()}
    said = {line.split("#")[0].strip(): text for line, text in shown.items()}
    assert "agent-1" in said["det agent list"]
    assert "Created experiment 1\n" in said["det experiment create const.yaml ."]
    assert "Created experiment 2\n" in said["det experiment create const.yaml . -f"]
    assert "Validation Metric: loss" in said["det experiment describe 1 --metrics"]
    assert (newcomer.folder / "there" / "steps").read_text() == "100"
    assert "the experiment ended COMPLETED" in said["resolute log show experiment-1"]
    assert "whole" in said["resolute log verify"]


def test_a_mistake_is_refused_as_the_page_has_it(newcomer: Newcomer) -> None:
    text = (newcomer.folder / "const.yaml").read_text()
    (newcomer.folder / "wrong.yaml").write_text(text.replace("  metric: loss\n", ""))
    with pytest.raises(AssertionError, match=r"searcher\.metric: missing"):
        newcomer.types("det experiment create wrong.yaml .")


def test_a_traceback_is_in_the_log_and_the_description_says_why_it_ended(newcomer: Newcomer) -> None:
    (newcomer.folder / "broken.py").write_text("raise ValueError('not like this')\n")
    created = newcomer.types(
        "det experiment create const.yaml . --config entrypoint='python3 broken.py' --config max_restarts=1"
    )
    experiment_id = int(created.split("Created experiment ")[1])
    assert newcomer.cluster.ended(experiment_id) == "STATE_ERROR"
    [trial] = newcomer.cluster.trials(experiment_id)
    log = newcomer.types(f"det trial logs {trial['id']}")
    assert log.count("ValueError: not like this") == 2
    assert log.count("ERROR: the task ended with exit code 1") == 2
    assert "(restarts left: 0)" in log
    why = "run 2 failed with exit code 1; max_restarts is 1"
    assert why in log.splitlines()[-1]
    assert f"Experiment {experiment_id} is ERROR: {why}" in newcomer.types(f"det experiment describe {experiment_id}")


def test_the_search_runs_two_at_a_time_and_completes(newcomer: Newcomer) -> None:
    created = newcomer.types("det experiment create random.yaml .")
    experiment_id = int(created.split("Created experiment ")[1])
    assert newcomer.cluster.ended(experiment_id) == "STATE_COMPLETED"
    assert len(newcomer.cluster.trials(experiment_id)) == 8
    held, most = set(), 0
    for line in newcomer.types("resolute log show pool-default --json").splitlines():
        event = json.loads(line)
        allocation = str(event["data"].get("allocation_id", ""))
        if event["type"] == "SlotsAssigned" and allocation.startswith(f"{experiment_id}."):
            held.add(allocation)
        if event["type"] == "AllocationExited":
            held.discard(allocation)
        most = max(most, len(held))
    assert most == 2
