"""A Docker daemon of a test's own, to be killed and started again: other people's containers are not its business.

It has a network namespace of its own, so that it cannot touch the bridges and the rules of the host's daemon, and a
containerd beside it that goes on, as on hosts where both are services.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import docker as docker_library
from docker.errors import DockerException

from tests.integration.cluster.local import until
from tests.integration.docker.hosts import IMAGE

CONTAINERD = 'version = 2\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n'


class OwnDaemon:
    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="dockerd-"))  # short: sockets have short names
        self.url = f"unix://{self.root}/sock"
        self._containerd: subprocess.Popen[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, live_restore: bool) -> None:
        if self._containerd is None:
            self._containerd = self._start_containerd()
        (self.root / "daemon.json").write_text(json.dumps({"live-restore": live_restore}))
        words = ["--data-root", f"{self.root}/data", "--exec-root", f"{self.root}/exec", "-H", self.url]
        words += ["--pidfile", f"{self.root}/pid", "--config-file", f"{self.root}/daemon.json"]
        words += ["--containerd", f"{self.root}/containerd.sock"]
        words += ["--bridge=none", "--iptables=false", "--ip-forward=false", "--shutdown-timeout", "5"]
        self._process = self._spawn("unshare", "--net", "dockerd", *words)
        until("the daemon answers", self._answers)

    def kill(self, number: int) -> None:
        assert self._process is not None, "it was started"
        self._process.send_signal(number)
        self._process.wait(60)

    def load(self) -> None:
        """The image that tests use, from the host's daemon."""
        with subprocess.Popen(["docker", "save", IMAGE], stdout=subprocess.PIPE) as saved:
            load = ["docker", "-H", self.url, "load", "-q"]
            subprocess.run(load, stdin=saved.stdout, check=True, capture_output=True, timeout=120)

    def close(self) -> None:
        if self._process is not None and self._process.poll() is None:
            if left := self._docker("ps", "-aq").split():
                self._docker("rm", "-f", "-v", *left)
            self.kill(signal.SIGTERM)
        if self._containerd is not None:
            self._containerd.terminate()
            self._containerd.wait(60)
        until("it has let go of its files", self._removed)

    def _start_containerd(self) -> subprocess.Popen[bytes]:
        (self.root / "containerd.toml").write_text(CONTAINERD)
        words = ["--config", f"{self.root}/containerd.toml", "--address", f"{self.root}/containerd.sock"]
        words += ["--root", f"{self.root}/images", "--state", f"{self.root}/state", "--log-level", "warn"]
        started = self._spawn("containerd", *words)
        until("containerd listens", (self.root / "containerd.sock").exists)
        return started

    def _spawn(self, *words: str) -> subprocess.Popen[bytes]:
        with (self.root / "log").open("ab") as log:
            return subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)

    def _removed(self) -> bool:
        # A daemon that was killed leaves what it mounted.
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for mount in sorted((one for one in mounts if one.startswith(f"{self.root}/")), reverse=True):
            subprocess.run(["umount", "--lazy", mount], check=False, capture_output=True)
        shutil.rmtree(self.root, ignore_errors=True)
        return not self.root.exists()

    def _docker(self, *words: str) -> str:
        command = ["docker", "-H", self.url, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout

    def _answers(self) -> bool:
        assert self._process is not None, "it was started"
        assert self._process.poll() is None, (self.root / "log").read_text()[-3000:]
        try:
            return bool(docker_library.DockerClient(self.url, version="1.41", timeout=5).ping())
        except (DockerException, OSError):
            return False
