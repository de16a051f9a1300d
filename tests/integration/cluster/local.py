"""A whole cluster on this machine, as `det deploy local cluster-up` makes it, for tests to be unkind to."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from resolute.deploy import commands
from tests.ports import free_port

ROOT = Path(__file__).parents[3]


def until(what: str, holds: Callable[[], Any], within_s: float = 120) -> Any:
    """Poll until `holds()` is true, and answer it; fails saying what did not come to pass."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            if found := holds():
                return found
        except (OSError, HTTPException):
            pass  # the gateway may be away, or go while it answers: that is what these tests are about
        time.sleep(0.05)
    raise AssertionError(f"not within {within_s} s: {what}")


class LocalCluster:
    def __init__(self, home: Path, *, separate: bool, slots: int, agents: int, flags: tuple[str, ...] = ()) -> None:
        self.home, self.data = home, home / "cluster"
        self.port = free_port()
        self.env = {
            **os.environ,
            "DET_MASTER": f"127.0.0.1:{self.port}",
            "XDG_CONFIG_HOME": str(home / "config"),
            "RESOLUTE_SEPARATE_SERVICES": "1" if separate else "",
        }
        self._size = ("--slots", str(slots), "--agents", str(agents), *flags)
        self._token = ""

    def up(self) -> None:
        self.det(
            "deploy", "local", "cluster-up", *self._where(), *self._size, "--master-port", str(self.port), "--no-gpu"
        )

    def agent_up(self, name: str, pool: str, slots: int) -> None:
        self.det(
            *("deploy", "local", "agent-up", "127.0.0.1", "--master-port", str(self.port), "--agent-name", name),
            *("--agent-resource-pool", pool, "--slots", str(slots), "--no-gpu", *self._where()),
        )

    def down(self, *flags: str) -> None:
        self.det("deploy", "local", "cluster-down", *self._where(), *flags)

    def _where(self) -> tuple[str, ...]:
        return ("--cluster-name", "test", "--data-dir", str(self.data))

    def det(self, *args: str, check: bool = True) -> str:
        return self._run("det", *args, check=check)

    def resolute(self, *args: str, check: bool = True) -> str:
        return self._run("resolute", *args, "--data-dir", str(self.data), check=check)

    def _run(self, program: str, *args: str, check: bool) -> str:
        entry = f"import sys; from resolute.cli.main import {program}; sys.argv[0] = '{program}'; sys.exit({program}())"
        done = subprocess.run(
            [sys.executable, "-c", entry, *args], env=self.env, capture_output=True, text=True, timeout=300, check=False
        )
        if check and done.returncode != 0:
            raise AssertionError(
                f"{program} {' '.join(args)} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    def resolute_environment(self) -> dict[str, str]:
        """For who types `det` and `resolute` as they are, without saying which cluster."""
        url = commands.database_url("test", self.data)
        assert url is not None
        return {**self.env, "RESOLUTE_DATABASE_URL": url}

    def create(self, config: dict[str, Any], context: Path, *flags: str) -> int:
        """Submit an experiment; its id."""
        file = self.home / "config.json"
        file.write_text(json.dumps(config, ensure_ascii=False))  # JSON is YAML, but for escapes of two halves
        said = self.det("experiment", "create", str(file), str(context), *flags)
        return int(said.split("Created experiment ")[1].split()[0])

    def get(self, path: str) -> Any:
        """One REST answer, as user determined."""
        if not self._token:
            body = json.dumps({"username": "determined", "password": "", "isHashed": True}).encode()
            with urlopen(Request(self._url("/api/v1/auth/login"), body), timeout=30) as answer:
                self._token = json.load(answer)["token"]
        with urlopen(
            Request(self._url(path), headers={"Authorization": f"Bearer {self._token}"}), timeout=30
        ) as answer:
            text = answer.read().decode()
        if not text:
            return []  # of a stream that has nothing to say yet
        return json.loads(text) if text.count("\n") <= 1 else [json.loads(line) for line in text.splitlines()]

    @property
    def url(self) -> str:
        """Of the gateway."""
        return f"http://127.0.0.1:{self.port}"

    def _url(self, path: str) -> str:
        return self.url + path

    def experiment(self, experiment_id: int) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/api/v1/experiments/{experiment_id}")["experiment"]
        return found

    def trials(self, experiment_id: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.get(f"/api/v1/experiments/{experiment_id}/trials")["trials"]
        return found

    def validations(self, trial_id: int) -> list[int]:
        """The steps at which the trial's validations stand, in order."""
        answer = self.get(f"/api/v1/trials/metrics/validation_metrics?trialIds={trial_id}")
        pages = answer if isinstance(answer, list) else [answer]
        return [report["totalBatches"] for page in pages for report in page["result"]["metrics"]]

    def logs(self, trial_id: int) -> str:
        """What `det trial logs` prints, without a process of its own for each time that it is asked for."""
        (printed,) = until("the log can be read", lambda: (self._log(trial_id),))
        return str(printed)

    def _log(self, trial_id: int) -> str:
        answer = self.get(f"/api/v1/trials/{trial_id}/logs")
        lines = answer if isinstance(answer, list) else [answer]
        return "".join(line["result"]["message"].rstrip("\n") + "\n" for line in lines)

    def ended(self, experiment_id: int, within_s: float = 300) -> str:
        """Wait for the experiment's end; its state. It is asked for once: another gateway may be a moment behind."""

        def outcome() -> str:
            state: str = self.experiment(experiment_id)["state"]
            return state if state in ("STATE_COMPLETED", "STATE_CANCELED", "STATE_ERROR") else ""

        try:
            ended: str = until("the experiment ends", outcome, within_s)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.story(experiment_id)}") from None
        return ended

    def story(self, experiment_id: int) -> str:
        """What a person would look at when it hangs."""
        told = self.resolute("log", "show", f"experiment-{experiment_id}", check=False)
        return told[-6000:] + self.logs_of_services()

    def logs_of_services(self) -> str:
        """The last lines of every process of the cluster."""
        files = sorted((self.data / "logs").glob("*.log"))
        return "\n".join(f"--- {file.name}\n" + file.read_text(errors="replace")[-3000:] for file in files)

    def errors_of_services(self) -> str:
        """What services logged of errors of their own, with the lines that follow each."""
        found = []
        for file in sorted((self.data / "logs").glob("*.log")):
            lines = file.read_text(errors="replace").splitlines()
            at = [n for n, line in enumerate(lines) if "a handler failed" in line]
            found += [f"--- {file.name}\n" + "\n".join(lines[n : n + 40]) for n in at[:3]]
        return "\n".join(found)

    # ---------------------------------------------------------------- unkindness

    def children(self) -> dict[str, int]:
        status = json.loads((self.data / "run" / "status.json").read_text())
        return {name: child["pid"] for name, child in status["children"].items() if child["pid"]}

    def kill(self, name: str, *, wipe: bool = False) -> None:
        """SIGKILL to one of the cluster's processes, whose supervisor starts it anew; with `wipe` its data go too."""
        # Postgres may end once more by itself while it recovers.
        pid = until(f"{name} runs", lambda: self.children().get(name))
        os.kill(pid, signal.SIGKILL)
        if wipe:
            assert name == "nats", "only the bus may forget"
            shutil.rmtree(self.data / "nats", ignore_errors=True)
        until(f"{name} runs again", lambda: self.children().get(name, pid) != pid)

    def tasks(self) -> list[int]:
        """The processes that run trials."""
        return list(processes_with("determined.exec.prep", str(self.data)))


def processes_with(*words: str) -> Iterator[int]:
    """The processes of this machine that have all of `words` in their command line or environment."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if all(word.encode() in text for word in words):
                yield int(entry.name)


@contextmanager
def local_cluster(
    home: Path, *, separate: bool = False, slots: int = 2, agents: int = 1, flags: tuple[str, ...] = ()
) -> Iterator[LocalCluster]:
    """`flags`: what else `cluster-up` is told."""
    cluster = LocalCluster(home, separate=separate, slots=slots, agents=agents, flags=flags)
    try:
        cluster.up()
        yield cluster
    finally:
        cluster.down("--delete-db")
