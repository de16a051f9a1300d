"""An embedded cluster of a bench's own, started and stopped as a person does: `det deploy local …`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.ports import free_port

DET = str(Path(sys.executable).with_name("det"))


@dataclass(frozen=True, slots=True)
class Embedded:
    data: Path
    port: int = field(default_factory=free_port)

    def up(self, *flags: str) -> None:
        """Returns when the gateway answers and the agent has joined."""
        cluster = ("--data-dir", str(self.data), "--cluster-name", self.data.parent.name)
        where = (*cluster, "--master-port", str(self.port))
        det("deploy", "local", "cluster-up", "--no-gpu", *where, "--slots", "2", *flags)

    def down(self) -> None:
        det("deploy", "local", "cluster-down", "--data-dir", str(self.data))

    def forget(self) -> None:
        """Down, and nothing left of it: as root its database lies outside its directory."""
        det("deploy", "local", "cluster-down", "--delete-db", "--data-dir", str(self.data))

    def det(self, *arguments: str) -> str:
        return det("-m", f"http://127.0.0.1:{self.port}", *arguments)

    def processes(self) -> list[psutil.Process]:
        """The supervisor and everything below it."""
        for process in psutil.process_iter():
            words = _words(process)
            if "resolute.deploy.supervisor" in words and any(word.startswith(str(self.data)) for word in words):
                return [process, *process.children(recursive=True)]
        raise LookupError(f"no supervisor of {self.data} is running")


def _words(process: psutil.Process) -> Sequence[str]:
    try:
        return list(process.cmdline())
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return ()


def det(*arguments: str) -> str:
    # A cluster of another name, or a person's login, is none of this one's business.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DET_", "RESOLUTE_"))}
    environment["DET_USER"] = "determined"
    environment["DET_PASS"] = ""
    # As in an activated environment: tasks find the python that has torch.
    environment["PATH"] = f"{Path(DET).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run([DET, *arguments], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"det {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout


@contextmanager
def embedded() -> Iterator[Embedded]:
    """A cluster that is not up yet; it is brought down, and forgotten, in the end."""
    folder = Path(tempfile.mkdtemp(prefix="resolute-bench-"))
    cluster = Embedded(folder / "data")
    try:
        yield cluster
    finally:
        cluster.forget()
        shutil.rmtree(folder, ignore_errors=True)
